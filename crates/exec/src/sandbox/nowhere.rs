//! Systems without a sandbox of ours: said, not pretended.

use process_wrap::std::ChildWrapper;

use super::{Availability, Kind, Probe};
use crate::run::{prepare, spawn};
use crate::{Error, ErrorKind, Invocation, Outcome};

/// Around nothing.
pub(crate) struct Cage;

impl Cage {
    pub(crate) fn end(&mut self) {}

    pub(crate) fn mishap(&self, _: &str, _: &Outcome) -> Option<Error> {
        None
    }
}

/// Starts a command, unless it has to be in a sandbox.
pub(crate) fn start(invocation: &Invocation) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    if let Some(sandbox) = &invocation.sandbox {
        match super::probed().choose(sandbox.requirement)? {
            Kind::None => {}
            Kind::Namespaces | Kind::Bubblewrap | Kind::Landlock => {
                let why = "the command was not started: there is no sandbox on this system";
                return Err(Error::new(ErrorKind::NoSandbox, why));
            }
        }
    }
    let program = invocation.program.to_string_lossy();
    let child = spawn(prepare(invocation, None));
    let child = child.map_err(|source| Error::unstarted(&program, &source))?;
    Ok((child, Cage))
}

pub(super) fn probe() -> Probe {
    let unavailable = |what: &str| Availability::Unavailable {
        why: format!("{what} exists on Linux only, and this system is another one"),
    };
    Probe {
        namespaces: unavailable("a sandbox of namespaces"),
        bubblewrap: unavailable("bubblewrap"),
        landlock: unavailable("Landlock"),
        is_administrator: false,
    }
}

/// Sandboxes of namespaces need stages of their own; there are none here.
pub fn serve_stages() {}

/// Sandboxes of namespaces need stages of their own; there are none here.
pub fn use_stages_of(_: impl Into<std::path::PathBuf>) {}
