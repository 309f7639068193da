//! A disk so small that a test can fill it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// How much room is left on a disk that was filled.
const BYTES_LEFT: u64 = 64 * 1024;

/// A small disk below a folder, for as long as this lives.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(crate) fn mount(at: &Path, megabytes: u32) -> SmallDisk {
        std::fs::create_dir(at).unwrap();
        let size = format!("size={megabytes}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at);
        assert!(mount.status().unwrap().success());
        SmallDisk(at.to_owned())
    }

    /// Leaves so little room that a database can be opened and not much more.
    pub(crate) fn fill(&self) {
        let zeroes = std::fs::File::open("/dev/zero").unwrap();
        let mut file = std::fs::File::create(self.0.join("filler")).unwrap();
        let full = std::io::copy(&mut &zeroes, &mut file).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
        let bytes = file.metadata().unwrap().len();
        file.set_len(bytes.saturating_sub(BYTES_LEFT)).unwrap();
    }

    pub(crate) fn make_room(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
