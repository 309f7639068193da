//! A project for workflows, and what its runs print.

use serde_json::{Value, json};

use crate::model::{FakeProvider, ModelScript, ScriptedFormat, ScriptedLine};
use crate::project::{CliProject, ProgramOutput};
use crate::task_fixture;

/// A project whose `[ai]` is a model that says what the script says.
pub(crate) fn with_model(script: ModelScript) -> (CliProject, FakeProvider) {
    with_settings(ScriptedFormat::OpenAi, script, "")
}

/// The same in one of the formats, with more settings.
pub(crate) fn with_settings(
    format: ScriptedFormat,
    script: ModelScript,
    more: &str,
) -> (CliProject, FakeProvider) {
    let model = FakeProvider::start(format, script);
    let settings = format!("[agent.sandbox]\nkind = \"none\"\n\n{more}");
    let project = task_fixture::project(format, &model, &settings);
    (project, model)
}

/// A diagram with what its steps are told.
pub(crate) fn diagram(lines: &str, steps: &[(&str, Value)]) -> String {
    let told: String = steps
        .iter()
        .map(|(step, config)| format!("%% @{step}: {config}\n"))
        .collect();
    format!("graph TD\n{lines}\n%% === WORKFLOW_CONFIG ===\n{told}%% === END_CONFIG ===\n")
}

/// A project without a model, in which commands run without a sandbox: what holds them is tested
/// where it is made.
pub(crate) fn bare() -> CliProject {
    let project = CliProject::empty().with_variable("DRAWLOOM_WORKFLOWS_HTTP_ALLOW", "127.0.0.1");
    project.write(
        "drawloom.toml",
        "[ai]\nmode = \"stdout\"\n\n[agent.sandbox]\nkind = \"none\"\n",
    );
    project
}

/// A reply with this output.
pub(crate) fn reply(output: &str) -> ScriptedLine {
    said("SUCCESS", output, "COMPLETE")
}

pub(crate) fn said(status: &str, output: &str, next: &str) -> ScriptedLine {
    let text = format!(
        "## Status\n{status}\n\n## Summary\nDone.\n\n## Output\n{output}\n\n## Next Action\n{next}\n\n\
         ## Metadata\n```json\n{{\"confidence\": 0.9, \"suggested_tags\": [], \"suggested_next_stage\": \"K\"}}\n```\n"
    );
    ScriptedLine::Text(text.leak())
}

/// A reply in the form that providers are held to.
pub(crate) fn enveloped(status: &str, output: Value, next: &str) -> ScriptedLine {
    let reply = json!({
        "status": status, "summary": "Done.", "output": output, "next_action": next,
        "next_action_reason": "for a reason",
        "metadata": {
            "confidence": 0.9, "suggested_tags": ["tagged"], "suggested_next_stage": null,
        },
    });
    ScriptedLine::Text(reply.to_string().leak())
}

/// The lines of a `--json` run.
#[track_caller]
pub(crate) fn lines(ran: &ProgramOutput) -> Vec<Value> {
    let lines = ran.out.lines();
    lines
        .map(|line| {
            serde_json::from_str(line)
                .unwrap_or_else(|cause| panic!("{cause}: {line}\n{}", ran.err))
        })
        .collect()
}

/// The result of a `--json` run.
#[track_caller]
pub(crate) fn result(ran: &ProgramOutput) -> Value {
    let lines = lines(ran);
    let last = lines.last().unwrap_or_else(|| panic!("{}", ran.err));
    assert_eq!(last["event"], "result", "{}\n{}", ran.out, ran.err);
    last.clone()
}

/// What `--json` printed as one document.
#[track_caller]
pub(crate) fn document(ran: &ProgramOutput) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|cause| panic!("{cause}: {}{}", ran.out, ran.err))
}

/// The steps that were completed, in order, and the edges that decisions took.
pub(crate) fn way(ran: &ProgramOutput) -> String {
    let mut way = Vec::new();
    for line in lines(ran) {
        let step = |name: &str| {
            let task = line[name].as_str().unwrap_or_default().to_owned();
            task.split_once('/')
                .map(|(_, rest)| rest.to_owned())
                .unwrap_or(task)
        };
        match line["event"].as_str() {
            Some("task_moved") if matches!(line["by"].as_str(), Some("complete" | "finish")) => {
                way.push(step("task"));
            }
            Some("decided") => way.push(format!(
                "{}>{}",
                line["decision"].as_str().unwrap(),
                line["to"].as_str().unwrap()
            )),
            _ => {}
        }
    }
    way.join(" ")
}

/// The status of a run, and the reason.
#[track_caller]
pub(crate) fn standing(project: &CliProject) -> (String, String) {
    let shown = document(&project.run("runs show last --json"));
    let text = |name: &str| shown["run"][name].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

/// A task of the last run.
#[track_caller]
pub(crate) fn task(project: &CliProject, step: &str) -> Value {
    document(&project.run(&format!("tasks show last/{step} --json")))["task"].clone()
}
