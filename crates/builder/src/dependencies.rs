//! Installed dependencies: the checkout lends them to a worktree, so that checks can run there.
//!
//! They are links, or copies if a sandbox replaces the folder in which the checkout lies.

use std::path::Path;

use workspace::{IgnoredFiles, PathKind as FileKind, RelPath, Root, WalkOptions, Workspace, fs};

use crate::active_job::StageHalt;
use crate::build_context::BuildContext;
use crate::job::FailureCode;

/// The most directories of a project that are searched for dependencies.
const PACKAGES_MAX: usize = 200;
/// Files that mark a directory with its own dependencies.
const MANIFESTS: [&str; 3] = ["package.json", "pyproject.toml", "Gemfile"];

/// Links installed dependencies of the checkout into a worktree, so that checks can run there.
pub(crate) fn borrow_dependencies(
    bench: &BuildContext<'_>,
    tree: &Workspace,
) -> Result<Vec<RelPath>, StageHalt> {
    let mut folders = vec![RelPath::root()];
    let options = WalkOptions {
        ignored: IgnoredFiles::LeftOut,
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

/// Makes a directory whose entries link to the checkout's. The directory itself is no link: tools
/// keep caches in it, and some do not accept a link as a directory.
fn borrow(checkout: &Path, tree: &Path, path: &RelPath) -> Result<bool, StageHalt> {
    let (theirs, ours) = (checkout.join(path.as_str()), tree.join(path.as_str()));
    let has_place = ours.parent().is_some_and(fs::is_dir);
    if !fs::is_dir(&theirs) || !has_place {
        return Ok(false);
    }
    let marker = ours.join(BORROWED);
    if fs::exists(&ours) {
        // A committed directory belongs to the project.
        return Ok(fs::exists(&marker));
    }
    if is_hidden_from_commands(checkout) {
        copy(&theirs, &ours)?;
        fs::write_atomic(&marker, b"Everything here is a copy of the checkout's.\n")?;
        ignore(&ours)?;
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
    ignore(&ours)?;
    Ok(true)
}

/// Keeps git from seeing borrowed folders as part of the work if the project does not ignore them:
/// they may be larger than everything git is ever asked about.
fn ignore(folder: &Path) -> Result<(), StageHalt> {
    let place = folder.join(".gitignore");
    if !fs::exists(&place) {
        fs::write_atomic(&place, b"*\n")?;
    }
    Ok(())
}

/// Folders that a sandbox replaces: links into them lead nowhere there.
const PRIVATE_FOLDERS: [&str; 2] = ["/tmp", "/var/tmp"];

fn is_hidden_from_commands(checkout: &Path) -> bool {
    let checkout = fs::canonical(checkout).unwrap_or_else(|_| checkout.to_path_buf());
    PRIVATE_FOLDERS
        .iter()
        .any(|folder| checkout.starts_with(folder))
}

/// Seconds that copying one folder of dependencies may take.
const COPY_SECONDS_MAX: u64 = 300;

/// Copies a folder with its links and modes. Half a copy is no copy.
fn copy(from: &Path, to: &Path) -> Result<(), StageHalt> {
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
    Err(StageHalt::Failed(FailureCode::Files, message))
}

/// The file that marks a borrowed directory.
const BORROWED: &str = ".drawloom-borrowed";
/// The most entries of one directory that are linked.
const LINKS_MAX: usize = 20_000;
