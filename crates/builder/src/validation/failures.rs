//! Parses a command's output into failures, with identities that do not change when lines move.
//!
//! The identity of a failed test is its name, that of an error in a file is the file with the
//! message. Line numbers, times and colours are left out. Output without a recognised failure
//! counts as one: the check as a whole.

use std::collections::BTreeMap;

/// Failures and the number of each: the same message may occur twice in one file.
pub type FailureCounts = BTreeMap<String, u32>;

/// The same failures as people read them, with line and column, in the order of the output.
pub(crate) type FailurePlaces = BTreeMap<String, Vec<String>>;

/// The longest identity.
const IDENTITY_CHARS_MAX: usize = 300;
/// The most failures recognised in one output.
const FAILURES_MAX: usize = 500;

/// The failures found in an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ParsedFailures {
    pub(crate) failures: FailureCounts,
    pub(crate) places: FailurePlaces,
    /// True if at least one failure has a place. The others may be about the command itself: a
    /// missing program, an unreachable registry.
    pub(crate) has_places: bool,
}

/// Parses the failures out of the output of a failed command.
pub fn read(output: &str) -> FailureCounts {
    reading(output).failures
}

/// Works like [`read`], and tells how much was understood.
pub(crate) fn reading(output: &str) -> ParsedFailures {
    let mut reader = FailureParser::default();
    for line in output.lines() {
        let line = plain(line);
        reader.take(line.trim_end());
    }
    reader.end();
    ParsedFailures {
        failures: reader.found,
        places: reader.places,
        has_places: reader.has_places,
    }
}

/// Returns the failures that occur more often `now` than `before`.
pub fn new_ones(before: &FailureCounts, now: &FailureCounts) -> Vec<String> {
    let mut new = Vec::new();
    for (identity, count) in now {
        let known = before.get(identity).copied().unwrap_or(0);
        let more = count.saturating_sub(known) as usize;
        new.extend(std::iter::repeat_n(identity.clone(), more));
    }
    new.truncate(FAILURES_MAX);
    new
}

/// Returns new failures with their places. If a message was there before and occurs once more now,
/// takes its last place: the output does not tell which one is new.
pub(crate) fn with_places(new: Vec<String>, places: &FailurePlaces) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for identity in &new {
        *counts.entry(identity).or_default() += 1;
    }
    let mut spelled = Vec::new();
    for (identity, count) in counts {
        let known = places.get(identity).map_or(&[][..], Vec::as_slice);
        let first = known.len().saturating_sub(count);
        spelled.extend(known[first..].iter().cloned());
        let rest = count.saturating_sub(known.len());
        spelled.extend(std::iter::repeat_n(identity.to_owned(), rest));
    }
    spelled
}

/// The shortest and longest random name, such as `GxeHI7` in `targetGxeHI7`.
const RANDOM_CHARS: std::ops::RangeInclusive<usize> = 4..=40;

/// Returns true if two messages differ only in random names in paths and in numbers: words at the
/// same places, each equal or a path of which one part of the same length looks random in both.
pub(crate) fn differ_in_random_names(old: &str, new: &str) -> bool {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.split_whitespace().collect(),
        new.split_whitespace().collect(),
    );
    old.len() == new.len()
        && old
            .iter()
            .zip(&new)
            .all(|(old, new)| is_same_word(old, new))
}

fn is_same_word(old: &str, new: &str) -> bool {
    if old == new {
        return true;
    }
    let bare = |word: &str| -> String { word.chars().filter(|c| !c.is_ascii_digit()).collect() };
    if !old.contains('/') && !old.contains("tmp") {
        // A process number, a port, a duration.
        return old.contains(|c: char| c.is_ascii_digit()) && bare(old) == bare(new);
    }
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    if old.len() != new.len() {
        return false;
    }
    let first = old.iter().zip(&new).position(|(a, b)| a != b).unwrap_or(0);
    let last = old.iter().zip(&new).rposition(|(a, b)| a != b).unwrap_or(0);
    let parts = [&old[first..=last], &new[first..=last]];
    let is_name = |part: &&[char]| part.iter().all(|c| c.is_ascii_alphanumeric() || *c == '_');
    let looks_random = |part: &&[char]| {
        part.iter()
            .any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
    };
    RANDOM_CHARS.contains(&parts[0].len())
        && parts.iter().all(is_name)
        && parts.iter().any(looks_random)
}

#[derive(Default)]
struct FailureParser {
    found: FailureCounts,
    places: FailurePlaces,
    has_places: bool,
    /// The message of a compiler that puts the place on a later line.
    message: Option<String>,
    /// The file that the following lines are about, as linters print it.
    file: Option<String>,
}

impl FailureParser {
    fn take(&mut self, line: &str) {
        let text = line.trim_start();
        if text.is_empty() {
            self.file = None;
            return;
        }
        if let Some(place) = text.strip_prefix("--> ") {
            self.place(place);
            return;
        }
        if let Some(name) = failed_test(line) {
            self.add(name, None);
        } else if let Some((identity, place)) = located(text) {
            self.end();
            self.add(identity, Some(place));
        } else if let Some(message) = rust_message(line) {
            self.end();
            self.message = Some(message);
        } else if let Some((identity, place)) = self.listed(line) {
            self.add(identity, Some(place));
        } else if is_file(line) {
            self.file = Some(line.trim_start_matches("./").to_owned());
        }
    }

    /// A compiler's `--> src/lib.rs:3:5` after its message.
    fn place(&mut self, place: &str) {
        if let Some(message) = self.message.take() {
            let file = place.split(':').next().unwrap_or_default();
            let place = format!("{}: {message}", place.trim());
            self.add(format!("{file}: {message}"), Some(place));
        }
    }

    /// Records a message that has no place.
    fn end(&mut self) {
        if let Some(message) = self.message.take()
            && !is_summary(&message)
        {
            self.count(message);
        }
    }

    /// `  3:5  error  message  rule`, below the name of the file.
    fn listed(&self, line: &str) -> Option<(String, String)> {
        let file = self.file.as_ref()?;
        let rest = line.strip_prefix("  ")?.trim_start();
        let (place, rest) = rest.split_once(char::is_whitespace)?;
        let (row, column) = place.split_once(':')?;
        let numbers = [row, column];
        if !numbers.iter().all(|number| is_number(number)) {
            return None;
        }
        let message = rest.trim_start().strip_prefix("error")?;
        let message = spaced(message);
        Some((
            format!("{file}: {message}"),
            format!("{file}:{row}:{column}: {message}"),
        ))
    }

    fn add(&mut self, identity: String, place: Option<String>) {
        self.has_places = true;
        let identity = bounded(&identity);
        if let Some(place) = place {
            let places = self.places.entry(identity.clone()).or_default();
            if places.len() < FAILURES_MAX {
                places.push(bounded(&place));
            }
        }
        self.count(identity);
    }

    fn count(&mut self, identity: String) {
        if self.found.len() >= FAILURES_MAX && !self.found.contains_key(&identity) {
            return;
        }
        let identity = bounded(&identity);
        *self.found.entry(identity).or_default() += 1;
    }
}

fn bounded(text: &str) -> String {
    text.chars().take(IDENTITY_CHARS_MAX).collect()
}

/// The name of a test that failed, as the runners print it.
fn failed_test(line: &str) -> Option<String> {
    let text = line.trim_start();
    // cargo: `test a::b ... FAILED`
    if let Some(name) = text
        .strip_prefix("test ")
        .and_then(|rest| rest.strip_suffix(" ... FAILED"))
    {
        return Some(format!("test {name}"));
    }
    // pytest: `FAILED tests/a.py::b - message`, and modules that cannot be loaded
    for word in ["FAILED ", "ERROR "] {
        if let Some(rest) = line.strip_prefix(word)
            && (rest.contains("::") || rest.split(' ').next()?.ends_with(".py"))
        {
            let name = rest.split(" - ").next().unwrap_or(rest);
            return Some(format!("test {}", name.trim()));
        }
    }
    // unittest: `FAIL: test_a (tests.b.C.test_a)`
    for word in ["FAIL: ", "ERROR: "] {
        if let Some(rest) = line.strip_prefix(word)
            && rest.ends_with(')')
            && rest.contains('(')
        {
            return Some(format!("test {rest}"));
        }
    }
    // go: `--- FAIL: TestA (0.00s)`
    if let Some(rest) = text.strip_prefix("--- FAIL: ") {
        return Some(format!("test {}", untimed(rest)));
    }
    // TAP: `not ok 3 - name`
    if let Some(rest) = text.strip_prefix("not ok ") {
        let name = rest.split_once(" - ").map_or(rest, |(_, name)| name);
        return Some(format!("test {}", untimed(name)));
    }
    // jest: `● suite › name`
    if let Some(rest) = text.strip_prefix("● ")
        && rest.contains(" › ")
    {
        return Some(format!("test {rest}"));
    }
    // vitest: ` FAIL  file > suite > name`; it is printed once for each
    if let Some(rest) = text.strip_prefix("FAIL ")
        && rest.contains(" > ")
    {
        return Some(format!("test {}", rest.trim()));
    }
    // node: `✖ name (1.2ms)`, with the name of a file if the file could not be loaded
    if let Some(rest) = text.strip_prefix("✖ ")
        && rest.ends_with("ms)")
    {
        return Some(format!("test {}", untimed(rest)));
    }
    None
}

/// Splits `file:3:5: message`, `file(3,5): error message`, `file:3: error: message` into the
/// failure and its place.
fn located(text: &str) -> Option<(String, String)> {
    // tsc: `src/a.ts(3,5): error TS2322: …`
    if let Some((place, message)) = text.split_once("): error ")
        && let Some((file, numbers)) = place.rsplit_once('(')
        && numbers.split(',').all(is_number)
        && is_file(file)
    {
        return Some(spelled(file, &numbers.replace(',', ":"), message));
    }
    let mut parts = text.splitn(4, ':');
    let (file, row) = (parts.next()?, parts.next()?.trim());
    let file = file.trim_start_matches("./");
    if !is_number(row) || !is_file(file) {
        return None;
    }
    let third = parts.next()?;
    let digits = third.len() - third.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (column, third) = third.split_at(digits);
    let message = match parts.next() {
        // `file:3:5: message`, and tsc's `file:3:5 - error TS2322: message`
        Some(rest) => format!("{third}:{rest}"),
        None if digits > 0 => return None,
        None => third.to_owned(),
    };
    let message = message.trim_start_matches([':', ' ', '-']);
    let first = message.split_whitespace().next().unwrap_or_default();
    if message.is_empty() || is_remark(first) {
        return None;
    }
    let message = message.strip_prefix("error:").unwrap_or(message);
    let message = message.strip_prefix("error ").unwrap_or(message);
    let numbers = match column {
        "" => row.to_owned(),
        column => format!("{row}:{column}"),
    };
    Some(spelled(file, &numbers, message))
}

/// A message without and with its place.
fn spelled(file: &str, numbers: &str, message: &str) -> (String, String) {
    let message = spaced(message);
    (
        format!("{file}: {message}"),
        format!("{file}:{numbers}: {message}"),
    )
}

/// Returns true if a message that begins with this word is not about an error: `note:`, `warning:`,
/// `PytestCacheWarning:`.
fn is_remark(word: &str) -> bool {
    word == "note:" || word.to_ascii_lowercase().ends_with("warning:")
}

/// `error[E0308]: mismatched types`; the place follows on the next line.
fn rust_message(line: &str) -> Option<String> {
    let rest = line.strip_prefix("error")?;
    let is_message = rest.starts_with('[') || rest.starts_with(": ");
    is_message.then(|| spaced(line))
}

/// Recognises sentences that only count the errors printed before.
fn is_summary(message: &str) -> bool {
    let starts = [
        "error: could not compile",
        "error: aborting due to",
        "error: test failed",
        "error: doctest failed",
        "error: 1 target failed",
        "error: process didn't exit",
        "error: Lifecycle script",
        "error: script ",
    ];
    starts.iter().any(|start| message.starts_with(start)) || message.contains("targets failed")
}

fn is_file(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_named = name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && !ending.is_empty()
            && ending.len() <= 6
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    is_named && !text.contains(char::is_whitespace) && !text.contains("://")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

fn starts_with_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Without the time in brackets at the end.
fn untimed(text: &str) -> &str {
    let text = text.trim();
    match text.rsplit_once(" (") {
        Some((name, time)) if time.ends_with("s)") && starts_with_number(time) => name.trim(),
        _ => text,
    }
}

/// Collapses white space to one space.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The line without the codes that colour it.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        if c != '\u{1b}' {
            text.push(c);
            continue;
        }
        if characters.next() == Some('[') {
            // A code ends with its first letter.
            characters.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{differ_in_random_names, new_ones, read, reading, with_places};

    #[track_caller]
    fn check(output: &str, expected: &[&str]) {
        let found: Vec<String> = read(output).into_keys().collect();
        assert_eq!(found, expected, "{output}");
    }

    #[test]
    fn compilers_and_linters_are_understood() {
        check(
            "error[E0308]: mismatched types\n --> src/lib.rs:3:5\n  |\n\nerror: could not compile `x` (lib) due to 1 previous error\n",
            &["src/lib.rs: error[E0308]: mismatched types"],
        );
        check(
            "\u{1b}[1m\u{1b}[91merror\u{1b}[0m: unused variable: `a`\n   --> src/a.rs:1:2\n",
            &["src/a.rs: error: unused variable: `a`"],
        );
        check(
            "src/a.ts(3,5): error TS2322: Type 'string' is not  assignable.\n",
            &["src/a.ts: TS2322: Type 'string' is not assignable."],
        );
        check(
            "src/a.ts:3:5 - error TS2322: Nope: no.\n",
            &["src/a.ts: TS2322: Nope: no."],
        );
        check(
            "/w/src/a.ts\n  3:5  error  'x' is never used  no-unused-vars\n  4:1  warning  Odd  odd\n\n✖ 2 problems\n",
            &["/w/src/a.ts: 'x' is never used no-unused-vars"],
        );
        check(
            "app/a.py:3: error: Name \"x\" is not defined  [name-defined]\napp/a.py:4: note: See it\n",
            &["app/a.py: Name \"x\" is not defined [name-defined]"],
        );
        check(
            "app/a.py:3:5: F401 `os` unused\n",
            &["app/a.py: F401 `os` unused"],
        );
        check("./a.go:3:5: undefined: x\n", &["a.go: undefined: x"]);
    }

    #[test]
    fn test_runners_are_understood() {
        check(
            "test a::b ... FAILED\ntest a::c ... ok\nerror: test failed, to rerun pass `--lib`\n",
            &["test a::b"],
        );
        check(
            "FAILED tests/test_a.py::test_x - assert 1 == 2\nERROR tests/test_b.py\n",
            &["test tests/test_a.py::test_x", "test tests/test_b.py"],
        );
        check(
            "FAIL: test_x (tests.test_a.T.test_x)\n",
            &["test test_x (tests.test_a.T.test_x)"],
        );
        check(
            "    --- FAIL: TestA/b (0.00s)\nFAIL\tpkg\t0.1s\n",
            &["test TestA/b"],
        );
        check("not ok 3 - adds\n# Subtest: adds\n", &["test adds"]);
        check("  ● math › adds\n", &["test math › adds"]);
        check(
            " FAIL  src/a.test.ts > math > adds\n",
            &["test src/a.test.ts > math > adds"],
        );
        check("✖ adds (1.204ms)\n", &["test adds"]);
    }

    #[test]
    fn unknown_output_has_no_failures() {
        check("", &[]);
        check("Segmentation fault\n", &[]);
        check("http://a.b:80:1: x\n12:30:05: started\n", &[]);
        check("npm ERR! code 1\n", &[]);
    }

    #[test]
    fn only_additional_failures_are_new() {
        let before = read("a.py:1: error: x\nb.py:1: error: y\n");
        let now = read("a.py:9: error: x\na.py:12: error: x\n");
        assert_eq!(new_ones(&before, &now), ["a.py: x"]);
        assert_eq!(new_ones(&before, &before), [""; 0]);
        assert_eq!(new_ones(&now, &before), ["b.py: y"]);
    }
    #[test]
    fn warnings_of_a_test_runner_are_no_failures() {
        check(
            "/usr/lib/python3/_pytest/cacheprovider.py:475: PytestCacheWarning: could not create cache path\n",
            &[],
        );
    }

    #[test]
    fn a_new_failure_is_told_with_its_line() {
        let output = "a.txt:1:1: bad one\nsrc/a.ts(3,5): error TS2322: Nope\nerror[E0308]: mismatched\n --> src/lib.rs:7:9\n\nb.py:4: error: odd\nb.py:9: error: odd\n";
        let now = reading(output);
        let spell = |before: &str| with_places(new_ones(&read(before), &now.failures), &now.places);
        assert_eq!(
            spell(""),
            [
                "a.txt:1:1: bad one",
                "b.py:4: odd",
                "b.py:9: odd",
                "src/a.ts:3:5: TS2322: Nope",
                "src/lib.rs:7:9: error[E0308]: mismatched",
            ]
        );
        let known = "a.txt:8:1: bad one\nb.py:4: error: odd\n";
        assert_eq!(spell(known)[0], "b.py:9: odd");
    }

    #[test]
    fn a_message_with_a_made_up_name_is_the_same_message() {
        let denied =
            |name: &str| format!("error: Permission denied (os error 13) at path \"/c/{name}\"");
        let same = [
            (denied("targetGxeHI7"), denied("targetab12CD")),
            (denied(".tmpAbCdEf"), denied(".tmpxYzq12")),
            (
                "error: cannot lock, held by 4711".to_owned(),
                "error: cannot lock, held by 88".to_owned(),
            ),
        ];
        for (old, new) in &same {
            assert!(differ_in_random_names(old, new), "{old} {new}");
        }
        let other = [
            (denied("src/orders.rs"), denied("src/logins.rs")),
            (denied("target"), denied("targetGxeHI7")),
            (
                "error: cannot find Orders".to_owned(),
                "error: cannot find Logins".to_owned(),
            ),
        ];
        for (old, new) in &other {
            assert!(!differ_in_random_names(old, new), "{old} {new}");
        }
    }
}
