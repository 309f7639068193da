//! Tokens of programs: one's own, and for admins those of others.

use std::time::Duration;

use app::TokenRequest;
use app::people::{Slug, UserRole};
use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{AccessToken, TokenId};

use crate::identity::RequestCredential;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// How long a token can be used unless its maker says.
const DAYS: u32 = 90;
const DAYS_MAX: u32 = 3_650;
const MS_A_DAY: u64 = 24 * 60 * 60 * 1_000;

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::new(
            Method::GET,
            "/tokens",
            RouteAccess::SignedIn,
            "Lists one's own tokens; `user` those of another and `all=true` all, for admins.",
            |asked| Box::pin(list(asked)),
        )
        .query(&[("user", "a slug"), ("all", "true for those of all users")])
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::POST,
            "/tokens",
            RouteAccess::SignedIn,
            "Makes a token; its secret is in this answer and nowhere else.",
            |asked| Box::pin(add(asked)),
        )
        .body(schema::<TokenBody>)
        .secret()
        .answers(201, &["id", "name", "secret"]),
        ApiRoute::new(
            Method::DELETE,
            "/tokens/{token}",
            RouteAccess::SignedIn,
            "Revokes a token, for good.",
            |asked| Box::pin(revoke(asked)),
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TokenBody {
    /// The purpose of the token.
    name: String,
    /// The owner; the caller if left out.
    #[serde(default)]
    user: Option<String>,
    /// The highest role it grants; viewer if left out.
    #[serde(default)]
    role: Option<String>,
    /// Words such as `runs` or `tasks.read`.
    #[serde(default)]
    scopes: Vec<String>,
    /// For how many days; 90 if left out.
    #[serde(default)]
    days: Option<u32>,
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let is_all = asked.query_as::<bool>("all", "true or false")? == Some(true);
    let user: Option<Slug> = asked.query_as("user", "the slug of a user")?;
    let user = match is_all {
        true => None,
        false => user.or(use_cases.own_slug()),
    };
    let tokens = use_cases.tokens(user.as_ref()).await?;
    let items: Vec<Value> = tokens.iter().map(document).collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn add(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let new: TokenBody = asked.body()?;
    let use_cases = asked.use_cases()?;
    let invalid = |pointer: &str, message: String| {
        ApiProblem::new(ProblemCode::Invalid, message.clone()).at(pointer, message)
    };
    let user: Slug = match &new.user {
        Some(user) => user
            .parse()
            .map_err(|error: store::Error| invalid("/user", error.to_string()))?,
        None => use_cases
            .own_slug()
            .ok_or_else(|| invalid("/user", "say whose it is".to_owned()))?,
    };
    let role: UserRole = match &new.role {
        Some(role) => role
            .parse()
            .map_err(|error: store::Error| invalid("/role", error.to_string()))?,
        None => UserRole::Viewer,
    };
    let days = new.days.unwrap_or(DAYS);
    if !(1..=DAYS_MAX).contains(&days) {
        return Err(invalid("/days", format!("from 1 to {DAYS_MAX} days")));
    }
    let wish = TokenRequest {
        user,
        name: new.name,
        role,
        scopes: new.scopes,
        life: Some(Duration::from_hours(24 * u64::from(days))),
    };
    refuse_wider(&asked, &wish, days).await?;
    let (token, secret) = use_cases.add_token(&wish).await?;
    let mut shown = document(&token);
    shown["secret"] = json!(secret.reveal());
    Ok(ApiReply::created(shown, "/api/v1/tokens"))
}

/// Refuses a program that would make a token which may do more than its own, lasts longer, or is
/// another's where it speaks for an agent.
async fn refuse_wider(
    asked: &ApiRequest,
    wish: &TokenRequest,
    days: u32,
) -> Result<(), ApiProblem> {
    let identity = asked.identity.as_ref();
    let identity = identity.ok_or_else(ApiProblem::unauthorized)?;
    let RequestCredential::Token { id, scopes } = &identity.credential else {
        return Ok(());
    };
    let use_cases = asked.use_cases()?;
    let refused = |message: &str| {
        Err(ApiProblem::new(ProblemCode::Forbidden, message)
            .hint("sign in and make it there, or `drawloom tokens add` on the server's machine"))
    };
    if identity.actor.is_agent() && use_cases.own_slug().as_ref() != Some(&wish.user) {
        return refused("an agent makes no tokens for others");
    }
    let is_narrow = |wanted: &String| allows(scopes, wanted);
    if !scopes.is_empty() && (wish.scopes.is_empty() || !wish.scopes.iter().all(is_narrow)) {
        return refused("a token with scopes makes none with other scopes");
    }
    let own = use_cases.tokens(use_cases.own_slug().as_ref()).await?;
    let ends_ms = own.iter().find(|token| token.id == *id);
    let ends_ms = ends_ms.and_then(|token| token.expires_ms);
    let last_ms = asked.state().app().now_ms() + u64::from(days) * MS_A_DAY;
    match ends_ms.is_some_and(|ends_ms| ends_ms < last_ms) {
        true => refused("a token makes none that lasts longer than itself; give fewer `days`"),
        false => Ok(()),
    }
}

/// Returns whether scopes let all that another scope lets.
fn allows(scopes: &[String], wanted: &str) -> bool {
    scopes.iter().any(|scope| {
        let reading = wanted.strip_suffix(".read");
        scope == wanted || reading.is_some_and(|of| scope == of || scope == "read")
    })
}

async fn revoke(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let id: i64 = asked.path_as("token")?;
    asked.use_cases()?.revoke_token(TokenId(id)).await?;
    Ok(ApiReply::nothing())
}

fn document(token: &AccessToken) -> Value {
    json!({
        "id": token.id.0,
        "user": token.user.as_str(),
        "name": token.name,
        "role": token.role.as_str(),
        "scopes": token.scopes,
        "createdMs": token.created_ms,
        "expiresMs": token.expires_ms,
        "usedMs": token.used_ms,
        "revokedMs": token.revoked_ms,
    })
}
