//! The order of a plan's tasks, and the order as a picture for the terminal.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::fmt::Write;

use serde::Serialize;

use crate::task::{Task, TaskKind, TaskName};

/// Tasks with what they depend on, in the order they are run.
///
/// The order respects all dependencies; where they leave a choice, the file's order decides. So
/// the same plan is always run in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskGraph {
    nodes: Vec<TaskNode>,
}

/// One task in the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskNode {
    /// The task.
    pub id: TaskName,
    /// Words for people.
    pub title: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: TaskKind,
    /// The tasks it depends on directly, in the order they are run.
    pub after: Vec<TaskName>,
    /// The length of the longest way to it: 0 for a task that depends on nothing.
    pub layer: usize,
}

/// The state of a task, as a sign in the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskMark {
    /// Nothing is known.
    #[default]
    Open,
    /// It is under way.
    Running,
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It was not begun because of a failure.
    Skipped,
}

impl TaskMark {
    fn sign(self) -> char {
        match self {
            TaskMark::Open => '●',
            TaskMark::Running => '▶',
            TaskMark::Done => '✓',
            TaskMark::Failed => '✗',
            TaskMark::Skipped => '○',
        }
    }
}

impl TaskGraph {
    /// Orders tasks by their dependencies, given as places in the list. The error is the cycles:
    /// each a list of places, every one depending on the next and the last on the first.
    pub(crate) fn new(tasks: &[Task], after: &[Vec<usize>]) -> Result<TaskGraph, Vec<Vec<usize>>> {
        let order = order(after);
        if order.len() < after.len() {
            return Err(cycles(after, &order));
        }
        let mut rank = vec![0; after.len()];
        for (position, &task) in order.iter().enumerate() {
            rank[task] = position;
        }
        let mut layers = vec![0; after.len()];
        let mut nodes = Vec::with_capacity(order.len());
        for &at in &order {
            let mut direct: Vec<usize> = after[at].clone();
            direct.sort_unstable_by_key(|&task| rank[task]);
            direct.dedup();
            layers[at] = direct
                .iter()
                .map(|&task| layers[task] + 1)
                .max()
                .unwrap_or(0);
            let task = &tasks[at];
            nodes.push(TaskNode {
                id: task.subtask_id.clone(),
                title: task.title().to_owned(),
                kind: task.kind,
                after: direct
                    .iter()
                    .map(|&task| tasks[task].subtask_id.clone())
                    .collect(),
                layer: layers[at],
            });
        }
        Ok(TaskGraph { nodes })
    }

    /// Returns the tasks, in the order they are run.
    pub fn nodes(&self) -> &[TaskNode] {
        &self.nodes
    }

    /// Draws the picture for a terminal: a line for each task in the order they are run, with lines
    /// from the tasks it depends on.
    pub fn to_text(&self, mark: impl Fn(&TaskName) -> TaskMark) -> String {
        let rows = self.rows(&mark);
        let lanes_width = rows
            .iter()
            .map(|row| row.chars().count())
            .max()
            .unwrap_or(0);
        let id_width = self
            .nodes
            .iter()
            .map(|node| node.id.as_str().len())
            .max()
            .unwrap_or(0);
        let kind_width = self
            .nodes
            .iter()
            .map(|node| node.kind.word().len())
            .max()
            .unwrap_or(0);
        let mut text = String::new();
        for (node, row) in self.nodes.iter().zip(rows) {
            let title = if node.title == node.id.as_str() {
                ""
            } else {
                // A line of its own would look like another task.
                node.title.lines().next().unwrap_or_default()
            };
            let (id, kind) = (node.id.as_str(), node.kind.word());
            let line = format!("{row:lanes_width$}  {id:id_width$}  {kind:kind_width$}  {title}");
            writeln!(text, "{}", line.trim_end()).ok();
        }
        text
    }

    /// Draws the left part of the picture: a row of lanes for each task.
    fn rows(&self, mark: &impl Fn(&TaskName) -> TaskMark) -> Vec<String> {
        let last_use = |id: &TaskName| {
            let used = self.nodes.iter().rposition(|node| node.after.contains(id));
            used.unwrap_or(0)
        };
        // A lane belongs to a task for as long as a later one depends on it.
        let mut lanes: Vec<Option<&TaskName>> = Vec::new();
        let mut rows = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let tied: Vec<usize> = lanes
                .iter()
                .enumerate()
                .filter(|(_, lane)| lane.is_some_and(|id| node.after.contains(id)))
                .map(|(column, _)| column)
                .collect();
            let ends = |column: &usize| lanes[*column].is_some_and(|id| last_use(id) <= index);
            let ending: BTreeSet<usize> = tied.iter().copied().filter(ends).collect();
            let free = |lane: &Option<&TaskName>| lane.is_none();
            let column = match ending.first() {
                Some(&column) => column,
                None => lanes.iter().position(free).unwrap_or(lanes.len()),
            };
            if column == lanes.len() {
                lanes.push(None);
            }
            let open: Vec<bool> = lanes.iter().map(Option::is_some).collect();
            rows.push(row(&open, &tied, &ending, (column, mark(&node.id).sign())));
            for column in ending {
                lanes[column] = None;
            }
            lanes[column] = (last_use(&node.id) > index).then_some(&node.id);
        }
        rows
    }
}

/// Draws one row: which lanes are open, which lead to the node, which of these end here, and the
/// node.
fn row(
    open: &[bool],
    tied: &[usize],
    ending: &BTreeSet<usize>,
    (column, sign): (usize, char),
) -> String {
    let from = tied.first().map_or(column, |&first| first.min(column));
    let to = tied.last().map_or(column, |&last| last.max(column));
    let mut text = String::new();
    for (lane, is_open) in open.iter().enumerate() {
        let inside = lane > from && lane < to;
        text.push(match (tied.contains(&lane), ending.contains(&lane)) {
            _ if lane == column => sign,
            (true, true) if inside => '┴',
            (true, true) if lane < column => '╰',
            (true, true) => '╯',
            (true, false) if inside => '┼',
            (true, false) if lane < column => '├',
            (true, false) => '┤',
            (false, _) if *is_open => '│',
            (false, _) if inside => '─',
            (false, _) => ' ',
        });
        text.push(if lane >= from && lane < to {
            '─'
        } else {
            ' '
        });
    }
    text.trim_end().to_owned()
}

/// Returns the tasks that can be ordered, in order: of those that are free, the first in the file.
fn order(after: &[Vec<usize>]) -> Vec<usize> {
    let mut waiting: Vec<BTreeSet<usize>> = after
        .iter()
        .map(|tasks| tasks.iter().copied().collect())
        .collect();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); after.len()];
    for (task, tasks) in waiting.iter().enumerate() {
        for &first in tasks {
            before[first].push(task);
        }
    }
    let free = (0..after.len()).filter(|&task| waiting[task].is_empty());
    let mut free: BinaryHeap<Reverse<usize>> = free.map(Reverse).collect();
    let mut order = Vec::with_capacity(after.len());
    while let Some(Reverse(task)) = free.pop() {
        order.push(task);
        for &later in &before[task] {
            waiting[later].remove(&task);
            if waiting[later].is_empty() {
                free.push(Reverse(later));
            }
        }
    }
    order
}

/// Returns the cycles among the tasks that could not be ordered; no task is in two of them.
fn cycles(after: &[Vec<usize>], ordered: &[usize]) -> Vec<Vec<usize>> {
    let ordered: BTreeSet<usize> = ordered.iter().copied().collect();
    let mut stuck: BTreeSet<usize> = (0..after.len())
        .filter(|task| !ordered.contains(task))
        .collect();
    let mut cycles = Vec::new();
    while let Some(&start) = stuck.first() {
        let mut way: Vec<usize> = vec![start];
        let mut at = start;
        let cycle = loop {
            // Everything stuck depends on something stuck, unless that was in a cycle before.
            let Some(&next) = after[at].iter().find(|task| stuck.contains(task)) else {
                break None;
            };
            if let Some(place) = way.iter().position(|&task| task == next) {
                break Some(way[place..].to_vec());
            }
            way.push(next);
            at = next;
        };
        for task in cycle.as_ref().unwrap_or(&way) {
            stuck.remove(task);
        }
        cycles.extend(cycle);
    }
    cycles
}
