//! Checks a workflow that parses: reports every problem, with its place, when the workflow is
//! saved.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use diagnostics::nearest;

use crate::commands;
use crate::config::{ExecutionMode, StepType};
use crate::error::{ProblemSeverity, WorkflowProblem, WorkflowProblemCode};
use crate::id::StepId;
use crate::idle;
use crate::references;
use crate::settings;
use crate::workflow::{DEPTH_MAX, EdgeCondition, Workflow, WorkflowEdge, WorkflowStep};

/// The agents, people and workflows that a workflow may name. A field that is `None` is unknown and
/// not checked.
#[derive(Clone, Debug, Default)]
pub struct CheckSurroundings<'a> {
    /// The slugs of agents.
    pub agents: Option<BTreeSet<String>>,
    /// The slugs of people.
    pub people: Option<BTreeSet<String>>,
    /// The workflows a subflow can name, this one among them.
    pub workflows: Option<BTreeMap<String, &'a Workflow>>,
    /// The name of this one.
    pub name: Option<String>,
}

/// Returns all problems, from the top of the text. A workflow without a [`ProblemSeverity::Error`] may be
/// saved.
#[must_use]
pub fn check(workflow: &Workflow, around: &CheckSurroundings<'_>) -> Vec<WorkflowProblem> {
    let mut check = WorkflowCheck {
        workflow,
        problems: Vec::new(),
    };
    check.reachable();
    check.alone();
    check.repeated();
    check.drawn_twice();
    check.second_errors();
    check.cycles();
    for step in workflow.steps() {
        check.problems.extend(settings::check(step));
        check.problems.extend(idle::check(workflow, step));
        check.problems.extend(references::check(workflow, step));
        check.problems.extend(commands::check(step));
        check.assignees(step, around);
        match step.step_type {
            StepType::Decision => check.decision(step),
            StepType::Subflow => check.subflow(step, around),
            _ => {}
        }
    }
    let mut problems = check.problems;
    problems.sort_by_key(|problem| (problem.line, problem.column, problem.severity));
    problems.dedup();
    problems
}

/// Tells whether there are no problems but warnings.
#[must_use]
pub fn is_fine(problems: &[WorkflowProblem]) -> bool {
    problems
        .iter()
        .all(|problem| problem.severity == ProblemSeverity::Warning)
}

/// Limits the names listed in a hint when no similar name exists.
const LISTED_MAX: usize = 8;

/// The workflow being checked, and the problems found so far.
struct WorkflowCheck<'w> {
    workflow: &'w Workflow,
    problems: Vec<WorkflowProblem>,
}

impl WorkflowCheck<'_> {
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
                let problem =
                    WorkflowProblem::error(WorkflowProblemCode::Unreachable, step.spot, message);
                let hint = "a run begins at the steps that no edge leads to, or at the first one";
                self.problems.push(problem.hint(hint));
            }
        }
    }

    /// Warns about a node without edges: it is often a remark, and would be run.
    fn alone(&mut self) {
        let edges = self.workflow.edges().iter();
        let ends: HashSet<&StepId> = edges.flat_map(|edge| [&edge.from, &edge.to]).collect();
        if ends.is_empty() {
            return;
        }
        for step in self.workflow.steps() {
            if !ends.contains(&step.id) {
                let message = format!(
                    "`{}` has no edges: every run executes it at its start.",
                    step.id
                );
                let problem =
                    WorkflowProblem::warning(WorkflowProblemCode::Alone, step.spot, message);
                let hint = "is it a remark? Write it as a comment: `%% …`";
                self.problems.push(problem.hint(hint));
            }
        }
    }

    /// Warns about paths that part at one step and meet at another that is no join: the step would
    /// be run twice.
    fn repeated(&mut self) {
        let workflow = self.workflow;
        let mut into: HashMap<&StepId, Vec<&WorkflowEdge>> = HashMap::new();
        for edge in workflow.edges() {
            into.entry(&edge.to).or_default().push(edge);
        }
        let mut found: BTreeMap<&StepId, Option<&StepId>> = BTreeMap::new();
        let forks = workflow.steps().iter().map(|fork| {
            let ways = workflow.outgoing(&fork.id);
            let ways = ways.filter(|edge| edge.when == EdgeCondition::Always);
            (Some(&fork.id), ways.map(|edge| &edge.to).collect())
        });
        let begin: Vec<&StepId> = workflow.starts().iter().collect();
        for (fork, ways) in forks.chain(std::iter::once((None, begin))) {
            let ways: Vec<&StepId> = ways;
            if ways.len() < 2 {
                continue;
            }
            let sides = ways.iter().map(|first| self.side(fork, first));
            let sides: Vec<HashSet<&StepId>> = sides.collect();
            for (step, edges) in &into {
                // The edges and origins of each path.
                let mut came: Vec<(usize, &StepId)> = Vec::new();
                for (way, (first, side)) in ways.iter().zip(&sides).enumerate() {
                    let here = edges.iter().filter(|edge| {
                        side.contains(&edge.from)
                            || (Some(&edge.from) == fork && edge.to == **first)
                    });
                    came.extend(here.map(|edge| (way, &edge.from)));
                }
                let meets = came.iter().any(|(way, from)| {
                    let mut others = came.iter();
                    others.any(|(other, also)| way != other && from != also)
                });
                if meets {
                    found.entry(step).or_insert(fork);
                }
            }
        }
        for (id, fork) in found {
            let step = workflow.step(id);
            let Some(step) = step.filter(|step| step.step_type != StepType::Join) else {
                continue;
            };
            let from = match fork {
                Some(fork) => format!("`{fork}`"),
                None => "the starts of a run".to_owned(),
            };
            let message = format!(
                "`{id}` is reached by several paths from {from} at once, and is done once for each."
            );
            let problem =
                WorkflowProblem::warning(WorkflowProblemCode::Repeated, step.spot, message);
            let hint =
                "let the paths come together in a `[Join …]` before, if it is to be done once";
            self.problems.push(problem.hint(hint));
        }
    }

    /// Returns the steps on one side of a fork, up to joins and not through the fork.
    fn side(&self, fork: Option<&StepId>, first: &StepId) -> HashSet<&StepId> {
        let mut found = HashSet::new();
        let mut open = vec![first.clone()];
        while let Some(id) = open.pop() {
            let Some(step) = self.workflow.step(&id) else {
                continue;
            };
            let ends = Some(&id) == fork || step.step_type == StepType::Join;
            if !ends && found.insert(&step.id) {
                open.extend(self.workflow.outgoing(&id).map(|edge| edge.to.clone()));
            }
        }
        found
    }

    /// Warns about duplicate edges: their target would be run twice.
    fn drawn_twice(&mut self) {
        let mut seen = HashSet::new();
        for edge in self.workflow.edges() {
            if edge.when == EdgeCondition::Always && !seen.insert((&edge.from, &edge.to)) {
                let message = format!(
                    "The edge from `{}` to `{}` is drawn twice, and taken twice.",
                    edge.from, edge.to
                );
                let problem =
                    WorkflowProblem::warning(WorkflowProblemCode::Repeated, edge.spot, message);
                self.problems.push(problem.hint("remove one of them"));
            }
        }
    }

    /// Refuses a second error edge: only one step can follow a failure.
    fn second_errors(&mut self) {
        for step in self.workflow.steps() {
            let edges = self.workflow.outgoing(&step.id);
            let mut errors = edges.filter(|edge| edge.when == EdgeCondition::OnError);
            let first = errors.next();
            if let (Some(first), Some(second)) = (first, errors.next()) {
                let message = format!(
                    "`{}` has a second `onError` edge, to `{}`: only the one to `{}` is ever taken.",
                    step.id, second.to, first.to
                );
                let problem =
                    WorkflowProblem::error(WorkflowProblemCode::Branch, second.spot, message);
                let hint = format!("draw the edge to `{}` from `{}`", second.to, first.to);
                self.problems.push(problem.hint(hint));
            }
        }
    }

    /// Refuses cycles that no condition can end, and cycles without a task.
    fn cycles(&mut self) {
        let workflow = self.workflow;
        let is_decision = |id: &StepId| {
            let step = workflow.step(id);
            step.is_some_and(|step| step.step_type == StepType::Decision)
        };
        let only_way = |edge: &&WorkflowEdge| match edge.when {
            EdgeCondition::Always => true,
            EdgeCondition::Condition(_) | EdgeCondition::Default => {
                workflow.outgoing(&edge.from).count() == 1
            }
            EdgeCondition::OnError => false,
        };
        let unconditional: Vec<&WorkflowEdge> = workflow.edges().iter().filter(only_way).collect();
        let within_decisions: Vec<&WorkflowEdge> = workflow
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
                let problem =
                    WorkflowProblem::error(WorkflowProblemCode::EndlessCycle, edge.spot, message);
                let hint = "lead the way back through a decision with a way out";
                self.problems.push(problem.hint(hint));
            }
        }
    }

    fn decision(&mut self, step: &WorkflowStep) {
        let edges: Vec<&WorkflowEdge> = self.workflow.outgoing(&step.id).collect();
        if edges.is_empty() {
            let message = format!("The decision `{}` leads nowhere.", step.id);
            self.problems.push(WorkflowProblem::error(
                WorkflowProblemCode::Branch,
                step.spot,
                message,
            ));
            return;
        }
        let conditions: Vec<&str> = edges.iter().filter_map(|edge| condition(edge)).collect();
        let default = edges.iter().any(|edge| edge.when == EdgeCondition::Default);
        if !default && !exhaustive(&conditions) {
            let message = format!(
                "The decision `{}` has no default branch: where no condition holds, the task before \
                 it is put on hold.",
                step.id
            );
            let problem =
                WorkflowProblem::warning(WorkflowProblemCode::NoDefault, step.spot, message);
            self.problems
                .push(problem.hint("label one of its edges `default`"));
        }
    }

    fn assignees(&mut self, step: &WorkflowStep, around: &CheckSurroundings<'_>) {
        let manual = step.execution == ExecutionMode::Manual;
        if let Some(slug) = &step.config.default_assignee_id {
            match manual {
                true => self.person(step, ("defaultAssigneeId", slug), around),
                false => self.agent(step, slug, around),
            }
        }
        if let Some(slug) = &step.config.fallback_assignee_id {
            self.person(step, ("fallbackAssigneeId", slug), around);
        }
    }

    /// Checks that the assignee of an automated step is a known agent.
    fn agent(&mut self, step: &WorkflowStep, slug: &str, around: &CheckSurroundings<'_>) {
        let Some(agents) = &around.agents else {
            return;
        };
        if agents.contains(slug) {
            return;
        }
        let spot = step.value("defaultAssigneeId");
        if around.people.iter().any(|people| people.contains(slug)) {
            let message = format!(
                "`{}` is automated, but `{slug}`, to whom it is assigned, is a person.",
                step.id
            );
            let problem =
                WorkflowProblem::warning(WorkflowProblemCode::UnknownAgent, spot, message);
            let hint = "draw it `(…)` or set `execution` to \"manual\", if a person does it";
            self.problems.push(problem.hint(hint));
            return;
        }
        let message = format!(
            "`{}` is assigned to `{slug}`, who is not a known user.",
            step.id
        );
        let problem = WorkflowProblem::error(WorkflowProblemCode::UnknownAgent, spot, message);
        self.problems
            .push(match nearest(slug, agents.iter().map(String::as_str)) {
                Some(near) => problem.hint(format!("did you mean `{near}`?")),
                None => problem,
            });
    }

    /// Warns if a person's task is assigned to an unknown user. Only a warning: the user may be
    /// added later.
    fn person(
        &mut self,
        step: &WorkflowStep,
        (key, slug): (&str, &str),
        around: &CheckSurroundings<'_>,
    ) {
        let Some(people) = &around.people else {
            return;
        };
        let agents = around.agents.iter().flatten();
        let known = people.iter().chain(agents).map(String::as_str);
        if known.clone().any(|known| known == slug) {
            return;
        }
        let message = format!(
            "`{}` is assigned to `{slug}`, who is not a known user.",
            step.id
        );
        let problem =
            WorkflowProblem::warning(WorkflowProblemCode::UnknownPerson, step.value(key), message);
        self.problems.push(match nearest(slug, known) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint(
                "add this user with `drawloom users add`, or the task appears in no one's list",
            ),
        });
    }

    fn subflow(&mut self, step: &WorkflowStep, around: &CheckSurroundings<'_>) {
        let Some(known) = &around.workflows else {
            return;
        };
        let name = step.subflow();
        if !known.contains_key(name) && around.name.as_deref() != Some(name) {
            let message = format!(
                "`{}` runs `{name}`, but there is no such workflow.",
                step.id
            );
            let mut problem = WorkflowProblem::error(
                WorkflowProblemCode::UnknownSubflow,
                step.value("subflowId"),
                message,
            );
            let others = known.keys().map(String::as_str);
            let others = others.filter(|other| around.name.as_deref() != Some(*other));
            let listed: Vec<&str> = others.clone().take(LISTED_MAX).collect();
            problem = match nearest(name, others) {
                Some(near) => problem.hint(format!("did you mean `{near}`?")),
                None if listed.is_empty() => {
                    problem.hint("put it into `.drawloom/workflows`, as NAME.mmd")
                }
                None => problem.hint(format!("workflows here: {}", listed.join(", "))),
            };
            self.problems.push(problem);
        } else if step.config.max_depth.is_none() && comes_back(name, known, around.name.as_deref())
        {
            let message = format!(
                "`{}` runs `{name}`, which runs this workflow again.",
                step.id
            );
            let problem = WorkflowProblem::error(
                WorkflowProblemCode::Recursion,
                step.value("subflowId"),
                message,
            );
            let hint = format!("set its `maxDepth`, up to {DEPTH_MAX}");
            self.problems.push(problem.hint(hint));
        }
    }
}

fn condition(edge: &WorkflowEdge) -> Option<&str> {
    match &edge.when {
        EdgeCondition::Condition(condition) => Some(condition),
        _ => None,
    }
}

/// Tells whether one of the conditions always holds: `x` and `!x`, `a === b` and `a !== b`, `true`.
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

/// Returns the first edge in the text that closes a cycle among these.
fn closing<'e>(edges: &[&'e WorkflowEdge]) -> Option<&'e WorkflowEdge> {
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

/// Tells whether a workflow leads back to the one of this name, through subflows that set no
/// `maxDepth`.
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
