//! `command`: a command line in the project, in the sandbox, with limits.
//!
//! The command line is the diagram's; values reach it as variables of the shell, or as whole words of
//! `argv`, without a shell. The command finds `{"input": …, "output": …}`
//! on stdin, and in its environment the name of the task, which is the same for every attempt: it is
//! what a side effect is made idempotent with.

use std::path::Path;
use std::time::Duration;

use agent::AgentClock as _;
use exec::sandbox::SandboxRequirement;
use exec::{CommandCancel, CommandStatus, OUTPUT_BYTES_MAX};
use expr::shell::FilledCommand;
use flow::WorkflowStep;
use flow::engine::{AttemptReport, FailureClass};
use serde_json::{Value, json};
use workspace::{AccessPolicy, RelPath, Root, Workspace};

use super::log::AttemptLog;
use super::{
    ExecutorContext, ExecutorFuture, StepAttempt, StepExecutor, interpolate, invalid, needs_text,
    on_a_thread, setting,
};
use super::{failed, unknown_settings};
use crate::tasks::clock::SystemClock;
use crate::tasks::environment::commands;

const SETTINGS: [&str; 5] = ["run", "argv", "cwd", "parse", "okCodes"];
/// Default time limit of a command.
const SECONDS_DEFAULT: u64 = 600;
/// The most characters of a failed command's words in a message.
const WORDS_CHARS_MAX: usize = 400;

pub(super) struct RunCommand;

impl StepExecutor for RunCommand {
    fn check(&self, step: &WorkflowStep) -> Vec<String> {
        let mut problems = unknown_settings(step, &SETTINGS);
        match (setting(step, "run"), setting(step, "argv")) {
            (Some(_), Some(_)) => {
                problems.push("A command has `run` or `argv`, not both.".to_owned());
            }
            (None, Some(Value::Array(words)))
                if !words.is_empty() && words.iter().all(Value::is_string) => {}
            (None, Some(_)) => {
                let shape = "`[\"git\", \"commit\", \"-m\", \"{{output.title}}\"]`";
                problems.push(format!("`argv` must be a list of texts: {shape}."));
            }
            (_, None) => problems.extend(needs_text(step, "run")),
        }
        if let Some(cwd) = setting(step, "cwd") {
            let inside = cwd.as_str().is_some_and(|cwd| RelPath::parse(cwd).is_ok());
            if !inside {
                problems.push("`config.cwd` must be a path inside the project.".to_owned());
            }
        }
        if let Some(parse) = setting(step, "parse")
            && !matches!(parse.as_str(), Some("json" | "text"))
        {
            problems.push("`config.parse` must be \"json\" or \"text\".".to_owned());
        }
        problems
    }

    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a> {
        Box::pin(async move {
            let command = match command_of(job) {
                Ok(command) => command,
                Err(problem) => return invalid(problem),
            };
            let order = CommandOrder {
                line: command.shown(),
                command,
                cwd: job
                    .setting("cwd")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
                parses: job.setting("parse").and_then(Value::as_str) == Some("json"),
                ok_codes: ok_codes(job),
                stdin: json!({
                    "input": job.state.get("input"), "output": job.state.get("output"),
                })
                .to_string(),
                task: job.task.id.to_string(),
                run: job.task.id.run.to_string(),
                attempt: job.task.attempt,
                timeout: job
                    .step
                    .config
                    .timeout
                    .map_or(Duration::from_secs(SECONDS_DEFAULT), |timeout| {
                        Duration::from_millis(timeout.ms)
                    }),
            };
            let hands = std::sync::Arc::clone(&job.hands);
            let (mut log, end) = AttemptLog::begin(job);
            let report = on_a_thread(move |cancel| order.carry_out(&hands, cancel, &mut log)).await;
            end.wait().await;
            report
        })
    }
}

/// The program or shell line that is started.
enum CommandForm {
    Line(FilledCommand),
    Program(Vec<String>),
}

impl CommandForm {
    /// Returns the command as a person would type it.
    fn shown(&self) -> String {
        match self {
            CommandForm::Line(line) => line.shown.clone(),
            CommandForm::Program(words) => {
                let words = words.iter().map(|word| expr::shell::shown_word(word));
                words.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

fn command_of(job: &StepAttempt) -> Result<CommandForm, String> {
    if let Some(words) = job.setting("argv").and_then(Value::as_array) {
        return interpolate::words(words, &job.state).map(CommandForm::Program);
    }
    let line = job.setting("run").and_then(Value::as_str);
    interpolate::command(line.unwrap_or_default(), &job.state).map(CommandForm::Line)
}

fn ok_codes(job: &StepAttempt) -> Vec<i64> {
    let given = job.setting("okCodes").and_then(Value::as_array);
    let codes = given.map(|codes| codes.iter().filter_map(Value::as_i64).collect());
    codes.unwrap_or_else(|| vec![0])
}

struct CommandOrder {
    command: CommandForm,
    /// The command in messages.
    line: String,
    cwd: Option<String>,
    parses: bool,
    ok_codes: Vec<i64>,
    stdin: String,
    task: String,
    run: String,
    attempt: u32,
    timeout: Duration,
}

impl CommandOrder {
    fn carry_out(
        &self,
        hands: &ExecutorContext,
        cancel: CommandCancel,
        log: &mut AttemptLog,
    ) -> AttemptReport {
        let sandbox = hands.project.settings.agent.sandbox.requirement;
        match self.run(hands, cancel, log) {
            Ok(outcome) => self.judge(&outcome, sandbox),
            Err(message) => invalid(message),
        }
    }

    fn run(
        &self,
        hands: &ExecutorContext,
        cancel: CommandCancel,
        log: &mut AttemptLog,
    ) -> Result<exec::CommandOutcome, String> {
        let settings = &hands.project.settings.agent;
        let policy = AccessPolicy::new(&settings.policy).map_err(|cause| cause.to_string())?;
        let root = Root::open(hands.project.folder()).map_err(|cause| cause.to_string())?;
        let workspace = Workspace::new(root, policy, settings.files);
        let commands = commands(&hands.project, &hands.surroundings);
        let invocation = match &self.command {
            CommandForm::Line(line) => commands.invocation(&workspace, &line.script),
            CommandForm::Program(words) => commands.program(&workspace, words),
        };
        let mut invocation = invocation.map_err(|cause| cause.to_string())?;
        if let CommandForm::Line(line) = &self.command {
            for (name, value) in &line.variables {
                invocation = invocation.variable(name, value);
            }
        }
        let mut invocation = invocation
            .variable("DRAWLOOM_TASK", &self.task)
            .variable("DRAWLOOM_RUN", &self.run)
            .variable("DRAWLOOM_ATTEMPT", self.attempt.to_string())
            .stdin(self.stdin.as_str())
            .timeout(self.timeout)
            .output_bytes_max(OUTPUT_BYTES_MAX)
            .cancel(cancel);
        if let Some(cwd) = &self.cwd {
            invocation = invocation.cwd(hands.project.folder().join(Path::new(cwd)));
        }
        let mut observer = |stream, line: &str| log.add(stream, line, SystemClock.now_ms());
        exec::run_observed(&invocation, &mut observer).map_err(|cause| cause.to_string())
    }

    fn judge(&self, outcome: &exec::CommandOutcome, sandbox: SandboxRequirement) -> AttemptReport {
        let stdout = outcome.stdout_text();
        let code = match outcome.status {
            CommandStatus::Exited(code) => code,
            CommandStatus::TimedOut => {
                let message = format!("`{}` took longer than {:?}.", self.line, self.timeout);
                return failed(FailureClass::Timeout, message);
            }
            CommandStatus::Cancelled => return failed(FailureClass::Cancelled, "It was stopped."),
            status @ CommandStatus::Flooded => {
                let message = format!("`{}` {status}.", self.line);
                return failed(FailureClass::Failed, message);
            }
            CommandStatus::Signaled(signal) => {
                let message = format!("`{}` was ended by signal {signal}.", self.line);
                return failed(FailureClass::Exit, message);
            }
        };
        if !self.ok_codes.contains(&i64::from(code)) {
            let said = outcome.stderr_text();
            let said = if said.trim().is_empty() { stdout } else { said };
            let skipped = said.trim().chars().count().saturating_sub(WORDS_CHARS_MAX);
            let end: String = said.trim().chars().skip(skipped).collect();
            let end = match end.is_empty() {
                true => ".".to_owned(),
                false => format!(": {end}"),
            };
            let cause = exec::sandbox::likely_cause(outcome, sandbox);
            let cause = cause.map_or(String::new(), |cause| format!("\n{cause}"));
            let message = format!("`{}` exited with {code}{end}{cause}", self.line);
            return failed(FailureClass::Exit, message);
        }
        if !self.parses {
            let is_cut = outcome.stdout_truncated || outcome.stderr_truncated;
            return self.printed(json!({
                "exitCode": code, "stdout": stdout, "stderr": outcome.stderr_text(),
                "truncated": is_cut,
            }));
        }
        if outcome.stdout_truncated {
            let message = format!(
                "`{}` printed more than OUTPUT_BYTES_MAX = {OUTPUT_BYTES_MAX} bytes, which cannot be \
                 read as JSON.",
                self.line
            );
            return failed(FailureClass::Limit, message);
        }
        match serde_json::from_str::<Value>(stdout.trim()) {
            Ok(output) => AttemptReport::completed(output),
            Err(cause) => {
                let message = format!("`{}` did not print JSON: {cause}.", self.line);
                failed(FailureClass::UnparsableReply, message)
            }
        }
    }

    /// Reports the output, with a warning if its middle is left out.
    fn printed(&self, output: Value) -> AttemptReport {
        let is_cut = output["truncated"] == true;
        let mut report = AttemptReport::completed(output);
        if is_cut {
            report.warnings.push(format!(
                "`{}` printed more than OUTPUT_BYTES_MAX = {OUTPUT_BYTES_MAX} bytes; the middle is left \
                 out.",
                self.line
            ));
        }
        report
    }
}
