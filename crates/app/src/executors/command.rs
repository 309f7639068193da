//! `command`: a command line in the project, in the sandbox, with limits.
//!
//! The command line is the diagram's; values reach it as variables of the shell, or as whole words of
//! `argv`, without a shell. The command finds `{"input": …, "output": …}`
//! on stdin, and in its environment the name of the task, which is the same for every attempt: it is
//! what a side effect is made idempotent with.

use std::path::Path;
use std::time::Duration;

use exec::{Cancel, OUTPUT_BYTES_MAX, Status};
use expr::shell::Filled;
use flow::Step;
use flow::engine::{FailureClass, Report};
use serde_json::{Value, json};
use workspace::{Policy, RelPath, Root, Workspace};

use super::{Executor, Hands, Job, Working, fill, invalid, needs_text, on_a_thread, setting};
use super::{failed, unknown_settings};
use crate::tasks::bench::commands;

const SETTINGS: [&str; 5] = ["run", "argv", "cwd", "parse", "okCodes"];
/// How long a command may take when its step does not say.
const SECONDS_DEFAULT: u64 = 600;
/// The most characters of a failed command's words in a message.
const WORDS_CHARS_MAX: usize = 400;

pub(super) struct RunCommand;

impl Executor for RunCommand {
    fn check(&self, step: &Step) -> Vec<String> {
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

    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a> {
        Box::pin(async move {
            let command = match command_of(job) {
                Ok(command) => command,
                Err(problem) => return invalid(problem),
            };
            let order = Order {
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
            on_a_thread(move |cancel| order.carry_out(&hands, cancel)).await
        })
    }
}

/// What is started.
enum Started {
    Line(Filled),
    Program(Vec<String>),
}

impl Started {
    /// The command as a person would type it.
    fn shown(&self) -> String {
        match self {
            Started::Line(line) => line.shown.clone(),
            Started::Program(words) => {
                let words = words.iter().map(|word| expr::shell::shown_word(word));
                words.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

fn command_of(job: &Job) -> Result<Started, String> {
    if let Some(words) = job.setting("argv").and_then(Value::as_array) {
        return fill::words(words, &job.state).map(Started::Program);
    }
    let line = job.setting("run").and_then(Value::as_str);
    fill::command(line.unwrap_or_default(), &job.state).map(Started::Line)
}

fn ok_codes(job: &Job) -> Vec<i64> {
    let given = job.setting("okCodes").and_then(Value::as_array);
    let codes = given.map(|codes| codes.iter().filter_map(Value::as_i64).collect());
    codes.unwrap_or_else(|| vec![0])
}

struct Order {
    command: Started,
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

impl Order {
    fn carry_out(&self, hands: &Hands, cancel: Cancel) -> Report {
        match self.run(hands, cancel) {
            Ok(outcome) => self.judge(&outcome),
            Err(message) => invalid(message),
        }
    }

    fn run(&self, hands: &Hands, cancel: Cancel) -> Result<exec::Outcome, String> {
        let settings = &hands.project.settings.agent;
        let policy = Policy::new(&settings.policy).map_err(|cause| cause.to_string())?;
        let root = Root::open(hands.project.folder()).map_err(|cause| cause.to_string())?;
        let workspace = Workspace::new(root, policy, settings.files);
        let commands = commands(&settings.sandbox, &hands.surroundings);
        let invocation = match &self.command {
            Started::Line(line) => commands.invocation(&workspace, &line.script),
            Started::Program(words) => commands.program(&workspace, words),
        };
        let mut invocation = invocation.map_err(|cause| cause.to_string())?;
        if let Started::Line(line) = &self.command {
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
        exec::run(&invocation).map_err(|cause| cause.to_string())
    }

    fn judge(&self, outcome: &exec::Outcome) -> Report {
        let stdout = outcome.stdout_text();
        let code = match outcome.status {
            Status::Exited(code) => code,
            Status::TimedOut => {
                let message = format!("`{}` took longer than {:?}.", self.line, self.timeout);
                return failed(FailureClass::Timeout, message);
            }
            Status::Cancelled => return failed(FailureClass::Cancelled, "It was stopped."),
            status @ Status::Flooded => {
                let message = format!("`{}` {status}.", self.line);
                return failed(FailureClass::Failed, message);
            }
            Status::Signaled(signal) => {
                let message = format!("`{}` was ended by signal {signal}.", self.line);
                return failed(FailureClass::Exit, message);
            }
        };
        if !self.ok_codes.contains(&i64::from(code)) {
            let said = outcome.stderr_text();
            let said = if said.trim().is_empty() { stdout } else { said };
            let skipped = said.trim().chars().count().saturating_sub(WORDS_CHARS_MAX);
            let end: String = said.trim().chars().skip(skipped).collect();
            let message = format!("`{}` exited with {code}: {end}", self.line);
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
            Ok(output) => Report::completed(output),
            Err(cause) => {
                let message = format!("`{}` did not print JSON: {cause}.", self.line);
                failed(FailureClass::UnparsableReply, message)
            }
        }
    }

    /// What was printed, with a warning where the middle of it is left out.
    fn printed(&self, output: Value) -> Report {
        let is_cut = output["truncated"] == true;
        let mut report = Report::completed(output);
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
