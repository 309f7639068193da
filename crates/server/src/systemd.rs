//! Tells systemd about the server (`Type=notify`): when it is ready, and that it stops.

use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable in which systemd names its socket.
pub const NOTIFY_VARIABLE: &str = "NOTIFY_SOCKET";

/// The socket at which systemd listens.
#[derive(Clone, Debug)]
pub struct SystemdSocket(SocketAddr);

impl SystemdSocket {
    /// Reads the value of the variable: a path, or an abstract name that begins with `@`.
    pub fn read(name: &str) -> Option<SystemdSocket> {
        let address = match name.strip_prefix('@') {
            Some(inner) => abstract_address(inner),
            None if name.starts_with('/') => SocketAddr::from_pathname(name).ok(),
            None => None,
        };
        address.map(SystemdSocket)
    }

    /// Tells a state such as `READY=1`. The server goes on when systemd does not listen.
    pub(crate) fn tell(&self, state: &str) {
        let told = UnixDatagram::unbound()
            .and_then(|socket| socket.send_to_addr(state.as_bytes(), &self.0));
        if let Err(cause) = told {
            let cause = cause.to_string();
            tracing::warn!(cause = cause.as_str(), "systemd could not be told");
        }
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &str) -> Option<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    SocketAddr::from_abstract_name(name).ok()
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_: &str) -> Option<SocketAddr> {
    None
}
