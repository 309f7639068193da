//! Detects the checks of a project by its files: one function for each ecosystem.
//!
//! Detection runs no program. If the root has no manifest, the nearest ones above the files of the
//! plan are read, so that a package inside a larger repository is checked as well.

use std::collections::BTreeSet;

use serde_json::Value;
use workspace::{RelPath, Root};

use super::ProjectCheck;

/// The largest manifest that is read.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;
/// The most directories whose manifests are read.
const DIRS_MAX: usize = 8;

/// The checks of the project in `root`, for a job that touches these files.
pub fn detect(root: &Root, touched: &[RelPath]) -> Vec<ProjectCheck> {
    let here = checks_in(root, &RelPath::root());
    if !here.is_empty() {
        return here;
    }
    let mut dirs = BTreeSet::new();
    for path in touched {
        let mut dir = path.parent();
        while let Some(at) = dir {
            if !checks_in(root, &at).is_empty() {
                dirs.insert(at);
                break;
            }
            dir = at.parent();
        }
    }
    let dirs = dirs.iter().take(DIRS_MAX);
    dirs.flat_map(|dir| checks_in(root, dir)).collect()
}

fn checks_in(root: &Root, dir: &RelPath) -> Vec<ProjectCheck> {
    let place = ManifestFolder { root, dir };
    let mut checks = cargo(&place);
    checks.extend(node(&place));
    checks.extend(python(&place));
    checks.extend(go(&place));
    checks
}

/// A directory that may hold manifests.
struct ManifestFolder<'a> {
    root: &'a Root,
    dir: &'a RelPath,
}

impl ManifestFolder<'_> {
    fn text(&self, name: &str) -> Option<String> {
        let path = self.path(name)?;
        let bytes = self.root.read_at_most(&path, MANIFEST_BYTES_MAX).ok()??;
        String::from_utf8(bytes).ok()
    }

    fn path(&self, name: &str) -> Option<RelPath> {
        self.dir.join(&RelPath::parse(name).ok()?).ok()
    }

    fn has(&self, name: &str) -> bool {
        let path = self.path(name);
        path.is_some_and(|path| self.root.exists(&path).unwrap_or_default())
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    fn check(&self, name: &str, run: impl Into<String>) -> ProjectCheck {
        let at = if self.dir.is_root() {
            name.to_owned()
        } else {
            format!("{name} in {}", self.dir)
        };
        ProjectCheck {
            name: at,
            run: run.into(),
            cwd: self.dir.clone(),
            timeout_seconds: None,
        }
    }
}

fn cargo(place: &ManifestFolder<'_>) -> Vec<ProjectCheck> {
    let Some(manifest) = place.text("Cargo.toml") else {
        return Vec::new();
    };
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let mut checks = vec![place.check("typecheck", "cargo check --workspace --all-targets")];
    let lints = [
        manifest.get("lints"),
        manifest.get("workspace").and_then(|all| all.get("lints")),
    ];
    let lints_clippy = lints
        .into_iter()
        .flatten()
        .any(|lints| lints.get("clippy").is_some() || lints.get("workspace").is_some());
    if lints_clippy || place.has_any(&["clippy.toml", ".clippy.toml"]) {
        let run = "cargo clippy --workspace --all-targets -- -D warnings";
        checks.push(place.check("lint", run));
    }
    checks.push(place.check("test", "cargo test --workspace --no-fail-fast"));
    checks
}

/// The scripts that are checks, by the names people give them.
const SCRIPTS: [(&str, &[&str]); 4] = [
    (
        "typecheck",
        &["typecheck", "type-check", "check-types", "types", "tsc"],
    ),
    ("lint", &["lint"]),
    ("test", &["test:unit", "test"]),
    ("build", &["build"]),
];

fn node(place: &ManifestFolder<'_>) -> Vec<ProjectCheck> {
    let manifest = place.text("package.json");
    let Some(manifest) = manifest.and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
        return Vec::new();
    };
    let manager = node_manager(place, &manifest);
    let script = |name: &str| manifest.get("scripts")?.get(name)?.as_str();
    let mut checks = Vec::new();
    for (check, names) in SCRIPTS {
        let found = names
            .iter()
            .find(|name| script(name).is_some_and(|run| !is_placeholder(run)));
        if let Some(name) = found {
            // Test runners that watch files in a terminal run once if `CI` is set.
            checks.push(place.check(check, format!("CI=1 {manager} run {name}")));
        } else if check == "typecheck"
            && uses(&manifest, "typescript")
            && place.has("tsconfig.json")
        {
            checks.push(place.check(check, node_program(manager, "tsc --noEmit")));
        }
    }
    checks
}

fn node_manager(place: &ManifestFolder<'_>, manifest: &Value) -> &'static str {
    let named = manifest.get("packageManager").and_then(Value::as_str);
    let named = named.and_then(|named| named.split('@').next());
    let known = ["npm", "pnpm", "yarn", "bun"].into_iter();
    if let Some(manager) = known.clone().find(|manager| Some(*manager) == named) {
        return manager;
    }
    let locks: [(&str, &[&str]); 3] = [
        ("pnpm", &["pnpm-lock.yaml"]),
        ("yarn", &["yarn.lock"]),
        ("bun", &["bun.lock", "bun.lockb"]),
    ];
    let found = locks.iter().find(|(_, files)| place.has_any(files));
    found.map_or("npm", |(manager, _)| manager)
}

fn node_program(manager: &str, program: &str) -> String {
    match manager {
        "pnpm" => format!("pnpm exec {program}"),
        "yarn" => format!("yarn run {program}"),
        "bun" => format!("bunx --no-install {program}"),
        _ => format!("npx --no-install {program}"),
    }
}

fn uses(manifest: &Value, package: &str) -> bool {
    ["dependencies", "devDependencies"].iter().any(|list| {
        manifest
            .get(list)
            .and_then(|list| list.get(package))
            .is_some()
    })
}

/// Recognises the script that `npm init` writes for a project without tests.
fn is_placeholder(script: &str) -> bool {
    script.contains("no test specified")
}

fn python(place: &ManifestFolder<'_>) -> Vec<ProjectCheck> {
    let project = place.text("pyproject.toml");
    let markers = [
        "setup.py",
        "setup.cfg",
        "requirements.txt",
        "tox.ini",
        "Pipfile",
    ];
    if project.is_none() && !place.has_any(&markers) {
        return Vec::new();
    }
    let text = project.unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    let setup = place.text("setup.cfg").unwrap_or_default();
    let tool = |name: &str| {
        let configured = table.get("tool").and_then(|tools| tools.get(name));
        configured.is_some()
            || setup.contains(&format!("[{name}"))
            || setup.contains(&format!("[tool:{name}"))
    };
    let named = |name: &str| text.contains(&format!("\"{name}")) || setup.contains(name);
    let run = |program: &str| {
        if place.has("uv.lock") {
            format!("uv run --no-sync --offline {program}")
        } else if place.has("poetry.lock") || tool("poetry") {
            format!("poetry run {program}")
        } else if place.has(".venv/bin") {
            format!(".venv/bin/python -m {program}")
        } else {
            format!("python3 -m {program}")
        }
    };
    let mut checks = Vec::new();
    if tool("mypy") || place.has_any(&["mypy.ini", ".mypy.ini"]) || named("mypy") {
        checks.push(place.check("typecheck", run("mypy .")));
    }
    if tool("ruff") || place.has_any(&["ruff.toml", ".ruff.toml"]) || named("ruff") {
        let run = run("ruff check --output-format=concise .");
        checks.push(place.check("lint", run));
    }
    let has_pytest = tool("pytest") || place.has_any(&["pytest.ini", "conftest.py"]);
    if has_pytest || named("pytest") {
        checks.push(place.check("test", run("pytest -q -rfE")));
    } else if place.has_any(&["tests", "test"]) {
        let program = format!(
            "unittest discover {}",
            if place.has("tests") { "tests" } else { "test" }
        );
        checks.push(place.check("test", format!("python3 -m {program}")));
    }
    checks
}

fn go(place: &ManifestFolder<'_>) -> Vec<ProjectCheck> {
    if !place.has("go.mod") {
        return Vec::new();
    }
    vec![
        place.check("typecheck", "go vet ./..."),
        place.check("build", "go build ./..."),
        place.check("test", "go test ./..."),
    ]
}
