//! The cache: what was read out of files that have not changed since.
//!
//! A file is known by its size and its times, and where those are too young to be trusted, by the
//! hash of its content. The cache is one file, written whole or not at all; one that is damaged, or
//! of another version, is as good as none.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustc_hash::FxBuildHasher;
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::Extent;
use super::collect::times;
use super::language::{Facts, Language};
use super::project::Source;
use crate::policed::Candidate;
use crate::{ChangeSet, Durability, RelPath, Workspace};

/// Where the cache is, inside the project.
const FILE: &str = ".drawloom/cache/index";
/// Keeps git from taking the cache in.
const IGNORE_FILE: &str = ".drawloom/cache/.gitignore";
/// What the file begins with. Another version of the program reads other facts out of a text.
const MAGIC: &str = concat!("drawloom index ", env!("CARGO_PKG_VERSION"), " 4\n");
/// The largest cache that is read.
const CACHE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How long a file must have rested before its times tell whether it changed: clocks of file systems
/// are coarse, and a change within one tick leaves no trace.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Whether and when the cache is used.
#[derive(Debug, Clone, Copy)]
pub struct Cache {
    /// The time of this index; `None` when nothing is kept.
    now: Option<SystemTime>,
}

impl Cache {
    /// Nothing is taken from earlier, and nothing kept.
    #[must_use]
    pub const fn none() -> Self {
        Self { now: None }
    }

    /// The cache in the project's `.drawloom`, at this time.
    #[must_use]
    pub const fn at(now: SystemTime) -> Self {
        Self { now: Some(now) }
    }

    /// What is known from earlier. Whatever is wrong with it, it is then nothing.
    pub(super) fn load(&self, space: &Workspace) -> Known {
        let known = self.now.and_then(|_| {
            let path = RelPath::parse(FILE).ok()?;
            let bytes = space.root().read_at_most(&path, CACHE_BYTES_MAX).ok()??;
            decoded(&bytes)
        });
        Known(known.unwrap_or_default())
    }

    /// Keeps what was read, unless that is what is kept already. That it cannot be kept is no trouble.
    pub(super) fn store(&self, space: &Workspace, known: &Known, sources: &[Source]) {
        if self.now.is_none() || known.is_all_of(sources) {
            return;
        }
        let entries: Vec<Entry> = sources.iter().map(Entry::of).collect();
        let written = || {
            // Names of the project's code are in there: the directory is its owner's.
            space.root().enter_private(&RelPath::parse(FILE)?)?;
            let mut changes = ChangeSet::new();
            changes.write(RelPath::parse(FILE)?, encoded(&entries));
            let ignore_file = RelPath::parse(IGNORE_FILE)?;
            if space.root().kind(&ignore_file)?.is_none() {
                changes.write(ignore_file, "*\n");
            }
            space.root().apply_surviving(&changes, Durability::Kill)
        };
        written().ok();
    }

    /// By what a content is known again; nothing is, when nothing is kept.
    pub(super) fn hash(&self, bytes: &[u8]) -> u128 {
        self.now.map_or(0, |_| XxHash3_128::oneshot(bytes))
    }

    pub(super) fn stamp(&self, stat: &Stat, hash: u128) -> Stamp {
        let (modified, changed) = times(stat);
        let settled = self.now.and_then(|now| {
            let settled = now.checked_sub(SETTLED_AFTER)?.duration_since(UNIX_EPOCH);
            i64::try_from(settled.ok()?.as_nanos()).ok()
        });
        Stamp {
            size: stat.st_size,
            modified,
            changed,
            is_settled: settled.is_some_and(|settled| modified.max(changed) < settled),
            hash,
        }
    }
}

/// What a file was when it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    size: i64,
    modified: i64,
    changed: i64,
    /// Whether the times were old enough then to tell the next change.
    is_settled: bool,
    hash: u128,
}

/// One file of the cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    path: RelPath,
    stamp: Stamp,
    extent: Extent,
    facts: Arc<Facts>,
    manifest: Option<Arc<str>>,
}

impl Entry {
    fn of(source: &Source) -> Self {
        Self {
            path: source.path.clone(),
            stamp: source.stamp,
            extent: source.extent,
            facts: Arc::clone(&source.facts),
            manifest: source.manifest.clone(),
        }
    }
}

/// The files that are known from earlier.
pub(super) struct Known(Entries);

type Entries = HashMap<RelPath, Entry, FxBuildHasher>;

impl Known {
    /// The file as it is known, if it has not been touched since.
    pub(super) fn unchanged(&self, candidate: &Candidate<'_>) -> Option<Source> {
        let entry = self.0.get(&candidate.path)?;
        if !entry.stamp.is_settled {
            return None;
        }
        let stat = candidate.stat()?;
        // A file with several names is judged by all of them, which takes opening it.
        let is_same = stat.st_nlink == 1
            && stat.st_size == entry.stamp.size
            && times(&stat) == (entry.stamp.modified, entry.stamp.changed);
        is_same.then(|| Source {
            path: entry.path.clone(),
            language: Language::of(&entry.path),
            extent: entry.extent,
            facts: Arc::clone(&entry.facts),
            manifest: entry.manifest.clone(),
            stamp: entry.stamp,
        })
    }

    /// What is known of a file with this content.
    pub(super) fn same_content(
        &self,
        path: &RelPath,
        stamp: &Stamp,
    ) -> Option<(Extent, Arc<Facts>)> {
        let entry = self.0.get(path)?;
        let is_same = entry.stamp.size == stamp.size && entry.stamp.hash == stamp.hash;
        is_same.then(|| (entry.extent, Arc::clone(&entry.facts)))
    }

    fn is_all_of(&self, sources: &[Source]) -> bool {
        self.0.len() == sources.len()
            && sources.iter().all(|source| {
                let known = self.0.get(&source.path);
                known.is_some_and(|entry| entry.stamp == source.stamp)
            })
    }
}

fn encoded(entries: &[Entry]) -> Vec<u8> {
    let payload = postcard::to_allocvec(entries).unwrap_or_default();
    let mut bytes = MAGIC.as_bytes().to_vec();
    bytes.extend(XxHash3_128::oneshot(&payload).to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn decoded(bytes: &[u8]) -> Option<Entries> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let (hash, payload) = rest.split_first_chunk::<16>()?;
    if u128::from_le_bytes(*hash) != XxHash3_128::oneshot(payload) {
        return None;
    }
    let entries: Vec<Entry> = postcard::from_bytes(payload).ok()?;
    let named = entries.into_iter().map(|entry| (entry.path.clone(), entry));
    Some(named.collect())
}
