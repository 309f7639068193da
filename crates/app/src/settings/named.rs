//! Sections whose names are the user's own (checks, agents, MCP servers): their fields, and the
//! errors about them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A problem in a section; positions are offsets in the file.
pub(super) enum SectionError {
    /// No such key; its position.
    Unknown(usize, String),
    /// A value that does not fit; its position.
    Value(usize, String),
    /// Something about the section as a whole.
    Whole(String),
}

/// A field: its name and its value.
#[derive(Clone, Copy)]
pub(super) struct SectionField<'t, 'i> {
    name: &'t Spanned<Cow<'i, str>>,
    value: &'t Spanned<DeValue<'i>>,
}

/// Returns the fields of a section.
pub(super) fn fields<'t, 'i>(table: &'t DeTable<'i>) -> impl Iterator<Item = SectionField<'t, 'i>> {
    table
        .iter()
        .map(|(name, value)| SectionField { name, value })
}

impl<'t, 'i> SectionField<'t, 'i> {
    pub(super) fn name(self) -> &'t str {
        self.name.get_ref().as_ref()
    }

    /// Returns the position of its value.
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

    /// Returns the value if it is a whole number of at least 1.
    pub(super) fn count(self) -> Option<u64> {
        let number = self.value.get_ref().as_integer()?;
        let count = u64::from_str_radix(number.as_str(), number.radix()).ok();
        count.filter(|count| *count > 0)
    }

    pub(super) fn table(self) -> Option<&'t DeTable<'i>> {
        self.value.get_ref().as_table()
    }

    /// Returns the type of its value, in words.
    pub(super) fn kind(self) -> &'static str {
        self.value.get_ref().type_str()
    }

    pub(super) fn unknown(self) -> SectionError {
        SectionError::Unknown(self.name.span().start, self.name().to_owned())
    }

    /// Makes the error that its value is wrong.
    pub(super) fn wrong(self, sentence: impl Into<String>) -> SectionError {
        SectionError::Value(self.at(), sentence.into())
    }
}
