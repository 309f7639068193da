//! `Policy`: what may be read and what may be written in a project.
//!
//! One object answers for everybody: the loop that lets a model call tools,
//! the writer of its files, the repair after it. The layers, from the bottom:
//!
//! 1. **Rules** refuse names that hold secrets, belong to other programs or run
//!    by themselves (`names` is the list, `rules` looks a name up in it; they
//!    hold under every spelling), and contents that are secrets (`content`).
//! 2. **The project's lists** (`patterns`) add refusals and lift some; an
//!    exception lifts only what it names. Git's directory and our own are
//!    never lifted.
//! 3. **The plan** (`grant`): once one is approved, its files are the
//!    permission to write. A plan narrows; it never widens.
//!
//! A verdict is about a path *without symlinks*: [`crate::Workspace`] resolves
//! first, and asks about the path as spelled and about where it leads.

mod content;
mod denial;
mod grant;
mod names;
mod patterns;
mod rules;

use std::borrow::Cow;

use crate::fold::folded;
use crate::{Error, RelPath};
use names::NameEntry;
use patterns::{Exceptions, Refusals};

pub use content::SECRET_SCAN_BYTES_MAX;
pub use denial::{Access, Denial, Rule};
pub use grant::{Action, Grant};
pub use patterns::POLICY_PATTERNS_MAX;

/// What a project adds to the built-in rules. Patterns are globs; one without
/// `/` matches at any depth, and what is below a match matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicySettings {
    /// Never read, and so never written.
    pub read_deny: Vec<String>,
    /// Exceptions from the built-in rules for reading.
    pub read_allow: Vec<String>,
    /// Never written.
    pub write_deny: Vec<String>,
    /// Exceptions from the built-in rules for reading and writing.
    pub write_allow: Vec<String>,
    /// What to do about files with several names.
    pub hard_links: HardLinks,
}

/// What to do about a file with several names, one of which may be refused or
/// outside. Writing never goes through a hard link: the name gets a new file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HardLinks {
    /// Read it only when all its names may be read in this project.
    #[default]
    Judged,
    /// Read it under any name.
    Trusted,
}

/// What may be written at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Writes {
    /// Nothing.
    Nothing,
    /// Whatever no rule refuses.
    #[default]
    Unplanned,
    /// What the approved plan names and no rule refuses.
    Planned(Grant),
}

/// What may be read and written; see the module's text.
#[derive(Debug, Clone)]
pub struct Policy {
    read_deny: Refusals,
    read_allow: Exceptions,
    write_deny: Refusals,
    write_allow: Exceptions,
    hard_links: HardLinks,
    writes: Writes,
}

impl Policy {
    /// The built-in rules and the project's own. An unusable pattern is an error.
    pub fn new(settings: &PolicySettings) -> Result<Self, Error> {
        Ok(Self {
            read_deny: Refusals::new("read_deny", &settings.read_deny)?,
            read_allow: Exceptions::new("read_allow", &settings.read_allow)?,
            write_deny: Refusals::new("write_deny", &settings.write_deny)?,
            write_allow: Exceptions::new("write_allow", &settings.write_allow)?,
            hard_links: settings.hard_links,
            writes: Writes::default(),
        })
    }

    /// The same policy with another permission to write.
    #[must_use]
    pub fn with_writes(mut self, writes: Writes) -> Self {
        self.writes = writes;
        self
    }

    /// What may be written at all.
    #[must_use]
    pub fn writes(&self) -> &Writes {
        &self.writes
    }

    /// Whether the content of `path`, or the names in it, may be read.
    pub fn check_read(&self, path: &RelPath) -> Result<(), Denial> {
        let names = FoldedNames::of(path);
        self.check_read_list(path, &names)?;
        names.check(path, Access::Read, |above, name| {
            let entry = rules::against_reading(above)?;
            (!self.is_lifted(path, &entry.rule, name, Access::Read)).then_some(entry)
        })
    }

    /// What the project's lists say about reading, as one text: what is found out under one policy
    /// does not count under another.
    #[must_use]
    pub fn reading_lists(&self) -> String {
        let denied = self.read_deny.patterns();
        let allowed = self.read_allow.globs().chain(self.write_allow.globs());
        let lines = denied
            .map(|it| format!("-{it}"))
            .chain(allowed.map(|it| format!("+{it}")));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// As [`Policy::check_read`] for an entry of a directory that may be read:
    /// only what the last name adds is looked at.
    pub(crate) fn check_read_entry(&self, path: &RelPath) -> Result<(), Denial> {
        let Some(name) = path.file_name() else {
            return Ok(());
        };
        if !self.read_deny.is_empty() {
            return self.check_read(path);
        }
        let mut names = path.as_str().rsplit('/').skip(1);
        let above = names.next().map(folded);
        let last = folded(name);
        let found = match &above {
            Some(above) => rules::against_reading(&[above, &last]),
            None => rules::against_reading(&[&last]),
        };
        match found {
            Some(entry) if !self.is_lifted(path, &entry.rule, name, Access::Read) => {
                let denial = Denial::new(path, Access::Read, entry.rule.clone(), name);
                Err(denial.because(entry.reason))
            }
            _ => Ok(()),
        }
    }

    /// Whether a file that holds this content may be read: private keys and access tokens may not be,
    /// whatever the file is called. Only the first [`SECRET_SCAN_BYTES_MAX`] bytes are looked through.
    pub(crate) fn check_content(&self, path: &RelPath, content: &[u8]) -> Result<(), Denial> {
        let Some(what) = content::secret_in(content) else {
            return Ok(());
        };
        let name = path.file_name().unwrap_or_default();
        match self.is_lifted(path, &Rule::Secret(what), name, Access::Read) {
            true => Ok(()),
            false => Err(Denial::new(path, Access::Read, Rule::Secret(what), name)),
        }
    }

    /// Whether `path` may be written by rule and list; the plan is not asked.
    pub fn check_write(&self, path: &RelPath) -> Result<(), Denial> {
        if path.is_root() {
            return Err(Denial::new(path, Access::Write, Rule::Root, "."));
        }
        let names = FoldedNames::of(path);
        let text = names.text();
        for list in [&self.read_deny, &self.write_deny] {
            if let Some(pattern) = list.find(path, &text) {
                let rule = Rule::Listed(pattern.to_owned());
                return Err(Denial::new(path, Access::Write, rule, path.as_str()));
            }
        }
        names.check(path, Access::Write, |above, name| {
            let entry = rules::against_reading(above).or_else(|| rules::against_writing(above))?;
            (!self.is_lifted(path, &entry.rule, name, Access::Write)).then_some(entry)
        })
    }

    /// Whether `action` may be taken on `path`, by rule, list and plan.
    pub fn check_action(&self, path: &RelPath, action: Action) -> Result<(), Denial> {
        self.check_write(path)?;
        let refuse = |rule| Err(Denial::new(path, Access::Write, rule, path.as_str()));
        match &self.writes {
            Writes::Nothing => refuse(Rule::ReadOnlyJob),
            Writes::Unplanned => Ok(()),
            Writes::Planned(grant) => match grant.of(path) {
                None => refuse(Rule::OutsidePlan),
                Some(actions) if actions.contains(&action) => Ok(()),
                Some(actions) => refuse(Rule::OtherAction(actions.iter().copied().collect())),
            },
        }
    }

    /// Whether a directory may be made: those on the way to the plan's files may.
    pub fn check_create_dir(&self, path: &RelPath) -> Result<(), Denial> {
        self.check_write(path)?;
        let refuse = |rule| Err(Denial::new(path, Access::Write, rule, path.as_str()));
        match &self.writes {
            Writes::Nothing => refuse(Rule::ReadOnlyJob),
            Writes::Planned(grant) if !grant.needs_dir(path) => refuse(Rule::OutsidePlan),
            Writes::Unplanned | Writes::Planned(_) => Ok(()),
        }
    }

    /// What of a plan could never be written: to be shown before it is approved.
    #[must_use]
    pub fn denials(&self, plan: &Grant) -> Vec<Denial> {
        let paths = plan.iter().map(|(path, _)| path);
        paths
            .filter_map(|path| self.check_write(path).err())
            .collect()
    }

    /// What is done about files with several names.
    #[must_use]
    pub fn hard_links(&self) -> HardLinks {
        self.hard_links
    }

    fn check_read_list(&self, path: &RelPath, names: &FoldedNames<'_>) -> Result<(), Denial> {
        match self.read_deny.find(path, &names.text()) {
            None => Ok(()),
            Some(pattern) => {
                let rule = Rule::Listed(pattern.to_owned());
                Err(Denial::new(path, Access::Read, rule, path.as_str()))
            }
        }
    }

    fn is_lifted(&self, path: &RelPath, rule: &Rule, name: &str, access: Access) -> bool {
        rule.can_be_lifted()
            && (self.write_allow.lift(path, name)
                || (access == Access::Read && self.read_allow.lift(path, name)))
    }
}

impl Default for Policy {
    /// The built-in rules alone.
    fn default() -> Self {
        Self {
            read_deny: Refusals::none(),
            read_allow: Exceptions::none(),
            write_deny: Refusals::none(),
            write_allow: Exceptions::none(),
            hard_links: HardLinks::default(),
            writes: Writes::default(),
        }
    }
}

/// The names of a path beside their folded forms.
struct FoldedNames<'p> {
    names: Vec<&'p str>,
    folded: Vec<Cow<'p, str>>,
}

impl<'p> FoldedNames<'p> {
    fn of(path: &'p RelPath) -> Self {
        let names: Vec<&str> = path.names().collect();
        let folded = names.iter().map(|name| folded(name)).collect();
        Self { names, folded }
    }

    fn text(&self) -> String {
        self.folded.join("/")
    }

    /// Asks `refused` about every name, with those above it, from the root down.
    fn check(
        &self,
        path: &RelPath,
        access: Access,
        refused: impl Fn(&[&str], &str) -> Option<&'static NameEntry>,
    ) -> Result<(), Denial> {
        let folded: Vec<&str> = self.folded.iter().map(AsRef::as_ref).collect();
        for (index, name) in self.names.iter().enumerate() {
            if let Some(entry) = refused(&folded[..=index], name) {
                let denial = Denial::new(path, access, entry.rule.clone(), name);
                return Err(denial.because(entry.reason));
            }
        }
        Ok(())
    }
}
