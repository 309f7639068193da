//! A directory as a tree of names.

use std::collections::BTreeMap;

use workspace::{PathKind, RelPath, TreeEntry, WalkOptions, Workspace};

/// Draws the tree below a directory, and returns a sentence if not all of it is shown. Paths that
/// git ignores or that may not be read are left out.
pub(super) fn render(
    workspace: &Workspace,
    dir: &RelPath,
    entries_max: usize,
) -> Result<(String, Option<String>), workspace::Error> {
    let mut options = WalkOptions::new(dir.clone());
    options.entries_max = entries_max;
    let tree = workspace.walk(&options)?;
    let mut children: BTreeMap<Option<RelPath>, Vec<&TreeEntry>> = BTreeMap::new();
    for entry in &tree.entries {
        children.entry(entry.path.parent()).or_default().push(entry);
    }
    let start = tree.entries.first().and_then(|entry| entry.path.parent());
    let mut text = format!("{dir}/\n");
    branch(&children, start.as_ref(), "", &mut text);
    let note = tree.more.then(|| {
        format!("only the first {entries_max} entries are shown (agent.tree_entries_max)")
    });
    if let Some(note) = &note {
        text.push_str(&format!("[… {note} …]\n"));
    }
    Ok((text, note))
}

fn branch(
    children: &BTreeMap<Option<RelPath>, Vec<&TreeEntry>>,
    dir: Option<&RelPath>,
    indent: &str,
    text: &mut String,
) {
    let entries = children.get(&dir.cloned()).map_or(&[][..], Vec::as_slice);
    for (index, entry) in entries.iter().enumerate() {
        let is_last = index + 1 == entries.len();
        let (elbow, bar) = if is_last {
            ("└── ", "    ")
        } else {
            ("├── ", "│   ")
        };
        let name = entry.path.file_name().unwrap_or_default();
        let sign = match entry.kind {
            PathKind::Dir => "/",
            PathKind::Symlink => " (symlink)",
            PathKind::Other => " (special file)",
            PathKind::File => "",
        };
        text.push_str(&format!("{indent}{elbow}{name}{sign}\n"));
        if entry.kind == PathKind::Dir {
            branch(children, Some(&entry.path), &format!("{indent}{bar}"), text);
        }
    }
}
