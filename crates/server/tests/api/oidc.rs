//! Signing in with a provider that is scripted: what is right, and every way in which an answer can be wrong.

use std::sync::{Arc, Mutex};

use app::oidc::OidcProvider;
use app::people::UserRole;
use app::settings::OidcSettings;
use app::{ProcessEnvironment, UserFolders};
use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::test_server::{CheckedAnswer, TestServer, limits};

const CLIENT: &str = "drawloom";
const HOST: (&str, &str) = ("host", "127.0.0.1:7331");

/// A key that signs tokens.
struct TokenSigner(EcdsaKeyPair);

impl TokenSigner {
    fn new() -> TokenSigner {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pair = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        TokenSigner(EcdsaKeyPair::from_pkcs8(kind, pair.as_ref(), &random).unwrap())
    }

    fn public(&self) -> Value {
        let point = self.0.public_key().as_ref();
        let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        json!({ "kty": "EC", "crv": "P-256", "kid": "k", "x": part(&point[1..33]), "y": part(&point[33..]) })
    }

    fn sign(&self, head: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(head), part(claims));
        let signed = self.0.sign(&SystemRandom::new(), message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signed.unwrap()))
    }
}

/// The next answers of the provider.
struct ProviderScript {
    issuer: String,
    signer: TokenSigner,
    keys: Value,
    head: Value,
    claims: Value,
    /// The token itself, in place of one that is signed.
    token: Option<String>,
    more: Value,
    /// The challenge of the departure, which a code is exchanged against.
    challenge: String,
    /// Form fields that the last exchange had.
    exchanged: Vec<(String, String)>,
}

type SharedScript = Arc<Mutex<ProviderScript>>;

async fn describe(State(script): State<SharedScript>) -> Json<Value> {
    let issuer = script.lock().unwrap().issuer.clone();
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize?tenant=a"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "userinfo_endpoint": format!("{issuer}/me"),
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    }))
}

async fn keys(State(script): State<SharedScript>) -> Json<Value> {
    Json(script.lock().unwrap().keys.clone())
}

async fn more(State(script): State<SharedScript>) -> Json<Value> {
    Json(script.lock().unwrap().more.clone())
}

async fn exchange(
    State(script): State<SharedScript>,
    Form(fields): Form<Vec<(String, String)>>,
) -> (StatusCode, Json<Value>) {
    let mut script = script.lock().unwrap();
    let verifier = fields.iter().find(|(name, _)| name == "code_verifier");
    let verifier = verifier
        .map(|(_, value)| value.as_str())
        .unwrap_or_default();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let is_right = challenge == script.challenge;
    script.exchanged = fields;
    if !is_right {
        return (
            StatusCode::BAD_REQUEST,
            Json(json!({ "error": "invalid_grant" })),
        );
    }
    let token = script
        .token
        .clone()
        .unwrap_or_else(|| script.signer.sign(&script.head, &script.claims));
    let answer = json!({ "access_token": "at", "token_type": "Bearer", "id_token": token });
    (StatusCode::OK, Json(answer))
}

/// A server with a scripted provider.
struct ProvidedServer {
    server: TestServer,
    script: SharedScript,
}

/// A departure, as the browser has it.
struct BegunSignIn {
    cookie: String,
    state: String,
}

impl ProvidedServer {
    async fn start(change: impl FnOnce(&mut OidcSettings)) -> ProvidedServer {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let signer = TokenSigner::new();
        let script: SharedScript = Arc::new(Mutex::new(ProviderScript {
            issuer: issuer.clone(),
            keys: json!({ "keys": [signer.public()] }),
            signer,
            head: json!({ "alg": "ES256", "kid": "k" }),
            claims: json!({}),
            token: None,
            more: json!({}),
            challenge: String::new(),
            exchanged: Vec::new(),
        }));
        let routes = Router::new()
            .route("/.well-known/openid-configuration", get(describe))
            .route("/keys", get(keys))
            .route("/token", post(exchange))
            .route("/me", get(more))
            .with_state(Arc::clone(&script));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "s e c r e t\n").unwrap();
        let mut settings = OidcSettings {
            issuer: Some(issuer),
            client: Some(CLIENT.to_owned()),
            secret_file: Some(secret),
            default_role: Some(UserRole::Viewer),
            ..OidcSettings::default()
        };
        change(&mut settings);
        let mut surroundings = ProcessEnvironment::read(Some(folder.path())).unwrap();
        surroundings.user_folders = UserFolders::default();
        let provider = OidcProvider::of_settings(&settings, &surroundings);
        let server = TestServer::provided(provider.unwrap(), limits()).await;
        ProvidedServer { server, script }
    }

    fn script(&self) -> std::sync::MutexGuard<'_, ProviderScript> {
        self.script.lock().unwrap()
    }

    /// Departs, and has the provider answer what is right.
    async fn begin(&self) -> BegunSignIn {
        let left = self.server.send("GET /login/oidc", &[HOST], None).await;
        assert_eq!(left.status, 303, "{left:?}");
        let cookie = left.header("set-cookie").to_owned();
        assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
        let query = left
            .header("location")
            .split_once('?')
            .unwrap()
            .1
            .to_owned();
        let value = |name: &str| {
            let pair = query.split('&').find_map(|pair| pair.strip_prefix(name));
            pair.unwrap_or_default().to_owned()
        };
        let mut script = self.script();
        let now = jiff::Timestamp::now().as_second();
        script.claims = json!({
            "iss": script.issuer, "aud": CLIENT, "sub": "248", "nonce": value("nonce="),
            "iat": now, "exp": now + 300, "email": "ada@example.org", "name": "Ada",
        });
        script.token = None;
        script.head = json!({ "alg": "ES256", "kid": "k" });
        script.challenge = value("code_challenge=");
        assert_eq!(value("code_challenge_method="), "S256");
        assert_eq!(value("tenant="), "a");
        BegunSignIn {
            cookie: cookie.split(';').next().unwrap().to_owned(),
            state: value("state="),
        }
    }

    async fn come_back(&self, cookie: &str, query: &str) -> CheckedAnswer {
        let line = format!("GET /login/oidc/callback?{query}");
        self.server
            .send(&line, &[HOST, ("cookie", cookie)], None)
            .await
    }

    /// Comes back as a browser does that was not tampered with.
    async fn end(&self, begun: &BegunSignIn) -> CheckedAnswer {
        self.come_back(&begun.cookie, &format!("code=c&state={}", begun.state))
            .await
    }
}

/// The name and the role of the person who was let in, or nothing.
async fn let_in(provided: &ProvidedServer, answer: &CheckedAnswer) -> Option<(String, String)> {
    let cookies = answer.headers.get_all("set-cookie").into_iter();
    let mut texts = cookies.map(|cookie| cookie.to_str().unwrap());
    let session = texts.find(|text| text.starts_with("drawloom_session="))?;
    let cookie = session.split(';').next().unwrap();
    let with = [HOST, ("cookie", cookie)];
    let who = provided
        .server
        .send("GET /api/v1/session", &with, None)
        .await;
    let text = |name: &str| who.body[name].as_str().unwrap().to_owned();
    Some((text("name"), text("role")))
}

fn viewer(name: &str) -> Option<(String, String)> {
    Some((name.to_owned(), "viewer".to_owned()))
}

#[tokio::test]
async fn a_person_is_found_by_issuer_and_subject_and_never_by_address() {
    let provided = ProvidedServer::start(|_| {}).await;
    for _ in 0..2 {
        let begun = provided.begin().await;
        let answer = provided.end(&begun).await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, "/"),
            "{answer:?}"
        );
        assert_eq!(let_in(&provided, &answer).await, viewer("ada-example-org"));
    }
    let exchanged = provided.script().exchanged.clone();
    let sent = |name: &str| {
        let field = exchanged.iter().find(|(key, _)| key == name);
        field.map(|(_, value)| value.as_str())
    };
    assert_eq!(sent("client_secret"), Some("s e c r e t"));
    assert_eq!(
        sent("redirect_uri"),
        Some("http://127.0.0.1:7331/login/oidc/callback")
    );
    // The same subject with another address is the same person.
    let begun = provided.begin().await;
    provided.script().claims["email"] = json!("lovelace@example.org");
    let answer = provided.end(&begun).await;
    assert_eq!(let_in(&provided, &answer).await, viewer("ada-example-org"));
    // Another subject with the same address is not.
    let begun = provided.begin().await;
    provided.script().claims["sub"] = json!("249");
    let answer = provided.end(&begun).await;
    assert_eq!(
        (answer.status, let_in(&provided, &answer).await),
        (409, None)
    );
    let begun = provided.begin().await;
    provided.script().claims["sub"] = json!("250");
    provided.script().claims["email_verified"] = json!(false);
    let answer = provided.end(&begun).await;
    assert_eq!(let_in(&provided, &answer).await, viewer("person"));
    // Who was deactivated stays out.
    let line = "GET /api/v1/users/person";
    let user = provided
        .server
        .ask(UserRole::Admin, line, Value::Null)
        .await;
    let tag = user.header("etag").to_owned();
    let off = json!({ "isActive": false });
    let with = [("if-match", tag.as_str())];
    let line = "PATCH /api/v1/users/person";
    let edited = provided
        .server
        .ask_with(UserRole::Admin, line, &with, off)
        .await;
    assert_eq!(edited.status, 200, "{edited:?}");
    let begun = provided.begin().await;
    provided.script().claims["sub"] = json!("250");
    let answer = provided.end(&begun).await;
    assert_eq!(
        (answer.status, let_in(&provided, &answer).await),
        (401, None)
    );
}

/// A change of a right answer, and the words of the refusal.
type HostileAnswer = (&'static str, fn(&mut ProviderScript), &'static str);

const HOSTILE: [HostileAnswer; 13] = [
    (
        "another nonce",
        |script| script.claims["nonce"] = json!("n"),
        "(nonce)",
    ),
    (
        "another client",
        |script| script.claims["aud"] = json!("other"),
        "(aud)",
    ),
    (
        "given to another",
        |script| script.claims["azp"] = json!("other"),
        "(azp)",
    ),
    (
        "another issuer",
        |script| script.claims["iss"] = json!("http://evil.invalid"),
        "(iss)",
    ),
    (
        "too old",
        |script| script.claims["exp"] = json!(1_000),
        "(exp)",
    ),
    (
        "from the future",
        |script| script.claims["iat"] = json!(99_999_999_999_u64),
        "(iat)",
    ),
    (
        "about no one",
        |script| script.claims["sub"] = json!(""),
        "(sub)",
    ),
    (
        "not signed",
        |script| script.head = json!({ "alg": "none" }),
        "RS256 or ES256",
    ),
    (
        "signed with a public key",
        |script| script.head = json!({ "alg": "HS256", "kid": "k" }),
        "RS256 or ES256",
    ),
    (
        "signed with another key",
        |script| {
            let other = TokenSigner::new();
            script.token = Some(other.sign(&script.head, &script.claims));
        },
        "signature is wrong",
    ),
    (
        "signed with an unknown key",
        |script| script.head = json!({ "alg": "ES256", "kid": "z" }),
        "key that the provider has not",
    ),
    (
        "no token",
        |script| script.token = Some("a.b.c".to_owned()),
        "no signed token",
    ),
    (
        "another verifier",
        |script| script.challenge = "x".to_owned(),
        "invalid_grant",
    ),
];

#[tokio::test]
async fn answers_that_are_not_right_let_no_one_in() {
    let provided = ProvidedServer::start(|_| {}).await;
    for (what, change, says) in HOSTILE {
        let begun = provided.begin().await;
        change(&mut provided.script());
        let answer = provided.end(&begun).await;
        assert_eq!(answer.status, 401, "{what}: {answer:?}");
        assert!(
            answer.body.as_str().unwrap().contains(says),
            "{what}: {answer:?}"
        );
        assert_eq!(let_in(&provided, &answer).await, None, "{what}");
    }
    // Two people in one answer.
    let begun = provided.begin().await;
    provided.script().claims["email"] = json!(null);
    provided
        .script()
        .claims
        .as_object_mut()
        .unwrap()
        .remove("name");
    provided.script().more = json!({ "sub": "249", "name": "Eve" });
    let answer = provided.end(&begun).await;
    assert!(
        answer.body.as_str().unwrap().contains("two people"),
        "{answer:?}"
    );
    let audit = provided
        .server
        .ask(UserRole::Admin, "GET /api/v1/audit", Value::Null)
        .await;
    assert!(!audit.body.to_string().contains("users.add"), "{audit:?}");
}

#[tokio::test]
async fn a_sign_in_ends_in_the_browser_that_began_it() {
    let provided = ProvidedServer::start(|_| {}).await;
    let (one, other) = (provided.begin().await, provided.begin().await);
    for (cookie, query) in [
        ("", format!("code=c&state={}", one.state)),
        (&*other.cookie, format!("code=c&state={}", one.state)),
        (&*one.cookie, "code=c&state=x".to_owned()),
        (&*one.cookie, "code=c".to_owned()),
        ("drawloom_oidc=a.b.c", "code=c&state=a".to_owned()),
        (
            &*one.cookie,
            format!("error=access_denied&state={}", one.state),
        ),
        (&*one.cookie, "code=%FF&state=%FF".to_owned()),
    ] {
        let answer = provided.come_back(cookie, &query).await;
        assert_eq!(answer.status, 401, "{query}: {answer:?}");
        assert_eq!(let_in(&provided, &answer).await, None, "{query}");
    }
    // Nothing of this has asked the provider.
    assert!(provided.script().exchanged.is_empty());
}

#[tokio::test]
async fn a_claim_gives_the_role_at_every_sign_in() {
    let provided = ProvidedServer::start(|settings| {
        settings.role_claim = Some("groups".to_owned());
        settings.roles = vec!["staff=operator".to_owned(), "boss=admin".to_owned()];
        settings.default_role = None;
    })
    .await;
    for (groups, role) in [
        (json!(["staff"]), Some("operator")),
        (json!(["staff", "boss"]), Some("admin")),
        (json!(["strangers"]), None),
        (json!("staff"), Some("operator")),
    ] {
        let begun = provided.begin().await;
        provided.script().claims["groups"] = groups.clone();
        let answer = provided.end(&begun).await;
        let found = let_in(&provided, &answer).await.map(|(_, role)| role);
        assert_eq!(found.as_deref(), role, "{groups}");
    }
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_said_and_passwords_still_work() {
    let provided = ProvidedServer::start(|settings| {
        settings.issuer = Some("http://127.0.0.1:9".to_owned());
    })
    .await;
    let left = provided.server.send("GET /login/oidc", &[HOST], None).await;
    assert_eq!(left.status, 503, "{left:?}");
    let page = left.body.as_str().unwrap();
    assert!(
        page.contains("cannot be used") && page.contains("name=\"password\""),
        "{page}"
    );
    let without = TestServer::start().await;
    let absent = without.send("GET /login/oidc", &[HOST], None).await;
    assert_eq!(absent.status, 404);
    let shown = without.send("GET /login", &[HOST], None).await;
    assert!(!shown.body.as_str().unwrap().contains("oidc"), "{shown:?}");
    // Another issuer than the one of the settings is not believed.
    let provided = ProvidedServer::start(|_| {}).await;
    provided.script().issuer.push('/');
    let left = provided.server.send("GET /login/oidc", &[HOST], None).await;
    assert_eq!(left.status, 503, "{left:?}");
}

#[tokio::test]
async fn a_provider_may_change_its_keys() {
    let provided = ProvidedServer::start(|_| {}).await;
    let begun = provided.begin().await;
    assert_eq!(provided.end(&begun).await.status, 303);
    // Keys that are a moment old are not read again for every token that names another key.
    let begun = provided.begin().await;
    {
        let mut script = provided.script();
        script.head = json!({ "alg": "ES256", "kid": "next" });
        let mut next = script.signer.public();
        next["kid"] = json!("next");
        script.keys = json!({ "keys": [next] });
    }
    assert_eq!(provided.end(&begun).await.status, 401);
}
