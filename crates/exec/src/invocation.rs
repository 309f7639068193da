//! An invocation: everything about a command, said before it starts.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::Env;
use crate::sandbox::Sandbox;

/// How long a command may take when nobody says otherwise.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(600);
/// How much of each output stream is kept when nobody says otherwise.
pub const OUTPUT_BYTES_MAX: usize = 1024 * 1024;
/// A command that prints more than this on one stream is stopped, when nobody says otherwise.
pub const OUTPUT_BYTES_STOP: u64 = 1024 * 1024 * 1024;
/// Variables by which coding agents mark the commands they run. Some programs
/// refuse to start or behave differently when they see one; pass this to
/// [`Env::remove_all`] where a command shall run as if the user had typed it.
pub const AGENT_MARKERS: &[&str] = &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"];

/// A command with its surroundings and limits.
#[derive(Debug, Clone)]
pub struct Invocation {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) env: Env,
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) timeout: Duration,
    pub(crate) output_bytes_max: usize,
    pub(crate) output_bytes_stop: u64,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) sandbox: Option<Sandbox>,
}

/// A command line for `sh`, as in a recipe's `shell` step.
#[must_use]
pub fn shell(command_line: &str) -> Invocation {
    Invocation::new("/bin/sh").args(["-c", command_line])
}

impl Invocation {
    /// `program` is a path, or a name looked up in the `PATH` of the child.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            env: Env::default(),
            stdin: None,
            timeout: TIMEOUT_DEFAULT,
            output_bytes_max: OUTPUT_BYTES_MAX,
            output_bytes_stop: OUTPUT_BYTES_STOP,
            cancel: None,
            sandbox: None,
        }
    }

    /// More bytes than this on one stream, kept or not, end the command.
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

    /// The directory to run in; ours when not said.
    #[must_use]
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        self.cwd = Some(dir.as_ref().to_owned());
        self
    }

    /// The environment; all of ours when not said.
    #[must_use]
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// One more variable, beside those of its environment.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env = self.env.set(name, value);
        self
    }

    /// What the command reads on standard input; nothing when not said.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How much of each output stream is kept: half from its beginning, half from its end.
    #[must_use]
    pub fn output_bytes_max(mut self, bytes: usize) -> Self {
        self.output_bytes_max = bytes;
        self
    }

    /// Ends the command when this says so, for instance on Ctrl-C: a child in
    /// its own session does not get the terminal's signals.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The cage to run in; none when not said. The command is refused when no sandbox of the
    /// kind asked for can be used.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// The program as it is named in messages.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }
}

/// A switch that ends running commands; clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends every command that was given this switch.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked for.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
