//! The programs of tests that are soaked: built once, run by themselves.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

/// The prefixes of the variables that cargo sets for the program it runs.
const OUTER: [&str; 3] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];

/// The copies.
const TESTS: &str = "tests";
const TESTED: &str = "drawloom";

/// Limits the lines shown of a failed test's output.
const LINES_MAX: usize = 60;

/// One test, and how a seed is given to it.
#[derive(Clone, Copy)]
pub(super) struct Test {
    pub(super) package: &'static str,
    pub(super) program: &'static str,
    pub(super) name: &'static str,
    /// The variable of the seed.
    pub(super) seed: &'static str,
    /// The test to run for one seed.
    pub(super) again: &'static str,
}

/// A program of tests, and what it tests: copies, because the tree may be built anew meanwhile.
pub(super) struct Program {
    test: Test,
    folder: TempDir,
}

/// The outcome of a test.
pub(super) struct Tried {
    pub(super) has_passed: bool,
    pub(super) said: String,
}

impl Program {
    pub(super) fn build(test: Test) -> Result<Program> {
        let mut cargo = Command::new(env!("CARGO"));
        // The outer cargo's variables about this package would make the inner one rebuild others.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if OUTER.iter().any(|begin| name.starts_with(begin)) {
                cargo.env_remove(&*name);
            }
        }
        let built = cargo
            .args(["test", "--no-run", "--locked", "--message-format", "json"])
            .args(["--package", test.package, "--test", test.program])
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run cargo")?;
        ensure!(
            built.status.success(),
            "the tests of {} do not compile",
            test.package
        );
        let lines = String::from_utf8_lossy(&built.stdout);
        let folder = tempfile::tempdir()?;
        let path = lines.lines().find_map(|line| executable(line, "test"));
        let path = path.with_context(|| format!("cargo built no `{}`", test.program))?;
        std::fs::copy(path, folder.path().join(TESTS))?;
        if let Some(path) = lines.lines().find_map(|line| executable(line, "bin")) {
            std::fs::copy(path, folder.path().join(TESTED))?;
        }
        Ok(Program { test, folder })
    }

    /// Runs the test with this seed and one more variable.
    pub(super) fn run(&self, seed: u64, (name, value): (&str, u64)) -> Result<Tried> {
        let ended = Command::new(self.folder.path().join(TESTS))
            .args([
                "--exact",
                self.test.name,
                "--include-ignored",
                "--nocapture",
            ])
            .env(self.test.seed, seed.to_string())
            .env(name, value.to_string())
            .env("DRAWLOOM_SOAK_PROGRAM", self.folder.path().join(TESTED))
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run the tests of {}", self.test.package))?;
        let mut said = String::from_utf8_lossy(&ended.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&ended.stderr));
        // A test that is not there any more passes, and says so.
        ensure!(
            said.contains("running 1 test"),
            "there is no test {} in {}",
            self.test.name,
            self.test.program
        );
        Ok(Tried {
            has_passed: ended.status.success(),
            said,
        })
    }

    /// Returns the last output of a failed test, and the command that repeats it.
    pub(super) fn failure(&self, first: u64, said: &str) -> String {
        let lines: Vec<&str> = said.lines().collect();
        let shown = lines.split_at(lines.len().saturating_sub(LINES_MAX)).1;
        let Test {
            package,
            program,
            seed,
            again,
            ..
        } = self.test;
        let failed = failed_seed(said).unwrap_or(first);
        format!(
            "FAILED: {program}\n{}\nto see it again: {seed}={failed} cargo nextest run -p {package} \
             --test {program} {again}",
            shown.join("\n")
        )
    }
}

/// The seed that a failed test was at: simulations say it when they fail, storms when they begin.
fn failed_seed(said: &str) -> Option<u64> {
    let number = |text: &str| -> Option<u64> {
        let digits = text.split(|sign: char| !sign.is_ascii_digit());
        digits.into_iter().next()?.parse().ok()
    };
    let told = said.split("FLOW_SEED=").nth(1).and_then(number);
    told.or_else(|| {
        let mut storms = said.lines().filter_map(|line| line.strip_prefix("storm "));
        number(storms.next_back()?)
    })
}

/// The file that cargo says it has built of this kind.
fn executable(line: &str, kind: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_it = message["target"]["kind"][0] == kind;
    let path = message["executable"].as_str().filter(|_| is_it)?;
    Some(PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::failed_seed;

    #[test]
    fn the_seed_that_failed_is_found_in_what_was_said() {
        for (said, seed) in [
            ("storm 7\nsoak runs=1\nstorm 8\nthread panicked", Some(8)),
            (
                "panicked at x\nFLOW_SEED=1234: the run is stuck",
                Some(1_234),
            ),
            ("running 1 test", None),
        ] {
            assert_eq!(failed_seed(said), seed, "{said}");
        }
    }
}
