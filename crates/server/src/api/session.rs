//! Signing in and out, claiming a fresh server, and the list of one's sessions.

use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{SessionId, WebSession};

use crate::identity::{RequestCredential, no_cookie, session_cookie};
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::new(
            Method::POST,
            "/session",
            RouteAccess::Everybody,
            "Signs a person in: the answer sets a cookie.",
            |asked| Box::pin(sign_in(asked)),
        )
        .body(schema::<SignIn>)
        .answers(200, &["name", "role"]),
        ApiRoute::new(
            Method::GET,
            "/session",
            RouteAccess::SignedIn,
            "Says who is signed in.",
            |asked| Box::pin(who(asked)),
        )
        .answers(200, &["name", "role"]),
        ApiRoute::new(
            Method::DELETE,
            "/session",
            RouteAccess::SignedIn,
            "Signs out: the session ends.",
            |asked| Box::pin(sign_out(asked)),
        ),
        ApiRoute::new(
            Method::POST,
            "/claim",
            RouteAccess::Everybody,
            "Claims a fresh server with the secret of its link; the claimer becomes its admin.",
            |asked| Box::pin(claim(asked)),
        )
        .body(schema::<ClaimBody>)
        .answers(200, &["name", "role"]),
        ApiRoute::new(
            Method::POST,
            "/password",
            RouteAccess::Everybody,
            "Sets a new password with the secret of a link.",
            |asked| Box::pin(reset(asked)),
        )
        .body(schema::<ResetBody>)
        .answers(200, &["name"]),
        ApiRoute::new(
            Method::GET,
            "/sessions",
            RouteAccess::SignedIn,
            "Lists your own sessions; for admins, `all=true` lists the sessions of all users.",
            |asked| Box::pin(list(asked)),
        )
        .query(&[("all", "true for those of all users")])
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::DELETE,
            "/sessions/{session}",
            RouteAccess::SignedIn,
            "Ends a session.",
            |asked| Box::pin(end(asked)),
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    email: String,
    password: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClaimBody {
    /// The secret at the end of the link.
    link: String,
    email: String,
    password: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResetBody {
    /// The secret at the end of the link.
    link: String,
    password: String,
}

async fn sign_in(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let given: SignIn = asked.body()?;
    let state = asked.state();
    let throttles = &state.shared.throttles;
    throttles.check_sign_in(&given.email, &asked.place.address)?;
    let signed_in = state
        .access()
        .sign_in(&given.email, &given.password, &asked.place);
    let signed_in = signed_in.await.map_err(|error| {
        let problem = ApiProblem::from(error);
        match problem.code {
            // Who is not let in is not signed in.
            ProblemCode::Forbidden => ApiProblem::new(ProblemCode::Unauthorized, problem.detail()),
            _ => problem,
        }
    })?;
    let cookie = session_cookie(state, &asked.headers, &signed_in);
    let user = &signed_in.user;
    let document = json!({ "name": user.slug.as_str(), "role": user.role.as_str() });
    Ok(ApiReply::json(document).header("set-cookie", &cookie))
}

async fn who(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let identity = asked
        .identity
        .as_ref()
        .ok_or_else(ApiProblem::unauthorized)?;
    let actor = &identity.actor;
    let (kind, scopes) = match &identity.credential {
        RequestCredential::Session(_) => ("session", Vec::new()),
        RequestCredential::Token { scopes, .. } => ("token", scopes.clone()),
    };
    Ok(ApiReply::json(json!({
        "name": actor.name(), "displayName": identity.display_name,
        "role": actor.role().as_str(), "isAgent": actor.is_agent(),
        "by": kind, "scopes": scopes,
    })))
}

async fn sign_out(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let identity = asked
        .identity
        .as_ref()
        .ok_or_else(ApiProblem::unauthorized)?;
    let RequestCredential::Session(session) = identity.credential else {
        let message = "a token is not signed in; it is revoked";
        return Err(ApiProblem::new(ProblemCode::Conflict, message)
            .hint("DELETE /api/v1/tokens/{token} revokes it"));
    };
    asked.state().access().end_session(session).await?;
    Ok(ApiReply::nothing()
        .header("set-cookie", &no_cookie(asked.state(), &asked.headers))
        .header("clear-site-data", "\"cache\", \"storage\""))
}

async fn claim(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let given: ClaimBody = asked.body()?;
    let state = asked.state();
    state
        .shared
        .throttles
        .check_sign_in("claim", &asked.place.address)?;
    let access = state.access();
    let user = access
        .claim(&given.link, &given.email, &given.password)
        .await?;
    let signed_in = access.begin_session(user, &asked.place).await?;
    let cookie = session_cookie(state, &asked.headers, &signed_in);
    let user = &signed_in.user;
    let document = json!({ "name": user.slug.as_str(), "role": user.role.as_str() });
    Ok(ApiReply::json(document).header("set-cookie", &cookie))
}

async fn reset(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let given: ResetBody = asked.body()?;
    let state = asked.state();
    state
        .shared
        .throttles
        .check_sign_in("reset", &asked.place.address)?;
    let user = state
        .access()
        .reset_password(&given.link, &given.password)
        .await?;
    Ok(ApiReply::json(json!({ "name": user.as_str() })))
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let own = use_cases.own_slug();
    let sessions = match asked.query_as::<bool>("all", "true or false")? {
        Some(true) => use_cases.sessions(None).await?,
        _ => match &own {
            Some(own) => use_cases.sessions(Some(own)).await?,
            None => Vec::new(),
        },
    };
    let items: Vec<Value> = sessions.iter().map(document).collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn end(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let id: i64 = asked.path_as("session")?;
    asked.use_cases()?.end_session(SessionId(id)).await?;
    Ok(ApiReply::nothing())
}

pub(super) fn document(session: &WebSession) -> Value {
    json!({
        "id": session.id.0,
        "user": session.user.as_str(),
        "createdMs": session.created_ms,
        "seenMs": session.seen_ms,
        "expiresMs": session.expires_ms,
        "userAgent": session.user_agent,
        "address": session.address,
    })
}
