//! A denial: which rule refused what, why, and what to do instead.

use std::fmt;

use serde::{Serialize, Serializer};

use super::Action;
use crate::{Error, ErrorKind, RelPath};

/// What was to be done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Its content, or the names in it.
    Read,
    /// Made, replaced or removed.
    Write,
}

/// The rule that refused. [`Rule::code`] is for machines, a [`Denial`] for people.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// `.env` and its kin: settings that hold secrets.
    Environment,
    /// Keys, tokens and the files programs keep them in.
    Credential,
    /// Settings of a program that often hold its secrets.
    Config,
    /// Git's own directory.
    Git,
    /// Installed dependencies.
    Dependency,
    /// What a build leaves behind.
    BuildOutput,
    /// Written by a package manager, not by hand.
    LockFile,
    /// What runs by itself: CI configuration and commit hooks.
    Automation,
    /// Drawloom's own settings and records.
    Own,
    /// The project's own list; the pattern that matched.
    Listed(String),
    /// Nothing may be written in this job.
    ReadOnlyJob,
    /// The approved plan does not name the file.
    OutsidePlan,
    /// The approved plan names the file for something else; what it names it for.
    OtherAction(Vec<Action>),
    /// The file has more names than those that may be read in this project.
    HardLink {
        /// How many names it has.
        names: u64,
        /// How many of them may be read.
        readable: u64,
    },
    /// The content is a secret, whatever the file is called; what it holds.
    Secret(&'static str),
    /// The root itself is not a file.
    Root,
}

impl Rule {
    /// A stable word for the rule.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Credential => "credential",
            Self::Config => "config",
            Self::Git => "git",
            Self::Dependency => "dependency",
            Self::BuildOutput => "build_output",
            Self::LockFile => "lock_file",
            Self::Automation => "automation",
            Self::Own => "own",
            Self::Listed(_) => "listed",
            Self::ReadOnlyJob => "read_only_job",
            Self::OutsidePlan => "outside_plan",
            Self::OtherAction(_) => "other_action",
            Self::HardLink { .. } => "hard_link",
            Self::Secret(_) => "secret",
            Self::Root => "root",
        }
    }

    /// Whether an exception of the project can lift it.
    #[must_use]
    pub fn can_be_lifted(&self) -> bool {
        matches!(
            self,
            Self::Environment
                | Self::Credential
                | Self::Config
                | Self::Dependency
                | Self::BuildOutput
                | Self::LockFile
                | Self::Automation
                | Self::Secret(_)
        )
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// A refusal, as a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Denial(Box<Told>);

/// What a denial tells; apart, so that carrying a denial about is cheap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Told {
    path: RelPath,
    /// Where the path leads through symlinks, when that is what was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    leads_to: Option<RelPath>,
    /// What is inside the path, when that is what was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    contains: Option<RelPath>,
    access: Access,
    rule: Rule,
    /// The name in the path that the rule is about.
    #[serde(skip)]
    name: String,
    /// What the list of names says about it.
    #[serde(skip)]
    reason: Option<&'static str>,
}

impl Denial {
    pub(crate) fn new(path: &RelPath, access: Access, rule: Rule, name: &str) -> Self {
        Self(Box::new(Told {
            path: path.clone(),
            leads_to: None,
            contains: None,
            access,
            rule,
            name: name.to_owned(),
            reason: None,
        }))
    }

    /// The denial with the reason that the list of names gives.
    pub(crate) fn because(mut self, reason: &'static str) -> Self {
        self.0.reason = Some(reason);
        self
    }

    /// The denial of where `asked` leads, told about `asked`.
    pub(crate) fn asked_as(mut self, asked: &RelPath) -> Self {
        if self.0.path != *asked {
            let refused = std::mem::replace(&mut self.0.path, asked.clone());
            self.0.leads_to.get_or_insert(refused);
        }
        self
    }

    /// The denial of something inside `dir`, told about `dir`.
    pub(crate) fn inside(mut self, dir: &RelPath) -> Self {
        if self.0.path != *dir {
            self.0.contains = Some(std::mem::replace(&mut self.0.path, dir.clone()));
        }
        self
    }

    /// The path that was asked for.
    #[must_use]
    pub fn path(&self) -> &RelPath {
        &self.0.path
    }

    /// Where that path leads through symlinks, when that is what was refused.
    #[must_use]
    pub fn leads_to(&self) -> Option<&RelPath> {
        self.0.leads_to.as_ref()
    }

    /// What is inside that path, when that is what was refused.
    #[must_use]
    pub fn contains(&self) -> Option<&RelPath> {
        self.0.contains.as_ref()
    }

    /// What was to be done.
    #[must_use]
    pub fn access(&self) -> Access {
        self.0.access
    }

    /// The rule that refused.
    #[must_use]
    pub fn rule(&self) -> &Rule {
        &self.0.rule
    }

    /// The reason, as a clause: "`.env` files hold secrets".
    #[must_use]
    pub fn why(&self) -> String {
        let name = &self.0.name;
        if let Some(reason) = self.0.reason {
            return format!("`{name}` {reason}");
        }
        match &self.0.rule {
            Rule::Secret(what) => format!("it holds {what}"),
            Rule::Environment => format!("`{name}` holds settings that are secret"),
            Rule::Credential => format!("`{name}` is where keys and passwords are kept"),
            Rule::Config => format!("`{name}` holds settings that are secret"),
            Rule::Git => format!("`{name}` is git's own directory"),
            Rule::Dependency => format!("`{name}` holds installed dependencies"),
            Rule::BuildOutput => format!("`{name}` holds what a build made"),
            Rule::LockFile => format!("`{name}` is written by a package manager"),
            Rule::Automation => format!("`{name}` decides what runs by itself"),
            Rule::Own => format!("`{name}` belongs to Drawloom"),
            Rule::Listed(pattern) => format!("the project's policy lists `{pattern}`"),
            Rule::ReadOnlyJob => "nothing may be written in this job".to_owned(),
            Rule::OutsidePlan => "the approved plan does not name it".to_owned(),
            Rule::OtherAction(actions) => {
                let words: Vec<&str> = actions.iter().map(|action| action.word()).collect();
                format!("the approved plan names it to {} only", words.join(" or "))
            }
            Rule::HardLink { names, readable } => format!(
                "it is a hard link to a file with {names} names, of which {readable} may be read in this project"
            ),
            Rule::Root => "it is the project itself".to_owned(),
        }
    }

    /// What to do instead, as a clause.
    #[must_use]
    pub fn hint(&self) -> String {
        let list = match self.0.access {
            Access::Read => "read_allow",
            Access::Write => "write_allow",
        };
        match &self.0.rule {
            Rule::Environment if self.0.access == Access::Read => {
                format!(
                    "read `.env.example`, or list the file under `{list}` in the project's policy"
                )
            }
            Rule::Dependency | Rule::BuildOutput if self.0.access == Access::Read => {
                format!(
                    "read the sources, or list what you need under `{list}` in the project's policy"
                )
            }
            Rule::BuildOutput => "change the sources it is built from".to_owned(),
            Rule::LockFile => "run the package manager instead".to_owned(),
            Rule::Environment
            | Rule::Credential
            | Rule::Config
            | Rule::Dependency
            | Rule::Automation
            | Rule::Secret(_) => format!(
                "leave it to a person, or have one list it under `{list}` in the project's policy"
            ),
            Rule::Git => "use git's commands".to_owned(),
            Rule::Own => "leave it alone".to_owned(),
            Rule::Listed(_) => "leave it alone, or have a person change that list".to_owned(),
            Rule::ReadOnlyJob => "say what should be changed instead of changing it".to_owned(),
            Rule::OutsidePlan => {
                "change only files of the plan, or say which file the plan lacks".to_owned()
            }
            Rule::OtherAction(_) => "keep to the plan, or say what it lacks".to_owned(),
            Rule::HardLink { .. } => {
                "replace it by a copy (`cp FILE FILE.copy && mv FILE.copy FILE`)".to_owned()
            }
            Rule::Root => "name a file inside it".to_owned(),
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.0.access {
            Access::Read => "read",
            Access::Write => "changed",
        };
        write!(f, "`{}` may not be {verb}: ", self.0.path)?;
        if let Some(target) = &self.0.leads_to {
            write!(f, "it leads to `{target}` through a symlink, and ")?;
        }
        if let Some(inner) = &self.0.contains {
            write!(f, "it contains `{inner}`, and ")?;
        }
        let (rule, why, hint) = (self.0.rule.code(), self.why(), self.hint());
        write!(f, "{why} (rule `{rule}`); {hint}")
    }
}

impl From<Denial> for Error {
    fn from(denial: Denial) -> Self {
        Self::new(ErrorKind::Denied, denial.to_string()).with_denial(denial)
    }
}
