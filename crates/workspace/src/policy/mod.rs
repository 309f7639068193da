//! `AccessPolicy`: the paths that may be read and written in a project.
//!
//! One object serves all callers: the loop that lets a model call tools, the writer of its files,
//! the repair after it. The layers, from the bottom:
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
//! A verdict is about a path *without symlinks*: [`crate::Workspace`] resolves first, and asks
//! about the spelled path and the resolved one.

mod content;
mod denial;
mod grant;
mod names;
mod patterns;
mod rules;

use std::borrow::Cow;

use crate::casefold::folded;
use crate::{Error, RelPath};
use names::NameEntry;
use patterns::{AllowPatterns, DenyPatterns};

pub use content::SECRET_SCAN_BYTES_MAX;
pub use denial::{Denial, DenialRule, PathAccess};
pub use grant::{GrantedAction, WriteGrant};

/// A project's additions to the built-in rules. Patterns are globs; one without `/` matches at any
/// depth, and everything below a match matches too.
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
    /// The treatment of files with several names.
    pub hard_links: HardLinks,
}

/// The treatment of a file with several names, one of which may be refused or outside. Writing
/// never goes through a hard link: the name gets a new file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HardLinks {
    /// Read it only when all its names may be read in this project.
    #[default]
    Judged,
    /// Read it under any name.
    Trusted,
}

/// The scope of writing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WriteScope {
    /// Nothing.
    Nothing,
    /// Every file that no rule refuses.
    #[default]
    Unplanned,
    /// Files that the approved plan names and no rule refuses.
    Planned(WriteGrant),
}

/// The permissions to read and write; see the module's text.
#[derive(Debug, Clone)]
pub struct AccessPolicy {
    read_deny: DenyPatterns,
    read_allow: AllowPatterns,
    write_deny: DenyPatterns,
    write_allow: AllowPatterns,
    hard_links: HardLinks,
    writes: WriteScope,
}

impl AccessPolicy {
    /// Combines the built-in rules and the project's own. An invalid pattern is an error.
    pub fn new(settings: &PolicySettings) -> Result<Self, Error> {
        Ok(Self {
            read_deny: DenyPatterns::new("read_deny", &settings.read_deny)?,
            read_allow: AllowPatterns::new("read_allow", &settings.read_allow)?,
            write_deny: DenyPatterns::new("write_deny", &settings.write_deny)?,
            write_allow: AllowPatterns::new("write_allow", &settings.write_allow)?,
            hard_links: settings.hard_links,
            writes: WriteScope::default(),
        })
    }

    /// The same policy with another permission to write.
    #[must_use]
    pub fn with_writes(mut self, writes: WriteScope) -> Self {
        self.writes = writes;
        self
    }

    /// The scope of writing.
    #[must_use]
    pub fn writes(&self) -> &WriteScope {
        &self.writes
    }

    /// Refuses to read the content of `path`, or the names in it, if the policy forbids it.
    pub fn check_read(&self, path: &RelPath) -> Result<(), Denial> {
        let names = FoldedNames::of(path);
        self.check_read_list(path, &names)?;
        names.check(path, PathAccess::Read, |above, name| {
            let entry = rules::against_reading(above)?;
            (!self.is_lifted(path, &entry.rule, name, PathAccess::Read)).then_some(entry)
        })
    }

    /// The project's lists about reading, as one text: a result cached under one policy must not be
    /// used under another.
    #[must_use]
    pub fn reading_lists(&self) -> String {
        let denied = self.read_deny.patterns();
        let allowed = self.read_allow.globs().chain(self.write_allow.globs());
        let lines = denied
            .map(|it| format!("-{it}"))
            .chain(allowed.map(|it| format!("+{it}")));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Works like [`AccessPolicy::check_read`] for an entry of a readable directory: checks only the last
    /// name.
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
            Some(entry) if !self.is_lifted(path, &entry.rule, name, PathAccess::Read) => {
                let denial = Denial::new(path, PathAccess::Read, entry.rule.clone(), name);
                Err(denial.because(entry.reason))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a file with this content if it is secret: private keys and access tokens may not be
    /// read under any file name. Only the first [`SECRET_SCAN_BYTES_MAX`] bytes are searched.
    pub(crate) fn check_content(&self, path: &RelPath, content: &[u8]) -> Result<(), Denial> {
        let Some(what) = content::secret_in(content) else {
            return Ok(());
        };
        let name = path.file_name().unwrap_or_default();
        match self.is_lifted(path, &DenialRule::Secret(what), name, PathAccess::Read) {
            true => Ok(()),
            false => Err(Denial::new(
                path,
                PathAccess::Read,
                DenialRule::Secret(what),
                name,
            )),
        }
    }

    /// Refuses to write `path` if a rule or list forbids it; the plan is not asked.
    pub fn check_write(&self, path: &RelPath) -> Result<(), Denial> {
        if path.is_root() {
            return Err(Denial::new(path, PathAccess::Write, DenialRule::Root, "."));
        }
        let names = FoldedNames::of(path);
        let text = names.text();
        for list in [&self.read_deny, &self.write_deny] {
            if let Some(pattern) = list.find(path, &text) {
                let rule = DenialRule::Listed(pattern.to_owned());
                return Err(Denial::new(path, PathAccess::Write, rule, path.as_str()));
            }
        }
        names.check(path, PathAccess::Write, |above, name| {
            let entry = rules::against_reading(above).or_else(|| rules::against_writing(above))?;
            (!self.is_lifted(path, &entry.rule, name, PathAccess::Write)).then_some(entry)
        })
    }

    /// Refuses `action` on `path` if a rule, a list or the plan forbids it.
    pub fn check_action(&self, path: &RelPath, action: GrantedAction) -> Result<(), Denial> {
        self.check_write(path)?;
        let refuse = |rule| Err(Denial::new(path, PathAccess::Write, rule, path.as_str()));
        match &self.writes {
            WriteScope::Nothing => refuse(DenialRule::ReadOnlyJob),
            WriteScope::Unplanned => Ok(()),
            WriteScope::Planned(grant) => match grant.of(path) {
                None => refuse(DenialRule::OutsidePlan),
                Some(actions) if actions.contains(&action) => Ok(()),
                Some(actions) => refuse(DenialRule::OtherAction(actions.iter().copied().collect())),
            },
        }
    }

    /// Refuses to make a directory if a rule or list forbids it, or if a plan has no file below it.
    pub fn check_create_dir(&self, path: &RelPath) -> Result<(), Denial> {
        self.check_write(path)?;
        let refuse = |rule| Err(Denial::new(path, PathAccess::Write, rule, path.as_str()));
        match &self.writes {
            WriteScope::Nothing => refuse(DenialRule::ReadOnlyJob),
            WriteScope::Planned(grant) if !grant.needs_dir(path) => refuse(DenialRule::OutsidePlan),
            WriteScope::Unplanned | WriteScope::Planned(_) => Ok(()),
        }
    }

    /// Lists the files of a plan that could never be written, to be shown before its approval.
    #[must_use]
    pub fn denials(&self, plan: &WriteGrant) -> Vec<Denial> {
        let paths = plan.iter().map(|(path, _)| path);
        paths
            .filter_map(|path| self.check_write(path).err())
            .collect()
    }

    /// The treatment of files with several names.
    #[must_use]
    pub fn hard_links(&self) -> HardLinks {
        self.hard_links
    }

    fn check_read_list(&self, path: &RelPath, names: &FoldedNames<'_>) -> Result<(), Denial> {
        match self.read_deny.find(path, &names.text()) {
            None => Ok(()),
            Some(pattern) => {
                let rule = DenialRule::Listed(pattern.to_owned());
                Err(Denial::new(path, PathAccess::Read, rule, path.as_str()))
            }
        }
    }

    fn is_lifted(&self, path: &RelPath, rule: &DenialRule, name: &str, access: PathAccess) -> bool {
        rule.can_be_lifted()
            && (self.write_allow.lift(path, name)
                || (access == PathAccess::Read && self.read_allow.lift(path, name)))
    }
}

impl Default for AccessPolicy {
    /// The built-in rules alone.
    fn default() -> Self {
        Self {
            read_deny: DenyPatterns::none(),
            read_allow: AllowPatterns::none(),
            write_deny: DenyPatterns::none(),
            write_allow: AllowPatterns::none(),
            hard_links: HardLinks::default(),
            writes: WriteScope::default(),
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

    /// Calls `refused` for every name, with those above it, from the root down.
    fn check(
        &self,
        path: &RelPath,
        access: PathAccess,
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
