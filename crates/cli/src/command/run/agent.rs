//! `drawloom run FILE.json`: the file of a task or a plan.

use std::path::Path;
use std::sync::Arc;

use app::Project;
use app::run_target::TargetKind;

use super::{RunArgs, fitting, say_kind};
use crate::agent_args::{AgentArgs, AgentModeArgs, WorkMode};
use crate::ai_args::AiMode;
use crate::command::{plan, task};
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Runs the file as what it is.
pub(super) fn run(
    line: &RunArgs,
    session: &CliSession,
    (mut project, kind, file): (Project, TargetKind, &Path),
) -> Result<CliExit, CliError> {
    let shown = file.display().to_string();
    if line.recipe.wants_recipe_help {
        return help(kind, &shown);
    }
    let (run, global) = line.reread(&[])?;
    let session = &session.with_globals(&global);
    if global.trust {
        project.trust.trust_once();
    }
    fitting::check(kind, &shown, &run.recipe.own_options)?;
    if let Some(value) = run.recipe.values.first() {
        let error = CliError::usage(format!(
            "`{shown}` is a {}, which takes no values: `{value}`",
            kind.as_str()
        ));
        return Err(error.hint("everything that it needs is in its file"));
    }
    let working = working(&run, &shown)?;
    say_kind(kind, &shown, working.form());
    let project = Arc::new(project);
    match kind {
        TargetKind::Plan => plan::run_file(session, &project, (file, &working)),
        _ => task::run_file(session, &project, (file, &working)),
    }
}

/// Returns the options as `task run` and `plan run` have them.
fn working(run: &RunArgs, shown: &str) -> Result<AgentArgs, CliError> {
    let ai_mode = match run.recipe.answering.ai_mode {
        None => None,
        Some(AiMode::Auto) => Some(WorkMode::Auto),
        Some(AiMode::Api) => Some(WorkMode::Api),
        Some(AiMode::Command) => Some(WorkMode::Command),
        Some(AiMode::Stdio | AiMode::Stdout | AiMode::Off) => {
            let message =
                format!("`{shown}` is worked on with tools, which this `--ai-mode` has not");
            return Err(CliError::usage(message).hint("choose auto, api or command"));
        }
    };
    Ok(AgentArgs {
        resume: run.recipe.settling.resume,
        hands: AgentModeArgs {
            ai_mode,
            record: run.recipe.answering.record.clone(),
            replay: run.recipe.answering.replay.clone(),
        },
        json: run.recipe.json,
    })
}

fn help(kind: TargetKind, shown: &str) -> Result<CliExit, CliError> {
    let more = match kind {
        TargetKind::Plan => "\n`drawloom plan show` shows its tasks and how far they are.",
        _ => "",
    };
    output::styled(&format!(
        "{} is a {}.\n\nUsage: drawloom run {} [--resume] [--json]\n{more}\n\
         Options of drawloom itself: drawloom run --help\n",
        output::harmless(shown),
        kind.as_str(),
        output::harmless(shown),
    ))?;
    Ok(CliExit::Done)
}
