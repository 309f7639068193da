//! Maps each step to its branch of a fork: the order of branches, and the join that ends them.

use std::collections::{HashMap, HashSet};

use crate::config::{JoinPolicy, StepType};
use crate::id::StepId;
use crate::workflow::{EdgeCondition, WorkflowEdge, WorkflowStep};

/// The branches of a workflow, computed once when its text is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct BranchMap {
    ranks: HashMap<StepId, usize>,
    tolerant: HashMap<StepId, StepId>,
}

impl BranchMap {
    pub(crate) fn of(
        steps: &[WorkflowStep],
        edges: &[WorkflowEdge],
        starts: &[StepId],
    ) -> BranchMap {
        let mut leaving: HashMap<&StepId, Vec<&WorkflowEdge>> = HashMap::new();
        for edge in edges {
            leaving.entry(&edge.from).or_default().push(edge);
        }
        let ranks = ranks(starts, &leaving);
        let graph = StepGraph { starts, leaving };
        BranchMap {
            ranks,
            tolerant: tolerant_joins(steps, &graph),
        }
    }

    pub(crate) fn rank(&self, step: &StepId) -> usize {
        self.ranks.get(step).copied().unwrap_or(usize::MAX)
    }

    pub(crate) fn tolerant_join(&self, step: &StepId) -> Option<&StepId> {
        self.tolerant.get(step)
    }
}

/// Numbers the steps branch by branch: everything behind the first edge of a fork comes before the
/// steps that only a later edge reaches.
fn ranks(
    starts: &[StepId],
    leaving: &HashMap<&StepId, Vec<&WorkflowEdge>>,
) -> HashMap<StepId, usize> {
    let mut ranks = HashMap::new();
    let mut open: Vec<&StepId> = starts.iter().rev().collect();
    while let Some(step) = open.pop() {
        if ranks.contains_key(step) {
            continue;
        }
        ranks.insert(step.clone(), ranks.len());
        let ways = leaving.get(step).into_iter().flatten();
        open.extend(ways.rev().map(|edge| &edge.to));
    }
    ranks
}

/// Returns for each step inside a branch the innermost join that ends the branch, if it tolerates
/// failures.
fn tolerant_joins(steps: &[WorkflowStep], graph: &StepGraph<'_>) -> HashMap<StepId, StepId> {
    let is_join = |step: &&WorkflowStep| step.step_type == StepType::Join && step.awaits.is_none();
    let joins: Vec<&WorkflowStep> = steps.iter().filter(is_join).collect();
    if !joins.iter().any(|join| tolerates(join)) {
        return HashMap::new();
    }
    let mut around: HashMap<&StepId, Vec<&WorkflowStep>> = HashMap::new();
    for ways in graph.forks(steps) {
        for (join, inside) in graph.ends(&ways, &joins) {
            for step in inside {
                let known = around.entry(step).or_default();
                if !known.iter().any(|known| known.id == join.id) {
                    known.push(join);
                }
            }
        }
    }
    let mut found = HashMap::new();
    for step in steps {
        let Some(joins) = around.get(&step.id) else {
            continue;
        };
        // The innermost join is the one that no other join leads to.
        let innermost = joins.iter().find(|join| {
            let mut others = joins.iter().filter(|other| other.id != join.id);
            join.scope == step.scope
                && !others.any(|other| graph.onward(&other.id, &[]).contains(&join.id))
        });
        if let Some(join) = innermost.filter(|join| tolerates(join)) {
            found.insert(step.id.clone(), join.id.clone());
        }
    }
    found
}

/// Tells whether a join can succeed although a branch has failed.
fn tolerates(join: &WorkflowStep) -> bool {
    match join.config.policy.unwrap_or_default() {
        JoinPolicy::Any | JoinPolicy::Quorum | JoinPolicy::AllTerminal => true,
        JoinPolicy::All => {
            join.config.min_count.is_some() || join.config.min_success_percent.is_some()
        }
    }
}

/// The steps and the edges between them.
struct StepGraph<'w> {
    starts: &'w [StepId],
    leaving: HashMap<&'w StepId, Vec<&'w WorkflowEdge>>,
}

impl<'w> StepGraph<'w> {
    /// Returns the first steps of branches that begin together: behind a step with several edges,
    /// or at the beginning of a run with several starts.
    fn forks(&self, steps: &'w [WorkflowStep]) -> Vec<Vec<&'w StepId>> {
        let tasks = steps
            .iter()
            .filter(|step| step.step_type != StepType::Decision);
        let ways = tasks.map(|step| {
            let ways = self.leaving.get(&step.id).into_iter().flatten();
            let ways = ways.filter(|edge| edge.when == EdgeCondition::Always);
            ways.map(|edge| &edge.to).collect::<Vec<&StepId>>()
        });
        let all = ways.chain(std::iter::once(self.starts.iter().collect()));
        all.filter(|ways| ways.len() > 1).collect()
    }

    /// Returns the joins that end the branches of a fork, each with the steps between the fork and
    /// itself. Branches that meet at one join and continue to another count as one branch of the
    /// latter.
    fn ends(
        &self,
        ways: &[&'w StepId],
        joins: &[&'w WorkflowStep],
    ) -> Vec<(&'w WorkflowStep, HashSet<&'w StepId>)> {
        let onward: Vec<HashSet<&StepId>> = ways.iter().map(|way| self.onward(way, &[])).collect();
        let meets =
            |join: &&&WorkflowStep| onward.iter().filter(|on| on.contains(&join.id)).count() > 1;
        let met: Vec<&WorkflowStep> = joins.iter().filter(meets).copied().collect();
        let mut ends = Vec::new();
        for join in &met {
            let others = met.iter().map(|other| &other.id);
            let others: Vec<&StepId> = others.filter(|other| **other != join.id).collect();
            let stops: Vec<&StepId> = others.iter().copied().chain([&join.id]).collect();
            let streams = ways.iter().chain(&others).map(|first| {
                let mut stream = self.onward(first, &stops);
                stream.insert(first);
                stream
            });
            let streams: Vec<HashSet<&StepId>> =
                streams.filter(|stream| stream.contains(&join.id)).collect();
            if streams.len() < 2 {
                continue;
            }
            let inside = streams.into_iter().flatten();
            ends.push((*join, inside.filter(|step| **step != join.id).collect()));
        }
        ends
    }

    /// Returns the steps behind a step, up to the stops.
    fn onward(&self, from: &'w StepId, stops: &[&StepId]) -> HashSet<&'w StepId> {
        let mut found = HashSet::new();
        let mut open = vec![from];
        while let Some(step) = open.pop() {
            if step != from && stops.contains(&step) {
                continue;
            }
            for edge in self.leaving.get(step).into_iter().flatten() {
                if found.insert(&edge.to) {
                    open.push(&edge.to);
                }
            }
        }
        found
    }
}
