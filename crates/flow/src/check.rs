//! What is wrong with a workflow whose text is clear: told when it is saved, with its line.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use expr::Reference;
use serde_json::Value;

use crate::config::StepType;
use crate::error::{Code, Problem, Severity};
use crate::id::StepId;
use crate::settings;
use crate::workflow::{DEPTH_MAX, Edge, Step, When, Workflow, nearest};

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

/// What there is around a workflow. What is `None` is not known, and not checked.
#[derive(Clone, Debug, Default)]
pub struct Surroundings<'a> {
    /// The slugs of agents and people.
    pub assignees: Option<BTreeSet<String>>,
    /// The workflows a subflow can name, this one among them.
    pub workflows: Option<BTreeMap<String, &'a Workflow>>,
    /// The name of this one.
    pub name: Option<String>,
}

/// Everything that is wrong or looks wrong, from the top of the text. A workflow may be saved when
/// no [`Severity::Error`] is among it.
#[must_use]
pub fn check(workflow: &Workflow, around: &Surroundings<'_>) -> Vec<Problem> {
    let mut check = Check {
        workflow,
        problems: Vec::new(),
    };
    check.reachable();
    check.cycles();
    for step in workflow.steps() {
        check.problems.extend(settings::check(step));
        check.expressions(step);
        check.assignees(step, around);
        match step.step_type {
            StepType::Decision => check.decision(step),
            StepType::Subflow => check.subflow(step, around),
            _ => {}
        }
    }
    let mut problems = check.problems;
    problems.sort_by_key(|problem| (problem.line, problem.severity));
    problems.dedup();
    problems
}

/// Whether nothing but warnings was found.
#[must_use]
pub fn is_fine(problems: &[Problem]) -> bool {
    problems
        .iter()
        .all(|problem| problem.severity == Severity::Warning)
}

struct Check<'w> {
    workflow: &'w Workflow,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn reachable(&mut self) {
        let mut found: HashSet<&StepId> = self.workflow.starts().iter().collect();
        let mut open: Vec<&StepId> = self.workflow.starts().iter().collect();
        while let Some(step) = open.pop() {
            for edge in self.workflow.outgoing(step) {
                if found.insert(&edge.to) {
                    open.push(&edge.to);
                }
            }
        }
        for step in self.workflow.steps() {
            if !found.contains(&step.id) {
                let message = format!("No run can come to the step `{}`.", step.id);
                let problem = Problem::error(Code::Unreachable, step.line, message);
                let hint = "a run begins at the steps that no edge leads to, or at the first one";
                self.problems.push(problem.hint(hint));
            }
        }
    }

    /// Cycles that no condition can end, and cycles in which nothing happens.
    fn cycles(&mut self) {
        let workflow = self.workflow;
        let is_decision = |id: &StepId| {
            let step = workflow.step(id);
            step.is_some_and(|step| step.step_type == StepType::Decision)
        };
        let only_way = |edge: &&Edge| match edge.when {
            When::Always => true,
            When::Condition(_) | When::Default => workflow.outgoing(&edge.from).count() == 1,
            When::OnError => false,
        };
        let unconditional: Vec<&Edge> = workflow.edges().iter().filter(only_way).collect();
        let within_decisions: Vec<&Edge> = workflow
            .edges()
            .iter()
            .filter(|edge| is_decision(&edge.from) && is_decision(&edge.to))
            .collect();
        for (edges, what) in [
            (unconditional, "no decision ever ends it"),
            (within_decisions, "nothing is done in it"),
        ] {
            if let Some(edge) = closing(&edges) {
                let message = format!(
                    "The edge from `{}` to `{}` closes a cycle, and {what}.",
                    edge.from, edge.to
                );
                let problem = Problem::error(Code::EndlessCycle, edge.line, message);
                let hint = "lead the way back through a decision with a way out";
                self.problems.push(problem.hint(hint));
            }
        }
    }

    fn decision(&mut self, step: &Step) {
        let edges: Vec<&Edge> = self.workflow.outgoing(&step.id).collect();
        if edges.is_empty() {
            let message = format!("The decision `{}` leads nowhere.", step.id);
            self.problems
                .push(Problem::error(Code::Branch, step.line, message));
            return;
        }
        let conditions: Vec<&str> = edges.iter().filter_map(|edge| condition(edge)).collect();
        let default = edges.iter().any(|edge| edge.when == When::Default);
        if !default && !exhaustive(&conditions) {
            let message = format!(
                "The decision `{}` has no default branch: where no condition holds, the task before \
                 it is put on hold.",
                step.id
            );
            let problem = Problem::warning(Code::NoDefault, step.line, message);
            self.problems
                .push(problem.hint("label one of its edges `default`"));
        }
        for edge in edges {
            if let Some(source) = condition(edge) {
                self.condition(step, source, edge.line);
            }
        }
    }

    fn condition(&mut self, step: &Step, source: &str, line: usize) {
        match expr::references(source) {
            Err(error) => self.unparsable(source, line, &error),
            Ok(reads) => {
                for reference in &reads {
                    self.reference(step, reference, line, Severity::Error);
                }
            }
        }
    }

    fn unparsable(&mut self, source: &str, line: usize, error: &expr::Error) {
        let message = format!(
            "`{source}` is no expression: {}.",
            error.message().trim_end_matches('.')
        );
        self.problems
            .push(Problem::error(Code::Expression, line, message));
    }

    fn expressions(&mut self, step: &Step) {
        let line = step.config_line.unwrap_or(step.line);
        let mut texts: Vec<&str> = step.config.prompt.iter().map(String::as_str).collect();
        let mut sources: Vec<&str> = step.config.items_path.iter().map(String::as_str).collect();
        for mapped in step.config.input_mapping.iter().flat_map(BTreeMap::values) {
            match mapped.contains("{{") {
                true => texts.push(mapped),
                false => sources.push(mapped),
            }
        }
        let strings = step
            .config
            .config
            .iter()
            .flat_map(|map| map.values())
            .flat_map(strings);
        let strings: Vec<String> = strings.collect();
        texts.extend(strings.iter().map(String::as_str));
        for text in texts {
            match expr::pieces(text) {
                Err(error) => self.unparsable(text, line, &error),
                Ok(pieces) => sources.extend(pieces.into_iter().filter_map(|piece| match piece {
                    expr::Piece::Expression { source, .. } => Some(source),
                    expr::Piece::Text(_) => None,
                })),
            }
        }
        for source in sources {
            match expr::references(source) {
                Err(error) => self.unparsable(source.trim(), line, &error),
                Ok(reads) => {
                    for reference in &reads {
                        self.reference(step, reference, line, Severity::Warning);
                    }
                }
            }
        }
    }

    /// Whether what is read at a step can be there by then.
    fn reference(&mut self, step: &Step, reference: &Reference, line: usize, severity: Severity) {
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
                Problem::error(Code::UnknownReference, line, message)
            }
            _ => Problem::warning(Code::UnknownReference, line, message),
        };
        let known = NAMES.contains(&name);
        self.problems.push(match known {
            true => problem,
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

    fn assignees(&mut self, step: &Step, around: &Surroundings<'_>) {
        let Some(known) = &around.assignees else {
            return;
        };
        let line = step.config_line.unwrap_or(step.line);
        let named = [
            &step.config.default_assignee_id,
            &step.config.fallback_assignee_id,
        ];
        for slug in named.into_iter().flatten() {
            if !known.contains(slug) {
                let message = format!("`{}` is assigned to `{slug}`, whom nobody knows.", step.id);
                let mut problem = Problem::error(Code::UnknownAgent, line, message);
                if let Some(near) = nearest(slug, known.iter().map(String::as_str)) {
                    problem = problem.hint(format!("did you mean `{near}`?"));
                }
                self.problems.push(problem);
            }
        }
    }

    fn subflow(&mut self, step: &Step, around: &Surroundings<'_>) {
        let line = step.config_line.unwrap_or(step.line);
        let Some(known) = &around.workflows else {
            return;
        };
        let name = step.subflow();
        if !known.contains_key(name) && around.name.as_deref() != Some(name) {
            let message = format!(
                "`{}` runs `{name}`, but there is no such workflow.",
                step.id
            );
            let mut problem = Problem::error(Code::UnknownSubflow, line, message);
            if let Some(near) = nearest(name, known.keys().map(String::as_str)) {
                problem = problem.hint(format!("did you mean `{near}`?"));
            }
            self.problems.push(problem);
        } else if step.config.max_depth.is_none() && comes_back(name, known, around.name.as_deref())
        {
            let message = format!(
                "`{}` runs `{name}`, which runs this workflow again.",
                step.id
            );
            let problem = Problem::error(Code::Recursion, line, message);
            let hint = format!("set its `maxDepth`, up to {DEPTH_MAX}");
            self.problems.push(problem.hint(hint));
        }
    }
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

fn condition(edge: &Edge) -> Option<&str> {
    match &edge.when {
        When::Condition(condition) => Some(condition),
        _ => None,
    }
}

/// `x` and `!x`, `a === b` and `a !== b`, `true`: one of the branches is always taken.
fn exhaustive(conditions: &[&str]) -> bool {
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    let all: HashSet<String> = conditions.iter().map(|c| squeezed(c)).collect();
    let opposites = [("===", "!=="), ("==", "!="), (">=", "<"), ("<=", ">")];
    all.iter().any(|one| {
        let negated = [format!("!{one}"), format!("!({one})")];
        let turned = opposites.iter().flat_map(|(a, b)| {
            let forth = one.contains(a).then(|| one.replacen(a, b, 1));
            let back = one.contains(b).then(|| one.replacen(b, a, 1));
            [forth, back]
        });
        one == "true"
            || negated.iter().any(|other| all.contains(other))
            || turned
                .flatten()
                .any(|other| other != *one && all.contains(&other))
    })
}

/// The first edge, as they are written, that closes a cycle among these.
fn closing<'e>(edges: &[&'e Edge]) -> Option<&'e Edge> {
    let mut next: HashMap<&StepId, Vec<&StepId>> = HashMap::new();
    for edge in edges {
        let mut open = vec![&edge.to];
        let mut seen: HashSet<&StepId> = HashSet::new();
        while let Some(step) = open.pop() {
            if *step == edge.from {
                return Some(edge);
            }
            if seen.insert(step) {
                open.extend(next.get(step).into_iter().flatten());
            }
        }
        next.entry(&edge.from).or_default().push(&edge.to);
    }
    None
}

/// Whether a workflow leads back to one of this name, through subflows that set no `maxDepth`.
fn comes_back(name: &str, known: &BTreeMap<String, &Workflow>, own: Option<&str>) -> bool {
    let Some(own) = own else {
        return false;
    };
    let mut open = vec![name.to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if name == own {
            return true;
        }
        let Some(workflow) = known.get(&name).filter(|_| seen.insert(name.clone())) else {
            continue;
        };
        let subflows = workflow
            .steps()
            .iter()
            .filter(|step| step.step_type == StepType::Subflow);
        let unbounded = subflows.filter(|step| step.config.max_depth.is_none());
        open.extend(unbounded.map(|step| step.subflow().to_owned()));
    }
    false
}

/// Every text in a value.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
