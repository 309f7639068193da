//! Files of the project that commands cannot read or write: the policy, in the terms of a sandbox.
//!
//! Secrets are hidden. Files that run by themselves, belong to git or to us, or are listed by the
//! project are read-only. Dependencies, build output and lock files are refused to the other tools
//! as noise, but commands make them: they are left to commands, and not searched.
//!
//! A sandbox protects files that exist. A file that a command makes under a name refused to
//! `write_file` is the command's own work, to be reviewed like the rest of it.

use std::path::PathBuf;

use workspace::{
    DenialRule, IgnoredFiles, ListingEntry, PathKind, RelPath, WalkOptions, Workspace,
    WorkspaceErrorKind,
};

use super::toolchains::is_manifest;

/// Most manifests that are read.
const MANIFESTS_MAX: usize = 500;

/// Paths from the project's root.
#[derive(Debug, Default)]
pub(super) struct SandboxExceptions {
    /// Cannot be read.
    pub(super) hidden: Vec<PathBuf>,
    /// Cannot be written.
    pub(super) read_only: Vec<PathBuf>,
    /// The files by which toolchains are known.
    pub(super) manifests: Vec<RelPath>,
    /// Paths hidden by rule, which may have other names.
    secrets: Vec<RelPath>,
}

impl SandboxExceptions {
    pub(super) fn of(workspace: &Workspace) -> Result<SandboxExceptions, workspace::Error> {
        let tree = workspace.walk(&WalkOptions {
            ignored: IgnoredFiles::Included,
            ..WalkOptions::new(RelPath::root())
        })?;
        let mut found = SandboxExceptions::default();
        found.look_into(workspace, &RelPath::root())?;
        let dirs = tree
            .entries
            .iter()
            .filter(|entry| entry.kind == PathKind::Dir);
        for dir in dirs {
            match found.look_into(workspace, &dir.path) {
                Ok(()) => {}
                // A directory that went away meanwhile has nothing to hide.
                Err(error) if error.kind() == WorkspaceErrorKind::NotFound => {}
                // A directory whose names we cannot list may still be entered by a process that
                // knows them.
                Err(_) => found.hidden.push(PathBuf::from(dir.path.as_str())),
            }
        }
        let files = tree.entries.iter().filter(|entry| {
            let name = entry.path.file_name().unwrap_or_default();
            entry.kind == PathKind::File && is_manifest(name)
        });
        let files = files.take(MANIFESTS_MAX);
        found.manifests = files.map(|entry| entry.path.clone()).collect();
        let others = workspace.other_names(&found.secrets)?;
        let others = others.iter().map(|path| PathBuf::from(path.as_str()));
        found.hidden.extend(others);
        Ok(found)
    }

    fn look_into(&mut self, workspace: &Workspace, dir: &RelPath) -> Result<(), workspace::Error> {
        let listing = workspace.list(dir)?;
        let place = PathBuf::from(dir.as_str());
        // No rule can be asked about them, nor about what is in them.
        let unnameable = listing.unnameable.iter().map(|name| place.join(name));
        self.hidden.extend(unnameable);
        for entry in listing.entries {
            let path = PathBuf::from(entry.path.as_str());
            if is_hidden(&entry) {
                self.hidden.push(path);
                self.secrets.push(entry.path);
            } else if is_held(workspace, &entry)
                && !self.read_only.iter().any(|held| path.starts_with(held))
            {
                self.read_only.push(path);
            }
        }
        Ok(())
    }
}

fn is_hidden(entry: &ListingEntry) -> bool {
    let rule = entry.denial.as_ref().map(workspace::Denial::rule);
    matches!(
        rule,
        Some(
            DenialRule::Environment
                | DenialRule::Credential
                | DenialRule::Own
                | DenialRule::Listed(_)
        )
    )
}

/// True if the entry is to stay unchanged. A link to such an entry is judged by its target.
fn is_held(workspace: &Workspace, entry: &ListingEntry) -> bool {
    if entry.kind == PathKind::Symlink {
        return false;
    }
    let refused = workspace.policy().check_write(&entry.path).err();
    matches!(
        refused.as_ref().map(workspace::Denial::rule),
        Some(DenialRule::Git | DenialRule::Own | DenialRule::Automation | DenialRule::Listed(_))
    )
}
