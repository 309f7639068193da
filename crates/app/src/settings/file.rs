//! `drawloom.toml` read key by key, so that every mistake is shown with its line and what was meant.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::keys::{self, Key, Kind};
use super::{FILE_NAME, Settings};
use crate::{Code, Error, Place, nearest};

pub(super) fn apply(settings: &mut Settings, path: &Path, text: &str) -> Result<(), Error> {
    let source = Source { path, text };
    let table = DeTable::parse(text).map_err(|cause| {
        let offset = cause.span().map_or(0, |span| span.start);
        source.error(
            offset,
            format!("{FILE_NAME} is not valid TOML: {}", cause.message()),
        )
    })?;
    for (section, value) in table.get_ref() {
        source.section(settings, section, value)?;
    }
    Ok(())
}

struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

type Name<'i> = Spanned<std::borrow::Cow<'i, str>>;
type Given<'i> = Spanned<DeValue<'i>>;

impl Source<'_> {
    fn section(
        &self,
        settings: &mut Settings,
        section: &Name<'_>,
        value: &Given<'_>,
    ) -> Result<(), Error> {
        let name = section.get_ref().as_ref();
        let sections = keys::ALL.iter().map(|key| key.section);
        if !sections.clone().any(|known| known == name) {
            return Err(self.unknown(section, "section", sections));
        }
        let Some(table) = value.get_ref().as_table() else {
            let message = format!("`{name}` is a section: write it as [{name}]");
            return Err(self.error(section.span().start, message));
        };
        for (key, value) in table {
            self.key(settings, name, (key, value))?;
        }
        Ok(())
    }

    fn key(
        &self,
        settings: &mut Settings,
        section: &str,
        (name, value): (&Name<'_>, &Given<'_>),
    ) -> Result<(), Error> {
        let of_section = keys::ALL.iter().filter(|key| key.section == section);
        let known = of_section
            .clone()
            .find(|key| key.name == name.get_ref().as_ref());
        let Some(key) = known else {
            return Err(self.unknown(name, "key", of_section.map(|key| key.name)));
        };
        set(key, settings, value.get_ref()).map_err(|problem| {
            self.error(value.span().start, format!("`{}` {problem}", key.dotted()))
        })
    }

    fn unknown<'k>(
        &self,
        name: &Name<'_>,
        what: &str,
        known: impl Iterator<Item = &'k str> + Clone,
    ) -> Error {
        let given = name.get_ref().as_ref();
        let error = self.error(name.span().start, format!("unknown {what} `{given}`"));
        match nearest(given, known.clone()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => {
                let mut all: Vec<String> = known.map(|word| format!("`{word}`")).collect();
                all.dedup();
                error.hint(format!("known here: {}", all.join(", ")))
            }
        }
    }

    fn error(&self, offset: usize, message: String) -> Error {
        Error::new(Code::Settings, message).at(Place::of(self.path, self.text, offset))
    }
}

fn set(key: &Key, settings: &mut Settings, value: &DeValue<'_>) -> Result<(), String> {
    let expected = |what: &str| format!("must be {what}, not {}", value.type_str());
    match &key.kind {
        Kind::Paths(set) => {
            let listed = value.as_array().and_then(paths);
            set(
                settings,
                listed.ok_or_else(|| expected("a list of strings"))?,
            );
        }
        Kind::Choice(choices, set) => {
            let text = value.as_str().ok_or_else(|| expected("a string"))?;
            set(settings, keys::one_of(choices, text)?);
        }
        Kind::Flag(set) => set(
            settings,
            value.as_bool().ok_or_else(|| expected("true or false"))?,
        ),
        Kind::Count(set) => {
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
    }
    Ok(())
}

fn paths(list: &DeArray<'_>) -> Option<Vec<PathBuf>> {
    list.iter()
        .map(|item| item.get_ref().as_str().map(PathBuf::from))
        .collect()
}
