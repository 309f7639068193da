//! Criteria as checks: what each is, and what a text alone is taken for.

use std::ffi::OsStr;

use workspace::{PathKind, RelPath, Workspace};

use super::result::{CriterionReading, ReadAs};
use crate::task::{Criterion, RunCriterion};

/// Something that can be done about a criterion.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CriterionCheck {
    Run(RunCriterion),
    File(RelPath),
    /// No command can check it; `because` says why.
    Nobody {
        text: String,
        because: String,
    },
}

/// Places to search for programs.
pub(super) struct ProgramLookup<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) search_path: &'a OsStr,
}

/// Returns the check of a criterion, and how it was read if that had to be decided.
pub(super) fn check_of(
    criterion: &Criterion,
    programs: &ProgramLookup<'_>,
) -> (CriterionCheck, Option<CriterionReading>) {
    let text = match criterion {
        Criterion::Run(run) => return (CriterionCheck::Run(run.clone()), None),
        Criterion::FileExists(file) => {
            return (CriterionCheck::File(file.file_exists.clone()), None);
        }
        Criterion::Describe(description) => {
            let because = "it is a description, which no command can check".to_owned();
            let text = description.describe.clone();
            return (CriterionCheck::Nobody { text, because }, None);
        }
        Criterion::Text(text) => text,
    };
    let (read_as, because) = programs.read(text);
    let check = match read_as {
        ReadAs::Command => CriterionCheck::Run(RunCriterion {
            run: text.clone(),
            cwd: None,
            timeout: None,
        }),
        ReadAs::Description => CriterionCheck::Nobody {
            text: text.clone(),
            because: because.clone(),
        },
    };
    let reading = CriterionReading {
        criterion: text.clone(),
        read_as,
        because,
    };
    (check, Some(reading))
}

impl ProgramLookup<'_> {
    /// Decides if a text is a command or a description, and says why.
    fn read(&self, text: &str) -> (ReadAs, String) {
        let Some(words) = shlex::split(text) else {
            return (
                ReadAs::Description,
                "it is no command line: its quotes do not match".to_owned(),
            );
        };
        let is_ahead =
            |word: &&String| is_assignment(word) || matches!(word.as_str(), "!" | "(" | "{");
        let program = words.iter().find(|word| !is_ahead(word));
        let Some(program) = program.map(|word| word.trim_start_matches('(')) else {
            return (ReadAs::Description, "it names no program".to_owned());
        };
        if is_sentence(text) {
            return (ReadAs::Description, "it reads like a sentence".to_owned());
        }
        if BUILTINS.contains(&program) {
            return (
                ReadAs::Command,
                format!("`{program}` is a command of the shell"),
            );
        }
        if program.starts_with("./") || self.finds(program) {
            return (ReadAs::Command, format!("there is a program `{program}`"));
        }
        (
            ReadAs::Description,
            format!("there is no program `{program}`; write {{\"run\": …}} if it is a command"),
        )
    }

    fn finds(&self, program: &str) -> bool {
        if program.contains('/') && !program.starts_with('/') {
            let path = RelPath::parse(program).ok();
            let kind = path.and_then(|path| self.workspace.kind(&path).ok().flatten());
            return kind == Some(PathKind::File);
        }
        exec::which(program, self.search_path).is_some()
    }
}

/// Words that the shell itself knows and that may be no programs.
const BUILTINS: &[&str] = &[
    "cd", "test", "[", "[[", "set", "export", "eval", "exec", ".", ":", "true", "false", "if",
    "for", "while", "until", "case", "command", "unset", "ulimit", "umask", "trap", "wait",
];

/// Words of sentences that are no words of commands.
const SENTENCE_WORDS: &[&str] = &[
    "the", "is", "are", "must", "should", "shall", "that", "has", "have", "sure", "does", "of",
];

/// True if it is prose that happens to begin with the name of a program, such as "test that …".
fn is_sentence(text: &str) -> bool {
    let marks = [
        '|', '&', ';', '<', '>', '$', '`', '=', '(', ')', '{', '}', '*', '"', '/', '\\',
    ];
    let words: Vec<&str> = text.split_whitespace().collect();
    let has_option = words.iter().any(|word| word.starts_with('-'));
    if words.len() < 3 || has_option || text.contains(marks) {
        return false;
    }
    let ends = text.trim_end().strip_suffix('.').unwrap_or_default();
    ends.ends_with(char::is_alphabetic)
        || words
            .iter()
            .any(|word| SENTENCE_WORDS.contains(&word.to_lowercase().as_str()))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
