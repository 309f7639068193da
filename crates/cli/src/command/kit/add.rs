//! `drawloom kit add`: a kit from a folder or a git repository.

use app::kits::{Addition, Existing};
use clap::Args;
use serde_json::json;

use crate::exit::{Exit, Trouble};
use crate::progress::Progress;
use crate::session::Session;
use crate::{interrupt, output};

/// Add a kit from a folder or a git repository
///
/// A kit from git is pinned: its commit and a hash of its content go into `.drawloom/kits.lock`.
/// Recipes of a kit run no commands unless you say `--trust`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom kit add ../our-kit
  drawloom kit add https://example.org/team/kit.git --rev v1.2
  drawloom kit add https://example.org/team/kit.git --force   fetch it anew")]
pub(crate) struct Add {
    /// A folder, or the URL of a git repository
    source: String,
    /// A branch, tag or commit of the repository
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// The name to give the kit, instead of its own
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Replace a kit of the same name
    #[arg(long)]
    force: bool,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl Add {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let addition = Addition {
            source: &self.source,
            rev: self.rev.as_deref(),
            name: self.name.as_deref(),
            existing: if self.force {
                Existing::Replace
            } else {
                Existing::Refuse
            },
        };
        interrupt::command_started();
        let progress = Progress::start(format!("fetching {}", self.source));
        let cwd = &session.surroundings.cwd;
        let added = app::kits::add(&project, cwd, &addition, &interrupt::cancel());
        drop(progress);
        interrupt::command_finished();
        let added = added?;
        if self.json {
            output::json(&json!({
                "name": added.name,
                "source": self.source,
                "commit": added.commit,
                "files": added.files,
                "replaced": added.replaced,
                "recipes": added.recipes,
            }))?;
            return Ok(Exit::Done);
        }
        let verb = if added.replaced { "replaced" } else { "added" };
        let commit = added.commit.as_deref().and_then(|commit| commit.get(..12));
        let at = commit
            .map(|commit| format!(" at {commit}"))
            .unwrap_or_default();
        output::say(format!("{verb} {}{at}, {} files", added.name, added.files));
        for id in &added.recipes {
            output::say(format!("  drawloom run {id}"));
        }
        Ok(Exit::Done)
    }
}
