//! Hard links: whether all names of a file may be read here.
//!
//! A hard link has no target to judge: the file is the same under each of its
//! names. What can be known is how many names it has, and how many of them are
//! readable places of this project. If some are missing, the file may be a
//! refused one, or one from outside, under a harmless name.

use std::collections::{HashMap, HashSet};
use std::fs::File;

use rustix::fs::Stat;

use super::Workspace;
use super::scan::{self, Filter};
use crate::descent::{Descent, kind_of, stat};
use crate::floor::{HOME, STAGING};
use crate::policy::HardLinks;
use crate::{Error, Kind, RelPath, Rule};

/// How often the names are counted again when the number of names changed
/// meanwhile, as it does while changes are applied.
const COUNTS_MAX: usize = 3;

/// How many readable names each file with several names has.
#[derive(Debug, Default)]
pub(super) struct Census {
    names: HashMap<(u64, u64), u64>,
}

impl Census {
    pub(super) fn count(&self, stat: &Stat) -> u64 {
        self.names.get(&identity(stat)).copied().unwrap_or(0)
    }

    fn note(&mut self, stat: &Stat) {
        if kind_of(stat) == Kind::File && links_of(stat) > 1 {
            *self.names.entry(identity(stat)).or_default() += 1;
        }
    }
}

impl Workspace {
    /// The rule against reading this opened file by its names, if there is one.
    pub(super) fn check_links(&self, file: &File, stat: &Stat) -> Result<Result<(), Rule>, Error> {
        let mut stat = *stat;
        let mut refusal = Ok(());
        for _ in 0..COUNTS_MAX {
            let names = links_of(&stat);
            if names <= 1 || self.policy.hard_links() == HardLinks::Trusted {
                return Ok(Ok(()));
            }
            let readable = self.census()?.count(&stat);
            if readable >= names {
                return Ok(Ok(()));
            }
            refusal = Err(Rule::HardLink { names, readable });
            let now = rustix::fs::fstat(file)
                .map_err(|errno| Error::io("looking at", &"an opened file", errno))?;
            if links_of(&now) == names {
                break;
            }
            stat = now;
        }
        Ok(refusal)
    }

    /// Under which names that may be read the files of these names can be found, too; none where
    /// the policy trusts hard links.
    pub fn other_names(&self, names: &[RelPath]) -> Result<Vec<RelPath>, Error> {
        let linked: HashSet<(u64, u64)> = names
            .iter()
            .filter_map(|name| self.stat_of(name))
            .filter(|stat| kind_of(stat) == Kind::File && links_of(stat) > 1)
            .map(|stat| identity(&stat))
            .collect();
        let mut others = Vec::new();
        if linked.is_empty() || self.policy.hard_links() == HardLinks::Trusted {
            return Ok(others);
        }
        let filter = Filter::readable(&self.policy);
        let most = self.limits.walk_entries_max;
        scan::visit(&self.root, most, &filter, |dir, entry| {
            let name = entry.path.file_name().unwrap_or_default();
            let found = stat(dir, name).ok().flatten();
            if found.is_some_and(|stat| linked.contains(&identity(&stat))) {
                others.push(entry.path.clone());
            }
        })?;
        Ok(others)
    }

    fn stat_of(&self, path: &RelPath) -> Option<Stat> {
        let mut descent = Descent::new(self.root.fd());
        let dir = descent.enter(&path.parent()?).ok()?;
        stat(dir, path.file_name()?).ok().flatten()
    }

    /// Counts the names of all files with several names, where they may be read.
    pub(super) fn census(&self) -> Result<Census, Error> {
        let mut census = Census::default();
        let filter = Filter::readable(&self.policy);
        scan::visit(
            &self.root,
            self.limits.walk_entries_max,
            &filter,
            |dir, entry| {
                if entry.kind == Kind::File {
                    let name = entry.path.file_name().unwrap_or_default();
                    if let Ok(Some(stat)) = stat(dir, name) {
                        census.note(&stat);
                    }
                }
            },
        )?;
        self.count_staged(&mut census);
        Ok(census)
    }

    /// While changes are applied, originals have a second name in the staging area.
    fn count_staged(&self, census: &mut Census) {
        let Ok(staging) = RelPath::parse(&format!("{HOME}/{STAGING}")) else {
            return;
        };
        let mut descent = Descent::new(self.root.fd());
        let Ok(dir) = descent.enter(&staging) else {
            return;
        };
        let names = scan::names(dir, &staging, self.limits.walk_entries_max);
        for (name, _) in names.map(|read| read.names).unwrap_or_default() {
            if let Ok(Some(stat)) = stat(dir, &name) {
                census.note(&stat);
            }
        }
    }
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    reason = "the fields' types differ between operating systems"
)]
fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the field's type differs between operating systems"
)]
pub(super) fn links_of(stat: &Stat) -> u64 {
    stat.st_nlink as u64
}
