//! `execute_command`: a command line in the project, in a sandbox, with limits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use exec::sandbox::{Network, Requirement, ResourceLimits, Sandbox, TMP_BYTES_MAX, UnixSockets};
use exec::{Env, Invocation, Outcome, Status};
use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{Kind as FileKind, Workspace};

use super::exceptions::Exceptions;
use super::git_filter::{GitFilter, ShownHistory};
use super::{arguments, blocking, declare, path, refused};
use crate::error::{Error, Kind};
use crate::tool::{Called, Deed, Effect, Fault, Given, Lines, Output, Tool};

const DOC: &str = "Runs a command line with `sh` in the project and waits for its end. It has no terminal \
and no input, so it must not ask anything. It can write inside the project (not in `.git` nor what runs by \
itself, such as CI settings) and has a private temporary directory. The result has `exit_code`, `stdout`, `stderr` and `timed_out`; the middle of \
long output is left out.";

/// Seconds a command may take when not said otherwise.
const TIMEOUT_SECONDS_DEFAULT: u64 = 120;

/// The surroundings of commands.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// Which sandbox has to hold them.
    pub sandbox: Requirement,
    /// Whether they reach the network.
    pub network: Network,
    /// Whether they may use UNIX sockets, which lead out of the sandbox.
    pub unix_sockets: UnixSockets,
    /// Directories outside the project they may write, such as package caches.
    pub writable: Vec<PathBuf>,
    /// Files and directories they cannot read, beside the project's secrets.
    pub hidden: Vec<PathBuf>,
    /// Variables they see besides the usual harmless ones.
    pub variables: Vec<String>,
    /// The longest a command may take, whatever the model asks for.
    pub timeout_seconds_max: u64,
    /// Decides what git shows; without one, commands see the repository as it is.
    pub git: Option<Arc<dyn GitFilter>>,
    /// What one command may use.
    pub limits: ResourceLimits,
    /// How much its private `/tmp` holds.
    pub tmp_bytes_max: u64,
}

impl Default for CommandSettings {
    fn default() -> CommandSettings {
        CommandSettings {
            sandbox: Requirement::Auto,
            network: Network::Off,
            unix_sockets: UnixSockets::Off,
            writable: Vec::new(),
            hidden: Vec::new(),
            variables: Vec::new(),
            timeout_seconds_max: 30 * 60,
            git: None,
            limits: ResourceLimits::default(),
            tmp_bytes_max: TMP_BYTES_MAX,
        }
    }
}

impl CommandSettings {
    /// A command line in the project, in its sandbox: for tools and for validation alike.
    pub fn invocation(&self, workspace: &Workspace, command: &str) -> Result<Invocation, Error> {
        self.inside(workspace, exec::shell(command))
    }

    /// A program and its arguments in the project, in its sandbox, without a shell.
    pub fn program(&self, workspace: &Workspace, words: &[String]) -> Result<Invocation, Error> {
        let (program, arguments) = words.split_first().unzip();
        let invocation = Invocation::new(program.map_or("", String::as_str));
        self.inside(
            workspace,
            invocation.args(arguments.into_iter().flatten().cloned()),
        )
    }

    fn inside(&self, workspace: &Workspace, invocation: Invocation) -> Result<Invocation, Error> {
        let refused = |error: workspace::Error| Error::new(Kind::Tool, error.to_string());
        let exceptions = Exceptions::of(workspace).map_err(refused)?;
        let mut sandbox = Sandbox::new(workspace.path())
            .opened_as(workspace.handle())
            .requirement(self.sandbox)
            .network(self.network)
            .unix_sockets(self.unix_sockets)
            .limits(self.limits)
            .tmp_bytes_max(self.tmp_bytes_max)
            .hide_all(&self.hidden)
            .read_only(".drawloom")
            .reserve("drawloom.toml")
            .hide_all(exceptions.hidden);
        for dir in &self.writable {
            sandbox = sandbox.writable(dir);
        }
        for path in exceptions.read_only {
            sandbox = sandbox.read_only(path);
        }
        let mut env = Env::agent(&self.variables);
        let history = match (&self.git, self.sandbox) {
            // Without a sandbox nothing is hidden, and another directory would only confuse.
            (None, _) | (_, Requirement::None) => ShownHistory::default(),
            (Some(filter), _) => filter.shown(workspace),
        };
        sandbox = sandbox.hide_all(history.hidden);
        if let Some(instead) = history.instead {
            sandbox = sandbox.read_only(&instead.git_dir);
            env = env
                .set("GIT_DIR", instead.git_dir)
                .set("GIT_WORK_TREE", instead.work_tree);
        }
        Ok(invocation.cwd(workspace.path()).env(env).sandbox(sandbox))
    }

    /// The same, with what is secret in another project hidden as well: commands see the whole
    /// disk, and may be led there by a link.
    pub fn hiding_secrets_of(&self, project: &Workspace) -> Result<CommandSettings, Error> {
        let refused = |error: workspace::Error| Error::new(Kind::Tool, error.to_string());
        let exceptions = Exceptions::of(project).map_err(refused)?;
        let mut settings = self.clone();
        let secrets = exceptions.hidden.iter();
        settings
            .hidden
            .extend(secrets.map(|path| project.path().join(path)));
        Ok(settings)
    }

    /// The time a command gets: what is asked for, within what is allowed and what is left.
    pub fn timeout(&self, asked: Option<u64>, left: Duration) -> Duration {
        let seconds = asked
            .unwrap_or(TIMEOUT_SECONDS_DEFAULT)
            .min(self.timeout_seconds_max);
        Duration::from_secs(seconds.max(1)).min(left)
    }
}

/// Runs commands.
pub(super) struct ExecuteCommand {
    workspace: Arc<Workspace>,
    settings: CommandSettings,
    declaration: llm::Tool,
}

#[derive(Deserialize)]
struct Arguments {
    command: Option<String>,
    argv: Option<Vec<String>>,
    cwd: Option<String>,
    timeout: Option<u64>,
}

impl Arguments {
    /// The command as it is shown, and ready to run.
    fn start(
        &self,
        settings: &CommandSettings,
        workspace: &Workspace,
    ) -> Result<(String, Invocation), Fault> {
        let (shown, invocation) = match (&self.command, self.argv.as_deref()) {
            (Some(command), None) => (command.clone(), settings.invocation(workspace, command)),
            (None, Some(words @ [_, ..])) => {
                let shown = shlex::try_join(words.iter().map(String::as_str));
                let shown = shown.map_err(|_| Fault::tell("`argv` has a zero byte."))?;
                (shown, settings.program(workspace, words))
            }
            _ => return Err(Fault::tell("Say either `command` or `argv`.")),
        };
        Ok((shown, invocation.map_err(Fault::Stop)?))
    }
}

impl ExecuteCommand {
    /// On this workspace, in these surroundings.
    pub(super) fn new(workspace: Arc<Workspace>, settings: CommandSettings) -> ExecuteCommand {
        let most = settings.timeout_seconds_max;
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1, "description": "The command line, for `sh`."},
                "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "Instead of `command`: the program and its arguments, each taken as it is, without a shell. Use it for names and texts with spaces, quotes or `$`."},
                "cwd": {"type": "string", "description": "The directory to run it in; the project's root if left out."},
                "timeout": {"type": "integer", "minimum": 1, "description": format!("Seconds it may take; {TIMEOUT_SECONDS_DEFAULT} if left out, {most} at most.")},
            },
            "additionalProperties": false,
        });
        let declaration = declare("execute_command", DOC, schema);
        ExecuteCommand {
            workspace,
            settings,
            declaration,
        }
    }
}

impl Tool for ExecuteCommand {
    fn declaration(&self) -> &llm::Tool {
        &self.declaration
    }

    fn effect(&self) -> Effect {
        Effect::Changes
    }

    fn call<'a>(&'a self, given: Given<'a>) -> Called<'a> {
        Box::pin(async move {
            let wanted: Arguments = arguments(given.arguments)?;
            let workspace = Arc::clone(&self.workspace);
            let timeout = self.settings.timeout(wanted.timeout, given.time_left);
            let invocation = self.settings.clone();
            let sandbox = self.settings.sandbox;
            let (cancel, lines) = (given.cancel.clone(), given.lines.clone());
            let output_bytes_max = given.output_bytes_max;
            blocking(move || {
                let (shown, invocation) = wanted.start(&invocation, &workspace)?;
                let invocation = invocation
                    .timeout(timeout)
                    .output_bytes_max(output_bytes_max)
                    .cancel(cancel);
                let invocation = in_directory(&workspace, invocation, wanted.cwd.as_deref())?;
                run(&invocation, &shown, &lines, sandbox)
            })
            .await
        })
    }
}

fn in_directory(
    workspace: &Workspace,
    invocation: Invocation,
    cwd: Option<&str>,
) -> Result<Invocation, Fault> {
    let Some(cwd) = cwd else {
        return Ok(invocation);
    };
    let dir = path(cwd)?;
    match workspace.kind(&dir).map_err(refused)? {
        Some(FileKind::Dir) => Ok(invocation.cwd(workspace.path().join(dir.as_str()))),
        _ => Err(Fault::tell(format!(
            "`cwd`: there is no directory `{dir}`."
        ))),
    }
}

fn run(
    invocation: &Invocation,
    command: &str,
    lines: &Lines,
    sandbox: Requirement,
) -> Result<Output, Fault> {
    let outcome = exec::run_observed(invocation, &mut |stream, line| lines.show(stream, line));
    let outcome = match outcome {
        Ok(outcome) => outcome,
        // A sandbox that cannot be had is not the model's to mend.
        Err(error) => match error.kind() {
            exec::ErrorKind::NoSandbox | exec::ErrorKind::InvalidSandbox => {
                return Err(Fault::Stop(Error::new(Kind::Tool, error.to_string())));
            }
            _ => return Err(Fault::tell(super::sentence(&error.to_string()))),
        },
    };
    let duration_ms = u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX);
    let deed = Deed::Ran {
        command: command.to_owned(),
        exit_code: outcome.status.code(),
        timed_out: outcome.status == Status::TimedOut,
        duration_ms,
    };
    Ok(Output::new(shown(&outcome, sandbox)).having(deed))
}

fn shown(outcome: &Outcome, sandbox: Requirement) -> Value {
    let mut value = json!({
        "exit_code": outcome.status.code(),
        "stdout": outcome.stdout_text(),
        "stderr": outcome.stderr_text(),
        "timed_out": outcome.status == Status::TimedOut,
    });
    if outcome.status.code().is_none() {
        value["ended"] = json!(format!("The command {}.", outcome.status));
    }
    if let Some(cause) = exec::sandbox::likely_cause(outcome, sandbox) {
        value["sandbox"] = json!(cause);
    }
    value
}
