//! The one error of this crate: a code to branch on, a sentence, the place, and what to do next.

use std::fmt;
use std::path::{Path, PathBuf};

/// Category of a failure; the text form is stable and appears in `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppErrorCode {
    /// `drawloom.toml` or a `DRAWLOOM_…` variable is wrong.
    Settings,
    /// Another user could have written a file that would be obeyed.
    Owner,
    /// A file named by the user cannot be read or written.
    File,
    /// The text given as data is not valid.
    Data,
    /// No recipe or kit has that name.
    NotFound,
    /// The kit cannot be added, removed or trusted in its state.
    Kit,
    /// git failed.
    Git,
    /// Another program could not be run.
    Command,
    /// A named limit was reached.
    Limit,
    /// No model is configured that could do the work.
    NoModel,
    /// Another process works on the run.
    RunLocked,
    /// The project's database cannot be used.
    Database,
    /// The database does not answer at the moment: the same again may work.
    DatabaseAway,
    /// The disk has no room: nothing was changed.
    DiskFull,
    /// The provider that people sign in with does not answer as it should.
    Provider,
    /// A run cannot be set up.
    Agent,
    /// The request is not valid in this form.
    Usage,
    /// The actor's role does not allow it.
    Forbidden,
    /// The build is not, or no longer, in a state in which this is possible.
    Conflict,
    /// The caller has seen an older version than the one that is there now.
    Stale,
    /// A plan of a build cannot be carried out.
    BuildPlan,
    /// A build cannot be set up.
    Build,
    /// The work was interrupted here, and can be gone on with.
    Interrupted,
}

impl AppErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settings => "E_SETTINGS",
            Self::Owner => "E_OWNER",
            Self::File => "E_FILE",
            Self::Data => "E_DATA",
            Self::NotFound => "E_NOT_FOUND",
            Self::Kit => "E_KIT",
            Self::Git => "E_GIT",
            Self::Command => "E_COMMAND",
            Self::Limit => "E_LIMIT",
            Self::NoModel => "E_NO_MODEL",
            Self::RunLocked => "E_RUN_LOCKED",
            Self::Database | Self::DatabaseAway | Self::DiskFull => "E_DATABASE",
            Self::Provider => "E_PROVIDER",
            Self::Agent => "E_AGENT",
            Self::Usage => "E_USAGE",
            Self::Forbidden => "E_FORBIDDEN",
            Self::Conflict => "E_CONFLICT",
            Self::Stale => "E_STALE",
            Self::BuildPlan => "E_BUILD_PLAN",
            Self::Build => "E_BUILD",
            Self::Interrupted => "E_INTERRUPTED",
        }
    }
}

/// Position of the problem in a text file; lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
    /// The text of that line.
    pub excerpt: String,
}

impl FilePosition {
    /// Makes the position of byte `offset` in `text`.
    pub fn of(file: &Path, text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let end = text[offset..]
            .find('\n')
            .map_or(text.len(), |at| offset + at);
        Self {
            file: file.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: text[start..offset].chars().count() + 1,
            excerpt: text[start..end].trim_end_matches('\r').to_owned(),
        }
    }
}

/// Reason why a use case stopped: its own, or an error of a crate below.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Own(Box<AppFailure>),
    #[error(transparent)]
    Recipe(#[from] recipe::Error),
    #[error(transparent)]
    Template(#[from] template::Error),
    #[error(transparent)]
    Ai(#[from] transport::Error),
    /// The project would do what its user has not trusted.
    #[error("{0}")]
    Untrusted(Box<crate::trust::UntrustedActs>),
    /// A task or plan file is wrong.
    #[error(transparent)]
    Definition(#[from] agent::task::TaskFileProblems),
}

/// A failure that this crate found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppFailure {
    pub code: AppErrorCode,
    /// A whole sentence or several lines of them.
    pub message: String,
    pub place: Option<FilePosition>,
    pub hint: Option<String>,
}

impl Error {
    pub fn new(code: AppErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Own(Box::new(AppFailure {
            code,
            message,
            place: None,
            hint: None,
        }))
    }

    #[must_use]
    pub fn at(mut self, place: FilePosition) -> Self {
        if let Self::Own(fault) = &mut self {
            fault.place = Some(place);
        }
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Self::Own(fault) = &mut self {
            fault.hint = Some(hint.into());
        }
        self
    }
}

impl From<workspace::Error> for Error {
    fn from(error: workspace::Error) -> Self {
        let code = match error.is_disk_full() {
            true => AppErrorCode::DiskFull,
            false => AppErrorCode::File,
        };
        Self::new(code, error.to_string())
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let code = match error.kind() {
            store::DatabaseErrorKind::Locked => AppErrorCode::RunLocked,
            store::DatabaseErrorKind::Missing => AppErrorCode::NotFound,
            store::DatabaseErrorKind::Lost
            | store::DatabaseErrorKind::Busy
            | store::DatabaseErrorKind::Open => AppErrorCode::DatabaseAway,
            store::DatabaseErrorKind::Full => AppErrorCode::DiskFull,
            _ => AppErrorCode::Database,
        };
        Self::new(code, error.to_string())
    }
}

impl From<agent::Error> for Error {
    fn from(error: agent::Error) -> Self {
        let code = match error.kind() {
            agent::AgentErrorKind::Journal => AppErrorCode::Database,
            _ => AppErrorCode::Agent,
        };
        Self::new(code, error.to_string())
    }
}

impl From<builder::Error> for Error {
    fn from(error: builder::Error) -> Self {
        let code = match error.kind() {
            builder::BuildErrorKind::NotFound => AppErrorCode::NotFound,
            builder::BuildErrorKind::Conflict => AppErrorCode::Conflict,
            builder::BuildErrorKind::Held => AppErrorCode::RunLocked,
            builder::BuildErrorKind::Invalid => AppErrorCode::Usage,
            builder::BuildErrorKind::Plan => AppErrorCode::BuildPlan,
            builder::BuildErrorKind::Store => AppErrorCode::Database,
            builder::BuildErrorKind::Setup => AppErrorCode::Build,
            builder::BuildErrorKind::Interrupted => AppErrorCode::Interrupted,
        };
        Self::new(code, error.to_string())
    }
}

impl From<vcs::Error> for Error {
    fn from(error: vcs::Error) -> Self {
        Self::new(AppErrorCode::Git, error.to_string())
    }
}

impl From<exec::Error> for Error {
    fn from(error: exec::Error) -> Self {
        Self::new(AppErrorCode::Command, error.to_string())
    }
}

impl fmt::Display for AppFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(
                f,
                "{}:{}:{}: ",
                place.file.display(),
                place.line,
                place.column
            )?;
        }
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let text = "a = 1\r\nb = \"ä\" x\n";
        let place = FilePosition::of(Path::new("f"), text, text.find('x').unwrap());
        assert_eq!((place.line, place.column), (2, 9));
        assert_eq!(place.excerpt, "b = \"ä\" x");
        let past_end = FilePosition::of(Path::new("f"), text, 999);
        assert_eq!((past_end.line, past_end.column), (3, 1));
    }
}
