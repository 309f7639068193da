//! `drawloom trust`: what a project would do on the user's behalf, and the decision about it.

use std::path::PathBuf;

use app::trust::{self, Act, Extent, Lasting, TrustStore, Untrusted};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::asking_trust::{self, Answer};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form, harmless};
use crate::session::Session;

/// Look at what this project would do, and trust it
///
/// A project that was not made here does nothing on your behalf before you have seen what: which
/// programs and commands it starts, which keys it uses, where it sends something, what it permits a
/// model. This command shows all of it and, on a terminal, asks; elsewhere it trusts what it shows.
/// What is trusted is trusted as it is now: if any of it changes, you are shown the change and asked
/// again. A folder that you made with `drawloom init` is trusted for good, and so is one with
/// `--always`.
///
/// Looking (`list`, `show`, `check`, `index`, `doctor`) never needs it, and `--trust` with any command
/// trusts for that once.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
  drawloom trust                   show what this project would do, and decide
  drawloom trust ./flows/ci.mmd    with a workflow or recipe outside of .drawloom
  drawloom trust --always          this folder is my own work
  drawloom trust show              only look
  drawloom trust revoke            trust this project no longer"
)]
pub(crate) struct Trust {
    #[command(subcommand)]
    what: Option<TrustCommand>,
    /// Recipes and workflows outside of .drawloom to trust with the project
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Trust this folder whatever is in it, now and later
    #[arg(long)]
    always: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    Show(Show),
    List(List),
    Revoke(Revoke),
}

/// Show what this project would do, and decide nothing
#[derive(Args, Debug)]
struct Show {
    /// Recipes and workflows outside of .drawloom to look at with the project
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

/// List the projects that you trust
#[derive(Args, Debug)]
struct List {
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

/// Trust a project no longer
#[derive(Args, Debug)]
struct Revoke {
    /// The project's folder; the one of the current folder if left out
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

impl Trust {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match &self.what {
            Some(TrustCommand::Show(show)) => show.run(session),
            Some(TrustCommand::List(list)) => list.run(session),
            Some(TrustCommand::Revoke(revoke)) => revoke.run(session),
            None => self.decide(session),
        }
    }

    fn decide(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let folder = project.folder();
        let acts = trust::acts(&project, &session.surroundings, &self.paths)?;
        let missing = trust::untrusted(&project, &acts)?;
        let form = Form::from(self.json);
        if self.always {
            trust::add(folder, &session.surroundings, acts.clone(), Lasting::Always)?;
        } else if missing.is_empty() {
            if form == Form::Text {
                show(&acts);
                output::say(match acts.is_empty() {
                    true => "There is nothing to trust: this project only writes files.",
                    false => "You trust all of it already.",
                });
                return Ok(Exit::Done);
            }
        } else if form == Form::Text && output::has_person() {
            let untrusted = Untrusted {
                folder: folder.to_owned(),
                acts: missing,
            };
            if asking_trust::decide(&untrusted)? != Answer::Trusted {
                output::say("It stays untrusted.");
                return Ok(Exit::Failed);
            }
        } else {
            trust::add(folder, &session.surroundings, acts.clone(), Lasting::AsItIs)?;
        }
        match form {
            Form::Json => output::json(&json!({ "folder": folder, "trusted": acts }))?,
            Form::Text => {
                show(&acts);
                let place = folder.display();
                output::say(match self.always {
                    true => format!("Trusted for good: {place}"),
                    false => format!("Trusted as it is now: {place}"),
                });
                output::say("`drawloom trust revoke` takes it back.");
            }
        }
        Ok(Exit::Done)
    }
}

impl Show {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let acts = trust::acts(&project, &session.surroundings, &self.paths)?;
        let missing = trust::untrusted(&project, &acts)?;
        if self.json {
            let trusted = missing.is_empty();
            let folder = project.folder();
            output::json(&json!({ "folder": folder, "trusted": trusted, "acts": acts }))?;
            return Ok(Exit::Done);
        }
        show(&acts);
        output::say(match (acts.is_empty(), missing.is_empty()) {
            (true, _) => "There is nothing to trust: this project only writes files.".to_owned(),
            (false, true) => "You trust all of it.".to_owned(),
            (false, false) => {
                format!("Not trusted yet: {}. `drawloom trust` asks.", missing.len())
            }
        });
        Ok(Exit::Done)
    }
}

impl List {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let decisions = TrustStore::new(&session.surroundings).all()?;
        if self.json {
            output::json(&json!({ "projects": decisions }))?;
            return Ok(Exit::Done);
        }
        for decision in &decisions {
            let extent = match &decision.extent {
                Extent::Folder(_) => "always".to_owned(),
                Extent::Acts(acts) => format!("as it was, {} things", acts.len()),
            };
            let folder = harmless(&decision.folder.display().to_string());
            output::data(format!("{folder}  ({extent})\n").as_bytes())?;
        }
        if decisions.is_empty() {
            output::say("You have trusted no project yet.");
        }
        Ok(Exit::Done)
    }
}

impl Revoke {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
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
        Ok(Exit::Done)
    }
}

/// What a project would do, one line each on stdout.
fn show(acts: &[Act]) {
    for act in acts {
        for line in &act.does {
            // A pipe that is closed early is no failure of the decision.
            let _ = output::data(
                format!("{}  {}\n", harmless(&act.subject), harmless(line)).as_bytes(),
            );
        }
    }
}
