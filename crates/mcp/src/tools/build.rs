//! `build`: builds asked for and looked at. Approving is for people.

use builder::{JobStatus, Options};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::CallOutcome;
use crate::DrawloomServer;
use crate::failure::ToolFailure;

/// Arguments of `plan_build`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanBuild {
    /// The change, in a sentence or more.
    prompt: String,
}

/// Arguments of the tools about one build.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedBuild {
    /// The build's id.
    id: String,
}

pub(crate) async fn plan(server: &DrawloomServer, arguments: PlanBuild) -> CallOutcome {
    let use_cases = server.use_cases.clone();
    let id = use_cases
        .ask_for_build(&arguments.prompt, Options::default())
        .await?;
    let (working, cancel) = (id.clone(), server.cancel.clone());
    // The build is a stored record: get_build tells how it goes on.
    tokio::spawn(async move {
        let _ = use_cases.work_on_build(&working, cancel).await;
    });
    Ok(json!({
        "build": id.as_str(),
        "status": "planning",
        "next": format!(
            "call get_build until its plan is ready; a person approves it with `drawloom builds approve {id}`"
        ),
    }))
}

pub(crate) async fn approve(_: &DrawloomServer, arguments: NamedBuild) -> CallOutcome {
    let message = "only a person approves a build";
    let hint = format!(
        "ask the person to look at the plan and run `drawloom builds approve {}`",
        arguments.id
    );
    Err(ToolFailure::new(message).hint(hint).refused())
}

pub(crate) async fn get(server: &DrawloomServer, arguments: NamedBuild) -> CallOutcome {
    let (shown, progress) = server.use_cases.build(&arguments.id).await?;
    let (job, id) = (&shown.job, shown.job.id.as_str());
    let next = match job.status() {
        JobStatus::PlanReady => {
            format!("a person reads the plan and runs: drawloom builds approve {id}")
        }
        JobStatus::ReviewReady => {
            format!("build_diff shows the changes; a person runs: drawloom builds review {id}")
        }
        status if status.is_final() => "it has ended; build_diff shows the changes".to_owned(),
        _ if shown.is_interrupted() => {
            format!("no process works on it; a person runs: drawloom build --resume {id}")
        }
        _ => "it goes on by itself: call get_build again in a while".to_owned(),
    };
    Ok(json!({
        "build": id,
        "status": job.status(),
        "is_interrupted": shown.is_interrupted(),
        "next": next,
        "job": job,
        "events": progress.len(),
    }))
}

pub(crate) async fn diff(server: &DrawloomServer, arguments: NamedBuild) -> CallOutcome {
    let (shown, _) = server.use_cases.build(&arguments.id).await?;
    Ok(json!({ "build": shown.job.id.as_str(), "diffs": shown.job.result.diffs }))
}

/// All of a build.
pub(crate) async fn describe(server: &DrawloomServer, id: &str) -> CallOutcome {
    let id = id.to_owned();
    get(server, NamedBuild { id }).await
}
