//! Messages of commits, in the form of Conventional Commits.

use std::fmt;

/// The most characters of a message's first line.
pub(crate) const SUBJECT_CHARS_MAX: usize = 72;

/// The type of change, the first word of a commit message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeType {
    /// Something new.
    Feat,
    /// A repaired bug.
    Fix,
    /// The same behaviour, with better code.
    Refactor,
    /// Tests.
    Test,
    /// Documentation.
    Docs,
    /// Anything else.
    Chore,
}

impl ChangeType {
    /// Returns the type for a builder's task, such as `bugfix`.
    #[must_use]
    pub fn of_task(task: &str) -> Self {
        match task {
            "new-resource" | "schema-migration" => Self::Feat,
            "bugfix" => Self::Fix,
            "refactor" => Self::Refactor,
            "test-gen" => Self::Test,
            "doc-gen" => Self::Docs,
            _ => Self::Chore,
        }
    }

    /// The word in the message.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Feat => "feat",
            Self::Fix => "fix",
            Self::Refactor => "refactor",
            Self::Test => "test",
            Self::Docs => "docs",
            Self::Chore => "chore",
        }
    }
}

/// A message: `type(scope): summary`, a body, and trailers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMessage {
    change: ChangeType,
    scope: String,
    summary: String,
    body: String,
    trailers: Vec<(String, String)>,
}

impl CommitMessage {
    /// Makes a message of one line. Any text is accepted; it is joined into one line and cut.
    #[must_use]
    pub fn new(change: ChangeType, summary: &str) -> Self {
        Self {
            change,
            scope: String::new(),
            summary: without_orders(&one_line(summary))
                .trim_end_matches('.')
                .to_owned(),
            body: String::new(),
            trailers: Vec::new(),
        }
    }

    /// Sets the part of the project; characters not allowed there are dropped.
    #[must_use]
    pub fn scope(mut self, scope: &str) -> Self {
        let allowed = |c: &char| c.is_alphanumeric() || "-_/.".contains(*c);
        self.scope = scope.chars().filter(allowed).take(30).collect();
        self
    }

    /// Sets the text below the first line.
    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        let kept = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = body.chars().filter(kept).collect();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        self.body = without_orders(lines.join("\n").trim());
        self
    }

    /// A line `Name: value` at the end, for programs.
    #[must_use]
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        let name = name
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '-');
        self.trailers.push((name.collect(), one_line(value)));
        self
    }

    /// The first line; also a good title for a pull request.
    #[must_use]
    pub fn subject(&self) -> String {
        let scope = match self.scope.as_str() {
            "" => String::new(),
            scope => format!("({scope})"),
        };
        let summary = match self.summary.as_str() {
            "" => "change",
            summary => summary,
        };
        cut(&format!("{}{scope}: {summary}", self.change.as_str()))
    }
}

impl fmt::Display for CommitMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.subject())?;
        if !self.body.is_empty() {
            write!(f, "\n{}\n", self.body)?;
        }
        if !self.trailers.is_empty() {
            writeln!(f)?;
        }
        for (name, value) in &self.trailers {
            writeln!(f, "{name}: {value}")?;
        }
        Ok(())
    }
}

fn one_line(text: &str) -> String {
    let visible: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words in brackets by which a commit orders the checks of its forge not to run.
const CHECK_ORDERS: [&str; 9] = [
    "skip ci",
    "ci skip",
    "no ci",
    "skip actions",
    "actions skip",
    "skip-ci",
    "ci-skip",
    "skip checks",
    "skip check",
];

/// Makes orders to the forge's checks plain text: the author of a message does not decide that.
fn without_orders(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut shown: Vec<u8> = text.as_bytes().to_vec();
    for order in CHECK_ORDERS {
        for (at, found) in lower.match_indices(&format!("[{order}]")) {
            shown[at] = b'(';
            shown[at + found.len() - 1] = b')';
        }
    }
    let bare = String::from_utf8_lossy(&shown).replace("***NO_CI***", "NO_CI");
    let is_trailer = |line: &str| line.to_ascii_lowercase().starts_with("skip-checks:");
    let mark = |line| if is_trailer(line) { "- " } else { "" };
    let lines = bare.split('\n').map(|line| format!("{}{line}", mark(line)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Cuts the line, between words if possible.
fn cut(line: &str) -> String {
    if line.chars().count() <= SUBJECT_CHARS_MAX {
        return line.to_owned();
    }
    let kept: String = line.chars().take(SUBJECT_CHARS_MAX - 1).collect();
    let end = match kept.rfind(' ') {
        Some(space) if space >= kept.len() / 2 => space,
        _ => kept.len(),
    };
    format!("{}…", kept[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_conventional() {
        let message = CommitMessage::new(ChangeType::of_task("bugfix"), "Handle\n empty\tinput.")
            .scope("parser (core)")
            .body("Why.  \n\nMore.\u{7}\r\n")
            .trailer("Drawloom-Job", "42\nEvil: 1");
        assert_eq!(
            message.to_string(),
            "fix(parsercore): Handle empty input\n\nWhy.\n\nMore.\n\nDrawloom-Job: 42 Evil: 1\n"
        );
        assert_eq!(
            CommitMessage::new(ChangeType::Docs, "").to_string(),
            "docs: change\n"
        );
    }

    #[test]
    fn no_words_keep_the_forges_checks_from_running() {
        let message = CommitMessage::new(ChangeType::Feat, "ä [Skip CI] it")
            .body("Ü [ci skip], [NO CI] and [skip it].\n***NO_CI***\n\n\nskip-checks: true");
        assert_eq!(
            message.to_string(),
            "feat: ä (Skip CI) it\n\nÜ (ci skip), (NO CI) and [skip it].\nNO_CI\n\n\n- skip-checks: true\n"
        );
    }

    #[test]
    fn every_task_has_a_type() {
        for (task, word) in [
            ("new-resource", "feat"),
            ("schema-migration", "feat"),
            ("bugfix", "fix"),
            ("refactor", "refactor"),
            ("test-gen", "test"),
            ("doc-gen", "docs"),
            ("anything", "chore"),
        ] {
            assert_eq!(ChangeType::of_task(task).as_str(), word);
        }
    }

    #[test]
    fn long_subjects_are_cut_between_words() {
        let message = CommitMessage::new(ChangeType::Feat, &"word ".repeat(40));
        let subject = message.subject();
        assert!(subject.chars().count() <= SUBJECT_CHARS_MAX, "{subject}");
        assert!(subject.ends_with("word…"), "{subject}");
        let message = CommitMessage::new(ChangeType::Feat, &"ä".repeat(200));
        assert_eq!(message.subject().chars().count(), SUBJECT_CHARS_MAX);
    }
}
