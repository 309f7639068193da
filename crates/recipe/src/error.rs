//! The one error of this crate: a kind to branch on, and diagnostics that point at a place.

use std::fmt;

use serde::Serialize;

/// Most characters of a source line an excerpt repeats.
const EXCERPT_CHARS_MAX: usize = 160;

/// Error category, for callers that branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RecipeErrorKind {
    /// A manifest (`recipe.yml`, `kit.yml`, frontmatter) is wrong.
    Manifest,
    /// The command line names a value that the recipe does not declare, or one of the wrong type.
    Usage,
    /// Required values are missing and the run may not ask for them.
    Missing,
    /// There is no such recipe, kit, template or record.
    NotFound,
    /// A template, a condition or another expression failed.
    Template,
    /// Answers are wrong: unknown keys, wrong types, an old request.
    Answers,
    /// A path leaves the project, or may not be written.
    Path,
    /// An `inject` has no place to go.
    Inject,
    /// The recipe comes from outside and wants to run commands.
    Untrusted,
    /// The recipe is the project's own, and the user has not trusted it.
    UntrustedOwn,
    /// A command failed.
    Command,
    /// The person said stop.
    Aborted,
    /// A named limit was reached.
    Limit,
    /// Known, and not there yet.
    Unsupported,
    /// Another process writes to the project and did not end in time.
    Locked,
    /// The operating system refused.
    Io,
}

/// A place in a file, counted from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileSpan {
    pub line: u32,
    pub column: u32,
    /// Number of characters the caret underlines.
    #[serde(skip)]
    pub width: u32,
}

/// One thing that is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<FileSpan>,
    /// The source line at the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The answer it is about, for programs that correct answers.
    #[serde(flatten, skip_serializing_if = "breaks_no_rule")]
    pub answer: Option<Box<WrongAnswer>>,
}

/// The wrong answer, the rule it broke, and the value that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrongAnswer {
    pub key: String,
    /// `None` for the value of a variable, which the recipe itself refuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<prompt::AnswerRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<serde_json::Value>,
}

/// Reason why a run, a load or an import stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Error {
    kind: RecipeErrorKind,
    diagnostics: Vec<Diagnostic>,
    /// The recipe's `onError`, once rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_error: Option<String>,
    /// The error is about the target of a template, even if it names another place.
    #[serde(skip)]
    is_about_target: bool,
}

/// Recognises a diagnostic that programs cannot act on as on a wrong answer.
fn breaks_no_rule(answer: &Option<Box<WrongAnswer>>) -> bool {
    answer.as_ref().is_none_or(|answer| answer.rule.is_none())
}

impl Diagnostic {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            file: None,
            place: None,
            excerpt: None,
            hint: None,
            answer: None,
        }
    }

    /// Says which answer it is about.
    #[must_use]
    pub(crate) fn about(mut self, problem: &prompt::AnswerProblem) -> Self {
        self.answer = Some(Box::new(WrongAnswer {
            key: problem.key.clone(),
            rule: Some(problem.rule),
            found: problem.found.as_deref().cloned(),
        }));
        self
    }

    /// Says which variable has a wrong value.
    #[must_use]
    pub(crate) fn about_variable(mut self, name: &str) -> Self {
        self.answer = Some(Box::new(WrongAnswer {
            key: name.to_owned(),
            rule: None,
            found: None,
        }));
        self
    }

    /// Adds the position in a file whose text is at hand.
    #[must_use]
    pub(crate) fn at(mut self, file: &str, text: &str, place: FileSpan) -> Self {
        self.excerpt = line_of(text, place.line);
        self.in_file(file, Some(place))
    }

    #[must_use]
    pub(crate) fn in_file(mut self, file: &str, place: Option<FileSpan>) -> Self {
        self.file = Some(file.to_owned());
        self.place = place;
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Prints `file:line:column: message`, on one line.
    fn headline(&self) -> String {
        match (&self.file, self.place) {
            (Some(file), Some(place)) => {
                format!("{file}:{}:{}: {}", place.line, place.column, self.message)
            }
            (Some(file), None) => format!("{file}: {}", self.message),
            _ => self.message.clone(),
        }
    }

    fn report(&self, out: &mut String) {
        out.push_str(&self.headline());
        if let (Some(place), Some(excerpt)) = (self.place, &self.excerpt) {
            let number = place.line.to_string();
            let gutter = " ".repeat(number.len());
            let column = (place.column as usize).saturating_sub(1);
            let before = diagnostics::caret_padding(excerpt, column);
            let carets = "^".repeat(place.width.max(1) as usize);
            out.push_str(&format!(
                "\n{gutter} |\n{number} | {excerpt}\n{gutter} | {before}{carets}"
            ));
        }
        if let Some(hint) = &self.hint {
            out.push_str("\n  hint: ");
            out.push_str(hint);
        }
    }
}

impl Error {
    pub(crate) fn new(kind: RecipeErrorKind, message: impl Into<String>) -> Self {
        Self::of(kind, vec![Diagnostic::new(message)])
    }

    pub(crate) fn of(kind: RecipeErrorKind, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            kind,
            diagnostics,
            on_error: None,
            is_about_target: false,
        }
    }

    pub fn kind(&self) -> RecipeErrorKind {
        self.kind
    }

    /// Returns everything that is wrong, in the order of the files.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the keys of the wrong answers.
    pub fn wrong_answers(&self) -> impl Iterator<Item = &str> {
        let diagnostics = self.diagnostics.iter();
        let answers = diagnostics.filter_map(|diagnostic| diagnostic.answer.as_ref());
        answers.map(|answer| answer.key.as_str())
    }

    /// Returns the recipe's own sentence about a failure (`onError`).
    pub fn on_error(&self) -> Option<&str> {
        self.on_error.as_deref()
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(last) = self.diagnostics.last_mut() {
            last.hint.get_or_insert(hint.into());
        }
        self
    }

    #[must_use]
    pub(crate) fn about_target(mut self) -> Self {
        self.is_about_target = true;
        self
    }

    pub(crate) fn is_about_target(&self) -> bool {
        self.is_about_target
    }

    #[must_use]
    pub(crate) fn and_says(mut self, text: String) -> Self {
        self.on_error = Some(text).filter(|text| !text.trim().is_empty());
        self
    }

    /// Adds a sentence about the cleanup after the failure.
    #[must_use]
    pub(crate) fn and_then(mut self, sentence: &str) -> Self {
        if let Some(last) = self.diagnostics.last_mut() {
            if !last.message.ends_with(['.', '!', '?']) {
                last.message.push('.');
            }
            last.message.push(' ');
            last.message.push_str(sentence);
        }
        self
    }

    /// Adds a position, unless the error has one already.
    #[must_use]
    pub(crate) fn at(mut self, file: &str, text: &str, place: FileSpan) -> Self {
        for diagnostic in &mut self.diagnostics {
            if diagnostic.file.is_none() {
                *diagnostic = diagnostic.clone().at(file, text, place);
            }
        }
        self
    }

    /// Prints everything on many lines: place, excerpt, caret and hint of each diagnostic.
    pub fn report(&self) -> String {
        let mut out = String::new();
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                out.push_str("\n\n");
            }
            diagnostic.report(&mut out);
        }
        if let Some(text) = &self.on_error {
            out.push_str("\n\n");
            out.push_str(text.trim_end());
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&diagnostic.headline())?;
            if let Some(hint) = &diagnostic.hint {
                write!(f, " ({hint})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<workspace::Error> for Error {
    fn from(error: workspace::Error) -> Self {
        use workspace::WorkspaceErrorKind;
        let kind = match error.kind() {
            WorkspaceErrorKind::InvalidPath
            | WorkspaceErrorKind::Escape
            | WorkspaceErrorKind::Denied => RecipeErrorKind::Path,
            WorkspaceErrorKind::NotFound => RecipeErrorKind::NotFound,
            WorkspaceErrorKind::Limit => RecipeErrorKind::Limit,
            WorkspaceErrorKind::Locked => RecipeErrorKind::Locked,
            _ => RecipeErrorKind::Io,
        };
        Self::new(kind, error.to_string())
    }
}

fn line_of(text: &str, line: u32) -> Option<String> {
    let line = text.lines().nth(line.checked_sub(1)? as usize)?;
    Some(line.trim_end().chars().take(EXCERPT_CHARS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_shows_the_line_under_a_caret() {
        let place = FileSpan {
            line: 2,
            column: 3,
            width: 4,
        };
        let diagnostic = Diagnostic::new("unknown key `nmae`")
            .at("recipe.yml", "a: 1\n  nmae: x\n", place)
            .hint("did you mean `name`?");
        let error = Error::of(RecipeErrorKind::Manifest, vec![diagnostic]);
        assert_eq!(
            error.report(),
            "recipe.yml:2:3: unknown key `nmae`\n  |\n2 |   nmae: x\n  |   ^^^^\n  hint: did you mean `name`?"
        );
        assert_eq!(
            error.to_string(),
            "recipe.yml:2:3: unknown key `nmae` (did you mean `name`?)"
        );
    }
}
