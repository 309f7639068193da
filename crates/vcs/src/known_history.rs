//! The stored result of a history walk, with the state of the repository it holds for.

use std::collections::BTreeSet;

use crate::leftovers::ObjectFiles;

/// A walked history, as stored in a file.
#[derive(Default)]
pub(crate) struct KnownHistory {
    /// The state of references and objects; it changes with each of them.
    pub(crate) state: String,
    pub(crate) tips: BTreeSet<String>,
    pub(crate) objects: ObjectFiles,
    pub(crate) hidden: BTreeSet<String>,
}

impl KnownHistory {
    pub(crate) fn parse(kept: &[u8]) -> Self {
        let kept = String::from_utf8_lossy(kept);
        let mut lines = kept.lines();
        let mut known = Self {
            state: lines.next().unwrap_or_default().to_owned(),
            ..Self::default()
        };
        for line in lines {
            match line.split_once(' ') {
                Some(("tip", id)) => known.tips.insert(id.to_owned()),
                Some(("loose", id)) => known.objects.loose.insert(id.to_owned()),
                Some(("pack", name)) => known.objects.packs.insert(name.to_owned()),
                Some(("hidden", id)) => known.hidden.insert(id.to_owned()),
                _ => false,
            };
        }
        known
    }

    pub(crate) fn print(&self) -> String {
        let mut text = format!("{}\n", self.state);
        for (word, values) in [
            ("tip", &self.tips),
            ("loose", &self.objects.loose),
            ("pack", &self.objects.packs),
            ("hidden", &self.hidden),
        ] {
            for value in values {
                text.push_str(&format!("{word} {value}\n"));
            }
        }
        text
    }
}
