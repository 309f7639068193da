//! What expressions read: whether they parse, and whether it can be there by then.

use expr::Reference;
use prompt::nearest;
use serde_json::Value;

use crate::config::{Handler, StepType};
use crate::error::{Code, Problem, Severity};
use crate::id::StepId;
use crate::spot::Spot;
use crate::workflow::{Edge, Step, When, Workflow};

/// The names every expression knows.
const NAMES: [&str; 8] = [
    "input", "output", "steps", "run", "agent", "index", "total", "parentId",
];
/// What JavaScript brings along.
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

/// Where an expression is written.
#[derive(Clone, Copy, Debug)]
enum Site<'w> {
    Label(&'w Edge),
    /// In a setting that is a text, from this byte of it on.
    Setting {
        step: &'w Step,
        path: &'w str,
        offset: usize,
    },
}

impl Site<'_> {
    /// Whether `{{secrets.NAME}}` means a variable here: in what an `http` step sends.
    fn takes_secrets(&self) -> bool {
        match self {
            Site::Label(_) => false,
            Site::Setting { step, path, .. } => {
                let is_sent = path.starts_with("config.headers") || path.starts_with("config.body");
                is_sent && step.handler() == Handler::Http
            }
        }
    }

    /// Where a part of the expression stands.
    fn spot(&self, start: usize, end: usize) -> Spot {
        match self {
            Site::Label(edge) => match edge.text {
                Some(text) => text.within(&edge.label, start, end),
                None => edge.spot,
            },
            Site::Setting { step, path, offset } => step.inside(path, offset + start, offset + end),
        }
    }
}

/// What is wrong with the expressions of a step and of the edges that leave it.
pub(crate) fn check(workflow: &Workflow, step: &Step) -> Vec<Problem> {
    let mut reading = Reading {
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

struct Reading<'w> {
    workflow: &'w Workflow,
    step: &'w Step,
    problems: Vec<Problem>,
}

impl<'w> Reading<'w> {
    fn condition(&mut self, edge: &'w Edge) {
        let When::Condition(condition) = &edge.when else {
            return;
        };
        if edge.label == *condition {
            self.sense(condition, Site::Label(edge));
            return self.expression(condition, Site::Label(edge), Severity::Error);
        }
        let mut branches = self.step.config.branches.iter().flatten();
        let at = branches.position(|branch| {
            branch.target_step_id == edge.to.as_str()
                && branch.condition.as_ref() == Some(condition)
        });
        let path = format!("branches.{}.condition", at.unwrap_or(0));
        let site = Site::Setting {
            step: self.step,
            path: &path,
            offset: 0,
        };
        self.sense(condition, site);
        self.expression(condition, site, Severity::Error);
    }

    /// A condition that is one, and can come out either way.
    fn sense(&mut self, condition: &str, site: Site<'_>) {
        let spot = site.spot(0, condition.len());
        let mut wrong = |message: String, hint: &str| {
            let problem = Problem::error(Code::Expression, spot, message);
            self.problems.push(problem.hint(hint));
        };
        if assigns(condition) {
            let message = format!("`{condition}` sets a value and compares nothing.");
            wrong(message, "write `===` to compare");
        } else if expr::references(condition).is_ok_and(|reads| reads.is_empty()) {
            let message =
                format!("`{condition}` reads nothing, so that it always comes out the same.");
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
                self.problems
                    .push(Problem::warning(Code::UnknownReference, spot, message));
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
        for (name, value) in config.config.iter().flatten() {
            for (path, text) in strings(&format!("config.{name}"), value) {
                self.text(&path, text);
            }
        }
    }

    /// A setting that is an expression.
    fn whole(&mut self, path: &str, source: &str) {
        let site = Site::Setting {
            step: self.step,
            path,
            offset: 0,
        };
        self.expression(source, site, Severity::Warning);
    }

    /// A setting that is a text with `{{ }}`.
    fn text(&mut self, path: &str, text: &str) {
        let step = self.step;
        match expr::pieces(text) {
            Err(error) => {
                let at = error.offset().map_or(0, |at| at as usize);
                let spot = step.inside(path, at, at + 2);
                let message = format!("A `{{{{` of `{}` is not closed.", step.id);
                self.problems
                    .push(Problem::error(Code::Expression, spot, message));
            }
            Ok(pieces) => {
                for piece in pieces {
                    if let expr::Piece::Expression { source, offset } = piece {
                        let site = Site::Setting { step, path, offset };
                        self.expression(source, site, Severity::Warning);
                    }
                }
            }
        }
    }

    fn expression(&mut self, source: &str, site: Site<'_>, severity: Severity) {
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
                let problem = Problem::error(Code::Expression, spot, message);
                self.problems.push(match site {
                    Site::Label(_) => problem.hint(CONDITION_HINT),
                    Site::Setting { .. } => problem,
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

    /// Whether what is read at a step can be there by then.
    fn reference(&mut self, reference: &Reference, spot: Spot, severity: Severity) {
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
                "`{name}` at `{}`: it stands in no foreach.",
                step.id
            )),
            "agent" | "run" => unknown_field(step, name, reference),
            name if NAMES.contains(&name) || GLOBALS.contains(&name) => None,
            name if MORE_GLOBALS.contains(&name) || self.is_variable(step, name) => None,
            name => Some(format!(
                "`{name}` at `{}` is no name that a run knows.",
                step.id
            )),
        };
        let Some(message) = message else {
            return;
        };
        let problem = match severity {
            Severity::Error if !matches!(name, "steps" | "output") => {
                Problem::error(Code::UnknownReference, spot, message)
            }
            _ => Problem::warning(Code::UnknownReference, spot, message),
        };
        let is_word = matches!(
            name.to_lowercase().as_str(),
            "yes" | "no" | "ok" | "pass" | "fail" | "passed" | "failed" | "success" | "failure"
        );
        self.problems.push(match NAMES.contains(&name) {
            true => problem,
            false if is_word && severity == Severity::Error => problem.hint(CONDITION_HINT),
            false => problem.hint(format!("a step before gave it? Write `output.{name}`")),
        });
    }

    fn step_reference(&self, step: &Step, id: &str) -> Option<String> {
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
                "`steps.{id}` at `{}`: it stands in a foreach that is over by then.",
                step.id
            )
        })
    }

    fn is_led_to(&self, step: &Step) -> bool {
        self.workflow.edges().iter().any(|edge| edge.to == step.id)
    }

    fn is_variable(&self, step: &Step, name: &str) -> bool {
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

/// What is known of an agent and of a run.
const FIELDS: [(&str, &[&str]); 2] = [
    ("agent", &["id", "name", "displayName"]),
    ("run", &["id", "status", "depth", "tags", "startedAt"]),
];

fn unknown_field(step: &Step, name: &str, reference: &Reference) -> Option<String> {
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

/// The foreach steps whose items a step's own expressions see.
fn own_scope(step: &Step) -> Vec<StepId> {
    let mut scope = step.scope.clone();
    if step.step_type == StepType::Foreach && step.has_work() {
        scope.push(step.id.clone());
    }
    scope
}

fn in_items(step: &Step) -> bool {
    !own_scope(step).is_empty()
}

/// Whether an expression sets something: a `=` that is no part of a comparison or an arrow.
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

/// Where a reference ends in its expression.
fn end(source: &str, reference: &Reference) -> usize {
    let whole = reference.path.join(".");
    let name = reference.path.first().map_or(1, String::len);
    let rest = source.get(reference.offset..).unwrap_or("");
    match rest.starts_with(&whole) {
        true => reference.offset + whole.len(),
        false => reference.offset + name,
    }
}

/// Every text in a value, with its path.
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
