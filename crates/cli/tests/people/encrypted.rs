//! `drawloom serve` with a certificate of its own, asked by `curl`.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::certificate::TestCertificate;
use crate::project::{CliProject, ExpectedText};
use crate::serving::ServeProcess;
use crate::{ExpectedRun, check, document, done, refused};

/// A project whose server has a certificate.
fn with_certificate(project: CliProject, files: &TestCertificate) -> CliProject {
    project
        .with_variable("DRAWLOOM_TLS_CERT", files.certificate.display().to_string())
        .with_variable("DRAWLOOM_TLS_KEY", files.key.display().to_string())
}

/// `curl` that knows a certificate and nothing else of the machine's settings.
fn curl(files: &TestCertificate) -> Command {
    let mut curl = Command::new("curl");
    curl.args([
        "-q",
        "--silent",
        "--show-error",
        "--noproxy",
        "*",
        "--max-time",
        "20",
    ])
    .arg("--cacert")
    .arg(&files.certificate);
    curl
}

/// Returns the output of `curl`, and its exit code.
fn ask(files: &TestCertificate, arguments: &[&str]) -> (String, Option<i32>) {
    let ran = curl(files).args(arguments).output().unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    (printed, ran.status.code())
}

#[test]
fn a_server_with_a_certificate_speaks_https_and_nothing_else() {
    let project = CliProject::with(&[("password", "five words that no one puts together\n")])
        .with_variable("DRAWLOOM_ADMIN_EMAIL", "root@example.org")
        .with_variable("DRAWLOOM_ADMIN_PASSWORD_FILE", "password");
    let files = TestCertificate::make(project.path(), "own");
    let other = TestCertificate::make(project.path(), "other");
    let project = with_certificate(project, &files);
    let server = ServeProcess::start(&project, "--no-worker --log off");
    assert!(
        server.link.starts_with("https://127.0.0.1:"),
        "{}",
        server.link
    );
    let ready = format!("https://{}/readyz", server.host);
    let versions = ["--write-out", "\n%{http_version} %{http_code}", &ready];
    let (told, code) = ask(&files, &versions);
    assert_eq!(code, Some(0));
    assert!(
        told.contains("\"ready\"") && told.ends_with("\n2 200"),
        "{told}"
    );
    let (told, _) = ask(&files, &["--http1.1", versions[0], versions[1], &ready]);
    assert!(told.ends_with("\n1.1 200"), "{told}");
    let (_, code) = ask(&other, &[&ready]);
    assert_eq!(
        code,
        Some(60),
        "a certificate that nobody has vouched for is taken"
    );
    let plain = ready.replacen("https", "http", 1);
    let (told, _) = ask(&files, &[&plain]);
    assert!(told.contains("https"), "{told}");
    let body =
        "{\"email\": \"root@example.org\", \"password\": \"five words that no one puts together\"}";
    let session = format!("https://{}/api/v1/session", server.host);
    let json = "Content-Type: application/json";
    let (told, _) = ask(&files, &["--include", "-H", json, "-d", body, &session]);
    let told = told.to_ascii_lowercase();
    assert!(
        told.contains("set-cookie: __host-drawloom_session="),
        "{told}"
    );
    assert!(told.contains("; secure"), "{told}");
    // Of a name that every machine has, nothing is promised for other servers on it.
    assert!(!told.contains("strict-transport-security"), "{told}");
    assert_eq!(server.stop(), Some(0));
    // A port that is free now: the link has the public name.
    let probe = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = probe.local_addr().unwrap();
    drop(probe);
    let line = format!(
        "serve --no-worker --log off --listen {own} --public-url https://drawloom.example.org"
    );
    let server = ServeProcess::of(project.command(&line));
    assert_eq!(server.link, "https://drawloom.example.org");
    let to = format!("drawloom.example.org:443:{own}");
    let asked = [
        "--include",
        "--insecure",
        "--connect-to",
        &to,
        "https://drawloom.example.org/login",
    ];
    let (told, _) = ask(&files, &asked);
    assert!(
        told.contains("strict-transport-security: max-age"),
        "{told}"
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn events_are_read_over_https_until_the_server_stops() {
    let project = CliProject::empty();
    let files = TestCertificate::make(project.path(), "own");
    let project = with_certificate(project, &files);
    done(&project, "users add ada --email ada@example.org --admin");
    let made = document(&project, "tokens add ci --user ada --role viewer --json");
    let bearer = format!("Authorization: Bearer {}", made["secret"].as_str().unwrap());
    let server = ServeProcess::start(&project, "--log off");
    let events = format!("https://{}/api/v1/events", server.host);
    let mut reader = curl(&files)
        .args(["--no-buffer", "-H", &bearer, &events])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(reader.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    assert!(lines.any(|line| line == "event: hello"), "no hello came");
    assert_eq!(server.stop(), Some(0));
    // The stream came to its end: it was not cut off.
    assert_eq!(reader.wait().unwrap().code(), Some(0));
    drop(lines);
}

#[test]
fn a_certificate_that_is_replaced_is_shown_from_then_on() {
    let project = CliProject::empty();
    let files = TestCertificate::make(project.path(), "own");
    let next = TestCertificate::make(project.path(), "next");
    let first = TestCertificate {
        certificate: project.path().join("first.pem"),
        key: files.key.clone(),
    };
    std::fs::copy(&files.certificate, &first.certificate).unwrap();
    let project = with_certificate(project, &files);
    let server = ServeProcess::start(&project, "--no-worker --log off");
    let alive = format!("https://{}/healthz", server.host);
    assert_eq!(ask(&first, &[&alive]).1, Some(0));
    // Half of a change is no change.
    std::fs::copy(&next.certificate, &files.certificate).unwrap();
    assert_eq!(ask(&first, &[&alive]).1, Some(0));
    std::fs::copy(&next.key, &files.key).unwrap();
    let begun = Instant::now();
    while ask(&next, &[&alive]).1 != Some(0) {
        let waited = begun.elapsed();
        assert!(
            waited < Duration::from_secs(60),
            "the old one is still shown"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(ask(&first, &[&alive]).1, Some(60));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn files_that_are_no_certificate_are_named_with_the_reason() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let files = TestCertificate::make(folder.path(), "own");
    let other = TestCertificate::make(folder.path(), "other");
    std::fs::write(at("text"), "no certificate\n").unwrap();
    std::fs::set_permissions(at("text"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::copy(&files.key, at("open.key")).unwrap();
    std::fs::set_permissions(at("open.key"), PermissionsExt::from_mode(0o644)).unwrap();
    let (certificate, key) = (files.certificate.clone(), files.key.clone());
    let cases: [(_, _, &[&str]); 6] = [
        (
            at("missing.pem"),
            key.clone(),
            &["missing.pem", "no such file"],
        ),
        (
            certificate.clone(),
            at("missing"),
            &["missing", "no such file"],
        ),
        (
            certificate.clone(),
            at("open.key"),
            &["open.key", "other users", "chmod 600"],
        ),
        (certificate.clone(), at("text"), &["text", "no private key"]),
        (at("text"), key.clone(), &["text", "no certificate"]),
        (certificate, other.key, &["other.key", "not the key of"]),
    ];
    for (certificate, key, says) in cases {
        let wrong = TestCertificate { certificate, key };
        let expect = ExpectedRun {
            exit: 1,
            out: ExpectedText::Nothing,
            err: ExpectedText::Has(says),
        };
        let project = with_certificate(CliProject::empty(), &wrong);
        check(&project, "serve --listen 127.0.0.1:0", expect);
    }
    let half = CliProject::empty().with_variable("DRAWLOOM_TLS_CERT", "own.pem");
    refused(
        &half,
        "serve --listen 127.0.0.1:0",
        64,
        &["tls.cert", "go together"],
    );
    let both = with_certificate(CliProject::empty(), &files);
    let line = "serve --listen 127.0.0.1:0 --public-url http://127.0.0.1:80";
    refused(&both, line, 64, &["plain http", "https://"]);
}
