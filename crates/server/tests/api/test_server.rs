//! A server on a scratch database, asked without a socket.

use std::sync::{Arc, LazyLock};

use app::oidc::OidcProvider;
use app::people::{User, UserKind, UserRole};
use app::worker::{NoWatcher, StopCondition, WorkerOptions};
use app::{App, CommandCancel, ProcessEnvironment, Project, TokenRequest, UserFolders};
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use server::{ServerLimits, ServerState};
use tower::ServiceExt as _;

/// A workflow in which a person decides and a branch follows.
pub(crate) const REVIEW: &str = "graph TD\n A(Approve) --> D{Fine?}\n D -->|\"output.ok == true\"| B[Yes]\n \
    D -->|default| C[No]\n\
    %% === WORKFLOW_CONFIG ===\n\
    %% @A: { \"prompt\": \"Approve {{input.what}}?\", \"outputSchema\": { \"type\": \"object\", \
    \"required\": [\"ok\"], \"properties\": { \"ok\": { \"type\": \"boolean\" } } } }\n\
    %% @B: { \"handler\": \"no_op\" }\n%% @C: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n";

const RECIPE: &str = "name: hello\nvariables:\n  name:\n    type: string\n    required: true\n    \
    position: 1\nsteps:\n  - name: file\n    tool: template\n    template: hello.edge\n";
const TEMPLATE: &str = "---\nto: \"{{ name }}.txt\"\n---\nHello {{ name }}\n";

pub(crate) struct TestServer {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) app: App,
    pub(crate) state: ServerState,
    router: axum::Router,
    /// A token of every role.
    admin: String,
    operator: String,
    reviewer: String,
    viewer: String,
}

/// An answer as data.
#[derive(Debug)]
pub(crate) struct CheckedAnswer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl CheckedAnswer {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// The code of a problem.
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

impl TestServer {
    /// On SQLite, with limits that no test meets.
    pub(crate) async fn start() -> TestServer {
        TestServer::with(None, limits()).await
    }

    pub(crate) async fn with(database: Option<&str>, limits: ServerLimits) -> TestServer {
        let server = TestServer::empty(database, limits).await;
        let mut tokens = Vec::new();
        for role in UserRole::ALL {
            tokens.push(server.add_person(role.as_str(), role).await);
        }
        let [admin, operator, reviewer, viewer] = tokens.try_into().unwrap();
        TestServer {
            admin,
            operator,
            reviewer,
            viewer,
            ..server
        }
    }

    /// On SQLite, with a provider to sign in with, and an admin.
    pub(crate) async fn provided(
        provider: Option<OidcProvider>,
        limits: ServerLimits,
    ) -> TestServer {
        let mut server = TestServer::empty(None, limits.clone()).await;
        server.state = ServerState::provided(server.app.clone(), provider, limits);
        server.router = server::router(&server.state);
        server.admin = server.add_person("root", UserRole::Admin).await;
        server
    }

    /// A fresh server without an owner.
    pub(crate) async fn empty(database: Option<&str>, limits: ServerLimits) -> TestServer {
        TestServer::of(database, limits, None).await
    }

    /// A fresh server whose project has a variable set.
    pub(crate) async fn with_variable(name: &str, value: &str) -> TestServer {
        TestServer::of(None, limits(), Some((name, value))).await
    }

    async fn of(
        database: Option<&str>,
        limits: ServerLimits,
        variable: Option<(&str, &str)>,
    ) -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(".drawloom/workflows/review.mmd", REVIEW);
        put(".drawloom/recipes/hello/recipe.yml", RECIPE);
        put(".drawloom/recipes/hello/hello.edge", TEMPLATE);
        let mut surroundings = ProcessEnvironment::read(Some(folder.path())).unwrap();
        surroundings.user_folders = UserFolders::default();
        surroundings.variables.clear();
        // Receivers of the tests are here.
        let allowed = ("DRAWLOOM_WORKFLOWS_HTTP_ALLOW", "127.0.0.1");
        for (name, value) in [allowed].into_iter().chain(variable) {
            let (name, value) = (name.to_owned(), value.to_owned());
            surroundings.variables.insert(name, value);
        }
        surroundings.trusts_once = true;
        let project = Project::open(&surroundings).unwrap();
        let app = App::open(
            Arc::new(project),
            &surroundings,
            app::ai::AiOverrides::default(),
            database,
        );
        let app = app.await.unwrap();
        let state = ServerState::local(app.clone(), limits);
        TestServer {
            router: server::router(&state),
            folder,
            app,
            state,
            admin: String::new(),
            operator: String::new(),
            reviewer: String::new(),
            viewer: String::new(),
        }
    }

    /// Adds a person and returns a token with all that they may do.
    pub(crate) async fn add_person(&self, slug: &str, role: UserRole) -> String {
        let email = format!("{slug}@example.org");
        self.add_user(slug, role, UserKind::Person { email }).await
    }

    pub(crate) async fn add_user(&self, slug: &str, role: UserRole, nature: UserKind) -> String {
        let user = User {
            slug: slug.parse().unwrap(),
            display_name: slug.to_owned(),
            role,
            is_active: true,
            nature,
            revision: 0,
            created_ms: 0,
            updated_ms: 0,
        };
        let terminal = self.app.acting(self.app.terminal());
        terminal.add_user(&user).await.unwrap();
        let wish = TokenRequest {
            user: user.slug,
            name: "test".to_owned(),
            role,
            scopes: Vec::new(),
            life: None,
        };
        terminal.add_token(&wish).await.unwrap().1.reveal()
    }

    /// The whole server, for answers that are read piece by piece.
    pub(crate) fn router(&self) -> axum::Router {
        self.router.clone()
    }

    pub(crate) fn token(&self, role: UserRole) -> &str {
        match role {
            UserRole::Admin => &self.admin,
            UserRole::Operator => &self.operator,
            UserRole::Reviewer => &self.reviewer,
            UserRole::Viewer => &self.viewer,
        }
    }

    /// Sends a request: `POST /api/v1/runs`, with headers and a body.
    pub(crate) async fn send(
        &self,
        line: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> CheckedAnswer {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", "127.0.0.1:7331");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_owned()));
        let request = request.body(body).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let answer = CheckedAnswer {
            status: status.as_u16(),
            headers,
            body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        };
        check_described(line, &answer);
        answer
    }

    /// Sends a request of a user with this role, with JSON.
    pub(crate) async fn ask(&self, role: UserRole, line: &str, body: Value) -> CheckedAnswer {
        self.ask_with(role, line, &[], body).await
    }

    pub(crate) async fn ask_with(
        &self,
        role: UserRole,
        line: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> CheckedAnswer {
        let bearer = format!("Bearer {}", self.token(role));
        let mut all = vec![("authorization", bearer.as_str())];
        if !body.is_null() {
            all.push(("content-type", "application/json"));
        }
        all.extend(headers);
        let text = body.to_string();
        let body = (!body.is_null()).then_some(text.as_str());
        self.send(line, &all, body).await
    }

    /// Asks for something that must succeed.
    #[track_caller]
    pub(crate) fn done(
        &self,
        role: UserRole,
        line: &str,
        body: Value,
    ) -> impl Future<Output = Value> {
        let line = line.to_owned();
        async move {
            let answered = self.ask(role, &line, body).await;
            let is_done = StatusCode::from_u16(answered.status).unwrap().is_success();
            assert!(is_done, "{line}: {answered:?}");
            answered.body
        }
    }

    /// Puts a workflow into the project.
    pub(crate) fn put_workflow(&self, name: &str, text: &str) {
        let file = format!(".drawloom/workflows/{name}.mmd");
        std::fs::write(self.folder.path().join(file), text).unwrap();
    }

    /// Puts a recipe with one template into the project.
    pub(crate) fn put_recipe(&self, name: &str, recipe: &str, (file, template): (&str, &str)) {
        let folder = self.folder.path().join(".drawloom/recipes").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("recipe.yml"), recipe).unwrap();
        std::fs::write(folder.join(file), template).unwrap();
    }

    /// Changes the database behind the server's back.
    async fn alter(&self, statement: String) {
        use sqlx::Connection as _;
        let file = self.folder.path().join(".drawloom/drawloom.db");
        let address = format!("sqlite:{}", file.display());
        let mut connection = sqlx::SqliteConnection::connect(&address).await.unwrap();
        let altered = sqlx::query(sqlx::AssertSqlSafe(statement));
        altered.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// Takes a table away.
    pub(crate) async fn break_table(&self, table: &str) {
        self.alter(format!("ALTER TABLE {table} RENAME TO gone"))
            .await;
    }

    /// Makes the tables those of another version.
    pub(crate) async fn set_table_version(&self, version: u32) {
        self.alter(format!("PRAGMA user_version = {version}")).await;
    }

    /// Works until nothing is left to do.
    pub(crate) async fn work(&self) {
        let order = WorkerOptions {
            name: "worker".to_owned(),
            concurrency: 2,
            lease: std::time::Duration::from_secs(30),
            assignees: Vec::new(),
            until: StopCondition::Idle { max_wait: None },
        };
        let terminal = self.app.acting(self.app.terminal());
        let ended = terminal
            .work(&order, &mut NoWatcher, &CommandCancel::default())
            .await;
        ended.unwrap();
    }

    /// Starts a run of the review and returns its id.
    pub(crate) async fn start_review(&self) -> String {
        let body = serde_json::json!({ "workflow": "review", "input": { "what": "it" } });
        let started = self
            .done(UserRole::Operator, "POST /api/v1/runs", body)
            .await;
        started["runs"][0].as_str().unwrap().to_owned()
    }
}

/// Holds an answer against the description of its route: what generated clients rely on.
fn check_described(line: &str, answer: &CheckedAnswer) {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(server::openapi_document);
    let (method, path) = line.split_once(' ').unwrap();
    let path = path.split('?').next().unwrap();
    let words = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let asked = words(path);
    let fits = |template: &str| {
        let template = words(template);
        let is_same = |(one, word): (&String, &String)| one == word || one.starts_with('{');
        template.len() == asked.len() && template.iter().zip(&asked).all(is_same)
    };
    let paths = DOCUMENT["paths"].as_object().unwrap();
    // A path without parameters is meant before one with.
    let mut found: Vec<&String> = paths.keys().filter(|path| fits(path)).collect();
    found.sort_by_key(|path| path.matches('{').count());
    let Some(found) = found.first() else {
        return;
    };
    let operation = &paths[*found][method.to_lowercase()];
    let described = &operation["responses"][answer.status.to_string()];
    if operation.is_null() || answer.status == 304 {
        return;
    }
    assert!(
        !described.is_null(),
        "{line}: {} is not described",
        answer.status
    );
    let schema = &described["content"]["application/json"]["schema"];
    if !schema.is_null()
        && let Err(error) = jsonschema::validate(schema, &answer.body)
    {
        panic!(
            "{line}: {error} at `{}`: {}",
            error.instance_path(),
            answer.body
        );
    }
}

pub(crate) fn limits() -> ServerLimits {
    ServerLimits {
        requests_per_second_max: 100_000,
        sign_ins_per_minute_max: 10_000,
        ..ServerLimits::default()
    }
}
