//! The stream of everything that happens, as server-sent events.
//!
//! `id:` is a position in the one stream. A reader that comes back with `Last-Event-ID` or `after` misses
//! nothing and gets nothing twice. A reader that takes its time costs one page of events, not more: the
//! next page is read when the last one has gone out.

use std::collections::VecDeque;
use std::convert::Infallible;

use app::Permission;
use axum::http::Method;
use axum::response::IntoResponse as _;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream;
use serde_json::json;
use store::{StreamContent, StreamEvent, StreamFilter, StreamPosition};
use tokio::sync::watch;
use tokio::time::Instant;

use super::runs;
use crate::identity::CallerIdentity;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::state::ServerState;
use crate::table::{ApiRoute, RouteAccess};

/// How many events are read at a time.
const PAGE_EVENTS: usize = 200;
/// When browsers come back after a stream has ended.
const RETRY: std::time::Duration = std::time::Duration::from_secs(2);

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::new(
            Method::GET,
            "/events",
            RouteAccess::Needs(Permission::Look),
            "Streams everything that happens: `hello` first, then events in order.",
            |asked| Box::pin(open(asked)),
        )
        .query(&[
            ("after", "a position: what came behind it comes first"),
            ("run", "only events of this run"),
            ("task", "only events of this task"),
            ("build", "only events of this build"),
        ])
        .media("text/event-stream"),
    ]
}

/// A reader of the stream.
struct EventReader {
    state: ServerState,
    headers: axum::http::HeaderMap,
    filter: StreamFilter,
    position: StreamPosition,
    pending: VecDeque<Event>,
    news: watch::Receiver<u64>,
    closing: watch::Receiver<bool>,
    checked: Instant,
    has_ended: bool,
    /// Counts the reader among its user's for as long as it lives.
    _place: StreamPlace,
}

async fn open(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let filter = StreamFilter {
        run: match asked.query("run") {
            Some(run) => Some(use_cases.find(run).await?.id),
            None => None,
        },
        task: match asked.query("task") {
            Some(task) => Some(use_cases.task(task).await?.id),
            None => None,
        },
        build: asked.query("build").map(str::to_owned),
    };
    let given = asked.headers.get("last-event-id");
    let given = given
        .and_then(|id| id.to_str().ok())
        .or(asked.query("after"));
    let ports = asked.state().app().ports();
    let head = ports.stream_head().await.map_err(app::Error::from)?;
    let oldest = ports.stream_oldest().await.map_err(app::Error::from)?;
    let position = match given {
        Some(text) => text.parse().map_err(|error: store::Error| {
            ApiProblem::new(ProblemCode::Invalid, error.to_string())
                .at("/query/after", "an `id:` of this stream")
        })?,
        None => head,
    };
    let shared = &asked.state().shared;
    let hello = json!({ "head": head.to_string(), "oldest": oldest.to_string() });
    let hello = Event::default()
        .event("hello")
        .retry(RETRY)
        .data(hello.to_string());
    let reader = EventReader {
        news: shared.news.subscribe(),
        closing: shared.closing.subscribe(),
        _place: StreamPlace::take(asked.state(), use_cases.actor().name())?,
        state: asked.state().clone(),
        headers: asked.headers.clone(),
        filter,
        position,
        pending: VecDeque::from([hello]),
        checked: Instant::now(),
        has_ended: false,
    };
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok::<Event, Infallible>(event), reader))
    });
    let heartbeat = KeepAlive::new().interval(asked.state().limits().heartbeat);
    let mut response = Sse::new(events).keep_alive(heartbeat).into_response();
    let buffering = axum::http::HeaderValue::from_static("no");
    response
        .headers_mut()
        .insert("x-accel-buffering", buffering);
    Ok(ApiReply::stream(response))
}

impl EventReader {
    /// Returns the next event, or `None` when the stream ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.has_ended || *self.closing.borrow() || !self.may_still_read().await {
                return None;
            }
            self.news.mark_unchanged();
            if !self.read_page().await {
                // The database is gone for a moment: the browser comes back with its position.
                return None;
            }
            if self.pending.is_empty() {
                let check = self.state.limits().access_check;
                tokio::select! {
                    _ = self.news.changed() => {}
                    _ = self.closing.changed() => {}
                    () = tokio::time::sleep(check) => {}
                }
            }
        }
    }

    /// Reads the next page behind the position; false when the database does not answer.
    async fn read_page(&mut self) -> bool {
        let ports = self.state.app().ports();
        let page = ports
            .events_after(self.position, &self.filter, PAGE_EVENTS)
            .await;
        let Ok(page) = page else {
            return false;
        };
        if page.must_resync {
            let head = json!({ "head": page.head.to_string() });
            let resync = Event::default().event("resync").id(page.head.to_string());
            self.pending.push_back(resync.data(head.to_string()));
            self.has_ended = true;
            return true;
        }
        self.pending.extend(page.events.iter().map(written));
        self.position = page.next;
        true
    }

    /// Asks again from time to time whether the reader may still look.
    async fn may_still_read(&mut self) -> bool {
        if self.checked.elapsed() < self.state.limits().access_check {
            return true;
        }
        self.checked = Instant::now();
        let found = CallerIdentity::find(&self.state, &self.headers).await;
        let found = found.ok().flatten();
        found.is_some_and(|identity| identity.actor.permit(Permission::Look).is_ok())
    }
}

fn written(event: &StreamEvent) -> Event {
    let (kind, data) = match &event.content {
        StreamContent::Run(event) => ("run", runs::event(event)),
        StreamContent::Changed {
            kind,
            subject,
            about,
        } => (kind.as_str(), json!({ "subject": subject, "about": about })),
    };
    Event::default()
        .id(event.position.to_string())
        .event(kind)
        .data(data.to_string())
}

/// A place among the open streams of a user.
pub(crate) struct StreamPlace {
    state: ServerState,
    user: String,
}

impl StreamPlace {
    pub(crate) fn take(state: &ServerState, user: &str) -> Result<StreamPlace, ApiProblem> {
        let max = state.limits().streams_per_user_max;
        if let Ok(mut streams) = state.shared.streams.lock() {
            let count = streams.entry(user.to_owned()).or_default();
            if *count >= max {
                let message = format!("{user} has {max} streams open (streams_per_user_max)");
                return Err(ApiProblem::new(ProblemCode::TooMany, message)
                    .hint("close one, or follow several runs with one stream")
                    .header("retry-after", "5"));
            }
            *count += 1;
        }
        Ok(StreamPlace {
            state: state.clone(),
            user: user.to_owned(),
        })
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        if let Ok(mut streams) = self.state.shared.streams.lock()
            && let Some(count) = streams.get_mut(&self.user)
        {
            *count -= 1;
            if *count == 0 {
                streams.remove(&self.user);
            }
        }
    }
}

/// Tells all readers that there may be news, for as long as the server runs.
pub(crate) async fn watch_for_news(state: ServerState) {
    let ports = state.app().ports();
    loop {
        let Ok(mut watch) = ports.watch_stream().await else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        while watch.changed().await.is_ok() {
            state
                .shared
                .news
                .send_modify(|count| *count = count.wrapping_add(1));
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Counts work for the metrics, from now on.
pub(crate) async fn count_work(state: ServerState) {
    let ports = state.app().ports();
    let mut news = state.shared.news.subscribe();
    let filter = StreamFilter::default();
    let mut position = None;
    loop {
        news.mark_unchanged();
        let at = match position {
            Some(at) => at,
            None => match ports.stream_head().await {
                Ok(head) => head,
                Err(_) => {
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            },
        };
        position = Some(at);
        match ports.events_after(at, &filter, PAGE_EVENTS).await {
            Ok(page) if page.must_resync => position = None,
            Ok(page) => {
                for event in &page.events {
                    if let StreamContent::Run(event) = &event.content {
                        state.shared.metrics.count_event(event);
                        if let Some(traces) = state.shared.traces.get() {
                            traces.add(event);
                        }
                    }
                }
                position = Some(page.next);
                if page.events.is_empty() && news.changed().await.is_err() {
                    return;
                }
            }
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}
