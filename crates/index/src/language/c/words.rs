//! The meaning of single words of C and C++ in a declaration.

use super::super::tokens::SourceTokens;

/// Returns true if a declaration continues after a bracket, so that the word before it was a macro.
pub(super) fn starts_declarator(tokens: &SourceTokens<'_>, at: usize) -> bool {
    let word = tokens.word(at);
    tokens.mark(at) == b'*'
        || !word.is_empty()
            && !is_attribute(word)
            && !matches!(
                word,
                "const"
                    | "volatile"
                    | "noexcept"
                    | "override"
                    | "final"
                    | "try"
                    | "requires"
                    | "mutable"
            )
}

/// Recognises constructors and destructors outside of their class, which is exported already.
pub(super) fn is_of_class(name: &str) -> bool {
    let mut parts = name.rsplit("::");
    let last = parts.next().unwrap_or_default();
    last.starts_with('~') || parts.next() == Some(last)
}

/// Returns true if a name is spelled like a macro.
pub(super) fn is_shouted(name: &str) -> bool {
    name.len() > 1 && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

pub(super) fn is_attribute(word: &str) -> bool {
    matches!(
        word,
        "__attribute__"
            | "__attribute"
            | "__declspec"
            | "alignas"
            | "_Alignas"
            | "decltype"
            | "typeof"
            | "__typeof__"
            | "noexcept"
            | "throw"
            | "asm"
            | "__asm__"
            | "__asm"
            | "explicit"
    )
}

/// Returns true for words that end a declaration of a type alone and cannot be a name.
pub(super) fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "int"
            | "char"
            | "short"
            | "long"
            | "unsigned"
            | "signed"
            | "void"
            | "float"
            | "double"
            | "bool"
            | "const"
            | "volatile"
            | "inline"
            | "auto"
            | "if"
            | "for"
            | "while"
            | "switch"
            | "return"
            | "sizeof"
            | "default"
            | "delete"
            | "static_assert"
            | "_Static_assert"
    )
}
