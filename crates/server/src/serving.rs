//! The server as a process runs it: a socket, a worker inside, and an orderly end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use app::oidc::OidcProvider;
use app::worker::{NoWatcher, StopCondition, WorkerOptions};
use app::workflows::worker_name;
use app::{App, CommandCancel};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use crate::api::events::{count_work, watch_for_news};
use crate::api::webhooks::dispatch;
use crate::connection::ConnectionPlan;
use crate::origin::PublicAddress;
use crate::proxies::TrustedProxies;
use crate::state::{EdgeSettings, ServerLimits, ServerState};
use crate::systemd::SystemdSocket;
use crate::telemetry::{TraceCollector, TraceQueue};
use crate::tls::{CertificateProblem, ServedCertificate, TlsFiles};

/// How often a process that is asked to stop is noticed.
const LOOK: Duration = Duration::from_millis(50);
/// How often ended sessions and old keys are removed.
const SWEEP: Duration = Duration::from_secs(600);
/// How often the files of the certificate are compared with the certificate in use.
const CERTIFICATE_LOOK: Duration = Duration::from_secs(2);

/// How the server is wanted.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The address to listen at.
    pub listen: SocketAddr,
    /// The address that browsers use.
    pub public_url: Option<String>,
    /// `true` if plain `http` may leave the machine.
    pub allows_plain_http: bool,
    /// `true` if the process works on runs as well.
    pub has_worker: bool,
    /// The proxies that are believed.
    pub proxies: TrustedProxies,
    /// The certificate; without one the server speaks plain `http`.
    pub tls: Option<TlsFiles>,
    /// The provider that people may sign in with.
    pub provider: Option<OidcProvider>,
    /// The collector that traces of runs are sent to.
    pub collector: Option<TraceCollector>,
    /// The socket that is told when the server is ready.
    pub systemd: Option<SystemdSocket>,
    pub limits: ServerLimits,
}

impl Default for ServeOptions {
    /// On any free port of this machine, without a worker.
    fn default() -> ServeOptions {
        ServeOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            public_url: None,
            allows_plain_http: false,
            has_worker: false,
            proxies: TrustedProxies::default(),
            tls: None,
            provider: None,
            collector: None,
            systemd: None,
            limits: ServerLimits::default(),
        }
    }
}

/// Why the server does not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The options do not fit each other.
    #[error("{message}")]
    Options { message: String, hint: String },
    /// The address cannot be used.
    #[error("cannot listen at {address}: {cause}")]
    Listen {
        address: SocketAddr,
        cause: std::io::Error,
    },
    /// The certificate cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Certificate(#[from] CertificateProblem),
    /// The application stopped.
    #[error(transparent)]
    App(#[from] app::Error),
}

/// A server that listens.
pub struct ServerHandle {
    listener: TcpListener,
    state: ServerState,
    certificate: Option<Arc<ServedCertificate>>,
    systemd: Option<SystemdSocket>,
    collector: Option<TraceCollector>,
    has_worker: bool,
}

impl ServerHandle {
    /// Takes the address, before anything is answered.
    pub async fn open(app: App, options: &ServeOptions) -> Result<ServerHandle, ServeError> {
        check(options)?;
        let certificate = match &options.tls {
            Some(files) => Some(ServedCertificate::read(files)?),
            None => None,
        };
        let address = options.listen;
        let listen = |cause| ServeError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let port = listener.local_addr().map_err(listen)?.port();
        let public = match &options.public_url {
            Some(url) => PublicAddress::read(url)
                .ok_or_else(|| no_address(url))?
                .and_local(port),
            None if certificate.is_some() => PublicAddress::local(port).encrypted(),
            None => PublicAddress::local(port),
        };
        app.set_callback_origin(&public.origin);
        let edge = EdgeSettings {
            address: public,
            proxies: options.proxies.clone(),
            provider: options.provider.clone(),
        };
        Ok(ServerHandle {
            listener,
            state: ServerState::new(app, edge, options.limits.clone()),
            certificate,
            systemd: options.systemd.clone(),
            collector: options.collector.clone(),
            has_worker: options.has_worker,
        })
    }

    /// The address that browsers use, without a slash at the end.
    pub fn origin(&self) -> &str {
        &self.state.shared.address.origin
    }

    pub fn state(&self) -> &ServerState {
        &self.state
    }

    /// Answers until it is asked to stop; then lets requests end, and hands the worker's tasks back.
    pub async fn run(self, cancel: CommandCancel) -> Result<(), ServeError> {
        let ServerHandle {
            listener,
            state,
            certificate,
            systemd,
            collector,
            has_worker,
        } = self;
        let tracing = collector.and_then(|collector| state.start_traces(&collector));
        let acceptor = certificate.as_ref().map(ServedCertificate::acceptor);
        let plan = ConnectionPlan::new(&state, acceptor.transpose()?);
        let mut background = state.start_background();
        if let Some(certificate) = certificate {
            let following = certificate.follow(CERTIFICATE_LOOK);
            background.0.push(tokio::spawn(following));
        }
        let worker = has_worker.then(|| tokio::spawn(work(state.app().clone(), cancel.clone())));
        let tell = |word: &str| {
            if let Some(systemd) = &systemd {
                systemd.tell(word);
            }
        };
        tell(&format!(
            "READY=1\nSTATUS=serving at {}",
            state.shared.address.origin
        ));
        let graceful = accept(&listener, (&state, &plan), &cancel).await;
        tell("STOPPING=1\nSTATUS=requests under way come to their end");
        end_connections(&state, graceful).await;
        if let Some(worker) = worker {
            // Tasks that the worker held go to others, also where it did not end well.
            let _ = worker.await;
        }
        state.end_traces(tracing).await;
        drop(background);
        Ok(())
    }
}

/// Work beside requests, which ends with it.
pub struct BackgroundTasks(Vec<JoinHandle<()>>);

impl Drop for BackgroundTasks {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

impl ServerState {
    /// Begins to follow events, for readers and metrics, to deliver webhooks, and to sweep old rows.
    pub fn start_background(&self) -> BackgroundTasks {
        BackgroundTasks(vec![
            tokio::spawn(watch_for_news(self.clone())),
            tokio::spawn(count_work(self.clone())),
            tokio::spawn(sweep(self.clone())),
            tokio::spawn(dispatch(self.clone())),
        ])
    }
}

impl ServerState {
    /// Begins to send traces.
    fn start_traces(&self, collector: &TraceCollector) -> Option<JoinHandle<()>> {
        let counts = Arc::clone(&self.shared.metrics.spans);
        let (queue, task) = TraceQueue::start(self.app().clone(), collector, counts)?;
        self.shared.traces.get_or_init(|| queue);
        Some(task)
    }

    /// Sends the last ones.
    async fn end_traces(&self, sending: Option<JoinHandle<()>>) {
        let (Some(queue), Some(sending)) = (self.shared.traces.get(), sending) else {
            return;
        };
        queue.close();
        let _ = sending.await;
    }
}

/// Takes connections until it is asked to stop; those that are open then are not at their end.
async fn accept(
    listener: &TcpListener,
    (state, plan): (&ServerState, &ConnectionPlan),
    cancel: &CommandCancel,
) -> GracefulShutdown {
    let limits = state.limits();
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = next_connection(listener, &places) => accepted,
            () = asked_to_stop(cancel) => break,
        };
        let Some((stream, peer, place)) = accepted else {
            continue;
        };
        let (plan, watcher) = (plan.clone(), graceful.watcher());
        let mut closing = state.shared.closing.subscribe();
        tokio::spawn(async move {
            let closing = async move {
                // A server that is gone has closed as well.
                let _ = closing.changed().await;
            };
            plan.serve((stream, peer), watcher, closing).await;
            drop(place);
        });
    }
    graceful
}

/// Lets requests end. Connections that do not end by themselves are cut off.
async fn end_connections(state: &ServerState, graceful: GracefulShutdown) {
    state.close();
    let _ = tokio::time::timeout(state.limits().grace, graceful.shutdown()).await;
}

/// The next connection, as soon as there is a place for it.
async fn next_connection(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Answers are short: each goes out at once.
            let _ = stream.set_nodelay(true);
            Some((stream, peer, place))
        }
        Err(_) => {
            // Out of handles: those that end give some back.
            tokio::time::sleep(LOOK).await;
            None
        }
    }
}

/// Refuses what would let passwords travel in the open, or leave the server without a name.
fn check(options: &ServeOptions) -> Result<(), ServeError> {
    let is_local = options.listen.ip().is_loopback();
    match &options.public_url {
        None if !is_local => Err(ServeError::Options {
            message: format!("{} is not only this machine", options.listen),
            hint: "give `--public-url` with the address that people use".to_owned(),
        }),
        Some(url) if url.starts_with("http://") && !is_local && !options.allows_plain_http => {
            Err(ServeError::Options {
                message: "passwords would travel unencrypted over plain http".to_owned(),
                hint: "give it a certificate (`tls.cert`, `tls.key`), put a proxy with https in front, \
                       or say `--insecure-http`"
                    .to_owned(),
            })
        }
        Some(url) if url.starts_with("http://") && options.tls.is_some() => {
            Err(ServeError::Options {
                message: format!("`{url}` is plain http, and the server has a certificate"),
                hint: "write the address as https://, or take `tls.cert` out".to_owned(),
            })
        }
        _ => Ok(()),
    }
}

fn no_address(url: &str) -> ServeError {
    ServeError::Options {
        message: format!("`{url}` is not the address of a server"),
        hint: "write it as https://drawloom.example.org, without a path".to_owned(),
    }
}

async fn asked_to_stop(cancel: &CommandCancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Works on runs until it is asked to stop. A worker that loses its database comes back to it.
async fn work(app: App, cancel: CommandCancel) {
    let settings = &app.project().settings.workflows;
    let order = WorkerOptions {
        name: worker_name(app.surroundings()),
        concurrency: settings.concurrency,
        lease: Duration::from_secs(settings.lease_seconds),
        assignees: Vec::new(),
        until: StopCondition::Stopped,
    };
    let use_cases = Arc::new(app.acting(app.terminal()));
    while !cancel.is_cancelled() {
        let ended = use_cases.work(&order, &mut NoWatcher, &cancel).await;
        if let Err(error) = ended {
            let cause = error.to_string();
            tracing::error!(
                cause = cause.as_str(),
                "the worker stopped; it begins again"
            );
            tokio::time::sleep(LOOK * 20).await;
        }
    }
}

async fn sweep(state: ServerState) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let ports = state.app().ports();
        // Rows that could not be swept now are swept the next time.
        let swept = [
            ports.sweep_sessions().await.map(drop),
            ports.sweep_keys().await.map(drop),
        ];
        for error in swept.into_iter().filter_map(Result::err) {
            let cause = error.to_string();
            tracing::warn!(cause = cause.as_str(), "old rows stay until the next time");
        }
    }
}
