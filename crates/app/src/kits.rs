//! Kits of a project: added from a folder or from git, pinned in the lock file, removed.
//!
//! Adding, replacing and removing are one change set each, lock file included: they happen whole or
//! not at all.

use std::path::Path;

use recipe::kits::{self as recipes, KIT_FILE, KITS_DIR, KitLock, LOCK_FILE, LockedKit};
use workspace::{ChangeSet, PathChange, RelPath, Root, fs};

use crate::{AppErrorCode, CommandCancel, Error, Project};

/// A kit to add.
#[derive(Clone, Debug)]
pub struct KitAddition<'a> {
    /// A folder, or the address of a git repository.
    pub source: &'a str,
    pub rev: Option<&'a str>,
    /// The name to give it, instead of its own.
    pub name: Option<&'a str>,
    pub existing: ExistingKit,
}

/// Policy for a kit of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingKit {
    Refuse,
    Replace,
}

/// A kit that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedKit {
    pub name: String,
    pub commit: Option<String>,
    pub files: usize,
    pub replaced: bool,
    /// The ids of its recipes.
    pub recipes: Vec<String>,
}

/// Adds a kit; `cwd` is what a relative folder is relative to.
pub fn add(
    project: &Project,
    cwd: &Path,
    addition: &KitAddition<'_>,
    cancel: &CommandCancel,
) -> Result<AddedKit, Error> {
    let scratch;
    let folder = cwd.join(addition.source);
    let (from, commit) = if is_address(addition.source) || addition.rev.is_some() {
        scratch = fs::scratch_dir()?;
        let place = scratch.path().join("kit");
        let address = match is_address(addition.source) {
            true => addition.source.to_owned(),
            false => folder.display().to_string(),
        };
        let git = vcs::GitProgram::at(&place).cancel(cancel.clone());
        let commit = git.fetch_at(&address, addition.rev)?;
        (Root::open(&place)?, Some(commit.as_str().to_owned()))
    } else {
        if !fs::is_dir(&folder) {
            let message = format!("there is no folder {}", addition.source);
            return Err(Error::new(AppErrorCode::NotFound, message)
                .hint("a kit comes from a folder, or from a git repository such as https://…"));
        }
        (Root::open(&folder)?, None)
    };
    put(project, &from, addition, commit)
}

/// Takes a kit out; what its recipes generated stays.
pub fn remove(project: &Project, name: &str) -> Result<(), Error> {
    let mut lock = KitLock::read(&project.root)?;
    let dir = kit_dir(name)?;
    let is_there = project.root.is_dir(&dir)?;
    if lock.kits.remove(name).is_none() && !is_there {
        return Err(unknown(project, name));
    }
    let mut changes = ChangeSet::new();
    changes.put(dir, PathChange::DeleteTree);
    changes.write(RelPath::parse(LOCK_FILE)?, lock.render());
    project.root.apply(&changes)?;
    Ok(())
}

/// Makes the error that there is no such kit, with the name that was probably meant.
pub fn unknown(project: &Project, name: &str) -> Error {
    let error = Error::new(AppErrorCode::NotFound, format!("there is no kit `{name}`"));
    let catalog = recipes::discover(&project.root).unwrap_or_default();
    let known: Vec<&str> = catalog.kits.iter().map(|kit| kit.name.as_str()).collect();
    match crate::nearest(name, known.iter().copied()) {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None if known.is_empty() => error.hint("this project has no kits"),
        None => error.hint(format!("there are: {}", known.join(", "))),
    }
}

pub(crate) fn put(
    project: &Project,
    from: &Root,
    addition: &KitAddition<'_>,
    commit: Option<String>,
) -> Result<AddedKit, Error> {
    let file = RelPath::parse(KIT_FILE)?;
    let Some(text) = from.read_text(&file)? else {
        let message = format!("{} has no {KIT_FILE}, so it is no kit", addition.source);
        return Err(Error::new(AppErrorCode::Kit, message));
    };
    let shown = format!("{}/{KIT_FILE}", addition.source.trim_end_matches('/'));
    let manifest = recipes::parse_kit(&shown, &text)?;
    let name = addition
        .name
        .unwrap_or_else(|| manifest.short_name())
        .to_owned();
    let dir = kit_dir(&name)?;
    let replaced = project.root.kind(&dir)?.is_some();
    if replaced && addition.existing == ExistingKit::Refuse {
        let message = format!("this project already has a kit `{name}`");
        return Err(Error::new(AppErrorCode::Kit, message)
            .hint("`--force` replaces it, `--as NAME` adds it under another name"));
    }
    let mut lock = KitLock::read(&project.root)?;
    let mut changes = ChangeSet::new();
    changes.put(dir.clone(), PathChange::DeleteTree);
    let wanted = |entry: &workspace::TreeEntry| entry.path.file_name() != Some(".git");
    let files = changes.put_tree(&dir, from, &RelPath::root(), wanted)?;
    let hash = recipes::hash_tree(from, &RelPath::root())?;
    let (source, rev) = (addition.source.to_owned(), addition.rev.map(str::to_owned));
    lock.kits.insert(
        name.clone(),
        LockedKit {
            source,
            rev,
            commit: commit.clone(),
            hash,
        },
    );
    changes.write(RelPath::parse(LOCK_FILE)?, lock.render());
    project.root.apply(&changes)?;
    let catalog = recipes::discover(&project.root)?;
    let kit = catalog.kits.iter().find(|kit| kit.name == name);
    let recipes = kit.map(|kit| kit.all().map(|listing| listing.id.clone()).collect());
    Ok(AddedKit {
        name,
        commit,
        files,
        replaced,
        recipes: recipes.unwrap_or_default(),
    })
}

/// Returns the folder of a kit. Its name must be one name: it becomes a folder and the first word
/// of its recipes.
fn kit_dir(name: &str) -> Result<RelPath, Error> {
    let path = RelPath::parse(name)
        .ok()
        .filter(|path| path.names().count() == 1);
    match path {
        Some(path) => Ok(RelPath::parse(KITS_DIR)?.join(&path)?),
        None => Err(Error::new(
            AppErrorCode::Kit,
            format!("`{name}` cannot be the name of a kit"),
        )
        .hint("use letters, digits, `-` and `_`")),
    }
}

/// Returns true for a URL, or for git's short form `user@host:path`.
pub(crate) fn is_address(source: &str) -> bool {
    let short = source
        .split_once(':')
        .is_some_and(|(host, _)| host.contains('@') && !host.contains('/'));
    source.contains("://") || short
}
