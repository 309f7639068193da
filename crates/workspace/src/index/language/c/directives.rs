//! Lines of the preprocessor: `#include` and `#define`.

use super::super::gather::Gather;
use super::super::tokens::is_word;
use super::super::{ExportKind, ImportKind};

/// Reads the directives of one file in order.
pub(super) struct Directives<'a> {
    is_header: bool,
    /// The name that the last `#ifndef` asked for: if it is defined next, to nothing, it is only
    /// there to keep a header from being read twice.
    guard: Option<&'a str>,
}

impl<'a> Directives<'a> {
    /// Macros of a header are for others.
    pub(super) fn new(is_header: bool) -> Self {
        Self {
            is_header,
            guard: None,
        }
    }

    /// Takes a whole line, from its `#` on.
    pub(super) fn read(&mut self, line: &'a str, offset: usize, gather: &mut Gather<'_>) {
        let rest = line.trim_start_matches('#').trim_start();
        let (name, rest) = word(rest);
        let guard = self.guard.take();
        match name {
            "include" | "include_next" | "import" => include(rest, offset, gather),
            "ifndef" => self.guard = Some(word(rest.trim_start()).0),
            "define" if self.is_header => {
                let (macro_name, value) = word(rest.trim_start());
                if guard == Some(macro_name) && value.trim().is_empty() {
                    return;
                }
                let kind = if value.starts_with('(') {
                    ExportKind::Function
                } else {
                    ExportKind::Value
                };
                gather.export(macro_name, kind, offset);
            }
            _ => {}
        }
    }
}

fn include(rest: &str, offset: usize, gather: &mut Gather<'_>) {
    let rest = rest.trim_start();
    let (close, kind) = match rest.as_bytes().first() {
        Some(b'"') => ('"', ImportKind::Static),
        Some(b'<') => ('>', ImportKind::System),
        _ => return,
    };
    if let Some((file, _)) = rest[1..].split_once(close) {
        gather.import(file.trim().to_owned(), kind, offset);
    }
}

/// The word that a text begins with, and the rest.
fn word(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !is_word(byte))
        .unwrap_or(text.len());
    text.split_at(end)
}
