//! The cache: facts of files that have not changed since they were read.
//!
//! A file is recognised by its size and times, and if those are too recent to be trusted, by the
//! hash of its content. The cache is one file, written whole or not at all; a damaged one, or one
//! of another version, is ignored.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustc_hash::FxBuildHasher;
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use super::FileExtent;
use super::collect::times;
use super::language::{SourceFacts, SourceLanguage};
use super::project::SourceFile;
use workspace::{ReadCandidate, RelPath, Workspace};

/// The cache file, in the project's cache folder.
const FILE: &str = "index";
/// The first bytes of the file. Another version of the program reads other facts out of a text.
const MAGIC: &str = concat!("drawloom index ", env!("CARGO_PKG_VERSION"), " 4\n");
/// The largest cache that is read.
const CACHE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Age at which a file's times reliably show a later change: clocks of file systems are coarse, and
/// a change within one tick leaves no trace.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Turns the cache on or off, and sets its clock.
#[derive(Debug, Clone, Copy)]
pub struct IndexCache {
    /// The time of this index; `None` if the cache is off.
    now: Option<SystemTime>,
}

impl IndexCache {
    /// Turns the cache off: nothing is loaded and nothing stored.
    #[must_use]
    pub const fn none() -> Self {
        Self { now: None }
    }

    /// The cache in the project's `.drawloom`, at this time.
    #[must_use]
    pub const fn at(now: SystemTime) -> Self {
        Self { now: Some(now) }
    }

    /// Loads the cached files; a broken cache counts as empty.
    pub(super) fn load(&self, space: &Workspace) -> CachedFiles {
        let known = self.now.and_then(|_| {
            let bytes = space.read_cache_file(FILE, CACHE_BYTES_MAX).ok()??;
            decoded(&bytes)
        });
        CachedFiles(known.unwrap_or_default())
    }

    /// Writes the facts that were read, unless the cache has them already. A failure to write is
    /// ignored.
    pub(super) fn store(&self, space: &Workspace, known: &CachedFiles, sources: &[SourceFile]) {
        if self.now.is_none() || known.is_all_of(sources) {
            return;
        }
        let entries: Vec<CachedFile> = sources.iter().map(CachedFile::of).collect();
        space.write_cache_file(FILE, encoded(&entries)).ok();
    }

    /// Returns the hash by which a content is recognised; 0 if the cache is off.
    pub(super) fn hash(&self, bytes: &[u8]) -> u128 {
        self.now.map_or(0, |_| XxHash3_128::oneshot(bytes))
    }

    pub(super) fn stamp(&self, stat: &Stat, hash: u128) -> SourceStamp {
        let (modified, changed) = times(stat);
        let settled = self.now.and_then(|now| {
            let settled = now.checked_sub(SETTLED_AFTER)?.duration_since(UNIX_EPOCH);
            i64::try_from(settled.ok()?.as_nanos()).ok()
        });
        SourceStamp {
            size: stat.st_size,
            modified,
            changed,
            is_settled: settled.is_some_and(|settled| modified.max(changed) < settled),
            hash,
        }
    }
}

/// The status of a file when it was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SourceStamp {
    size: i64,
    modified: i64,
    changed: i64,
    /// True if the times were old enough to show the next change.
    is_settled: bool,
    hash: u128,
}

/// One file of the cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CachedFile {
    path: RelPath,
    stamp: SourceStamp,
    extent: FileExtent,
    facts: Arc<SourceFacts>,
    manifest: Option<Arc<str>>,
}

impl CachedFile {
    fn of(source: &SourceFile) -> Self {
        Self {
            path: source.path.clone(),
            stamp: source.stamp,
            extent: source.extent,
            facts: Arc::clone(&source.facts),
            manifest: source.manifest.clone(),
        }
    }
}

/// The files of the loaded cache.
pub(super) struct CachedFiles(CachedFileMap);

type CachedFileMap = HashMap<RelPath, CachedFile, FxBuildHasher>;

impl CachedFiles {
    /// Returns the cached file, if it has not been touched since.
    pub(super) fn unchanged(&self, candidate: &ReadCandidate<'_>) -> Option<SourceFile> {
        let entry = self.0.get(&candidate.path)?;
        if !entry.stamp.is_settled {
            return None;
        }
        let stat = candidate.stat()?;
        // A file with several names is judged by all of them, which requires opening it.
        let is_same = stat.st_nlink == 1
            && stat.st_size == entry.stamp.size
            && times(&stat) == (entry.stamp.modified, entry.stamp.changed);
        is_same.then(|| SourceFile {
            path: entry.path.clone(),
            language: SourceLanguage::of(&entry.path),
            extent: entry.extent,
            facts: Arc::clone(&entry.facts),
            manifest: entry.manifest.clone(),
            stamp: entry.stamp,
        })
    }

    /// Returns the cached facts of a file with this content.
    pub(super) fn same_content(
        &self,
        path: &RelPath,
        stamp: &SourceStamp,
    ) -> Option<(FileExtent, Arc<SourceFacts>)> {
        let entry = self.0.get(path)?;
        let is_same = entry.stamp.size == stamp.size && entry.stamp.hash == stamp.hash;
        is_same.then(|| (entry.extent, Arc::clone(&entry.facts)))
    }

    fn is_all_of(&self, sources: &[SourceFile]) -> bool {
        self.0.len() == sources.len()
            && sources.iter().all(|source| {
                let known = self.0.get(&source.path);
                known.is_some_and(|entry| entry.stamp == source.stamp)
            })
    }
}

fn encoded(entries: &[CachedFile]) -> Vec<u8> {
    let payload = postcard::to_allocvec(entries).unwrap_or_default();
    let mut bytes = MAGIC.as_bytes().to_vec();
    bytes.extend(XxHash3_128::oneshot(&payload).to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn decoded(bytes: &[u8]) -> Option<CachedFileMap> {
    let rest = bytes.strip_prefix(MAGIC.as_bytes())?;
    let (hash, payload) = rest.split_first_chunk::<16>()?;
    if u128::from_le_bytes(*hash) != XxHash3_128::oneshot(payload) {
        return None;
    }
    let entries: Vec<CachedFile> = postcard::from_bytes(payload).ok()?;
    let named = entries.into_iter().map(|entry| (entry.path.clone(), entry));
    Some(named.collect())
}
