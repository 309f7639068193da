//! A repository of about 700 TypeScript files, made of packages that ship their sources.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::bench::scratch::Scratch;

/// Four libraries of different habits: paths without endings, paths to `.js`, barrels, imports of
/// the package by its own name.
const PACKAGES: [&str; 4] = ["rxjs@7.8.1", "zod@4.0.0", "ethers@6.13.0", "ox@0.1.0"];

/// The condition by which zod finds its own sources, from its tsconfig.json.
pub(super) const CONDITION: &str = "@zod/source";

pub(super) struct Corpus {
    /// The folder, in memory if the machine offers it; removed when dropped.
    _stage: TempDir,
    pub(super) repository: PathBuf,
    /// Every file, from the repository.
    pub(super) paths: Vec<PathBuf>,
    pub(super) files: usize,
    pub(super) sources: usize,
    /// A file that much depends on.
    pub(super) changed: PathBuf,
}

impl Corpus {
    pub(super) fn assemble(scratch: &Scratch) -> Result<Self> {
        let installed = scratch.npm("index-corpus", &PACKAGES)?.join("node_modules");
        let stage = scratch.stage()?;
        let repository = stage.path().join("repository");
        let mut paths = Vec::new();
        for package in PACKAGES {
            let (name, _) = package
                .rsplit_once('@')
                .context("a package has a version")?;
            let below = Path::new("packages").join(name);
            copy(&installed.join(name), &repository, &below, &mut paths)?;
        }
        for (name, text) in [
            (".gitignore", "node_modules\n"),
            (
                "package.json",
                "{ \"private\": true, \"workspaces\": [\"packages/*\"] }\n",
            ),
        ] {
            std::fs::write(repository.join(name), text)?;
            paths.push(PathBuf::from(name));
        }
        paths.sort();
        let is_source = |path: &&PathBuf| {
            let extension = path.extension().and_then(|it| it.to_str());
            matches!(extension, Some("ts" | "tsx" | "mts"))
        };
        Ok(Self {
            _stage: stage,
            repository,
            files: paths.len(),
            sources: paths.iter().filter(is_source).count(),
            paths,
            changed: PathBuf::from("packages/rxjs/src/internal/Observable.ts"),
        })
    }
}

/// Copies what a repository would hold: sources, manifests, documents; not what is built from them.
fn copy(from: &Path, repository: &Path, below: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().context("a name is UTF-8")?;
        let (source, target) = (entry.path(), below.join(name));
        if entry.file_type()?.is_dir() {
            if name != "node_modules" {
                copy(&source, repository, &target, paths)?;
            }
        } else if is_kept(name) {
            let whole = repository.join(&target);
            std::fs::create_dir_all(whole.parent().context("a file is in a folder")?)?;
            std::fs::copy(&source, whole)?;
            paths.push(target);
        }
    }
    Ok(())
}

fn is_kept(name: &str) -> bool {
    let is_declaration = [".d.ts", ".d.mts", ".d.cts"]
        .iter()
        .any(|ending| name.ends_with(ending));
    let is_source = [".ts", ".tsx", ".mts", ".md"]
        .iter()
        .any(|ending| name.ends_with(ending));
    let is_manifest = name == "package.json" || name.starts_with("tsconfig");
    is_manifest || is_source && !is_declaration
}
