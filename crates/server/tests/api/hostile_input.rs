//! Hostile values in every place where a request can have one: nothing is found, made or said that is not
//! the project's, no header is added, and nothing inside breaks.

use std::path::Path;

use app::people::UserRole;
use serde_json::{Value, json};

use crate::test_server::{CheckedAnswer, TestServer};

/// The content of a file that no request may reach.
const CANARY: &str = "CANARY-OUTSIDE";

/// Values for one place. `OUTSIDE` is the folder with the canary, from the root and from the project.
const VALUES: [&str; 13] = [
    "OUTSIDE/secret",
    "../../RELATIVE/secret",
    "..\\..\\RELATIVE\\secret",
    "....//....//RELATIVE/secret",
    "file://OUTSIDE/secret.mmd",
    "x\r\nx-injected: yes\r\n\r\n<script>",
    "x\u{0}/../../RELATIVE/secret",
    "' OR '1'='1' --",
    "%' ESCAPE '\\",
    "<script>alert(1)</script>\u{202e}\u{1b}[31m",
    "$(touch OUTSIDE/made)",
    "{{secrets.HOME}}{{ process.env }}",
    "ext::sh -c 'touch OUTSIDE/made'",
];

struct HostileRequests {
    server: TestServer,
    outside: tempfile::TempDir,
    count: usize,
}

impl HostileRequests {
    async fn new() -> HostileRequests {
        let server = TestServer::start().await;
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("of");
        std::fs::create_dir(&folder).unwrap();
        for name in ["secret", "secret.mmd", "secret.md"] {
            std::fs::write(folder.join(name), format!("graph TD\n A[{CANARY}]\n")).unwrap();
        }
        HostileRequests {
            server,
            outside,
            count: 0,
        }
    }

    fn values(&self) -> Vec<String> {
        let folder = self.outside.path().join("of");
        let name = folder.strip_prefix("/tmp").unwrap_or(&folder);
        let (whole, relative) = (folder.display().to_string(), name.display().to_string());
        let filled = VALUES.map(|value| {
            let value = value.replace("OUTSIDE", &whole);
            value.replace("RELATIVE", relative.trim_start_matches('/'))
        });
        filled.to_vec()
    }

    async fn ask(&mut self, line: &str, body: Value) {
        let headers = [("if-match", "\"new\"")];
        let server = &self.server;
        let asked = server.ask_with(UserRole::Admin, line, &headers, body.clone());
        let answered = asked.await;
        self.count += 1;
        check(line, &body, &answered);
    }
}

#[track_caller]
fn check(line: &str, body: &Value, answered: &CheckedAnswer) {
    let told = format!("{line} {body}: {answered:?}");
    assert_ne!(answered.status, 500, "{told}");
    assert!(!answered.body.to_string().contains(CANARY), "{told}");
    assert!(!answered.headers.contains_key("x-injected"), "{told}");
    let kind = answered.header("content-type");
    // Nothing of the API is a page; its own description is, and has no value of a request.
    assert!(
        !kind.contains("text/html") || line.ends_with("/docs"),
        "{told}"
    );
    assert_eq!(
        answered.header("x-content-type-options"),
        "nosniff",
        "{told}"
    );
}

fn encoded(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A path whose words in braces are this.
fn filled(path: &str, value: &str) -> String {
    let words = path.split('/').map(|word| match word.starts_with('{') {
        true => value.to_owned(),
        false => word.to_owned(),
    });
    words.collect::<Vec<_>>().join("/")
}

/// A value that fits a schema.
fn sample(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str(),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => json!("x"),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("object") => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let names = required.iter().filter_map(Value::as_str);
            let fields = names.map(|name| (name.to_owned(), sample(&schema["properties"][name])));
            Value::Object(fields.collect())
        }
        _ => json!({}),
    }
}

/// Every body in which one field is the value: alone, and as the only item of a list.
fn bodies(schema: &Value, value: &str) -> Vec<Value> {
    let names = schema["properties"].as_object();
    let names = names.into_iter().flat_map(|fields| fields.keys());
    let mut bodies = Vec::new();
    for name in names {
        let kind = schema["properties"][name]["type"].to_string();
        let field = match kind {
            kind if kind.contains("string") => json!(value),
            kind if kind.contains("array") => json!([value]),
            kind if kind.contains("object") => json!({ value: value }),
            _ => continue,
        };
        let mut body = sample(schema);
        body[name.as_str()] = field;
        bodies.push(body);
    }
    bodies
}

#[tokio::test]
async fn no_value_of_a_request_leads_out_or_breaks_anything() {
    let mut requests = HostileRequests::new().await;
    let before = tree(requests.outside.path());
    let document = server::openapi_document();
    let values = requests.values();
    for (path, operations) in document["paths"].as_object().unwrap() {
        if path.ends_with("/events") || path.starts_with("/api/v1/session") {
            continue;
        }
        for (method, operation) in operations.as_object().unwrap() {
            let line = |path: &str| format!("{} {path}", method.to_uppercase());
            for value in &values {
                if path.contains('{') {
                    let filled = filled(path, &encoded(value));
                    requests.ask(&line(&filled), Value::Null).await;
                }
                let parameters = operation["parameters"].as_array().cloned();
                for parameter in parameters.unwrap_or_default() {
                    if parameter["in"] == "query" {
                        let name = parameter["name"].as_str().unwrap();
                        let path = filled(path, "review");
                        let line = format!("{}?{name}={}", line(&path), encoded(value));
                        requests.ask(&line, Value::Null).await;
                    }
                }
                let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
                for body in bodies(schema, value) {
                    let line = line(&filled(path, "review"));
                    requests.ask(&line, body).await;
                }
            }
        }
    }
    assert_eq!(tree(requests.outside.path()), before);
    assert!(requests.count > 1_000, "only {}", requests.count);
    let project = tree(requests.server.folder.path());
    let odd = project
        .iter()
        .filter(|name| name.contains(['\r', '\n', '\u{1b}', '\u{202e}']));
    assert_eq!(odd.collect::<Vec<_>>(), Vec::<&String>::new());
}

/// Every file and folder below a folder.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.display().to_string());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}
