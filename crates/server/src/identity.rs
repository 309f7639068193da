//! Who asks: found by a session's cookie or a bearer token.

use app::sign_in::{SESSION_LIFE, actor_of, check_scope};
use app::{Actor, SignedIn};
use axum::http::{HeaderMap, Method, header};
use store::SessionId;

use crate::headers::cookie;
use crate::problem::{ApiProblem, ProblemCode};
use crate::state::ServerState;

/// The beginning of a cookie's name on `https`: browsers keep it to this host and to https. On plain `http` of
/// this machine it cannot be set.
const SECURE_MARK: &str = "__Host-";

/// The purposes of the server's cookies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CookiePurpose {
    Session,
    /// The first half of a sign-in with a provider.
    Provider,
}

impl CookiePurpose {
    /// Returns the name of the cookie for the browser that sent these headers.
    pub(crate) fn name(self, state: &ServerState, headers: &HeaderMap) -> String {
        let stem = match self {
            CookiePurpose::Session => "drawloom_session",
            CookiePurpose::Provider => "drawloom_oidc",
        };
        let is_secure = state.shared.address.is_secure_for(headers);
        let mark = if is_secure { SECURE_MARK } else { "" };
        format!("{mark}{stem}")
    }

    /// Returns the header that sets the cookie, for this many seconds.
    pub(crate) fn header(
        self,
        state: &ServerState,
        headers: &HeaderMap,
        value: &str,
        seconds: u64,
    ) -> String {
        let is_secure = state.shared.address.is_secure_for(headers);
        let secure = if is_secure { "; Secure" } else { "" };
        let name = self.name(state, headers);
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
    }
}

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
        let name = CookiePurpose::Session.name(state, headers);
        let Some(secret) = cookie(headers, &name) else {
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

/// The header that gives a browser, which sent these headers, its session.
pub(crate) fn session_cookie(
    state: &ServerState,
    headers: &HeaderMap,
    signed_in: &SignedIn,
) -> String {
    let secret = signed_in.secret.reveal();
    let seconds = SESSION_LIFE.as_secs();
    CookiePurpose::Session.header(state, headers, &secret, seconds)
}

/// The header that takes it back.
pub(crate) fn no_cookie(state: &ServerState, headers: &HeaderMap) -> String {
    CookiePurpose::Session.header(state, headers, "", 0)
}
