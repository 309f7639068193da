//! An invocation: the complete description of a command, made before it starts.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::ChildEnvironment;
use crate::sandbox::Sandbox;

/// Time limit of a command that sets no other.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(600);
/// Bytes kept of each output stream, unless the command sets another limit.
pub const OUTPUT_BYTES_MAX: usize = 1024 * 1024;
/// A command that prints more than this on one stream is stopped, unless it sets another limit.
pub(crate) const OUTPUT_BYTES_STOP: u64 = 1024 * 1024 * 1024;
/// Variables by which coding agents mark the commands they run. Some programs refuse to start or
/// behave differently when they see one; pass this to [`ChildEnvironment::remove_all`] if a command should run
/// as if the user had typed it.
pub const AGENT_MARKERS: &[&str] = &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"];

/// A command with its surroundings and limits.
#[derive(Debug, Clone)]
pub struct Invocation {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) env: ChildEnvironment,
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) timeout: Duration,
    pub(crate) output_bytes_max: usize,
    pub(crate) output_bytes_stop: u64,
    pub(crate) cancel: Option<CommandCancel>,
    pub(crate) sandbox: Option<Sandbox>,
}

/// A command line for `sh`, as in a recipe's `shell` step.
#[must_use]
pub fn shell(command_line: &str) -> Invocation {
    Invocation::new("/bin/sh").args(["-c", command_line])
}

impl Invocation {
    /// `program` is a path, or a name that is searched in the `PATH` of the child.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            env: ChildEnvironment::default(),
            stdin: None,
            timeout: TIMEOUT_DEFAULT,
            output_bytes_max: OUTPUT_BYTES_MAX,
            output_bytes_stop: OUTPUT_BYTES_STOP,
            cancel: None,
            sandbox: None,
        }
    }

    /// Ends the command if it prints more bytes than this on one stream, kept or not.
    #[must_use]
    pub fn output_bytes_stop(mut self, bytes: u64) -> Self {
        self.output_bytes_stop = bytes;
        self
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the directory to run in; the default is that of this process.
    #[must_use]
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        self.cwd = Some(dir.as_ref().to_owned());
        self
    }

    /// Sets the environment; the default is all of this process's.
    #[must_use]
    pub fn env(mut self, env: ChildEnvironment) -> Self {
        self.env = env;
        self
    }

    /// One more variable, beside those of its environment.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env = self.env.set(name, value);
        self
    }

    /// Sets the standard input; empty by default.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Sets the time limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the bytes kept of each output stream: half from its beginning, half from its end.
    #[must_use]
    pub fn output_bytes_max(mut self, bytes: usize) -> Self {
        self.output_bytes_max = bytes;
        self
    }

    /// Sets the switch that ends the command, for instance on Ctrl-C: a child in its own session
    /// does not get the terminal's signals.
    #[must_use]
    pub fn cancel(mut self, cancel: CommandCancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Sets the sandbox; without it the command runs unrestricted. The command is refused if no
    /// sandbox of the required kind can be used.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// The program, as messages name it.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }
}

/// A switch that ends running commands; clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct CommandCancel(Arc<AtomicBool>);

impl CommandCancel {
    /// Ends every command that has this switch.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true after [`CommandCancel::cancel`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
