//! The files of a worktree, stored with the turns that wrote them, where another machine may go on.
//!
//! A turn is committed to the store only when the files that it left are there, too. So a machine that
//! takes a job over makes a worktree of the base commit, puts the stored files in it, and goes on with
//! the conversation as if it had been its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent::{
    AgentErrorKind, ConversationTurn, JournalFuture, ToolAction, TurnHistory, TurnJournal, TurnNote,
};
use sha2::{Digest as _, Sha256};
use vcs::{CommitId, PathSelection};
use workspace::{ChangeSet, PathChange, PathKind, RelPath, Root};

use crate::active_job::{ActiveJob, StageHalt, blocking};
use crate::error::Error;
use crate::job::JobId;
use crate::job_repository::{JobRepository, JobWorktree, git};
use crate::store::{JobFile, JobStore};

/// The changed files of a worktree, and which of them are stored. Clones share that knowledge.
#[derive(Clone)]
pub(crate) struct WorktreeFiles {
    tree: JobWorktree,
    stored: Arc<Mutex<BTreeMap<String, FileDigest>>>,
}

type FileDigest = [u8; 32];

impl WorktreeFiles {
    pub(crate) fn of(tree: &JobWorktree, stored: &[JobFile]) -> WorktreeFiles {
        let stored = stored.iter().map(|file| (file.path.clone(), digest(file)));
        WorktreeFiles {
            tree: tree.clone(),
            stored: Arc::new(Mutex::new(stored.collect())),
        }
    }

    /// Stores the files that differ from the stored ones.
    async fn store(&self, jobs: &dyn JobStore, id: &JobId) -> Result<(), StageHalt> {
        let here = self.clone();
        let unstored = blocking(move || here.unstored()).await??;
        let files: Vec<JobFile> = unstored.iter().map(|(file, _)| file.clone()).collect();
        if !files.is_empty() {
            jobs.keep_files(id, &files).await?;
        }
        self.note_stored(&unstored);
        Ok(())
    }

    /// Returns the files that differ from the stored ones, with what they are digested to.
    fn unstored(&self) -> Result<Vec<(JobFile, FileDigest)>, StageHalt> {
        let root = Root::open(self.tree.path())?;
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = self.tree.changes(&PathSelection::All)?;
        let mut paths: Vec<RelPath> = Vec::new();
        for changed in changes {
            if let Some(from) = &changed.change.from {
                paths.extend(self.tree.project_path(from));
            }
            paths.push(changed.path);
        }
        // A file that was changed back is stored as it is now.
        let known = stored.keys().filter_map(|path| RelPath::parse(path).ok());
        paths.extend(known);
        paths.sort();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            let content = match root.kind(&path)? {
                // Links are committed as links, and only commands make them.
                Some(PathKind::Symlink) => continue,
                Some(PathKind::File) => root.read(&path)?,
                _ => None,
            };
            let is_executable = content.is_some() && root.is_executable(&path)?;
            let file = JobFile {
                path: path.to_string(),
                content,
                is_executable,
            };
            let digest = digest(&file);
            if stored.get(&file.path) != Some(&digest) {
                files.push((file, digest));
            }
        }
        Ok(files)
    }

    fn note_stored(&self, files: &[(JobFile, FileDigest)]) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files.iter();
        stored.extend(files.map(|(file, digest)| (file.path.clone(), *digest)));
    }
}

fn digest(file: &JobFile) -> FileDigest {
    let mut hasher = Sha256::new();
    hasher.update([
        u8::from(file.content.is_some()),
        u8::from(file.is_executable),
    ]);
    hasher.update(file.content.as_deref().unwrap_or_default());
    hasher.finalize().into()
}

/// A journal that stores the worktree's files before the record that says they were written.
pub(crate) struct FilingJournal<'a> {
    pub(crate) journal: Box<dyn TurnJournal + 'a>,
    pub(crate) jobs: &'a dyn JobStore,
    pub(crate) id: &'a JobId,
    pub(crate) files: WorktreeFiles,
}

impl FilingJournal<'_> {
    async fn store_files(&mut self) -> Result<(), agent::Error> {
        let stored = self.files.store(self.jobs, self.id).await;
        stored.map_err(|halt| {
            let why = match halt {
                StageHalt::Failed(_, why) => why,
                StageHalt::Broken(error) => error.to_string(),
                StageHalt::Cancelled | StageHalt::Interrupted => "the work was stopped".to_owned(),
            };
            let message = format!("the files of the worktree cannot be stored: {why}");
            agent::Error::new(AgentErrorKind::Journal, message)
        })
    }
}

impl TurnJournal for FilingJournal<'_> {
    fn load(&mut self) -> JournalFuture<'_, TurnHistory> {
        self.journal.load()
    }

    fn note<'a>(&'a mut self, note: &'a TurnNote) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            if let TurnNote::Ended { deeds, .. } = note
                && may_have_written(deeds)
            {
                self.store_files().await?;
            }
            self.journal.note(note).await
        })
    }

    fn commit<'a>(&'a mut self, turn: &'a ConversationTurn) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            if may_have_written(&turn.deeds) {
                self.store_files().await?;
            }
            self.journal.commit(turn).await
        })
    }
}

/// Returns true if files may be others than before.
fn may_have_written(deeds: &[ToolAction]) -> bool {
    deeds.iter().any(|deed| {
        matches!(
            deed,
            ToolAction::Wrote { .. } | ToolAction::Ran { .. } | ToolAction::Called { .. }
        )
    })
}

/// Stores the files of a worktree as they are now, for a job that stops here.
pub(crate) async fn store(site: &ActiveJob<'_>, tree: &JobWorktree) -> Result<(), StageHalt> {
    let jobs = site.bench.jobs;
    if !jobs.is_shared() {
        return Ok(());
    }
    let stored = jobs.files(&site.job.id).await?;
    WorktreeFiles::of(tree, &stored)
        .store(jobs, &site.job.id)
        .await
}

/// Puts the stored files of a job into its fresh worktree; returns whether there were any.
pub(crate) async fn restore(
    site: &mut ActiveJob<'_>,
    tree: &JobWorktree,
) -> Result<bool, StageHalt> {
    if !site.bench.jobs.is_shared() {
        return Ok(false);
    }
    let files = site.bench.jobs.files(&site.job.id).await?;
    let root = Root::open(tree.path())?;
    let mut changes = ChangeSet::new();
    for file in &files {
        let path = RelPath::parse(&file.path)?;
        let there = root.kind(&path)?;
        let change = match &file.content {
            Some(bytes) => PathChange::Write {
                bytes: bytes.clone(),
                executable: file.is_executable,
            },
            None if there.is_none() => continue,
            None => PathChange::Delete,
        };
        changes.put(path, change);
    }
    if changes.is_empty() {
        return Ok(!files.is_empty());
    }
    root.apply(&changes)?;
    let message = "The files of this build are put back as the last process left them.";
    site.say(message, None).await?;
    Ok(true)
}

/// Returns true if files of the job are stored, by this machine or another.
pub(crate) async fn are_stored(site: &ActiveJob<'_>) -> Result<bool, StageHalt> {
    let jobs = site.bench.jobs;
    Ok(jobs.is_shared() && !jobs.files(&site.job.id).await?.is_empty())
}

/// Removes the stored files of a job that has come to its end.
pub(crate) async fn forget(site: &ActiveJob<'_>) -> Result<(), Error> {
    match site.bench.jobs.is_shared() {
        true => site.bench.jobs.forget_files(&site.job.id).await,
        false => Ok(()),
    }
}

/// Returns true if the job's commit was made and is in this repository: one that another machine made
/// and has not pushed is made again.
pub(crate) fn has_commit(site: &ActiveJob<'_>, ground: &JobRepository) -> Result<bool, StageHalt> {
    let Some(commit) = &site.job.result.commit else {
        return Ok(false);
    };
    if !site.bench.jobs.is_shared() {
        return Ok(true);
    }
    let commit = CommitId::parse(commit).map_err(git)?;
    ground.repository.has_commit(&commit).map_err(git)
}
