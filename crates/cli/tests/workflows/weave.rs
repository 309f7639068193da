//! A project for workflows, and what its runs print.

use serde_json::Value;

use crate::model::{Format, Model, Say, Script};
use crate::project::{Project, Ran};

/// A project whose `[ai]` is a model that says what the script says.
pub(crate) fn with_model(script: Script) -> (Project, Model) {
    let model = Model::start(Format::OpenAi, script);
    let project = bare();
    let settings = format!(
        "[ai]\nmode = \"api\"\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"{}\"\n\
         api_key = \"sk-scripted-123456\"\n\n[ai.retry]\nattempts_max = 2\nfirst_wait_ms = 10\n\n\
         [agent.sandbox]\nkind = \"none\"\n",
        model.url
    );
    project.write("drawloom.toml", &settings);
    (project, model)
}

/// A project in which nobody answers, and commands run without a sandbox: what holds them is tested
/// where it is made.
pub(crate) fn bare() -> Project {
    let project = Project::empty();
    project.write(
        "drawloom.toml",
        "[ai]\nmode = \"stdout\"\n\n[agent.sandbox]\nkind = \"none\"\n",
    );
    project
}

/// A reply with this output.
pub(crate) fn reply(output: &str) -> Say {
    said("SUCCESS", output, "COMPLETE")
}

pub(crate) fn said(status: &str, output: &str, next: &str) -> Say {
    let text = format!(
        "## Status\n{status}\n\n## Summary\nDone.\n\n## Output\n{output}\n\n## Next Action\n{next}\n\n\
         ## Metadata\n```json\n{{\"confidence\": 0.9, \"suggested_tags\": [], \"suggested_next_stage\": \"K\"}}\n```\n"
    );
    Say::Text(text.leak())
}

/// The lines of a `--json` run.
#[track_caller]
pub(crate) fn lines(ran: &Ran) -> Vec<Value> {
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
pub(crate) fn result(ran: &Ran) -> Value {
    let lines = lines(ran);
    let last = lines.last().unwrap_or_else(|| panic!("{}", ran.err));
    assert_eq!(last["event"], "result", "{}\n{}", ran.out, ran.err);
    last.clone()
}

/// What `--json` printed as one document.
#[track_caller]
pub(crate) fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|cause| panic!("{cause}: {}{}", ran.out, ran.err))
}

/// The steps that were completed, in order, and the edges that decisions took.
pub(crate) fn way(ran: &Ran) -> String {
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
