//! `drawloom doctor --url`: a running server, reached directly and through proxies with faults.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::certificate::TestCertificate;
use crate::project::CliProject;
use crate::serving::ServeProcess;
use crate::{document, done};

/// How a proxy treats the requests and answers that go through it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProxyFault {
    Nothing,
    /// Sends an answer on when it is whole.
    Buffers,
    /// Asks for another host than it was asked for.
    RewritesHost,
    /// Takes a header away, from requests and from answers.
    Drops(&'static str),
    /// Says that all is well elsewhere.
    Redirects,
    /// Has no server behind it.
    AnswersItself,
    /// Changes what time it is.
    Dates(&'static str),
}

/// Starts a proxy before a server, and returns its port. It ends with the process of the tests.
fn proxy(to: &str, fault: ProxyFault) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let to: Arc<str> = to.into();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let to = Arc::clone(&to);
            std::thread::spawn(move || {
                // A client that goes away ends what is done for it.
                let _ = client.and_then(|client| hand_on(client, &to, fault));
            });
        }
    });
    port
}

fn hand_on(mut client: TcpStream, to: &str, fault: ProxyFault) -> std::io::Result<()> {
    let (head, body) = read_head(&mut client)?;
    let length = header(&head, "content-length");
    let length = length.map_or(0, |length| length.trim().parse().unwrap());
    let mut body = body;
    while body.len() < length {
        let mut more = [0; 1024];
        let count = client.read(&mut more)?;
        body.extend_from_slice(&more[..count]);
    }
    let own: &[u8] = match fault {
        ProxyFault::Redirects => {
            b"HTTP/1.1 301 Moved\r\nLocation: https://there.invalid/\r\nContent-Length: 0\r\n\r\n"
        }
        ProxyFault::AnswersItself => b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        _ => b"",
    };
    if !own.is_empty() {
        return client.write_all(own);
    }
    let head = changed(&head, fault).replacen("\r\n", "\r\nConnection: close\r\n", 1);
    let mut server = TcpStream::connect(to)?;
    server.write_all(head.as_bytes())?;
    server.write_all(&body)?;
    if fault == ProxyFault::Buffers {
        let mut whole = Vec::new();
        server.read_to_end(&mut whole)?;
        return client.write_all(&whole);
    }
    let (head, rest) = read_head(&mut server)?;
    client.write_all(changed(&head, fault).as_bytes())?;
    client.write_all(&rest)?;
    std::io::copy(&mut server, &mut client)?;
    Ok(())
}

/// The head of a message, and what came with it of its body.
fn read_head(stream: &mut TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let rest = bytes.split_off(end + 4);
            return Ok((String::from_utf8(bytes).unwrap(), rest));
        }
        let mut more = [0; 1024];
        let count = stream.read(&mut more)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&more[..count]);
    }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (given, value) = line.split_once(':')?;
        given.eq_ignore_ascii_case(name).then_some(value)
    })
}

fn changed(head: &str, fault: ProxyFault) -> String {
    let is = |line: &str, name: &str| {
        let given = line.split(':').next().unwrap_or_default();
        given.eq_ignore_ascii_case(name)
    };
    let lines = head.trim_end().lines().filter_map(|line| match fault {
        // The proxy closes each connection.
        _ if is(line, "connection") => None,
        ProxyFault::Drops(name) if is(line, name) => None,
        ProxyFault::RewritesHost if is(line, "host") => Some("Host: backend.internal".to_owned()),
        ProxyFault::Dates(date) if is(line, "date") => Some(format!("Date: {date}")),
        _ => Some(line.to_owned()),
    });
    let lines: Vec<String> = lines.collect();
    format!("{}\r\nConnection: close\r\n\r\n", lines.join("\r\n"))
}

/// A server with a token, whose public address is its proxy's.
struct ProxiedServer {
    project: CliProject,
    server: ServeProcess,
    proxy: u16,
}

impl ProxiedServer {
    fn start(fault: ProxyFault) -> ProxiedServer {
        let project = CliProject::empty();
        done(&project, "users add ada --email ada@example.org --admin");
        let made = document(&project, "tokens add ci --user ada --role viewer --json");
        project.write("token", made["secret"].as_str().unwrap());
        // A port that is free now, and that the server is told of before it has one of its own.
        let probe = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = probe.local_addr().unwrap();
        drop(probe);
        let proxy = proxy(&own.to_string(), fault);
        let line = format!(
            "serve --no-worker --log off --listen {own} --public-url http://127.0.0.1:{proxy}"
        );
        let mut server = ServeProcess::of(project.command(&line));
        server.host = own.to_string();
        ProxiedServer {
            project,
            server,
            proxy,
        }
    }

    fn examined(&self, options: &str) -> (Value, i32) {
        let line = format!(
            "doctor --json --url http://127.0.0.1:{} {options}",
            self.proxy
        );
        let ran = self.project.run(&line);
        (serde_json::from_str(&ran.out).unwrap(), ran.exit)
    }
}

/// The names of what is not good, and all that is said about it.
fn told(report: &Value) -> (Vec<&str>, String) {
    let checks = report["checks"].as_array().unwrap();
    let wrong = checks.iter().filter(|check| check["state"] != "good");
    let said = wrong
        .clone()
        .map(|check| format!("{} {}\n", check["detail"], check["fix"]));
    let said = said.collect();
    let names = wrong
        .map(|check| check["check"].as_str().unwrap())
        .collect();
    (names, said)
}

/// Expects these findings and sentences of an examination through a proxy with this fault.
#[track_caller]
fn check_fault(fault: ProxyFault, expected: (&[&str], &[&str])) {
    let proxied = ProxiedServer::start(fault);
    let (report, exit) = proxied.examined("--token-file token");
    let (names, said) = told(&report);
    assert_eq!(names, expected.0, "{report:#}");
    for piece in expected.1 {
        assert!(said.contains(piece), "{piece}: {said}");
    }
    let is_bad = report["checks"].to_string().contains("\"bad\"");
    assert_eq!(
        (exit == 1, report["ok"] == false),
        (is_bad, is_bad),
        "{report:#}"
    );
    assert_eq!(proxied.server.stop(), Some(0));
}

#[test]
fn a_proxy_without_faults_is_good_in_everything() {
    check_fault(ProxyFault::Nothing, (&[], &[]));
}

#[test]
fn a_proxy_that_holds_streams_back_is_found() {
    let says = ["holds streams back", "proxy_buffering off"];
    check_fault(ProxyFault::Buffers, (&["streams"], &says));
}

#[test]
fn a_proxy_that_rewrites_host_is_found() {
    let says = ["`backend.internal` arrives", "proxy_set_header Host"];
    check_fault(ProxyFault::RewritesHost, (&["host"], &says));
}

#[test]
fn a_proxy_that_takes_headers_away_is_found() {
    let says = ["other sites", "Origin"];
    check_fault(ProxyFault::Drops("origin"), (&["other sites"], &says[1..]));
    let says = ["content-security-policy"];
    check_fault(
        ProxyFault::Drops("content-security-policy"),
        (&["headers"], &says),
    );
    let says = ["X-Request-Id"];
    check_fault(ProxyFault::Drops("x-request-id"), (&["request id"], &says));
    check_fault(ProxyFault::Drops("date"), (&["clock"], &["no time"]));
}

#[test]
fn a_clock_that_is_wrong_is_found() {
    let dates = ProxyFault::Dates("Thu, 01 Jan 2015 00:00:00 GMT");
    check_fault(dates, (&["clock"], &["behind", "NTP"]));
}

#[test]
fn a_proxy_with_nothing_behind_it_is_found() {
    let says = ["leads to https://there.invalid/"];
    check_fault(ProxyFault::Redirects, (&["reachable"], &says));
    let says = ["answers 502", "check where it leads"];
    check_fault(ProxyFault::AnswersItself, (&["reachable"], &says));
}

/// Starts a server that answers every request with this document, and returns its port with all that it
/// has been sent.
fn hostile_server(body: &'static str) -> (u16, Arc<Mutex<String>>) {
    // An address that other machines could have, as far as `doctor` knows.
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&heard);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            if let Ok((head, _)) = read_head(&mut client) {
                log.lock().unwrap().push_str(&head);
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                );
                client.write_all(answer.as_bytes()).ok();
            }
        }
    });
    (port, heard)
}

#[test]
fn no_token_is_sent_in_the_open() {
    let project = CliProject::empty();
    project.write("token", "dl_secret\n");
    let (port, heard) = hostile_server(r#"{"status": "alive"}"#);
    let line = format!("doctor --url http://127.0.0.2:{port} --token-file token");
    let ran = project.run(&line);
    assert!(ran.out.contains("would travel in the open"), "{}", ran.out);
    let heard = heard.lock().unwrap().to_lowercase();
    assert!(heard.contains("get /healthz") && !heard.contains("authorization"));
}

#[test]
fn a_server_forges_no_lines_and_gives_the_terminal_no_orders() {
    let project = CliProject::empty();
    let body = r#"{"status": "alive", "code": "wrong_host", "host": "a\u001b[8m\n\u2713 streams: fine\u009b2J", "detail": "\u001b[8m", "hint": "\u001b[8m"}"#;
    let (port, _) = hostile_server(body);
    let mut command = project.command(&format!("doctor --url http://127.0.0.2:{port}"));
    let output = command.env("CLICOLOR_FORCE", "1").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("streams: fine") && said.contains('\u{1b}'),
        "{said}"
    );
    assert!(
        !said.contains("\u{1b}[8m") && !said.contains('\u{9b}'),
        "{said}"
    );
    assert!(!said.contains("\n\u{2713} streams"), "{said}");
}

#[test]
fn an_address_without_a_server_is_said() {
    let project = CliProject::empty();
    let probe = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = probe.local_addr().unwrap();
    drop(probe);
    for (url, name, says) in [
        (
            "drawloom.example.org".to_owned(),
            "address",
            "not the address",
        ),
        (
            "https://a.example.org/path".to_owned(),
            "address",
            "without a path",
        ),
        (format!("http://{free}"), "reachable", "cannot be reached"),
    ] {
        let ran = project.run(&format!("doctor --json --url {url}"));
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        let (names, said) = told(&report);
        assert_eq!(
            (names.as_slice(), ran.exit),
            ([name].as_slice(), 1),
            "{report:#}"
        );
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn a_certificate_has_to_be_valid_for_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let files = TestCertificate::make(folder.path(), "own");
    let project = CliProject::empty()
        .with_variable("DRAWLOOM_TLS_CERT", files.certificate.display().to_string())
        .with_variable("DRAWLOOM_TLS_KEY", files.key.display().to_string());
    let server = ServeProcess::start(&project, "--no-worker --log off");
    let line = format!("doctor --json --url https://127.0.0.1:{}", server.port());
    let examined = |authorities: Option<&std::path::Path>| {
        let mut command = project.command(&line);
        command
            .env_remove("SSL_CERT_DIR")
            .env_remove("SSL_CERT_FILE");
        if let Some(file) = authorities {
            command.env("SSL_CERT_FILE", file);
        }
        let ran = command.output().unwrap();
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()
    };
    let strange = examined(None);
    let (names, said) = told(&strange);
    assert_eq!(names, ["encryption"], "{strange:#}");
    assert!(said.contains("SSL_CERT_FILE"), "{said}");
    let known = examined(Some(&files.certificate));
    // Without a token the events are not looked at.
    assert_eq!(told(&known).0, ["streams"], "{known:#}");
    assert_eq!(known["ok"], true);
    assert_eq!(server.stop(), Some(0));
}
