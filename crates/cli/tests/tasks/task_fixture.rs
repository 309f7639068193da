//! A project that is set up for a scripted model, and what its runs print.

use serde_json::Value;

use crate::model::{FakeProvider, ScriptedFormat};
use crate::project::{CliProject, ProgramOutput};

pub(crate) const KEY: &str = "sk-scripted-123456";

/// A project whose `[ai]` is the model; `more` is put after that.
pub(crate) fn project(format: ScriptedFormat, model: &FakeProvider, more: &str) -> CliProject {
    let project = CliProject::empty();
    let settings = format!(
        "[ai]\nmode = \"api\"\nprovider = \"{}\"\nmodel = \"m\"\nbase_url = \"{}\"\n\
         api_key = \"{KEY}\"\n\n[ai.retry]\nattempts_max = 2\nfirst_wait_ms = 10\n\n{more}",
        format.provider(),
        model.url
    );
    project.write("drawloom.toml", &settings);
    project
}

/// Commands without a sandbox: what holds them is tested where it is made.
pub(crate) const NO_SANDBOX: &str = "[agent.sandbox]\nkind = \"none\"\n";

/// The events of a `--json` run.
#[track_caller]
pub(crate) fn events(ran: &ProgramOutput) -> Vec<Value> {
    let lines = ran.out.lines();
    lines
        .map(|line| {
            serde_json::from_str(line)
                .unwrap_or_else(|cause| panic!("{cause}: {line}\n{}", ran.err))
        })
        .collect()
}

/// The names of the events, without those that come and go with timing.
pub(crate) fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect()
}

#[track_caller]
pub(crate) fn result(ran: &ProgramOutput) -> Value {
    let events = events(ran);
    let last = events
        .last()
        .unwrap_or_else(|| panic!("no events: {}", ran.err));
    assert_eq!(last["event"], "result", "{}", ran.out);
    last.clone()
}
