//! `drawloom workflow list`, `versions`, `diff`, `restore`, `push` and `pull`: named workflows and their
//! versions.

use app::TextMove;
use clap::Args;
use serde_json::{Value, json};
use workspace::diff::ContentDiff;

use super::DatabaseArgs;
use crate::command::runs::when;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::use_cases::TerminalUseCases;
use crate::{diff, table};

/// List all workflows: those with a file, and those in the database
#[derive(Args, Debug)]
pub(crate) struct ListWorkflows {
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// List the versions of a workflow in the database, the newest first
#[derive(Args, Debug)]
pub(crate) struct ListVersions {
    /// The workflow's name
    name: String,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Show the difference between two versions, or between a version and the file
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom workflow diff release        # the newest version and the file
  drawloom workflow diff release 3      # version 3 and the file
  drawloom workflow diff release 3 4")]
pub(crate) struct CompareVersions {
    /// The workflow's name
    name: String,
    /// The older version; the newest by default
    from: Option<u64>,
    /// The newer version; the file by default
    to: Option<u64>,
    #[command(flatten)]
    keeping: DatabaseArgs,
}

/// Make an older version the newest one, in the database and in the file
#[derive(Args, Debug)]
pub(crate) struct RestoreVersion {
    /// The workflow's name
    name: String,
    /// The number of the version
    number: u64,
    #[command(flatten)]
    keeping: DatabaseArgs,
}

/// Keep the files of workflows as new versions in the database
#[derive(Args, Debug)]
#[command(visible_alias = "save")]
pub(crate) struct PushWorkflows {
    /// The workflows' names; all files by default
    names: Vec<String>,
    /// A line that says why
    #[arg(short, long, value_name = "TEXT", default_value = "")]
    message: String,
    #[command(flatten)]
    keeping: DatabaseArgs,
}

/// Write the newest versions of workflows into their files
#[derive(Args, Debug)]
pub(crate) struct PullWorkflows {
    /// The workflows' names; all of the database by default
    names: Vec<String>,
    /// Also replace files with changes that no version has
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    keeping: DatabaseArgs,
}

impl ListWorkflows {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let listed = use_cases.wait(use_cases.named_workflows())?;
        match OutputFormat::from(self.json) {
            OutputFormat::Json => {
                let workflows = listed.iter().map(|one| {
                    let newest = one.newest.as_ref();
                    json!({
                        "name": one.name,
                        "file": one.file.as_str(),
                        "version": newest.map(|newest| newest.number),
                        "author": newest.map(|newest| newest.author.as_str()),
                        "saved_ms": newest.map(|newest| newest.created_ms),
                    })
                });
                output::json(&json!({ "workflows": workflows.collect::<Vec<Value>>() }))?;
            }
            OutputFormat::Text if listed.is_empty() => output::say(
                "There are no workflows here; save a diagram as .drawloom/workflows/NAME.mmd.",
            ),
            OutputFormat::Text => {
                let rows = listed.iter().map(|one| {
                    let newest = one.newest.as_ref();
                    let version = newest.map_or("-".to_owned(), |newest| newest.number.to_string());
                    let author = newest.map_or("-".to_owned(), |newest| newest.author.clone());
                    vec![
                        one.name.clone(),
                        version,
                        author,
                        one.file.as_str().to_owned(),
                    ]
                });
                let titles = ["name", "version", "by", "file"]
                    .map(str::to_owned)
                    .to_vec();
                let rows: Vec<Vec<String>> = [titles].into_iter().chain(rows).collect();
                output::data(table::render(&rows).as_bytes())?;
            }
        }
        Ok(CliExit::Done)
    }
}

impl ListVersions {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let listed = use_cases.wait(use_cases.workflow_versions(&self.name, None))?;
        if listed.is_empty() {
            let message = format!("the database has no workflow `{}`", self.name);
            let hint = format!("`drawloom workflow push {}` puts it there", self.name);
            return Err(CliError::failed("E_NOT_FOUND", message).hint(hint));
        }
        match OutputFormat::from(self.json) {
            OutputFormat::Json => {
                let versions = listed.iter().map(|version| {
                    json!({
                        "number": version.number,
                        "hash": version.hash.as_str(),
                        "author": version.author,
                        "created_ms": version.created_ms,
                        "message": version.message,
                    })
                });
                output::json(&json!({ "versions": versions.collect::<Vec<Value>>() }))?;
            }
            OutputFormat::Text => {
                let rows = listed.iter().map(|version| {
                    vec![
                        version.number.to_string(),
                        when(version.created_ms),
                        version.author.clone(),
                        version.message.clone(),
                    ]
                });
                let rows: Vec<Vec<String>> = rows.collect();
                output::data(table::render(&rows).as_bytes())?;
            }
        }
        Ok(CliExit::Done)
    }
}

impl CompareVersions {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let name = self.name.as_str();
        let from = match self.from {
            Some(number) => number,
            None => {
                let versions = use_cases.wait(use_cases.workflow_versions(name, None))?;
                versions.first().map_or(1, |newest| newest.number)
            }
        };
        let text = |number| use_cases.wait(use_cases.workflow_version(name, number));
        let (_, old) = text(from)?;
        let new = match self.to {
            Some(number) => text(number)?.1,
            None => use_cases.wait(use_cases.sheet(name))?.source,
        };
        let difference = ContentDiff::between(Some(old.as_bytes()), Some(new.as_bytes()));
        match difference.is_empty() {
            true => output::say("there is no difference"),
            false => output::styled(&diff::render(&difference, &format!("{name}.mmd")))?,
        }
        Ok(CliExit::Done)
    }
}

impl RestoreVersion {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let restored = use_cases.restore_workflow(&self.name, self.number);
        told(&self.name, &use_cases.wait(restored)?, "restored");
        Ok(CliExit::Done)
    }
}

impl PushWorkflows {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        for name in names(&use_cases, &self.names, |one| {
            one.file != app::FileState::Missing
        })? {
            let pushed = use_cases.wait(use_cases.push_workflow(&name, &self.message))?;
            told(&name, &pushed, "pushed");
        }
        Ok(CliExit::Done)
    }
}

impl PullWorkflows {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        for name in names(&use_cases, &self.names, |one| one.newest.is_some())? {
            let pulled = use_cases.wait(use_cases.pull_workflow(&name, self.force))?;
            told(&name, &pulled, "pulled");
        }
        Ok(CliExit::Done)
    }
}

/// The names that were given, or all that fit.
fn names(
    use_cases: &TerminalUseCases,
    given: &[String],
    fits: impl Fn(&app::NamedWorkflow) -> bool,
) -> Result<Vec<String>, CliError> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let listed = use_cases.wait(use_cases.named_workflows())?;
    let fitting = listed.into_iter().filter(fits).map(|one| one.name);
    Ok(fitting.collect())
}

fn told(name: &str, moved: &TextMove, word: &str) {
    output::say(match moved {
        TextMove::Moved(number) => format!("{name} is {word} as version {number}"),
        TextMove::Same => format!("{name} is the same"),
    });
}
