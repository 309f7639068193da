//! The journal: the steps of an apply, written down before the first is done.

use cap_std::fs::{OpenOptions, OpenOptionsExt as _};
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

use super::staging::StagingArea;
use crate::{Error, RelPath, WorkspaceErrorKind, protected_paths};

const FORMAT: u32 = 1;
const DRAFT: &str = "journal.tmp";
const COMMITTED: &str = "journal";
const UNDOING: &str = "journal.undo";

/// One step; `slot` numbers its staged files `<slot>.new` and `<slot>.old`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ApplyStep {
    /// Moves the file or directory at `path` to `<slot>.old`.
    Remove {
        path: RelPath,
        slot: usize,
        before: FileStamp,
    },
    /// Makes a directory that was not there.
    MakeDir { path: RelPath },
    /// Moves `<slot>.new` to `path`; the original, if any, is also `<slot>.old`.
    Place {
        path: RelPath,
        slot: usize,
        before: Option<FileStamp>,
    },
}

impl ApplyStep {
    pub(super) fn path(&self) -> &RelPath {
        match self {
            Self::Remove { path, .. } | Self::MakeDir { path } | Self::Place { path, .. } => path,
        }
    }
}

/// Enough of a file's status to notice that another process changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStamp {
    inode: u64,
    size: i64,
    modified_s: i64,
    modified_ns: i64,
}

impl FileStamp {
    #[allow(
        clippy::unnecessary_cast,
        reason = "the fields' types differ between operating systems"
    )]
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino as u64,
            size: stat.st_size as i64,
            modified_s: stat.st_mtime as i64,
            modified_ns: stat.st_mtime_nsec as i64,
        }
    }
}

/// A journal found on disk.
pub(super) enum ApplyJournal {
    /// The steps must be completed.
    Committed(Vec<ApplyStep>),
    /// The steps must be undone.
    Undoing(Vec<ApplyStep>),
}

#[derive(Serialize, Deserialize)]
struct JournalContent<S> {
    format: u32,
    steps: S,
}

impl ApplyJournal {
    /// Writes the steps under a name that does not count yet.
    pub(super) fn prepare(staging: &StagingArea, steps: &[ApplyStep]) -> Result<(), Error> {
        let format = FORMAT;
        let content = serde_json::to_vec(&JournalContent { format, steps })
            .map_err(|error| unwritten(io::Error::other(error)))?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        staging
            .dir()
            .open_with(DRAFT, &options)
            .and_then(|mut file| file.write_all(&content))
            .map_err(unwritten)
    }

    /// The commit point.
    pub(super) fn commit(staging: &StagingArea) -> Result<(), Error> {
        let dir = staging.dir();
        dir.rename(DRAFT, dir, COMMITTED).map_err(unwritten)
    }

    /// Marks the steps to be undone from now on.
    pub(super) fn turn_round(staging: &StagingArea) -> Result<(), Error> {
        let dir = staging.dir();
        match dir.rename(COMMITTED, dir, UNDOING) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(unwritten(source)),
            _ => Ok(()),
        }
    }

    /// Removes the journal: the apply is over, with either result.
    pub(super) fn close(staging: &StagingArea) -> Result<(), Error> {
        for name in [COMMITTED, UNDOING] {
            match staging.dir().remove_file(name) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(unwritten(source));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn find(staging: &StagingArea) -> Result<Option<Self>, Error> {
        if let Some(steps) = read(staging, UNDOING)? {
            return Ok(Some(Self::Undoing(steps)));
        }
        Ok(read(staging, COMMITTED)?.map(Self::Committed))
    }
}

fn read(staging: &StagingArea, name: &str) -> Result<Option<Vec<ApplyStep>>, Error> {
    let unreadable = |why: String| {
        Error::new(
            WorkspaceErrorKind::Recovery,
            format!(
                "an earlier change was interrupted and its journal `.drawloom/apply/{name}` cannot be used ({why}); \
                 compare the project with version control, then remove `.drawloom/apply`"
            ),
        )
    };
    let found = staging
        .read(name)
        .map_err(|error| unreadable(error.to_string()))?;
    let Some(bytes) = found else { return Ok(None) };
    let content: JournalContent<Vec<ApplyStep>> =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    if content.format != FORMAT {
        return Err(unreadable(format!(
            "it has format {}, this version reads {FORMAT}",
            content.format
        )));
    }
    // A checkout can contain a forged journal; it gets no more permissions than a change set.
    for step in &content.steps {
        protected_paths::check_write(step.path()).map_err(|error| unreadable(error.to_string()))?;
    }
    Ok(Some(content.steps))
}

fn unwritten(source: io::Error) -> Error {
    Error::io("writing", &".drawloom/apply/journal", source)
}
