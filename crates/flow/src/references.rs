//! Checks the references of expressions: whether they parse, and whether their values can exist by
//! then.

use diagnostics::nearest;
use expr::NameReference;
use serde_json::Value;

use crate::config::{StepHandler, StepType};
use crate::error::{ProblemSeverity, WorkflowProblem, WorkflowProblemCode};
use crate::id::StepId;
use crate::line_span::LineSpan;
use crate::workflow::{EdgeCondition, Workflow, WorkflowEdge, WorkflowStep};

/// The names that every expression can use.
const NAMES: [&str; 8] = [
    "input", "output", "steps", "run", "agent", "index", "total", "parentId",
];
/// The global names of JavaScript.
const GLOBALS: [&str; 15] = [
    "Array",
    "BigInt",
    "Boolean",
    "Date",
    "Infinity",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "Set",
    "String",
    "undefined",
    "parseInt",
];
const MORE_GLOBALS: [&str; 5] = [
    "parseFloat",
    "isNaN",
    "isFinite",
    "RegExp",
    "encodeURIComponent",
];

const CONDITION_HINT: &str = "the label of a branch is its condition, in JavaScript: write what has to \
    hold, as `output.passed` or `output.score >= 80 && output.ok`, and `default` on the branch for the rest";

/// The place where an expression is written.
#[derive(Clone, Copy, Debug)]
enum ExpressionSite<'w> {
    Label(&'w WorkflowEdge),
    /// In a setting that is a text, from this byte on.
    Setting {
        step: &'w WorkflowStep,
        path: &'w str,
        offset: usize,
    },
}

impl ExpressionSite<'_> {
    /// Tells whether `{{secrets.NAME}}` means a variable here: only in texts that an `http` step
    /// sends.
    fn takes_secrets(&self) -> bool {
        match self {
            ExpressionSite::Label(_) => false,
            ExpressionSite::Setting { step, path, .. } => {
                let is_sent = path.starts_with("config.headers") || path.starts_with("config.body");
                is_sent && step.handler() == StepHandler::Http
            }
        }
    }

    /// Returns the position of a part of the expression.
    fn spot(&self, start: usize, end: usize) -> LineSpan {
        match self {
            ExpressionSite::Label(edge) => match edge.text {
                Some(text) => text.within(&edge.label, start, end),
                None => edge.spot,
            },
            ExpressionSite::Setting { step, path, offset } => {
                step.inside(path, offset + start, offset + end)
            }
        }
    }
}

/// Returns the problems of the expressions of a step and of the edges that leave it.
pub(crate) fn check(workflow: &Workflow, step: &WorkflowStep) -> Vec<WorkflowProblem> {
    let mut reading = ReferenceCheck {
        workflow,
        step,
        problems: Vec::new(),
    };
    for edge in workflow.outgoing(&step.id) {
        reading.condition(edge);
    }
    reading.settings();
    reading.problems
}

/// The step whose expressions are checked, and the problems found so far.
struct ReferenceCheck<'w> {
    workflow: &'w Workflow,
    step: &'w WorkflowStep,
    problems: Vec<WorkflowProblem>,
}

impl<'w> ReferenceCheck<'w> {
    fn condition(&mut self, edge: &'w WorkflowEdge) {
        let EdgeCondition::Condition(condition) = &edge.when else {
            return;
        };
        if edge.label == *condition {
            self.sense(condition, ExpressionSite::Label(edge));
            return self.expression(
                condition,
                ExpressionSite::Label(edge),
                ProblemSeverity::Error,
            );
        }
        let mut branches = self.step.config.branches.iter().flatten();
        let at = branches.position(|branch| {
            branch.target_step_id == edge.to.as_str()
                && branch.condition.as_ref() == Some(condition)
        });
        let path = format!("branches.{}.condition", at.unwrap_or(0));
        let site = ExpressionSite::Setting {
            step: self.step,
            path: &path,
            offset: 0,
        };
        self.sense(condition, site);
        self.expression(condition, site, ProblemSeverity::Error);
    }

    /// Checks that a condition is one, and can be true or false.
    fn sense(&mut self, condition: &str, site: ExpressionSite<'_>) {
        let spot = site.spot(0, condition.len());
        let mut wrong = |message: String, hint: &str| {
            let problem = WorkflowProblem::error(WorkflowProblemCode::Expression, spot, message);
            self.problems.push(problem.hint(hint));
        };
        if assigns(condition) {
            let message = format!("`{condition}` sets a value and compares nothing.");
            wrong(message, "write `===` to compare");
        } else if expr::references(condition).is_ok_and(|reads| reads.is_empty()) {
            let message =
                format!("`{condition}` reads no value, so its result is always the same.");
            wrong(message, CONDITION_HINT);
        }
    }

    fn settings(&mut self) {
        let step = self.step;
        let config = &step.config;
        if let Some(prompt) = &config.prompt {
            self.text("prompt", prompt);
        }
        for (at, id) in config.context_from.iter().flatten().enumerate() {
            if let Some(message) = self.step_reference(step, id) {
                let spot = step.value(&format!("contextFrom.{at}"));
                let message =
                    message.replace(&format!("`steps.{id}`"), &format!("`contextFrom` {id}"));
                self.problems.push(WorkflowProblem::warning(
                    WorkflowProblemCode::UnknownReference,
                    spot,
                    message,
                ));
            }
        }
        if let Some(path) = &config.items_path {
            self.whole("itemsPath", path);
        }
        if let Some(until) = &config.until {
            self.whole("until", until);
        }
        for (name, mapped) in config.input_mapping.iter().flatten() {
            let path = format!("inputMapping.{name}");
            match mapped.contains("{{") {
                true => self.text(&path, mapped),
                false => self.whole(&path, mapped),
            }
        }
        let is_plain = step.handler() == StepHandler::Task;
        for (name, value) in config.config.iter().flatten().filter(|_| !is_plain) {
            for (path, text) in strings(&format!("config.{name}"), value) {
                self.text(&path, text);
            }
        }
    }

    /// Checks a setting that is an expression.
    fn whole(&mut self, path: &str, source: &str) {
        let site = ExpressionSite::Setting {
            step: self.step,
            path,
            offset: 0,
        };
        self.expression(source, site, ProblemSeverity::Warning);
    }

    /// Checks a setting that is a text with `{{ }}`.
    fn text(&mut self, path: &str, text: &str) {
        let step = self.step;
        match expr::pieces(text) {
            Err(error) => {
                let at = error.offset().map_or(0, |at| at as usize);
                let spot = step.inside(path, at, at + 2);
                let message = format!("A `{{{{` of `{}` is not closed.", step.id);
                self.problems.push(WorkflowProblem::error(
                    WorkflowProblemCode::Expression,
                    spot,
                    message,
                ));
            }
            Ok(pieces) => {
                for piece in pieces {
                    if let expr::InterpolationPiece::Expression { source, offset } = piece {
                        let site = ExpressionSite::Setting { step, path, offset };
                        self.expression(source, site, ProblemSeverity::Warning);
                    }
                }
            }
        }
    }

    fn expression(&mut self, source: &str, site: ExpressionSite<'_>, severity: ProblemSeverity) {
        match expr::references(source) {
            Err(error) => {
                let spot = match error.offset().map(|at| at as usize) {
                    Some(at) if at < source.len() => site.spot(at, at + 1),
                    _ => site.spot(0, source.len()),
                };
                let message = format!(
                    "`{}` is no expression: {}.",
                    source.trim(),
                    error.message().trim_end_matches('.')
                );
                let problem =
                    WorkflowProblem::error(WorkflowProblemCode::Expression, spot, message);
                self.problems.push(match site {
                    ExpressionSite::Label(_) => problem.hint(CONDITION_HINT),
                    ExpressionSite::Setting { .. } => problem,
                });
            }
            Ok(reads) => {
                for reference in &reads {
                    if site.takes_secrets()
                        && reference.path.first().is_some_and(|name| name == "secrets")
                    {
                        continue;
                    }
                    let spot = site.spot(reference.offset, end(source, reference));
                    self.reference(reference, spot, severity);
                }
            }
        }
    }

    /// Checks whether a referenced value can exist when the step reads it.
    fn reference(&mut self, reference: &NameReference, spot: LineSpan, severity: ProblemSeverity) {
        let step = self.step;
        let Some(name) = reference.path.first().map(String::as_str) else {
            return;
        };
        let message = match name {
            "steps" => match reference.path.get(1) {
                Some(id) => self.step_reference(step, id),
                None => None,
            },
            "output" if self.workflow.starts().contains(&step.id) && !self.is_led_to(step) => Some(
                format!("`output` at `{}`: no step comes before it.", step.id),
            ),
            "index" | "total" if !in_items(step) => Some(format!(
                "`{name}` at `{}`: the step is in no foreach.",
                step.id
            )),
            "agent" | "run" => unknown_field(step, name, reference),
            name if NAMES.contains(&name) || GLOBALS.contains(&name) => None,
            name if MORE_GLOBALS.contains(&name) || self.is_variable(step, name) => None,
            name => Some(format!("Unknown name `{name}` at `{}`.", step.id)),
        };
        let Some(message) = message else {
            return;
        };
        let problem = match severity {
            ProblemSeverity::Error if !matches!(name, "steps" | "output") => {
                WorkflowProblem::error(WorkflowProblemCode::UnknownReference, spot, message)
            }
            _ => WorkflowProblem::warning(WorkflowProblemCode::UnknownReference, spot, message),
        };
        let is_word = matches!(
            name.to_lowercase().as_str(),
            "yes" | "no" | "ok" | "pass" | "fail" | "passed" | "failed" | "success" | "failure"
        );
        self.problems.push(match NAMES.contains(&name) {
            true => problem,
            false if is_word && severity == ProblemSeverity::Error => problem.hint(CONDITION_HINT),
            false => problem.hint(format!("a step before gave it? Write `output.{name}`")),
        });
    }

    fn step_reference(&self, step: &WorkflowStep, id: &str) -> Option<String> {
        let known = self.workflow.steps().iter().map(|step| step.id.as_str());
        let Some(named) = self.workflow.step(&StepId::new(id)) else {
            let near = nearest(id, known);
            let near = near
                .map(|near| format!(" Is it `{near}`?"))
                .unwrap_or_default();
            return Some(format!(
                "`steps.{id}` at `{}`: there is no such step.{near}",
                step.id
            ));
        };
        if named.step_type == StepType::Decision {
            return Some(format!(
                "`steps.{id}` at `{}`: a decision has no output.",
                step.id
            ));
        }
        let earlier = crate::workflow::reaching(&step.id, self.workflow.edges());
        if !earlier.contains(&named.id) {
            return Some(format!(
                "`steps.{id}` at `{}`: that step never comes before this one.",
                step.id
            ));
        }
        let inside =
            named.scope.len() > own_scope(step).len() || !own_scope(step).starts_with(&named.scope);
        inside.then(|| {
            format!(
                "`steps.{id}` at `{}`: the step is in a foreach that has ended by then.",
                step.id
            )
        })
    }

    fn is_led_to(&self, step: &WorkflowStep) -> bool {
        self.workflow.edges().iter().any(|edge| edge.to == step.id)
    }

    fn is_variable(&self, step: &WorkflowStep, name: &str) -> bool {
        let mut around = own_scope(step);
        if step.step_type == StepType::Decision {
            around.clone_from(&step.scope);
        }
        let foreach = around.iter().filter_map(|id| self.workflow.step(id));
        foreach
            .into_iter()
            .any(|foreach| foreach.item_variable() == name)
    }
}

/// The fields of an agent and of a run.
const FIELDS: [(&str, &[&str]); 2] = [
    ("agent", &["id", "name", "displayName"]),
    ("run", &["id", "status", "depth", "tags", "startedAt"]),
];

fn unknown_field(step: &WorkflowStep, name: &str, reference: &NameReference) -> Option<String> {
    let (_, known) = FIELDS.iter().find(|(of, _)| *of == name)?;
    let field = reference.path.get(1)?;
    (!known.contains(&field.as_str())).then(|| {
        format!(
            "`{name}.{field}` at `{}` is unknown: there are {}.",
            step.id,
            known.join(", ")
        )
    })
}

/// Returns the foreach steps whose items a step's own expressions see.
fn own_scope(step: &WorkflowStep) -> Vec<StepId> {
    let mut scope = step.scope.clone();
    if step.step_type == StepType::Foreach && step.has_work() {
        scope.push(step.id.clone());
    }
    scope
}

fn in_items(step: &WorkflowStep) -> bool {
    !own_scope(step).is_empty()
}

/// Tells whether an expression assigns: a `=` that is no part of a comparison or an arrow.
fn assigns(source: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => {
                chars.next();
            }
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '=') if matches!(chars.peek(), Some('=' | '>')) => {
                while chars.next_if(|next| matches!(next, '=' | '>')).is_some() {}
            }
            (None, '=') if !matches!(before, '!' | '<' | '>') => return true,
            _ => {}
        }
        before = c;
    }
    false
}

/// Returns the end of a reference in its expression.
fn end(source: &str, reference: &NameReference) -> usize {
    let whole = reference.path.join(".");
    let name = reference.path.first().map_or(1, String::len);
    let rest = source.get(reference.offset..).unwrap_or("");
    match rest.starts_with(&whole) {
        true => reference.offset + whole.len(),
        false => reference.offset + name,
    }
}

/// Returns every text in a value, with its path.
fn strings<'v>(path: &str, value: &'v Value) -> Vec<(String, &'v str)> {
    let below = |name: &str, value: &'v Value| strings(&format!("{path}.{name}"), value);
    match value {
        Value::String(text) => vec![(path.to_owned(), text)],
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .flat_map(|(at, item)| below(&at.to_string(), item))
                .collect()
        }
        Value::Object(map) => {
            let fields = map.iter();
            fields
                .flat_map(|(name, value)| below(name, value))
                .collect()
        }
        _ => Vec::new(),
    }
}
