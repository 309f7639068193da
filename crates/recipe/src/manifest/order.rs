//! Orders the steps: in the order of the file, changed only where `dependsOn` demands it.

use diagnostics::suggestion;

use super::step::RecipeStep;
use crate::error::FileSpan;
use crate::fields::FileProblems;

/// Indices into the list of steps.
pub type StepOrder = Vec<usize>;

/// Checks names and dependencies and decides the order; nested lists are checked as well.
pub(super) fn decide(steps: &[RecipeStep], problems: &mut FileProblems<'_>) -> Option<StepOrder> {
    let mut sound = true;
    for (index, step) in steps.iter().enumerate() {
        if steps[..index].iter().any(|other| other.name == step.name) {
            let message = format!("two steps are named `{}`", step.name);
            let hint = "give every step a name of its own".to_owned();
            problems.note_at(step.place, message, Some(hint));
            sound = false;
        }
        for wanted in &step.depends_on {
            if steps.iter().any(|other| other.name == wanted.text) {
                continue;
            }
            let message = format!(
                "step `{}` depends on `{}`, which is not a step",
                step.name, wanted.text
            );
            let hint = suggestion(&wanted.text, steps.iter().map(|step| step.name.as_str()));
            problems.note_at(wanted.place, message, hint);
            sound = false;
        }
    }
    if !sound {
        return None;
    }
    if let Some(cycle) = find_cycle(steps) {
        report_cycle(steps, &cycle, problems);
        return None;
    }
    Some(sort(steps))
}

/// Sorts the steps: each as early as in the file, but after its dependencies.
fn sort(steps: &[RecipeStep]) -> StepOrder {
    let mut order = StepOrder::with_capacity(steps.len());
    let mut placed = vec![false; steps.len()];
    for start in 0..steps.len() {
        // An explicit stack, because a chain of dependencies may be as long as the list.
        let mut stack = vec![start];
        while let Some(&index) = stack.last() {
            let waiting = dependencies(steps, index).find(|&wanted| !placed[wanted]);
            match waiting {
                Some(wanted) if !placed[index] => stack.push(wanted),
                _ => {
                    stack.pop();
                    if !placed[index] {
                        placed[index] = true;
                        order.push(index);
                    }
                }
            }
        }
    }
    order
}

fn dependencies(steps: &[RecipeStep], index: usize) -> impl Iterator<Item = usize> {
    steps[index]
        .depends_on
        .iter()
        .filter_map(|wanted| steps.iter().position(|step| step.name == wanted.text))
}

#[derive(Clone, Copy, PartialEq)]
enum VisitMark {
    Unseen,
    OnPath,
    Done,
}

/// Returns the steps along a cycle, if there is one.
fn find_cycle(steps: &[RecipeStep]) -> Option<Vec<usize>> {
    let mut marks = vec![VisitMark::Unseen; steps.len()];
    for start in 0..steps.len() {
        let mut path: Vec<usize> = vec![start];
        if marks[start] != VisitMark::Unseen {
            continue;
        }
        marks[start] = VisitMark::OnPath;
        while let Some(&index) = path.last() {
            let next = dependencies(steps, index).find(|&wanted| marks[wanted] != VisitMark::Done);
            match next {
                None => {
                    marks[index] = VisitMark::Done;
                    path.pop();
                }
                Some(wanted) if marks[wanted] == VisitMark::OnPath => {
                    let from = path.iter().position(|&on_path| on_path == wanted)?;
                    return Some(path.split_off(from));
                }
                Some(wanted) => {
                    marks[wanted] = VisitMark::OnPath;
                    path.push(wanted);
                }
            }
        }
    }
    None
}

fn report_cycle(steps: &[RecipeStep], cycle: &[usize], problems: &mut FileProblems<'_>) {
    let names = cycle
        .iter()
        .chain(cycle.first())
        .map(|&index| steps[index].name.as_str());
    let path = names.collect::<Vec<_>>().join(" -> ");
    let first = cycle.first().copied().unwrap_or(0);
    let next = cycle.get(1).copied().unwrap_or(first);
    let link = steps[first]
        .depends_on
        .iter()
        .find(|wanted| wanted.text == steps[next].name);
    let place: FileSpan = link.map_or(steps[first].place, |wanted| wanted.place);
    let message = format!("steps wait for each other in a circle: {path}");
    let hint = "remove one of these `dependsOn`".to_owned();
    problems.note_at(place, message, Some(hint));
}
