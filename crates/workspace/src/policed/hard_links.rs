//! Hard links: checks that all names of a file may be read here.
//!
//! A hard link has no target to judge: the file is the same under each of its names. The disk tells
//! how many names it has, and a walk counts how many of them are readable places of this project.
//! If some are missing, the file may be a refused one, or one from outside, under a harmless name.
//!
//! Example: `notes.txt` has two names. If the walk finds `docs/notes.txt` as the second, both are
//! readable and so is the file. If it finds only one, the other may be `.env`, and the read is
//! refused.
//!
//! The walk counts one name after the other, and a process that renames a file meanwhile could have
//! one name counted twice. A rename changes the file's change time, so only files count whose
//! change time stays the same and is old enough to tell. A directory renamed meanwhile is the same
//! directory.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::fs::Stat;
use rustix::time::{ClockId, clock_gettime};

use super::Workspace;
use super::scan::{self, ScanFilter};
use crate::descent::{Descent, kind_of, stat};
use crate::policy::HardLinks;
use crate::protected_paths::{PROGRAM_FOLDER, STAGING};
use crate::{DenialRule, Error, PathKind, RelPath};

/// The most recounts if names change meanwhile, as they do while changes are applied.
const COUNTS_MAX: usize = 3;

/// Age at which a change can be told from one that follows it: more than the tick with which the
/// kernel stamps files, which is 10 ms at most.
const SETTLED_AFTER: Duration = Duration::from_millis(20);

/// The readable names of each file with several names.
#[derive(Debug, Default)]
pub(super) struct LinkCensus {
    files: HashMap<InodeIdentity, LinkRecord>,
    /// The first moment at which a change may be mistaken for an earlier one.
    unsure_from: ChangeTime,
}

/// Seconds and nanoseconds.
type ChangeTime = (i64, i64);
/// Device and number.
type InodeIdentity = (u64, u64);

#[derive(Debug)]
struct LinkRecord {
    changed: ChangeTime,
    was_moved: bool,
    names: HashSet<(InodeIdentity, String)>,
}

/// The result of counting a file's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkNames {
    /// It has one, or all may be read.
    Readable,
    /// Only so many may be read.
    ReadableOnly(u64),
    /// They changed while they were counted.
    Changing,
}

impl LinkCensus {
    fn new() -> Self {
        let now = clock_gettime(ClockId::Realtime);
        let (second, tick) = (1_000_000_000, i64::from(SETTLED_AFTER.subsec_nanos()));
        let unsure_from = match now.tv_nsec >= tick {
            true => (now.tv_sec, now.tv_nsec - tick),
            false => (now.tv_sec - 1, now.tv_nsec + second - tick),
        };
        Self {
            files: HashMap::new(),
            unsure_from,
        }
    }

    pub(super) fn names_of(&self, stat: &Stat) -> LinkNames {
        if changed_at(stat) >= self.unsure_from {
            return LinkNames::Changing;
        }
        match self.files.get(&identity(stat)) {
            None => LinkNames::ReadableOnly(0),
            Some(counted) if counted.was_moved || counted.changed != changed_at(stat) => {
                LinkNames::Changing
            }
            Some(counted) if counted.names.len() as u64 >= links_of(stat) => LinkNames::Readable,
            Some(counted) => LinkNames::ReadableOnly(counted.names.len() as u64),
        }
    }

    /// Notes the file `name` in `dir`, if it has other names.
    fn note(&mut self, dir: BorrowedFd<'_>, name: &str) {
        let Ok(Some(found)) = stat(dir, name) else {
            return;
        };
        if kind_of(&found) != PathKind::File || links_of(&found) <= 1 {
            return;
        }
        let Ok(parent) = rustix::fs::fstat(dir) else {
            return;
        };
        let changed = changed_at(&found);
        let counted = self.files.entry(identity(&found)).or_insert(LinkRecord {
            changed,
            was_moved: false,
            names: HashSet::new(),
        });
        counted.was_moved |= counted.changed != changed;
        counted.names.insert((identity(&parent), name.to_owned()));
    }
}

impl Workspace {
    /// The rule against reading this opened file by its names, if there is one.
    pub(super) fn check_links(
        &self,
        file: &File,
        stat: &Stat,
    ) -> Result<Result<(), DenialRule>, Error> {
        let mut stat = *stat;
        let mut names = LinkNames::Changing;
        for _ in 0..COUNTS_MAX {
            if links_of(&stat) <= 1 || self.policy.hard_links() == HardLinks::Trusted {
                return Ok(Ok(()));
            }
            names = self.census()?.names_of(&stat);
            if names != LinkNames::Changing {
                break;
            }
            std::thread::sleep(SETTLED_AFTER);
            stat = rustix::fs::fstat(file)
                .map_err(|errno| Error::io("looking at", &"an opened file", errno))?;
        }
        let readable = match names {
            LinkNames::Readable => return Ok(Ok(())),
            LinkNames::ReadableOnly(readable) => readable,
            LinkNames::Changing => 0,
        };
        let names = links_of(&stat);
        Ok(Err(DenialRule::HardLink { names, readable }))
    }

    /// Returns the other readable names of these files; empty if the policy trusts hard links.
    pub fn other_names(&self, names: &[RelPath]) -> Result<Vec<RelPath>, Error> {
        let linked: HashSet<InodeIdentity> = names
            .iter()
            .filter_map(|name| self.stat_of(name))
            .filter(|stat| kind_of(stat) == PathKind::File && links_of(stat) > 1)
            .map(|stat| identity(&stat))
            .collect();
        let mut others = Vec::new();
        if linked.is_empty() || self.policy.hard_links() == HardLinks::Trusted {
            return Ok(others);
        }
        let filter = ScanFilter::readable(&self.policy);
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

    /// Works like [`Workspace::census`], once, for all files that are not renamed from now on.
    pub(super) fn census_settled(&self) -> Result<LinkCensus, Error> {
        std::thread::sleep(SETTLED_AFTER);
        self.census()
    }

    /// Counts the readable names of all files with several names.
    fn census(&self) -> Result<LinkCensus, Error> {
        let mut census = LinkCensus::new();
        let filter = ScanFilter::readable(&self.policy);
        scan::visit(
            &self.root,
            self.limits.walk_entries_max,
            &filter,
            |dir, entry| {
                if entry.kind == PathKind::File {
                    census.note(dir, entry.path.file_name().unwrap_or_default());
                }
            },
        )?;
        self.count_staged(&mut census);
        Ok(census)
    }

    /// While changes are applied, originals have a second name in the staging area.
    fn count_staged(&self, census: &mut LinkCensus) {
        let Ok(staging) = RelPath::parse(&format!("{PROGRAM_FOLDER}/{STAGING}")) else {
            return;
        };
        let mut descent = Descent::new(self.root.fd());
        let Ok(dir) = descent.enter(&staging) else {
            return;
        };
        let names = scan::names(dir, &staging, self.limits.walk_entries_max);
        for (name, _) in names.map(|read| read.names).unwrap_or_default() {
            census.note(dir, &name);
        }
    }
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the fields' types differ between operating systems"
)]
fn changed_at(stat: &Stat) -> ChangeTime {
    (stat.st_ctime as i64, stat.st_ctime_nsec as i64)
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    reason = "the fields' types differ between operating systems"
)]
fn identity(stat: &Stat) -> InodeIdentity {
    (stat.st_dev as u64, stat.st_ino as u64)
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the field's type differs between operating systems"
)]
pub(super) fn links_of(stat: &Stat) -> u64 {
    stat.st_nlink as u64
}
