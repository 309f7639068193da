//! Kits fetched again: to what the lock file pins, or to what their source has now.

use std::path::Path;

use recipe::kits::{KITS_DIR, KitLock, LOCK_FILE, LockedKit, hash_tree};
use workspace::{ChangeSet, RelPath};

use crate::kits::{self, ExistingKit, KitAddition};
use crate::{AppErrorCode, CommandCancel, Error, Project};

/// Result of refreshing one kit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshedKit {
    pub name: String,
    pub before: Option<String>,
    pub after: Option<String>,
    /// True if its files differ from before.
    pub changed: bool,
}

/// Fetches kits as their source has them now, and pins what came: the branch or tag that was asked for
/// when the kit was added, else the default branch.
pub fn update(
    project: &Project,
    cwd: &Path,
    name: Option<&str>,
    cancel: &CommandCancel,
) -> Result<Vec<RefreshedKit>, Error> {
    let lock = KitLock::read(&project.root)?;
    let mut refreshed = Vec::new();
    for (name, locked) in chosen(project, &lock, name)? {
        let added = fetch(project, cwd, (name, locked, locked.rev.as_deref()), cancel)?;
        let now = KitLock::read(&project.root)?;
        refreshed.push(RefreshedKit {
            name: name.clone(),
            before: locked.commit.clone(),
            after: added,
            changed: now.kits.get(name).is_none_or(|now| now.hash != locked.hash),
        });
    }
    Ok(refreshed)
}

/// Brings back kits whose folder is missing, exactly as the lock file pins them.
pub fn restore(
    project: &Project,
    cwd: &Path,
    cancel: &CommandCancel,
) -> Result<Vec<RefreshedKit>, Error> {
    let lock = KitLock::read(&project.root)?;
    let mut refreshed = Vec::new();
    for (name, locked) in &lock.kits {
        let dir = RelPath::parse(&format!("{KITS_DIR}/{name}"))?;
        if project.root.is_dir(&dir)? {
            continue;
        }
        let rev = locked.commit.as_deref().or(locked.rev.as_deref());
        let after = fetch(project, cwd, (name, locked, rev), cancel)?;
        let hash = hash_tree(&project.root, &dir)?;
        // The lock decides the version, whatever was fetched.
        let mut changes = ChangeSet::new();
        changes.write(RelPath::parse(LOCK_FILE)?, lock.render());
        if hash != locked.hash {
            changes.put(dir, workspace::PathChange::DeleteTree);
            project.root.apply(&changes)?;
            let message = format!(
                "{} does not have what {LOCK_FILE} pins for the kit `{name}` any more",
                locked.source
            );
            return Err(Error::new(AppErrorCode::Kit, message).hint(format!(
                "`drawloom kit update {name}` takes what it has now"
            )));
        }
        project.root.apply(&changes)?;
        refreshed.push(RefreshedKit {
            name: name.clone(),
            before: locked.commit.clone(),
            after,
            changed: true,
        });
    }
    Ok(refreshed)
}

fn chosen<'l>(
    project: &Project,
    lock: &'l KitLock,
    name: Option<&str>,
) -> Result<Vec<(&'l String, &'l LockedKit)>, Error> {
    match name {
        None => Ok(lock.kits.iter().collect()),
        Some(name) => match lock.kits.get_key_value(name) {
            Some(kit) => Ok(vec![kit]),
            None => Err(kits::unknown(project, name)),
        },
    }
}

/// Replaces a kit by a revision of its source; the commit that came.
fn fetch(
    project: &Project,
    cwd: &Path,
    (name, locked, rev): (&str, &LockedKit, Option<&str>),
    cancel: &CommandCancel,
) -> Result<Option<String>, Error> {
    let addition = KitAddition {
        source: &locked.source,
        rev,
        name: Some(name),
        existing: ExistingKit::Replace,
    };
    Ok(kits::add(project, cwd, &addition, cancel)?.commit)
}
