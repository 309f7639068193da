//! Places of files that something else took: links, and files in the place of directories.

use workspace::{ChangeSet, PathChange, PathKind as FileKind, RelPath, Root};

use crate::active_job::StageHalt;

/// Removes whatever took the place of these paths and of the directories above them: a file would
/// be written through a link, and none can be written below one that leads out.
pub(crate) fn clear_the_way(
    root: &Root,
    before: &Root,
    paths: &[RelPath],
) -> Result<(), StageHalt> {
    let mut changes = ChangeSet::new();
    for path in paths {
        let mut steps: Vec<RelPath> = std::iter::successors(Some(path.clone()), RelPath::parent)
            .take_while(|step| !step.is_root())
            .collect();
        steps.reverse();
        for step in steps {
            let change = match (root.kind(&step)?, before.kind(&step)?) {
                (Some(FileKind::Symlink), Some(FileKind::Symlink)) => break,
                (Some(FileKind::Symlink), _) | (Some(FileKind::File), Some(FileKind::Dir)) => {
                    PathChange::Delete
                }
                (Some(FileKind::Dir), Some(FileKind::File)) => PathChange::DeleteTree,
                _ => continue,
            };
            changes.put(step, change);
            break;
        }
    }
    if !changes.is_empty() {
        root.apply(&changes)?;
    }
    Ok(())
}
