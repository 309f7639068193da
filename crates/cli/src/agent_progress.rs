//! Shows a model at work: the files it reads and writes, the commands it runs, and the cost so far.
//!
//! Programs get every event as a line of JSON on stdout. People get lines on stderr, and on a
//! terminal a last line that is kept up to date.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::handlers::{OverallStatus, TaskEvent, TaskObserver};
use agent::{AgentEvent, AgentObserver, ConversationTotals, FileChangeKind, ToolAction};
use builder::{BuildObserver, BuildProgress, JobStatus};
use clap::builder::styling::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use llm::CallCost;
use serde::Serialize;
use serde_json::Value;
use workspace::RelPath;

use crate::arguments::HEADING;
use crate::output::{self, OutputFormat};

const TICK: Duration = Duration::from_millis(120);
/// Characters shown of a text that a model or a command wrote.
const SHOWN_CHARS_MAX: usize = 160;

const DIMMED: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// Prints the progress of agents and builds.
pub(crate) struct AgentProgress {
    form: OutputFormat,
    /// The task under way, which the loop's own events do not name.
    task: Option<String>,
    /// The task that the last line was about: others may be under way beside it.
    told: Option<String>,
    /// The status of the build under way.
    stage: Option<JobStatus>,
    line: Option<ProgressBar>,
    doing: String,
    spent: String,
}

impl AgentProgress {
    pub(crate) fn new(form: OutputFormat) -> Self {
        let on_terminal = form == OutputFormat::Text && std::io::stderr().is_terminal();
        Self {
            form,
            task: None,
            told: None,
            stage: None,
            line: on_terminal.then(spinner),
            doing: String::new(),
            spent: String::new(),
        }
    }

    /// Takes the last line away.
    pub(crate) fn finish(&mut self) {
        if let Some(line) = self.line.take() {
            line.finish_and_clear();
        }
    }

    /// Prints an event for programs. A closed pipe is no error: the reader has stopped reading.
    fn emit(&self, event: &impl Serialize) {
        let Ok(mut value) = serde_json::to_value(event) else {
            return;
        };
        if let (Value::Object(fields), Some(task)) = (&mut value, &self.task) {
            fields
                .entry("task")
                .or_insert_with(|| Value::String(task.clone()));
        }
        let _ = output::json_line(&value);
    }

    /// Prints a line; where it is about another task than the last one, names the task before.
    fn say(&mut self, text: &str) {
        if self.told != self.task
            && let Some(task) = self.task.clone()
        {
            self.print(&format!("{HEADING}{task}{HEADING:#}"));
            self.told = Some(task);
        }
        self.print(text);
    }

    fn print(&self, text: &str) {
        match &self.line {
            Some(line) => line.suspend(|| output::say(text)),
            None => output::say(text),
        }
    }

    /// Prints the line that names a task.
    fn head(&mut self, task: &str, rest: &str) {
        self.told = Some(task.to_owned());
        self.print(&format!("{HEADING}{task}{HEADING:#}{rest}"));
    }

    /// Prints an action: a verb, then its object.
    fn did(&mut self, word: &str, what: &str) {
        self.say(&format!("  {DIMMED}{word:<9}{DIMMED:#} {what}"));
    }

    fn doing(&mut self, what: impl Into<String>) {
        self.doing = what.into();
        self.show();
    }

    fn spent(&mut self, totals: &ConversationTotals) {
        self.spent = used(totals);
        self.show();
    }

    fn show(&self) {
        let Some(line) = &self.line else {
            return;
        };
        let parts = [self.doing.as_str(), self.spent.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        line.set_message(parts.join(" · "));
    }

    fn show_deed(&mut self, deed: &ToolAction) {
        match deed {
            ToolAction::Read {
                path,
                start_line,
                end_line,
            } => self.did("read", &format!("{} {start_line}-{end_line}", place(path))),
            ToolAction::Listed { path, entries } => {
                self.did("listed", &format!("{} ({entries} entries)", place(path)));
            }
            ToolAction::Searched {
                pattern,
                path,
                hits,
            } => {
                let (path, pattern) = (place(path), shown(pattern));
                self.did("searched", &format!("{path} for {pattern} ({hits} hits)"));
            }
            ToolAction::Wrote {
                path,
                change,
                lines_added,
                lines_removed,
                ..
            } => {
                let how = match change {
                    FileChangeKind::Created => format!("new, +{lines_added}"),
                    FileChangeKind::Modified => format!("+{lines_added} -{lines_removed}"),
                    FileChangeKind::Deleted => "deleted".to_owned(),
                };
                self.did("wrote", &format!("{} ({how})", place(path)));
            }
            ToolAction::Ran {
                command,
                exit_code,
                timed_out,
                duration_ms,
            } => {
                let how = match exit_code {
                    _ if *timed_out => "timed out".to_owned(),
                    Some(code) => format!("exit {code}"),
                    None => "ended by a signal".to_owned(),
                };
                let took = seconds(*duration_ms);
                self.did("ran", &format!("{} ({how}, {took})", shown(command)));
            }
            ToolAction::Called { server, tool } => {
                self.did("called", &format!("{} of {}", shown(tool), shown(server)));
            }
        }
    }

    fn show_event(&mut self, event: &AgentEvent<'_>) {
        match event {
            AgentEvent::TurnStarted { turn, .. } => {
                self.doing(format!("turn {turn}: asking the model"))
            }
            AgentEvent::TurnResumed { turn, .. } => self.did("resumed", &format!("turn {turn}")),
            AgentEvent::ToolAnnounced { name } => {
                self.doing(format!("the model writes a call of {}", shown(name)));
            }
            AgentEvent::ToolStarted {
                name, arguments, ..
            } => self.doing(started(name, arguments)),
            AgentEvent::CommandLine { line, .. } => self.doing(shown(line)),
            AgentEvent::Waiting {
                attempt,
                attempts_max,
                wait_ms,
                why,
            } => self.say(&format!(
                "  note: {}; retrying in {} ({} of {attempts_max})",
                shown(why),
                seconds(*wait_ms),
                attempt + 1
            )),
            AgentEvent::Fallback { from, to, why } => self.say(&format!(
                "  note: {} cannot answer, asking {} instead: {}",
                shown(from),
                shown(to),
                shown(why)
            )),
            AgentEvent::Spent { totals, .. } | AgentEvent::Committed { totals, .. } => {
                self.spent(totals)
            }
            AgentEvent::Did { deed, .. } => self.show_deed(deed),
            AgentEvent::ToolFinished {
                name,
                failure: Some(why),
                ..
            } => self.did(
                "refused",
                &format!("{}: {BAD}{}{BAD:#}", shown(name), shown(&reason(why))),
            ),
            AgentEvent::Told { text, .. } => self.did("told", &shown(text)),
            _ => {}
        }
    }

    fn show_check(&mut self, check: &str, passed: bool, exit_code: Option<i32>) {
        let (style, sign) = if passed { (GOOD, "✓") } else { (BAD, "✗") };
        let code = exit_code.filter(|_| !passed);
        let code = code.map_or(String::new(), |code| format!(" (exit {code})"));
        self.did(
            "checked",
            &format!("{style}{sign}{style:#} {}{code}", shown(check)),
        );
    }

    fn show_task(&mut self, event: &TaskEvent<'_>) {
        match event {
            TaskEvent::TaskStarted { task, name, kind } => {
                let (name, kind) = (shown(name), kind.word());
                let title = if name == task.as_str() {
                    String::new()
                } else {
                    format!(" {name}")
                };
                self.head(
                    task.as_str(),
                    &format!("{title} {DIMMED}({kind}){DIMMED:#}"),
                );
            }
            TaskEvent::ContextNoted { note, .. } => {
                self.did(
                    "note",
                    &format!("{}: {}", shown(&note.artifact), shown(&note.message)),
                );
            }
            TaskEvent::CheckStarted { check, .. } => {
                self.doing(format!("checking {}", shown(check)))
            }
            TaskEvent::CheckFinished {
                check,
                passed,
                exit_code,
                ..
            } => self.show_check(check, *passed, *exit_code),
            TaskEvent::FedBack {
                retry, retries_max, ..
            } => self.did(
                "fed back",
                &format!("what failed (retry {retry} of {retries_max})"),
            ),
            TaskEvent::TaskCompleted {
                message, status, ..
            } => {
                let status = status_word(*status);
                self.say(&format!(
                    "  {GOOD}done{GOOD:#}      {} ({status})",
                    shown(message)
                ));
            }
            TaskEvent::TaskFailed { message, .. } => {
                self.say(&format!("  {BAD}failed{BAD:#}    {}", shown(message)));
            }
            TaskEvent::TaskSkipped { task, because } => {
                let because: Vec<&str> = because.iter().map(|id| id.as_str()).collect();
                let because = because.join(", ");
                self.head(task.as_str(), &format!(" skipped: it depends on {because}"));
            }
            TaskEvent::TaskKept { task } => {
                self.head(task.as_str(), " was done in an earlier run");
            }
            _ => {}
        }
    }
}

impl AgentObserver for AgentProgress {
    /// Pieces are of use only where something moves.
    fn wants_stream(&self) -> bool {
        self.line.is_some()
    }

    fn notice(&mut self, event: &AgentEvent<'_>) {
        match self.form {
            OutputFormat::Json => self.emit(event),
            OutputFormat::Text => self.show_event(event),
        }
    }
}

/// Prints the progress of one task; several may be under way, and share the terminal.
pub(crate) struct TaskProgress {
    shared: Arc<Mutex<AgentProgress>>,
    task: Option<String>,
}

impl TaskProgress {
    pub(crate) fn new(shared: &Arc<Mutex<AgentProgress>>) -> Self {
        Self {
            shared: Arc::clone(shared),
            task: None,
        }
    }

    fn shown(&self) -> MutexGuard<'_, AgentProgress> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.task.clone_from(&self.task);
        shared
    }
}

impl AgentObserver for TaskProgress {
    fn wants_stream(&self) -> bool {
        self.shown().wants_stream()
    }

    fn notice(&mut self, event: &AgentEvent<'_>) {
        self.shown().notice(event);
    }
}

impl TaskObserver for TaskProgress {
    fn notice_task(&mut self, event: &TaskEvent<'_>) {
        if let TaskEvent::TaskStarted { task, .. } = event {
            self.task = Some(task.to_string());
        }
        self.shown().notice_task(event);
    }
}

impl TaskObserver for AgentProgress {
    fn notice_task(&mut self, event: &TaskEvent<'_>) {
        match self.form {
            OutputFormat::Json => self.emit(event),
            OutputFormat::Text => self.show_task(event),
        }
    }
}

impl AgentProgress {
    fn show_progress(&mut self, progress: &BuildProgress) {
        let message = &progress.message;
        // The loop's own events already show the model's changes to files.
        if progress.detail.is_some() && !message.contains(' ') {
            return;
        }
        let status = progress.status;
        if self.stage.replace(status) != Some(status) {
            self.say(&format!("{HEADING}{status}{HEADING:#}"));
        }
        let detail = progress.detail.as_deref().map(shown);
        let detail = detail.map_or(String::new(), |detail| {
            format!(" {DIMMED}{detail}{DIMMED:#}")
        });
        self.say(&format!("  {}{detail}", shown(message)));
        self.doing(shown(message));
    }
}

impl BuildObserver for AgentProgress {
    fn notice_progress(&mut self, progress: &BuildProgress) {
        match self.form {
            OutputFormat::Json => self.emit(progress),
            OutputFormat::Text => self.show_progress(progress),
        }
    }
}

/// Summarises the usage of all calls in a few words.
pub(crate) fn used(totals: &ConversationTotals) -> String {
    let all = &totals.all;
    let cost = match all.cost() {
        _ if all.calls == 0 => return String::new(),
        CallCost::Unknown => "cost unknown".to_owned(),
        known @ CallCost::Known(_) => known.to_string(),
    };
    format!("{} tokens, {cost}", all.usage.total())
}

pub(crate) fn status_word(status: OverallStatus) -> &'static str {
    match status {
        OverallStatus::Passed => "validation passed",
        OverallStatus::Failed => "validation failed",
        OverallStatus::Skipped => "nothing was validated",
    }
}

/// Returns the first line of a foreign text, without control characters for a terminal.
pub(crate) fn shown(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let clean = output::harmless(line.trim()).replace('\t', " ");
    let mut short: String = clean.chars().take(SHOWN_CHARS_MAX).collect();
    if clean.chars().count() > SHOWN_CHARS_MAX || text.trim().lines().count() > 1 {
        short.push('…');
    }
    short
}

/// Returns a path as people write it.
fn place(path: &RelPath) -> String {
    match path.as_str() {
        "" => ".".to_owned(),
        path => shown(path),
    }
}

/// Describes a call under way by its main argument.
fn started(name: &str, arguments: &str) -> String {
    let given: Value = serde_json::from_str(arguments).unwrap_or_default();
    let about = ["command", "path", "pattern"].into_iter();
    let about = about.filter_map(|key| given[key].as_str()).next();
    match about {
        Some(about) => format!("{}: {}", shown(name), shown(about)),
        None => shown(name),
    }
}

/// Returns the sentence of a failure; the model gets it as JSON.
fn reason(failure: &str) -> String {
    let value: Value = serde_json::from_str(failure).unwrap_or_default();
    value["error"].as_str().unwrap_or(failure).to_owned()
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(TICK);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_writes_cannot_move_the_cursor() {
        assert_eq!(shown("\u{1b}[2Jrm -rf x\r\nnext"), "\u{fffd}[2Jrm -rf x…");
        assert_eq!(shown("\n  plain  \n"), "plain");
        assert_eq!(shown(&"x".repeat(200)).chars().count(), SHOWN_CHARS_MAX + 1);
    }

    #[test]
    fn calls_and_failures_are_shown_by_what_they_are_about() {
        let command = r#"{"command": "cargo test\nrm x"}"#;
        assert_eq!(
            started("execute_command", command),
            "execute_command: cargo test…"
        );
        assert_eq!(started("list_files", "{}"), "list_files");
        assert_eq!(started("write_file", "{\"path\": \"a"), "write_file");
        assert_eq!(reason(r#"{"error": "No."}"#), "No.");
        assert_eq!(reason("plain"), "plain");
    }
}
