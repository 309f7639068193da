//! Keeps parsers from running out of stack, however deeply a text is nested.
//!
//! Parsers recurse. Every byte that may open a level is counted first, even in strings, so that no
//! text can hide a level. A text that could need more stack than the index's threads have gets a
//! separate thread with enough.

use std::thread;

/// The stack of each thread that reads files. Only touched pages take memory.
pub(super) const STACK_BYTES: usize = 256 << 20;

/// Stack that one level may need, generously: the largest measured takes 1.6 kB in a release, and
/// debug builds need more.
const STACK_PER_OPENER_BYTES: usize = if cfg!(debug_assertions) {
    8 << 10
} else {
    4 << 10
};
/// Levels that are opened by words, such as `typeof typeof x`, need less.
const STACK_PER_BYTE_BYTES: usize = 256;
/// Stack reserved for everything but the levels.
const STACK_SPARE_BYTES: usize = 1 << 20;
/// The largest stack for a single text.
const STACK_BYTES_MAX: usize = 8 << 30;

/// Runs `read` with enough stack for the text; `None` if no stack would be enough.
pub(super) fn with_stack_for<R: Send>(text: &str, read: impl FnOnce() -> R + Send) -> Option<R> {
    let needed = needed(text);
    if needed <= STACK_BYTES {
        return Some(read());
    }
    if needed > STACK_BYTES_MAX {
        return None;
    }
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(needed);
        builder.spawn_scoped(scope, read).ok()?.join().ok()
    })
}

fn needed(text: &str) -> usize {
    let fixed = STACK_SPARE_BYTES + text.len() * STACK_PER_BYTE_BYTES;
    // Most texts are so short that they need no counting.
    if fixed + text.len() * STACK_PER_OPENER_BYTES <= STACK_BYTES {
        return fixed;
    }
    // Four counts side by side: one would wait for itself at every byte.
    let (fours, rest) = text.as_bytes().as_chunks::<4>();
    let mut counts = [0_usize; 4];
    for four in fours {
        for (count, byte) in counts.iter_mut().zip(four) {
            *count += usize::from(OPENS[usize::from(*byte)]);
        }
    }
    let rest = rest
        .iter()
        .map(|byte| usize::from(OPENS[usize::from(*byte)]));
    let openers = counts.into_iter().chain(rest).sum::<usize>();
    fixed + openers * STACK_PER_OPENER_BYTES
}

/// One for each byte that may open a level in some language.
const OPENS: [u8; 256] = {
    let signs = b"([{<!~+-*&|?=:`/%^@,.";
    let mut table = [0; 256];
    let mut index = 0;
    while index < signs.len() {
        table[signs[index] as usize] = 1;
        index += 1;
    }
    table
};
