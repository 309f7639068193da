//! Languages with curly braces that have no reader of their own: finds types and functions outside
//! of bodies by their keywords.

use super::super::facts_builder::FactsBuilder;
use super::super::tokens::{LexerDialect, SourceTokens};
use super::super::{ExportKind, ImportKind};

/// The most tokens in the receiver of a Kotlin function.
const RECEIVER_TOKENS_MAX: usize = 64;

/// The keywords of a language.
pub(super) struct LanguageKeywords {
    /// A keyword, and the kind of item it introduces.
    defines: &'static [(&'static str, ExportKind)],
    /// Keywords whose braces contain definitions; the names inside are spelled below theirs.
    holds: &'static [&'static str],
    /// Keywords that make a definition private to its file.
    hides: &'static [&'static str],
    /// Keywords before a quoted path.
    imports: &'static [&'static str],
}

use ExportKind::{Class, Enum, Function, Module, Type, Value};

pub(super) const PROTO: LanguageKeywords = LanguageKeywords {
    defines: &[("message", Class), ("enum", Enum), ("service", Type)],
    holds: &[],
    hides: &[],
    imports: &["import", "public", "weak"],
};

pub(super) const GRAPHQL: LanguageKeywords = LanguageKeywords {
    defines: &[
        ("type", Class),
        ("input", Class),
        ("interface", Type),
        ("enum", Enum),
        ("union", Type),
        ("scalar", Type),
        ("query", Function),
        ("mutation", Function),
        ("subscription", Function),
        ("fragment", Value),
    ],
    holds: &[],
    hides: &["extend"],
    imports: &[],
};

pub(super) const KOTLIN: LanguageKeywords = LanguageKeywords {
    defines: &[
        ("class", Class),
        ("interface", Type),
        ("object", Class),
        ("typealias", Type),
        ("fun", Function),
        ("val", Value),
        ("var", Value),
    ],
    holds: &[],
    hides: &["private"],
    imports: &[],
};

pub(super) const CSHARP: LanguageKeywords = LanguageKeywords {
    defines: &[
        ("class", Class),
        ("struct", Class),
        ("record", Class),
        ("interface", Type),
        ("delegate", Type),
        ("enum", Enum),
    ],
    holds: &["namespace"],
    hides: &["file"],
    imports: &[],
};

pub(super) const SWIFT: LanguageKeywords = LanguageKeywords {
    defines: &[
        ("class", Class),
        ("struct", Class),
        ("actor", Class),
        ("protocol", Type),
        ("typealias", Type),
        ("enum", Enum),
        ("func", Function),
        ("let", Value),
        ("var", Value),
    ],
    holds: &[],
    hides: &["private", "fileprivate"],
    imports: &[],
};

pub(super) const SCALA: LanguageKeywords = LanguageKeywords {
    defines: &[
        ("class", Class),
        ("trait", Type),
        ("object", Class),
        ("enum", Enum),
        ("type", Type),
        ("def", Function),
        ("val", Value),
    ],
    holds: &[],
    hides: &["private"],
    imports: &[],
};

pub(super) const DART: LanguageKeywords = LanguageKeywords {
    defines: &[
        ("class", Class),
        ("mixin", Class),
        ("enum", Enum),
        ("typedef", Type),
        ("extension", Type),
    ],
    holds: &[],
    hides: &[],
    imports: &["import", "export", "part"],
};

pub(super) const PHP: LanguageKeywords = LanguageKeywords {
    defines: &[
        ("class", Class),
        ("interface", Type),
        ("trait", Type),
        ("enum", Enum),
        ("function", Function),
        ("const", Value),
    ],
    holds: &["namespace"],
    hides: &[],
    imports: &["require", "require_once", "include", "include_once"],
};

pub(super) fn read(text: &str, words: &LanguageKeywords, gather: &mut FactsBuilder<'_>) {
    let tokens = SourceTokens::read(text, LexerDialect::Java);
    let mut at = 0;
    let mut is_hidden = false;
    while at < tokens.len() {
        let word = tokens.word(at);
        let offset = tokens.get(at).map_or(0, |token| token.start as usize);
        if words.imports.contains(&word)
            && let Some(file) = quoted(&tokens, at + 1)
        {
            gather.import(
                file.trim_start_matches('/').to_owned(),
                ImportKind::Static,
                offset,
            );
        }
        let kind = words.defines.iter().find(|(known, _)| *known == word);
        if words.hides.contains(&word) {
            is_hidden = true;
        } else if words.holds.contains(&word) {
            at = namespace(&tokens, at + 1, gather);
            continue;
        } else if let Some((_, kind)) = kind {
            let place = name_at(&tokens, at + 1, word);
            let name = tokens.word(place);
            let is_word = words.defines.iter().any(|(known, _)| *known == name);
            if !is_word && !name.starts_with('_') && !name.is_empty() {
                if !is_hidden {
                    gather.export(name, *kind, offset);
                }
                is_hidden = false;
                at = place;
            }
        } else if matches!(tokens.mark(at), b';' | b'}') {
            is_hidden = false;
        }
        at = tokens.after(at);
    }
}

/// A path in quotes here or after a bracket and a directory: `require_once __DIR__ . '/a.php'`.
fn quoted<'a>(tokens: &SourceTokens<'a>, at: usize) -> Option<&'a str> {
    (at..at + 4).find_map(|at| {
        let literal = tokens.source(at);
        let quote = literal
            .chars()
            .next()
            .filter(|first| matches!(first, '"' | '\''))?;
        literal.strip_prefix(quote)?.strip_suffix(quote)
    })
}

/// Enters a namespace; its name is not part of its types' names, as in the files that use them.
fn namespace(tokens: &SourceTokens<'_>, at: usize, gather: &mut FactsBuilder<'_>) -> usize {
    let mut at = at;
    let from = at;
    while at < tokens.len() && at < from + 64 && !matches!(tokens.mark(at), b'{' | b';') {
        at += 1;
    }
    let (Some(first), Some(end)) = (tokens.get(from), tokens.get(at)) else {
        return at + 1;
    };
    let name = tokens.text.get(first.start as usize..end.start as usize);
    gather.export(
        name.unwrap_or_default().trim(),
        Module,
        first.start as usize,
    );
    at + 1
}

/// Returns the place of the name after the word that introduces it: past parameters and receivers.
fn name_at(tokens: &SourceTokens<'_>, at: usize, word: &str) -> usize {
    let mut at = at;
    // `fun <T> name`, `record struct Name`, `enum class Name`, `delegate int Name(…)`.
    if tokens.mark(at) == b'<' {
        while at < tokens.len() && tokens.mark(at) != b'>' {
            at += 1;
        }
        at += 1;
    }
    if matches!(tokens.word(at), "class" | "struct") {
        at += 1;
    }
    let is_returned = word == "delegate" && !tokens.word(at + 1).is_empty();
    at += usize::from(is_returned);
    // `fun Receiver<T>.name()`: the parameters follow the name.
    if word == "fun" {
        let open = (at..at + RECEIVER_TOKENS_MAX).find(|open| tokens.mark(*open) == b'(');
        return open.map_or(at, |open| open.max(1) - 1);
    }
    at
}
