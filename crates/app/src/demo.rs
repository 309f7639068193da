//! The main job from beginning to end, in a folder of its own, for `drawloom demo`.
//!
//! The program runs itself, so that the demo shows exactly what a user would see. Only the answers
//! are canned: a file in place of the answers of a person or a model.

use std::path::{Path, PathBuf};

use exec::{ChildEnvironment, Invocation};
use workspace::{ChangeSet, RelPath, Root};

use crate::{AppErrorCode, Error};

pub const ANSWERS_FILE: &str = "answers.json";
/// The file that the demo's recipe writes.
pub const RESULT_FILE: &str = "src/customer-card.ts";

const FILES: [(&str, &str); 5] = [
    (
        ".drawloom/recipes/card/recipe.yml",
        include_str!("demo/recipe.yml"),
    ),
    (
        ".drawloom/recipes/card/card.ts.jig",
        include_str!("demo/card.ts.jig"),
    ),
    (
        ".drawloom/recipes/card/index.ts.jig",
        include_str!("demo/index.ts.jig"),
    ),
    ("src/index.ts", include_str!("demo/index.ts")),
    (ANSWERS_FILE, include_str!("demo/answers.json")),
];

/// A folder with everything the demo needs.
#[derive(Debug)]
pub struct DemoFolder {
    pub folder: PathBuf,
    program: PathBuf,
}

/// One command of the demo and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoCommand {
    pub line: String,
    pub out: String,
    pub err: String,
    pub exit: Option<i32>,
}

impl DemoFolder {
    /// Writes the project into a temporary folder, which stays so that the user can look at it.
    pub fn prepare() -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(|cause| {
            Error::new(
                AppErrorCode::Command,
                format!("cannot tell where this program is: {cause}"),
            )
        })?;
        let folder = workspace::fs::scratch_dir()?.keep();
        let mut changes = ChangeSet::new();
        for (path, text) in FILES {
            changes.write(RelPath::parse(path)?, text);
        }
        Root::open(&folder)?.apply(&changes)?;
        Ok(Self { folder, program })
    }

    /// Runs `drawloom` with these words in the demo's folder.
    pub fn run(&self, words: &[&str]) -> Result<DemoCommand, Error> {
        let env = ChildEnvironment::default()
            .remove("DRAWLOOM_RUN_ON_CONFLICT")
            .remove("DRAWLOOM_AI_MODE")
            .remove("DRAWLOOM_AI_PROVIDER")
            .remove("DRAWLOOM_AI_MODEL")
            .remove("DRAWLOOM_AI_MODELS_ANSWER")
            .remove("DRAWLOOM_AI_COMMAND");
        let invocation = Invocation::new(&self.program).args(words.iter().copied());
        let outcome = exec::run(&invocation.cwd(&self.folder).env(env))?;
        Ok(DemoCommand {
            line: format!("drawloom {}", words.join(" ")),
            out: outcome.stdout_text().into_owned(),
            err: outcome.stderr_text().into_owned(),
            exit: outcome.status.code(),
        })
    }

    pub fn read(&self, path: &str) -> Result<String, Error> {
        let text = workspace::fs::read_text(&self.folder.join(Path::new(path)))?;
        text.ok_or_else(|| Error::new(AppErrorCode::File, format!("{path} was not written")))
    }
}
