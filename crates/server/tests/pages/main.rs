//! The pages as a browser without scripts uses them: forms in, HTML out.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../api/test_server.rs"]
mod test_server;

mod forms;
mod injection;
mod postgres;
mod recipes;
mod work;

use app::ClientPlace;
use app::people::{UserFilter, UserRole};
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use testkit::cluster;
use tower::ServiceExt as _;

use crate::test_server::TestServer;

/// The largest page, in bytes.
const PAGE_BYTES_MAX: usize = 100 << 10;

/// Text that would run or mislead if a page did not escape it.
const HOSTILE: &str =
    "<script>alert(1)</script><img src=x onerror=alert(1)> javascript:alert(1) \u{202e}txt";

const PAGES: [&str; 19] = [
    "/tasks?waiting=1&assignee=me",
    "/runs?since=week&status=running",
    "/costs?by=run&days=89",
    "/people/viewer",
    "/tasks?as=board",
    "/inbox",
    "/tasks",
    "/runs",
    "/workflows",
    "/builder",
    "/builds",
    "/recipes",
    "/people",
    "/costs",
    "/activity",
    "/settings",
    "/health",
    "/search?q=review",
    "/workflows/review",
];

/// A person at a browser.
struct TestBrowser<'s> {
    server: &'s TestServer,
    cookie: String,
}

/// A page that came.
struct ShownPage {
    status: u16,
    location: String,
    body: String,
}

impl ShownPage {
    fn title(&self) -> &str {
        let (_, rest) = self.body.split_once("<title>").unwrap_or_default();
        rest.split_once(" · Drawloom").unwrap_or_default().0
    }

    #[track_caller]
    fn has(&self, text: &str) {
        assert!(self.body.contains(text), "{text} is not in {}", self.body);
    }
}

impl<'s> TestBrowser<'s> {
    async fn of(server: &'s TestServer, role: UserRole) -> TestBrowser<'s> {
        let terminal = server.app.acting(server.app.terminal());
        let slug = role.as_str().parse().unwrap();
        let user = terminal.user(&slug, UserFilter::People).await.unwrap();
        let access = server.app.access_control();
        let place = ClientPlace::default();
        let signed_in = access.begin_session(user, &place).await.unwrap();
        let cookie = format!("drawloom_session={}", signed_in.secret.reveal());
        TestBrowser { server, cookie }
    }

    async fn ask(&self, method: &str, path: &str, form: &str) -> ShownPage {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1:7331")
            .header("cookie", &self.cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(form.to_owned()))
            .unwrap();
        let response = server::router(&self.server.state)
            .oneshot(request)
            .await
            .unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let location = parts.headers.get("location");
        ShownPage {
            status: parts.status.as_u16(),
            location: location
                .map_or("", |value| value.to_str().unwrap())
                .to_owned(),
            body: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    async fn look(&self, path: &str) -> ShownPage {
        self.ask("GET", path, "").await
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn every_page_is_shown_to_every_role_and_is_small() {
    check_every_page(&TestServer::start().await).await;
}

pub(crate) async fn check_every_page(server: &TestServer) {
    server.start_review().await;
    for role in UserRole::ALL {
        let browser = TestBrowser::of(server, role).await;
        for path in PAGES {
            let shown = browser.look(path).await;
            assert_eq!(shown.status, 200, "{role:?} {path}: {}", shown.body);
            assert!(!shown.title().is_empty(), "{path} has no title");
            assert!(
                shown.body.len() <= PAGE_BYTES_MAX,
                "{path} has {} bytes",
                shown.body.len()
            );
            for inline in [" style=\"", "<style", " onclick=", "javascript:"] {
                assert!(!shown.body.contains(inline), "{path} has {inline}");
            }
        }
    }
}

#[tokio::test]
async fn every_link_of_a_page_leads_somewhere() {
    let server = TestServer::start().await;
    server.start_review().await;
    let browser = TestBrowser::of(&server, UserRole::Admin).await;
    let mut open: Vec<String> = PAGES.map(str::to_owned).to_vec();
    let mut seen = std::collections::BTreeSet::new();
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) || seen.len() > 200 {
            continue;
        }
        let shown = browser.look(&path).await;
        assert_eq!(shown.status, 200, "{path}: {}", shown.body);
        for part in shown.body.split(" href=\"").skip(1) {
            let link = part.split('"').next().unwrap().replace("&amp;", "&");
            if link.starts_with('/') && !link.starts_with("/assets/") {
                open.push(link);
            }
        }
    }
    assert!(seen.len() > 25, "{seen:?}");
}

#[tokio::test]
async fn a_person_starts_a_workflow_answers_it_and_sees_it_completed() {
    check_whole_run(&TestServer::start().await).await;
}

pub(crate) async fn check_whole_run(server: &TestServer) {
    let browser = TestBrowser::of(server, UserRole::Operator).await;
    browser
        .look("/workflows/review")
        .await
        .has("name=\"f.what\"");
    let started = browser
        .ask("POST", "/workflows/review/start", "f.what=the+release")
        .await;
    assert_eq!(started.status, 303, "{}", started.body);
    let run = started.location.split('?').next().unwrap().to_owned();
    let shown = browser.look(&run).await;
    assert_eq!(shown.title(), "review waits for a person");
    shown.has("data-step=\"A\"");
    let inbox = browser.look("/inbox").await;
    assert_eq!(inbox.title(), "1 thing waits for you");
    inbox.has("Approve the release?");
    inbox.has(">ok</button>");
    let task = format!("{}/A", run.trim_start_matches("/runs/"));
    let answer = format!("task={}&act=button-0", encoded(&task));
    let answered = browser.ask("POST", "/inbox", &answer).await;
    assert_eq!(
        (answered.status, answered.location.as_str()),
        (303, "/inbox?said=answered")
    );
    browser
        .look(&answered.location)
        .await
        .has("Your answer is kept");
    server.work().await;
    let ended = browser.look(&run).await;
    assert_eq!(ended.title(), "review is completed");
    ended.has("output.ok == true");
    ended.has("<code>output.ok</code> is <code>true</code>");
    let twice = browser.ask("POST", "/inbox", &answer).await;
    assert_eq!(twice.status, 409, "{}", twice.body);
}

#[tokio::test]
async fn hostile_text_is_text_everywhere() {
    let server = TestServer::start().await;
    let browser = TestBrowser::of(&server, UserRole::Admin).await;
    let form = format!("f.what={}", encoded(HOSTILE));
    let started = browser.ask("POST", "/workflows/review/start", &form).await;
    let run = started.location.split('?').next().unwrap().to_owned();
    let task = format!("{}/A", run.trim_start_matches("/runs/"));
    let fail = format!(
        "task={}&act=fail&reason={}",
        encoded(&task),
        encoded(HOSTILE)
    );
    let comment = format!(
        "task={}&act=comment&comment={}",
        encoded(&task),
        encoded(HOSTILE)
    );
    let check = |path: String, shown: ShownPage| {
        assert!(shown.status < 500, "{path}: {}", shown.body);
        for raw in ["<script>alert", "<img src=x", "href=\"javascript:"] {
            assert!(
                !shown.body.contains(raw),
                "{path} has {raw}: {}",
                shown.body
            );
        }
    };
    check("inbox".to_owned(), browser.look("/inbox").await);
    check(
        "comment".to_owned(),
        browser.ask("POST", "/tasks", &comment).await,
    );
    check(
        "fail".to_owned(),
        browser.ask("POST", "/inbox", &fail).await,
    );
    let text = format!("graph TD\n A[\"{HOSTILE}\"] --> B[b]\n");
    let drawn = format!("name=x&text={}", encoded(&text));
    check(
        "check".to_owned(),
        browser.ask("POST", "/builder/check", &drawn).await,
    );
    check(
        "look".to_owned(),
        browser.ask("POST", "/builder/look", &drawn).await,
    );
    for path in [
        run.clone(),
        format!("/tasks/{}", encoded(&task)),
        format!("/search?q={}", encoded(HOSTILE)),
        "/tasks?status=failed".to_owned(),
        "/activity".to_owned(),
        format!("/runs/{}", encoded(HOSTILE)),
    ] {
        let shown = browser.look(&path).await;
        check(path, shown);
    }
}

#[tokio::test]
async fn the_builder_saves_what_the_author_has_seen_and_nothing_else() {
    check_saving(&TestServer::start().await).await;
}

pub(crate) async fn check_saving(server: &TestServer) {
    let browser = TestBrowser::of(server, UserRole::Operator).await;
    let text = encoded(
        "graph TD\n A(Ask) --> B[Do]\n%% === WORKFLOW_CONFIG ===\n%% @B: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n",
    );
    let form = format!("name=fresh&message=first&text={text}");
    let saved = browser.ask("POST", "/builder", &form).await;
    assert_eq!(
        (saved.status, saved.location.as_str()),
        (303, "/workflows/fresh?said=saved"),
        "{}",
        saved.body
    );
    let again = browser.ask("POST", "/builder", &form).await;
    assert_eq!(again.status, 412, "{}", again.body);
    again.has("name=\"message\"");
    let broken = browser
        .ask("POST", "/builder", "name=odd&text=graph+TD%0A+A%5Bx")
        .await;
    assert_eq!(broken.status, 422, "{}", broken.body);
    let viewer = TestBrowser::of(server, UserRole::Viewer).await;
    assert_eq!(
        viewer
            .ask("POST", "/builder", &form.replace("fresh", "other"))
            .await
            .status,
        403
    );
}

#[tokio::test]
async fn pages_ask_strangers_to_sign_in_and_refuse_other_sites() {
    let server = TestServer::start().await;
    let stranger = TestBrowser {
        server: &server,
        cookie: String::new(),
    };
    for path in PAGES {
        let shown = stranger.look(path).await;
        assert_eq!(
            (shown.status, shown.location.as_str()),
            (303, "/login"),
            "{path}"
        );
    }
    let request = Request::builder()
        .method("POST")
        .uri("/workflows/review/start")
        .header("host", "127.0.0.1:7331")
        .header(
            "cookie",
            TestBrowser::of(&server, UserRole::Admin).await.cookie,
        )
        .header("sec-fetch-site", "cross-site")
        .body(Body::empty())
        .unwrap();
    let refused = server::router(&server.state)
        .oneshot(request)
        .await
        .unwrap();
    assert_eq!(refused.status().as_u16(), 403);
}
