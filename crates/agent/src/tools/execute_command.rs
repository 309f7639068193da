//! `execute_command`: a command line in the project, in a sandbox, with limits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use exec::sandbox::{
    NetworkAccess, ResourceLimits, Sandbox, SandboxKind, SandboxRequirement, TMP_BYTES_MAX,
    UnixSockets,
};
use exec::{ChildEnvironment, CommandOutcome, CommandStatus, Invocation};
use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{PathKind as FileKind, Workspace};

use super::exceptions::SandboxExceptions;
use super::git_filter::{GitFilter, ShownHistory};
use super::toolchains::ProjectToolchains;
use super::{arguments, blocking, declare, path, refused};
use crate::error::{AgentErrorKind, Error};
use crate::tool::{
    CallContext, CallEffect, LineSender, Tool, ToolAction, ToolError, ToolFuture, ToolOutput,
};

const DOC: &str = "Runs a command line with `sh` in the project and waits for its end. It has no terminal \
and no input, so it must not ask anything. It can write inside the project (not in `.git` nor what runs by \
itself, such as CI settings) and has a private temporary directory. The result has `exit_code`, `stdout`, `stderr` and `timed_out`; the middle of \
long output is left out.";

/// Variables that tell package managers that there is no network: cargo resolves the dependencies
/// of a library without a `Cargo.lock` from what was downloaded, and uv runs what is installed, without
/// a cache in the user's home, where nothing can be written.
const OFFLINE: [(&str, &str); 4] = [
    ("CARGO_NET_OFFLINE", "true"),
    ("UV_OFFLINE", "1"),
    ("UV_NO_SYNC", "1"),
    ("UV_NO_CACHE", "1"),
];

/// Seconds a command may take when not said otherwise.
const TIMEOUT_SECONDS_DEFAULT: u64 = 120;

/// The surroundings of commands.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// The sandbox that commands require.
    pub sandbox: SandboxRequirement,
    /// Network access of commands.
    pub network: NetworkAccess,
    /// Access to UNIX sockets, which lead out of the sandbox.
    pub unix_sockets: UnixSockets,
    /// Directories outside the project they may write, such as package caches.
    pub writable: Vec<PathBuf>,
    /// Files and directories they cannot read, in addition to the project's secrets.
    pub hidden: Vec<PathBuf>,
    /// Variables they see besides the usual harmless ones.
    pub variables: Vec<String>,
    /// The longest a command may take, whatever the model asks for.
    pub timeout_seconds_max: u64,
    /// Decides what git shows; without one, commands see the repository as it is.
    pub git: Option<Arc<dyn GitFilter>>,
    /// Limits of one command.
    pub limits: ResourceLimits,
    /// Size of its private `/tmp`.
    pub tmp_bytes_max: u64,
    /// The compilers' cache between commands: a directory of this project's own, outside of it. It
    /// is made when a compiler needs it.
    pub tool_cache: Option<PathBuf>,
}

impl Default for CommandSettings {
    fn default() -> CommandSettings {
        CommandSettings {
            sandbox: SandboxRequirement::Auto,
            network: NetworkAccess::Off,
            unix_sockets: UnixSockets::Off,
            writable: Vec::new(),
            hidden: Vec::new(),
            variables: Vec::new(),
            timeout_seconds_max: 30 * 60,
            git: None,
            limits: ResourceLimits::default(),
            tmp_bytes_max: TMP_BYTES_MAX,
            tool_cache: None,
        }
    }
}

impl CommandSettings {
    /// Makes the invocation of a command line in the project, in its sandbox: for tools and for
    /// validation alike.
    pub fn invocation(&self, workspace: &Workspace, command: &str) -> Result<Invocation, Error> {
        self.inside(workspace, exec::shell(command))
    }

    /// Makes the invocation of a program and its arguments in the project, in its sandbox, without
    /// a shell.
    pub fn program(&self, workspace: &Workspace, words: &[String]) -> Result<Invocation, Error> {
        let (program, arguments) = words.split_first().unzip();
        let invocation = Invocation::new(program.map_or("", String::as_str));
        self.inside(
            workspace,
            invocation.args(arguments.into_iter().flatten().cloned()),
        )
    }

    fn inside(&self, workspace: &Workspace, invocation: Invocation) -> Result<Invocation, Error> {
        let refused = |error: workspace::Error| Error::new(AgentErrorKind::Tool, error.to_string());
        let exceptions = SandboxExceptions::of(workspace).map_err(refused)?;
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
            .hide_all(&exceptions.hidden);
        for dir in &self.writable {
            sandbox = sandbox.writable(dir);
        }
        let nested = nested_git(&exceptions.read_only);
        for path in &exceptions.read_only {
            sandbox = sandbox.read_only(path);
        }
        let (mut sandbox, mut env) = self.with_toolchains(sandbox, workspace, &exceptions);
        let history = match (&self.git, self.sandbox) {
            // Without a sandbox nothing is hidden, and another directory would only confuse.
            (None, _) | (_, SandboxRequirement::None) => ShownHistory::default(),
            (Some(filter), _) => filter.shown(workspace, &nested),
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

    /// Lets toolchains write what they usually write, and find what they usually find.
    fn with_toolchains(
        &self,
        mut sandbox: Sandbox,
        workspace: &Workspace,
        exceptions: &SandboxExceptions,
    ) -> (Sandbox, ChildEnvironment) {
        let env = ChildEnvironment::agent(&self.variables);
        let toolchains = ProjectToolchains {
            workspace,
            manifests: &exceptions.manifests,
        };
        if let Ok(SandboxKind::Landlock) = exec::sandbox::probed().choose(self.sandbox) {
            let protected = exceptions.hidden.iter().chain(&exceptions.read_only);
            for dir in toolchains.output_folders(protected) {
                sandbox = sandbox.writable(dir);
            }
        }
        // Without a sandbox the user's own cache can be written.
        let needs_cache = self.sandbox != SandboxRequirement::None && toolchains.has_go();
        let cache = self.tool_cache.as_deref().filter(|_| needs_cache);
        if let Some(cache) = cache {
            sandbox = sandbox.writable(cache);
        }
        let env = toolchains.environment(env, cache, &self.variables);
        (sandbox, self.without_network(env))
    }

    /// Makes package managers use downloaded and installed packages if there is no network.
    /// Variables of the user's settings stay as they are.
    fn without_network(&self, mut env: ChildEnvironment) -> ChildEnvironment {
        if self.network == NetworkAccess::On || self.sandbox == SandboxRequirement::None {
            return env;
        }
        for (name, value) in OFFLINE {
            if !self.variables.iter().any(|own| own == name) {
                env = env.set(name, value);
            }
        }
        env
    }

    /// Hides the secrets of another project as well: commands see the whole disk, and a link may
    /// lead them there.
    pub fn hiding_secrets_of(&self, project: &Workspace) -> Result<CommandSettings, Error> {
        let refused = |error: workspace::Error| Error::new(AgentErrorKind::Tool, error.to_string());
        let exceptions = SandboxExceptions::of(project).map_err(refused)?;
        let mut settings = self.clone();
        let secrets = exceptions.hidden.iter();
        settings
            .hidden
            .extend(secrets.map(|path| project.path().join(path)));
        Ok(settings)
    }

    /// Returns the time a command gets: the time asked for, within the limit and the time left.
    pub fn timeout(&self, asked: Option<u64>, left: Duration) -> Duration {
        let seconds = asked
            .unwrap_or(TIMEOUT_SECONDS_DEFAULT)
            .min(self.timeout_seconds_max);
        Duration::from_secs(seconds.max(1)).min(left)
    }
}

/// Returns the places of git in the project that are not its own.
fn nested_git(held: &[PathBuf]) -> Vec<PathBuf> {
    let is_nested = |path: &&PathBuf| path.ends_with(".git") && path.as_path() != ".git";
    held.iter().filter(is_nested).cloned().collect()
}

/// Runs commands.
pub(super) struct ExecuteCommand {
    workspace: Arc<Workspace>,
    settings: CommandSettings,
    declaration: llm::ToolDeclaration,
}

#[derive(Deserialize)]
struct ExecuteCommandArguments {
    command: Option<String>,
    argv: Option<Vec<String>>,
    cwd: Option<String>,
    timeout: Option<u64>,
}

impl ExecuteCommandArguments {
    /// Returns the command as it is shown, and the invocation.
    fn start(
        &self,
        settings: &CommandSettings,
        workspace: &Workspace,
    ) -> Result<(String, Invocation), ToolError> {
        let (shown, invocation) = match (&self.command, self.argv.as_deref()) {
            (Some(command), None) => (command.clone(), settings.invocation(workspace, command)),
            (None, Some(words @ [_, ..])) => {
                let shown = shlex::try_join(words.iter().map(String::as_str));
                let shown = shown.map_err(|_| ToolError::tell("`argv` has a zero byte."))?;
                (shown, settings.program(workspace, words))
            }
            _ => return Err(ToolError::tell("Say either `command` or `argv`.")),
        };
        Ok((shown, invocation.map_err(ToolError::Stop)?))
    }
}

impl ExecuteCommand {
    /// Makes the tool for this workspace and these settings.
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
    fn declaration(&self) -> &llm::ToolDeclaration {
        &self.declaration
    }

    fn effect(&self) -> CallEffect {
        CallEffect::Changes
    }

    fn call<'a>(&'a self, given: CallContext<'a>) -> ToolFuture<'a> {
        Box::pin(async move {
            let wanted: ExecuteCommandArguments = arguments(given.arguments)?;
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
) -> Result<Invocation, ToolError> {
    let Some(cwd) = cwd else {
        return Ok(invocation);
    };
    let dir = path(cwd)?;
    match workspace.kind(&dir).map_err(refused)? {
        Some(FileKind::Dir) => Ok(invocation.cwd(workspace.path().join(dir.as_str()))),
        _ => Err(ToolError::tell(format!(
            "`cwd`: there is no directory `{dir}`."
        ))),
    }
}

fn run(
    invocation: &Invocation,
    command: &str,
    lines: &LineSender,
    sandbox: SandboxRequirement,
) -> Result<ToolOutput, ToolError> {
    let outcome = exec::run_observed(invocation, &mut |stream, line| lines.show(stream, line));
    let outcome = match outcome {
        Ok(outcome) => outcome,
        // A sandbox that cannot be had is not the model's to mend.
        Err(error) => match error.kind() {
            exec::ExecErrorKind::NoSandbox | exec::ExecErrorKind::InvalidSandbox => {
                return Err(ToolError::Stop(Error::new(
                    AgentErrorKind::Tool,
                    error.to_string(),
                )));
            }
            _ => return Err(ToolError::tell(super::sentence(&error.to_string()))),
        },
    };
    let duration_ms = u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX);
    let deed = ToolAction::Ran {
        command: command.to_owned(),
        exit_code: outcome.status.code(),
        timed_out: outcome.status == CommandStatus::TimedOut,
        duration_ms,
    };
    Ok(ToolOutput::new(shown(&outcome, sandbox)).having(deed))
}

fn shown(outcome: &CommandOutcome, sandbox: SandboxRequirement) -> Value {
    let mut value = json!({
        "exit_code": outcome.status.code(),
        "stdout": outcome.stdout_text(),
        "stderr": outcome.stderr_text(),
        "timed_out": outcome.status == CommandStatus::TimedOut,
    });
    if outcome.status.code().is_none() {
        value["ended"] = json!(format!("The command {}.", outcome.status));
    }
    if let Some(cause) = exec::sandbox::likely_cause(outcome, sandbox) {
        value["sandbox"] = json!(cause);
    }
    value
}
