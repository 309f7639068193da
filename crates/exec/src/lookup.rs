//! Finding a program in a search path.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// The program `name` would start, given the value of `PATH`. A name with a
/// separator in it is a path already and is only checked.
#[must_use]
pub fn which(name: &str, path: &OsStr) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|program| is_program(program));
    }
    std::env::split_paths(path)
        // An empty part of PATH means the current directory: never searched here.
        .filter(|dir| !dir.as_os_str().is_empty())
        .map(|dir| dir.join(name))
        .find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}
