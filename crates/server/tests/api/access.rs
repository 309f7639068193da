//! Who is let in: claims, passwords, sessions, tokens, and what is refused.

use app::people::UserRole;
use serde_json::json;

use crate::test_server::{TestServer, limits};

const PASSWORD: &str = "five words that no one puts together";

#[tokio::test]
async fn a_fresh_server_is_claimed_once() {
    check_claim(&TestServer::empty(None, limits()).await).await;
}

pub(crate) async fn check_claim(server: &TestServer) {
    let access = server.app.access_control();
    let link = access.make_claim_link().await.unwrap().unwrap().reveal();
    let other = access.make_claim_link().await.unwrap().unwrap().reveal();
    let claim = |link: &str, password: &str| {
        json!({ "link": link, "email": "Ada@example.org", "password": password }).to_string()
    };
    let json_type = [("content-type", "application/json")];
    let refused = [
        (claim(&link, "too short"), 422),
        (claim(&"0".repeat(64), PASSWORD), 404),
        (claim("nonsense", PASSWORD), 404),
    ];
    for (body, status) in refused {
        let answered = server
            .send("POST /api/v1/claim", &json_type, Some(&body))
            .await;
        assert_eq!(answered.status, status, "{answered:?}");
    }
    // Looking at the link uses nothing up.
    for _ in 0..3 {
        let page = server.send(&format!("GET /claim/{link}"), &[], None).await;
        assert_eq!(page.status, 200);
    }
    let (first, second) = (claim(&link, PASSWORD), claim(&other, PASSWORD));
    let (first, second) = tokio::join!(
        server.send("POST /api/v1/claim", &json_type, Some(&first)),
        server.send("POST /api/v1/claim", &json_type, Some(&second)),
    );
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses[0], 200, "{first:?} {second:?}");
    assert!(matches!(statuses[1], 404 | 409), "{first:?} {second:?}");
    assert!(access.make_claim_link().await.unwrap().is_none());
}

#[tokio::test]
async fn people_sign_in_and_out() {
    check_sessions(&TestServer::start().await).await;
}

pub(crate) async fn check_sessions(server: &TestServer) {
    let access = server.app.access_control();
    let terminal = server.app.acting(server.app.terminal());
    let viewer = terminal
        .user(&"viewer".parse().unwrap(), app::people::UserFilter::People)
        .await;
    access
        .set_password(&viewer.unwrap(), PASSWORD)
        .await
        .unwrap();
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let body = |password: &str| format!("email=VIEWER%40example.org&password={password}");
    let wrong = server
        .send("POST /login", &form, Some(&body("wrong")))
        .await;
    assert_eq!(wrong.status, 401);
    assert!(
        wrong
            .body
            .as_str()
            .unwrap()
            .contains("the address or the password is wrong")
    );
    let good = body(&PASSWORD.replace(' ', "+"));
    let signed_in = server.send("POST /login", &form, Some(&good)).await;
    assert_eq!(signed_in.status, 303, "{signed_in:?}");
    let cookie = signed_in.header("set-cookie");
    for part in ["drawloom_session=", "HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let with = [("cookie", cookie.as_str())];
    let me = server.send("GET /api/v1/session", &with, None).await;
    assert_eq!((me.status, &me.body["name"]), (200, &json!("viewer")));
    // A page of another site cannot use the cookie to change anything.
    let cross = [
        ("cookie", cookie.as_str()),
        ("sec-fetch-site", "cross-site"),
    ];
    let refused = server.send("DELETE /api/v1/session", &cross, None).await;
    assert_eq!(refused.code(), "cross_site", "{refused:?}");
    let listed = server.send("GET /api/v1/sessions", &with, None).await;
    assert_eq!(listed.body["items"].as_array().unwrap().len(), 1);
    let out = server.send("DELETE /api/v1/session", &with, None).await;
    assert_eq!(out.status, 204);
    let gone = server.send("GET /api/v1/session", &with, None).await;
    assert_eq!(gone.code(), "unauthorized");
}

#[tokio::test]
async fn a_reset_link_sets_a_password_once_and_ends_sessions() {
    let server = TestServer::start().await;
    let access = server.app.access_control();
    let secret = access.make_reset_link(&"viewer".parse().unwrap()).await;
    let secret = secret.unwrap().reveal();
    let body = json!({ "link": secret, "password": PASSWORD }).to_string();
    let json_type = [("content-type", "application/json")];
    let first = server
        .send("POST /api/v1/password", &json_type, Some(&body))
        .await;
    assert_eq!(first.status, 200, "{first:?}");
    let again = server
        .send("POST /api/v1/password", &json_type, Some(&body))
        .await;
    assert_eq!(again.code(), "not_found", "{again:?}");
    let body = json!({ "email": "viewer@example.org", "password": PASSWORD }).to_string();
    let signed_in = server
        .send("POST /api/v1/session", &json_type, Some(&body))
        .await;
    assert_eq!(signed_in.status, 200, "{signed_in:?}");
}

#[tokio::test]
async fn guessing_passwords_is_slowed_down() {
    let few = server::ServerLimits {
        sign_ins_per_minute_max: 3,
        ..limits()
    };
    let server = TestServer::with(None, few).await;
    let body = json!({ "email": "viewer@example.org", "password": "a guess" }).to_string();
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let json_type = [("content-type", "application/json")];
        let answered = server
            .send("POST /api/v1/session", &json_type, Some(&body))
            .await;
        statuses.push(answered.status);
    }
    assert_eq!(statuses, [401, 401, 401, 429, 429]);
}

#[tokio::test]
async fn requests_without_a_good_proof_are_refused() {
    let server = TestServer::start().await;
    let wrong = format!("Bearer dl_{}", "0".repeat(64));
    for headers in [
        vec![],
        vec![("authorization", wrong.as_str())],
        vec![("authorization", "Bearer nonsense")],
        vec![("authorization", "Basic YTpi")],
        vec![("cookie", "drawloom_session=nonsense")],
    ] {
        let answered = server.send("GET /api/v1/runs", &headers, None).await;
        assert_eq!(
            (answered.status, answered.code()),
            (401, "unauthorized"),
            "{headers:?}"
        );
        assert!(
            answered.headers.contains_key("www-authenticate")
                || headers.iter().any(|(n, _)| *n == "cookie")
        );
    }
}

#[tokio::test]
async fn tokens_are_made_used_narrowed_and_revoked() {
    let server = TestServer::start().await;
    let made = json!({ "name": "ci", "role": "operator", "scopes": ["runs.read"], "days": 1 });
    let made = server
        .done(UserRole::Operator, "POST /api/v1/tokens", made)
        .await;
    let secret = made["secret"].as_str().unwrap();
    let bearer = format!("Bearer {secret}");
    let with = [("authorization", bearer.as_str())];
    for (line, status) in [
        ("GET /api/v1/runs", 200),
        ("GET /api/v1/tasks", 403),
        ("POST /api/v1/runs", 403),
    ] {
        let answered = server.send(line, &with, None).await;
        assert_eq!(answered.status, status, "{line}: {answered:?}");
    }
    // No user makes a token that may do more than the user.
    let too_much = json!({ "name": "more", "role": "admin" });
    let refused = server
        .ask(UserRole::Operator, "POST /api/v1/tokens", too_much)
        .await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let others = json!({ "name": "others", "user": "admin" });
    let refused = server
        .ask(UserRole::Operator, "POST /api/v1/tokens", others)
        .await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let listed = server
        .done(UserRole::Operator, "GET /api/v1/tokens", json!(null))
        .await;
    assert!(!listed.to_string().contains(secret), "{listed}");
    let line = format!("DELETE /api/v1/tokens/{}", made["id"]);
    let stranger = server.ask(UserRole::Viewer, &line, json!(null)).await;
    assert_eq!(stranger.status, 404, "{stranger:?}");
    let revoked = server.ask(UserRole::Operator, &line, json!(null)).await;
    assert_eq!(revoked.status, 204);
    let gone = server.send("GET /api/v1/runs", &with, None).await;
    assert_eq!(gone.status, 401);
}
