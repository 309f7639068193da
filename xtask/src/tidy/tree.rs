//! The tree that tidy reads: every text file git would carry, once, in memory.
//!
//! In a checkout git says which files count (new, not ignored ones too, so that a finding comes before
//! the commit); a tarball has no git, so there the folders are walked.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::allowance::Allowances;

/// Folders that hold what tools made, skipped when there is no git to say so.
const SKIPPED_WITHOUT_GIT: [&str; 4] = [".git", "node_modules", "target", "artifacts"];

/// Folders of test data: the bytes in them are what a test is about, so habits do not apply.
const DATA_FOLDERS: [&str; 7] = [
    "cases",
    "corpus",
    "data",
    "fixtures",
    "golden",
    "seeds",
    "snapshots",
];

/// Code of others, which keeps their habits.
const VENDORED: &str = "vendor/oxc_parser/";

/// The crate of shared fixtures: all of it is test code.
const TESTKIT: &str = "crates/testkit/";

pub(crate) struct Tree {
    pub(crate) files: Vec<TextFile>,
    /// Every path, binary files included, and every folder above one.
    pub(crate) paths: BTreeSet<String>,
}

/// One UTF-8 file, its path relative to the root with `/` between the parts.
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) allowances: Allowances,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let mut paths = BTreeSet::new();
        for path in list(root)? {
            let full = root.join(&path);
            let is_file = full.symlink_metadata().is_ok_and(|found| found.is_file());
            if !is_file {
                continue;
            }
            let folders = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
            paths.extend(folders);
            paths.insert(path.clone());
            if path.starts_with(VENDORED) {
                continue;
            }
            let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(TextFile::new(path, text));
            }
        }
        Ok(Self { files, paths })
    }

    pub(crate) fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl TextFile {
    pub(crate) fn new(path: String, text: String) -> Self {
        let allowances = Allowances::read(&text);
        Self {
            path,
            text,
            allowances,
        }
    }

    pub(crate) fn extension(&self) -> &str {
        self.path
            .rsplit_once('.')
            .map_or("", |(_, extension)| extension)
    }

    /// Data that is compared byte for byte is left as it is.
    pub(crate) fn is_data(&self) -> bool {
        let beside_tests = self.extension() != "rs" && self.folders().any(|it| it == "tests");
        beside_tests || self.folders().any(|folder| DATA_FOLDERS.contains(&folder))
    }

    /// Source of ours, which the Rust habits are about.
    pub(crate) fn is_rust(&self) -> bool {
        let ours = ["crates/", "xtask/", "fuzz/"]
            .iter()
            .any(|top| self.path.starts_with(top));
        ours && self.extension() == "rs" && !self.is_data()
    }

    /// Test files may be as long as their list of cases.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs")
            || self.folders().any(|folder| folder == "tests")
            || self.path.starts_with(TESTKIT)
    }

    fn folders(&self) -> impl Iterator<Item = &str> {
        self.path
            .rsplit_once('/')
            .map_or("", |(folders, _)| folders)
            .split('/')
    }
}

fn list(root: &Path) -> Result<Vec<String>> {
    if root.join(".git").exists() {
        return list_by_git(root);
    }
    let mut paths = Vec::new();
    walk(root, "", &mut paths)?;
    paths.sort();
    Ok(paths)
}

fn list_by_git(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .context("cannot run git; install it, or check a tree without a .git folder")?;
    ensure!(
        output.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8; rename it")?;
    let paths: BTreeSet<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
    Ok(paths.into_iter().map(str::to_owned).collect())
}

fn walk(folder: &Path, prefix: &str, paths: &mut Vec<String>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {prefix}"))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let name = name.ok().context("a file name is not UTF-8; rename it")?;
        let path = format!("{prefix}{name}");
        if !entry.file_type()?.is_dir() {
            paths.push(path);
        } else if !SKIPPED_WITHOUT_GIT.contains(&name.as_str()) {
            walk(&entry.path(), &format!("{path}/"), paths)?;
        }
    }
    Ok(())
}
