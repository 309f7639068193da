//! Determines which foreach each step is in, and which join ends which foreach: once, from the
//! text.
//!
//! A foreach's edges lead into its items; its join leads out of them. So every step is inside a
//! known stack of foreach steps, and an edge that would leave or enter one otherwise is an error
//! here and not a puzzle at run time.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::config::StepType;
use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::id::StepId;
use crate::workflow::{EdgeCondition, WorkflowEdge, WorkflowStep, reaching};

/// Limits the nesting of foreach steps.
pub(crate) const FOREACH_DEPTH_MAX: usize = 8;

/// Sets `scope`, `join` and `awaits` of every reachable step.
pub(crate) fn resolve(
    steps: &mut [WorkflowStep],
    edges: &[WorkflowEdge],
    starts: &[StepId],
    problems: &mut Vec<WorkflowProblem>,
) {
    let before = problems.len();
    let mut walk = ScopeWalk {
        index: steps
            .iter()
            .enumerate()
            .map(|(at, step)| (step.id.clone(), at))
            .collect(),
        scopes: HashMap::new(),
        awaited: explicit(steps, edges, problems),
        awaits: HashMap::new(),
        problems,
    };
    walk.run(steps, edges, starts);
    let ScopeWalk {
        scopes,
        awaits,
        awaited,
        ..
    } = walk;
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
                let problem =
                    WorkflowProblem::error(WorkflowProblemCode::Scope, step.spot, message);
                problems.push(problem.hint("lead all its branches to one join"));
            }
        }
    }
    if problems.len() == before {
        misnamed(steps, &awaited, problems);
        ambiguous(steps, edges, problems);
    }
}

/// The steps that a join awaits, according to its config.
#[derive(Clone, Debug, PartialEq, Eq)]
enum JoinTarget {
    /// The items of this foreach.
    Foreach(StepId),
    /// The branches that leave this step.
    Fork,
    /// The items of the innermost foreach around it.
    Innermost,
    /// The output of this step in every item of the foreach around it.
    Inside(StepId),
}

/// Reads the configs of joins: each awaits a foreach, or joins branches.
fn explicit(
    steps: &[WorkflowStep],
    edges: &[WorkflowEdge],
    problems: &mut Vec<WorkflowProblem>,
) -> HashMap<StepId, JoinTarget> {
    let mut awaited = HashMap::new();
    for join in steps.iter().filter(|step| step.step_type == StepType::Join) {
        let tag = join
            .config
            .await_tag
            .as_deref()
            .map(|tag| tagged(steps, tag));
        let named = join.config.await_step_id.as_deref();
        let named = named.map(|id| named_by(steps, edges, join, id));
        let found = match (tag, named) {
            (None, None) => continue,
            (Some(tag), None) => tag.map_err(|wrong| ("awaitTag", wrong)),
            (None, Some(named)) => named.map_err(|wrong| ("awaitStepId", wrong)),
            (Some(Ok(tag)), Some(Ok(named))) if tag == named || tag == JoinTarget::Innermost => {
                match named {
                    JoinTarget::Fork => Err(("awaitTag", different())),
                    named => Ok(named),
                }
            }
            (Some(Err(wrong)), _) => Err(("awaitTag", wrong)),
            (_, Some(Err(wrong))) => Err(("awaitStepId", wrong)),
            _ => Err(("awaitTag", different())),
        };
        match found {
            Ok(found) => {
                awaited.insert(join.id.clone(), found);
            }
            Err((key, JoinProblem { code, wrong, hint })) => {
                let message = format!("`{key}` of `{}` {wrong}.", join.id);
                let problem = WorkflowProblem::error(code, join.value(key), message);
                problems.push(problem.hint(hint));
            }
        }
    }
    awaited
}

/// The problem of a join that cannot await what its config says.
struct JoinProblem {
    code: WorkflowProblemCode,
    wrong: String,
    hint: String,
}

fn different() -> JoinProblem {
    JoinProblem {
        code: WorkflowProblemCode::Scope,
        wrong: "and `awaitStepId` say different things".to_owned(),
        hint: "leave one of them out".to_owned(),
    }
}

/// Reads the tag: `foreach:{{parentId}}` is the foreach around, `foreach:ID` the one with this id.
fn tagged(steps: &[WorkflowStep], tag: &str) -> Result<JoinTarget, JoinProblem> {
    let id = tag.trim().strip_prefix("foreach:").map(str::trim);
    let inside = id.and_then(|id| id.strip_prefix("{{")?.strip_suffix("}}"));
    if inside.is_some_and(|inside| inside.trim() == "parentId") {
        return Ok(JoinTarget::Innermost);
    }
    let foreach = steps
        .iter()
        .find(|step| Some(step.id.as_str()) == id && step.step_type == StepType::Foreach);
    match foreach {
        Some(foreach) => Ok(JoinTarget::Foreach(foreach.id.clone())),
        None => Err(JoinProblem {
            code: WorkflowProblemCode::Setting,
            wrong: "names no foreach".to_owned(),
            hint: "write \"foreach:{{parentId}}\", or use `awaitStepId`".to_owned(),
        }),
    }
}

/// Returns what a join awaits by a step's id: a foreach with all its items, a fork with its
/// branches, a step inside a foreach in every item.
fn named_by(
    steps: &[WorkflowStep],
    edges: &[WorkflowEdge],
    join: &WorkflowStep,
    id: &str,
) -> Result<JoinTarget, JoinProblem> {
    let wrong = |code, wrong: String, hint: String| Err(JoinProblem { code, wrong, hint });
    let Some(named) = steps.iter().find(|step| step.id.as_str() == id) else {
        let known = steps.iter().map(|step| step.id.as_str());
        let hint = diagnostics::suggestion(id, known).unwrap_or_default();
        return wrong(
            WorkflowProblemCode::UnknownStep,
            format!("names `{id}`, which is no step"),
            hint,
        );
    };
    let hint = "name the foreach whose items come together, or the step whose branches do";
    if named.id == join.id || !reaching(&join.id, edges).contains(&named.id) {
        let sentence = format!("names `{id}`, which never comes before it");
        return wrong(WorkflowProblemCode::Scope, sentence, hint.to_owned());
    }
    if named.step_type == StepType::Foreach {
        return Ok(JoinTarget::Foreach(named.id.clone()));
    }
    if named.step_type == StepType::Decision {
        let sentence = format!("names the decision `{id}`, of which only one branch is taken");
        return wrong(WorkflowProblemCode::Scope, sentence, hint.to_owned());
    }
    match forks(named, join, edges) {
        true => Ok(JoinTarget::Fork),
        false => Ok(JoinTarget::Inside(named.id.clone())),
    }
}

/// Tells whether several edges lead from a step to a join at the same time.
fn forks(step: &WorkflowStep, join: &WorkflowStep, edges: &[WorkflowEdge]) -> bool {
    let before = reaching(&join.id, edges);
    let ways = edges.iter().filter(|edge| {
        edge.from == step.id
            && edge.when == EdgeCondition::Always
            && (edge.to == join.id || before.contains(&edge.to))
    });
    ways.count() > 1
}

/// The state of the walk that assigns scopes to steps.
struct ScopeWalk<'p> {
    index: HashMap<StepId, usize>,
    scopes: HashMap<StepId, Vec<StepId>>,
    /// The targets that the configs of joins name.
    awaited: HashMap<StepId, JoinTarget>,
    awaits: HashMap<StepId, Option<StepId>>,
    problems: &'p mut Vec<WorkflowProblem>,
}

impl ScopeWalk<'_> {
    fn run(&mut self, steps: &[WorkflowStep], edges: &[WorkflowEdge], starts: &[StepId]) {
        let mut leaving: HashMap<&StepId, Vec<&WorkflowEdge>> = HashMap::new();
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

    fn step<'s>(&self, steps: &'s [WorkflowStep], id: &StepId) -> Option<&'s WorkflowStep> {
        self.index.get(id).and_then(|at| steps.get(*at))
    }

    /// Returns the scope on the other side of an edge.
    fn entered(
        &mut self,
        steps: &[WorkflowStep],
        edge: &WorkflowEdge,
        to: &WorkflowStep,
    ) -> Option<Vec<StepId>> {
        let mut scope = self.scopes.get(&edge.from).cloned().unwrap_or_default();
        let from = self.step(steps, &edge.from)?;
        if from.step_type == StepType::Foreach && edge.when != EdgeCondition::OnError {
            scope.push(from.id.clone());
            if scope.len() > FOREACH_DEPTH_MAX {
                let message = format!(
                    "The foreach `{}` is nested deeper than FOREACH_DEPTH_MAX = {FOREACH_DEPTH_MAX}.",
                    from.id
                );
                self.problems.push(WorkflowProblem::error(
                    WorkflowProblemCode::Limit,
                    from.spot,
                    message,
                ));
                return None;
            }
        }
        if to.step_type != StepType::Join {
            return Some(scope);
        }
        let inner = scope.last().cloned();
        let awaits = match self.awaited.get(&to.id) {
            Some(JoinTarget::Foreach(foreach)) => Some(foreach.clone()),
            Some(JoinTarget::Fork) => None,
            Some(JoinTarget::Innermost | JoinTarget::Inside(_)) | None => inner.clone(),
        };
        let awaits = self.awaits.entry(to.id.clone()).or_insert(awaits);
        match awaits.clone() {
            None => Some(scope),
            Some(foreach) if Some(&foreach) == inner.as_ref() => {
                scope.pop();
                Some(scope)
            }
            // The error edge of the foreach itself does not leave an item.
            Some(foreach) if foreach == edge.from && edge.when == EdgeCondition::OnError => {
                Some(scope)
            }
            Some(foreach) => {
                let message = format!(
                    "The join `{}` ends the foreach `{foreach}`, but this edge does not come from \
                     inside of it.",
                    to.id
                );
                self.problems.push(WorkflowProblem::error(
                    WorkflowProblemCode::Scope,
                    edge.spot,
                    message,
                ));
                None
            }
        }
    }

    fn clash(&mut self, edge: &WorkflowEdge, scope: &[StepId]) {
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
        let problem = WorkflowProblem::error(WorkflowProblemCode::Scope, edge.spot, message);
        self.problems.push(problem.hint(format!(
            "let the items of `{foreach}` come together in a `[Join …]` before they go on"
        )));
    }
}

/// Reports joins whose config does not fit the place where they are.
fn misnamed(
    steps: &[WorkflowStep],
    awaited: &HashMap<StepId, JoinTarget>,
    problems: &mut Vec<WorkflowProblem>,
) {
    for join in steps {
        let Some(awaited) = awaited.get(&join.id) else {
            continue;
        };
        let inside = |id: &StepId| {
            let step = steps.iter().find(|step| step.id == *id);
            step.is_some_and(|step| (join.awaits.iter()).any(|around| step.scope.contains(around)))
        };
        let (key, wrong, hint) = match awaited {
            JoinTarget::Innermost if join.awaits.is_none() => (
                "awaitTag",
                "names the enclosing foreach, but the step is in none".to_owned(),
                "leave it out: the join waits for every path that can come".to_owned(),
            ),
            JoinTarget::Inside(id) if !inside(id) => (
                "awaitStepId",
                format!("names `{id}`, which is no foreach and has no branches that come together"),
                match join.awaits {
                    Some(_) => "name the foreach whose items come together",
                    None => "leave it out: the join waits for every path that can come",
                }
                .to_owned(),
            ),
            _ => continue,
        };
        let message = format!("`{key}` of `{}` {wrong}.", join.id);
        let problem = WorkflowProblem::error(WorkflowProblemCode::Scope, join.value(key), message);
        problems.push(problem.hint(hint));
    }
}

/// Refuses a join inside a foreach that could also join branches of one item: its config must say
/// which.
fn ambiguous(steps: &[WorkflowStep], edges: &[WorkflowEdge], problems: &mut Vec<WorkflowProblem>) {
    for join in steps.iter().filter(|step| step.step_type == StepType::Join) {
        if join.config.await_step_id.is_some() || join.config.await_tag.is_some() {
            continue;
        }
        let Some(foreach) = &join.awaits else {
            lonely(join, steps, edges, problems);
            continue;
        };
        let body = body(join, foreach, steps, edges);
        let fork = steps.iter().find(|step| {
            let ways = edges.iter().filter(|edge| {
                edge.from == step.id
                    && edge.when == EdgeCondition::Always
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
            let problem = WorkflowProblem::error(WorkflowProblemCode::Scope, join.spot, message);
            problems.push(problem.hint(format!(
                "set its `awaitStepId` to \"{foreach}\" or to \"{}\"",
                fork.id
            )));
        }
    }
}

/// Returns the steps of an item that lead to a join without another join of branches between.
fn body(
    join: &WorkflowStep,
    foreach: &StepId,
    steps: &[WorkflowStep],
    edges: &[WorkflowEdge],
) -> HashSet<StepId> {
    let inside = |id: &StepId| {
        let step = steps.iter().find(|step| step.id == *id);
        step.filter(|step| step.scope.last() == Some(foreach))
    };
    let mut found = HashSet::new();
    let mut open = vec![&join.id];
    while let Some(id) = open.pop() {
        for edge in edges.iter().filter(|edge| edge.to == *id) {
            let Some(step) = inside(&edge.from) else {
                continue;
            };
            let joins = step.step_type == StepType::Join && step.awaits.is_none();
            if found.insert(step.id.clone()) && !joins {
                open.push(&step.id);
            }
        }
    }
    found
}

/// Warns about a step labelled Join that has nothing to join.
fn lonely(
    join: &WorkflowStep,
    steps: &[WorkflowStep],
    edges: &[WorkflowEdge],
    problems: &mut Vec<WorkflowProblem>,
) {
    let arriving = edges.iter().filter(|edge| edge.to == join.id).count();
    if arriving < 2 && join.config.step_type != Some(StepType::Join) {
        let message = format!(
            "`{}` looks like a join, but there is nothing to join.",
            join.id
        );
        let problem =
            WorkflowProblem::error(WorkflowProblemCode::AmbiguousStep, join.spot, message);
        let hint = "set its `stepType` to \"task\" or to \"join\"".to_owned();
        problems.push(problem.hint(ended_before(join, steps, edges).unwrap_or(hint)));
    }
}

/// Advises where the join before ends a foreach whose branches begin right at it: the items are joined there,
/// so that this join has nothing left.
fn ended_before(
    join: &WorkflowStep,
    steps: &[WorkflowStep],
    edges: &[WorkflowEdge],
) -> Option<String> {
    let before = edges.iter().find(|edge| edge.to == join.id)?;
    let before = steps.iter().find(|step| step.id == before.from)?;
    let foreach = before.awaits.as_ref()?;
    let branches = edges.iter().filter(|edge| edge.from == *foreach).count();
    (branches > 1).then(|| {
        format!(
            "`{}` joins the items of `{foreach}`; if it is to join the branches of each item, draw a step \
             between `{foreach}` and its branches",
            before.id
        )
    })
}
