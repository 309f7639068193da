//! Commands at work: in order, at the same time, again when they may be tried again.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use exec::{ChildEnvironment, Invocation, OutputStream};

use super::{CommandReport, CommandResult, EffectPerformer};
use crate::effect::{CommandInvocation, CommandTree, StepCommand};
use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};
use crate::host::{RecipeEvent, RecipeHost};
use crate::request::WRITER_VARIABLE;
use crate::run_journal::RunJournal;

/// Most lines of a failed command's output an error repeats.
const OUTPUT_SHOWN_LINES_MAX: usize = 20;
/// Longest wait before a command is tried again.
const RETRY_DELAY_MAX: Duration = Duration::from_secs(10);
const RETRY_DELAY_FIRST: Duration = Duration::from_millis(500);

/// Message of a worker to the thread that may talk to the host.
enum WorkerNote {
    Started {
        id: usize,
        step: String,
        command: String,
    },
    Line {
        step: String,
        line: String,
        is_error: bool,
    },
    Finished {
        id: usize,
        report: CommandReport,
        result: CommandResult,
    },
}

/// Data that all workers share.
struct CommandContext<'s> {
    root: &'s std::path::Path,
    /// Lets drawloom see, when a command starts it, that it runs inside this run.
    token: &'s str,
    cancel: Option<&'s exec::CommandCancel>,
}

impl EffectPerformer<'_> {
    /// Runs commands; a failure stops what has not begun.
    pub(super) fn run(&mut self, runs: &[CommandTree]) -> Result<(), Error> {
        if runs.is_empty() {
            return Ok(());
        }
        let (notes, received) = channel();
        let surroundings = CommandContext {
            root: self.root.path(),
            token: &self.token,
            cancel: self.cancel.as_ref(),
        };
        let (results, reports) = (&mut self.results, &mut self.reports);
        let (host, journal) = (&mut *self.host, &mut self.journal);
        thread::scope(|threads| {
            let worker = threads.spawn(|| {
                let notes = notes;
                runs.iter()
                    .try_for_each(|run| execute(run, &surroundings, &notes))
            });
            for (id, report, result) in pass_on(&received, host, journal) {
                results.insert(id, result);
                reports.push(report);
            }
            worker.join().unwrap_or_else(|_| {
                Err(Error::new(
                    RecipeErrorKind::Command,
                    "running the commands failed unexpectedly",
                ))
            })
        })
    }
}

/// Passes events on to the host until every worker is done.
fn pass_on(
    received: &Receiver<WorkerNote>,
    host: &mut dyn RecipeHost,
    journal: &mut RunJournal<'_>,
) -> Vec<(usize, CommandReport, CommandResult)> {
    let mut finished = Vec::new();
    for note in received {
        match note {
            WorkerNote::Started { id, step, command } => {
                // A disk that is full must not end a run whose files are written already.
                journal.started(id).ok();
                host.event(RecipeEvent::CommandStarted {
                    step: &step,
                    command: &command,
                });
            }
            WorkerNote::Line {
                step,
                line,
                is_error,
            } => {
                host.event(RecipeEvent::CommandLine {
                    step: &step,
                    line: &line,
                    is_error,
                });
            }
            WorkerNote::Finished { id, report, result } => {
                let (step, command) = (report.step.as_str(), report.command.as_str());
                let succeeded = report.succeeded;
                journal.ended(id, succeeded).ok();
                host.event(RecipeEvent::CommandFinished {
                    step,
                    command,
                    succeeded,
                });
                finished.push((id, report, result));
            }
        }
    }
    finished
}

fn execute(
    run: &CommandTree,
    surroundings: &CommandContext<'_>,
    notes: &Sender<WorkerNote>,
) -> Result<(), Error> {
    match run {
        CommandTree::One(command) => one(command, surroundings, notes),
        CommandTree::Sequence { sequence } => sequence
            .iter()
            .try_for_each(|run| execute(run, surroundings, notes)),
        CommandTree::Parallel { parallel, limit } => at_once(parallel, *limit, surroundings, notes),
    }
}

fn at_once(
    runs: &[CommandTree],
    limit: usize,
    surroundings: &CommandContext<'_>,
    notes: &Sender<WorkerNote>,
) -> Result<(), Error> {
    let queue: Mutex<VecDeque<&CommandTree>> = Mutex::new(runs.iter().collect());
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let work = |notes: Sender<WorkerNote>| {
        while let Some(run) = take(&queue) {
            if let Err(error) = execute(run, surroundings, &notes) {
                if let Ok(mut failed) = failed.lock() {
                    failed.get_or_insert(error);
                }
                // The others may end what they have begun.
                if let Ok(mut queue) = queue.lock() {
                    queue.clear();
                }
            }
        }
    };
    thread::scope(|threads| {
        for _ in 0..limit.clamp(1, runs.len().max(1)) {
            let notes = notes.clone();
            threads.spawn(|| work(notes));
        }
    });
    failed.into_inner().ok().flatten().map_or(Ok(()), Err)
}

fn take<'r>(queue: &Mutex<VecDeque<&'r CommandTree>>) -> Option<&'r CommandTree> {
    queue.lock().ok()?.pop_front()
}

/// Runs one command, as often as it may be tried.
fn one(
    command: &StepCommand,
    surroundings: &CommandContext<'_>,
    notes: &Sender<WorkerNote>,
) -> Result<(), Error> {
    let line = command.what.line();
    let (step, shown) = (command.step.clone(), line.clone());
    notes
        .send(WorkerNote::Started {
            id: command.id,
            step,
            command: shown,
        })
        .ok();
    let invocation = invocation(command, surroundings);
    let begun = Instant::now();
    let outcome = run_with_retries(command, surroundings, &invocation, notes);
    let (result, failure) = match &outcome {
        Ok(outcome) => {
            let result = CommandResult {
                exit_code: outcome.status.code(),
                stdout: outcome.stdout_text().into_owned(),
                stderr: outcome.stderr_text().into_owned(),
            };
            let failure = (!outcome.is_success()).then(|| outcome.status.to_string());
            (result, failure)
        }
        Err(error) => (
            CommandResult::default(),
            Some(format!("did not start: {error}")),
        ),
    };
    let report = CommandReport {
        step: command.step.clone(),
        command: line,
        exit_code: result.exit_code,
        succeeded: failure.is_none(),
        duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    let error = failure.map(|failure| failed(command, &failure, &result));
    notes
        .send(WorkerNote::Finished {
            id: command.id,
            report,
            result,
        })
        .ok();
    match error {
        Some(error) if !command.continue_on_error => Err(error),
        _ => Ok(()),
    }
}

/// Runs a command until it succeeds, is cancelled or may not be tried again.
fn run_with_retries(
    command: &StepCommand,
    surroundings: &CommandContext<'_>,
    invocation: &Invocation,
    notes: &Sender<WorkerNote>,
) -> Result<exec::CommandOutcome, exec::Error> {
    let mut delay = RETRY_DELAY_FIRST;
    let mut tries_left = command.retries;
    loop {
        let outcome = exec::run_observed(invocation, &mut |stream, line| {
            if command.prints_data && stream == OutputStream::Stdout {
                return;
            }
            let (step, line) = (command.step.clone(), line.to_owned());
            notes
                .send(WorkerNote::Line {
                    step,
                    line,
                    is_error: stream == OutputStream::Stderr,
                })
                .ok();
        });
        let succeeded = outcome.as_ref().is_ok_and(exec::CommandOutcome::is_success);
        let cancelled = surroundings
            .cancel
            .is_some_and(exec::CommandCancel::is_cancelled);
        if succeeded || tries_left == 0 || cancelled {
            return outcome;
        }
        tries_left -= 1;
        thread::sleep(delay);
        delay = (delay * 2).min(RETRY_DELAY_MAX);
    }
}

fn invocation(command: &StepCommand, surroundings: &CommandContext<'_>) -> Invocation {
    let invocation = match &command.what {
        CommandInvocation::Shell(line) => exec::shell(&line.script),
        CommandInvocation::Program(words) => {
            let program = words.first().cloned().unwrap_or_default();
            Invocation::new(program).args(words.iter().skip(1).cloned())
        }
    };
    let env = ChildEnvironment::default().remove_all(exec::AGENT_MARKERS);
    let mut env = env.set(WRITER_VARIABLE, surroundings.token);
    for (name, value) in &command.env {
        env = env.set(name, value);
    }
    if let CommandInvocation::Shell(line) = &command.what {
        for (name, value) in &line.variables {
            env = env.set(name, value);
        }
    }
    let mut invocation = invocation
        .cwd(surroundings.root.join(command.cwd.as_path()))
        .env(env);
    if let Some(stdin) = &command.stdin {
        invocation = invocation.stdin(stdin.as_bytes());
    }
    if let Some(timeout) = command.timeout {
        invocation = invocation.timeout(timeout);
    }
    match surroundings.cancel {
        Some(cancel) => invocation.cancel(cancel.clone()),
        None => invocation,
    }
}

fn failed(command: &StepCommand, failure: &str, result: &CommandResult) -> Error {
    let said = if result.stderr.trim().is_empty() {
        &result.stdout
    } else {
        &result.stderr
    };
    let lines: Vec<&str> = said.trim_end().lines().collect();
    let tail = &lines[lines.len().saturating_sub(OUTPUT_SHOWN_LINES_MAX)..];
    let said: String = tail.iter().map(|line| format!("\n  {line}")).collect();
    let message = format!(
        "step `{}`: `{}` {failure}.{said}",
        command.step,
        command.what.line()
    );
    let place = FileSpan {
        line: command.line,
        column: 1,
        width: 1,
    };
    let diagnostic = Diagnostic::new(message).in_file(&command.file, Some(place));
    Error::of(RecipeErrorKind::Command, vec![diagnostic])
}
