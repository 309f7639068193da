//! Everyday programs work in a sandbox.

use std::time::Duration;

use exec::sandbox::Sandbox;
use exec::{ChildEnvironment, CommandOutcome, run, shell};

use crate::test_sandbox::{TestSandbox, kinds};

fn run_as_agent(sandbox: &Sandbox, script: &str) -> CommandOutcome {
    let no_names: [&str; 0] = [];
    run(&shell(script)
        .env(ChildEnvironment::agent(no_names).remove("CARGO_TARGET_DIR"))
        .timeout(Duration::from_secs(120))
        .sandbox(sandbox.clone()))
    .unwrap()
}

#[track_caller]
fn check(prepare: &str, script: &str, expected: &str) {
    for kind in kinds() {
        let field = TestSandbox::new();
        std::fs::remove_dir_all(field.workspace.join(".git")).unwrap();
        let prepared = run(&shell(prepare).cwd(&field.workspace)).unwrap();
        assert!(prepared.is_success(), "{prepare}: {prepared:?}");
        let sandbox = field.sandbox(kind).writable("target");
        let outcome = run_as_agent(&sandbox, script);
        assert!(outcome.is_success(), "{kind}: {outcome:?}");
        assert_eq!(outcome.stdout_text(), expected, "{kind}: {outcome:?}");
    }
}

#[test]
fn git_shows_the_repository() {
    check(
        "git init -q . && git add notes && echo more >> notes",
        "git status --short && git diff | tail -n 1 && git log 2>/dev/null || true",
        "AM notes\n?? target/\n+more\n"
            .replace("?? target/\n", "")
            .as_str(),
    );
}

#[test]
fn cargo_builds_and_runs() {
    let manifest =
        "[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    check(
        &format!(
            "git init -q . && printf '{}' > Cargo.toml && \
             echo 'fn main() {{ println!(\"built\"); }}' > src/main.rs && cargo generate-lockfile -q --offline",
            manifest.replace('\n', "\\n")
        ),
        "cargo run -q --offline",
        "built\n",
    );
}

#[test]
fn python_runs() {
    check(
        "git init -q .",
        "python3 -c 'import subprocess, tempfile, threading, json; \
         t = threading.Thread(target=print, args=(1,)); t.start(); t.join(); \
         tempfile.TemporaryFile().write(b\"x\"); \
         print(subprocess.run([\"echo\", \"2\"], capture_output=True, text=True).stdout.strip())'",
        "1\n2\n",
    );
}

#[test]
fn node_runs() {
    check(
        "git init -q .",
        "node -e 'const c = require(\"child_process\"); const fs = require(\"fs\"); \
         fs.writeFileSync(\"src/made\", \"1\"); console.log(fs.readFileSync(\"src/made\", \"utf8\")); \
         console.log(c.execSync(\"echo 2\").toString().trim()); \
         fs.promises.readFile(\"notes\", \"utf8\").then(t => console.log(t.trim()))'",
        "1\n2\nnotes\n",
    );
}
