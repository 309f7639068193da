//! The command that runs again with answers: what was typed, quoted, with one more `--answers`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde_json::{Map, Value};

/// A command line and the file its new answers are expected in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RetryCommand {
    /// Up to where further options may follow.
    pub(crate) command: String,
    /// The words after further options: `--` and values.
    pub(crate) end: String,
    pub(crate) answers_path: String,
}

/// Makes the command to run next; `words` is the command line as typed. Answers that were given
/// stay: a later round asks only for what is missing, and its file joins the others. `folder` is
/// where `--cwd` points, if it was given: paths are then relative to a folder that the reader is
/// not in, so the new one is absolute. A name that `is_taken` is not proposed: the file may hold
/// something else.
pub(crate) fn rerun(
    words: &[OsString],
    folder: Option<&Path>,
    is_taken: &dyn Fn(&str) -> bool,
) -> RetryCommand {
    let words = &without_taping(words);
    let free = free_path(words, is_taken);
    let answers_path = match folder {
        Some(folder) => folder
            .join(free.trim_start_matches("./"))
            .display()
            .to_string(),
        None => free,
    };
    let (command, end) = with_answers(words, &answers_path);
    RetryCommand {
        command,
        end,
        answers_path,
    }
}

/// Quotes the command line as it was typed.
pub(crate) fn shown(words: &[OsString]) -> String {
    let (command, end) = quoted(words, &[]);
    format!("{command}{end}")
}

/// Returns a command line without its line breaks.
pub(crate) fn one_line(command: &str) -> String {
    command.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Makes the command that continues with saved answers, without `--dry-run`. Values that a person
/// gave on the way are given again.
pub(crate) fn go_on(words: &[OsString], path: &str, asked: &Map<String, Value>) -> String {
    let mut kept = Vec::new();
    let mut words = without_taping(words).into_iter().peekable();
    while let Some(word) = words.next() {
        let is_stdin = words.peek().is_some_and(|next| next == "-");
        if word == "--" {
            kept.push(word);
            kept.extend(words.by_ref());
        } else if word == "--answers" && is_stdin {
            // The answers from stdin are already saved, and stdin cannot be read a second time.
            words.next();
        } else if word != "--answers=-" && word != "--dry-run" {
            kept.push(word);
        }
    }
    let (command, end) = with_answers(&kept, path);
    format!("{command}{}{end}", recipe::options(asked))
}

fn with_answers(words: &[OsString], path: &str) -> (String, String) {
    quoted(words, &["--answers", path])
}

/// Quotes the words for a shell, with more before `--`, and those from `--` on.
fn quoted(words: &[OsString], more: &[&str]) -> (String, String) {
    let mut words: Vec<String> = words
        .iter()
        .map(|word| word.display().to_string())
        .collect();
    if let Some(program) = words.first_mut() {
        "drawloom".clone_into(program);
    }
    // After `--` everything is a value, so options have to come before it.
    let end = words.iter().position(|word| word == "--");
    let mut rest = words.split_off(end.unwrap_or(words.len()));
    words.extend(more.iter().map(|word| (*word).to_owned()));
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    rest.iter_mut()
        .for_each(|word| *word = format!(" {}", quote(word)));
    (quoted.join(" "), rest.concat())
}

/// Drops `--record` and `--replay`: a document must be the same in both.
fn without_taping(words: &[OsString]) -> Vec<OsString> {
    let mut left = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--" {
            left.push(word.clone());
            left.extend(words.by_ref().cloned());
        } else if text == "--record" || text == "--replay" {
            words.next();
        } else if !text.starts_with("--record=") && !text.starts_with("--replay=") {
            left.push(word.clone());
        }
    }
    left
}

/// Returns `./answers.json`, or one with a number if that name is taken.
fn free_path(words: &[OsString], is_taken: &dyn Fn(&str) -> bool) -> String {
    let names = (2..).map(|round| format!("./answers-{round}.json"));
    let mut candidates = std::iter::once("./answers.json".to_owned()).chain(names);
    let is_named = |path: &str| words.iter().any(|word| names_file(word, path));
    let is_free = |path: &String| !is_named(path) && !is_taken(path);
    candidates.find(is_free).unwrap_or_default()
}

fn names_file(word: &OsStr, path: &str) -> bool {
    let word = word.to_string_lossy();
    let given = word.strip_prefix("--answers=").unwrap_or(&word);
    Path::new(given).file_name() == Path::new(path).file_name()
}

/// Quotes a word; `--name=value` keeps its name bare, because nothing in it needs quotes.
pub(crate) fn quote(word: &str) -> String {
    let is_plain = |name: &str| {
        name.starts_with("--")
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.".contains(c))
    };
    let (name, value) = match word.split_once('=').filter(|(name, _)| is_plain(name)) {
        Some((name, value)) => (format!("{name}="), value),
        None => (String::new(), word),
    };
    // The one thing that cannot be quoted is a NUL byte, and no argument can hold one.
    let value = shlex::try_quote(value).unwrap_or(value.into());
    format!("{name}{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], expected: &str) {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let rerun = rerun(&words, None, &|_| false);
        assert_eq!(format!("{}{}", rerun.command, rerun.end), expected);
        assert!(rerun.command.contains(&rerun.answers_path));
    }

    #[test]
    fn the_command_is_quoted_for_a_shell() {
        check(
            &[
                "/usr/bin/drawloom",
                "run",
                "about",
                "My project",
                "--note=it's $5",
            ],
            "drawloom run about 'My project' --note=\"it's \"'$5' --answers ./answers.json",
        );
        check(
            &["drawloom", "run", "a", ""],
            "drawloom run a '' --answers ./answers.json",
        );
    }

    #[test]
    fn a_later_round_keeps_the_answers_of_the_earlier_ones() {
        check(
            &["drawloom", "run", "a", "--answers", "answers.json"],
            "drawloom run a --answers answers.json --answers ./answers-2.json",
        );
        check(
            &[
                "drawloom",
                "run",
                "a",
                "--answers=./answers.json",
                "--answers",
                "./answers-2.json",
            ],
            "drawloom run a --answers=./answers.json --answers ./answers-2.json --answers \
             ./answers-3.json",
        );
    }

    #[test]
    fn a_file_that_exists_is_not_proposed() {
        let words = ["drawloom", "run", "a"].map(OsString::from);
        let rerun = rerun(&words, None, &|path| path == "./answers.json");
        assert_eq!(rerun.answers_path, "./answers-2.json");
    }

    #[test]
    fn recording_and_replaying_are_left_out() {
        check(
            &["drawloom", "run", "a", "--record", "d", "--replay=e", "x"],
            "drawloom run a x --answers ./answers.json",
        );
        check(
            &["drawloom", "run", "a", "--", "--record", "d"],
            "drawloom run a --answers ./answers.json -- --record d",
        );
    }

    #[test]
    fn going_on_needs_no_stdin() {
        let words = [
            "drawloom",
            "run",
            "a",
            "--answers",
            "-",
            "--answers",
            "b.json",
        ];
        let words = words.map(OsString::from);
        assert_eq!(
            go_on(&words, ".drawloom/answers/x.json", &Map::new()),
            "drawloom run a --answers b.json --answers .drawloom/answers/x.json"
        );
        let words = ["drawloom", "run", "a", "--dry-run", "--", "--dry-run"].map(OsString::from);
        assert_eq!(
            go_on(&words, "x.json", &Map::new()),
            "drawloom run a --answers x.json -- --dry-run"
        );
    }

    #[test]
    fn from_another_folder_the_path_is_absolute() {
        let words = ["drawloom", "run", "a", "--cwd", "sub"].map(OsString::from);
        let rerun = rerun(&words, Some(Path::new("/home/me/sub")), &|_| false);
        assert_eq!(rerun.answers_path, "/home/me/sub/answers.json");
        assert!(
            rerun
                .command
                .ends_with("--cwd sub --answers /home/me/sub/answers.json")
        );
    }

    #[test]
    fn the_option_comes_before_the_end_of_options() {
        check(
            &["drawloom", "run", "a", "--", "--x"],
            "drawloom run a --answers ./answers.json -- --x",
        );
    }
}
