//! Checks settings of a step: those that have no meaning for its type, and invalid values.

use serde_json::Value;

use crate::config::{JoinPolicy, StepConfig, StepType};
use crate::context::CONTEXT_TOKENS_MAX;
use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::workflow::{DEPTH_MAX, ITEMS_MAX, WorkflowStep};

/// Returns the problems of a step's settings.
pub(crate) fn check(step: &WorkflowStep) -> Vec<WorkflowProblem> {
    let problem = |name: &str, message: String| {
        WorkflowProblem::error(WorkflowProblemCode::Setting, step.key(name), message)
    };
    let mut problems: Vec<WorkflowProblem> = misplaced(step.step_type, &step.config)
        .into_iter()
        .map(|name| {
            let kind = step.step_type.name();
            let message = format!(
                "`{name}` means nothing for `{}`, which is a {kind}.",
                step.id
            );
            problem(name, message)
        })
        .collect();
    let ranges = ranges(step).into_iter();
    problems.extend(
        ranges.map(|(name, wrong)| problem(name, format!("`{name}` of `{}` {wrong}.", step.id))),
    );
    if let Some(wrong) = step.config.output_schema.as_ref().and_then(no_schema) {
        let message = wrong_schema(step.id.as_str(), &wrong);
        problems.push(problem("outputSchema", message));
    }
    problems
}

/// Returns the settings that belong to other types of steps.
fn misplaced(step_type: StepType, config: &StepConfig) -> Vec<&'static str> {
    let is = |kind: StepType| step_type == kind;
    let joins = is(StepType::Join) || is(StepType::Foreach);
    let placed = [
        (
            "branches",
            config.branches.is_some(),
            is(StepType::Decision),
        ),
        (
            "defaultBranch",
            config.default_branch.is_some(),
            is(StepType::Decision),
        ),
        (
            "itemsPath",
            config.items_path.is_some(),
            is(StepType::Foreach),
        ),
        (
            "itemVariable",
            config.item_variable.is_some(),
            is(StepType::Foreach),
        ),
        (
            "maxItems",
            config.max_items.is_some(),
            is(StepType::Foreach),
        ),
        (
            "maxConcurrency",
            config.max_concurrency.is_some(),
            is(StepType::Foreach),
        ),
        ("awaitTag", config.await_tag.is_some(), is(StepType::Join)),
        (
            "awaitStepId",
            config.await_step_id.is_some(),
            is(StepType::Join),
        ),
        ("policy", config.policy.is_some(), joins),
        ("minCount", config.min_count.is_some(), joins),
        (
            "minSuccessPercent",
            config.min_success_percent.is_some(),
            joins,
        ),
        (
            "subflowId",
            config.subflow_id.is_some(),
            is(StepType::Subflow),
        ),
        (
            "inputMapping",
            config.input_mapping.is_some(),
            is(StepType::Subflow),
        ),
        (
            "maxDepth",
            config.max_depth.is_some(),
            is(StepType::Subflow),
        ),
        ("prompt", config.prompt.is_some(), !is(StepType::Decision)),
        ("for", config.wait_for.is_some(), is(StepType::Wait)),
        ("until", config.until.is_some(), is(StepType::Wait)),
        ("signal", config.signal.is_some(), is(StepType::Wait)),
    ];
    let wrong = placed.into_iter().filter(|(_, set, fits)| *set && !fits);
    wrong.map(|(name, _, _)| name).collect()
}

/// Says what is wrong with the schema of a step.
pub(crate) fn wrong_schema(step: &str, wrong: &str) -> String {
    format!("`outputSchema` of `{step}` is no JSON Schema: {wrong}.")
}

pub(crate) fn no_schema(schema: &Value) -> Option<String> {
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Some("it is no object".to_owned());
    }
    let built = jsonschema::options().offline().build(schema);
    built.err().map(|error| {
        let at = error.instance_path().as_str();
        match at.rsplit('/').next() {
            Some("type") => no_type(at, error.instance()),
            _ => format!(
                "{}: {}",
                if at.is_empty() { "/" } else { at },
                plainly(&error.to_string())
            ),
        }
    })
}

/// The names of value types in JSON Schema.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

fn no_type(at: &str, given: &Value) -> String {
    let word = given.as_str().unwrap_or_default();
    let meant = match diagnostics::nearest(word, TYPES) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("it is one of {}", TYPES.join(", ")),
    };
    format!("{at} is {given}, which is no type; {meant}")
}

/// Rewrites a schema validator's sentence about alternatives in plain words.
pub(crate) fn plainly(message: &str) -> String {
    let mut message = message.to_owned();
    for keyword in ["anyOf", "oneOf"] {
        let theirs =
            format!("is not valid under any of the schemas listed in the '{keyword}' keyword");
        message = message.replace(
            &theirs,
            "matches none of the alternatives that the schema allows here",
        );
    }
    message
}

/// Reports numbers that are out of range.
fn ranges(step: &WorkflowStep) -> Vec<(&'static str, String)> {
    let config = &step.config;
    let mut wrong = Vec::new();
    let mut least = |name, value: Option<u32>, min: u32| {
        if value.is_some_and(|value| value < min) {
            wrong.push((name, format!("must be at least {min}")));
        }
    };
    least("maxItems", config.max_items, 1);
    least("maxConcurrency", config.max_concurrency, 1);
    least("maxVisits", config.max_visits, 1);
    least("maxDepth", config.max_depth, 1);
    least(
        "retry.attempts",
        config.retry.map(|retry| retry.attempts),
        1,
    );
    if config.max_items.is_some_and(|max| max > ITEMS_MAX) {
        wrong.push(("maxItems", format!("is over ITEMS_MAX = {ITEMS_MAX}")));
    }
    if config
        .context_tokens_max
        .is_some_and(|max| max > CONTEXT_TOKENS_MAX)
    {
        let over = format!("is over CONTEXT_TOKENS_MAX = {CONTEXT_TOKENS_MAX}");
        wrong.push(("contextTokensMax", over));
    }
    if config.max_depth.is_some_and(|max| max > DEPTH_MAX) {
        wrong.push(("maxDepth", format!("is over DEPTH_MAX = {DEPTH_MAX}")));
    }
    let factor = config.retry.map(|retry| retry.factor);
    if factor.is_some_and(|factor| !(1.0..=100.0).contains(&factor)) {
        wrong.push(("retry.factor", "must be between 1 and 100".to_owned()));
    }
    wrong.extend(wait(step));
    let percent = config.min_success_percent;
    if percent.is_some_and(|percent| !(0.0..=100.0).contains(&percent)) {
        wrong.push(("minSuccessPercent", "must be between 0 and 100".to_owned()));
    }
    if config
        .confidence
        .is_some_and(|sure| !(0.0..=1.0).contains(&sure))
    {
        wrong.push(("confidence", "must be between 0 and 1".to_owned()));
    }
    if config.min_count.is_some() && percent.is_some() {
        wrong.push((
            "minCount",
            "and `minSuccessPercent` cannot both be set".to_owned(),
        ));
    }
    let threshold = config.min_count.is_some() || percent.is_some();
    if threshold
        && matches!(
            config.policy,
            Some(JoinPolicy::Any | JoinPolicy::AllTerminal)
        )
    {
        wrong.push(("policy", "has no threshold: leave it out".to_owned()));
    }
    wrong
}

/// Checks that a wait waits for exactly one thing.
fn wait(step: &WorkflowStep) -> Option<(&'static str, String)> {
    let config = &step.config;
    let told = [
        step.wait_for().is_some(),
        config.until.is_some(),
        config.signal.is_some(),
    ];
    let wrong = match told.iter().filter(|is_told| **is_told).count() {
        _ if step.step_type != StepType::Wait => return None,
        0 => "is missing: a wait has one of `for`, `until` and `signal`",
        1 => return None,
        _ => "or `until` or `signal`: a wait has one of them",
    };
    Some(("for", wrong.to_owned()))
}
