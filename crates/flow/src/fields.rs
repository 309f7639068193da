//! The settings of a step as a form shows them: each with its sort of value, its meaning and its steps.

use crate::config::StepType;
use crate::config::StepType::{Decision, Foreach, Join, Subflow, Task, Wait};

/// The sort of value that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// One line.
    Line,
    /// Many lines, in which `{{ }}` is filled in.
    Prompt,
    /// An expression.
    Expression,
    Whole,
    Number,
    Flag,
    /// `90s`, `5m`, `2h`, `1d`.
    Span,
    /// The id of a step of the diagram.
    Step,
    /// The name of a person or an agent.
    Person,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// JSON: an object or a list.
    Json,
}

/// A setting that a step can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingField {
    pub name: &'static str,
    pub kind: SettingKind,
    /// Says in a sentence what it is for.
    pub meaning: &'static str,
    /// The types of steps that it means something for.
    pub types: &'static [StepType],
    /// `true` if a form shows it at once; the others are one click away.
    pub is_common: bool,
}

const ALL: &[StepType] = &[Task, Decision, Foreach, Join, Subflow, Wait];
const WORK: &[StepType] = &[Task, Foreach, Join];
const GROUPS: &[StepType] = &[Foreach, Join];
const HANDLERS: &[&str] = &[
    "ai_interaction",
    "code_generation",
    "planning",
    "validation",
    "no_op",
    "recipe",
    "build",
    "command",
    "http",
    "task",
    "mcp",
];

const fn common(
    name: &'static str,
    kind: SettingKind,
    types: &'static [StepType],
    meaning: &'static str,
) -> SettingField {
    SettingField {
        name,
        kind,
        meaning,
        types,
        is_common: true,
    }
}

const fn rare(
    name: &'static str,
    kind: SettingKind,
    types: &'static [StepType],
    meaning: &'static str,
) -> SettingField {
    SettingField {
        name,
        kind,
        meaning,
        types,
        is_common: false,
    }
}

/// Every setting, in the order in which a form shows them.
#[rustfmt::skip]
pub const SETTING_FIELDS: [SettingField; 44] = [
    common("prompt", SettingKind::Prompt, &[Task, Foreach, Join, Subflow, Wait], "What is asked. Two braces fill in a value: {{input.name}}, {{output.name}}, {{steps.ID.output}}."),
    common("handler", SettingKind::Choice(HANDLERS), WORK, "Who does an automated step: a model, a command, a request, a tool of an MCP server, a recipe, a build, or no one (no_op)."),
    common("config", SettingKind::Json, WORK, "What the handler has to know, such as { \"command\": \"make test\" } or { \"url\": \"https://…\" }."),
    common("defaultAssigneeId", SettingKind::Person, &[Task, Foreach, Join], "The person or agent who gets the task."),
    common("outputSchema", SettingKind::Json, &[Task, Foreach, Join, Subflow], "A JSON Schema that the output must fit. Its values become the buttons in the inbox."),
    common("itemsPath", SettingKind::Expression, &[Foreach], "The expression that gives the list of items."),
    common("itemVariable", SettingKind::Line, &[Foreach], "The name of the item inside of the loop; `item` unless said otherwise."),
    common("maxConcurrency", SettingKind::Whole, &[Foreach], "How many items are worked on at a time."),
    common("policy", SettingKind::Choice(&["all", "any", "quorum", "allTerminal"]), GROUPS, "When it goes on: all succeeded, the first success, a quorum, or everything has ended."),
    common("subflowId", SettingKind::Line, &[Subflow], "The name of the workflow that it runs."),
    common("inputMapping", SettingKind::Json, &[Subflow], "The input of that workflow: names and expressions."),
    common("for", SettingKind::Span, &[Wait], "How long it waits: 90s, 5m, 2h, 1d."),
    common("until", SettingKind::Expression, &[Wait], "An expression that gives the time at which the wait is over."),
    common("signal", SettingKind::Line, &[Wait], "The name of the signal that ends the wait."),
    rare("description", SettingKind::Prompt, ALL, "Shown to the person who answers, where there is no prompt."),
    rare("name", SettingKind::Line, ALL, "A name instead of the label in the diagram."),
    rare("stepType", SettingKind::Choice(&["task", "decision", "foreach", "join", "subflow", "wait"]), ALL, "The type of step, where the shape does not say it."),
    rare("execution", SettingKind::Choice(&["automated", "manual"]), ALL, "Whether a person or a machine does it, where the shape does not say it."),
    rare("type", SettingKind::Choice(&["automated", "manual"]), ALL, "The old name of `execution`."),
    rare("fallbackAssigneeId", SettingKind::Person, ALL, "Who gets it when the assignee is not there."),
    rare("escalateTo", SettingKind::Person, ALL, "Who gets a person's task when its time is over."),
    rare("remind", SettingKind::Span, ALL, "How often a person is reminded."),
    rare("hitlPhase", SettingKind::Line, ALL, "A word for the phase in which a person is asked."),
    rare("timeout", SettingKind::Span, ALL, "How long the step may take."),
    rare("onTimeout", SettingKind::Choice(&["fail", "continue", "hold"]), ALL, "What happens then: it fails, goes on, or waits for a person."),
    rare("retry", SettingKind::Json, ALL, "How often a failed attempt is made again: { \"attempts\": 3, \"delay\": \"5s\" }."),
    rare("onError", SettingKind::Step, ALL, "The step to go on with when every attempt failed."),
    rare("failFast", SettingKind::Flag, ALL, "A failure fails the run instead of pausing it."),
    rare("confidence", SettingKind::Number, ALL, "A reply that is less sure than this, from 0 to 1, waits for a person."),
    rare("budget", SettingKind::Json, ALL, "What the step may cost: { \"tokens\": 50000, \"money\": 0.5 }."),
    rare("maxVisits", SettingKind::Whole, ALL, "How often a run may come back to the step."),
    rare("contextFrom", SettingKind::Json, ALL, "The steps whose outputs it is shown: [\"A\", \"B\"]."),
    rare("contextTokensMax", SettingKind::Whole, ALL, "How many tokens of those outputs, at most."),
    rare("concurrency", SettingKind::Json, ALL, "How many tasks of it are under way at a time, over all runs."),
    rare("awaitCallback", SettingKind::Flag, ALL, "An `http` step waits for a signed call back."),
    rare("tags", SettingKind::Json, ALL, "Words to find its tasks by: [\"release\"]."),
    rare("branches", SettingKind::Json, &[Decision], "Conditions that the labels do not say: a list of { \"condition\", \"targetStepId\" }."),
    rare("defaultBranch", SettingKind::Step, &[Decision], "The way on when no condition is true."),
    rare("maxItems", SettingKind::Whole, &[Foreach], "The most items that it takes."),
    rare("awaitTag", SettingKind::Line, &[Join], "The tag of the tasks that it waits for."),
    rare("awaitStepId", SettingKind::Step, &[Join], "The loop that it ends."),
    rare("minSuccessPercent", SettingKind::Number, GROUPS, "How many of a hundred have to succeed."),
    rare("minCount", SettingKind::Whole, GROUPS, "How many have to succeed."),
    rare("maxDepth", SettingKind::Whole, &[Subflow], "How deep workflows may call each other."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StepConfig;

    /// A new setting that no form shows could not be found.
    #[test]
    fn every_setting_has_a_field() {
        let error = serde_json::from_str::<StepConfig>("{\"no such setting\": 1}").unwrap_err();
        let text = error.to_string();
        let (_, known) = text.split_once("expected one of").unwrap();
        let mut known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let mut shown: Vec<&str> = SETTING_FIELDS.iter().map(|field| field.name).collect();
        known.sort_unstable();
        shown.sort_unstable();
        assert_eq!(shown, known);
    }
}
