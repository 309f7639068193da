//! Acts on many things at once, saved views, tasks of people, items of a foreach, and what a build shows.

use std::sync::Arc;

use app::people::UserRole;
use builder::{BuildJob, JobId, JobStore as _, Options};
use serde_json::{Value, json};
use store::SqliteDatabase;

use crate::test_server::TestServer;
use crate::{HOSTILE, TestBrowser, encoded};

/// A workflow whose first step gives a list, and whose items fail where they are not small.
const BATCH: &str = "graph TD\n A(Which numbers?) --> F[[Each: Every number]]\n F --> C[Check it]\n \
    C --> J[[Join: All checked]]\n J --> E(Is it fine?)\n\
    %% === WORKFLOW_CONFIG ===\n\
    %% @F: { \"itemsPath\": \"output\", \"itemVariable\": \"number\" }\n\
    %% @C: { \"handler\": \"command\", \"config\": { \"run\": \"test {{number}} -lt 3\" }, \
    \"retry\": { \"attempts\": 1 } }\n%% === END_CONFIG ===\n";

#[tokio::test]
async fn an_act_on_many_runs_is_counted_first_and_done_only_if_the_count_still_holds() {
    check_many_runs(&TestServer::start().await).await;
}

pub(crate) async fn check_many_runs(server: &TestServer) {
    let browser = TestBrowser::of(server, UserRole::Operator).await;
    let runs = [
        server.start_review().await,
        server.start_review().await,
        server.start_review().await,
    ];
    let seen = browser
        .look("/runs/bulk?which=all&act=cancel&status=running")
        .await;
    assert_eq!(seen.title(), "Cancel 3 runs?", "{}", seen.body);
    seen.has("name=\"count\" value=\"3\"");
    server.start_review().await;
    let stale = browser
        .ask("POST", "/runs/bulk", "act=cancel&status=running&count=3")
        .await;
    assert_eq!(stale.status, 409, "{}", stale.body);
    let ticked = format!("act=cancel&run={}&run={}", runs[0], runs[1]);
    browser
        .look(&format!("/runs/bulk?which=ticked&{ticked}"))
        .await
        .has("Cancel 2 runs");
    let done = browser.ask("POST", "/runs/bulk", &ticked).await;
    assert_eq!(done.location, "/runs?&n=2&missed=0&said=runs-changed");
    browser
        .look(&done.location)
        .await
        .has("2 runs are changed.");
    let left = browser.look("/runs?status=running").await;
    assert_eq!(left.title(), "2 runs are running");
    let empty = browser.look("/runs/bulk?which=ticked&act=cancel").await;
    assert_eq!(empty.title(), "No run is ticked");
    let odd = browser.look("/runs/bulk?which=all&act=dance").await;
    assert_eq!(odd.status, 400);
    let viewer = TestBrowser::of(server, UserRole::Viewer).await;
    assert_eq!(viewer.ask("POST", "/runs/bulk", &ticked).await.status, 403);
    let delete = format!("act=delete&run={}", runs[0]);
    assert_eq!(browser.ask("POST", "/runs/bulk", &delete).await.status, 403);
}

#[tokio::test]
async fn a_filter_is_kept_as_a_view_with_its_count_and_removed_by_its_owner_only() {
    check_views(&TestServer::start().await).await;
}

pub(crate) async fn check_views(server: &TestServer) {
    server.start_review().await;
    let browser = TestBrowser::of(server, UserRole::Operator).await;
    browser
        .look("/runs?status=running&workflow=review")
        .await
        .has("Keep this filter");
    let form = format!(
        "list=runs&name={}&shared=true&p.status=running&p.workflow=review",
        encoded("Reviews <b>now</b>")
    );
    let kept = browser.ask("POST", "/views", &form).await;
    assert_eq!(
        kept.location, "/runs?status=running&workflow=review&said=view-saved",
        "{}",
        kept.body
    );
    let shown = browser.look(&kept.location).await;
    shown.has("Reviews &lt;b&gt;now&lt;/b&gt; <span class=\"num\">1</span>");
    let id = shown.body.split("name=\"view\" value=\"").nth(1).unwrap();
    let remove = format!("list=runs&view={}", id.split('"').next().unwrap());
    let other = TestBrowser::of(server, UserRole::Viewer).await;
    other.look("/runs").await.has("Reviews &lt;b&gt;now");
    assert_eq!(
        other.ask("POST", "/views/remove", &remove).await.status,
        404
    );
    let again = browser.ask("POST", "/views", &form).await;
    assert_eq!(again.status, 409, "{}", again.body);
    let removed = browser.ask("POST", "/views/remove", &remove).await;
    assert_eq!(removed.location, "/runs?said=view-removed");
    assert!(!browser.look("/runs").await.body.contains("Reviews"));
}

#[tokio::test]
async fn a_task_is_added_edited_assigned_and_answered() {
    check_added_task(&TestServer::start().await).await;
}

pub(crate) async fn check_added_task(server: &TestServer) {
    let browser = TestBrowser::of(server, UserRole::Operator).await;
    let form = "title=Buy+thread&summary=Red&assignee=operator&urgency=critical&due=2030-01-31";
    let added = browser.ask("POST", "/tasks/new", form).await;
    assert_eq!(added.status, 303, "{}", added.body);
    let page = added.location.split('?').next().unwrap().to_owned();
    let shown = browser.look(&page).await;
    for text in [
        "Buy thread is asked",
        "Red",
        "critical",
        "value=\"2030-01-31\"",
    ] {
        shown.has(text);
    }
    browser.look("/inbox").await.has("Buy thread");
    browser.look("/tasks?assignee=me").await.has("Buy thread");
    let task = page.trim_start_matches("/tasks/").replace("%2F", "/");
    let edit = format!(
        "task={}&act=edit&revision=1&title=Buy+wool&urgency=low&tags=a,+b",
        encoded(&task)
    );
    assert_eq!(browser.ask("POST", "/tasks", &edit).await.status, 303);
    let stale = browser.ask("POST", "/tasks", &edit).await;
    assert_eq!(stale.status, 412, "{}", stale.body);
    let part = format!("title=Go+out&parent={}", encoded(&task));
    assert_eq!(browser.ask("POST", "/tasks/new", &part).await.status, 303);
    let shown = browser.look(&page).await;
    for text in ["Buy wool", "a, b", "Go out"] {
        shown.has(text);
    }
    let ticked = format!("act=assign&assignee=reviewer&task={}", encoded(&task));
    browser
        .look(&format!("/tasks/bulk?{ticked}"))
        .await
        .has("Give 1 task to reviewer?");
    let done = browser.ask("POST", "/tasks/bulk", &ticked).await;
    assert_eq!(done.location, "/tasks?n=1&missed=0&said=tasks-changed");
    browser
        .look("/tasks?assignee=reviewer")
        .await
        .has("Buy wool");
    let viewer = TestBrowser::of(server, UserRole::Viewer).await;
    for (path, form) in [("/tasks/new", form), ("/tasks/bulk", ticked.as_str())] {
        assert_eq!(viewer.ask("POST", path, form).await.status, 403, "{path}");
    }
    let odd = browser.ask("POST", "/tasks/new", "title=x&due=soon").await;
    assert_eq!(odd.status, 422, "{}", odd.body);
    let reviewer = TestBrowser::of(server, UserRole::Reviewer).await;
    let answer = format!("task={}&act=answer&answer=done", encoded(&task));
    let answered = reviewer.ask("POST", "/inbox", &answer).await;
    assert_eq!(answered.status, 303, "{}", answered.body);
    reviewer.look("/inbox").await.has("What you decided last");
}

#[tokio::test]
async fn the_inbox_goes_on_to_the_next_question_and_folds_long_groups() {
    check_inbox(&TestServer::start().await).await;
}

pub(crate) async fn check_inbox(server: &TestServer) {
    let browser = TestBrowser::of(server, UserRole::Reviewer).await;
    let mut tasks = Vec::new();
    for _ in 0..5 {
        tasks.push(format!("{}/A", server.start_review().await));
    }
    let inbox = browser.look("/inbox").await;
    assert_eq!(inbox.title(), "5 things wait for you");
    inbox.has("2 more ask");
    let shown = browser
        .look(&format!("/inbox?task={}", encoded(&tasks[1])))
        .await;
    let next = shown.body.split("name=\"next\" value=\"").nth(1).unwrap();
    let next = next.split('"').next().unwrap().to_owned();
    let form = format!(
        "task={}&act=button-0&next={}",
        encoded(&tasks[1]),
        encoded(&next)
    );
    let answered = browser.ask("POST", "/inbox", &form).await;
    assert_eq!(answered.status, 303, "{}", answered.body);
    let shown = browser.look(&answered.location).await;
    shown.has(&format!("name=\"task\" value=\"{next}\""));
    let also = format!(
        "task={}&also={}&also={}&all=true&act=button-1",
        encoded(&tasks[0]),
        encoded(&tasks[2]),
        encoded(&tasks[1])
    );
    let all = browser.ask("POST", "/inbox", &also).await;
    assert_eq!(all.location, "/inbox?n=2&missed=1&said=answered-all");
    browser
        .look(&all.location)
        .await
        .has("Your answer is kept for 2 tasks. 1 was passed over");
}

#[tokio::test]
async fn items_of_a_foreach_are_counted_shown_and_tried_again() {
    check_items(&TestServer::start().await).await;
}

pub(crate) async fn check_items(server: &TestServer) {
    server.put_workflow("batch", BATCH);
    let browser = TestBrowser::of(server, UserRole::Operator).await;
    let started = browser.ask("POST", "/workflows/batch/start", "").await;
    let run = started.location.split('?').next().unwrap().to_owned();
    let task = format!("{}/A", run.trim_start_matches("/runs/"));
    let answer = format!(
        "task={}&act=answer&answer={}",
        encoded(&task),
        encoded("[1,2,3,4]")
    );
    assert_eq!(browser.ask("POST", "/inbox", &answer).await.status, 303);
    server.work().await;
    let shown = browser.look(&run).await;
    shown.has("2 done, 2 failed");
    shown.has("item 4, failed");
    let failed = browser.look(&format!("{run}?of=F&items=failed")).await;
    failed.has("item 3, failed");
    assert!(!failed.body.contains("aria-label=\"item 1, done\""));
    let one = browser.look(&format!("{run}?of=F&item=2")).await;
    one.has("Item 3");
    one.has("exited with 1");
    let of = encoded(&task.replace("/A", "/F"));
    let retried = browser
        .ask("POST", &run, &format!("act=retry-items&of={of}"))
        .await;
    assert_eq!(
        retried.location,
        format!("{run}?n=2&missed=0&said=items-retried"),
        "{}",
        retried.body
    );
    browser
        .look(&retried.location)
        .await
        .has("2 items are tried again.");
    let again = format!("act=again&text=pinned&input={}", encoded("{\"a\":1}"));
    let again = browser.ask("POST", &run, &again).await;
    assert_eq!(again.status, 303, "{}", again.body);
    assert!(!again.location.starts_with(&run));
}

#[tokio::test]
async fn people_are_edited_workflows_move_and_costs_and_searches_answer() {
    check_people_and_lists(&TestServer::start().await).await;
}

pub(crate) async fn check_people_and_lists(server: &TestServer) {
    let run = server.start_review().await;
    let admin = TestBrowser::of(server, UserRole::Admin).await;
    let agent = "slug=reader&display=The+Reader&role=reviewer&agent=true&prompt=You+read.";
    assert_eq!(admin.ask("POST", "/people", agent).await.status, 303);
    admin.look("/people/reader").await.has("Try it");
    let edit = "act=edit&revision=1&display=Reads&role=viewer&prompt=You+read+well.";
    let edited = admin.ask("POST", "/people/reader", edit).await;
    assert_eq!(edited.status, 303, "{}", edited.body);
    admin.look("/people/reader").await.has("You read well.");
    assert_eq!(admin.ask("POST", "/people/reader", edit).await.status, 409);
    let off = admin.ask("POST", "/people/reader", "act=deactivate").await;
    assert_eq!(off.status, 303, "{}", off.body);
    let last = admin.ask("POST", "/people/admin", "act=deactivate").await;
    assert_eq!(last.status, 409, "{}", last.body);
    admin.look("/people/admin").await.has("Sign out");
    let viewer = TestBrowser::of(server, UserRole::Viewer).await;
    assert_eq!(viewer.ask("POST", "/people/reader", edit).await.status, 403);

    let document = admin.look("/workflows/review/export").await;
    assert_eq!(document.status, 200);
    let form = format!("name=copied&document={}", encoded(&document.body));
    let imported = admin.ask("POST", "/workflows", &form).await;
    assert_eq!(
        imported.location, "/workflows/copied?said=imported",
        "{}",
        imported.body
    );
    let bad = admin.ask("POST", "/workflows", "document=nothing").await;
    assert!((400..500).contains(&bad.status), "{}", bad.body);
    admin
        .look("/builder?copy=review")
        .await
        .has("value=\"review-copy\"");
    assert_eq!(viewer.ask("POST", "/workflows", &form).await.status, 403);

    for by in ["workflow", "step", "model", "person", "run", "day"] {
        let shown = viewer.look(&format!("/costs?by={by}&days=89")).await;
        assert_eq!(shown.status, 200, "{by}: {}", shown.body);
        shown.has("Nothing was spent");
    }
    let found = viewer.look(&format!("/search?q={run}")).await;
    found.has(&format!("/runs/{run}"));
    for kind in ["run", "task", "workflow", "recipe", ""] {
        let shown = viewer.look(&format!("/search?q=review&kind={kind}")).await;
        assert_eq!(shown.status, 200, "{kind}: {}", shown.body);
    }
    viewer
        .look("/search?q=hello&kind=recipe")
        .await
        .has("/recipes/hello");
}

struct StoppedClock;

impl agent::AgentClock for StoppedClock {
    fn now_ms(&self) -> u64 {
        1_000
    }
}

/// Keeps a build in the database, as a job that has come this far.
async fn keep_build(server: &TestServer, id: &str, status: &str, more: Value) {
    let job = BuildJob::new(
        JobId::parse(id).unwrap(),
        format!("Limit the attempts to sign in {HOSTILE}"),
        Options::default(),
        1_000,
    );
    let mut job = serde_json::to_value(job.unwrap()).unwrap();
    job["status"] = Value::from(status);
    for (name, value) in more.as_object().unwrap() {
        job[name.as_str()] = value.clone();
    }
    let job: BuildJob = serde_json::from_value(job).unwrap();
    let file = server.folder.path().join(".drawloom/drawloom.db");
    let options = store::Options {
        clock: Arc::new(StoppedClock),
        scrub: None,
        bytes_max: None,
        pid: 1,
    };
    let database = SqliteDatabase::open(&file, options).await.unwrap();
    database.create(&job).await.unwrap();
}

#[tokio::test]
async fn a_plan_can_be_edited_and_changes_are_reviewed_hunk_by_hunk() {
    let server = TestServer::start().await;
    let plan = json!({
        "summary": "Attempts are limited", "taskType": "refactor", "contextFiles": [],
        "files": [{ "path": "src/login.py", "action": "modify", "description": "asks the limiter" }],
    });
    keep_build(&server, "planned1", "plan_ready", json!({ "plan": plan })).await;
    let diff = format!(
        "--- a/src/login.py\n+++ b/src/login.py\n@@ -1,2 +1,2 @@\n-user = find(name)\n+user = find(email)\n+# {HOSTILE}\n two\n@@ -9,1 +9,2 @@\n nine\n+ten\n"
    );
    let result = json!({ "files": [], "diffs": [{ "path": "src/login.py", "diff": diff }],
        "validation": [{ "name": "pytest", "command": "pytest", "verdict": "failed", "newFailures": ["test_a"],
            "oldFailures": 1, "output": HOSTILE, "durationMs": 5 }],
        "impactedFiles": [], "validationErrors": [], "repairAttempts": 0 });
    keep_build(
        &server,
        "review1",
        "review_ready",
        json!({ "plan": plan, "result": result }),
    )
    .await;
    let browser = TestBrowser::of(&server, UserRole::Operator).await;
    let planned = browser.look("/builds/planned1").await;
    assert_eq!(
        planned.title(),
        "A plan waits for your decision",
        "{}",
        planned.body
    );
    for text in [
        "Edit it before approving",
        "name=\"file.0.path\" value=\"src/login.py\"",
        "name=\"file.2.path\"",
    ] {
        planned.has(text);
    }
    for view in ["unified", "side"] {
        let shown = browser.look(&format!("/builds/review1?view={view}")).await;
        for text in [
            "The changes wait for your review",
            "<b>name</b>",
            "name=\"d.0.2\"",
            "Send the review",
            "new: test_a",
        ] {
            shown.has(text);
        }
        for raw in ["<script>alert", "<img src=x"] {
            assert!(!shown.body.contains(raw), "{raw}: {}", shown.body);
        }
    }
    let viewer = TestBrowser::of(&server, UserRole::Viewer).await;
    let shown = viewer.look("/builds/review1").await;
    assert!(!shown.body.contains("Send the review"));
    for act in [
        "review",
        "publish",
        "follow-up&wish=More+of+it+please",
        "approve-edited&summary=x",
    ] {
        let asked = viewer
            .ask("POST", "/builds/review1", &format!("act={act}"))
            .await;
        assert_eq!(asked.status, 403, "{act}: {}", asked.body);
    }
    browser
        .look("/builds")
        .await
        .has("2 builds wait for a decision");
}
