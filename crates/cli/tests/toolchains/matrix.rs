//! Every toolchain in every kind of sandbox, as the criteria of a task: they run, and what they write
//! is there.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::installed::{GO, NODE, PYTHON, cargo, kept, lend, open_copy, sh};
use crate::project::ProgramOutput;
use crate::task_fixture::result;
use crate::user::{RunAs, UserPlace, is_root};

/// A project with its toolchain, the commands that people run in it, and what they leave behind.
pub(crate) struct ToolchainCase {
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) commands: &'static [&'static str],
    /// Each is there after the commands, and not before.
    pub(crate) written: &'static [&'static str],
    /// Installs what the checkout has beside its files. Returns what goes before `PATH`.
    pub(crate) install: fn(&UserPlace, &Path) -> Vec<PathBuf>,
}

const RUST: ToolchainCase = ToolchainCase {
    files: &[
        (
            "Cargo.toml",
            "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
        ),
        (
            "Cargo.lock",
            "version = 4\n\n[[package]]\nname = \"tiny\"\nversion = \"0.1.0\"\n",
        ),
        (
            "src/lib.rs",
            "pub fn two() -> u32 {\n    2\n}\n\n#[test]\nfn is_two() {\n    assert_eq!(two(), 2);\n}\n",
        ),
        (".gitignore", "/target\n"),
    ],
    commands: &["cargo test --lib"],
    written: &["target/debug"],
    install: |place, _| vec![cargo(place.user == RunAs::Ordinary, place.path())],
};

const NODE_TOOLS: ToolchainCase = ToolchainCase {
    files: &[
        (
            "package.json",
            r#"{"name": "tiny", "private": true, "type": "module", "scripts": {"build": "tsc --outDir dist", "test": "node --test tests/"}, "devDependencies": {"typescript": "5"}}"#,
        ),
        (
            "tsconfig.json",
            r#"{"compilerOptions": {"target": "es2022", "module": "nodenext", "strict": true, "rootDir": "src", "types": ["node"]}, "include": ["src"]}"#,
        ),
        (
            "eslint.config.js",
            "export default [{ rules: { 'no-unused-vars': 'error' } }];\n",
        ),
        (
            "src/two.ts",
            "export function two(): number {\n  return 2;\n}\n",
        ),
        (
            "tests/two.test.js",
            "import test from 'node:test';\nimport assert from 'node:assert';\ntest('two', () => assert.equal(1 + 1, 2));\n",
        ),
        (
            "spec/two.spec.ts",
            "import { expect, test } from 'vitest';\nimport { two } from '../src/two.js';\ntest('two', () => expect(two()).toBe(2));\n",
        ),
        (
            "vitest.config.ts",
            "import { defineConfig } from 'vitest/config';\nexport default defineConfig({ test: { include: ['spec/**'] } });\n",
        ),
        (".gitignore", "node_modules/\ndist/\n"),
    ],
    commands: &[
        "npm test",
        "npm run build",
        "npx --no-install tsc --noEmit",
        "npx --no-install eslint tests",
        "npx --no-install vitest run",
    ],
    written: &["dist/two.js"],
    install: |_, project| {
        lend(&kept(NODE), "node_modules", project);
        Vec::new()
    },
};

const PYTHON_TOOLS: ToolchainCase = ToolchainCase {
    files: &[
        (
            "pyproject.toml",
            "[project]\nname = \"tiny\"\nversion = \"0.1.0\"\n\n[tool.mypy]\nstrict = true\n\n[tool.pytest.ini_options]\npythonpath = [\".\"]\n",
        ),
        ("tiny/__init__.py", ""),
        ("tiny/two.py", "def two() -> int:\n    return 2\n"),
        (
            "tests/test_two.py",
            "from tiny.two import two\n\n\ndef test_two() -> None:\n    assert two() == 2\n",
        ),
        (".gitignore", ".venv/\n__pycache__/\n.*_cache/\n"),
    ],
    // The project's environment is used although it is not activated.
    commands: &[
        "pytest -q",
        "python3 -m pytest -q",
        "ruff check tiny tests",
        "mypy tiny",
    ],
    written: &[
        ".pytest_cache/v/cache/nodeids",
        ".ruff_cache/CACHEDIR.TAG",
        ".mypy_cache/CACHEDIR.TAG",
    ],
    install: |_, project| {
        lend(&kept(PYTHON), ".venv", project);
        Vec::new()
    },
};

const GO_TOOLS: ToolchainCase = ToolchainCase {
    files: &[
        ("go.mod", "module example.org/tiny\n\ngo 1.21\n"),
        (
            "two.go",
            "package tiny\n\nfunc Two() int {\n\treturn 2\n}\n",
        ),
        (
            "two_test.go",
            "package tiny\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
        ),
        (".gitignore", ""),
    ],
    commands: &["go test ./...", "go vet ./..."],
    written: &[],
    install: |place, project| {
        let go = open_copy(GO, place.path());
        // The cache of this project, as a command before would have filled it.
        let caches = place.folder("home/.cache/drawloom/tools");
        let line = format!(
            "d=$(printf %s '{}' | sha256sum | cut -c1-16) && mkdir \"$d\" && cp -a '{}/cache' \"$d/go-build\"",
            project.display(),
            go.display()
        );
        sh(&caches, &line);
        place.give(&place.path().join("home"));
        vec![go.join("go/bin")]
    },
};

const KINDS: [&str; 3] = ["namespaces", "bubblewrap", "landlock"];

/// Fails if a command can write outside the project or in its `.git`.
const CLOSED: &str = "if echo stray > ../stray; then exit 1; fi; \
                      if echo stray > .git/stray; then exit 1; fi; exit 0";

/// Runs the commands as the criteria of a task, in each kind of sandbox.
#[track_caller]
pub(crate) fn check(toolchain: &ToolchainCase, user: RunAs) {
    if user == RunAs::Ordinary && !is_root() {
        return;
    }
    let place = UserPlace::new(Path::new(env!("CARGO_TARGET_TMPDIR")), user);
    let project = place.path().join("a project");
    for (path, text) in toolchain.files {
        let path = project.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    sh(&project, "git init --quiet -b main && git add --all");
    let search_path = (toolchain.install)(&place, &project);
    let commands = toolchain.commands.iter().chain([&CLOSED]);
    let criteria: Vec<Value> = commands.map(|run| json!({ "run": run })).collect();
    let task = json!({
        "subtask_id": "tools", "name": "Tools", "type": "validation",
        "description": "The tools of the project run.", "validation_criteria": criteria,
    });
    std::fs::write(project.join("task.json"), task.to_string()).unwrap();
    for kind in KINDS {
        let settings = format!("[agent.sandbox]\nkind = \"{kind}\"\n");
        std::fs::write(project.join("drawloom.toml"), settings).unwrap();
        let outputs = toolchain.written.iter();
        for output in outputs.clone() {
            let top = output.split('/').next().unwrap();
            sh(&project, &format!("rm -rf './{top}'"));
        }
        place.give(&project);
        let mut command = place.command(&place.binary, &search_path);
        command
            .current_dir(&project)
            .args(["task", "run", "task.json", "--json", "--trust"]);
        let ran = ProgramOutput::from(command.output().unwrap());
        let said = || format!("{kind} for {user:?}\n{}\n{}", ran.out, ran.err);
        assert_eq!(ran.exit, 0, "{}", said());
        let details = &result(&ran)["validation_details"];
        let runs = details["commands_executed"].as_array().unwrap();
        assert_eq!(runs.len(), toolchain.commands.len() + 1, "{}", said());
        for output in outputs {
            assert!(project.join(output).exists(), "{output}: {}", said());
        }
        assert!(!place.path().join("stray").exists(), "{}", said());
        assert!(!project.join(".git/stray").exists(), "{}", said());
    }
}

#[test]
fn cargo_works_in_every_sandbox() {
    check(&RUST, RunAs::Same);
}

#[test]
fn cargo_works_in_every_sandbox_for_an_ordinary_user() {
    check(&RUST, RunAs::Ordinary);
}

#[test]
fn npm_tsc_eslint_and_vitest_work_in_every_sandbox() {
    check(&NODE_TOOLS, RunAs::Same);
}

#[test]
fn npm_tsc_eslint_and_vitest_work_in_every_sandbox_for_an_ordinary_user() {
    check(&NODE_TOOLS, RunAs::Ordinary);
}

#[test]
fn pytest_ruff_and_mypy_of_the_project_work_in_every_sandbox() {
    check(&PYTHON_TOOLS, RunAs::Same);
}

#[test]
fn pytest_ruff_and_mypy_of_the_project_work_in_every_sandbox_for_an_ordinary_user() {
    check(&PYTHON_TOOLS, RunAs::Ordinary);
}

#[test]
fn go_works_in_every_sandbox() {
    check(&GO_TOOLS, RunAs::Same);
}

#[test]
fn go_works_in_every_sandbox_for_an_ordinary_user() {
    check(&GO_TOOLS, RunAs::Ordinary);
}
