//! Everything that requests share.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use app::oidc::OidcProvider;
use app::webhooks::DeliveryPolicy;
use app::{AccessControl, App, CommandCancel};
use tokio::sync::{Notify, watch};

use crate::api::recipes::RecipeRun;
use crate::metrics::ServerMetrics;
use crate::origin::PublicAddress;
use crate::proxies::TrustedProxies;
use crate::telemetry::TraceQueue;
use crate::throttle::LoginThrottles;

/// The limits of the server, each of which an answer names when it is hit.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// The largest body of a request, in bytes.
    pub body_bytes_max: usize,
    /// The most connections at once; more wait until one ends.
    pub connections_max: usize,
    /// How long the head of a request may take to arrive.
    pub head_wait_max: Duration,
    /// How long the body of a request may take to arrive.
    pub body_wait_max: Duration,
    /// The most items of a page.
    pub page_items_max: usize,
    /// The most runs that one request starts.
    pub runs_at_once_max: usize,
    /// The most streams of events that one user has open.
    pub streams_per_user_max: usize,
    /// The most requests of one user or address in a second; four times as many may come at once.
    pub requests_per_second_max: u32,
    /// The most attempts to sign in for one account or from one address in a minute.
    pub sign_ins_per_minute_max: u32,
    /// The least free bytes on the disk of the project with which the server calls itself ready.
    pub disk_bytes_min: u64,
    /// The most sessions of MCP that all programs together have open.
    pub mcp_sessions_max: usize,
    /// The most sessions of MCP that one token has open.
    pub mcp_sessions_per_token_max: usize,
    /// How long a session of MCP may be idle before it ends.
    pub mcp_session_idle_max: Duration,
    /// How often a comment keeps a stream of events open.
    pub heartbeat: Duration,
    /// How often a stream of events asks again whether its reader may still read.
    pub access_check: Duration,
    /// When messages to webhooks are tried again.
    pub webhooks: DeliveryPolicy,
    /// How long connections may go on after the server was asked to stop.
    pub grace: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            body_bytes_max: 8 << 20,
            connections_max: 4_000,
            head_wait_max: Duration::from_secs(15),
            body_wait_max: Duration::from_secs(60),
            page_items_max: 200,
            runs_at_once_max: 1_000,
            streams_per_user_max: 64,
            requests_per_second_max: 200,
            sign_ins_per_minute_max: 10,
            disk_bytes_min: 64 << 20,
            mcp_sessions_max: 1_000,
            mcp_sessions_per_token_max: 32,
            mcp_session_idle_max: Duration::from_secs(600),
            heartbeat: Duration::from_secs(15),
            access_check: Duration::from_secs(30),
            webhooks: DeliveryPolicy::default(),
            grace: Duration::from_secs(10),
        }
    }
}

/// The ways in which clients reach the server and sign in.
pub(crate) struct EdgeSettings {
    pub(crate) address: PublicAddress,
    pub(crate) proxies: TrustedProxies,
    /// The provider that people may sign in with.
    pub(crate) provider: Option<OidcProvider>,
}

/// The state behind every request. Clones share it.
#[derive(Clone)]
pub struct ServerState {
    pub(crate) shared: Arc<SharedState>,
}

pub(crate) struct SharedState {
    pub(crate) app: App,
    pub(crate) access: AccessControl,
    pub(crate) limits: ServerLimits,
    pub(crate) address: PublicAddress,
    pub(crate) proxies: TrustedProxies,
    pub(crate) provider: Option<OidcProvider>,
    pub(crate) throttles: LoginThrottles,
    pub(crate) metrics: ServerMetrics,
    /// Goes up whenever there may be news in the stream of events.
    pub(crate) news: watch::Sender<u64>,
    /// Wakes the dispatcher of webhooks.
    pub(crate) deliveries: Notify,
    /// Turns true when the server stops.
    pub(crate) closing: watch::Sender<bool>,
    /// How many streams each user has open.
    pub(crate) streams: Mutex<HashMap<String, usize>>,
    /// Runs of recipes that wait for answers or for a decision, by id.
    pub(crate) recipe_runs: Mutex<BTreeMap<String, RecipeRun>>,
    /// The way of events to the collector of traces, once the server runs.
    pub(crate) traces: OnceLock<TraceQueue>,
    /// Stops builds that are worked on.
    pub(crate) cancel: CommandCancel,
}

impl ServerState {
    /// Makes the state of a server that is reached in these ways.
    pub(crate) fn new(app: App, edge: EdgeSettings, limits: ServerLimits) -> ServerState {
        ServerState {
            shared: Arc::new(SharedState {
                access: app.access_control(),
                throttles: LoginThrottles::new(&limits),
                metrics: ServerMetrics::new(),
                app,
                limits,
                address: edge.address,
                proxies: edge.proxies,
                provider: edge.provider,
                news: watch::Sender::new(0),
                deliveries: Notify::new(),
                closing: watch::Sender::new(false),
                streams: Mutex::default(),
                recipe_runs: Mutex::default(),
                traces: OnceLock::new(),
                cancel: CommandCancel::default(),
            }),
        }
    }

    pub(crate) fn app(&self) -> &App {
        &self.shared.app
    }

    pub(crate) fn access(&self) -> &AccessControl {
        &self.shared.access
    }

    pub(crate) fn limits(&self) -> &ServerLimits {
        &self.shared.limits
    }

    /// Makes the state of a server that only a test talks to.
    pub fn local(app: App, limits: ServerLimits) -> ServerState {
        ServerState::provided(app, None, limits)
    }

    /// The same, with a provider to sign in with.
    pub fn provided(app: App, provider: Option<OidcProvider>, limits: ServerLimits) -> ServerState {
        ServerState::new(app, local_edge(7331, provider), limits)
    }

    /// Makes the state of a server that this machine reaches at a port.
    pub fn at_port(app: App, port: u16, limits: ServerLimits) -> ServerState {
        ServerState::new(app, local_edge(port, None), limits)
    }

    /// Ends streams, and builds that are worked on.
    pub fn close(&self) {
        self.shared.closing.send_replace(true);
        self.shared.cancel.cancel();
    }
}

/// A server that only this machine reaches.
fn local_edge(port: u16, provider: Option<OidcProvider>) -> EdgeSettings {
    EdgeSettings {
        address: PublicAddress::local(port),
        proxies: TrustedProxies::default(),
        provider,
    }
}
