//! Detecting the checks of a project by its files: a folder as data, the commands as data.

use builder::validation::detect;
use workspace::{RelPath, Root};

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
    check_in(files, &[], expected);
}

#[track_caller]
fn check_in(files: &[(&str, &str)], touched: &[&str], expected: &[(&str, &str)]) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let touched: Vec<RelPath> = touched
        .iter()
        .map(|path| RelPath::parse(path).unwrap())
        .collect();
    let found = detect(&Root::open(dir.path()).unwrap(), &touched);
    let found: Vec<_> = found
        .iter()
        .map(|check| (check.name.as_str(), check.run.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn cargo_projects_are_checked_linted_if_they_say_so_and_tested() {
    let (typecheck, test) = (
        ("typecheck", "cargo check --workspace --all-targets"),
        ("test", "cargo test --workspace --no-fail-fast"),
    );
    check(
        &[("Cargo.toml", "[package]\nname = \"x\"\n")],
        &[typecheck, test],
    );
    let lint = (
        "lint",
        "cargo clippy --workspace --all-targets -- -D warnings",
    );
    check(
        &[("Cargo.toml", ""), ("clippy.toml", "")],
        &[typecheck, lint, test],
    );
    check(
        &[("Cargo.toml", "[workspace.lints.clippy]\n")],
        &[typecheck, lint, test],
    );
    check(&[("Cargo.toml", "not toml [")], &[typecheck, test]);
}

#[test]
fn node_scripts_are_run_by_the_manager_of_the_lock_file() {
    let scripts = r#"{"scripts": {"typecheck": "tsc", "lint": "eslint .", "test": "vitest", "build": "vite build", "dev": "vite"}}"#;
    for (lock, manager) in [
        ("package-lock.json", "npm"),
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
    ] {
        let runs: Vec<String> = ["typecheck", "lint", "test", "build"]
            .iter()
            .map(|name| format!("CI=1 {manager} run {name}"))
            .collect();
        let expected: Vec<(&str, &str)> = ["typecheck", "lint", "test", "build"]
            .into_iter()
            .zip(runs.iter().map(String::as_str))
            .collect();
        check(&[("package.json", scripts), (lock, "")], &expected);
    }
    let named = r#"{"packageManager": "pnpm@9.1.0", "scripts": {"lint": "x"}}"#;
    check(
        &[("package.json", named)],
        &[("lint", "CI=1 pnpm run lint")],
    );
    let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    check(&[("package.json", placeholder)], &[]);
    let typescript = r#"{"devDependencies": {"typescript": "5"}}"#;
    check(
        &[("package.json", typescript), ("tsconfig.json", "{}")],
        &[("typecheck", "npx --no-install tsc --noEmit")],
    );
    check(&[("package.json", "{")], &[]);
}

#[test]
fn python_tools_are_run_as_the_project_runs_them() {
    let tools = "[project]\nname = \"x\"\n[tool.mypy]\n[tool.ruff]\n[tool.pytest.ini_options]\n";
    let expected = |prefix: &str| {
        [
            ("typecheck", format!("{prefix} mypy .")),
            (
                "lint",
                format!("{prefix} ruff check --output-format=concise ."),
            ),
            ("test", format!("{prefix} pytest -q -rfE")),
        ]
    };
    for (lock, prefix) in [
        ("uv.lock", "uv run --no-sync --offline"),
        ("poetry.lock", "poetry run"),
        (".venv/bin/python", ".venv/bin/python -m"),
        ("README.md", "python3 -m"),
    ] {
        let expected = expected(prefix);
        let expected: Vec<(&str, &str)> = expected
            .iter()
            .map(|(name, run)| (*name, run.as_str()))
            .collect();
        check(&[("pyproject.toml", tools), (lock, "")], &expected);
    }
    check(
        &[("setup.py", ""), ("tests/test_a.py", "")],
        &[("test", "python3 -m unittest discover tests")],
    );
}

#[test]
fn go_modules_are_vetted_built_and_tested() {
    check(
        &[("go.mod", "module x\n")],
        &[
            ("typecheck", "go vet ./..."),
            ("build", "go build ./..."),
            ("test", "go test ./..."),
        ],
    );
}

#[test]
fn without_a_manifest_at_the_root_those_above_the_plans_files_count() {
    let files = [
        ("web/package.json", r#"{"scripts": {"test": "x"}}"#),
        ("api/go.mod", ""),
        ("a.txt", ""),
    ];
    check(&files, &[]);
    check_in(
        &files,
        &["web/src/a.ts", "a.txt"],
        &[("test in web", "CI=1 npm run test")],
    );
}
