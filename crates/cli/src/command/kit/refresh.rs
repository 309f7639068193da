//! `drawloom kit update` and `drawloom kit restore`: kits fetched again.

use app::kit_refresh::{self, RefreshedKit};
use clap::Args;
use serde_json::{Value, json};

use crate::exit::{CliError, CliExit};
use crate::progress::ProgressSpinner;
use crate::session::CliSession;
use crate::{interrupt, output};

/// Fetch the newest version of kits from their source
///
/// Takes the branch or tag that the kit was added with, else the default branch, and pins the new
/// commit in `.drawloom/kits.lock`. Then `drawloom update RECIPE` merges a newer recipe into the
/// files it generated.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit update           all kits
  drawloom kit update nextjs    one kit")]
pub(crate) struct KitUpdateArgs {
    /// A kit's name; all kits without one
    kit: Option<String>,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

/// Bring back the kits that the lock file pins
///
/// For a checkout with a `.drawloom/kits.lock` but without the kits. Each kit is fetched at its
/// commit and must have the pinned content.
#[derive(Args, Debug)]
pub(crate) struct KitRestoreArgs {
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl KitUpdateArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let cwd = &session.surroundings.cwd;
        let kit = self.kit.as_deref();
        let refreshed = fetching(|| kit_refresh::update(&project, cwd, kit, &interrupt::cancel()))?;
        told(&refreshed, self.json)
    }
}

impl KitRestoreArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let cwd = project.folder();
        let refreshed = fetching(|| kit_refresh::restore(&project, cwd, &interrupt::cancel()))?;
        told(&refreshed, self.json)
    }
}

fn fetching(
    fetch: impl FnOnce() -> Result<Vec<RefreshedKit>, app::Error>,
) -> Result<Vec<RefreshedKit>, CliError> {
    interrupt::command_started();
    let progress = ProgressSpinner::start("fetching kits");
    let refreshed = fetch();
    drop(progress);
    interrupt::command_finished();
    Ok(refreshed?)
}

fn told(refreshed: &[RefreshedKit], json: bool) -> Result<CliExit, CliError> {
    if json {
        let kits: Vec<Value> = refreshed
            .iter()
            .map(|kit| {
                let RefreshedKit {
                    name,
                    before,
                    after,
                    changed,
                } = kit;
                json!({ "name": name, "before": before, "after": after, "changed": changed })
            })
            .collect();
        output::json(&json!({ "kits": kits }))?;
        return Ok(CliExit::Done);
    }
    for kit in refreshed {
        let short = |commit: &Option<String>| {
            let commit = commit.as_deref().unwrap_or("a folder");
            commit.get(..12).unwrap_or(commit).to_owned()
        };
        output::say(match kit.changed {
            true if kit.before == kit.after => {
                format!("fetched   {} at {}", kit.name, short(&kit.after))
            }
            true => format!(
                "updated   {} from {} to {}",
                kit.name,
                short(&kit.before),
                short(&kit.after)
            ),
            false => format!("unchanged {} at {}", kit.name, short(&kit.after)),
        });
    }
    if refreshed.is_empty() {
        output::say("nothing to do");
    }
    Ok(CliExit::Done)
}
