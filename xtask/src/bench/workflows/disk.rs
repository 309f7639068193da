//! The folder of the engines' durable state, on a real disk, and the cost of a write to that disk.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::super::scratch::Scratch;

/// Survives a restart by definition, and PostgreSQL's user may enter it, unlike a home or a target folder.
const DISK_FOLDER: &str = "/var/tmp";

const SYNCS: usize = 50;
const PAGE: [u8; 4_096] = [7; 4_096];

/// An empty folder for all engines of the run, removed at its end.
pub(super) fn stage(scratch: &Scratch) -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("drawloom-bench-");
    let stage = builder.tempdir_in(DISK_FOLDER);
    let stage = stage.or_else(|_| builder.tempdir_in(&scratch.folder))?;
    // Others may pass through but not list: PostgreSQL runs as a user of its own below it.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
    std::fs::set_permissions(stage.path(), mode)?;
    println!("writing into {}", stage.path().display());
    Ok(stage)
}

/// Measures appending a page and flushing it to the disk: the median of several.
pub(super) fn sync(folder: &Path) -> Result<Duration> {
    let path = folder.join("sync.bin");
    let mut file = std::fs::File::create(&path)
        .with_context(|| format!("cannot write into {}", folder.display()))?;
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let began = Instant::now();
        file.write_all(&PAGE)?;
        file.sync_data()?;
        times.push(began.elapsed());
    }
    std::fs::remove_file(&path)?;
    times.sort_unstable();
    Ok(times.get(SYNCS / 2).copied().unwrap_or_default())
}
