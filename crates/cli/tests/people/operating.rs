//! `drawloom serve` as its operators have it: told to systemd, and on a disk that fills.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use crate::project::CliProject;
use crate::serving::{ServeProcess, has_status};
use crate::small::SmallDisk;
use crate::{document, done};

/// Large enough that a server calls itself ready while the disk is empty.
const MEGABYTES: u32 = 128;
/// Longer than what is left on a full disk.
const INPUT_BYTES: usize = 90_000;
const MANUAL: &str = "graph TD\n A(Approve) --> B[After]\n%% === WORKFLOW_CONFIG ===\n\
    %% @B: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n";

/// Waits for a message at a socket and returns it.
fn heard(socket: &UnixDatagram) -> String {
    let wait = Some(Duration::from_secs(60));
    socket.set_read_timeout(wait).unwrap();
    let mut bytes = [0; 512];
    let count = socket.recv(&mut bytes).unwrap();
    String::from_utf8(bytes[..count].to_vec()).unwrap()
}

#[track_caller]
fn check_told(socket: &UnixDatagram, name: &str) {
    let project = CliProject::empty().with_variable("NOTIFY_SOCKET", name);
    let server = ServeProcess::start(&project, "--no-worker --log off");
    let ready = heard(socket);
    let mut lines = ready.lines();
    assert_eq!(lines.next(), Some("READY=1"));
    assert!(lines.any(|line| line.starts_with("STATUS=")), "{ready}");
    has_status(&server.send("GET /readyz", &[], ""), "200");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(heard(socket).lines().next(), Some("STOPPING=1"));
}

#[test]
fn systemd_is_told_when_the_server_is_ready_and_when_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    check_told(&socket, path.to_str().unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn systemd_may_listen_at_an_abstract_name() {
    use std::os::linux::net::SocketAddrExt as _;
    let name = format!("drawloom-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    check_told(&socket, &format!("@{name}"));
}

#[test]
fn a_server_starts_although_systemd_does_not_listen() {
    for name in ["/nowhere/at/all", "nonsense", ""] {
        let project = CliProject::empty().with_variable("NOTIFY_SOCKET", name);
        let server = ServeProcess::start(&project, "--no-worker --log off");
        has_status(&server.send("GET /readyz", &[], ""), "200");
        assert_eq!(server.stop(), Some(0));
    }
}

fn count_runs(server: &ServeProcess, headers: &[&str]) -> u64 {
    let answer = server.send("GET /api/v1/runs?count=true", headers, "");
    has_status(&answer, "200");
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let listed: serde_json::Value = serde_json::from_str(body).unwrap();
    listed["count"].as_u64().unwrap()
}

#[test]
#[ignore = "root: only root can mount a small disk"]
fn a_disk_that_is_full_is_said_and_nothing_is_half_written_as_root() {
    let project = CliProject::empty();
    let disk = SmallDisk::mount(&project.path().join("on"), MEGABYTES);
    project.write("on/.drawloom/workflows/review.mmd", MANUAL);
    done(
        &project,
        "--cwd on users add ada --email ada@example.org --admin",
    );
    let made = document(
        &project,
        "--cwd on tokens add ci --user ada --role admin --json",
    );
    let bearer = format!("Authorization: Bearer {}", made["secret"].as_str().unwrap());
    let json = ["Content-Type: application/json", bearer.as_str()];
    let server = ServeProcess::start(&project, "--cwd on --no-worker --log off");
    let start = |bytes: usize| {
        let what = "x".repeat(bytes);
        let body = format!("{{\"workflow\": \"review\", \"input\": {{\"what\": \"{what}\"}}}}");
        server.send("POST /api/v1/runs", &json, &body)
    };
    let runs = || count_runs(&server, &json);
    has_status(&start(10), "201");
    has_status(&server.send("GET /readyz", &[], ""), "200");
    disk.fill();
    let unready = server.send("GET /readyz", &[], "");
    has_status(&unready, "503");
    assert!(unready.contains("disk_bytes_min"), "{unready}");
    has_status(&server.send("GET /healthz", &[], ""), "200");
    // The database has some room of its own.
    let mut started = 1;
    let full = loop {
        let answer = start(INPUT_BYTES);
        if !answer.starts_with("HTTP/1.1 201") {
            break answer;
        }
        started += 1;
        assert!(started < 200, "the disk does not fill");
    };
    has_status(&full, "503");
    for piece in [
        "application/problem+json",
        "disk of the server is full",
        "retry-after",
    ] {
        assert!(full.contains(piece), "{piece}: {full}");
    }
    assert!(!full.contains(project.path().to_str().unwrap()), "{full}");
    assert_eq!(runs(), started);
    let text = format!("{MANUAL}%% {}\n", "y".repeat(1_000_000));
    let body = serde_json::json!({ "text": text }).to_string();
    let new = [json.as_slice(), &["If-Match: \"new\""]].concat();
    let saved = server.send("PUT /api/v1/workflows/large", &new, &body);
    has_status(&saved, "503");
    let absent = server.send("GET /api/v1/workflows/large", &json, "");
    has_status(&absent, "404");
    disk.make_room();
    has_status(&server.send("GET /readyz", &[], ""), "200");
    has_status(&start(INPUT_BYTES), "201");
    assert_eq!(runs(), started + 1);
    has_status(
        &server.send("PUT /api/v1/workflows/large", &new, &body),
        "201",
    );
    assert_eq!(server.stop(), Some(0));
    drop(disk);
}
