//! The first files of a project: settings, two example recipes, and what git should ignore.

use workspace::{ChangeSet, RelPath, Root};

use crate::Error;
use crate::{ignoring, settings};

/// The files that `init` wrote or left alone, in the order they are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitReport {
    pub written: Vec<String>,
    /// Left as they were, because they exist.
    pub kept: Vec<String>,
}

const STARTER: [(&str, &str); 4] = [
    (
        ".drawloom/recipes/hello/recipe.yml",
        include_str!("starter/hello/recipe.yml"),
    ),
    (
        ".drawloom/recipes/hello/hello.md.jig",
        include_str!("starter/hello/hello.md.jig"),
    ),
    (
        ".drawloom/recipes/about/recipe.yml",
        include_str!("starter/about/recipe.yml"),
    ),
    (
        ".drawloom/recipes/about/about.md.jig",
        include_str!("starter/about/about.md.jig"),
    ),
];

const IGNORE_FILE: &str = ".gitignore";
/// Returns true if the folder has nothing of a project yet, so that `init` makes all of it.
pub fn is_new(root: &Root) -> Result<bool, Error> {
    for mark in [settings::FILE_NAME, crate::project::HOME] {
        if root.kind(&RelPath::parse(mark)?)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes missing files and overwrites nothing.
pub fn init(root: &Root) -> Result<InitReport, Error> {
    let mut done = InitReport::default();
    let mut changes = ChangeSet::new();
    let settings = settings::commented_file();
    let files = [(settings::FILE_NAME, settings.as_str())]
        .into_iter()
        .chain(STARTER);
    for (path, text) in files {
        if root.kind(&RelPath::parse(path)?)?.is_some() {
            done.kept.push(path.to_owned());
        } else {
            changes.write(RelPath::parse(path)?, text);
            done.written.push(path.to_owned());
        }
    }
    match ignore_file(root)? {
        Some(text) => {
            changes.write(RelPath::parse(IGNORE_FILE)?, text);
            done.written.push(IGNORE_FILE.to_owned());
        }
        None => done.kept.push(IGNORE_FILE.to_owned()),
    }
    root.apply(&changes)?;
    Ok(done)
}

/// Returns `.gitignore` with our lines added, or `None` if it has them.
fn ignore_file(root: &Root) -> Result<Option<String>, Error> {
    let mut text = root
        .read_text(&RelPath::parse(IGNORE_FILE)?)?
        .unwrap_or_default();
    let has = |line: &String| text.lines().any(|existing| existing.trim() == line);
    let missing: Vec<String> = ignoring::lines().filter(|line| !has(line)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(newline);
    }
    for line in missing {
        text.push_str(&line);
        text.push_str(newline);
    }
    Ok(Some(text))
}
