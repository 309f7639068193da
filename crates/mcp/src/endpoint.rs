//! The endpoint of MCP over HTTP: streamable HTTP for both revisions of the protocol, on one address.
//!
//! Requests of 2026-07-28 stand alone; older clients open sessions. Who asks, from which host and with how many
//! bytes has been checked before: the server hands in requests of callers it has let in. A session belongs to
//! the token that opened it, and every request acts with the permissions of its own token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, Request, Response, StatusCode};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;

use crate::HttpCaller;

/// The header that names a session.
const SESSION_HEADER: &str = "mcp-session-id";
/// How long an answer that has gone out is kept for a client whose connection broke.
const ANSWER_KEPT: Duration = Duration::from_secs(10);

/// The limits of an endpoint, each of which its refusal names.
#[derive(Clone, Debug)]
pub struct EndpointLimits {
    /// The largest body of a request, in bytes.
    pub body_bytes_max: usize,
    /// The most sessions that all callers together have open.
    pub sessions_max: usize,
    /// The most sessions that one token has open.
    pub sessions_per_token_max: usize,
    /// How long a session may be idle before it ends.
    pub session_idle_max: Duration,
}

/// A request that the endpoint does not take now: the limit that it met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooManySessions {
    pub limit: &'static str,
    pub max: usize,
}

/// The endpoint around one server of tools.
pub struct McpEndpoint<S> {
    service: StreamableHttpService<S, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    owners: SessionOwners,
    limits: EndpointLimits,
}

impl<S: ServerHandler + Clone> McpEndpoint<S> {
    /// Makes the endpoint of a server; every session and every request gets a clone of it.
    pub fn new(handler: S, limits: EndpointLimits) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(limits.session_idle_max);
        config.completed_cache_ttl = ANSWER_KEPT;
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = config;
        let sessions = Arc::new(sessions);
        // Host and Origin are checked by the server, for all its addresses.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(limits.body_bytes_max);
        let make = move || Ok(handler.clone());
        Self {
            service: StreamableHttpService::new(make, Arc::clone(&sessions), config),
            sessions,
            owners: SessionOwners::default(),
            limits,
        }
    }

    /// Answers a request of a caller who was let in.
    pub async fn answer(
        &self,
        request: Request<Bytes>,
        caller: HttpCaller,
    ) -> Result<Response<Body>, TooManySessions> {
        let named = request.headers().get(SESSION_HEADER);
        let named = named.map(|id| id.to_str().unwrap_or_default().to_owned());
        if let Some(session) = &named
            && !self.owners.has(session, &caller.key)
        {
            // The same answer as for a session that never was.
            return Ok(not_found());
        }
        let opening = if named.is_none() && is_initialize(&request) {
            Some(self.reserve(&caller.key).await?)
        } else {
            None
        };
        let key = caller.key.clone();
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(caller);
        let request = Request::from_parts(parts, Body::from(body));
        let response = self.service.handle(request).await;
        if opening.is_some()
            && let Some(session) = response.headers().get(SESSION_HEADER)
        {
            let session = session.to_str().unwrap_or_default();
            self.owners.add(session, &key);
        }
        Ok(response.map(Body::new))
    }

    /// Takes a place for a session that is about to be opened.
    async fn reserve(&self, key: &str) -> Result<OpeningSession<'_>, TooManySessions> {
        // Those that are opened from here on are not among the known ones, and stay.
        let mut ended = self.owners.sessions();
        let live = self.sessions.sessions.read().await;
        ended.retain(|session| !live.contains_key(session.as_str()));
        drop(live);
        self.owners.forget(&ended);
        self.owners.reserve(key, &self.limits)
    }
}

fn not_found() -> Response<Body> {
    let mut response = Response::new(Body::from("there is no such session: initialize a new one"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Returns whether a request opens a session.
fn is_initialize(request: &Request<Bytes>) -> bool {
    #[derive(Deserialize)]
    struct MessageHead {
        #[serde(default)]
        method: String,
    }
    request.method() == Method::POST
        && serde_json::from_slice::<MessageHead>(request.body())
            .is_ok_and(|head| head.method == "initialize")
}

/// The tokens that sessions belong to.
#[derive(Default)]
struct SessionOwners {
    owned: Mutex<OwnedSessions>,
}

#[derive(Default)]
struct OwnedSessions {
    /// The key of the token, by the session.
    keys: HashMap<String, String>,
    /// How many sessions each token is opening now.
    opening: HashMap<String, usize>,
}

/// A place among the sessions of a token, until its session is open or has failed to open.
struct OpeningSession<'o> {
    owners: &'o SessionOwners,
    key: String,
}

impl SessionOwners {
    fn has(&self, session: &str, key: &str) -> bool {
        let owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.keys.get(session).is_some_and(|owner| owner == key)
    }

    fn add(&self, session: &str, key: &str) {
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.keys.insert(session.to_owned(), key.to_owned());
    }

    fn sessions(&self) -> Vec<String> {
        let owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.keys.keys().cloned().collect()
    }

    fn forget(&self, ended: &[String]) {
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        for session in ended {
            owned.keys.remove(session);
        }
    }

    /// Takes a place, if there is one.
    fn reserve(
        &self,
        key: &str,
        limits: &EndpointLimits,
    ) -> Result<OpeningSession<'_>, TooManySessions> {
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        let all = owned.keys.len() + owned.opening.values().sum::<usize>();
        let own = owned.keys.values().filter(|owner| *owner == key).count()
            + owned.opening.get(key).copied().unwrap_or_default();
        let (of_all, of_one) = (limits.sessions_max, limits.sessions_per_token_max);
        for (count, limit, max) in [
            (all, "mcp_sessions_max", of_all),
            (own, "mcp_sessions_per_token_max", of_one),
        ] {
            if count >= max {
                return Err(TooManySessions { limit, max });
            }
        }
        *owned.opening.entry(key.to_owned()).or_default() += 1;
        Ok(OpeningSession {
            owners: self,
            key: key.to_owned(),
        })
    }
}

impl Drop for OpeningSession<'_> {
    fn drop(&mut self) {
        let mut owned = self
            .owners
            .owned
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = owned.opening.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                owned.opening.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(sessions_max: usize, sessions_per_token_max: usize) -> EndpointLimits {
        EndpointLimits {
            body_bytes_max: 1 << 20,
            sessions_max,
            sessions_per_token_max,
            session_idle_max: Duration::from_secs(60),
        }
    }

    #[test]
    fn a_session_belongs_to_its_token() {
        let owners = SessionOwners::default();
        owners.add("s", "ada");
        assert!(owners.has("s", "ada"));
        assert!(!owners.has("s", "eve"));
        assert!(!owners.has("t", "ada"));
    }

    #[test]
    fn sessions_that_are_opening_count_and_ended_ones_do_not() {
        let owners = SessionOwners::default();
        let limits = limits(3, 2);
        let first = owners.reserve("ada", &limits).ok();
        let _second = owners.reserve("ada", &limits).ok().unwrap();
        let refused = owners.reserve("ada", &limits).err().unwrap();
        assert_eq!(refused.limit, "mcp_sessions_per_token_max");
        let _other = owners.reserve("bob", &limits).ok().unwrap();
        let refused = owners.reserve("eve", &limits).err().unwrap();
        assert_eq!((refused.limit, refused.max), ("mcp_sessions_max", 3));
        owners.add("s", "ada");
        drop(first);
        assert!(owners.reserve("ada", &limits).is_err());
        owners.forget(&owners.sessions());
        assert!(owners.reserve("ada", &limits).is_ok());
        assert!(!owners.has("s", "ada"));
    }
}
