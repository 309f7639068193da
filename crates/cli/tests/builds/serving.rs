//! Builds over HTTP, with the original's statuses: 202, then what a person decides, 409 where it is late.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::build_fixture::{BuildFixture, PROMPT, well};

/// The server of a yard, and a token of its admin.
struct YardServer {
    child: Child,
    host: String,
    bearer: String,
}

impl YardServer {
    fn start(yard: &BuildFixture) -> YardServer {
        yard.ends("users add ada --email ada@example.org --admin", 0);
        let made = yard.ends("tokens add ci --user ada --role admin --json", 0);
        let made: Value = serde_json::from_str(&made.out).unwrap();
        let mut child = yard
            .command("serve --listen 127.0.0.1:0 --log off")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut link = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut link).unwrap();
        let host = link.strip_prefix("http://").unwrap();
        YardServer {
            host: host.trim().split('/').next().unwrap().to_owned(),
            bearer: made["secret"].as_str().unwrap().to_owned(),
            child,
        }
    }

    /// Sends a request and returns the status and the document of the answer.
    fn send(&self, line: &str, body: &Value) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let (host, bearer, length) = (&self.host, &self.bearer, body.len());
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {bearer}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    /// Waits until a build has come to a status.
    #[track_caller]
    fn wait(&self, job: &str, status: &str) -> Value {
        let begun = Instant::now();
        loop {
            let (_, shown) = self.send(&format!("GET /api/v1/builder/jobs/{job}"), &Value::Null);
            if shown["status"] == json!(status) {
                return shown;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{shown}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn generate(&self) -> String {
        let (status, made) = self.send(
            "POST /api/v1/builder/generate",
            &json!({ "prompt": PROMPT }),
        );
        assert_eq!(status, 202, "{made}");
        made["jobId"].as_str().unwrap().to_owned()
    }
}

impl Drop for YardServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_build_is_asked_for_approved_once_and_built() {
    let yard = BuildFixture::new(well());
    let server = YardServer::start(&yard);
    let job = server.generate();
    let planned = server.wait(&job, "plan_ready");
    assert!(planned["plan"].is_object(), "{planned}");
    let act = |act: &str| {
        server.send(
            &format!("POST /api/v1/builder/jobs/{job}/{act}"),
            &json!({}),
        )
    };
    assert_eq!(act("approve").0, 200);
    for late in ["approve", "reject"] {
        let (status, problem) = act(late);
        assert_eq!(
            (status, &problem["code"]),
            (409, &json!("conflict")),
            "{late}"
        );
    }
    server.wait(&job, "completed");
    assert_eq!(act("cancel").0, 409);
    assert_eq!(act("retry").0, 409);
    let (_, listed) = server.send("GET /api/v1/builder/jobs?status=completed", &Value::Null);
    assert_eq!(listed["items"][0]["id"], json!(job));
    let (status, _) = server.send("GET /api/v1/builder/jobs?status=green", &Value::Null);
    assert_eq!(status, 400);
}

#[test]
fn a_plan_can_be_rejected_or_replaced_by_one_that_holds() {
    let yard = BuildFixture::new(well());
    let server = YardServer::start(&yard);
    let job = server.generate();
    server.wait(&job, "plan_ready");
    let line = format!("POST /api/v1/builder/jobs/{job}/approve");
    let (status, problem) = server.send(&line, &json!({ "plan": { "summary": "no files" } }));
    assert_eq!(
        (status, &problem["code"]),
        (422, &json!("invalid")),
        "{problem}"
    );
    server.wait(&job, "plan_ready");
    let line = format!("POST /api/v1/builder/jobs/{job}/reject");
    assert_eq!(server.send(&line, &Value::Null).0, 200);
    server.wait(&job, "rejected");
    assert_eq!(server.send(&line, &Value::Null).0, 409);
}
