//! The implementation for systems without a sandbox: it refuses instead of pretending.

use process_wrap::std::ChildWrapper;

use super::{SandboxAvailability, SandboxKind, SandboxProbe};
use crate::run::{prepare, spawn};
use crate::{CommandOutcome, Error, ExecErrorKind, Invocation};

/// A cage without restrictions.
pub(crate) struct UnsandboxedCage;

impl UnsandboxedCage {
    pub(crate) fn end(&mut self) {}

    pub(crate) fn mishap(&self, _: &str, _: &CommandOutcome) -> Option<Error> {
        None
    }
}

/// Starts a command, unless it requires a sandbox.
pub(crate) fn start(
    invocation: &Invocation,
) -> Result<(Box<dyn ChildWrapper>, UnsandboxedCage), Error> {
    if let Some(sandbox) = &invocation.sandbox {
        match super::probed().choose(sandbox.requirement)? {
            SandboxKind::None => {}
            SandboxKind::Namespaces | SandboxKind::Bubblewrap | SandboxKind::Landlock => {
                let why = "the command was not started: there is no sandbox on this system";
                return Err(Error::new(ExecErrorKind::NoSandbox, why));
            }
        }
    }
    let program = invocation.program.to_string_lossy();
    let child = spawn(prepare(invocation));
    let child = child.map_err(|source| Error::unstarted(&program, &source))?;
    Ok((child, UnsandboxedCage))
}

pub(super) fn probe() -> SandboxProbe {
    let unavailable = |what: &str| SandboxAvailability::Unavailable {
        why: format!("{what} exists on Linux only, and this system is another one"),
    };
    SandboxProbe {
        namespaces: unavailable("a sandbox of namespaces"),
        bubblewrap: unavailable("bubblewrap"),
        landlock: unavailable("Landlock"),
        is_administrator: false,
    }
}

/// Does nothing: only sandboxes of namespaces need stages, and this system has none.
pub fn serve_stages() {}

/// Does nothing: only sandboxes of namespaces need stages, and this system has none.
pub fn use_stages_of(_: impl Into<std::path::PathBuf>) {}
