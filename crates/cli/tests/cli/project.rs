//! A project in a temporary folder, and `check`: one command line and everything it must do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder of its own for one test.
pub(crate) struct CliProject {
    folder: TempDir,
    /// Variables that every command gets.
    variables: Vec<(&'static str, String)>,
    /// The user's settings and decisions, instead of those of the user who runs the tests.
    user: TempDir,
}

/// The variable that names another binary, for a user who may not run the one that was built.
pub(crate) const PROGRAM: &str = "DRAWLOOM_TEST_PROGRAM";

/// The variables that keys are looked up in.
pub(crate) const KEY_VARIABLES: [&str; 5] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
];

/// What a stream must carry.
#[derive(Clone, Copy)]
pub(crate) enum ExpectedText<'a> {
    Nothing,
    Exactly(&'a str),
    /// These pieces, in this order.
    Has(&'a [&'a str]),
    /// None of these.
    Lacks(&'a [&'a str]),
    Anything,
}

use ExpectedText::{Anything, Exactly, Has, Lacks, Nothing};

/// How one command line must end.
pub(crate) struct ExpectedRun<'a> {
    pub(crate) exit: i32,
    pub(crate) out: ExpectedText<'a>,
    pub(crate) err: ExpectedText<'a>,
}

/// What a command did.
pub(crate) struct ProgramOutput {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CliProject {
    pub(crate) fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
            user: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::empty();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    /// The project with a variable that every command gets.
    #[allow(dead_code, reason = "only suites with calls to loopback need it")]
    pub(crate) fn with_variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        let read = std::fs::read_to_string(self.path().join(path));
        read.unwrap_or_else(|cause| panic!("{path}: {cause}"))
    }

    /// Every file with its bytes.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut tree = BTreeMap::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        let bytes = std::fs::read(&path).unwrap();
                        tree.insert(path.strip_prefix(self.path()).unwrap().to_owned(), bytes);
                    }
                }
            }
        }
        tree
    }

    /// The binary with this command line, quoted as for a shell, in this folder.
    pub(crate) fn command(&self, line: &str) -> Command {
        let program = std::env::var_os(PROGRAM).map(PathBuf::from);
        let built = || assert_cmd::cargo::cargo_bin!("drawloom").to_owned();
        let mut command = Command::new(program.unwrap_or_else(built));
        command
            .args(shlex::split(line).unwrap())
            .current_dir(self.path());
        command
            .stdin(Stdio::null())
            .env_remove("NO_COLOR")
            .env("XDG_CONFIG_HOME", self.user.path())
            .env("XDG_STATE_HOME", self.user.path())
            // A scratch project is the user's own; what strangers' projects may do is tested in `attacks`.
            .env("DRAWLOOM_TRUST_PROJECTS", self.path())
            .env("LC_ALL", "C");
        // The user who runs the tests may have keys; no test may spend on them.
        for name in KEY_VARIABLES {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, line: &str) -> ProgramOutput {
        ProgramOutput::from(self.command(line).output().unwrap())
    }
}

impl From<Output> for ProgramOutput {
    fn from(output: Output) -> Self {
        Self {
            exit: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs one command line and checks everything about it.
#[track_caller]
pub(crate) fn check(project: &CliProject, line: &str, expect: ExpectedRun<'_>) -> ProgramOutput {
    let ran = project.run(line);
    let context = format!(
        "drawloom {line}\n--- stdout\n{}\n--- stderr\n{}",
        ran.out, ran.err
    );
    assert_eq!(ran.exit, expect.exit, "exit code of {context}");
    check_stream("stdout", &ran.out, expect.out, &context);
    check_stream("stderr", &ran.err, expect.err, &context);
    ran
}

#[track_caller]
fn check_stream(name: &str, text: &str, says: ExpectedText<'_>, context: &str) {
    match says {
        Nothing => assert!(text.is_empty(), "{name} must be empty: {context}"),
        Exactly(expected) => assert_eq!(text, expected, "{name} of {context}"),
        Has(pieces) => {
            let mut rest = text;
            for piece in pieces {
                let at = rest.find(piece);
                let at = at.unwrap_or_else(|| panic!("{name} lacks {piece:?}: {context}"));
                rest = &rest[at + piece.len()..];
            }
        }
        Lacks(pieces) => {
            for piece in pieces {
                assert!(
                    !text.contains(piece),
                    "{name} must not say {piece:?}: {context}"
                );
            }
        }
        Anything => {}
    }
}
