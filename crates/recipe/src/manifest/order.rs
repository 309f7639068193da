//! In which order steps are decided: the file's, moved only as far as `dependsOn` demands.

use prompt::suggestion;

use super::step::Step;
use crate::error::Place;
use crate::fields::Problems;

/// Indices into the list of steps.
pub type Order = Vec<usize>;

/// Checks names and dependencies and decides the order; nested lists are checked as well.
pub(super) fn decide(steps: &[Step], problems: &mut Problems<'_>) -> Option<Order> {
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

/// Each step as early as the file has it, but after what it depends on.
fn sort(steps: &[Step]) -> Order {
    let mut order = Order::with_capacity(steps.len());
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

fn dependencies(steps: &[Step], index: usize) -> impl Iterator<Item = usize> {
    steps[index]
        .depends_on
        .iter()
        .filter_map(|wanted| steps.iter().position(|step| step.name == wanted.text))
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Unseen,
    OnPath,
    Done,
}

/// The indices along a cycle, if there is one.
fn find_cycle(steps: &[Step]) -> Option<Vec<usize>> {
    let mut marks = vec![Mark::Unseen; steps.len()];
    for start in 0..steps.len() {
        let mut path: Vec<usize> = vec![start];
        if marks[start] != Mark::Unseen {
            continue;
        }
        marks[start] = Mark::OnPath;
        while let Some(&index) = path.last() {
            let next = dependencies(steps, index).find(|&wanted| marks[wanted] != Mark::Done);
            match next {
                None => {
                    marks[index] = Mark::Done;
                    path.pop();
                }
                Some(wanted) if marks[wanted] == Mark::OnPath => {
                    let from = path.iter().position(|&on_path| on_path == wanted)?;
                    return Some(path.split_off(from));
                }
                Some(wanted) => {
                    marks[wanted] = Mark::OnPath;
                    path.push(wanted);
                }
            }
        }
    }
    None
}

fn report_cycle(steps: &[Step], cycle: &[usize], problems: &mut Problems<'_>) {
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
    let place: Place = link.map_or(steps[first].place, |wanted| wanted.place);
    let message = format!("steps wait for each other in a circle: {path}");
    let hint = "remove one of these `dependsOn`".to_owned();
    problems.note_at(place, message, Some(hint));
}
