//! The limits of a workspace, and the ledger of a job's writes.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    ApplyReport, ChangeSet, Error, PathChange, READ_BYTES_MAX, RelPath, WALK_ENTRIES_MAX,
    WorkspaceErrorKind,
};

/// Limits on the files a job reads and writes. A limit's error gives its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest file that is read, and searched.
    pub read_bytes_max: u64,
    /// The most entries of one directory, and of one walk, that are read.
    pub walk_entries_max: usize,
    /// The most files one job may change.
    pub job_files_max: usize,
    /// The most bytes one job may write, rewrites counted again.
    pub job_bytes_max: u64,
    /// The most bytes one search reads.
    pub search_bytes_max: u64,
    /// The time limit of one search.
    pub search_time_max: Duration,
    /// The most of one line that a search shows.
    pub search_line_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_bytes_max: READ_BYTES_MAX,
            walk_entries_max: WALK_ENTRIES_MAX,
            job_files_max: 1_000,
            job_bytes_max: 64 * 1024 * 1024,
            search_bytes_max: 4 * 1024 * 1024 * 1024,
            search_time_max: Duration::from_secs(20),
            search_line_bytes_max: 2_000,
        }
    }
}

/// The writes of a job so far. Store it with the job, so that a resumed job continues counting and
/// still knows which files it made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteCounter {
    /// Files that were made, replaced or deleted.
    pub touched: BTreeSet<RelPath>,
    /// Those the job itself made; it may change and delete them again.
    pub created: BTreeSet<RelPath>,
    /// Bytes written, rewrites counted again.
    pub bytes: u64,
}

impl WriteCounter {
    /// Refuses changes that would take the job over its limits.
    pub(super) fn check(&self, changes: &ChangeSet, limits: &Limits) -> Result<(), Error> {
        let new = changes.iter().filter(|(path, change)| {
            !matches!(change, PathChange::CreateDir) && !self.touched.contains(path)
        });
        let files = self.touched.len() + new.count();
        if files > limits.job_files_max {
            return Err(limit(format!(
                "{files} files would be changed in this job, more than job_files_max ({})",
                limits.job_files_max
            )));
        }
        let bytes = self.bytes.saturating_add(bytes_of(changes));
        if bytes > limits.job_bytes_max {
            return Err(limit(format!(
                "{bytes} bytes would be written in this job, more than job_bytes_max ({})",
                limits.job_bytes_max
            )));
        }
        Ok(())
    }

    pub(super) fn record(&mut self, changes: &ChangeSet, applied: &ApplyReport) {
        for list in [&applied.created, &applied.replaced, &applied.deleted] {
            self.touched.extend(list.iter().cloned());
        }
        self.created.extend(applied.created.iter().cloned());
        self.bytes = self.bytes.saturating_add(bytes_of(changes));
    }
}

fn limit(message: String) -> Error {
    Error::new(
        WorkspaceErrorKind::Limit,
        format!("{message}; make fewer or smaller changes, or have a person raise the limit"),
    )
}

fn bytes_of(changes: &ChangeSet) -> u64 {
    changes
        .iter()
        .map(|(_, change)| match change {
            PathChange::Write { bytes, .. } => bytes.len() as u64,
            PathChange::Delete | PathChange::DeleteTree | PathChange::CreateDir => 0,
        })
        .sum()
}
