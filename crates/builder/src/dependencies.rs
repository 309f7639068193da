//! Installed dependencies: lent by the checkout to a worktree, so that checks can run there.
//!
//! They are links, and copies where the checkout lies in a folder that is another one inside a sandbox.

use std::path::Path;

use workspace::{Ignored, Kind as FileKind, RelPath, Root, WalkOptions, Workspace, fs};

use crate::bench::Bench;
use crate::job::FailureCode;
use crate::site::Halt;

/// The most directories of a project in which dependencies are looked for.
const PACKAGES_MAX: usize = 200;
/// Files by which a directory is known to have dependencies of its own.
const MANIFESTS: [&str; 3] = ["package.json", "pyproject.toml", "Gemfile"];

/// Links installed dependencies of the checkout into a worktree, so that checks can run there.
pub(crate) fn borrow_dependencies(
    bench: &Bench<'_>,
    tree: &Workspace,
) -> Result<Vec<RelPath>, Halt> {
    let mut folders = vec![RelPath::root()];
    let options = WalkOptions {
        ignored: Ignored::LeftOut,
        ..WalkOptions::new(RelPath::root())
    };
    let walked = tree.walk(&options)?;
    let manifests = walked.entries.iter().filter(|entry| {
        entry.kind == FileKind::File
            && entry
                .path
                .file_name()
                .is_some_and(|name| MANIFESTS.contains(&name))
    });
    let packages = manifests.filter_map(|entry| entry.path.parent());
    folders.extend(packages.filter(|dir| !dir.is_root()).take(PACKAGES_MAX));
    let mut borrowed = Vec::new();
    for folder in folders {
        for name in &bench.settings.dependencies {
            let Ok(path) = RelPath::parse(name).and_then(|name| folder.join(&name)) else {
                continue;
            };
            if borrow(bench.project, tree.path(), &path)? {
                borrowed.push(path);
            }
        }
    }
    Ok(borrowed)
}

/// Makes a directory in which everything leads to the checkout's. The directory itself is no
/// link: tools keep caches in it, and some do not take a link for a directory.
fn borrow(checkout: &Path, tree: &Path, path: &RelPath) -> Result<bool, Halt> {
    let (theirs, ours) = (checkout.join(path.as_str()), tree.join(path.as_str()));
    let has_place = ours.parent().is_some_and(fs::is_dir);
    if !fs::is_dir(&theirs) || !has_place {
        return Ok(false);
    }
    let marker = ours.join(BORROWED);
    if fs::exists(&ours) {
        // A directory that is committed is the project's own.
        return Ok(fs::exists(&marker));
    }
    if is_hidden_from_commands(checkout) {
        copy(&theirs, &ours)?;
        fs::write_atomic(&marker, b"Everything here is a copy of the checkout's.\n")?;
        return Ok(true);
    }
    let theirs = Root::open(&theirs)?;
    Root::create(&ours)?;
    fs::write_atomic(
        &marker,
        b"Everything here leads to the checkout this worktree is of.\n",
    )?;
    for entry in theirs.list(&RelPath::root())?.iter().take(LINKS_MAX) {
        let name = entry.path.as_str();
        fs::link(&theirs.path().join(name), &ours.join(name))?;
    }
    Ok(true)
}

/// Folders that are others inside a sandbox: links into them lead nowhere.
const PRIVATE_FOLDERS: [&str; 2] = ["/tmp", "/var/tmp"];

fn is_hidden_from_commands(checkout: &Path) -> bool {
    let checkout = fs::canonical(checkout).unwrap_or_else(|_| checkout.to_path_buf());
    PRIVATE_FOLDERS
        .iter()
        .any(|folder| checkout.starts_with(folder))
}

/// How long copying one folder of dependencies may take.
const COPY_SECONDS_MAX: u64 = 300;

/// Copies a folder with its links and modes. Half a copy is no copy.
fn copy(from: &Path, to: &Path) -> Result<(), Halt> {
    let invocation = exec::Invocation::new("cp")
        .args(["-a", "--"])
        .args([from.as_os_str(), to.as_os_str()])
        .timeout(std::time::Duration::from_secs(COPY_SECONDS_MAX));
    let failed = match exec::run(&invocation) {
        Ok(outcome) if outcome.is_success() => return Ok(()),
        Ok(outcome) => outcome.stderr_text().trim().to_owned(),
        Err(error) => error.to_string(),
    };
    fs::remove_tree(to)?;
    let message = format!(
        "`{}` cannot be copied for the build: {failed}",
        from.display()
    );
    Err(Halt::Failed(FailureCode::Files, message))
}

/// The file that says that a directory was borrowed.
const BORROWED: &str = ".drawloom-borrowed";
/// The most entries of one directory that are linked.
const LINKS_MAX: usize = 20_000;
