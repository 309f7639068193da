//! `drawloom builds diff`: what a build changed.

use app::builds;
use builder::{FileDiff, Job};
use clap::Args;
use serde_json::json;

use crate::building::Which;
use crate::exit::{Exit, Trouble};
use crate::session::Session;
use crate::{diff, output};

/// Show what a build changed, word by word
///
/// Without colours it is a patch: `drawloom builds diff last | git apply`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds diff last
  drawloom builds diff last src/login.ts
  drawloom builds diff last | git apply
  drawloom builds diff last --json")]
pub(crate) struct Diff {
    #[command(flatten)]
    which: Which,
    /// Only these files, or those in these folders
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Print the differences as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Diff {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let id = self.which.find(&project)?;
        let job = builds::show(&project, &id)?.job;
        let wanted: Vec<&FileDiff> = self.wanted(&job).collect();
        if wanted.is_empty() {
            return self.nothing(&job);
        }
        if self.json {
            output::json(&json!({ "id": id, "diffs": wanted }))?;
            return Ok(Exit::Done);
        }
        for one in wanted {
            output::styled(&diff::colored(&one.diff))?;
        }
        Ok(Exit::Done)
    }

    fn wanted<'j>(&'j self, job: &'j Job) -> impl Iterator<Item = &'j FileDiff> {
        job.result.diffs.iter().filter(|one| {
            let path = one.path.as_str();
            let is_below = |wanted: &String| {
                let rest = path.strip_prefix(wanted.trim_end_matches('/'));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            self.paths.is_empty() || self.paths.iter().any(is_below)
        })
    }

    /// A build that did not come to its review may have a patch all the same.
    fn nothing(&self, job: &Job) -> Result<Exit, Trouble> {
        let id = &job.id;
        if !self.paths.is_empty() && !job.result.diffs.is_empty() {
            let paths = self.paths.join(", ");
            let message = format!("the build {id} changed nothing in {paths}");
            return Err(Trouble::failed("E_NOT_FOUND", message).hint(format!(
                "`drawloom builds show {id}` lists the files it changed"
            )));
        }
        let file = job.result.patch_file.as_deref();
        let patch = file.and_then(|file| workspace::fs::read_text(file.as_ref()).ok().flatten());
        match patch {
            Some(patch) if self.json => {
                output::json(&json!({ "id": id, "diffs": [], "patch": patch }))?;
            }
            Some(patch) => output::styled(&diff::colored(&patch))?,
            None if self.json => output::json(&json!({ "id": id, "diffs": [] }))?,
            None => output::say(format!("the build {id} has changed nothing")),
        }
        Ok(Exit::Done)
    }
}
