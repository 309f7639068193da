//! Public projects of four languages, cloned fresh, from a sentence to a green build; a type that is
//! broken in one of them never ends as complete. `cargo xtask matrix` runs this: it needs GitHub.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::building::{build, inside, model_of, outside, settings_of};
use crate::installed::{GO, cargo, open_copy, sh};
use crate::user::{RunAs, UserPlace, is_root};

/// A public project at one commit, and two changes of one line of it.
struct PublicProject {
    repository: &'static str,
    commit: &'static str,
    /// Installs what the project's own instructions say, in the checkout.
    install: &'static str,
    file: &'static str,
    line: &'static str,
    /// The line with a broken type.
    broken: &'static str,
    /// The line with the same meaning in other words.
    done: &'static str,
}

const TYPESCRIPT: PublicProject = PublicProject {
    repository: "developit/mitt",
    commit: "6b41670516ed8e8b738612f60491995470aa63b3",
    install: "npm install --silent --no-audit --no-fund --no-package-lock",
    file: "src/index.ts",
    line: "\tall = all || new Map();",
    broken: "\tall = all || 'nothing';",
    done: "\tall = all ? all : new Map();",
};

const RUST: PublicProject = PublicProject {
    repository: "dtolnay/itoa",
    commit: "1577ed901354d0d7448ac162328f9dbf5183124c",
    install: "cargo fetch --quiet",
    file: "src/lib.rs",
    line: "    pub fn format<I: Integer>(&mut self, i: I) -> &str {",
    broken: "    pub fn format<I: Integer>(&mut self, i: I) -> u8 {",
    done: "    pub fn format<I: Integer>(&mut self, i: I) -> &'_ str {",
};

const PYTHON: PublicProject = PublicProject {
    repository: "pallets/itsdangerous",
    commit: "672971d66a2ef9f85151e53283113f33d642dabd",
    install: "/usr/bin/python3 -m venv .venv && .venv/bin/pip -q install uv pytest freezegun mypy ruff -e .",
    file: "src/itsdangerous/encoding.py",
    line: "    return _int_to_bytes(num).lstrip(b\"\\x00\")",
    broken: "    return str(num)",
    done: "    packed = _int_to_bytes(num)\n    return packed.lstrip(b\"\\x00\")",
};

const GO_PROJECT: PublicProject = PublicProject {
    repository: "google/uuid",
    commit: "2d3c2a9cc518326daf99a383f07c4d3c44317e4d",
    install: "true",
    file: "version4.go",
    line: "\treturn Must(NewRandom()).String()",
    broken: "\treturn len(Must(NewRandom()).String())",
    done: "\tmade := Must(NewRandom())\n\treturn made.String()",
};

/// Clones, installs, and builds with a model that makes these changes of the line.
fn built(public: &PublicProject, (folder, user): (&Path, RunAs), texts: &[&str]) -> (i32, String) {
    let changes = texts.iter().scan(public.line, |old, new| {
        let edits = json!([{"old": *old, "new": new}]);
        *old = new;
        Some(("modify_file", json!({"path": public.file, "edits": edits})))
    });
    let model = model_of(public.file, changes.collect());
    let place = UserPlace::new(folder, user);
    let project = place.path().join("clone");
    let line = format!(
        "git clone --quiet https://github.com/{}.git clone && cd clone && git checkout --quiet {} && \
         git config user.name 'A User' && git config user.email user@example.org",
        public.repository, public.commit
    );
    sh(place.path(), &line);
    let search_path: Vec<PathBuf> = vec![
        cargo(user == RunAs::Ordinary, place.path()),
        open_copy(GO, place.path()).join("go/bin"),
    ];
    std::fs::write(project.join("drawloom.toml"), settings_of(&model, "")).unwrap();
    place.give(&project);
    // The user installs what the project needs, with the network that commands in a sandbox lack.
    let mut install = place.command(Path::new("bash"), &search_path);
    install
        .current_dir(&project)
        .args(["-c", public.install])
        .envs(std::env::vars().filter(|(name, _)| name.starts_with("PIP_")));
    let installed = install.output().unwrap();
    let said = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success(), "{}: {said}", public.install);
    let (exit, result) = build(&place, &project, &search_path);
    let checks = result["result"]["validation"].as_array();
    assert!(
        checks.is_some_and(|checks| !checks.is_empty()),
        "{result:#}"
    );
    (exit, format!("{} {result:#}", result["status"]))
}

#[track_caller]
fn check(public: &PublicProject) {
    let users = [RunAs::Same, RunAs::Ordinary];
    let users = users.into_iter().take(if is_root() { 2 } else { 1 });
    for user in users {
        for folder in [inside(), outside()] {
            let place = (folder.as_path(), user);
            let (exit, said) = built(public, place, &[public.broken, public.done]);
            assert!(
                exit == 0 && said.starts_with("\"completed\""),
                "{place:?} {said}"
            );
            let (exit, said) = built(public, place, &[public.broken, public.broken]);
            assert!(
                exit == 1 && said.starts_with("\"completed_draft\""),
                "{place:?} {said}"
            );
        }
    }
}

#[test]
fn a_public_typescript_project_is_built_and_a_broken_type_is_never_complete() {
    check(&TYPESCRIPT);
}

#[test]
fn a_public_rust_project_is_built_and_a_broken_type_is_never_complete() {
    check(&RUST);
}

#[test]
fn a_public_python_project_is_built_and_a_broken_type_is_never_complete() {
    check(&PYTHON);
}

#[test]
fn a_public_go_project_is_built_and_a_broken_type_is_never_complete() {
    check(&GO_PROJECT);
}
