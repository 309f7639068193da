//! Who answers, decided from the settings alone.

use std::time::Duration;

use llm::keys::{self, Lookup, Source};
use llm::retry::RetryLimits;
use llm::router::Route;
use llm::{Code, Endpoint, Limits, Provider, Secret};

use crate::command::{self, CommandPlan, PLACEHOLDER};
use crate::error::{Error, Result};
use crate::mode::Mode;
use crate::setup::{Purpose, Setup, filled};
use crate::stdio::StdioPlan;
use crate::tape::Taping;

/// Who answers, and why it is them.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub way: Way,
    /// A sentence for people who wonder.
    pub because: String,
    /// What is allowed but should be otherwise.
    pub warnings: Vec<String>,
    /// Never to be seen in what others say.
    pub(crate) secrets: Vec<Secret>,
}

/// The ways to an answer, each with all that it needs.
#[derive(Clone, Debug)]
pub enum Way {
    Api(Plan),
    Command(CommandPlan),
    Stdio(StdioPlan),
    Stdout,
    Off,
}

impl Way {
    /// The mode this way has.
    pub fn mode(&self) -> Mode {
        match self {
            Way::Api(_) => Mode::Api,
            Way::Command(_) => Mode::Command,
            Way::Stdio(_) => Mode::Stdio,
            Way::Stdout => Mode::Stdout,
            Way::Off => Mode::Off,
        }
    }
}

/// Which models are asked, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    pub first: Served,
    pub fallbacks: Vec<Served>,
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub retry: RetryLimits,
    pub limits: Limits,
}

/// A model and the server that has it.
#[derive(Clone, Debug)]
pub struct Served {
    pub route: Route,
    pub endpoint: Endpoint,
}

/// Decides who answers. Looks at nothing but its arguments.
pub fn choose(
    setup: &Setup,
    purpose: Purpose,
    taping: &Taping,
    lookup: Lookup<'_>,
) -> Result<Chosen> {
    let chooser = Chooser {
        setup,
        purpose,
        taping,
        lookup,
    };
    let (way, because) = chooser
        .way()
        .map_err(|error| error.scrubbed(&chooser.secrets()))?;
    Ok(Chosen {
        warnings: chooser.warnings(&way),
        way,
        because,
        secrets: chooser.secrets(),
    })
}

pub(crate) struct Chooser<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) purpose: Purpose,
    pub(crate) taping: &'a Taping,
    pub(crate) lookup: Lookup<'a>,
}

impl Chooser<'_> {
    fn way(&self) -> Result<(Way, String)> {
        let asked = |way| (way, format!("the mode is `{}`", self.setup.mode));
        match self.setup.mode {
            Mode::Auto => self.detect(),
            Mode::Api => self.plan().map(Way::Api).map(asked),
            Mode::Command => self.command().map(asked),
            Mode::Stdio => self.stdio().map(asked),
            Mode::Stdout => Ok(asked(Way::Stdout)),
            Mode::Off => Ok(asked(Way::Off)),
        }
    }

    /// A provider with a key, else a command, else whoever reads the document.
    fn detect(&self) -> Result<(Way, String)> {
        let provider = self.provider();
        let keyless = match provider {
            Some(provider) if self.has_key(provider) => {
                let because = format!("`auto` found the provider {}", provider.name());
                return Ok((Way::Api(self.plan()?), because));
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
        let because = format!("`auto` found nobody to ask: {keyless}, and `ai.command` is not set");
        Ok((Way::Stdout, because))
    }

    /// The provider that is set, or the one whose model is.
    fn provider(&self) -> Option<Provider> {
        let of_model = || {
            let model = self.setup.model_for(self.purpose)?;
            Some(Route::parse(model, None).ok()?.provider)
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

    /// The models to ask, with everything that is missing as an error.
    pub(crate) fn plan(&self) -> Result<Plan> {
        let setup = self.setup;
        let Some(provider) = self.provider() else {
            return Err(self.no_provider());
        };
        let model = setup.model_for(self.purpose).unwrap_or_default();
        let first = self.serve(Route::parse(model, Some(provider))?)?;
        let fallbacks = setup.fallbacks.iter().filter_map(|name| filled(Some(name)));
        let fallbacks = fallbacks.map(|name| self.serve(fallback_route(name, provider)?));
        let call_ms = u64::try_from(setup.timeout.as_millis()).unwrap_or(u64::MAX);
        let usual = Limits::default();
        Ok(Plan {
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

    /// The settings' address and key are those of the settings' provider; others have their own.
    pub(crate) fn serve(&self, route: Route) -> Result<Served> {
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
        let mut endpoint = Endpoint::new(route.provider, found.map(|key| key.secret));
        endpoint.base_url = base_url.map(str::to_owned);
        Ok(Served { route, endpoint })
    }

    fn no_provider(&self) -> Error {
        if let Some(model) = self.setup.model_for(self.purpose)
            && let Err(error) = Route::parse(model, None)
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
            Code::ApiKeyMissing,
            "asking a model needs a provider, and none is set",
            format!(
                "Set `ai.provider` (one of {names}) and `ai.model` in drawloom.toml, and the key in \
                 its variable (one of {}).",
                variables.join(", ")
            ),
        )
    }

    fn command(&self) -> Result<Way> {
        let Some(line) = filled(self.setup.command.as_deref()) else {
            return Err(unset(
                "command",
                "ai.command",
                "command = \"claude -p {prompt}\"",
            ));
        };
        Ok(Way::Command(CommandPlan {
            words: command::split(line, "ai.command")?,
            mode: self.setup.command_mode,
            timeout: self.timeout(),
            output_bytes_max: self.setup.output_bytes_max,
        }))
    }

    fn stdio(&self) -> Result<Way> {
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
                Code::TransportFailed,
                "`ai.stdio_command` holds `{prompt}`, but gets its questions on standard input",
                "Use the mode `command` with this line as `ai.command`, or name a program that speaks \
                 the protocol of docs/ai.md.",
            ));
        }
        Ok(Way::Stdio(StdioPlan {
            program: words.program,
            arguments: words.arguments,
            timeout: self.timeout(),
            output_bytes_max: self.setup.output_bytes_max,
        }))
    }

    fn timeout(&self) -> Duration {
        self.setup.timeout
    }

    fn warnings(&self, way: &Way) -> Vec<String> {
        let mut warnings = Vec::new();
        let reference = self.setup.api_key.as_ref().map(Secret::expose);
        let provider = self.provider().unwrap_or(Provider::Compatible);
        let key = keys::find(provider, self.base_url(), reference, self.lookup);
        if reference.is_some() && matches!(key, Ok(Some(key)) if key.source == Source::Literal) {
            warnings.push(self.about_written_key(reference.unwrap_or_default()));
        }
        if let Way::Command(CommandPlan { words, .. }) = way
            && let Some(sign) = words.arguments.iter().find(|word| is_for_a_shell(word))
        {
            warnings.push(format!(
                "`ai.command` hands `{sign}` to `{}` as it is: there is no shell. Write `sh -c '…'` \
                 where you want one.",
                words.program
            ));
        }
        let provider_set = self.setup.provider.is_some();
        if self.setup.mode == Mode::Auto && provider_set && !matches!(way, Way::Api(_)) {
            warnings.push(format!(
                "`ai.provider` is set, but {}, so the provider is skipped.",
                self.key_names(provider)
            ));
        }
        warnings
    }

    /// A variable's name without its `$` is a likelier mistake than a key that is one.
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

    /// Every key that is known here: a program may quote any of them.
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

/// Names alone tell whose model a fallback is, save on servers that have models of everybody.
fn fallback_route(name: &str, provider: Provider) -> Result<Route> {
    let hosts_others = matches!(provider, Provider::OpenRouter | Provider::Compatible);
    let alone = Route::parse(name, None).ok().filter(|_| !hosts_others);
    match alone {
        Some(route) => Ok(route),
        None => Ok(Route::parse(name, Some(provider))?),
    }
}

fn unset(mode: &str, key: &str, example: &str) -> Error {
    Error::new(
        Code::TransportFailed,
        format!("the mode `{mode}` needs `{key}`, which is not set"),
        format!("Write for instance `{example}` under [ai] in drawloom.toml, or use another mode."),
    )
}

/// Signs that mean something between words to a shell, and nothing to anybody else.
fn is_for_a_shell(word: &str) -> bool {
    ["|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"].contains(&word)
}
