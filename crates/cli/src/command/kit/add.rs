//! `drawloom kit add`: a kit from a folder or a git repository.

use app::kits::{ExistingKit, KitAddition};
use clap::Args;
use serde_json::json;

use crate::exit::{CliError, CliExit};
use crate::progress::ProgressSpinner;
use crate::session::CliSession;
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
pub(crate) struct KitAddArgs {
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

impl KitAddArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let addition = KitAddition {
            source: &self.source,
            rev: self.rev.as_deref(),
            name: self.name.as_deref(),
            existing: if self.force {
                ExistingKit::Replace
            } else {
                ExistingKit::Refuse
            },
        };
        interrupt::command_started();
        let progress = ProgressSpinner::start(format!("fetching {}", self.source));
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
            return Ok(CliExit::Done);
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
        Ok(CliExit::Done)
    }
}
