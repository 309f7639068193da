//! Finding a program in a search path, and the home of the user.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// Finds the program that `name` would start, given the value of `PATH`. A name with a separator is
/// already a path and is only checked.
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

/// Returns the home of the user this process runs as, from the system's list of users: `HOME` may
/// be unset or wrong.
#[must_use]
pub fn home_of_user() -> Option<PathBuf> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    home_in(&users, rustix::process::getuid().as_raw())
}

fn home_in(users: &str, user: u32) -> Option<PathBuf> {
    let lines = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let mut homes = lines.filter_map(|fields| match fields[..] {
        [_, _, uid, _, _, home, _] if uid.parse() == Ok(user) => Some(PathBuf::from(home)),
        _ => None,
    });
    homes.find(|home| home.is_absolute() && home.parent().is_some())
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_found_by_the_number_of_its_user() {
        let users = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\nme:x:1000:1000:Me,,:/home/me:/bin/sh\nbroken\n";
        let check = |user, home: Option<&str>| {
            assert_eq!(home_in(users, user).as_deref(), home.map(Path::new));
        };
        check(0, Some("/root"));
        check(1000, Some("/home/me"));
        check(65534, None);
        check(7, None);
    }
}
