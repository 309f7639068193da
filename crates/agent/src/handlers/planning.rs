//! `planning`: requirements become a plan file that can be run.

use workspace::RelPath;

use super::prompt;
use super::result::FailureKind;
use super::task_run::{HandlerResult, TaskRun};
use crate::plan::{self, TaskPlan};
use crate::tool::CallEffect;

/// Runs the stages in order. A plan that cannot be read goes back with every problem it has.
pub(super) async fn handle(desk: &mut TaskRun<'_>) -> HandlerResult {
    let Some(path) = desk.order.task.output_artifacts.first().cloned() else {
        let message = "A planning task has to say where the plan goes: add `output_artifacts`.";
        return Err(desk.fail(FailureKind::Files, message));
    };
    desk.check_writable(&path)?;
    let context = desk.gather_context();
    let prompt = prompt::of_task(desk.order.task, &context);
    let mut talk = desk.open(prompt::planning(), prompt).await?;
    let limits = desk.bench.task_limits;
    let reading = reading_tools(desk);
    loop {
        let answer = desk.ask(&mut talk, &reading).await?;
        let plan = match read(desk, &answer, &path) {
            Ok(plan) => plan,
            Err(problems) if talk.answers <= limits.plan_corrections_max => {
                let text = prompt::plan_correction(&problems);
                desk.feed_back(&mut talk, limits.plan_corrections_max, text);
                continue;
            }
            Err(problems) => {
                let message = format!(
                    "The model's plan cannot be run, also after it was told why \
                     (agent.plan_corrections_max = {}):\n{problems}",
                    limits.plan_corrections_max
                );
                return Err(desk.fail(FailureKind::InvalidPlan, message));
            }
        };
        desk.write(&path, &plan.to_json())?;
        let complaint = desk.validate().await?;
        match complaint {
            Some(text) if talk.answers <= limits.validation_retries_max => {
                desk.feed_back(&mut talk, limits.validation_retries_max, text);
            }
            _ => {
                return desk.verdict(&match plan.tasks.len() {
                    1 => "A plan of 1 task was made".to_owned(),
                    count => format!("A plan of {count} tasks was made"),
                });
            }
        }
    }
}

/// Returns the tools that only read: a planner changes nothing.
fn reading_tools(desk: &TaskRun<'_>) -> crate::toolset::AgentTools {
    let all = desk.bench.toolset;
    let reads = |name: &str| {
        all.get(name)
            .is_some_and(|tool| tool.effect() == CallEffect::Reads)
    };
    all.clone().only(reads)
}

/// Returns the plan in an answer, or everything wrong with it.
fn read(desk: &TaskRun<'_>, answer: &str, path: &RelPath) -> Result<TaskPlan, String> {
    let workspace = desk.bench.workspace;
    let text = ::prompt::reply::object_in(answer);
    let plan = plan::read(text, path, &|path| workspace.read_text(path))
        .map_err(|problems| problems.to_string())?;
    let outputs = plan.tasks.iter().flat_map(|task| {
        let paths = task.output_artifacts.iter();
        paths.map(|path| (&task.subtask_id, path))
    });
    let denials = outputs.filter_map(|(id, path)| {
        let denial = workspace.policy().check_write(path).err()?;
        Some(format!("task `{id}`: {denial}"))
    });
    let denials: Vec<String> = denials.collect();
    if denials.is_empty() {
        Ok(plan)
    } else {
        Err(denials.join("\n"))
    }
}
