//! `planning`: requirements become a plan file that can be run.

use workspace::RelPath;

use super::desk::{Desk, Handled};
use super::prompt;
use super::result::FailureKind;
use crate::plan::{self, Plan};
use crate::tool::Effect;

/// The stages, in order. A plan that cannot be read goes back with every problem it has.
pub(super) async fn handle(desk: &mut Desk<'_>) -> Handled {
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
            _ => return desk.verdict(&format!("A plan of {} tasks was made", plan.tasks.len())),
        }
    }
}

/// A planner looks and does nothing.
fn reading_tools(desk: &Desk<'_>) -> crate::toolset::Toolset {
    let all = desk.bench.toolset;
    let reads = |name: &str| {
        all.get(name)
            .is_some_and(|tool| tool.effect() == Effect::Reads)
    };
    all.clone().only(reads)
}

/// The plan in an answer, or everything wrong with it.
fn read(desk: &Desk<'_>, answer: &str, path: &RelPath) -> Result<Plan, String> {
    let workspace = desk.bench.workspace;
    let text = json_in(answer);
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

/// The JSON object in a reply: all of it, the last fenced block, or from the first brace on.
fn json_in(reply: &str) -> &str {
    let reply = reply.trim();
    if reply.starts_with('{') {
        return reply;
    }
    if let Some(block) = last_block(reply) {
        return block;
    }
    match (reply.find('{'), reply.rfind('}')) {
        (Some(from), Some(to)) if from < to => &reply[from..=to],
        _ => reply,
    }
}

/// The content of the last fenced block that begins with a brace.
fn last_block(reply: &str) -> Option<&str> {
    let mut found = None;
    let mut rest = reply;
    while let Some(open) = rest.find("```") {
        let after = &rest[open + 3..];
        let body = after.find('\n').map_or("", |end| &after[end + 1..]);
        // A reply that was cut off has no closing fence.
        let end = body.find("\n```").unwrap_or(body.len());
        let block = body[..end].trim();
        if block.starts_with('{') {
            found = Some(block);
        }
        rest = body.get(end + 4..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::json_in;

    #[test]
    fn the_plan_is_found_wherever_models_put_it() {
        let check = |reply: &str, expected: &str| assert_eq!(json_in(reply), expected, "{reply}");
        check("{\"a\": 1}", "{\"a\": 1}");
        check(
            "Here it is:\n```json\n{\"a\": 1}\n```\nGood luck!",
            "{\"a\": 1}",
        );
        check("```\nls\n```\n```json\n{\"a\": 1}\n```", "{\"a\": 1}");
        check("```json\n{\"a\": 1}", "{\"a\": 1}");
        check("The plan: {\"a\": 1}. Done.", "{\"a\": 1}");
        check("I cannot.", "I cannot.");
        check("", "");
        check("```", "```");
    }
}
