//! Lines of the preprocessor: `#include` and `#define`.

use super::super::facts_builder::FactsBuilder;
use super::super::tokens::{SourceTokens, is_word};
use super::super::{ExportKind, ImportKind};
use super::CFileKind;

/// Reads the includes of a file and, from a header, the macros.
pub(super) fn read(tokens: &SourceTokens<'_>, role: CFileKind, gather: &mut FactsBuilder<'_>) {
    // The name of the last `#ifndef`: if it is defined next, it is an include guard.
    let mut guard: Option<&str> = None;
    let mut is_first = true;
    for (offset, line) in tokens.directives() {
        let (name, rest) = word(line.trim_start_matches('#').trim_start());
        let asked = guard.take();
        match name {
            "include" | "include_next" | "import" => include(rest, offset, gather),
            "ifndef" => guard = Some(word(rest.trim_start()).0),
            "define" if role == CFileKind::Header => {
                let (macro_name, value) = word(rest.trim_start());
                let value_plain = value.trim();
                // With a value it may be a default, unless it wraps the whole header.
                let is_guard = value_plain.is_empty() || value_plain == "1" && is_first;
                is_first = false;
                if asked != Some(macro_name) || !is_guard {
                    gather.export(macro_name, kind_of(value), offset);
                }
            }
            _ => {}
        }
    }
}

fn kind_of(value: &str) -> ExportKind {
    if value.starts_with('(') {
        ExportKind::Function
    } else {
        ExportKind::Value
    }
}

fn include(rest: &str, offset: usize, gather: &mut FactsBuilder<'_>) {
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

/// Splits a text into its first word and the rest.
fn word(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !is_word(byte))
        .unwrap_or(text.len());
    text.split_at(end)
}
