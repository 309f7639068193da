//! `drawloom serve` as an operator runs it: claimed by its link or by variables, and stopped politely.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::project::{CliProject, ExpectedText};
use crate::{ExpectedRun, check, document, done, refused};

const PASSWORD: &str = "five words that no one puts together";
const MANUAL: &str = "graph TD\n A(Approve) --> B[After]\n%% === WORKFLOW_CONFIG ===\n\
    %% @B: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n";

/// A server that runs, and what it printed first.
pub(crate) struct ServeProcess {
    pub(crate) child: Child,
    pub(crate) link: String,
    /// `HOST:PORT`.
    pub(crate) host: String,
}

impl ServeProcess {
    pub(crate) fn start(project: &CliProject, options: &str) -> ServeProcess {
        let line = format!("serve --listen 127.0.0.1:0 {options}");
        ServeProcess::of(project.command(&line))
    }

    pub(crate) fn of(mut command: Command) -> ServeProcess {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut link = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut link).unwrap();
        let link = link.trim().to_owned();
        let (_, host) = link.split_once("://").unwrap_or_default();
        let host = host.split('/').next().unwrap_or_default().to_owned();
        ServeProcess { child, link, host }
    }

    pub(crate) fn port(&self) -> &str {
        self.host.rsplit_once(':').unwrap().1
    }

    /// Sends a request and returns the whole answer.
    pub(crate) fn send(&self, line: &str, headers: &[&str], body: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let length = body.len();
        let mut request = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {length}\r\n",
            self.host
        );
        for header in headers {
            request.push_str(header);
            request.push_str("\r\n");
        }
        request.push_str(&format!("\r\n{body}"));
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks the server to stop, and returns its exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            if begun.elapsed() > Duration::from_secs(20) {
                self.child.kill().unwrap();
                panic!("the server did not stop");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[track_caller]
pub(crate) fn has_status(answer: &str, status: &str) {
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status}")),
        "{answer}"
    );
}

#[test]
fn a_fresh_server_is_claimed_by_its_link_and_works_on_runs() {
    let project = CliProject::with(&[(".drawloom/workflows/review.mmd", MANUAL)]);
    let server = ServeProcess::start(&project, "");
    assert!(server.link.contains("/claim/"), "{}", server.link);
    assert_eq!(project.read(".drawloom/sign-in-link").trim(), server.link);
    let mode = std::fs::metadata(project.path().join(".drawloom/sign-in-link")).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    has_status(&server.send("GET /readyz", &[], ""), "200");
    let path = server.link.split_once(&server.host).unwrap().1;
    has_status(&server.send(&format!("GET {path}"), &[], ""), "200");
    let form = ["Content-Type: application/x-www-form-urlencoded"];
    let body = format!(
        "email=ada%40example.org&password={}",
        PASSWORD.replace(' ', "+")
    );
    let claimed = server.send(&format!("POST {path}"), &form, &body);
    has_status(&claimed, "303");
    let cookie = claimed
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = format!("Cookie: {}", cookie.unwrap().split(';').next().unwrap());
    let json = ["Content-Type: application/json", cookie.as_str()];
    let started = server.send("POST /api/v1/runs", &json, "{\"workflow\": \"review\"}");
    has_status(&started, "201");
    let run = started
        .rsplit_once("[\"")
        .unwrap()
        .1
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let line = format!("POST /api/v1/tasks/{run}%2FA/answer");
    has_status(&server.send(&line, &json, "{\"output\": \"yes\"}"), "200");
    // The worker inside does the rest.
    let begun = Instant::now();
    while !server
        .send(&format!("GET /api/v1/runs/{run}"), &json, "")
        .contains("\"status\":\"completed\",\"reason\"")
    {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the run did not end"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(server.stop(), Some(0));
    // Who has an owner prints no link any more.
    let again = ServeProcess::start(&project, "--no-worker");
    assert!(!again.link.contains("claim"), "{}", again.link);
    assert_eq!(again.stop(), Some(0));
}

#[test]
fn a_machine_is_given_its_admin_by_variables() {
    let project = CliProject::with(&[("password", &format!("{PASSWORD}\n"))])
        .with_variable("DRAWLOOM_ADMIN_EMAIL", "root@example.org")
        .with_variable("DRAWLOOM_ADMIN_PASSWORD_FILE", "password");
    let server = ServeProcess::start(&project, "");
    assert!(!server.link.contains("claim"), "{}", server.link);
    let body = format!("{{\"email\": \"root@example.org\", \"password\": \"{PASSWORD}\"}}");
    let answer = server.send(
        "POST /api/v1/session",
        &["Content-Type: application/json"],
        &body,
    );
    has_status(&answer, "200");
    assert!(answer.contains("\"role\":\"admin\""), "{answer}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn tokens_let_programs_in_until_they_are_revoked() {
    let project = CliProject::empty();
    done(&project, "users add ada --email ada@example.org --admin");
    let made = document(&project, "tokens add ci --user ada --role viewer --json");
    let secret = made["secret"].as_str().unwrap();
    let server = ServeProcess::start(&project, "");
    let bearer = format!("Authorization: Bearer {secret}");
    has_status(&server.send("GET /api/v1/runs", &[&bearer], ""), "200");
    let json = ["Content-Type: application/json", bearer.as_str()];
    has_status(
        &server.send("POST /api/v1/runs", &json, "{\"workflow\": \"x\"}"),
        "403",
    );
    done(&project, &format!("tokens revoke {}", made["id"]));
    has_status(&server.send("GET /api/v1/runs", &[&bearer], ""), "401");
    assert_eq!(server.stop(), Some(0));
    let listed = document(&project, "tokens list --json");
    assert!(listed["tokens"][0]["revokedMs"].is_number(), "{listed}");
}

#[test]
fn what_would_be_unsafe_is_refused() {
    let project = CliProject::empty();
    let cases: [(&str, &[&str]); 4] = [
        ("serve --listen 0.0.0.0:0", &["0.0.0.0:0", "--public-url"]),
        (
            "serve --listen 0.0.0.0:0 --public-url http://drawloom.example.org",
            &["unencrypted", "--insecure-http"],
        ),
        (
            "serve --listen 127.0.0.1:0 --public-url nonsense",
            &["nonsense", "https://"],
        ),
        ("tokens add ci --user nobody --expires soon", &["90d"]),
    ];
    for (line, says) in cases {
        refused(&project, line, 64, says);
    }
    let expect = ExpectedRun {
        exit: 1,
        out: ExpectedText::Nothing,
        err: ExpectedText::Has(&["there is no user `nobody`"]),
    };
    check(&project, "users reset-password nobody", expect);
}

#[test]
fn the_log_is_json_for_programs() {
    let project = CliProject::empty();
    let mut server = ServeProcess::start(&project, "--log json --no-worker");
    has_status(&server.send("GET /login", &[], ""), "200");
    let mut errors = server.child.stderr.take().unwrap();
    assert_eq!(server.stop(), Some(0));
    let mut text = String::new();
    errors.read_to_string(&mut text).unwrap();
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<serde_json::Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [line] = lines.as_slice() else {
        panic!("{text}");
    };
    assert_eq!(
        (&line["route"], &line["status"]),
        (&"/login".into(), &200.into())
    );
}

/// Reads events behind a position until nothing comes for a moment: ids and data.
fn follow(server: &ServeProcess, bearer: &str, after: &str) -> Vec<(String, String)> {
    let mut stream = TcpStream::connect(&server.host).unwrap();
    let wait = Some(Duration::from_millis(1_500));
    stream.set_read_timeout(wait).unwrap();
    let request = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\n{bearer}\r\nLast-Event-ID: {after}\r\n\r\n",
        server.host
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut events = Vec::new();
    let mut id = String::new();
    for line in BufReader::new(stream).lines() {
        // Nothing more comes, or the server is gone.
        let Ok(line) = line else { break };
        if let Some(given) = line.strip_prefix("id: ") {
            given.clone_into(&mut id);
        } else if let Some(data) = line.strip_prefix("data: ").filter(|_| !id.is_empty()) {
            events.push((std::mem::take(&mut id), data.to_owned()));
        }
    }
    events
}

#[test]
fn a_reader_of_events_misses_nothing_when_the_server_is_killed() {
    let project = CliProject::with(&[(".drawloom/workflows/review.mmd", MANUAL)]);
    done(&project, "users add ada --email ada@example.org --admin");
    let made = document(&project, "tokens add ci --user ada --role admin --json");
    let bearer = format!("Authorization: Bearer {}", made["secret"].as_str().unwrap());
    let json = ["Content-Type: application/json", bearer.as_str()];
    let mut read: Vec<(String, String)> = Vec::new();
    let mut after = "0.0".to_owned();
    for _ in 0..3 {
        let mut server = ServeProcess::start(&project, "--log off");
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| follow(&server, &bearer, &after));
            for _ in 0..5 {
                let body = "{\"workflow\": \"review\"}";
                has_status(&server.send("POST /api/v1/runs", &json, body), "201");
            }
            read.extend(reading.join().unwrap());
        });
        after.clone_from(&read.last().unwrap().0);
        // A run whose events no reader has seen, and no time to say goodbye.
        let body = "{\"workflow\": \"review\"}";
        has_status(&server.send("POST /api/v1/runs", &json, body), "201");
        server.child.kill().unwrap();
        server.child.wait().unwrap();
    }
    let server = ServeProcess::start(&project, "--log off");
    read.extend(follow(&server, &bearer, &after));
    let all = follow(&server, &bearer, "0.0");
    assert_eq!(read, all);
    let begun = all.iter().filter(|(_, data)| data.contains("run_started"));
    assert_eq!(begun.count(), 18);
    assert_eq!(server.stop(), Some(0));
}

/// What a server makes of a sign-in that says by headers where it comes from: the address in the audit log,
/// and the cookie.
fn told_of_client(proxies: &str, headers: &[&str]) -> (String, String) {
    let project = CliProject::with(&[("password", &format!("{PASSWORD}\n"))])
        .with_variable("DRAWLOOM_ADMIN_EMAIL", "root@example.org")
        .with_variable("DRAWLOOM_ADMIN_PASSWORD_FILE", "password")
        .with_variable("DRAWLOOM_SERVER_PROXIES", proxies);
    let server = ServeProcess::start(&project, "--no-worker --log off");
    let body = format!("{{\"email\": \"root@example.org\", \"password\": \"{PASSWORD}\"}}");
    let mut all = vec!["Content-Type: application/json"];
    all.extend(headers);
    let signed_in = server.send("POST /api/v1/session", &all, &body);
    has_status(&signed_in, "200");
    let cookie = signed_in
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.unwrap();
    let (name, attributes) = (
        cookie.split('=').next().unwrap(),
        cookie.contains("; Secure"),
    );
    let sent = format!("Cookie: {}", cookie.split(';').next().unwrap());
    let mut all = vec![sent.as_str()];
    all.extend(headers);
    let audit = server.send("GET /api/v1/audit", &all, "");
    has_status(&audit, "200");
    let audit: serde_json::Value =
        serde_json::from_str(audit.split_once("\r\n\r\n").unwrap().1).unwrap();
    let lines = audit["items"].as_array().unwrap();
    let begun = lines.iter().find(|line| line["action"] == "session.begin");
    let address = begun.unwrap()["address"].as_str().unwrap().to_owned();
    assert_eq!(server.stop(), Some(0));
    (address, format!("{name} {attributes}"))
}

#[test]
fn only_a_proxy_of_the_settings_is_believed_about_its_client() {
    let host = "X-Forwarded-Host: evil.example.org";
    let told = [
        "X-Forwarded-For: 127.0.0.9, 203.0.113.9",
        "X-Forwarded-Proto: https",
        "Forwarded: for=198.51.100.1;proto=https;host=evil.example.org",
    ];
    let lied = [told.as_slice(), &[host]].concat();
    let plain = ("127.0.0.1".to_owned(), "drawloom_session false".to_owned());
    assert_eq!(told_of_client("", &lied), plain);
    assert_eq!(told_of_client("10.0.0.0/8", &lied), plain);
    let believed = (
        "203.0.113.9".to_owned(),
        "__Host-drawloom_session true".to_owned(),
    );
    assert_eq!(told_of_client("127.0.0.0/8", &told), believed);
    // A host that the proxy was asked for, and that is not this server's, is refused.
    let project = CliProject::empty().with_variable("DRAWLOOM_SERVER_PROXIES", "127.0.0.1");
    let server = ServeProcess::start(&project, "--no-worker --log off");
    has_status(&server.send("GET /login", &[host], ""), "421");
    assert_eq!(server.stop(), Some(0));
    let project = CliProject::empty().with_variable("DRAWLOOM_SERVER_PROXIES", "proxy.local");
    refused(
        &project,
        "serve --listen 127.0.0.1:0",
        64,
        &["proxy.local", "server.proxies", "10.0.0.5"],
    );
}
