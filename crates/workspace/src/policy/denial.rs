//! A denial: the rule that refused a path, the reason, and the advice.

use std::fmt;

use serde::{Serialize, Serializer};

use super::GrantedAction;
use crate::{Error, RelPath, WorkspaceErrorKind};

/// The requested access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathAccess {
    /// Its content, or the names in it.
    Read,
    /// Made, replaced or removed.
    Write,
}

/// The rule that refused. [`DenialRule::code`] is for machines, a [`Denial`] for people.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DenialRule {
    /// `.env` and its kin: settings with secrets.
    Environment,
    /// Keys, tokens and the files in which programs store them.
    Credential,
    /// Settings of a program that often contain its secrets.
    Config,
    /// Git's own directory.
    Git,
    /// Installed dependencies.
    Dependency,
    /// Output of a build.
    BuildOutput,
    /// Written by a package manager, not by hand.
    LockFile,
    /// Files that run by themselves: CI configuration and commit hooks.
    Automation,
    /// Drawloom's own settings and records.
    Own,
    /// The project's own list; the pattern that matched.
    Listed(String),
    /// This job may not write at all.
    ReadOnlyJob,
    /// The approved plan does not name the file.
    OutsidePlan,
    /// The approved plan has another action for the file; the planned ones.
    OtherAction(Vec<GrantedAction>),
    /// The file has more names than those that may be read in this project.
    HardLink {
        /// Number of its names.
        names: u64,
        /// Number of them that may be read.
        readable: u64,
    },
    /// The content is a secret, under any file name; the kind of secret.
    Secret(&'static str),
    /// The root itself is not a file.
    Root,
}

impl DenialRule {
    /// A stable code for the rule.
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

    /// Returns true if an exception of the project can lift it.
    #[must_use]
    pub(crate) fn can_be_lifted(&self) -> bool {
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

impl Serialize for DenialRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// A refusal, as a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Denial(Box<DenialDetails>);

/// The fields of a denial; boxed, so that a `Result` with a denial stays small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct DenialDetails {
    path: RelPath,
    /// The path it leads to through symlinks, if that one was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    leads_to: Option<RelPath>,
    /// The path inside it, if that one was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    contains: Option<RelPath>,
    access: PathAccess,
    rule: DenialRule,
    /// The name in the path that the rule is about.
    #[serde(skip)]
    name: String,
    /// The reason in the list of names.
    #[serde(skip)]
    reason: Option<&'static str>,
}

impl Denial {
    pub(crate) fn new(path: &RelPath, access: PathAccess, rule: DenialRule, name: &str) -> Self {
        Self(Box::new(DenialDetails {
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

    /// Restates the denial of the resolved path for `asked`.
    pub(crate) fn asked_as(mut self, asked: &RelPath) -> Self {
        if self.0.path != *asked {
            let refused = std::mem::replace(&mut self.0.path, asked.clone());
            self.0.leads_to.get_or_insert(refused);
        }
        self
    }

    /// Restates the denial of a path inside `dir` for `dir`.
    pub(crate) fn inside(mut self, dir: &RelPath) -> Self {
        if self.0.path != *dir {
            self.0.contains = Some(std::mem::replace(&mut self.0.path, dir.clone()));
        }
        self
    }

    /// The requested path.
    #[must_use]
    pub fn path(&self) -> &RelPath {
        &self.0.path
    }

    /// The path it leads to through symlinks, if that one was refused.
    #[must_use]
    pub fn leads_to(&self) -> Option<&RelPath> {
        self.0.leads_to.as_ref()
    }

    /// The path inside it, if that one was refused.
    #[must_use]
    pub fn contains(&self) -> Option<&RelPath> {
        self.0.contains.as_ref()
    }

    /// The requested access.
    #[must_use]
    pub fn access(&self) -> PathAccess {
        self.0.access
    }

    /// The rule that refused.
    #[must_use]
    pub fn rule(&self) -> &DenialRule {
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
            DenialRule::Secret(what) => format!("it holds {what}"),
            DenialRule::Environment => format!("`{name}` holds settings that are secret"),
            DenialRule::Credential => format!("`{name}` is where keys and passwords are kept"),
            DenialRule::Config => format!("`{name}` holds settings that are secret"),
            DenialRule::Git => format!("`{name}` is git's own directory"),
            DenialRule::Dependency => format!("`{name}` holds installed dependencies"),
            DenialRule::BuildOutput => format!("`{name}` holds what a build made"),
            DenialRule::LockFile => format!("`{name}` is written by a package manager"),
            DenialRule::Automation => format!("`{name}` decides what runs by itself"),
            DenialRule::Own => format!("`{name}` belongs to Drawloom"),
            DenialRule::Listed(pattern) => format!("the project's policy lists `{pattern}`"),
            DenialRule::ReadOnlyJob => "nothing may be written in this job".to_owned(),
            DenialRule::OutsidePlan => "the approved plan does not name it".to_owned(),
            DenialRule::OtherAction(actions) => {
                let words: Vec<&str> = actions.iter().map(|action| action.word()).collect();
                format!("the approved plan names it to {} only", words.join(" or "))
            }
            DenialRule::HardLink { names, readable } => format!(
                "it is a hard link to a file with {names} names, of which {readable} may be read in this project"
            ),
            DenialRule::Root => "it is the project itself".to_owned(),
        }
    }

    /// Advice for the caller, as a clause.
    #[must_use]
    pub fn hint(&self) -> String {
        let list = match self.0.access {
            PathAccess::Read => "read_allow",
            PathAccess::Write => "write_allow",
        };
        match &self.0.rule {
            DenialRule::Environment if self.0.access == PathAccess::Read => {
                format!(
                    "read `.env.example`, or list the file under `{list}` in the project's policy"
                )
            }
            DenialRule::Dependency | DenialRule::BuildOutput
                if self.0.access == PathAccess::Read =>
            {
                format!(
                    "read the sources, or list what you need under `{list}` in the project's policy"
                )
            }
            DenialRule::BuildOutput => "change the sources it is built from".to_owned(),
            DenialRule::LockFile => "run the package manager instead".to_owned(),
            DenialRule::Environment
            | DenialRule::Credential
            | DenialRule::Config
            | DenialRule::Dependency
            | DenialRule::Automation
            | DenialRule::Secret(_) => format!(
                "leave it to a person, or have one list it under `{list}` in the project's policy"
            ),
            DenialRule::Git => "use git's commands".to_owned(),
            DenialRule::Own => "leave it alone".to_owned(),
            DenialRule::Listed(_) => "leave it alone, or have a person change that list".to_owned(),
            DenialRule::ReadOnlyJob => {
                "say what should be changed instead of changing it".to_owned()
            }
            DenialRule::OutsidePlan => {
                "change only files of the plan, or say which file the plan lacks".to_owned()
            }
            DenialRule::OtherAction(_) => "keep to the plan, or say what it lacks".to_owned(),
            DenialRule::HardLink { .. } => {
                "replace it by a copy (`cp FILE FILE.copy && mv FILE.copy FILE`)".to_owned()
            }
            DenialRule::Root => "name a file inside it".to_owned(),
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.0.access {
            PathAccess::Read => "read",
            PathAccess::Write => "changed",
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
        Self::new(WorkspaceErrorKind::Denied, denial.to_string()).with_denial(denial)
    }
}
