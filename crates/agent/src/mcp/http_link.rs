//! The wire to a server with an address: streamable HTTP, over a client that the caller has prepared.
//!
//! The caller's client decides which addresses are reached and which redirects are followed. Here is what the
//! protocol wants, and a limit on every answer: a server may send without end.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, stream};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
/// Limits how many characters of an invalid answer a message shows.
const TOLD_CHARS_MAX: usize = 300;

type LinkError = StreamableHttpError<reqwest::Error>;
type EventStream = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

/// A client for one server.
#[derive(Clone, Debug)]
pub(super) struct McpHttpLink {
    pub(super) client: reqwest::Client,
    /// The most bytes of one answer, or of one stream of events.
    pub(super) message_bytes_max: usize,
}

impl McpHttpLink {
    fn request(
        &self,
        (method, uri): (Method, &str),
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> RequestBuilder {
        let mut request = self.client.request(method, uri);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        match session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    fn too_long(&self) -> LinkError {
        let max = self.message_bytes_max;
        refused(format!(
            "its answer is longer than message_bytes_max = {max}"
        ))
    }

    /// Reads a body, up to the limit.
    async fn text(&self, mut response: Response) -> Result<String, LinkError> {
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            if bytes.len() + piece.len() > self.message_bytes_max {
                return Err(self.too_long());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads a body as events, up to the limit on all of them.
    fn events(&self, response: Response) -> EventStream {
        let begin = (response, self.message_bytes_max);
        let pieces = stream::try_unfold(begin, |(mut response, left)| async move {
            let Some(piece) = response.chunk().await.map_err(std::io::Error::other)? else {
                return Ok::<_, std::io::Error>(None);
            };
            let left = left.checked_sub(piece.len()).ok_or_else(|| {
                std::io::Error::other("its events are longer than message_bytes_max")
            })?;
            Ok(Some((piece, (response, left))))
        });
        Box::pin(SseStream::from_bytes_stream(pieces))
    }

    /// Reads an answer that is no success: an error of the protocol, or the reason why there is no answer.
    async fn failure(
        &self,
        (message, has_session): (&ClientJsonRpcMessage, bool),
        response: Response,
    ) -> Result<StreamableHttpPostResponse, LinkError> {
        let status = response.status();
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if status.is_redirection() {
            return Err(refused(format!(
                "it answered {status}: it sends to another address"
            )));
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(refused(format!(
                "it answered {status}: check the headers of its section"
            )));
        }
        let body = self.text(response).await?;
        let error = match serde_json::from_str::<ServerJsonRpcMessage>(&body) {
            Ok(JsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        // A server of an older revision refuses the first question in a way of its own; then it is asked in the
        // older way.
        if let ClientJsonRpcMessage::Request(request) = message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && status.is_client_error()
            && !has_session
        {
            let told = error.map(|error| error.error);
            let told = told.unwrap_or_else(|| {
                ErrorData::invalid_request(format!("{status}: {}", opening(&body)), None)
            });
            let answer = ServerJsonRpcMessage::error(told, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        match error {
            Some(error) => Ok(StreamableHttpPostResponse::Json(
                JsonRpcMessage::Error(error),
                None,
            )),
            None => Err(refused(format!("it answered {status}: {}", opening(&body)))),
        }
    }
}

// tidy: allow wide-signature, because rmcp declares these methods
impl StreamableHttpClient for McpHttpLink {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, LinkError> {
        let session = session_id.as_deref();
        let body = serde_json::to_string(&message)?;
        let request = self
            .request((Method::POST, uri.as_ref()), session, custom_headers)
            .header(ACCEPT, format!("{JSON}, {EVENTS}"))
            .header(CONTENT_TYPE, JSON)
            .body(body);
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        if !status.is_success() {
            let about = (&message, session.is_some());
            return self.failure(about, response).await;
        }
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let header = |name: &str| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let session = header(SESSION);
        match header(CONTENT_TYPE.as_str()) {
            Some(kind) if kind.starts_with(EVENTS) => {
                let events = self.events(response);
                Ok(StreamableHttpPostResponse::Sse(events, session))
            }
            Some(kind) if kind.starts_with(JSON) => {
                let body = self.text(response).await?;
                match serde_json::from_str(&body) {
                    Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                    Err(_) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
                    Err(_) => Err(refused(format!(
                        "its answer is no message: {}",
                        opening(&body)
                    ))),
                }
            }
            _ if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            kind => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), LinkError> {
        let session = Some(session_id.as_ref());
        let request = self.request((Method::DELETE, uri.as_ref()), session, custom_headers);
        // A server may keep its sessions until they end by themselves.
        request.send().await.map_err(failed)?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<EventStream, LinkError> {
        // Nothing that a server says by itself is wanted; only an answer that broke off is.
        let Some(last) = last_event_id else {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        };
        let session = session_id.as_deref();
        let request = self
            .request((Method::GET, uri.as_ref()), session, custom_headers)
            .header(ACCEPT, EVENTS)
            .header("last-event-id", last);
        let response = request.send().await.map_err(failed)?;
        match response.status() {
            StatusCode::OK => Ok(self.events(response)),
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status => Err(refused(format!("it answered {status}"))),
        }
    }
}

/// Makes the error of a request that got no answer, without its address: the caller knows it.
fn failed(cause: reqwest::Error) -> LinkError {
    StreamableHttpError::Client(cause.without_url())
}

fn refused(why: String) -> LinkError {
    StreamableHttpError::UnexpectedServerResponse(why.into())
}

/// Returns the beginning of a text, on one line.
fn opening(text: &str) -> String {
    let told = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    told.take(TOLD_CHARS_MAX).collect()
}
