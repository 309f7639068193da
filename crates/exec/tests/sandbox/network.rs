//! The addresses that a sandboxed command can and cannot reach.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use exec::sandbox::{NetworkAccess, SandboxRequirement, UnixSockets};

use crate::test_sandbox::{TestSandbox, kinds};

/// Tries a line of Python; prints `reached` when it did not fail.
fn attempt(line: &str) -> String {
    format!(
        "python3 - <<'END'\nimport socket, os\nout = os.environ['OUT']\ntry:\n    {line}\n    print('reached')\nexcept OSError as e:\n    print('refused')\nEND\n"
    )
}

/// Everything in the test that could be reached.
struct Services {
    tcp: TcpListener,
    udp: UdpSocket,
    path: UnixListener,
    name: UnixListener,
    datagram: UnixDatagram,
}

impl Services {
    fn new(field: &TestSandbox) -> Self {
        let services = Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            path: UnixListener::bind(field.outside.join("socket")).unwrap(),
            name: UnixListener::bind_addr(&SocketAddr::from_abstract_name(name()).unwrap())
                .unwrap(),
            datagram: UnixDatagram::bind(field.outside.join("datagram")).unwrap(),
        };
        services.tcp.set_nonblocking(true).unwrap();
        services.udp.set_nonblocking(true).unwrap();
        services.path.set_nonblocking(true).unwrap();
        services.name.set_nonblocking(true).unwrap();
        services.datagram.set_nonblocking(true).unwrap();
        services
    }

    /// Resets the services, as if they had never been called.
    fn renew(self) -> Self {
        self.tcp.accept().ok();
        self.name.accept().ok();
        self.datagram.recv(&mut [0; 9]).ok();
        self
    }

    #[track_caller]
    fn check_untouched(&self, what: &str) {
        let nothing = ErrorKind::WouldBlock;
        assert_eq!(self.tcp.accept().unwrap_err().kind(), nothing, "{what}");
        assert_eq!(
            self.udp.recv(&mut [0; 9]).unwrap_err().kind(),
            nothing,
            "{what}"
        );
        assert_eq!(self.path.accept().unwrap_err().kind(), nothing, "{what}");
        assert_eq!(self.name.accept().unwrap_err().kind(), nothing, "{what}");
        let heard = self.datagram.recv(&mut [0; 9]).unwrap_err();
        assert_eq!(heard.kind(), nothing, "{what}");
    }
}

fn name() -> String {
    format!("drawloom-test-{}", std::process::id())
}

#[test]
fn nothing_is_reached() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let services = Services::new(&field);
        let tcp = services.tcp.local_addr().unwrap().port();
        let udp = services.udp.local_addr().unwrap().port();
        let name = name();
        let sandbox = field.sandbox(kind);
        for line in [
            format!("socket.create_connection(('127.0.0.1', {tcp}), 2)"),
            format!("socket.create_connection(('localhost', {tcp}), 2)"),
            format!("s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM); s.connect(('::ffff:127.0.0.1', {tcp}))"),
            "socket.create_connection(('192.0.2.1', 80), 2)".to_owned(),
            "socket.getaddrinfo('example.com', 80)".to_owned(),
            "socket.socket(socket.AF_UNIX).connect(out + '/socket')".to_owned(),
            format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')"),
            "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', out + '/datagram')".to_owned(),
            "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', out + '/datagram')".to_owned(),
            "socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendto(b'x', out + '/datagram')".to_owned(),
            "socket.socketpair()[0].connect(out + '/socket')".to_owned(),
            "socket.socket(40, socket.SOCK_STREAM)".to_owned(),
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)".to_owned(),
            "socket.socket(38, socket.SOCK_SEQPACKET)".to_owned(),
            "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)".to_owned(),
        ] {
            let outcome = field.run(&sandbox, &attempt(&line));
            assert_eq!(outcome.stdout_text(), "refused\n", "{kind}: {line}: {outcome:?}");
            services.check_untouched(&line);
        }
        for line in [
            format!("socket.create_connection(('127.0.0.1', {tcp}), 2)"),
            format!("socket.socket(socket.AF_UNIX).connect('\\0{name}')"),
            "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', out + '/datagram')".to_owned(),
        ] {
            let bare = field.run(&field.sandbox(SandboxRequirement::None), &attempt(&line));
            assert_eq!(bare.stdout_text(), "reached\n", "{line} has no teeth");
        }
        let services = services.renew();
        // A datagram into the void is no error, so only who hears it counts.
        let line = format!(
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp}))"
        );
        field.run(&sandbox, &attempt(&line));
        services.check_untouched(&line);
    }
}

#[test]
fn pairs_of_sockets_work() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let line = "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'";
        let outcome = field.run(&field.sandbox(kind), &attempt(line));
        assert_eq!(outcome.stdout_text(), "reached\n", "{kind}: {outcome:?}");
    }
}

#[test]
fn the_network_is_there_when_it_is_allowed() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let services = Services::new(&field);
        let tcp = services.tcp.local_addr().unwrap().port();
        let sandbox = field.sandbox(kind).network(NetworkAccess::On);
        let line = format!("socket.create_connection(('127.0.0.1', {tcp}), 2)");
        let outcome = field.run(&sandbox, &attempt(&line));
        assert_eq!(outcome.stdout_text(), "reached\n", "{kind}: {outcome:?}");
        assert!(services.tcp.accept().is_ok());
        // That does not open the way to a server that listens in the file system.
        let line = "socket.socket(socket.AF_UNIX).connect(out + '/socket')";
        let outcome = field.run(&sandbox, &attempt(line));
        assert_eq!(outcome.stdout_text(), "refused\n", "{kind}: {outcome:?}");
        services.check_untouched(line);
    }
}

#[test]
fn unix_sockets_are_there_when_they_are_allowed() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let services = Services::new(&field);
        let sandbox = field.sandbox(kind).unix_sockets(UnixSockets::On);
        let line = "socket.socket(socket.AF_UNIX).connect(out + '/socket')";
        let outcome = field.run(&sandbox, &attempt(line));
        assert_eq!(outcome.stdout_text(), "reached\n", "{kind}: {outcome:?}");
        assert!(services.path.accept().is_ok());
        // Names without a file are still our own.
        let line = format!("socket.socket(socket.AF_UNIX).connect('\\0{}')", name());
        let outcome = field.run(&sandbox, &attempt(&line));
        assert_eq!(outcome.stdout_text(), "refused\n", "{kind}: {outcome:?}");
    }
}
