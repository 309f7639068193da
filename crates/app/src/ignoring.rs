//! Keeps private files out of git: everything private that Drawloom has in `.drawloom`.

use workspace::{ChangeSet, RelPath, Root, fs};

use crate::Error;
use crate::project::HOME;

/// The files that are private or can be made anew, from `.drawloom`.
const PRIVATE: [&str; 10] = [
    "drawloom.db*",
    "apply/",
    "answers/",
    "asked/",
    "ledger/",
    "patches/",
    "unfinished/",
    "cache/",
    "callback.key",
    "sign-in-link",
];

const IGNORE_FILE: &str = ".drawloom/.gitignore";

/// Returns the lines for the `.gitignore` of a project.
pub(crate) fn lines() -> impl Iterator<Item = String> {
    PRIVATE.iter().map(|name| format!(".drawloom/{name}"))
}

/// Makes git ignore private files, also if `init` was not run: in a repository whose own
/// `.gitignore` does not list them, `.drawloom` gets one.
pub(crate) fn ignore_private(root: &Root) -> Result<(), Error> {
    let ignore_file = RelPath::parse(IGNORE_FILE)?;
    let is_needed = root.is_dir(&RelPath::parse(HOME)?)? && root.kind(&ignore_file)?.is_none();
    if !is_needed || fs::find_upward(root.path(), ".git").is_none() {
        return Ok(());
    }
    let text = root
        .read_text(&RelPath::parse(".gitignore")?)?
        .unwrap_or_default();
    let has = |line: String| text.lines().any(|found| found.trim() == line);
    if lines().all(has) {
        return Ok(());
    }
    let mut ours = String::from("# What Drawloom keeps to itself.\n.gitignore\n");
    for name in PRIVATE {
        ours.push_str(&format!("/{name}\n"));
    }
    let mut changes = ChangeSet::new();
    changes.write(ignore_file, ours);
    root.apply(&changes)?;
    Ok(())
}
