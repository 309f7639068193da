//! Real projects with their real toolchains, in the sandbox, inside and outside `/tmp`: from a sentence to
//! a green build, and a type that is broken never ends as complete.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::installed::{GO, NODE, PYTHON, cargo, kept, lend, open_copy, sh};
use crate::model::{FakeProvider, ModelScript, ScriptedFormat, ScriptedLine};
use crate::project::ProgramOutput;
use crate::task_fixture::result;
use crate::user::{RunAs, UserPlace, is_root};

/// Words in the prompt of the planner, and of the builder.
const PLANNING: &str = "You plan one piece of work";
const BUILDING: &str = "carries out one approved plan";

const PROMPT: &str = "let the total be rounded to whole cents";

/// A project of one language, and three versions of its one file.
struct BuildLanguage {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// The file that is changed, as it is, with a broken type, and done.
    file: &'static str,
    start: &'static str,
    broken: &'static str,
    done: &'static str,
    /// Settings beyond those of the model.
    settings: &'static str,
    /// Installs what the checkout has beside its files. Returns what goes before `PATH`.
    install: fn(&UserPlace, &Path) -> Vec<PathBuf>,
}

const TYPESCRIPT: BuildLanguage = BuildLanguage {
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
    settings: "",
    install: |_, project| {
        lend(&kept(NODE), "node_modules", project);
        Vec::new()
    },
};

const RUST: BuildLanguage = BuildLanguage {
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
    settings: "",
    install: |place, _| vec![cargo(place.user == RunAs::Ordinary, place.path())],
};

const PYTHON_PROJECT: BuildLanguage = BuildLanguage {
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
    // It is not activated: the project's own environment is used.
    settings: "",
    install: |_, project| {
        lend(&kept(PYTHON), ".venv", project);
        Vec::new()
    },
};

const GO_PROJECT: BuildLanguage = BuildLanguage {
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
    // A cache in which the standard library is built; the matrix has the one that is the default.
    settings: "[agent.sandbox]\nenv = [\"GOCACHE\"]\nwritable = [\"~/go-cache\"]\n",
    install: |place, _| {
        let go = open_copy(GO, place.path());
        let home = place.folder("home");
        sh(&home, &format!("cp -a '{}/cache' go-cache", go.display()));
        place.give(&home);
        vec![go.join("go/bin")]
    },
};

/// A model that plans to change this file, and then makes these calls, one after the other.
pub(crate) fn model_of(file: &str, calls: Vec<(&'static str, Value)>) -> FakeProvider {
    let plan = json!({
        "summary": "The file is changed.", "taskType": "refactor",
        "files": [{"path": file, "action": "modify", "description": "Changes it."}],
        "contextFiles": [],
    });
    let plan: &'static str = plan.to_string().leak();
    let building = calls
        .into_iter()
        .flat_map(|call| [ScriptedLine::Calls(vec![call]), ScriptedLine::Text("Done.")]);
    let script: ModelScript = vec![
        (PLANNING, vec![ScriptedLine::Text(plan)]),
        (BUILDING, building.collect()),
    ];
    FakeProvider::start(ScriptedFormat::OpenAi, script)
}

/// The settings with which a project is built by this model.
pub(crate) fn settings_of(model: &FakeProvider, more: &str) -> String {
    format!(
        "[ai]\nmode = \"api\"\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = {:?}\napi_key = \"k\"\n\n{more}",
        model.url
    )
}

/// Builds in this project, and returns the exit code and the result.
pub(crate) fn build(place: &UserPlace, project: &Path, search_path: &[PathBuf]) -> (i32, Value) {
    place.give(project);
    let mut command = place.command(&place.binary, search_path);
    command
        .current_dir(project)
        .env("GOCACHE", place.path().join("home/go-cache"))
        .args(["build", PROMPT, "--yes", "--no-pr", "--json", "--trust"]);
    let ran = ProgramOutput::from(command.output().unwrap());
    (ran.exit, result(&ran))
}

/// Builds in a checkout below this folder with a model that writes these versions of the file.
fn built(
    language: &BuildLanguage,
    (folder, user): (&Path, RunAs),
    versions: &[&str],
) -> (i32, Value) {
    let writes = |text: &&str| {
        (
            "write_file",
            json!({"path": language.file, "content": text}),
        )
    };
    let model = model_of(language.file, versions.iter().map(writes).collect());
    let place = UserPlace::new(folder, user);
    let project = place.path().join("a project");
    let own = [(language.file, language.start)];
    let files = language.files.iter().chain(&own);
    for (path, text) in files {
        let path = project.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let settings = settings_of(&model, language.settings);
    std::fs::write(project.join("drawloom.toml"), settings).unwrap();
    sh(
        &project,
        "git init --quiet -b main && git config user.name 'A User' && \
         git config user.email user@example.org && git add --all && git commit --quiet -m first",
    );
    let search_path = (language.install)(&place, &project);
    build(&place, &project, &search_path)
}

#[track_caller]
fn check(language: &BuildLanguage, folder: &Path, user: RunAs) {
    if user == RunAs::Ordinary && !is_root() {
        return;
    }
    let name = language.name;
    // The first attempt breaks a type, and the check says so.
    let versions = [language.broken, language.done];
    let (exit, result) = built(language, (folder, user), &versions);
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
    let versions = [language.broken, language.broken];
    let (exit, result) = built(language, (folder, user), &versions);
    assert_eq!(result["status"], "completed_draft", "{name}: {result:#}");
    assert_eq!(
        (exit, &result["result"]["judgement"]),
        (1, &json!("failed"))
    );
}

pub(crate) fn inside() -> PathBuf {
    std::env::temp_dir()
}

pub(crate) fn outside() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn a_typescript_project_goes_from_a_sentence_to_green() {
    check(&TYPESCRIPT, &outside(), RunAs::Same);
}

#[test]
fn a_typescript_project_below_tmp_goes_from_a_sentence_to_green() {
    check(&TYPESCRIPT, &inside(), RunAs::Same);
}

#[test]
fn a_typescript_project_of_an_ordinary_user_goes_from_a_sentence_to_green() {
    check(&TYPESCRIPT, &inside(), RunAs::Ordinary);
}

#[test]
fn a_rust_project_goes_from_a_sentence_to_green() {
    check(&RUST, &outside(), RunAs::Same);
}

#[test]
fn a_rust_project_below_tmp_goes_from_a_sentence_to_green() {
    check(&RUST, &inside(), RunAs::Same);
}

#[test]
fn a_rust_project_of_an_ordinary_user_goes_from_a_sentence_to_green() {
    check(&RUST, &inside(), RunAs::Ordinary);
}

#[test]
fn a_python_project_goes_from_a_sentence_to_green() {
    check(&PYTHON_PROJECT, &outside(), RunAs::Same);
}

#[test]
fn a_python_project_below_tmp_goes_from_a_sentence_to_green() {
    check(&PYTHON_PROJECT, &inside(), RunAs::Same);
}

#[test]
fn a_python_project_of_an_ordinary_user_goes_from_a_sentence_to_green() {
    check(&PYTHON_PROJECT, &inside(), RunAs::Ordinary);
}

/// It lends nothing from the checkout, so where that is makes no difference.
#[test]
fn a_go_project_goes_from_a_sentence_to_green() {
    check(&GO_PROJECT, &outside(), RunAs::Same);
}

#[test]
fn a_go_project_of_an_ordinary_user_goes_from_a_sentence_to_green() {
    check(&GO_PROJECT, &inside(), RunAs::Ordinary);
}
