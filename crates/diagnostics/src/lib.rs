//! The parts that every crate's messages share: the line of a source with a caret, the name that a
//! misspelled one was meant to be, and the size of a text in tokens.
//!
//! A leaf: every crate may use it, and it uses none of them. What an error means stays with the crate
//! that reports it.

mod excerpt;
mod nearest;
mod tokens;

pub use excerpt::{EXCERPT_CHARS_MAX, SourceExcerpt, caret_padding};
pub use nearest::{nearest, suggestion};
pub use tokens::{bytes_of_tokens, tokens_of_bytes};
