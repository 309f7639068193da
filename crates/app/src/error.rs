//! The one error of this crate: a code to branch on, a sentence, the place, and what to do next.

use std::fmt;
use std::path::{Path, PathBuf};

/// What kind of failure it is; the text form is stable and appears in `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// `drawloom.toml` or a `DRAWLOOM_…` variable is wrong.
    Settings,
    /// Another user could have written a file that would be obeyed.
    Owner,
    /// A file named by the user cannot be read or written.
    File,
    /// The text given as data is not what it should be.
    Data,
    /// No recipe or kit has that name.
    NotFound,
    /// The kit cannot be added, removed or trusted as it is.
    Kit,
    /// git failed.
    Git,
    /// Another program could not be run.
    Command,
    /// A named limit was reached.
    Limit,
    /// Nobody is set up who could do the work.
    NoModel,
    /// Another process works on the run.
    RunLocked,
    /// The project's database cannot be used.
    Database,
    /// A run cannot be set up.
    Agent,
    /// What was asked for cannot be asked for so.
    Usage,
    /// The build does not stand, or does no longer stand, where this is possible.
    Conflict,
    /// A plan of a build cannot be carried out.
    BuildPlan,
    /// A build cannot be set up.
    Build,
    /// The work was interrupted here, and can be gone on with.
    Interrupted,
}

impl Code {
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
            Self::Database => "E_DATABASE",
            Self::Agent => "E_AGENT",
            Self::Usage => "E_USAGE",
            Self::Conflict => "E_CONFLICT",
            Self::BuildPlan => "E_BUILD_PLAN",
            Self::Build => "E_BUILD",
            Self::Interrupted => "E_INTERRUPTED",
        }
    }
}

/// Where in a text file the trouble is; lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
    /// The text of that line.
    pub excerpt: String,
}

impl Place {
    /// The place of byte `offset` in `text`.
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

/// Why a use case stopped: something of its own, or what a product below says.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Own(Box<Fault>),
    #[error(transparent)]
    Recipe(#[from] recipe::Error),
    #[error(transparent)]
    Template(#[from] template::Error),
    #[error(transparent)]
    Ai(#[from] transport::Error),
    /// The project would do what its user has not trusted.
    #[error("{0}")]
    Untrusted(Box<crate::trust::Untrusted>),
    /// A task or plan file is wrong.
    #[error(transparent)]
    Definition(#[from] agent::task::Problems),
}

/// A failure that this crate found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub code: Code,
    /// A whole sentence or several lines of them.
    pub message: String,
    pub place: Option<Place>,
    pub hint: Option<String>,
}

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Own(Box::new(Fault {
            code,
            message,
            place: None,
            hint: None,
        }))
    }

    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
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
        Self::new(Code::File, error.to_string())
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let code = match error.kind() {
            store::Kind::Locked => Code::RunLocked,
            store::Kind::Missing => Code::NotFound,
            _ => Code::Database,
        };
        Self::new(code, error.to_string())
    }
}

impl From<agent::Error> for Error {
    fn from(error: agent::Error) -> Self {
        let code = match error.kind() {
            agent::Kind::Journal => Code::Database,
            _ => Code::Agent,
        };
        Self::new(code, error.to_string())
    }
}

impl From<builder::Error> for Error {
    fn from(error: builder::Error) -> Self {
        let code = match error.kind() {
            builder::Kind::NotFound => Code::NotFound,
            builder::Kind::Conflict => Code::Conflict,
            builder::Kind::Held => Code::RunLocked,
            builder::Kind::Invalid => Code::Usage,
            builder::Kind::Plan => Code::BuildPlan,
            builder::Kind::Store => Code::Database,
            builder::Kind::Setup => Code::Build,
            builder::Kind::Interrupted => Code::Interrupted,
        };
        Self::new(code, error.to_string())
    }
}

impl From<vcs::Error> for Error {
    fn from(error: vcs::Error) -> Self {
        Self::new(Code::Git, error.to_string())
    }
}

impl From<exec::Error> for Error {
    fn from(error: exec::Error) -> Self {
        Self::new(Code::Command, error.to_string())
    }
}

impl fmt::Display for Fault {
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
        let place = Place::of(Path::new("f"), text, text.find('x').unwrap());
        assert_eq!((place.line, place.column), (2, 9));
        assert_eq!(place.excerpt, "b = \"ä\" x");
        let past_end = Place::of(Path::new("f"), text, 999);
        assert_eq!((past_end.line, past_end.column), (3, 1));
    }
}
