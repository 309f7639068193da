//! `drawloom builds diff`: what a build changed.

use app::builds;
use builder::{BuildJob, FileDiff};
use clap::Args;
use serde_json::json;

use crate::build_run::BuildIdArgs;
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;
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
pub(crate) struct BuildsDiffArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    #[command(flatten)]
    which: BuildIdArgs,
    /// Only these files, or those in these folders
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Print the differences as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl BuildsDiffArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let id = self.which.find(session, &project)?;
        let job = session
            .wait(builds::show(&project, &session.surroundings, &id))?
            .job;
        let wanted: Vec<&FileDiff> = self.wanted(&job).collect();
        if wanted.is_empty() {
            return self.nothing(&job);
        }
        if self.json {
            output::json(&json!({ "id": id, "diffs": wanted }))?;
            return Ok(CliExit::Done);
        }
        for one in wanted {
            output::styled(&diff::colored(&one.diff))?;
        }
        Ok(CliExit::Done)
    }

    fn wanted<'j>(&'j self, job: &'j BuildJob) -> impl Iterator<Item = &'j FileDiff> {
        job.result.diffs.iter().filter(|one| {
            let path = one.path.as_str();
            let is_below = |wanted: &String| {
                let rest = path.strip_prefix(wanted.trim_end_matches('/'));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            self.paths.is_empty() || self.paths.iter().any(is_below)
        })
    }

    /// Shows the patch of a build that did not reach its review, or reports that nothing changed.
    fn nothing(&self, job: &BuildJob) -> Result<CliExit, CliError> {
        let id = &job.id;
        if !self.paths.is_empty() && !job.result.diffs.is_empty() {
            let paths = self.paths.join(", ");
            let message = format!("the build {id} changed nothing in {paths}");
            return Err(CliError::failed("E_NOT_FOUND", message).hint(format!(
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
        Ok(CliExit::Done)
    }
}
