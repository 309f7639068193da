//! Steps that reach out, at their limits: too long, too much, wrong, late, twice.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project::CliProject;
use crate::workflow_fixture::{bare, diagram, document, result, standing, task};

fn command(run: &str, more: &Value) -> String {
    let mut config = json!({ "handler": "command", "config": { "run": run } });
    for (name, value) in more.as_object().unwrap() {
        match name.as_str() {
            "parse" | "okCodes" | "cwd" => config["config"][name] = value.clone(),
            _ => config[name] = value.clone(),
        }
    }
    diagram("A[Run it]", &[("A", config)])
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let project = bare();
    let run = "sleep 300 & echo $! > pid; wait";
    let once = json!({ "timeout": "400ms", "retry": { "attempts": 1 } });
    project.write("c.mmd", &command(run, &once));
    let begun = Instant::now();
    let ran = project.run("workflow start c.mmd --wait");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "it does not wait for it"
    );
    assert_eq!(task(&project, "A")["failure"]["class"], "timeout");
    let pid = project.read("pid");
    let place = Path::new("/proc").join(pid.trim());
    let begun = Instant::now();
    while place.exists() && begun.elapsed() < Duration::from_secs(5) {
        sleep(Duration::from_millis(20));
    }
    assert!(!place.exists(), "the group is gone");
}

#[test]
fn the_end_of_a_command_decides_the_outcome() {
    let loud = "head -c 3000000 /dev/zero | tr '\\0' x";
    let once = |more: Value| {
        let mut all = json!({ "retry": { "attempts": 1 } });
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    for (run, more, class, says) in [
        (
            "echo oh no >&2; exit 3",
            json!({}),
            "exit",
            "exited with 3: oh no",
        ),
        ("kill -9 $$", json!({}), "exit", "signal 9"),
        (
            "echo '{'",
            json!({ "parse": "json" }),
            "unparsable_reply",
            "did not print JSON",
        ),
        (
            loud,
            json!({ "parse": "json" }),
            "limit",
            "OUTPUT_BYTES_MAX = 1048576",
        ),
        (
            "echo {{input.gone}}",
            json!({}),
            "invalid",
            "`input.gone` is unknown here",
        ),
    ] {
        let project = bare();
        project.write("c.mmd", &command(run, &once(more)));
        let ran = project.run("workflow start c.mmd --wait");
        assert_eq!(ran.exit, 1, "{run}: {}", ran.err);
        let failure = task(&project, "A")["failure"].clone();
        assert_eq!(failure["class"], class, "{run}: {failure}");
        let message = failure["message"].as_str().unwrap();
        assert!(message.contains(says), "{says}: {message}");
        assert!(
            message.len() < 2_000,
            "a message is short: {}",
            message.len()
        );
    }
    let project = bare();
    project.write("c.mmd", &command("exit 3", &json!({ "okCodes": [0, 3] })));
    let ran = project.run("workflow start c.mmd --wait --json");
    assert_eq!(result(&ran)["output"]["exitCode"], 3, "{}", ran.err);
    // A text that is too long is cut, and says so.
    project.write("c.mmd", &command(loud, &json!({})));
    let ran = project.run("workflow start c.mmd --wait --json");
    let output = result(&ran)["output"].clone();
    assert_eq!(output["truncated"], true, "{}", ran.err);
    assert!(output["stdout"].as_str().unwrap().len() < 2_100_000);
}

#[test]
fn a_command_that_the_sandbox_stops_says_that_it_is_the_likely_cause() {
    let project = bare();
    project.write("drawloom.toml", "[agent.sandbox]\nkind = \"auto\"\n");
    let once = json!({ "retry": { "attempts": 1 } });
    project.write("c.mmd", &command("echo x > .drawloom/made", &once));
    let ran = project.run("workflow start c.mmd --wait");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    let failure = task(&project, "A")["failure"].clone();
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("agent.sandbox.writable"), "{message}");
}

/// A server that gives these answers, one for each call, and keeps what it was sent.
fn server(answers: Vec<String>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&sent);
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = vec![0; 16 * 1024];
            let count = stream.read(&mut bytes).unwrap();
            let head = String::from_utf8_lossy(&bytes[..count]).to_string();
            log.lock().unwrap().push(head);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, sent)
}

fn answer(status: u16, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    )
}

fn header(head: &str, name: &str) -> String {
    let start = format!("{name}: ");
    let found = head.lines().find_map(|line| line.strip_prefix(&start));
    found.unwrap_or_else(|| panic!("{name}: {head}")).to_owned()
}

fn http(url: &str, more: &Value) -> String {
    let mut config = json!({ "handler": "http", "config": { "url": url, "body": { "n": 1 } } });
    let fields = config.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    diagram(
        "A[Call] --> B[After]",
        &[("A", config), ("B", json!({ "handler": "no_op" }))],
    )
}

#[test]
fn the_answer_of_a_call_decides_the_outcome() {
    for (status, class) in [
        (400, "http4xx"),
        (401, "auth"),
        (404, "http4xx"),
        (408, "timeout"),
        (429, "rate_limited"),
        (503, "unavailable"),
    ] {
        let (url, _) = server(vec![answer(status, r#"{"why": "because"}"#)]);
        let project = bare();
        project.write("h.mmd", &http(&url, &json!({ "retry": { "attempts": 1 } })));
        assert_eq!(project.run("workflow start h.mmd --wait").exit, 1);
        let failure = task(&project, "A")["failure"].clone();
        assert_eq!(failure["class"], class, "{status}: {failure}");
        assert!(
            failure["message"].as_str().unwrap().contains("because"),
            "{failure}"
        );
    }
}

#[test]
fn a_call_that_is_made_again_is_the_same_call() {
    let answers = vec![answer(503, "{}"), answer(200, r#"{"done": true}"#)];
    let (url, sent) = server(answers);
    let project = bare();
    let retry = json!({ "retry": { "attempts": 3, "delay": "10ms" } });
    project.write("h.mmd", &http(&url, &retry));
    let ran = project.run("workflow start h.mmd --wait --json");
    assert_eq!(
        result(&ran)["output"]["body"],
        json!({ "done": true }),
        "{}",
        ran.err
    );
    let sent = sent.lock().unwrap();
    let keys: Vec<String> = sent
        .iter()
        .map(|head| header(head, "idempotency-key"))
        .collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
}

/// A run that waits for its call back, and the token.
fn waiting(project: &CliProject) -> String {
    let (url, sent) = server(vec![answer(200, r#"{"queued": true}"#)]);
    project.write("h.mmd", &http(&url, &json!({ "awaitCallback": true })));
    let ran = project.run("workflow start h.mmd --wait");
    assert_eq!(ran.exit, 2, "{}{}", ran.out, ran.err);
    let sent = sent.lock().unwrap();
    header(&sent[0], "drawloom-callback-token")
}

#[test]
fn a_call_back_is_believed_once_and_only_with_its_own_token() {
    let project = bare();
    let other = waiting(&project);
    let token = waiting(&project);
    assert_ne!(token, other, "a token is that of one task");
    let wrong = "0".repeat(token.len());
    for bad in [wrong.as_str(), &token[1..], "", &other] {
        let ran = project.run(&format!("tasks answer last/A ok=false --token '{bad}'"));
        assert_eq!(ran.exit, 1, "{bad}: {}", ran.err);
        assert!(ran.err.contains("the token is not the one"), "{}", ran.err);
        assert!(!ran.err.contains(&token), "{}", ran.err);
    }
    assert_eq!(
        task(&project, "A")["status"],
        "on_hold",
        "nothing has changed"
    );
    let right = format!("tasks answer last/A ok=true --token {token}");
    assert_eq!(project.run(&right).exit, 0);
    let twice = project.run(&right);
    assert_eq!(twice.exit, 1, "{}", twice.err);
    let ran = project.run("runs resume last --wait --json");
    assert_eq!(result(&ran)["output"], json!({ "ok": true }), "{}", ran.err);
    let late = project.run(&right);
    assert_eq!(late.exit, 1, "{}", late.err);
    let shown = document(&project.run("runs show last --json"));
    assert_eq!(shown["run"]["status"], "completed");
    assert_eq!(task(&project, "A")["output"], json!({ "ok": true }));
}

#[test]
fn a_call_back_to_a_cancelled_run_comes_too_late() {
    let project = bare();
    let token = waiting(&project);
    assert_eq!(project.run("runs cancel last").exit, 0);
    let late = project.run(&format!("tasks answer last/A ok=true --token {token}"));
    assert_eq!(late.exit, 1, "{}", late.err);
    assert!(late.err.contains("cancelled"), "{}", late.err);
    assert_eq!(standing(&project).0, "cancelled");
}

#[test]
fn a_refused_connection_is_retried_and_then_held() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    drop(listener);
    let project = bare();
    let retry = json!({ "retry": { "attempts": 2, "delay": "10ms" } });
    project.write("h.mmd", &http(&url, &retry));
    assert_eq!(project.run("workflow start h.mmd --wait").exit, 1);
    let task = task(&project, "A");
    assert_eq!(task["failure"]["class"], "unavailable", "{task}");
    assert_eq!(task["attempt"], 2);
}

const RECIPE: &str = "\
name: hi
variables:
  who: { type: string, required: true }
  times: { type: number, default: 1 }
  tags: { type: array, default: [] }
steps:
  - tool: template
    template: hi.jig
";

fn recipe(values: &Value, more: &Value) -> (CliProject, String) {
    let project = bare();
    project.write(".drawloom/recipes/hi/recipe.yml", RECIPE);
    project.write(
        ".drawloom/recipes/hi/hi.jig",
        "---\nto: hi.txt\n---\n{{ who }} {{ times + 1 }} {{ tags.join('+') }}\n",
    );
    let mut config = json!({ "recipe": "hi", "values": values });
    let fields = config.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    let steps = [("A", json!({ "handler": "recipe", "config": config }))];
    (project, diagram("A[Run it]", &steps))
}

#[test]
fn values_of_every_kind_are_mapped_into_a_recipe() {
    let values = json!({
        "who": "{{input.name}}", "times": "{{input.count}}", "tags": "{{input.tags}}",
    });
    let (project, source) = recipe(&values, &json!({}));
    project.write("r.mmd", &source);
    let input = r#"'{"name": "Ann & Bob", "count": 2, "tags": ["a", "b"]}'"#;
    let ran = project.run(&format!(
        "workflow start r.mmd --wait --json --input {input}"
    ));
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(project.read("hi.txt"), "Ann & Bob 3 a+b\n");
    // Missing values come from the recipe.
    std::fs::remove_file(project.path().join("hi.txt")).unwrap();
    let ran = project.run("workflow start r.mmd --wait --json name=Eve");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(project.read("hi.txt"), "Eve 2 \n");
}

#[test]
fn a_recipe_that_cannot_be_run_writes_nothing_and_says_why() {
    let fine = json!({ "who": "Ann" });
    for (values, more, there, says) in [
        (json!({}), json!({}), "", "who"),
        (
            json!({ "who": "Ann", "times": "many" }),
            json!({}),
            "",
            "times",
        ),
        (
            json!({ "who": "Ann", "nobody": 1 }),
            json!({}),
            "",
            "nobody",
        ),
        (fine.clone(), json!({ "recipe": "gone" }), "", "gone"),
        (fine.clone(), json!({}), "mine\n", "hi.txt"),
        (
            fine,
            json!({ "onConflict": "fail" }),
            "mine\n",
            "onConflict",
        ),
    ] {
        let (project, source) = recipe(&values, &more);
        if !there.is_empty() {
            project.write("hi.txt", there);
        }
        project.write("r.mmd", &source);
        let ran = project.run("workflow start r.mmd --wait");
        assert_eq!(ran.exit, 1, "{says}: {}", ran.err);
        // Mistakes that the check knows of begin no run; the others pause it.
        let has_begun = project.run("runs show last").exit == 0;
        let reason = match has_begun {
            true => {
                let (status, reason) = standing(&project);
                assert_eq!(status, "paused", "{says}: {reason}");
                reason
            }
            false => ran.err,
        };
        assert!(reason.contains(says), "{says}: {reason}");
        let left = std::fs::read_to_string(project.path().join("hi.txt")).unwrap_or_default();
        assert_eq!(left, there, "{says}");
    }
    let (project, source) = recipe(&json!({ "who": "Ann" }), &json!({ "onConflict": "force" }));
    project.write("hi.txt", "mine\n");
    project.write("r.mmd", &source);
    assert_eq!(project.run("workflow start r.mmd --wait").exit, 0);
    assert_eq!(project.read("hi.txt"), "Ann 2 \n");
}
