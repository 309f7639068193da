//! Requests that are sent twice and done once.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use store::{KeyClaim, KeyTimes, RequestKey, StoredResponse};

use crate::identity::CallerIdentity;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ReplyBody};
use crate::state::ServerState;

const HEADER: &str = "idempotency-key";
/// For how long an answer is kept, and a request that died holds its key.
const TIMES: KeyTimes = KeyTimes {
    lease_ms: 60_000,
    keep_ms: 24 * 60 * 60 * 1_000,
};

/// A key that this request holds.
pub(crate) struct HeldKey {
    key: RequestKey,
}

/// The way a request with a key goes.
pub(crate) enum RequestRepetition {
    /// It has none, or is the first: it is done, and kept if it holds a key.
    First(Option<HeldKey>),
    /// It was done before.
    Again(Box<ApiReply>),
}

/// Claims the key of a request, if it has one.
pub(crate) async fn claim(
    state: &ServerState,
    identity: &CallerIdentity,
    request: (&Method, &str, &HeaderMap, &[u8]),
) -> Result<RequestRepetition, ApiProblem> {
    let (method, path, headers, body) = request;
    let Some(given) = headers.get(HEADER).filter(|_| *method == Method::POST) else {
        return Ok(RequestRepetition::First(None));
    };
    let text = given.to_str().unwrap_or_default();
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if text.is_empty() || !is_visible || text.len() > store::IDEMPOTENCY_KEY_CHARS_MAX {
        let max = store::IDEMPOTENCY_KEY_CHARS_MAX;
        let message = format!(
            "Idempotency-Key has 1 to {max} visible ASCII characters (IDEMPOTENCY_KEY_CHARS_MAX)"
        );
        return Err(ApiProblem::new(ProblemCode::BadRequest, message));
    }
    let key = RequestKey {
        owner: identity.key(),
        key: text.to_owned(),
    };
    let mut digest = Sha256::new();
    digest.update(method.as_str());
    digest.update([0]);
    digest.update(path);
    digest.update([0]);
    digest.update(body);
    let ports = state.app().ports();
    let claimed = ports.claim_key(&key, digest.finalize().into(), TIMES).await;
    match claimed.map_err(app::Error::from)? {
        KeyClaim::Fresh => Ok(RequestRepetition::First(Some(HeldKey { key }))),
        KeyClaim::Done(stored) => Ok(RequestRepetition::Again(Box::new(reply_of(stored)))),
        KeyClaim::UnderWay => Err(ApiProblem::new(
            ProblemCode::KeyInUse,
            "the first request with this Idempotency-Key is still under way",
        )
        .header("retry-after", "1")),
        KeyClaim::OtherRequest => Err(ApiProblem::new(
            ProblemCode::KeyReused,
            "this Idempotency-Key was sent with another request",
        )
        .hint("make a new key for every request that is new")),
    }
}

impl HeldKey {
    /// Keeps the answer for repetitions; a request that was refused may be tried again.
    pub(crate) async fn settle(self, state: &ServerState, stored: Option<StoredResponse>) {
        let ports = state.app().ports();
        // The answer is sent either way; at worst a repetition waits until the key is free.
        let _ = match stored {
            Some(stored) => ports.finish_key(&self.key, &stored).await,
            None => ports.release_key(&self.key).await,
        };
    }
}

/// The answer as it is kept; nothing for what cannot be.
pub(crate) fn stored_of(reply: &ApiReply) -> Option<StoredResponse> {
    let body = match &reply.body {
        ReplyBody::Json(value) => value.to_string().into_bytes(),
        ReplyBody::Nothing => Vec::new(),
        ReplyBody::Text(..) | ReplyBody::Stream(_) => return None,
    };
    let mut headers = Map::new();
    for (name, value) in &reply.headers {
        if let Ok(value) = value.to_str() {
            headers.insert(name.to_string(), Value::from(value));
        }
    }
    Some(StoredResponse {
        status: reply.status.as_u16(),
        headers: Value::Object(headers).to_string(),
        body,
    })
}

fn reply_of(stored: StoredResponse) -> ApiReply {
    let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
    let body = serde_json::from_slice(&stored.body).ok();
    let mut reply = match body {
        Some(body) => ApiReply::json(body),
        None => ApiReply::nothing(),
    }
    .status(status);
    let headers: Map<String, Value> = serde_json::from_str(&stored.headers).unwrap_or_default();
    for (name, value) in &headers {
        let name = header::HeaderName::try_from(name.as_str()).ok();
        let value = value
            .as_str()
            .and_then(|text| HeaderValue::from_str(text).ok());
        if let Some((name, value)) = name.zip(value) {
            reply.headers.push((name, value));
        }
    }
    reply.header("idempotency-replayed", "true")
}
