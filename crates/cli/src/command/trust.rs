//! `drawloom trust`: what a project would do on the user's behalf, and the decision about it.

use std::path::PathBuf;

use app::trust::{self, ProjectAct, TrustExtent, TrustMode, TrustStore, UntrustedActs};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat, harmless};
use crate::session::CliSession;
use crate::trust_prompt::{self, TrustAnswer};

/// Review what this project would do, and trust it
///
/// A project from elsewhere can act on your behalf only after you have reviewed it: the programs
/// and commands it starts, the keys it uses, the addresses it sends data to, and its permissions
/// for a model. This command shows all of it and, on a terminal, asks; elsewhere it trusts what it
/// shows. Trust covers the current state: if any of it changes, you see the change and are asked
/// again. A folder that you set up with `drawloom init` is trusted permanently, and so is one with
/// `--always`.
///
/// Commands that only read (`list`, `show`, `check`, `index`, `doctor`) need no trust, and
/// `--trust` with any command trusts for that command only.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
  drawloom trust                   show what this project would do, and decide
  drawloom trust ./flows/ci.mmd    with a workflow, recipe, task or plan outside of .drawloom
  drawloom trust --always          this folder is my own work
  drawloom trust show              only look
  drawloom trust revoke            trust this project no longer"
)]
pub(crate) struct TrustArgs {
    #[command(subcommand)]
    what: Option<TrustCommand>,
    /// Recipes, workflows, tasks and plans outside of .drawloom to trust with the project
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Trust this folder permanently, whatever changes in it
    #[arg(long)]
    always: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    Show(TrustShowArgs),
    List(TrustListArgs),
    Revoke(TrustRevokeArgs),
}

/// Show what this project would do, without trusting it
#[derive(Args, Debug)]
struct TrustShowArgs {
    /// Recipes, workflows, tasks and plans outside of .drawloom to look at with the project
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

/// List the projects that you trust
#[derive(Args, Debug)]
struct TrustListArgs {
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

/// Revoke the trust in a project
#[derive(Args, Debug)]
struct TrustRevokeArgs {
    /// The project's folder; the current project by default
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

impl TrustArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match &self.what {
            Some(TrustCommand::Show(show)) => show.run(session),
            Some(TrustCommand::List(list)) => list.run(session),
            Some(TrustCommand::Revoke(revoke)) => revoke.run(session),
            None => self.decide(session),
        }
    }

    fn decide(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let folder = project.folder();
        let acts = trust::acts(&project, &session.surroundings, &self.paths)?;
        let missing = trust::untrusted(&project, &acts)?;
        let form = OutputFormat::from(self.json);
        if self.always {
            trust::add(
                folder,
                &session.surroundings,
                acts.clone(),
                TrustMode::Always,
            )?;
        } else if missing.is_empty() {
            if form == OutputFormat::Text {
                show(&acts);
                output::say(match acts.is_empty() {
                    true => "There is nothing to trust: this project only writes files.",
                    false => "You trust all of it already.",
                });
                return Ok(CliExit::Done);
            }
        } else if form == OutputFormat::Text && output::has_person() {
            let untrusted = UntrustedActs {
                folder: folder.to_owned(),
                acts: missing,
            };
            if trust_prompt::decide(&untrusted)? != TrustAnswer::Trusted {
                output::say("It stays untrusted.");
                return Ok(CliExit::Failed);
            }
        } else {
            trust::add(
                folder,
                &session.surroundings,
                acts.clone(),
                TrustMode::AsItIs,
            )?;
        }
        match form {
            OutputFormat::Json => output::json(&json!({ "folder": folder, "trusted": acts }))?,
            OutputFormat::Text => {
                show(&acts);
                let place = folder.display();
                output::say(match self.always {
                    true => format!("Trusted permanently: {place}"),
                    false => format!("Trusted as it is now: {place}"),
                });
                output::say("`drawloom trust revoke` takes it back.");
            }
        }
        Ok(CliExit::Done)
    }
}

impl TrustShowArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let acts = trust::acts(&project, &session.surroundings, &self.paths)?;
        let missing = trust::untrusted(&project, &acts)?;
        if self.json {
            let trusted = missing.is_empty();
            let folder = project.folder();
            output::json(&json!({ "folder": folder, "trusted": trusted, "acts": acts }))?;
            return Ok(CliExit::Done);
        }
        show(&acts);
        output::say(match (acts.is_empty(), missing.is_empty()) {
            (true, _) => "There is nothing to trust: this project only writes files.".to_owned(),
            (false, true) => "You trust all of it.".to_owned(),
            (false, false) => {
                format!("Not trusted yet: {}. `drawloom trust` asks.", missing.len())
            }
        });
        Ok(CliExit::Done)
    }
}

impl TrustListArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let decisions = TrustStore::new(&session.surroundings).all()?;
        if self.json {
            output::json(&json!({ "projects": decisions }))?;
            return Ok(CliExit::Done);
        }
        for decision in &decisions {
            let extent = match &decision.extent {
                TrustExtent::Folder(_) => "always".to_owned(),
                TrustExtent::Acts(acts) => format!("as it was, {} things", acts.len()),
            };
            let folder = harmless(&decision.folder.display().to_string());
            output::data(format!("{folder}  ({extent})\n").as_bytes())?;
        }
        if decisions.is_empty() {
            output::say("You have trusted no project yet.");
        }
        Ok(CliExit::Done)
    }
}

impl TrustRevokeArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let folder = match &self.path {
            // A folder that is gone can still be revoked.
            Some(path) => {
                let path = session.path(path);
                workspace::fs::canonical(&path).unwrap_or(path)
            }
            None => session.project()?.folder().to_owned(),
        };
        let was_trusted = TrustStore::new(&session.surroundings).forget(&folder)?;
        let place = harmless(&folder.display().to_string());
        output::say(match was_trusted {
            true => format!("No longer trusted: {place}"),
            false => format!("It was not trusted: {place}"),
        });
        Ok(CliExit::Done)
    }
}

/// Prints a project's possible actions on stdout, one per line.
fn show(acts: &[ProjectAct]) {
    for act in acts {
        for line in &act.does {
            // A pipe that is closed early is no failure of the decision.
            let _ = output::data(
                format!("{}  {}\n", harmless(&act.subject), harmless(line)).as_bytes(),
            );
        }
    }
}
