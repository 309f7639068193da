//! Chooses the transport, from the settings alone.

use std::time::Duration;

use llm::keys::{self, KeySource, VariableLookup};
use llm::retry::RetryLimits;
use llm::router::ModelRoute;
use llm::{AiErrorCode, Limits, Provider, ProviderEndpoint, Secret};

use crate::command::{self, CommandPlan, PLACEHOLDER};
use crate::error::{Error, Result};
use crate::mode::TransportMode;
use crate::settings::{AiSettings, ModelPurpose, filled};
use crate::stdio::StdioPlan;
use crate::tape::RecordMode;

/// The chosen transport, and the reason for it.
#[derive(Clone, Debug)]
pub struct ChosenTransport {
    pub way: ResolvedMode,
    /// Explains the choice in a sentence, for people.
    pub because: String,
    /// Warnings about settings that are allowed but should be changed.
    pub warnings: Vec<String>,
    /// Keys to remove from every text of programs and servers.
    pub(crate) secrets: Vec<Secret>,
}

/// The modes of answering, each with everything it needs.
#[derive(Clone, Debug)]
pub enum ResolvedMode {
    Api(ApiPlan),
    Command(CommandPlan),
    Stdio(StdioPlan),
    Stdout,
    Off,
}

impl ResolvedMode {
    /// The mode of this choice.
    pub fn mode(&self) -> TransportMode {
        match self {
            ResolvedMode::Api(_) => TransportMode::Api,
            ResolvedMode::Command(_) => TransportMode::Command,
            ResolvedMode::Stdio(_) => TransportMode::Stdio,
            ResolvedMode::Stdout => TransportMode::Stdout,
            ResolvedMode::Off => TransportMode::Off,
        }
    }
}

/// The models to ask, and the limits.
#[derive(Clone, Debug)]
pub struct ApiPlan {
    pub first: ModelEndpoint,
    pub fallbacks: Vec<ModelEndpoint>,
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub retry: RetryLimits,
    pub limits: Limits,
}

/// A model and the server that offers it.
#[derive(Clone, Debug)]
pub struct ModelEndpoint {
    pub route: ModelRoute,
    pub endpoint: ProviderEndpoint,
}

/// Chooses the transport. Reads nothing but its arguments.
pub fn choose(
    setup: &AiSettings,
    purpose: ModelPurpose,
    taping: &RecordMode,
    lookup: VariableLookup<'_>,
) -> Result<ChosenTransport> {
    let chooser = TransportChooser {
        setup,
        purpose,
        taping,
        lookup,
    };
    let (way, because) = chooser
        .way()
        .map_err(|error| error.scrubbed(&chooser.secrets()))?;
    Ok(ChosenTransport {
        warnings: chooser.warnings(&way),
        way,
        because,
        secrets: chooser.secrets(),
    })
}

pub(crate) struct TransportChooser<'a> {
    pub(crate) setup: &'a AiSettings,
    pub(crate) purpose: ModelPurpose,
    pub(crate) taping: &'a RecordMode,
    pub(crate) lookup: VariableLookup<'a>,
}

impl TransportChooser<'_> {
    fn way(&self) -> Result<(ResolvedMode, String)> {
        let asked = |way| (way, format!("the mode is `{}`", self.setup.mode));
        match self.setup.mode {
            TransportMode::Auto => self.detect(),
            TransportMode::Api => self.plan().map(ResolvedMode::Api).map(asked),
            TransportMode::Command => self.command().map(asked),
            TransportMode::Stdio => self.stdio().map(asked),
            TransportMode::Stdout => Ok(asked(ResolvedMode::Stdout)),
            TransportMode::Off => Ok(asked(ResolvedMode::Off)),
        }
    }

    /// Chooses a provider with a key, otherwise a command, otherwise printing the document.
    fn detect(&self) -> Result<(ResolvedMode, String)> {
        let provider = self.provider();
        let keyless = match provider {
            Some(provider) if self.has_key(provider) => {
                let because = format!("`auto` found the provider {}", provider.name());
                return Ok((ResolvedMode::Api(self.plan()?), because));
            }
            Some(provider) => format!(
                "the provider {} has no API key ({})",
                provider.name(),
                self.key_names(provider)
            ),
            None => match self.setup.model_for(self.purpose) {
                Some(model) => {
                    format!("no provider is set, and `{model}` does not say whose model it is")
                }
                None => "no provider is set".to_owned(),
            },
        };
        if filled(self.setup.command.as_deref()).is_some() {
            let because = format!("`auto` found `ai.command`: {keyless}");
            return Ok((self.command()?, because));
        }
        let because = format!(
            "`auto` found no model or program to ask: {keyless}, and `ai.command` is not set"
        );
        Ok((ResolvedMode::Stdout, because))
    }

    /// The provider of the settings, or the one of the model they name.
    fn provider(&self) -> Option<Provider> {
        let of_model = || {
            let model = self.setup.model_for(self.purpose)?;
            Some(ModelRoute::parse(model, None).ok()?.provider)
        };
        self.setup.provider.or_else(of_model)
    }

    fn has_key(&self, provider: Provider) -> bool {
        let reference = self.setup.api_key.as_ref().map(Secret::expose);
        let base_url = self.base_url();
        let found = keys::find(provider, base_url, reference, self.lookup);
        !provider.needs_key() || self.taping.is_replay() || matches!(found, Ok(Some(_)))
    }

    fn key_names(&self, provider: Provider) -> String {
        match self.setup.api_key.as_ref().map(Secret::expose) {
            Some(reference) if reference.starts_with('$') => format!("{reference} is not set"),
            _ => format!("{} is not set", provider.key_variables().join(" or ")),
        }
    }

    fn base_url(&self) -> Option<&str> {
        filled(self.setup.base_url.as_deref())
    }

    /// Returns the models to ask, or an error about a missing setting.
    pub(crate) fn plan(&self) -> Result<ApiPlan> {
        let setup = self.setup;
        let Some(provider) = self.provider() else {
            return Err(self.no_provider());
        };
        let model = setup.model_for(self.purpose).unwrap_or_default();
        let first = self.serve(ModelRoute::parse(model, Some(provider))?)?;
        let fallbacks = setup.fallbacks.iter().filter_map(|name| filled(Some(name)));
        let fallbacks = fallbacks.map(|name| self.serve(fallback_route(name, provider)?));
        let call_ms = u64::try_from(setup.timeout.as_millis()).unwrap_or(u64::MAX);
        let usual = Limits::default();
        Ok(ApiPlan {
            first,
            fallbacks: fallbacks.collect::<Result<_>>()?,
            max_tokens: setup.max_tokens,
            temperature: setup.temperature,
            retry: setup.retry,
            limits: Limits {
                connect_ms_max: usual.connect_ms_max.min(call_ms),
                silence_ms_max: usual.silence_ms_max.min(call_ms),
                call_ms_max: call_ms,
                ..usual
            },
        })
    }

    /// The address and key of the settings belong to the settings' provider; other providers have
    /// their own.
    pub(crate) fn serve(&self, route: ModelRoute) -> Result<ModelEndpoint> {
        let own = Some(route.provider) == self.provider();
        let base_url = self.base_url().filter(|_| own);
        let reference = self.setup.api_key.as_ref().map(Secret::expose);
        let reference = reference.filter(|_| own);
        let found = match keys::find(route.provider, base_url, reference, self.lookup) {
            Err(_) if self.taping.is_replay() => None,
            found => found?,
        };
        if found.is_none() && route.provider.needs_key() && !self.taping.is_replay() {
            return Err(keys::missing(route.provider, base_url).into());
        }
        let mut endpoint = ProviderEndpoint::new(route.provider, found.map(|key| key.secret));
        endpoint.base_url = base_url.map(str::to_owned);
        Ok(ModelEndpoint { route, endpoint })
    }

    fn no_provider(&self) -> Error {
        if let Some(model) = self.setup.model_for(self.purpose)
            && let Err(error) = ModelRoute::parse(model, None)
        {
            return error.into();
        }
        let names = Provider::ALL.map(Provider::name).join(", ");
        let variables: Vec<&str> = Provider::ALL
            .iter()
            .flat_map(|provider| provider.key_variables())
            .copied()
            .collect();
        Error::new(
            AiErrorCode::ApiKeyMissing,
            "asking a model needs a provider, and none is set",
            format!(
                "Set `ai.provider` (one of {names}) and `ai.model` in drawloom.toml, and the key in \
                 its variable (one of {}).",
                variables.join(", ")
            ),
        )
    }

    fn command(&self) -> Result<ResolvedMode> {
        let Some(line) = filled(self.setup.command.as_deref()) else {
            return Err(unset(
                "command",
                "ai.command",
                "command = \"claude -p {prompt}\"",
            ));
        };
        Ok(ResolvedMode::Command(CommandPlan {
            words: command::split(line, "ai.command")?,
            mode: self.setup.command_mode,
            timeout: self.timeout(),
            output_bytes_max: self.setup.output_bytes_max,
        }))
    }

    fn stdio(&self) -> Result<ResolvedMode> {
        let Some(line) = filled(self.setup.stdio_command.as_deref()) else {
            return Err(unset(
                "stdio",
                "ai.stdio_command",
                "stdio_command = \"python3 answer.py\"",
            ));
        };
        let words = command::split(line, "ai.stdio_command")?;
        if words
            .arguments
            .iter()
            .any(|word| word.contains(PLACEHOLDER))
        {
            return Err(Error::new(
                AiErrorCode::TransportFailed,
                "`ai.stdio_command` holds `{prompt}`, but gets its questions on standard input",
                "Use the mode `command` with this line as `ai.command`, or name a program that speaks \
                 the protocol of docs/ai.md.",
            ));
        }
        Ok(ResolvedMode::Stdio(StdioPlan {
            program: words.program,
            arguments: words.arguments,
            timeout: self.timeout(),
            output_bytes_max: self.setup.output_bytes_max,
        }))
    }

    fn timeout(&self) -> Duration {
        self.setup.timeout
    }

    fn warnings(&self, way: &ResolvedMode) -> Vec<String> {
        let mut warnings = Vec::new();
        let reference = self.setup.api_key.as_ref().map(Secret::expose);
        let provider = self.provider().unwrap_or(Provider::Compatible);
        let key = keys::find(provider, self.base_url(), reference, self.lookup);
        if reference.is_some() && matches!(key, Ok(Some(key)) if key.source == KeySource::Literal) {
            warnings.push(self.about_written_key(reference.unwrap_or_default()));
        }
        if let ResolvedMode::Command(CommandPlan { words, .. }) = way
            && let Some(sign) = words.arguments.iter().find(|word| is_for_a_shell(word))
        {
            warnings.push(format!(
                "`ai.command` hands `{sign}` to `{}` as it is: there is no shell. Write `sh -c '…'` \
                 where you want one.",
                words.program
            ));
        }
        let provider_set = self.setup.provider.is_some();
        if self.setup.mode == TransportMode::Auto
            && provider_set
            && !matches!(way, ResolvedMode::Api(_))
        {
            warnings.push(format!(
                "`ai.provider` is set, but {}, so the provider is skipped.",
                self.key_names(provider)
            ));
        }
        warnings
    }

    /// Warns about a variable's name without its `$`, a likelier mistake than a key that looks like
    /// one.
    fn about_written_key(&self, written: &str) -> String {
        let mut well_known = Provider::ALL.iter().flat_map(|one| one.key_variables());
        if well_known.any(|name| *name == written) || (self.lookup)(written).is_some() {
            return format!(
                "`ai.api_key` is the name of a variable, and is sent as if it were the key. Write \
                 `api_key = \"${written}\"`."
            );
        }
        "`ai.api_key` holds a key itself. Put the key in a variable and write `api_key = \"$NAME\"`: \
         files with keys get shared."
            .to_owned()
    }

    /// Every known key: a program may quote any of them.
    fn secrets(&self) -> Vec<Secret> {
        let reference = self.setup.api_key.as_ref();
        let written = reference.filter(|key| !key.expose().starts_with('$'));
        let provider = self.provider().unwrap_or(Provider::Compatible);
        let referred = reference
            .and_then(|key| keys::find(provider, None, Some(key.expose()), self.lookup).ok()?);
        let well_known = Provider::ALL.iter().flat_map(|one| one.key_variables());
        let well_known = well_known
            .filter_map(|name| (self.lookup)(name))
            .map(Secret::new);
        written
            .cloned()
            .into_iter()
            .chain(referred.map(|key| key.secret))
            .chain(well_known)
            .filter(|secret| !secret.is_empty())
            .collect()
    }
}

/// Chooses the provider of a fallback by the model's name, except on servers that offer models of
/// many vendors.
fn fallback_route(name: &str, provider: Provider) -> Result<ModelRoute> {
    let hosts_others = matches!(provider, Provider::OpenRouter | Provider::Compatible);
    let alone = ModelRoute::parse(name, None).ok().filter(|_| !hosts_others);
    match alone {
        Some(route) => Ok(route),
        None => Ok(ModelRoute::parse(name, Some(provider))?),
    }
}

fn unset(mode: &str, key: &str, example: &str) -> Error {
    Error::new(
        AiErrorCode::TransportFailed,
        format!("the mode `{mode}` needs `{key}`, which is not set"),
        format!("Write for instance `{example}` under [ai] in drawloom.toml, or use another mode."),
    )
}

/// Returns true for signs that mean something to a shell between words, and nothing to other
/// programs.
fn is_for_a_shell(word: &str) -> bool {
    ["|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"].contains(&word)
}
