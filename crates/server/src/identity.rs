//! Who asks: found by a session's cookie or a bearer token.

use app::sign_in::{SESSION_LIFE, actor_of, check_scope};
use app::{Actor, SignedIn};
use axum::http::{HeaderMap, Method, header};
use store::SessionId;

use crate::headers::cookie;
use crate::problem::{ApiProblem, ProblemCode};
use crate::state::ServerState;

/// The cookie of a session on `https`: browsers keep it to this host and to https.
const SECURE_COOKIE: &str = "__Host-drawloom_session";
/// The same on plain `http` of this machine, where the other cannot be set.
const LOCAL_COOKIE: &str = "drawloom_session";

/// A user who was let in.
#[derive(Clone, Debug)]
pub(crate) struct CallerIdentity {
    pub(crate) actor: Actor,
    /// The name that people read.
    pub(crate) display_name: String,
    pub(crate) credential: RequestCredential,
}

/// The proof that was shown.
#[derive(Clone, Debug)]
pub(crate) enum RequestCredential {
    Session(SessionId),
    Token {
        id: store::TokenId,
        scopes: Vec<String>,
    },
}

impl CallerIdentity {
    /// Identifies the caller; `None` if the request carries no credential. An invalid credential is refused.
    pub(crate) async fn find(
        state: &ServerState,
        headers: &HeaderMap,
    ) -> Result<Option<CallerIdentity>, ApiProblem> {
        if let Some(given) = headers.get(header::AUTHORIZATION) {
            let text = given.to_str().unwrap_or_default();
            let secret = text
                .split_once(' ')
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let secret = secret.map(|(_, secret)| secret.trim()).unwrap_or_default();
            let bearer = state.access().find_bearer(secret).await?;
            let Some(bearer) = bearer else {
                let message = "this token is not valid: it is unknown, revoked or expired";
                return Err(ApiProblem::new(ProblemCode::Unauthorized, message)
                    .hint("`drawloom tokens add NAME --user SLUG --role ROLE` makes a new one")
                    .header("www-authenticate", "Bearer error=\"invalid_token\""));
            };
            return Ok(Some(CallerIdentity {
                actor: actor_of(&bearer.user, bearer.role),
                display_name: bearer.user.display_name.clone(),
                credential: RequestCredential::Token {
                    id: bearer.token,
                    scopes: bearer.scopes,
                },
            }));
        }
        let is_secure = state.shared.address.is_secure_for(headers);
        let Some(secret) = cookie(headers, cookie_name(is_secure)) else {
            return Ok(None);
        };
        let found = state.access().find_session(secret).await?;
        Ok(found.map(|(session, user)| CallerIdentity {
            actor: actor_of(&user, user.role),
            display_name: user.display_name.clone(),
            credential: RequestCredential::Session(session.id),
        }))
    }

    /// Refuses what the scopes of a token leave out. `runs` lets all of runs, `runs.read` looking only.
    pub(crate) fn check_scope(&self, resource: &str, method: &Method) -> Result<(), ApiProblem> {
        let RequestCredential::Token { scopes, .. } = &self.credential else {
            return Ok(());
        };
        Ok(check_scope(scopes, resource, method.is_safe())?)
    }

    /// The key under which requests are counted, and under which idempotency keys are kept.
    pub(crate) fn key(&self) -> String {
        match &self.credential {
            RequestCredential::Session(_) => format!("user:{}", self.actor.name()),
            RequestCredential::Token { id, .. } => format!("token:{id}"),
        }
    }
}

fn cookie_name(is_secure: bool) -> &'static str {
    if is_secure {
        SECURE_COOKIE
    } else {
        LOCAL_COOKIE
    }
}

/// The header that gives a browser, which sent these headers, its session.
pub(crate) fn session_cookie(
    state: &ServerState,
    headers: &HeaderMap,
    signed_in: &SignedIn,
) -> String {
    let age = SESSION_LIFE.as_secs();
    cookie_text(state, headers, (signed_in.secret.reveal().as_str(), age))
}

/// The header that takes it back.
pub(crate) fn no_cookie(state: &ServerState, headers: &HeaderMap) -> String {
    cookie_text(state, headers, ("", 0))
}

fn cookie_text(
    state: &ServerState,
    headers: &HeaderMap,
    (secret, age_seconds): (&str, u64),
) -> String {
    let is_secure = state.shared.address.is_secure_for(headers);
    let name = cookie_name(is_secure);
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{name}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age_seconds}{secure}")
}
