//! `drawloom kit update` and `drawloom kit restore`: kits fetched again.

use app::kit_refresh::{self, Refreshed};
use clap::Args;
use serde_json::{Value, json};

use crate::exit::{Exit, Trouble};
use crate::progress::Progress;
use crate::session::Session;
use crate::{interrupt, output};

/// Fetch kits as their source has them now
///
/// Takes the branch or tag that was asked for when the kit was added, else the default branch, and pins
/// what came in `.drawloom/kits.lock`. Then `drawloom update RECIPE` merges a newer recipe into the files
/// it generated.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit update           all kits
  drawloom kit update nextjs    one kit")]
pub(crate) struct Update {
    /// A kit's name; all kits without one
    kit: Option<String>,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

/// Bring back the kits that the lock file pins
///
/// For a checkout that has `.drawloom/kits.lock` and not the kits themselves. Each is fetched at its
/// commit and must have the content that was pinned.
#[derive(Args, Debug)]
pub(crate) struct Restore {
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl Update {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let cwd = &session.surroundings.cwd;
        let kit = self.kit.as_deref();
        let refreshed = fetching(|| kit_refresh::update(&project, cwd, kit, &interrupt::cancel()))?;
        told(&refreshed, self.json)
    }
}

impl Restore {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let cwd = project.folder();
        let refreshed = fetching(|| kit_refresh::restore(&project, cwd, &interrupt::cancel()))?;
        told(&refreshed, self.json)
    }
}

fn fetching(
    fetch: impl FnOnce() -> Result<Vec<Refreshed>, app::Error>,
) -> Result<Vec<Refreshed>, Trouble> {
    interrupt::command_started();
    let progress = Progress::start("fetching kits");
    let refreshed = fetch();
    drop(progress);
    interrupt::command_finished();
    Ok(refreshed?)
}

fn told(refreshed: &[Refreshed], json: bool) -> Result<Exit, Trouble> {
    if json {
        let kits: Vec<Value> = refreshed
            .iter()
            .map(|kit| {
                let Refreshed {
                    name,
                    before,
                    after,
                    changed,
                } = kit;
                json!({ "name": name, "before": before, "after": after, "changed": changed })
            })
            .collect();
        output::json(&json!({ "kits": kits }))?;
        return Ok(Exit::Done);
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
    Ok(Exit::Done)
}
