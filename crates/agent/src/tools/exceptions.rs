//! What in the project commands cannot read or cannot write: the policy, as a sandbox understands it.
//!
//! Secrets are hidden. What runs by itself, belongs to git or to us, or is listed by the project is
//! held as it is. Dependencies, build output and lock files are refused to the other tools as
//! noise, and are made by commands: they are left to them, and not looked into.
//!
//! A sandbox holds what exists. What a command makes under a name that is refused to `write_file`
//! is its own work, to be looked at like the rest of it.

use std::path::PathBuf;

use workspace::{ErrorKind, Ignored, Kind, Listed, RelPath, Rule, WalkOptions, Workspace};

/// Paths from the project's root.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    /// Cannot be read.
    pub(super) hidden: Vec<PathBuf>,
    /// Cannot be written.
    pub(super) read_only: Vec<PathBuf>,
    /// What is hidden by rule, and may have other names.
    secrets: Vec<RelPath>,
}

impl Exceptions {
    pub(super) fn of(workspace: &Workspace) -> Result<Exceptions, workspace::Error> {
        let tree = workspace.walk(&WalkOptions {
            ignored: Ignored::Included,
            ..WalkOptions::new(RelPath::root())
        })?;
        let mut found = Exceptions::default();
        found.look_into(workspace, &RelPath::root())?;
        let dirs = tree.entries.iter().filter(|entry| entry.kind == Kind::Dir);
        for dir in dirs {
            match found.look_into(workspace, &dir.path) {
                Ok(()) => {}
                // A directory that went away meanwhile has nothing to hide.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // One whose names we cannot see may be entered by whoever knows them.
                Err(_) => found.hidden.push(PathBuf::from(dir.path.as_str())),
            }
        }
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

fn is_hidden(entry: &Listed) -> bool {
    let rule = entry.denial.as_ref().map(workspace::Denial::rule);
    matches!(
        rule,
        Some(Rule::Environment | Rule::Credential | Rule::Own | Rule::Listed(_))
    )
}

/// Whether it is to stay as it is. A link to such a thing is judged by where it leads.
fn is_held(workspace: &Workspace, entry: &Listed) -> bool {
    if entry.kind == Kind::Symlink {
        return false;
    }
    let refused = workspace.policy().check_write(&entry.path).err();
    matches!(
        refused.as_ref().map(workspace::Denial::rule),
        Some(Rule::Git | Rule::Own | Rule::Automation | Rule::Listed(_))
    )
}
