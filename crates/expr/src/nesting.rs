//! Keeps the parser's stack safe: how deeply an expression's text could nest, before parsing it.

use crate::error::Error;

/// Bytes in one expression.
pub(crate) const EXPRESSION_BYTES_MAX: usize = 256 << 10;
/// Tokens in one expression that could open another level.
const NESTING_TOKENS_MAX: usize = 20_000;
/// Stack the parser may need for one level, generously.
const STACK_PER_LEVEL_BYTES: usize = 16 << 10;
const STACK_BASE_BYTES: usize = 512 << 10;

/// Runs a parser over `source` with enough stack for any text.
///
/// The parser is recursive and has no limit of its own, so the text is measured first: every
/// bracket, operator or keyword that may open a level counts, whether it does or not.
pub(crate) fn with_stack_for<R>(
    source: &str,
    parse: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    if source.len() > EXPRESSION_BYTES_MAX {
        return Err(Error::limit(format!(
            "an expression of {} bytes is longer than expression_bytes_max = {EXPRESSION_BYTES_MAX}",
            source.len()
        )));
    }
    let levels = nesting_tokens(source);
    if levels > NESTING_TOKENS_MAX {
        return Err(Error::limit(format!(
            "an expression with {levels} brackets and operators is over nesting_tokens_max = {NESTING_TOKENS_MAX}"
        )));
    }
    let needed = STACK_BASE_BYTES + levels * STACK_PER_LEVEL_BYTES;
    stacker::maybe_grow(needed, needed + STACK_BASE_BYTES, parse)
}

fn nesting_tokens(source: &str) -> usize {
    let brackets = source
        .bytes()
        .filter(|byte| b"([{!~+-?=*<`".contains(byte))
        .count();
    let keywords = source
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| {
            matches!(
                *word,
                "typeof"
                    | "void"
                    | "await"
                    | "new"
                    | "delete"
                    | "async"
                    | "yield"
                    | "class"
                    | "function"
                    | "import"
            )
        })
        .count();
    brackets + keywords
}
