//! A run on a screen of this size: the graph where it fits, else a line for every step; what waits for a
//! person always, with the command that answers.

use clap::builder::styling::{AnsiColor, Style};
use dialoguer::console::{measure_text_width, truncate_str};
use flow::engine::{RunStatus, TaskStatus};
use flow::{ExecutionMode, StepType, TaskId, Workflow, WorkflowStep};
use mermaid::NodeStatus;

use super::describe::span;
use super::picture::{ForeachItems, RunPicture, StepPicture};
use crate::output;

/// Width of a foreach's bar.
const BAR_COLUMNS: usize = 20;
/// Width of the screen from which a bar is shown.
const BAR_SCREEN_MIN: usize = 60;
/// Number of tasks of one step that wait for a person and are shown with their commands.
const PEOPLE_MAX: usize = 3;
/// The rows and columns of a screen too small for anything but saying so.
const ROWS_MIN: usize = 4;
const COLUMNS_MIN: usize = 20;

const DIMMED: Style = Style::new().dimmed();
const STRONG: Style = Style::new().bold();

/// The screen, in rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScreenSize {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl ScreenSize {
    /// Returns the number of rows a line takes.
    pub(super) fn height(self, line: &str) -> usize {
        measure_text_width(line)
            .max(1)
            .div_ceil(self.columns.max(1))
    }
}

/// One step's lines.
struct StepLines {
    lines: Vec<String>,
    /// Something happens there, or has to.
    is_active: bool,
    /// There is more to say of it than that it is done.
    is_lively: bool,
}

/// Composes the lines of the screen. They are never as many as its rows: lines that scroll away
/// cannot be erased.
pub(super) fn frame(
    workflow: &Workflow,
    picture: &RunPicture,
    size: ScreenSize,
    (now_ms, note): (u64, Option<&str>),
) -> Vec<String> {
    if size.rows < ROWS_MIN || size.columns < COLUMNS_MIN {
        return Vec::new();
    }
    let header = header(workflow, picture, (now_ms, note));
    let header = cut(&header, size.columns);
    let room = size.rows - 1 - 1;
    let entries: Vec<StepLines> = workflow
        .steps()
        .iter()
        .map(|step| entry(step, picture, size, now_ms))
        .collect();
    let mut lines = vec![header];
    match graph(
        workflow,
        picture,
        &entries,
        ScreenSize { rows: room, ..size },
    ) {
        Some(graph) => lines.extend(graph),
        None => lines.extend(outline(&entries, ScreenSize { rows: room, ..size })),
    }
    lines
}

/// Draws the graph, and current events below it; `None` if they do not fit.
fn graph(
    workflow: &Workflow,
    picture: &RunPicture,
    entries: &[StepLines],
    size: ScreenSize,
) -> Option<Vec<String>> {
    let mut diagram = workflow.document().diagram().clone();
    for node in &mut diagram.nodes {
        let step = picture.step(&node.id.as_str().into());
        if let Some(items) = step.and_then(|step| step.items) {
            let total = items.total.to_string();
            let ended = format!("{:>1$}", items.ended, total.len());
            node.label.text.push_str(&format!(" {ended}/{total}"));
        }
    }
    let text = diagram.to_text(size.columns, &picture.statuses());
    let text = output::harmless(text.trim_end_matches('\n'));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let widest = lines.iter().map(|line| measure_text_width(line)).max();
    let lively = entries.iter().filter(|entry| entry.is_lively);
    let lively: Vec<&String> = lively.flat_map(|entry| &entry.lines).collect();
    let below: usize = lively.iter().map(|line| size.height(line)).sum();
    let fits = widest.unwrap_or(0) < size.columns && lines.len() + 1 + below <= size.rows;
    if !fits {
        return None;
    }
    if !lively.is_empty() {
        lines.push(String::new());
        lines.extend(lively.into_iter().cloned());
    }
    Some(lines)
}

/// Lists every step, or as many as fit around the active one.
fn outline(entries: &[StepLines], size: ScreenSize) -> Vec<String> {
    let height = |lines: &[String]| -> usize { lines.iter().map(|line| size.height(line)).sum() };
    let heights: Vec<usize> = entries.iter().map(|entry| height(&entry.lines)).collect();
    if heights.iter().sum::<usize>() <= size.rows {
        return entries
            .iter()
            .flat_map(|entry| entry.lines.clone())
            .collect();
    }
    let active = entries.iter().position(|entry| entry.is_active);
    let lively = entries.iter().rposition(|entry| entry.is_lively);
    let centre = active.or(lively).unwrap_or(0);
    // Two lines say how much is left out above and below.
    let (first, end) = window(&heights, centre, size.rows.saturating_sub(2));
    let left_out = |count: usize, way: char| {
        (count > 0).then(|| format!("{DIMMED}  {way} {count} more{DIMMED:#}"))
    };
    let shown = entries.get(first..end).unwrap_or_default();
    let above = left_out(first, '↑').into_iter();
    let lines = above
        .chain(shown.iter().flat_map(|entry| entry.lines.clone()))
        .chain(left_out(entries.len() - end, '↓'));
    let mut rows = 0;
    let fitting = lines.take_while(|line| {
        rows += size.height(line);
        rows <= size.rows
    });
    fitting.collect()
}

/// Returns the range of entries around one that fit the room. Coming entries matter more than past
/// ones: three below it for one above.
fn window(heights: &[usize], centre: usize, room: usize) -> (usize, usize) {
    let (mut first, mut end) = (centre, centre + 1);
    let mut used = heights.get(centre).copied().unwrap_or(0);
    loop {
        let fits = |height: &&usize| used + **height <= room;
        let above = first.checked_sub(1).and_then(|at| heights.get(at));
        let above = above.filter(fits);
        let below = heights.get(end).filter(fits);
        match (above, below) {
            (None, Some(height)) => (used, end) = (used + height, end + 1),
            (Some(_), Some(height)) if (end - first) % 4 != 3 => {
                (used, end) = (used + height, end + 1);
            }
            (Some(height), _) => (used, first) = (used + height, first - 1),
            (None, None) => return (first, end),
        }
    }
}

fn header(
    workflow: &Workflow,
    picture: &RunPicture,
    (now_ms, note): (u64, Option<&str>),
) -> String {
    let until = picture.ended_ms.unwrap_or(now_ms);
    let time = picture
        .begun_ms
        .map(|begun| span(until.saturating_sub(begun)));
    let status = match picture.status {
        None | Some(RunStatus::Running) => None,
        Some(status) => Some(status.name().to_owned()),
    };
    let count = |status, word: &str| match picture.count(status) {
        0 => None,
        count => Some(format!("{count} {word}")),
    };
    let parts = [
        note.map(str::to_owned).or(status),
        time,
        count(TaskStatus::InProgress, "running"),
        count(TaskStatus::OnHold, "on hold"),
        count(TaskStatus::Failed, "failed"),
        Some(format!("run {}", picture.run())),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let name = workflow.name().map(output::harmless);
    let name = name.map_or(String::new(), |name| format!("{STRONG}{name}{STRONG:#} · "));
    format!("{name}{}", parts.join(" · "))
}

fn entry(step: &WorkflowStep, picture: &RunPicture, size: ScreenSize, now_ms: u64) -> StepLines {
    let nothing = StepPicture::default();
    let known = picture.step(&step.id).unwrap_or(&nothing);
    let status = picture.status(&step.id);
    let mark = match (status, step.step_type) {
        (Some(_), StepType::Decision) => '◇',
        (Some(status), _) => status.mark(),
        (None, _) => ' ',
    };
    let style = style(status);
    let about = about(step, (known, status), size, now_ms);
    let name = output::harmless(&step.name);
    let line = match status {
        None => format!("{DIMMED}  {} {name}{DIMMED:#}", step.id),
        Some(_) => format!("{style}{mark} {} {name}{style:#}  {about}", step.id),
    };
    let mut lines = vec![cut(&line, size.columns)];
    if status == Some(NodeStatus::Running) {
        let printed = known.printed.iter();
        lines.extend(
            printed.map(|line| cut(&format!("{DIMMED}    │ {line}{DIMMED:#}"), size.columns)),
        );
    }
    let people: Vec<&TaskId> = picture.people(&step.id).collect();
    for task in people.iter().take(PEOPLE_MAX) {
        // Not cut: it is to be copied.
        lines.push(format!("    {}", command(step, task, status)));
    }
    if people.len() > PEOPLE_MAX {
        let more = people.len() - PEOPLE_MAX;
        lines.push(cut(
            &format!(
                "    and {more} more: drawloom tasks list --run {}",
                picture.run()
            ),
            size.columns,
        ));
    }
    let is_going = matches!(
        status,
        Some(NodeStatus::Running | NodeStatus::Waiting | NodeStatus::Pending)
    );
    let is_active = is_going || !people.is_empty();
    StepLines {
        lines,
        is_active,
        is_lively: is_active || status == Some(NodeStatus::Failed) || known.decided.is_some(),
    }
}

/// Returns the command with which a person continues.
fn command(step: &WorkflowStep, task: &TaskId, status: Option<NodeStatus>) -> String {
    let is_held = status == Some(NodeStatus::Failed) && step.execution == ExecutionMode::Automated;
    match is_held {
        true => format!("drawloom tasks show {}", quoted(task)),
        false => format!("drawloom tasks answer {}", answer_words(step, task)),
    }
}

/// Returns a task and an answer of the required shape, as words for a shell.
pub(crate) fn answer_words(step: &WorkflowStep, task: &TaskId) -> String {
    let schema = step.config.output_schema.as_ref();
    let sample = schema.and_then(super::sample::words);
    format!(
        "{} {}",
        quoted(task),
        sample.unwrap_or_else(|| "'…'".to_owned())
    )
}

pub(crate) fn quoted(task: &TaskId) -> String {
    let id = task.to_string();
    shlex::try_quote(&id).map_or_else(|_| id.clone(), |quoted| quoted.into_owned())
}

/// Describes a step.
fn about(
    step: &WorkflowStep,
    (known, status): (&StepPicture, Option<NodeStatus>),
    size: ScreenSize,
    now_ms: u64,
) -> String {
    if let Some(decided) = &known.decided {
        let times = match decided.times {
            1 => String::new(),
            times => format!(" ({} visit)", ordinal(times)),
        };
        return output::harmless(&format!("→ {}{times}: {}", decided.to, decided.why));
    }
    let mut parts = Vec::new();
    if let Some(items) = known.items {
        parts.push(bar(items, size));
    }
    let is_active = known.count(TaskStatus::InProgress) + known.count(TaskStatus::Waiting) > 0;
    let why = known.why.as_deref().map(|why| {
        let line = why.lines().next().unwrap_or_default();
        output::harmless(line.trim_end_matches([' ', ':']))
    });
    match status {
        Some(NodeStatus::Waiting) if step.execution == ExecutionMode::Manual => {
            let who = step.config.default_assignee_id.as_deref();
            parts.push(format!("waits for {}", who.unwrap_or("a person")));
        }
        Some(NodeStatus::Failed) if known.items.is_none() => {
            let word = match known.count(TaskStatus::OnHold) {
                0 => "failed",
                _ => "on hold",
            };
            parts.push(why.map_or(word.to_owned(), |why| format!("{word}: {why}")));
        }
        Some(NodeStatus::Pending) if known.attempt > 0 => {
            parts.push(why.map_or("again soon".to_owned(), |why| format!("again soon: {why}")));
        }
        _ => {}
    }
    if known.attempt > 1 && known.items.is_none() {
        parts.push(format!("attempt {}", known.attempt));
    }
    if known.visits > 1 {
        parts.push(format!("{} visit", ordinal(known.visits)));
    }
    let until = if is_active {
        Some(now_ms)
    } else {
        known.ended_ms
    };
    if let (Some(begun), Some(until)) = (known.begun_ms, until) {
        parts.push(format!(
            "{DIMMED}{}{DIMMED:#}",
            span(until.saturating_sub(begun))
        ));
    }
    parts.join(", ")
}

/// Returns the progress of a foreach, in figures and, where there is room, as a bar.
fn bar(items: ForeachItems, size: ScreenSize) -> String {
    let ForeachItems {
        total,
        ended,
        failed,
    } = items;
    let columns = if size.columns < BAR_SCREEN_MIN {
        0
    } else {
        BAR_COLUMNS
    };
    let done = (ended as usize * columns) / (total as usize).max(1);
    let done = done.min(columns);
    let (full, rest) = ("█".repeat(done), "░".repeat(columns - done));
    let bar = match columns {
        0 => String::new(),
        _ => format!("{full}{rest} "),
    };
    match failed {
        0 => format!("{bar}{ended}/{total}"),
        failed => format!("{bar}{ended}/{total}, {failed} failed"),
    }
}

fn ordinal(number: u32) -> String {
    match number {
        1 => "first".to_owned(),
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        number => format!("{number}th"),
    }
}

fn style(status: Option<NodeStatus>) -> Style {
    let color = match status {
        Some(NodeStatus::Running) => AnsiColor::Cyan,
        Some(NodeStatus::Waiting) => AnsiColor::Yellow,
        Some(NodeStatus::Done) => AnsiColor::Green,
        Some(NodeStatus::Failed) => AnsiColor::Red,
        Some(NodeStatus::Pending | NodeStatus::Skipped) | None => return Style::new(),
    };
    color.on_default()
}

/// Cuts a line so that it stays one: a column is left free, where terminals wrap.
fn cut(line: &str, columns: usize) -> String {
    truncate_str(line, columns.saturating_sub(1), "…").into_owned()
}

#[cfg(test)]
mod tests {
    use super::{ScreenSize, window};

    #[test]
    fn as_much_as_fits_is_shown_around_where_something_happens() {
        for (heights, centre, room, expected) in [
            (&[1, 1, 1, 1, 1, 1][..], 0, 3, (0, 3)),
            (&[1, 1, 1, 1, 1, 1], 5, 3, (3, 6)),
            (&[1, 1, 1, 1, 1, 1], 2, 4, (1, 5)),
            (&[1, 4, 1, 1], 2, 3, (2, 4)),
            (&[1, 9, 1], 1, 3, (1, 2)),
        ] {
            assert_eq!(window(heights, centre, room), expected, "{heights:?}");
        }
    }

    #[test]
    fn a_line_is_as_high_as_it_is_wide() {
        let size = ScreenSize {
            rows: 24,
            columns: 10,
        };
        for (line, height) in [
            ("", 1),
            ("0123456789", 1),
            ("0123456789a", 2),
            ("\u{1b}[1mxx\u{1b}[0m", 1),
        ] {
            assert_eq!(size.height(line), height);
        }
    }
}
