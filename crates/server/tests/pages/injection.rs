//! Hostile text in everything that people, agents and projects can write, and every page that shows it.

use std::collections::BTreeSet;

use app::people::{UserKind, UserRole};
use serde_json::json;

use crate::test_server::TestServer;
use crate::{PAGES, TestBrowser, encoded};

/// Ends text, an attribute and a script, each with a name to look for.
const HOSTILE: &str = "\"'></textarea></script><zz9 a=1>&lt;zz8&gt; \" onzz9=\"1\" \u{202e}{{7*7}}";

/// Pages that a crawl looks at.
const LOOKS_MAX: usize = 250;

#[track_caller]
fn check(path: &str, body: &str) {
    for raw in ["<zz9", "<zz8", "\" onzz9=", "=\"javascript:"] {
        let at = body.find(raw).unwrap_or(body.len());
        let begin = body.floor_char_boundary(at.saturating_sub(200));
        let end = body.floor_char_boundary((at + 200).min(body.len()));
        assert!(
            !body.contains(raw),
            "{path} has {raw}: {}",
            &body[begin..end]
        );
    }
}

/// Puts the text into everything that takes one.
async fn fill(server: &TestServer) {
    let prompt = HOSTILE.to_owned();
    server
        .add_user("robot", UserRole::Operator, UserKind::Agent { prompt })
        .await;
    let workflow = format!(
        "---\ntitle: {title}\n---\ngraph TD\n A[\"{label}\"] -->|\"output.ok == '{bare}'\"| B(Ask)\n \
         click A \"javascript:alert(1)\" \"tip\"\n click B href \"https://example.org/\" _blank\n\
         %% === WORKFLOW_CONFIG ===\n\
         %% @A: {config}\n%% @B: {config}\n%% === END_CONFIG ===\n",
        title = json!(HOSTILE),
        label = HOSTILE.replace('"', "#quot;"),
        bare = "<zz9>",
        config = json!({ "prompt": HOSTILE, "description": HOSTILE }),
    );
    server.put_workflow("hostile", &workflow);
    server.put_workflow("<zz9>", "graph TD\n A(x)\n");
    let recipe = format!(
        "name: hostile\ndescription: {text}\nvariables:\n  \"zz9\":\n    type: string\n    \
         description: {text}\n    default: {text}\nsteps:\n  - name: file\n    tool: template\n    template: x.edge\n",
        text = json!(HOSTILE)
    );
    let template = format!("---\nto: x.txt\n---\n{HOSTILE}\n");
    server.put_recipe("hostile", &recipe, ("x.edge", &template));
    fill_runs(server).await;
    fill_records(server).await;
    server.work().await;
}

/// Starts runs, and puts the text into all that is said about their tasks.
async fn fill_runs(server: &TestServer) {
    let admin = UserRole::Admin;
    let run = json!({ "workflow": "review", "input": { "what": HOSTILE }, "tags": [HOSTILE] });
    let started = server.ask(admin, "POST /api/v1/runs", run).await;
    let run = json!({ "workflow": "review", "input": { "what": HOSTILE } });
    let other = server.done(admin, "POST /api/v1/runs", run).await;
    let runs = [&started.body, &other].map(|body| body["runs"][0].as_str().map(str::to_owned));
    for run in runs.into_iter().flatten() {
        let task = format!("/api/v1/tasks/{run}%2FA");
        for (line, body) in [
            (format!("POST {task}/comments"), json!({ "body": HOSTILE })),
            (
                format!("POST {task}/assign"),
                json!({ "assignee": HOSTILE }),
            ),
            (
                format!("POST /api/v1/runs/{run}/pause"),
                json!({ "reason": HOSTILE }),
            ),
            (format!("POST /api/v1/runs/{run}/resume"), json!({})),
            (
                format!("POST {task}/answer"),
                json!({ "output": { "ok": true, "<zz9>": HOSTILE } }),
            ),
        ] {
            let answered = server.ask(admin, &line, body).await;
            assert!(answered.status < 500, "{line}: {answered:?}");
        }
    }
}

/// Puts the text into people, tokens, tasks, views, schedules and builds.
async fn fill_records(server: &TestServer) {
    for (line, body) in [
        (
            "POST /api/v1/users",
            json!({ "slug": "eve", "email": "eve@example.org", "displayName": HOSTILE }),
        ),
        ("POST /api/v1/tokens", json!({ "name": HOSTILE })),
        (
            "POST /api/v1/tasks",
            json!({ "title": HOSTILE, "summary": HOSTILE, "tags": [HOSTILE], "extraPrompt": HOSTILE }),
        ),
        (
            "POST /api/v1/views",
            json!({ "name": HOSTILE, "filter": { "tag": HOSTILE }, "isShared": true }),
        ),
        (
            "POST /api/v1/schedules",
            json!({ "slug": "evil", "workflow": "review", "cron": "0 0 1 1 *", "input": { "what": HOSTILE } }),
        ),
        (
            "POST /api/v1/builder/generate",
            json!({ "prompt": HOSTILE }),
        ),
    ] {
        let answered = server.ask(UserRole::Admin, line, body).await;
        assert_ne!(answered.status, 500, "{line}: {answered:?}");
    }
}

#[tokio::test]
async fn no_page_shows_the_text_of_others_as_anything_but_text() {
    let server = TestServer::start().await;
    fill(&server).await;
    let browser = TestBrowser::of(&server, UserRole::Admin).await;
    let mut open: Vec<String> = PAGES.map(str::to_owned).to_vec();
    let parameters = [
        "q", "status", "tag", "workflow", "said", "as", "cursor", "who", "from",
    ];
    for page in PAGES.map(|page| page.split('?').next().unwrap_or_default()) {
        for name in parameters {
            open.push(format!("{page}?{name}={}", encoded(HOSTILE)));
        }
        open.push(format!("{page}/{}", encoded(HOSTILE)));
    }
    let mut seen = BTreeSet::new();
    let mut with_text = 0;
    while let Some(path) = open.pop() {
        if seen.len() > LOOKS_MAX || !seen.insert(path.clone()) {
            continue;
        }
        let shown = browser.look(&path).await;
        assert_ne!(shown.status, 500, "{path}: {}", shown.body);
        check(&path, &shown.body);
        with_text += usize::from(shown.body.contains("zz9"));
        for part in shown.body.split(" href=\"").skip(1) {
            let link = part.split('"').next().unwrap().replace("&amp;", "&");
            if link.starts_with('/') && !link.starts_with("/assets/") {
                open.insert(0, link);
            }
        }
    }
    assert!(seen.len() > 100, "only {} pages", seen.len());
    assert!(with_text > 20, "the text was shown {with_text} times only");
}

#[tokio::test]
async fn no_form_sends_its_text_back_as_anything_but_text() {
    let server = TestServer::start().await;
    fill(&server).await;
    let browser = TestBrowser::of(&server, UserRole::Admin).await;
    let text = encoded(HOSTILE);
    let names = [
        "name", "text", "message", "seen", "step", "sample", "slug", "display", "role", "email",
        "prompt", "task", "act", "answer", "reason", "comment", "assignee", "token", "days", "on",
        "f.what", "v.name", "old-name", "new-name", "edge", "label", "q.file",
    ];
    let form = names.map(|name| format!("{name}={text}")).join("&");
    let mut tried = 0;
    for path in [
        "/inbox",
        "/tasks",
        "/builds",
        "/builds/x",
        "/recipes/hello",
        "/recipes/hostile",
        "/builder",
        "/builder/check",
        "/builder/draw",
        "/builder/try",
        "/builder/look",
        "/welcome",
        "/people",
        "/people/tokens",
        "/people/tokens/revoke",
        "/settings/schedules",
        "/workflows/review/start",
        "/runs/last",
        "/login",
        "/claim/x",
        "/reset/x",
    ] {
        let sent = browser.ask("POST", path, &form).await;
        assert_ne!(sent.status, 500, "{path}: {}", sent.body);
        check(path, &sent.body);
        assert!(
            sent.location.is_empty() || sent.location.starts_with('/'),
            "{path}: {}",
            sent.location
        );
        assert!(
            !sent.location.starts_with("//"),
            "{path}: {}",
            sent.location
        );
        // Each field alone, beside fields that fit.
        for name in names {
            let fits = "name=x&text=graph+TD%0A+A%28x%29&step=A&slug=x&display=x&role=viewer&email=x%40example.org\
                        &act=answer&task=last%2FA&f.what=x&v.name=x";
            let form = format!("{name}={text}&{fits}");
            let sent = browser.ask("POST", path, &form).await;
            assert_ne!(sent.status, 500, "{path} {name}: {}", sent.body);
            check(&format!("{path} {name}"), &sent.body);
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} forms");
}

/// Addresses are for admins and for the person; no one else finds them on a page, in the API or in a stream.
#[tokio::test]
async fn mail_addresses_are_shown_to_admins_and_the_person_only() {
    let server = TestServer::start().await;
    server.start_review().await;
    for role in [UserRole::Viewer, UserRole::Reviewer, UserRole::Operator] {
        let browser = TestBrowser::of(&server, role).await;
        let own = format!("{}@example.org", role.as_str());
        let is_clean = |text: &str| !text.replace(&own, "").contains("@example.org");
        for path in PAGES
            .into_iter()
            .chain(["/search?q=example.org", "/search?q=admin"])
        {
            let shown = browser.look(path).await;
            assert!(is_clean(&shown.body), "{path} as {role:?}: {}", shown.body);
        }
        let document = server::openapi_document();
        for path in document["paths"].as_object().unwrap().keys() {
            if path.ends_with("/events") || path.contains('{') {
                continue;
            }
            let answered = server.ask(role, &format!("GET {path}"), json!(null)).await;
            let told = answered.body.to_string();
            let is_example = path.contains("openapi") || path.contains("docs");
            assert!(is_example || is_clean(&told), "{path} as {role:?}: {told}");
        }
    }
}
