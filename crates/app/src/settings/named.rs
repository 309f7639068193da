//! Sections whose names are the user's own (checks, agents, MCP servers): their fields, one by one,
//! and what can be wrong with them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong in a section; places are offsets in the file.
pub(super) enum Wrong {
    /// No such key; where it stands.
    Unknown(usize, String),
    /// A value that does not fit; where it stands.
    Value(usize, String),
    /// Something about the section as a whole.
    Whole(String),
}

/// A field: its name, and what it was given.
#[derive(Clone, Copy)]
pub(super) struct Field<'t, 'i> {
    name: &'t Spanned<Cow<'i, str>>,
    value: &'t Spanned<DeValue<'i>>,
}

/// The fields of a section.
pub(super) fn fields<'t, 'i>(table: &'t DeTable<'i>) -> impl Iterator<Item = Field<'t, 'i>> {
    table.iter().map(|(name, value)| Field { name, value })
}

impl<'t, 'i> Field<'t, 'i> {
    pub(super) fn name(self) -> &'t str {
        self.name.get_ref().as_ref()
    }

    /// Where its value stands.
    pub(super) fn at(self) -> usize {
        self.value.span().start
    }

    pub(super) fn text(self) -> Option<&'t str> {
        self.value.get_ref().as_str()
    }

    pub(super) fn texts(self) -> Option<Vec<String>> {
        let items = self.value.get_ref().as_array()?.iter();
        items
            .map(|item| item.get_ref().as_str().map(str::to_owned))
            .collect()
    }

    pub(super) fn pairs(self) -> Option<BTreeMap<String, String>> {
        let items = fields(self.table()?);
        items
            .map(|field| Some((field.name().to_owned(), field.text()?.to_owned())))
            .collect()
    }

    /// A whole number of at least 1.
    pub(super) fn count(self) -> Option<u64> {
        let number = self.value.get_ref().as_integer()?;
        let count = u64::from_str_radix(number.as_str(), number.radix()).ok();
        count.filter(|count| *count > 0)
    }

    pub(super) fn table(self) -> Option<&'t DeTable<'i>> {
        self.value.get_ref().as_table()
    }

    /// What kind of value it has, in words.
    pub(super) fn kind(self) -> &'static str {
        self.value.get_ref().type_str()
    }

    pub(super) fn unknown(self) -> Wrong {
        Wrong::Unknown(self.name.span().start, self.name().to_owned())
    }

    /// Its value is wrong, as the sentence says.
    pub(super) fn wrong(self, sentence: impl Into<String>) -> Wrong {
        Wrong::Value(self.at(), sentence.into())
    }
}
