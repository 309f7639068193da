//! The documents are tests: every file block is written, every command block is run unchanged from an
//! empty directory, and what it prints is compared with the text. CONTRIBUTING.md has the conventions.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

mod blocks;
mod playing;

use playing::play;

#[test]
fn readme() {
    play("README.md");
}

#[test]
fn recipes() {
    play("docs/recipes.md");
}

#[test]
fn ai() {
    play("docs/ai.md");
}

/// A document that is wrong must fail, or the tests above prove nothing.
#[test]
fn a_wrong_document_fails() {
    for wrong in [
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ false\n```\n",
        "```sh\nfalse\n```\n",
        "```yaml\na: [\n```\n",
        "```json\n{\n```\n",
        "Nothing names it.\n\n```text x.txt\nx\n```\n",
        "```console\n$ echo a; echo b\na\n```\n",
    ] {
        let played = std::panic::catch_unwind(|| playing::play_text("wrong.md", wrong));
        assert!(played.is_err(), "{wrong}");
    }
    let right = "`x.txt` is a file:\n\n```text x.txt\nx\n```\n\n```console\n$ cat x.txt; exit 3\n…\n[exit code 3]\n```\n";
    playing::play_text("right.md", right);
}
