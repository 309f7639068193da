//! Collects the facts of one text: every name once, every request once, lines counted on the way.

use rustc_hash::FxHashSet;

use super::{ExportKind, ExportedName, ImportKind, ImportRequest, SourceFacts};

/// The longest name or specifier that is kept; real ones are shorter.
const NAME_BYTES_MAX: usize = 256;
/// The most exports, and the most imports, of one file.
const FACTS_MAX: usize = 20_000;

/// The facts of a text read so far.
pub(super) struct FactsBuilder<'a> {
    text: &'a str,
    exports: Vec<ExportedName>,
    names: FxHashSet<String>,
    imports: Vec<ImportRequest>,
    requests: FxHashSet<(String, ImportKind)>,
    /// A place in the text and its line, from which the next line is counted.
    counted: (usize, u32),
}

impl<'a> FactsBuilder<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            exports: Vec::new(),
            names: FxHashSet::default(),
            imports: Vec::new(),
            requests: FxHashSet::default(),
            counted: (0, 1),
        }
    }

    /// Adds a name that is defined at this byte of the text.
    pub(super) fn export(&mut self, name: &str, kind: ExportKind, offset: usize) {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || self.exports.len() >= FACTS_MAX {
            return;
        }
        if self.names.contains(name) {
            return;
        }
        self.names.insert(name.to_owned());
        let line = self.line(offset);
        self.exports.push(ExportedName {
            name: name.to_owned(),
            kind,
            line,
        });
    }

    /// Adds an import at this byte of the text.
    pub(super) fn import(&mut self, specifier: String, kind: ImportKind, offset: usize) {
        if specifier.is_empty()
            || specifier.len() > NAME_BYTES_MAX
            || self.imports.len() >= FACTS_MAX
            || !self.requests.insert((specifier.clone(), kind))
        {
            return;
        }
        let line = self.line(offset);
        self.imports.push(ImportRequest {
            specifier,
            kind,
            line,
        });
    }

    /// Returns all facts, in the order of the text.
    pub(super) fn finish(mut self, package: Option<String>) -> SourceFacts {
        self.exports.sort_by_key(|export| export.line);
        self.imports.sort_by_key(|import| import.line);
        SourceFacts {
            exports: self.exports,
            imports: self.imports,
            package,
        }
    }

    /// The line of a byte, from 1. Cheap as long as places mostly go forward.
    fn line(&mut self, offset: usize) -> u32 {
        let offset = offset.min(self.text.len());
        let (mut from, mut line) = self.counted;
        if offset < from {
            (from, line) = (0, 1);
        }
        let between = &self.text.as_bytes()[from..offset];
        let newlines = memchr::memchr_iter(b'\n', between).count();
        line += u32::try_from(newlines).unwrap_or(u32::MAX - line);
        self.counted = (offset, line);
        line
    }
}
