//! Keeps parsers of answers within bounds: how large an answer is, and how deeply it could nest.
//!
//! The parsers are recursive, and most of them have no limit of their own. So the text is measured
//! first: whatever may open a level counts, whether it does or not. Then the parser runs on a stack
//! that is deep enough for the worst the text could be; memory that it does not reach is not used.

use crate::limits::{SYNTAX_BYTES_MAX, SYNTAX_OPENERS_MAX, SYNTAX_SECONDS_MAX};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Stack for whatever nests nothing.
const STACK_BASE_BYTES: usize = 2 << 20;
/// Stack a parser may need for one level, generously.
const STACK_PER_OPENER_BYTES: usize = 16 << 10;
/// Stack for walking a long chain, such as `a.b.c.d`, which only lengthens the tree.
const STACK_PER_BYTE_BYTES: usize = 512;

const PARSER_FAILED: &str = "cannot be checked: its parser failed on it.";

/// Words that may open a level without a bracket or an operator.
const WORDS: [&str; 22] = [
    "as", "async", "await", "break", "class", "delete", "do", "dyn", "else", "extends", "function",
    "if", "impl", "infer", "keyof", "lambda", "move", "new", "not", "return", "typeof", "yield",
];

/// Runs a parser with enough stack for the text, or says why the text is too much.
pub(super) fn with_stack_for<R: Send + 'static>(
    answer: &str,
    parse: impl FnOnce(&str) -> R + Send + 'static,
) -> Result<R, String> {
    if answer.len() > SYNTAX_BYTES_MAX {
        return Err(format!(
            "is too large to be checked: {} bytes exceed SYNTAX_BYTES_MAX ({SYNTAX_BYTES_MAX}).",
            answer.len()
        ));
    }
    let openers = openers(answer);
    if openers > SYNTAX_OPENERS_MAX {
        return Err(format!(
            "is too intricate to be checked: {openers} brackets and operators exceed \
             SYNTAX_OPENERS_MAX ({SYNTAX_OPENERS_MAX})."
        ));
    }
    let stack =
        STACK_BASE_BYTES + openers * STACK_PER_OPENER_BYTES + answer.len() * STACK_PER_BYTE_BYTES;
    let (answer, (send, receive)) = (answer.to_owned(), mpsc::channel());
    // A thread of its own can fail to start, where a stack that is merely grown would abort; what
    // parsers keep for each thread goes with it; and one that takes its time, as with nesting that
    // is tried in two ways, need not be waited for.
    let started = thread::Builder::new().stack_size(stack).spawn(move || {
        let parsed = parse(&answer);
        send.send(parsed).ok();
    });
    started.map_err(|error| format!("cannot be checked for lack of memory: {error}."))?;
    receive
        .recv_timeout(Duration::from_secs(SYNTAX_SECONDS_MAX))
        .map_err(|error| match error {
            RecvTimeoutError::Timeout => format!(
                "is too intricate to be checked: it took more than SYNTAX_SECONDS_MAX \
                 ({SYNTAX_SECONDS_MAX})."
            ),
            RecvTimeoutError::Disconnected => PARSER_FAILED.to_owned(),
        })
}

fn openers(answer: &str) -> usize {
    let signs = answer
        .bytes()
        .filter(|byte| b"([{<!~+-*&|?=:`/%^".contains(byte))
        .count();
    let words = answer
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| WORDS.contains(word))
        .count();
    signs + words
}
