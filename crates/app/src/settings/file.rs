//! Reads `drawloom.toml` key by key, so that every mistake is shown with its line and a suggestion.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::keys::{self, SettingKey, SettingValueKind};
use super::named::SectionError;
use super::{ProjectSettings, SettingsLayer, ai, builder, mcp, rates, workflows};
use crate::{AppErrorCode, Error, FilePosition, nearest};

/// Adds what a file says, to be read as the user's own or as a project's.
pub(super) fn apply(
    settings: &mut ProjectSettings,
    (path, layer): (&Path, SettingsLayer),
    text: &str,
) -> Result<(), Error> {
    let source = SettingsSource { path, layer, text };
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.display();
    let table = DeTable::parse(text).map_err(|cause| {
        let offset = cause.span().map_or(0, |span| span.start);
        let error = source.error(
            offset,
            format!("{name} is not valid TOML: {}", cause.message()),
        );
        match cause.message() {
            DUPLICATE => error.hint("it is defined further up: write all of it there"),
            _ => error,
        }
    })?;
    source.table(settings, "", table.get_ref())
}

/// The TOML reader's words for a section or key that occurs twice.
const DUPLICATE: &str = "duplicate key";

struct SettingsSource<'a> {
    path: &'a Path,
    layer: SettingsLayer,
    text: &'a str,
}

type SpannedKey<'i> = Spanned<std::borrow::Cow<'i, str>>;
type SpannedValue<'i> = Spanned<DeValue<'i>>;

impl SettingsSource<'_> {
    /// Reads the keys and sections inside a section; the whole file is the one without a name.
    fn table(
        &self,
        settings: &mut ProjectSettings,
        section: &str,
        table: &DeTable<'_>,
    ) -> Result<(), Error> {
        for (name, value) in table {
            let inner = match section {
                "" => name.get_ref().as_ref().to_owned(),
                section => format!("{section}.{}", name.get_ref()),
            };
            if inner == ai::PRICES {
                self.prices(settings, self.as_section(&inner, (name, value))?)?;
            } else if inner == mcp::SERVERS {
                self.servers(settings, self.as_section(&inner, (name, value))?)?;
            } else if inner == builder::CHECKS {
                self.checks(settings, (name, value))?;
            } else if inner == workflows::AGENTS {
                self.agents(settings, self.as_section(&inner, (name, value))?)?;
            } else if inner == workflows::NOTIFY {
                self.notify_rules(settings, self.as_section(&inner, (name, value))?)?;
            } else if inner == rates::RATES {
                self.rate_rules(settings, self.as_section(&inner, (name, value))?)?;
            } else if is_section(&inner) {
                self.table(settings, &inner, self.as_section(&inner, (name, value))?)?;
            } else if section.is_empty() {
                return Err(self.unknown(name, "section", names_in("")));
            } else {
                self.key(settings, section, (name, value))?;
            }
        }
        Ok(())
    }

    fn as_section<'v, 'i>(
        &self,
        section: &str,
        (name, value): (&SpannedKey<'_>, &'v SpannedValue<'i>),
    ) -> Result<&'v DeTable<'i>, Error> {
        value.get_ref().as_table().ok_or_else(|| {
            let message = format!("`{section}` is a section: write it as [{section}]");
            self.error(name.span().start, message)
        })
    }

    fn key(
        &self,
        settings: &mut ProjectSettings,
        section: &str,
        (name, value): (&SpannedKey<'_>, &SpannedValue<'_>),
    ) -> Result<(), Error> {
        let mut of_section = keys::all().filter(|key| key.section == section);
        let known = of_section.find(|key| key.name == name.get_ref().as_ref());
        let Some(key) = known else {
            return Err(self.unknown(name, "key", names_in(section)));
        };
        if self.layer == SettingsLayer::Project && key.is_users_own() {
            let message = format!("`{}` is not a project's to set", key.dotted());
            return Err(self.error(name.span().start, message).hint(format!(
                "it gives permission, so it belongs in your own settings \
                 (~/.config/drawloom/{}) or in {}",
                super::USER_FILE_NAME,
                key.variable()
            )));
        }
        set(key, settings, value.get_ref()).map_err(|problem| {
            self.error(value.span().start, format!("`{}` {problem}", key.dotted()))
        })
    }

    /// Reads `[ai.prices."model"]`; the names are the user's own.
    fn prices(&self, settings: &mut ProjectSettings, models: &DeTable<'_>) -> Result<(), Error> {
        for (model, value) in models {
            let section = format!("{}.{:?}", ai::PRICES, model.get_ref());
            let table = self.as_section(&section, (model, value))?;
            let mut given = ai::GivenRates::default();
            for (name, value) in table {
                let Some(rate) = given.named(name.get_ref()) else {
                    return Err(self.unknown(name, "key", ai::RATES.into_iter()));
                };
                let number = number(value.get_ref());
                *rate = keys::within(f64::MAX, number);
                if rate.is_none() {
                    let found = shown(value.get_ref());
                    let problem = keys::not_within(f64::MAX, &found);
                    let message = format!("`{section}.{}` {problem}", name.get_ref());
                    return Err(self.error(value.span().start, message));
                }
            }
            let rates = given.rates().ok_or_else(|| {
                let message = format!("`{section}` needs both `input` and `output`");
                self.error(model.span().start, message)
                    .hint("in US dollars per million tokens")
            })?;
            let prices = &mut settings.ai.prices;
            prices.insert(model.get_ref().as_ref().to_owned(), rates);
        }
        Ok(())
    }

    /// Reads `[mcp.servers.NAME]`; the names are the user's own.
    fn servers(&self, settings: &mut ProjectSettings, servers: &DeTable<'_>) -> Result<(), Error> {
        for (name, value) in servers {
            let word = name.get_ref().as_ref();
            let section = format!("{}.{word}", mcp::SERVERS);
            if !mcp::is_name(word) {
                let message = format!("`{word}` cannot be the name of an MCP server");
                let hint = format!(
                    "use up to {} letters, digits, `-` and `_`",
                    mcp::NAME_BYTES_MAX
                );
                return Err(self.error(name.span().start, message).hint(hint));
            }
            let table = self.as_section(&section, (name, value))?;
            let server = mcp::read(table);
            let server =
                server.map_err(|wrong| self.wrong(wrong, (&section, name), &mcp::SERVER_KEYS))?;
            settings.mcp.insert(word.to_owned(), server);
        }
        Ok(())
    }

    /// Reads `[builder.checks]`; the names are the user's own.
    fn checks(
        &self,
        settings: &mut ProjectSettings,
        (name, value): (&SpannedKey<'_>, &SpannedValue<'_>),
    ) -> Result<(), Error> {
        let section = builder::CHECKS;
        let checks = builder::checks(self.as_section(section, (name, value))?);
        let known = &builder::CHECK_KEYS;
        let checks = checks.map_err(|wrong| self.wrong(wrong, (section, name), known))?;
        settings.builder.builds.checks = Some(checks);
        Ok(())
    }

    /// Reads `[agents.NAME]`; the names are the user's own.
    fn agents(&self, settings: &mut ProjectSettings, agents: &DeTable<'_>) -> Result<(), Error> {
        for (name, value) in agents {
            let section = format!("{}.{}", workflows::AGENTS, name.get_ref());
            let table = self.as_section(&section, (name, value))?;
            let agent = workflows::agent(table);
            let keys = &workflows::AGENT_KEYS;
            let agent = agent.map_err(|wrong| self.wrong(wrong, (&section, name), keys))?;
            let known = &mut settings.workflows.agents;
            known.insert(name.get_ref().as_ref().to_owned(), agent);
        }
        Ok(())
    }

    /// Reads `[notify.NAME]`; the names are the user's own.
    fn notify_rules(
        &self,
        settings: &mut ProjectSettings,
        rules: &DeTable<'_>,
    ) -> Result<(), Error> {
        for (name, value) in rules {
            let section = format!("{}.{}", workflows::NOTIFY, name.get_ref());
            let table = self.as_section(&section, (name, value))?;
            let keys = &workflows::NOTIFY_KEYS;
            let rule = workflows::notify_rule(table);
            let rule = rule.map_err(|wrong| self.wrong(wrong, (&section, name), keys))?;
            let known = &mut settings.workflows.notify;
            known.insert(name.get_ref().as_ref().to_owned(), rule);
        }
        Ok(())
    }

    /// `[rates.NAME]`: the names are the user's own.
    fn rate_rules(&self, settings: &mut ProjectSettings, rules: &DeTable<'_>) -> Result<(), Error> {
        for (name, value) in rules {
            let section = format!("{}.{}", rates::RATES, name.get_ref());
            let table = self.as_section(&section, (name, value))?;
            let rule = rates::rate_rule(table);
            let rule =
                rule.map_err(|wrong| self.wrong(wrong, (&section, name), &rates::RATE_KEYS))?;
            let known = &mut settings.workflows.rates;
            known.insert(name.get_ref().as_ref().to_owned(), rule);
        }
        Ok(())
    }

    /// Makes the error about a section whose name is the user's own.
    fn wrong(
        &self,
        wrong: SectionError,
        (section, name): (&str, &SpannedKey<'_>),
        known: &[&str],
    ) -> Error {
        match wrong {
            SectionError::Unknown(at, key) => {
                self.unknown_at(at, &key, "key", known.iter().copied())
            }
            SectionError::Value(at, problem) => self.error(at, format!("{section}: {problem}")),
            SectionError::Whole(problem) => {
                self.error(name.span().start, format!("`{section}` {problem}"))
            }
        }
    }

    fn unknown<'k>(
        &self,
        name: &SpannedKey<'_>,
        what: &str,
        known: impl Iterator<Item = &'k str>,
    ) -> Error {
        self.unknown_at(name.span().start, name.get_ref().as_ref(), what, known)
    }

    fn unknown_at<'k>(
        &self,
        at: usize,
        given: &str,
        what: &str,
        known: impl Iterator<Item = &'k str>,
    ) -> Error {
        let error = self.error(at, format!("unknown {what} `{given}`"));
        let mut once: Vec<&str> = Vec::new();
        for word in known {
            if !once.contains(&word) {
                once.push(word);
            }
        }
        let known = once;
        match nearest(given, known.iter().copied()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => {
                let all: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
                error.hint(format!("known here: {}", all.join(", ")))
            }
        }
    }

    fn error(&self, offset: usize, message: String) -> Error {
        let mut place = FilePosition::of(self.path, self.text, offset);
        // The line is shown in the error, but an API key in it must not be.
        if let Some(at) = place.excerpt.find(ai::KEY_NAME) {
            place.excerpt.truncate(at + ai::KEY_NAME.len());
            place.excerpt.push_str(" = …");
        }
        Error::new(AppErrorCode::Settings, message).at(place)
    }
}

/// Returns true if keys or other sections are inside this one.
fn is_section(name: &str) -> bool {
    keys::all().any(|key| {
        let rest = key.section.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Lists the names that a section may contain: its keys, and the sections inside it.
fn names_in(section: &str) -> impl Iterator<Item = &'static str> {
    let inside = |name: &'static str| match section {
        "" => name.split('.').next(),
        section => name.strip_prefix(section)?.strip_prefix('.'),
    };
    // Keys that only the user's settings may have are not offered for a project's file.
    let known = || keys::all().filter(|key| !key.is_users_own());
    let own = known().filter(move |key| key.section == section);
    let sections = known().map(|key| key.section).chain([
        ai::PRICES,
        builder::CHECKS,
        mcp::SERVERS,
        workflows::AGENTS,
        workflows::NOTIFY,
        rates::RATES,
    ]);
    let sections: Vec<&str> = sections.filter_map(inside).collect();
    own.map(|key| key.name).chain(sections)
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    let integer = || {
        let integer = value.as_integer()?;
        i64::from_str_radix(integer.as_str(), integer.radix()).ok()
    };
    let float = value
        .as_float()
        .and_then(|float| float.as_str().parse().ok());
    float.or_else(|| integer().map(|integer| integer as f64))
}

/// Prints a number as it was written, anything else by its kind.
fn shown(value: &DeValue<'_>) -> String {
    let float = value.as_float().map(|float| float.as_str());
    let integer = || value.as_integer().map(|integer| integer.as_str());
    float
        .or_else(integer)
        .unwrap_or_else(|| value.type_str())
        .to_owned()
}

fn set(
    key: &SettingKey,
    settings: &mut ProjectSettings,
    value: &DeValue<'_>,
) -> Result<(), String> {
    let expected = |what: &str| format!("must be {what}, not {}", value.type_str());
    match &key.kind {
        SettingValueKind::Paths(set) => {
            let listed = value.as_array().and_then(texts);
            let listed = listed.ok_or_else(|| expected("a list of strings"))?;
            set(settings, listed.into_iter().map(PathBuf::from).collect());
        }
        SettingValueKind::Choice(choices, set) => {
            let text = value.as_str().ok_or_else(|| expected("a string"))?;
            set(settings, keys::one_of(choices, text)?);
        }
        SettingValueKind::Flag(set) => set(
            settings,
            value.as_bool().ok_or_else(|| expected("true or false"))?,
        ),
        SettingValueKind::Count(set) => {
            let number = value
                .as_integer()
                .ok_or_else(|| expected("a whole number"))?;
            let count = u64::from_str_radix(number.as_str(), number.radix()).ok();
            let count = count.filter(|count| *count > 0);
            set(
                settings,
                count.ok_or_else(|| keys::not_a_count(number.as_str()))?,
            );
        }
        SettingValueKind::CountOrZero(set) => {
            let number = value
                .as_integer()
                .ok_or_else(|| expected("a whole number"))?;
            let count = u64::from_str_radix(number.as_str(), number.radix()).ok();
            set(
                settings,
                count.ok_or_else(|| keys::not_whole(number.as_str()))?,
            );
        }
        SettingValueKind::Text(set) => {
            let text = value.as_str().ok_or_else(|| expected("a string"))?;
            set(settings, text.to_owned());
        }
        SettingValueKind::Texts(set) => {
            let listed = value.as_array().and_then(texts);
            let listed = listed.ok_or_else(|| expected("a list of strings"))?;
            set(settings, listed);
        }
        SettingValueKind::Choices(choices, set) => {
            let listed = value.as_array().and_then(texts);
            let listed = listed.ok_or_else(|| expected("a list of strings"))?;
            set(settings, keys::all_of(choices, listed)?);
        }
        SettingValueKind::Number(max, set) => {
            let number = keys::within(*max, number(value));
            let number = number.ok_or_else(|| keys::not_within(*max, &shown(value)))?;
            set(settings, number);
        }
    }
    Ok(())
}

fn texts(list: &DeArray<'_>) -> Option<Vec<String>> {
    list.iter()
        .map(|item| item.get_ref().as_str().map(str::to_owned))
        .collect()
}
