//! The forms of the pages: what each writes, who may send it, and what the audit log keeps of it.

use app::people::UserRole;
use serde_json::Value;

use crate::test_server::TestServer;
use crate::{TestBrowser, encoded};

/// The newest actions of the audit log.
async fn actions(server: &TestServer) -> Vec<String> {
    let entries = server
        .done(UserRole::Admin, "GET /api/v1/audit", Value::Null)
        .await;
    let entries = entries["items"].as_array().unwrap().iter();
    entries
        .map(|entry| entry["action"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn a_recipe_is_shown_first_and_written_when_asked() {
    let server = TestServer::start().await;
    let browser = TestBrowser::of(&server, UserRole::Operator).await;
    let path = server.folder.path().join("Ada.txt");
    let shown = browser
        .ask("POST", "/recipes/hello", "f.name=Ada&act=preview")
        .await;
    assert_eq!(
        shown.title(),
        "hello would change these files",
        "{}",
        shown.body
    );
    shown.has("+Hello Ada");
    assert!(!path.exists());
    assert!(!actions(&server).await.contains(&"recipes.run".to_owned()));
    let done = browser
        .ask("POST", "/recipes/hello", "f.name=Ada&act=apply")
        .await;
    assert_eq!(done.title(), "hello is done", "{}", done.body);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "Hello Ada\n");
    assert!(actions(&server).await.contains(&"recipes.run".to_owned()));
    let viewer = TestBrowser::of(&server, UserRole::Viewer).await;
    let refused = viewer
        .ask("POST", "/recipes/hello", "f.name=Eve&act=apply")
        .await;
    assert_eq!(refused.status, 403);
    let empty = browser.ask("POST", "/recipes/hello", "act=preview").await;
    assert_eq!(empty.status, 422, "{}", empty.body);
}

#[tokio::test]
async fn people_agents_and_tokens_are_added_and_noted() {
    let server = TestServer::start().await;
    let admin = TestBrowser::of(&server, UserRole::Admin).await;
    let agent = "slug=reader&display=The+Reader&role=reviewer&agent=true&prompt=You+read.";
    assert_eq!(admin.ask("POST", "/people", agent).await.status, 303);
    admin.look("/people").await.has("You read.");
    let lacking = admin
        .ask("POST", "/people", "slug=x&display=X&role=viewer&agent=true")
        .await;
    assert_eq!(lacking.status, 422, "{}", lacking.body);
    let made = admin
        .ask("POST", "/people/tokens", "name=ci&role=viewer&days=3")
        .await;
    assert_eq!(made.status, 200);
    made.has("shown this once");
    let noted = actions(&server).await;
    for action in ["users.add", "tokens.add"] {
        assert!(
            noted.contains(&action.to_owned()),
            "{action} is not in {noted:?}"
        );
    }
    let listed = admin.look("/people").await;
    let id = listed.body.split("name=\"token\" value=\"").nth(1).unwrap();
    let id = id.split('"').next().unwrap();
    let revoked = admin
        .ask("POST", "/people/tokens/revoke", &format!("token={id}"))
        .await;
    assert_eq!(revoked.status, 303);
    let operator = TestBrowser::of(&server, UserRole::Operator).await;
    let other = agent.replace("reader", "other");
    assert_eq!(operator.ask("POST", "/people", &other).await.status, 403);
}

#[tokio::test]
async fn a_build_is_asked_for_only_by_those_who_may() {
    let server = TestServer::start().await;
    let viewer = TestBrowser::of(&server, UserRole::Viewer).await;
    let prompt = "prompt=A+limit+for+attempts+to+sign+in";
    assert_eq!(viewer.ask("POST", "/builds", prompt).await.status, 403);
    let operator = TestBrowser::of(&server, UserRole::Operator).await;
    let short = operator.ask("POST", "/builds", "prompt=").await;
    assert_eq!(short.status, 422, "{}", short.body);
    for act in ["approve", "reject", "cancel", "dance"] {
        let form = format!("act={act}");
        let answered = operator.ask("POST", "/builds/nothing-like-it", &form).await;
        assert!(
            (400..500).contains(&answered.status),
            "{act}: {}",
            answered.body
        );
    }
}

#[tokio::test]
async fn acts_on_the_diagram_are_edits_of_the_text_without_scripts() {
    const TEXT: &str = "graph TD\n    A(Ask) --> B[Do]\n%% === WORKFLOW_CONFIG ===\n%% @B: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n";
    let server = TestServer::start().await;
    let browser = TestBrowser::of(&server, UserRole::Operator).await;
    let draw = async |form: &str| {
        let form = format!("text={}&{form}", encoded(TEXT));
        let shown = browser.ask("POST", "/builder/draw", &form).await;
        shown.body.replace("&quot;", "\"").replace("&gt;", ">")
    };
    for (form, expected) in [
        (
            "act=add&step=B&add-kind=person&add-name=Look",
            "B --> C(Look)",
        ),
        (
            "act=insert&edge=0&add-kind=machine&add-name=First",
            "A(Ask) --> C[First] --> B[Do]",
        ),
        ("act=connect&step=B&to=A", "\n    B --> A\n"),
        (
            "act=rename&step=A&new-name=Decide",
            "A(\"Decide\") --> B[Do]",
        ),
        (
            "act=relabel&edge=0&label=onError",
            "A(Ask) -->|\"onError\"| B[Do]",
        ),
        ("act=disconnect&edge=0", "    A(Ask)\n    B[Do]"),
        (
            "act=apply&step=B&kind=person&p.prompt=What%3F&p.prompt.shown=1",
            "B(Do)\n%% === WORKFLOW_CONFIG ===\n%% @B: { \"prompt\": \"What?\" }",
        ),
        (
            "act=apply&step=B&p.retry=%7B&p.retry.shown=1",
            "`retry` is no JSON",
        ),
        ("act=delete&step=Z9", "There is no node `Z9`."),
        ("act=dance", "`dance` is nothing that can be drawn"),
    ] {
        let shown = draw(form).await;
        assert!(
            shown.contains(expected),
            "{form}: {expected} is not in {shown}"
        );
    }
    let deleted = draw("act=delete&step=B").await;
    assert!(
        !deleted.contains("@B") && deleted.contains("A(Ask)"),
        "{deleted}"
    );
}

#[tokio::test]
async fn one_answer_counts_for_the_tasks_that_are_ticked() {
    let server = TestServer::start().await;
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.push(format!("{}/A", server.start_review().await));
    }
    let browser = TestBrowser::of(&server, UserRole::Reviewer).await;
    let [first, second, third] = tasks.as_slice() else {
        panic!("three runs were started");
    };
    let inbox = browser.look("/inbox").await;
    inbox.has("Give the same answer to 2 other tasks of this step");
    let form = format!(
        "task={}&also={}&all=true&act=button-0",
        encoded(first),
        encoded(second)
    );
    assert_eq!(browser.ask("POST", "/inbox", &form).await.status, 303);
    let left = browser.look("/inbox").await;
    assert_eq!(left.title(), "1 thing waits for you");
    left.has(third);
}

#[tokio::test]
async fn two_runs_and_two_versions_are_compared() {
    let server = TestServer::start().await;
    let browser = TestBrowser::of(&server, UserRole::Operator).await;
    let (one, other) = (server.start_review().await, server.start_review().await);
    let answer = |run: &str, button: usize| {
        format!("task={}&act=button-{button}", encoded(&format!("{run}/A")))
    };
    browser.ask("POST", "/inbox", &answer(&one, 0)).await;
    browser.ask("POST", "/inbox", &answer(&other, 1)).await;
    server.work().await;
    let same = browser.look(&format!("/runs/{one}/compare/{one}")).await;
    assert_eq!(same.title(), "Both runs went the same way");
    let shown = browser.look(&format!("/runs/{one}/compare/{other}")).await;
    assert_eq!(shown.title(), "The runs differ in 4 steps");
    let save =
        |text: &str, seen: &str| format!("name=fresh&message=m&seen={seen}&text={}", encoded(text));
    browser
        .ask("POST", "/builder", &save("graph TD\n A(Ask)\n", ""))
        .await;
    let editor = browser.look("/workflows/fresh/edit").await;
    let seen = editor.body.split("name=\"seen\" value=\"").nth(1).unwrap();
    let seen = seen.split('"').next().unwrap().to_owned();
    let saved = browser
        .ask(
            "POST",
            "/builder",
            &save("graph TD\n A(Ask) --> B(Tell)\n", &seen),
        )
        .await;
    assert_eq!(saved.status, 303, "{}", saved.body);
    let changed = browser.look("/workflows/fresh/changes/2").await;
    changed.has("2 changes of the graph");
    changed.has("+ Tell");
}

#[tokio::test]
async fn the_sample_is_started_answered_and_removed_with_one_click() {
    let server = TestServer::start().await;
    let admin = TestBrowser::of(&server, UserRole::Admin).await;
    admin.look("/inbox").await.has("Start the sample run");
    let started = admin.ask("POST", "/welcome", "act=start").await;
    assert_eq!(started.status, 303, "{}", started.body);
    let run = started.location.split('?').next().unwrap().to_owned();
    server.work().await;
    let shown = admin.look(&run).await;
    assert_eq!(shown.title(), "welcome-tour waits for a person");
    shown.has("Remove all sample data");
    admin.look("/inbox").await.has("Version 1.2.0 is ready.");
    let removed = admin.ask("POST", "/welcome", "act=remove").await;
    assert_eq!(removed.status, 303, "{}", removed.body);
    assert_eq!(admin.look(&run).await.status, 404);
    admin.look("/inbox").await.has("Start the sample run");
}
