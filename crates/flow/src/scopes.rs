//! Which foreach a step stands in, and which join ends which foreach: decided once, from the text.
//!
//! A foreach's edges lead into its items; its join leads out of them. So every step stands in a
//! known stack of foreach steps, and an edge that would leave or enter one otherwise is an error
//! here and not a puzzle at run time.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::config::StepType;
use crate::error::{Code, Problem};
use crate::id::StepId;
use crate::workflow::{Edge, Step, When, reaching};

/// How deeply foreach steps may stand in each other.
pub const FOREACH_DEPTH_MAX: usize = 8;

/// Sets `scope`, `join` and `awaits` of every step that can be reached.
pub(crate) fn resolve(
    steps: &mut [Step],
    edges: &[Edge],
    starts: &[StepId],
    problems: &mut Vec<Problem>,
) {
    let before = problems.len();
    let mut walk = Walk {
        index: steps
            .iter()
            .enumerate()
            .map(|(at, step)| (step.id.clone(), at))
            .collect(),
        scopes: HashMap::new(),
        awaits: explicit(steps, problems),
        problems,
    };
    walk.run(steps, edges, starts);
    let Walk { scopes, awaits, .. } = walk;
    let found: Vec<(StepId, Option<StepId>)> = awaits.into_iter().collect();
    for step in steps.iter_mut() {
        step.scope = scopes.get(&step.id).cloned().unwrap_or_default();
        let awaited = found.iter().find(|(join, _)| *join == step.id);
        step.awaits = awaited.and_then(|(_, foreach)| foreach.clone());
        if step.step_type == StepType::Foreach {
            let mut joins: Vec<&StepId> = found
                .iter()
                .filter(|(_, foreach)| foreach.as_ref() == Some(&step.id))
                .map(|(join, _)| join)
                .collect();
            joins.sort();
            step.join = joins.first().map(|join| (*join).clone());
            if let [first, second, ..] = joins.as_slice() {
                let message = format!(
                    "The foreach `{}` is joined by `{first}` and by `{second}`.",
                    step.id
                );
                let problem = Problem::error(Code::Scope, step.line, message);
                problems.push(problem.hint("lead all its branches to one join"));
            }
        }
    }
    if problems.len() == before {
        ambiguous(steps, edges, problems);
    }
}

/// What the configs say: a join awaits a foreach, or joins branches.
fn explicit(steps: &[Step], problems: &mut Vec<Problem>) -> HashMap<StepId, Option<StepId>> {
    let mut awaits = HashMap::new();
    for join in steps.iter().filter(|step| step.step_type == StepType::Join) {
        let Some(named) = &join.config.await_step_id else {
            continue;
        };
        match steps.iter().find(|step| step.id.as_str() == named) {
            Some(step) => {
                let foreach = step.step_type == StepType::Foreach;
                awaits.insert(join.id.clone(), foreach.then(|| step.id.clone()));
            }
            None => {
                let message = format!(
                    "`awaitStepId` of `{}` names `{named}`, which is no step.",
                    join.id
                );
                let line = join.config_line.unwrap_or(join.line);
                problems.push(Problem::error(Code::UnknownStep, line, message));
            }
        }
    }
    awaits
}

struct Walk<'p> {
    index: HashMap<StepId, usize>,
    scopes: HashMap<StepId, Vec<StepId>>,
    awaits: HashMap<StepId, Option<StepId>>,
    problems: &'p mut Vec<Problem>,
}

impl Walk<'_> {
    fn run(&mut self, steps: &[Step], edges: &[Edge], starts: &[StepId]) {
        let mut leaving: HashMap<&StepId, Vec<&Edge>> = HashMap::new();
        for edge in edges {
            leaving.entry(&edge.from).or_default().push(edge);
        }
        let mut open: VecDeque<StepId> = starts.iter().cloned().collect();
        for start in starts {
            self.scopes.insert(start.clone(), Vec::new());
        }
        while let Some(from) = open.pop_front() {
            for edge in leaving.get(&from).into_iter().flatten() {
                let Some(step) = self.step(steps, &edge.to) else {
                    continue;
                };
                let Some(scope) = self.entered(steps, edge, step) else {
                    continue;
                };
                match self.scopes.get(&edge.to) {
                    None => {
                        self.scopes.insert(edge.to.clone(), scope);
                        open.push_back(edge.to.clone());
                    }
                    Some(known) if *known != scope => self.clash(edge, &scope),
                    Some(_) => {}
                }
            }
        }
    }

    fn step<'s>(&self, steps: &'s [Step], id: &StepId) -> Option<&'s Step> {
        self.index.get(id).and_then(|at| steps.get(*at))
    }

    /// The scope on the other side of an edge.
    fn entered(&mut self, steps: &[Step], edge: &Edge, to: &Step) -> Option<Vec<StepId>> {
        let mut scope = self.scopes.get(&edge.from).cloned().unwrap_or_default();
        let from = self.step(steps, &edge.from)?;
        if from.step_type == StepType::Foreach && edge.when != When::OnError {
            scope.push(from.id.clone());
            if scope.len() > FOREACH_DEPTH_MAX {
                let message = format!(
                    "The foreach `{}` stands deeper than FOREACH_DEPTH_MAX = {FOREACH_DEPTH_MAX}.",
                    from.id
                );
                self.problems
                    .push(Problem::error(Code::Limit, from.line, message));
                return None;
            }
        }
        if to.step_type != StepType::Join {
            return Some(scope);
        }
        let inner = scope.last().cloned();
        let awaits = self.awaits.entry(to.id.clone()).or_insert(inner.clone());
        match awaits.clone() {
            None => Some(scope),
            Some(foreach) if Some(&foreach) == inner.as_ref() => {
                scope.pop();
                Some(scope)
            }
            // The way on after the foreach itself has failed does not come out of an item.
            Some(foreach) if foreach == edge.from && edge.when == When::OnError => Some(scope),
            Some(foreach) => {
                let message = format!(
                    "The join `{}` ends the foreach `{foreach}`, but this edge does not come from \
                     inside of it.",
                    to.id
                );
                self.problems
                    .push(Problem::error(Code::Scope, edge.line, message));
                None
            }
        }
    }

    fn clash(&mut self, edge: &Edge, scope: &[StepId]) {
        let known = self.scopes.get(&edge.to).cloned().unwrap_or_default();
        let deeper = if known.len() > scope.len() {
            &known
        } else {
            scope
        };
        let foreach = deeper.last().map_or("", StepId::as_str);
        let message = format!(
            "The step `{}` is reached from inside of the foreach `{foreach}` and from outside: a \
             join is missing between.",
            edge.to
        );
        let problem = Problem::error(Code::Scope, edge.line, message);
        self.problems.push(problem.hint(format!(
            "let the items of `{foreach}` come together in a `[Join …]` before they go on"
        )));
    }
}

/// A join in a foreach that could as well join branches of one item must say which it means.
fn ambiguous(steps: &[Step], edges: &[Edge], problems: &mut Vec<Problem>) {
    for join in steps.iter().filter(|step| step.step_type == StepType::Join) {
        if join.config.await_step_id.is_some() || join.config.await_tag.is_some() {
            continue;
        }
        let Some(foreach) = &join.awaits else {
            lonely(join, edges, problems);
            continue;
        };
        let body: HashSet<StepId> = reaching(&join.id, edges)
            .into_iter()
            .filter(|id| {
                let step = steps.iter().find(|step| step.id == *id);
                step.is_some_and(|step| step.scope.last() == Some(foreach))
            })
            .collect();
        let fork = steps.iter().find(|step| {
            let ways = edges.iter().filter(|edge| {
                edge.from == step.id
                    && edge.when == When::Always
                    && (body.contains(&edge.to) || edge.to == join.id)
            });
            body.contains(&step.id) && ways.count() > 1
        });
        if let Some(fork) = fork {
            let message = format!(
                "The join `{}` may end the foreach `{foreach}` or bring together the branches from \
                 `{}`.",
                join.id, fork.id
            );
            let problem = Problem::error(Code::Scope, join.line, message);
            problems.push(problem.hint(format!(
                "set its `awaitStepId` to \"{foreach}\" or to \"{}\"",
                fork.id
            )));
        }
    }
}

/// A label that begins with Join is no proof, if there is nothing to join.
fn lonely(join: &Step, edges: &[Edge], problems: &mut Vec<Problem>) {
    let arriving = edges.iter().filter(|edge| edge.to == join.id).count();
    if arriving < 2 && join.config.step_type != Some(StepType::Join) {
        let message = format!(
            "`{}` looks like a join, but there is nothing to join.",
            join.id
        );
        let problem = Problem::error(Code::AmbiguousStep, join.line, message);
        problems.push(problem.hint("set its `stepType` to \"task\" or to \"join\""));
    }
}
