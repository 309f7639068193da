//! `drawloom serve`: the API, the pages and a worker, in one process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use app::ai::AiOverrides;
use app::oidc::OidcProvider;
use app::settings::{ADMIN_EMAIL, ADMIN_PASSWORD_FILE, LogFormat, ServeSettings};
use app::{AccessControl, App};
use clap::Args;
use server::{NOTIFY_VARIABLE, SystemdSocket, TlsFiles, TraceCollector, TrustedProxies};
use server::{ServeError, ServeOptions, ServerHandle, ServerLimits};
use tokio::runtime::Runtime;
use workspace::{ExistingFile, RelPath};

use super::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;
use crate::{interrupt, log, output};

/// The file with the link, from the project's folder.
const LINK_FILE: &str = ".drawloom/sign-in-link";

/// Serve the API and the pages of this project, with a worker inside
///
/// It needs no setup. Until the server has an admin, every start prints a link; the first person
/// who follows it becomes the admin. The same link is in `.drawloom/sign-in-link`, readable only by
/// you. Unattended installations set DRAWLOOM_ADMIN_EMAIL and DRAWLOOM_ADMIN_PASSWORD_FILE instead.
///
/// It listens on this machine only. To serve others it needs `--public-url`, with https by a
/// certificate (`tls.cert` and `tls.key` in your own settings) or by a proxy in front. On Ctrl-C or SIGTERM it finishes requests, hands back the worker's tasks, and ends
/// with exit code 0.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom serve
  drawloom serve --open
  drawloom serve --listen 0.0.0.0:7331 --public-url https://drawloom.example.org
  drawloom serve --no-worker --database postgres://drawloom@db/drawloom")]
pub(crate) struct ServeArgs {
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7331", value_parser = socket_address)]
    listen: SocketAddr,
    /// The address that people use, such as `https://drawloom.example.org`
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Let plain http leave the machine: passwords can be read on the way
    #[arg(long)]
    insecure_http: bool,
    /// How to write the log on stderr: for people, as JSON for programs, or not at all
    #[arg(long, value_name = "FORMAT", value_parser = LogFormat::WORDS)]
    log: Option<String>,
    /// Open the browser
    #[arg(long)]
    open: bool,
    /// Start no worker: other processes work on the runs
    #[arg(long)]
    no_worker: bool,
    #[command(flatten)]
    keeping: DatabaseArgs,
}

fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse();
    address
        .map_err(|_| "write an address and a port, such as 127.0.0.1:7331 or [::1]:7331".to_owned())
}

impl ServeArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = self.keeping.project(session)?;
        let format = self.log.as_deref().map(LogFormat::read);
        log::start(format.unwrap_or(project.settings.server.log));
        let runtime = many_threads()?;
        let busy = interrupt::InterruptGuard::work();
        let served = runtime.block_on(async {
            let app = self
                .keeping
                .open_app(session, project, AiOverrides::default());
            self.serve(session, app.await?).await
        });
        drop(busy);
        served?;
        interrupt::obeyed();
        output::say("stopped");
        Ok(CliExit::Done)
    }

    async fn serve(&self, session: &CliSession, app: App) -> Result<(), CliError> {
        let settings = &app.project().settings.server;
        let options = ServeOptions {
            listen: self.listen,
            public_url: self.public_url.clone(),
            allows_plain_http: self.insecure_http,
            has_worker: !self.no_worker,
            proxies: proxies(settings)?,
            tls: tls_files(session, settings)?,
            collector: collector(settings)?,
            provider: OidcProvider::of_settings(
                &app.project().settings.oidc,
                &session.surroundings,
            )?,
            systemd: session
                .surroundings
                .variable(NOTIFY_VARIABLE)
                .and_then(|name| SystemdSocket::read(&name)),
            limits: ServerLimits::default(),
        };
        let access = app.access_control();
        let link_file = RelPath::parse(LINK_FILE)?;
        let opened = ServerHandle::open(app.clone(), &options).await;
        let serving = opened.map_err(refused)?;
        let root = &app.project().root;
        claim_by_settings(session, &access).await?;
        let address = match access.make_claim_link().await? {
            Some(secret) => {
                let link = format!("{}/claim/{}", serving.origin(), secret.reveal());
                let line = format!("{link}\n");
                root.write_private(&link_file, line.as_bytes(), ExistingFile::Replace)?;
                output::say("this server has no admin yet; this link makes you its admin, once:");
                link
            }
            None => {
                // A link that is used up would only confuse.
                let _ = root.remove_own(&link_file);
                serving.origin().to_owned()
            }
        };
        output::data(format!("{address}\n").as_bytes())?;
        output::say(format!("serving at {}; Ctrl-C stops it", serving.origin()));
        if self.open {
            open_browser(&address);
        }
        serving.run(interrupt::cancel()).await.map_err(refused)
    }
}

fn proxies(settings: &ServeSettings) -> Result<TrustedProxies, CliError> {
    let read = TrustedProxies::read(&settings.proxies, settings.forwarded);
    read.map_err(|entry| {
        let message = format!("`{entry}` in `server.proxies` is no address");
        CliError::usage(message).hint("write `10.0.0.5`, `10.1.0.0/16` or `fd00::/8`")
    })
}

/// The collector of traces, if the settings name one.
fn collector(settings: &ServeSettings) -> Result<Option<TraceCollector>, CliError> {
    let Some(text) = &settings.otlp else {
        return Ok(None);
    };
    let read = TraceCollector::read(text);
    let collector = read.ok_or_else(|| {
        let message = format!("`{text}` in `telemetry.otlp` is not the address of a collector");
        CliError::usage(message).hint("write it as http://127.0.0.1:4318")
    })?;
    Ok(Some(collector))
}

/// The files of the certificate, if the settings name them.
fn tls_files(session: &CliSession, settings: &ServeSettings) -> Result<Option<TlsFiles>, CliError> {
    let file = |path: &PathBuf| {
        let folders = &session.surroundings.user_folders;
        let expanded = folders.expand(std::slice::from_ref(path)).pop();
        session.path(expanded.as_deref().unwrap_or(path))
    };
    match (&settings.tls_certificate, &settings.tls_key) {
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
            certificate: file(certificate),
            key: file(key),
        })),
        (None, None) => Ok(None),
        _ => {
            Err(CliError::usage("`tls.cert` and `tls.key` go together")
                .hint("set both, or neither"))
        }
    }
}

/// Claims a fresh server as the variables say, if they are set.
async fn claim_by_settings(session: &CliSession, access: &AccessControl) -> Result<(), CliError> {
    let variables = &session.surroundings.variables;
    let (email, file) = match (
        variables.get(ADMIN_EMAIL),
        variables.get(ADMIN_PASSWORD_FILE),
    ) {
        (Some(email), Some(file)) => (email, file),
        (None, None) => return Ok(()),
        _ => {
            let message = format!("{ADMIN_EMAIL} and {ADMIN_PASSWORD_FILE} go together");
            return Err(CliError::usage(message).hint("set both, or neither"));
        }
    };
    let path = session.path(Path::new(file));
    let Some(password) = workspace::fs::read_text(&path)? else {
        let message = format!("there is no file {file} ({ADMIN_PASSWORD_FILE})");
        return Err(CliError::failed("E_FILE", message));
    };
    let password = password.strip_suffix('\n').unwrap_or(&password);
    let password = password.strip_suffix('\r').unwrap_or(password);
    if let Some(owner) = access.claim_by_operator(email, password).await? {
        output::say(format!("{} is the admin of this server", owner.slug));
    }
    Ok(())
}

/// Opens the browser; who has none reads the link.
fn open_browser(address: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let opening = exec::Invocation::new(program).args([address]);
    std::thread::spawn(move || {
        if exec::run(&opening).is_err() {
            output::say("no browser could be opened; follow the link yourself");
        }
    });
}

fn many_threads() -> Result<Runtime, CliError> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    built.map_err(|cause| {
        CliError::failed("E_COMMAND", format!("the server cannot be set up: {cause}"))
            .hint("close other programs: the system is out of handles")
    })
}

fn refused(error: ServeError) -> CliError {
    match error {
        ServeError::Options { message, hint } => CliError::usage(message).hint(hint),
        ServeError::Listen { .. } => CliError::failed("E_LISTEN", error.to_string())
            .hint("another server may be running; `--listen` takes another address"),
        ServeError::Certificate(problem) => {
            let hint = problem.hint;
            CliError::failed("E_TLS", ServeError::Certificate(problem).to_string()).hint(hint)
        }
        ServeError::App(error) => error.into(),
    }
}
