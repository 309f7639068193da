//! One call of git: its arguments, its input, and its limits.

use std::ffi::OsString;
use std::time::Duration;

use exec::Invocation;

use crate::LOCAL_TIMEOUT_MAX;

/// The most that git may answer: a listing or a patch of everything.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A limit on time, under the name it has in messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimit {
    pub(crate) name: &'static str,
    pub(crate) time: Duration,
}

impl TimeLimit {
    /// For calls that need neither the network nor a whole work tree.
    pub(crate) const LOCAL: Self = Self::new("LOCAL_TIMEOUT_MAX", LOCAL_TIMEOUT_MAX);

    pub(crate) const fn new(name: &'static str, time: Duration) -> Self {
        Self { name, time }
    }
}

/// The arguments, input and limits of one call of git.
#[derive(Debug, Clone)]
pub(crate) struct GitCall {
    settings: Vec<OsString>,
    args: Vec<OsString>,
    stdin: Option<Vec<u8>>,
    pub(crate) limit: TimeLimit,
    pub(crate) output_bytes_max: usize,
}

impl GitCall {
    pub(crate) fn new<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Self {
        Self {
            settings: Vec::new(),
            args: args.into_iter().map(Into::into).collect(),
            stdin: None,
            limit: TimeLimit::LOCAL,
            output_bytes_max: OUTPUT_BYTES_MAX,
        }
    }

    pub(crate) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A setting for this call only, as `name=value`.
    pub(crate) fn setting(mut self, setting: impl Into<OsString>) -> Self {
        self.settings.extend(["-c".into(), setting.into()]);
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    pub(crate) fn limit(mut self, limit: TimeLimit) -> Self {
        self.limit = limit;
        self
    }

    pub(crate) fn apply(&self, invocation: Invocation) -> Invocation {
        let invocation = invocation
            .args(self.settings.iter().cloned())
            .args(self.args.iter().cloned())
            .output_bytes_max(self.output_bytes_max);
        match &self.stdin {
            Some(bytes) => invocation.stdin(bytes.clone()),
            None => invocation,
        }
    }
}
