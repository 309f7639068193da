//! The scratch folder: where others' tools are installed, and kept for the next run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// A file system in memory, on Linux. Creating a file on a busy disk costs more, and varies more, than
/// generating it, and that cost is no generator's.
const MEMORY_FOLDER: &str = "/dev/shm";

const STAMP: &str = "installed.txt";

pub(crate) struct Scratch {
    pub(crate) folder: PathBuf,
    pub(crate) target: PathBuf,
    root: PathBuf,
}

impl Scratch {
    /// It is below cargo's target folder, so that `cargo clean` removes it.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let metadata = Command::new("cargo")
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(root)
            .output()
            .context("cannot run cargo metadata")?;
        let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout)
            .context("cargo metadata printed something else than JSON")?;
        let target = metadata["target_directory"]
            .as_str()
            .context("cargo names no target folder")?;
        let target = PathBuf::from(target);
        let folder = target.join("bench");
        std::fs::create_dir_all(&folder)?;
        Ok(Self {
            folder,
            target,
            root: root.to_owned(),
        })
    }

    /// An empty folder of that name.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        empty(&folder)?;
        Ok(folder)
    }

    /// Creates the folder that the measured programs write to: in memory if the machine offers it,
    /// else on the disk.
    pub(crate) fn stage(&self) -> Result<TempDir> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("drawloom-bench-");
        let stage = builder.tempdir_in(MEMORY_FOLDER);
        let stage = stage.or_else(|_| builder.tempdir_in(&self.folder))?;
        println!("generating into {}", stage.path().display());
        Ok(stage)
    }

    /// The folder that holds `node_modules` with these packages.
    pub(crate) fn npm(&self, name: &str, packages: &[&str]) -> Result<PathBuf> {
        self.install(name, packages, |folder| {
            std::fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--loglevel", "error"])
                .args(packages);
            finish(
                npm.current_dir(folder),
                "install Node.js 20 or newer with npm",
            )
        })
    }

    /// A virtual environment that holds these packages.
    pub(crate) fn pip(&self, name: &str, packages: &[&str]) -> Result<PathBuf> {
        self.install(name, packages, |folder| {
            let mut venv = Command::new("python3");
            finish(
                venv.args(["-m", "venv"]).arg(folder),
                "install Python 3 with its venv module",
            )?;
            let mut pip = Command::new(folder.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"])
                .args(packages);
            finish(&mut pip, "check that PyPI can be reached")
        })
    }

    /// The shipped build of one binary, the way users get it.
    pub(crate) fn build(&self, arguments: &[&str], binary: &str) -> Result<PathBuf> {
        println!("building {binary} (dist)");
        let mut cargo = Command::new("cargo");
        cargo
            .args(["build", "--profile", "dist", "--quiet", "--locked"])
            .args(arguments);
        finish(cargo.current_dir(&self.root), "mend the build first")?;
        Ok(self.target.join("dist").join(binary))
    }

    /// Runs `install` unless an earlier run installed the same packages.
    fn install(
        &self,
        name: &str,
        packages: &[&str],
        install: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let wanted = packages.join("\n");
        let folder = self.folder.join(name);
        if std::fs::read_to_string(folder.join(STAMP)).is_ok_and(|found| found == wanted) {
            return Ok(folder);
        }
        println!(
            "installing {} into {}",
            packages.join(", "),
            folder.display()
        );
        let folder = self.fresh(name)?;
        install(&folder)?;
        std::fs::write(folder.join(STAMP), wanted)?;
        Ok(folder)
    }
}

/// Makes `folder` an empty folder, whatever was there.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(std::fs::create_dir_all(folder)?)
}

fn finish(command: &mut Command, advice: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}; {advice}"))?;
    ensure!(status.success(), "{program} failed ({status}); {advice}");
    Ok(())
}
