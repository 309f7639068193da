//! Requests that are meant to hurt, over real sockets: the right answer, soon, and the server goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use app::CommandCancel;
use app::people::UserRole;
use server::{ServeOptions, ServerHandle, ServerLimits, TlsFiles};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::certificate::TestCertificate;
use crate::test_server::{TestServer, limits};

/// A server that listens at a port of its own.
pub(crate) struct ListeningServer {
    pub(crate) server: TestServer,
    host: String,
    cancel: CommandCancel,
    running: tokio::task::JoinHandle<Result<(), server::ServeError>>,
}

impl ListeningServer {
    async fn start(limits: ServerLimits) -> ListeningServer {
        ListeningServer::with(ServeOptions {
            limits,
            ..ServeOptions::default()
        })
        .await
    }

    pub(crate) async fn with(options: ServeOptions) -> ListeningServer {
        let server = TestServer::start().await;
        let handle = ServerHandle::open(server.app.clone(), &options).await;
        let handle = handle.unwrap();
        let host = handle.origin().split_once("://").unwrap().1.to_owned();
        let cancel = CommandCancel::default();
        let running = tokio::spawn(handle.run(cancel.clone()));
        ListeningServer {
            server,
            host,
            cancel,
            running,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.host).await.unwrap()
    }

    /// The head of a request with a token.
    fn head(&self, line: &str, role: UserRole) -> String {
        let (host, token) = (&self.host, self.server.token(role));
        format!("{line} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n")
    }

    /// Sends bytes and returns the beginning of the answer; nothing if the connection was closed.
    async fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // The server may have closed the connection already.
        let _ = stream.write_all(bytes).await;
        let mut answer = vec![0; 4096];
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut answer)).await;
        let count = read.unwrap().unwrap_or(0);
        String::from_utf8_lossy(&answer[..count]).into_owned()
    }

    pub(crate) async fn is_well(&self) {
        let answer = self.send(self.plain("GET /healthz").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    pub(crate) async fn metrics(&self) -> String {
        let head = self.head("GET /metrics", UserRole::Viewer);
        let mut stream = self.connect().await;
        let request = format!("{head}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    fn plain(&self, line: &str) -> String {
        format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.host
        )
    }

    pub(crate) async fn stop(self) {
        self.cancel.cancel();
        self.running.await.unwrap().unwrap();
    }
}

/// A name, the bytes of a request, and the statuses that are right; an empty one is a closed connection.
type HurtingRequest = (&'static str, Vec<u8>, &'static [&'static str]);

fn hurting_requests(listening: &ListeningServer) -> Vec<HurtingRequest> {
    let head = listening.head("POST /api/v1/runs", UserRole::Operator);
    let json = "Content-Type: application/json\r\n";
    let with = |body: &[u8]| {
        let length = body.len();
        let mut request = format!("{head}{json}Content-Length: {length}\r\n\r\n").into_bytes();
        request.extend_from_slice(body);
        request
    };
    let deep = format!(
        "{{\"workflow\":\"review\",\"input\":{}",
        "[".repeat(200_000)
    );
    let whole = format!(
        "{{\"workflow\":\"review\",\"input\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let huge_header = format!("{head}X-Bomb: {}\r\n\r\n", "a".repeat(1 << 20));
    let many_headers = format!("{head}{}\r\n", "X-Bomb: a\r\n".repeat(5_000));
    let long_path = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
    let announced = format!("{head}{json}Content-Length: 99999999\r\n\r\n");
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "a".repeat(1 << 16));
    let chunked = format!(
        "{head}{json}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        chunk.repeat(40)
    );
    let odd_path = listening.head("GET /api/v1/runs/%FF%FE", UserRole::Viewer) + "\r\n";
    let odd_query = listening.head("GET /api/v1/runs?tag=%FF", UserRole::Viewer) + "\r\n";
    vec![
        (
            "a body that is not UTF-8",
            with(b"{\"workflow\":\"\xff\xfe\"}"),
            &["400"],
        ),
        ("a body that opens only", with(deep.as_bytes()), &["400"]),
        ("a deep body", with(whole.as_bytes()), &["400"]),
        (
            "a large body",
            with(" ".repeat(2 << 20).as_bytes()),
            &["413"],
        ),
        ("a large announced body", announced.into_bytes(), &["413"]),
        ("a large chunked body", chunked.into_bytes(), &["413"]),
        ("a large header", huge_header.into_bytes(), &["431", "400"]),
        ("many headers", many_headers.into_bytes(), &["431", "400"]),
        (
            "a long path",
            long_path.into_bytes(),
            &["414", "421", "400", "404", "431"],
        ),
        (
            "no HTTP",
            b"\x16\x03\x01 hello\r\n\r\n".to_vec(),
            &["400", ""],
        ),
        (
            "a path that is not UTF-8",
            odd_path.into_bytes(),
            &["400", "404"],
        ),
        (
            "a query that is not UTF-8",
            odd_query.into_bytes(),
            &["200", "400"],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_meant_to_hurt_get_the_right_answer() {
    let small = ServerLimits {
        body_bytes_max: 1 << 20,
        ..limits()
    };
    let listening = ListeningServer::start(small).await;
    for (what, bytes, statuses) in hurting_requests(&listening) {
        let begun = Instant::now();
        let answer = listening.send(&bytes).await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(statuses.contains(&status), "{what}: {answer}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{what}");
        listening.is_well().await;
    }
    listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_are_cut_off_and_delay_no_others() {
    let impatient = ServerLimits {
        head_wait_max: Duration::from_millis(400),
        body_wait_max: Duration::from_millis(400),
        ..limits()
    };
    let listening = ListeningServer::start(impatient).await;
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = listening.connect().await;
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
            .await
            .unwrap();
        slow.push(stream);
    }
    listening.is_well().await;
    let begun = Instant::now();
    for mut stream in slow {
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest));
        assert!(closed.await.is_ok(), "a slow head is not cut off");
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
    let head = listening.head("POST /api/v1/runs", UserRole::Operator);
    let begun = format!("{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{");
    let answer = listening.send(begun.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("body_wait_max"), "{answer}");
    listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_listeners_hear_of_an_event() {
    const LISTENERS: usize = 500;
    let many = ServerLimits {
        streams_per_user_max: LISTENERS,
        ..limits()
    };
    let listening = Arc::new(ListeningServer::start(many).await);
    let head = listening.head("GET /api/v1/events", UserRole::Viewer);
    let mut streams = Vec::new();
    for _ in 0..LISTENERS {
        let mut stream = listening.connect().await;
        stream
            .write_all(format!("{head}\r\n").as_bytes())
            .await
            .unwrap();
        read_until(&mut stream, "event: hello").await;
        streams.push(stream);
    }
    let begun = Instant::now();
    let run = listening.server.start_review().await;
    for stream in &mut streams {
        read_until(stream, &run).await;
    }
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(10),
        "the last one heard after {took:?}"
    );
    drop(streams);
    let listening = Arc::into_inner(listening).unwrap();
    listening.stop().await;
}

async fn read_until(stream: &mut TcpStream, wanted: &str) {
    let mut text = String::new();
    let mut bytes = vec![0; 8192];
    while !text.contains(wanted) {
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut bytes)).await;
        let count = read.unwrap().unwrap();
        assert!(count > 0, "the stream ended: {text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

/// A client that says nothing, or never which version of HTTP it speaks, keeps no place for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_clients_lose_their_places() {
    let few = ServerLimits {
        head_wait_max: Duration::from_millis(400),
        connections_max: 12,
        ..limits()
    };
    let listening = ListeningServer::start(few).await;
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let mut silent = Vec::new();
    for begun in [
        "",
        "P",
        &preface[..14],
        &preface[..23],
        "G",
        "GET / HTTP/1.1\r\n",
    ] {
        for _ in 0..2 {
            let mut stream = listening.connect().await;
            stream.write_all(begun.as_bytes()).await.unwrap();
            silent.push((begun, stream));
        }
    }
    listening.is_well().await;
    for (begun, mut stream) in silent {
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest));
        assert!(closed.await.is_ok(), "{begun:?} keeps its place");
    }
    // One that has been answered and says no more gives its place back, too.
    let mut stream = listening.connect().await;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", listening.host);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest));
    assert!(closed.await.is_ok(), "an idle client keeps its place");
    assert!(rest.starts_with(b"HTTP/1.1 200"));
    listening.stop().await;
}

/// The same where the server has a certificate: before, during and after the handshake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_are_silent_around_the_handshake_lose_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let files = TestCertificate::make(folder.path(), "own");
    let listening = ListeningServer::with(ServeOptions {
        limits: ServerLimits {
            head_wait_max: Duration::from_millis(400),
            connections_max: 10,
            ..limits()
        },
        tls: Some(TlsFiles {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
        }),
        ..ServeOptions::default()
    })
    .await;
    let connector = connector_to(&files, &[b"h2", b"http/1.1"]);
    let old_connector = connector_to(&files, &[b"http/1.1"]);
    let mut silent = Vec::new();
    for _ in 0..2 {
        silent.push(listening.connect().await);
        let mut stream = listening.connect().await;
        stream.write_all(b"\x16\x03\x01\x02\x00\x01").await.unwrap();
        silent.push(stream);
    }
    let mut shaken = Vec::new();
    for connector in [&connector, &old_connector] {
        for begun in ["", "GET / HTTP/1.1\r\nX-Slow: "] {
            let stream = listening.connect().await;
            let mut stream = connector.connect(server_name(), stream).await.unwrap();
            stream.write_all(begun.as_bytes()).await.unwrap();
            shaken.push(stream);
        }
    }
    // Two places are left, and one of those that are silent is soon free for each of these.
    for _ in 0..10 {
        let stream = listening.connect().await;
        let stream = old_connector.connect(server_name(), stream).await;
        let mut stream = stream.unwrap();
        stream
            .write_all(listening.plain("GET /healthz").as_bytes())
            .await
            .unwrap();
        let mut answer = Vec::new();
        // Who closes without a goodbye of TLS has answered all the same.
        let _ = stream.read_to_end(&mut answer).await;
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    }
    for mut stream in silent {
        ends(&mut stream).await;
    }
    for mut stream in shaken {
        ends(&mut stream).await;
    }
    listening.stop().await;
}

/// Waits until the server has closed a connection.
async fn ends(stream: &mut (impl tokio::io::AsyncRead + Unpin)) {
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest));
    assert!(closed.await.is_ok(), "a silent client keeps its place");
}

/// Number of requests whose client hangs up at once.
const HANG_UPS: usize = 60;

/// A client that hangs up must not keep its act out of the audit log, nor have it done twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_comes_to_its_end_when_its_client_hangs_up() {
    let listening = ListeningServer::start(limits()).await;
    let head = listening.head("POST /api/v1/runs", UserRole::Operator);
    let body = "{\"workflow\":\"review\",\"input\":{\"what\":\"it\"}}";
    let request = |key: usize| {
        let length = body.len();
        format!(
            "{head}Content-Type: application/json\r\nIdempotency-Key: key-{key}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    };
    for key in 0..HANG_UPS {
        let mut stream = listening.connect().await;
        stream.write_all(request(key).as_bytes()).await.unwrap();
        // Between the beginning of the work and its end, at another moment each time.
        tokio::time::sleep(Duration::from_micros(300 * key as u64)).await;
        drop(stream);
    }
    let terminal = listening.server.app.acting(listening.server.app.terminal());
    let filter = store::RunFilter::default();
    let mut counts = Vec::new();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let runs = terminal.count_runs(&filter, 10_000).await.unwrap();
        let line = "GET /api/v1/audit?limit=200";
        let audited = listening
            .server
            .done(UserRole::Admin, line, serde_json::Value::Null);
        let audited = audited.await.to_string().matches("POST /runs").count();
        counts.push((runs, audited));
        if counts.len() > 3
            && counts
                .iter()
                .rev()
                .take(3)
                .all(|count| *count == (runs, audited))
        {
            break;
        }
    }
    let (runs, audited) = *counts.last().unwrap();
    assert_eq!(runs, audited, "runs, and lines of the audit log");
    // The same again with the same keys: each is begun once.
    for key in 0..HANG_UPS {
        let answer = listening.send(request(key).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }
    assert_eq!(
        terminal.count_runs(&filter, 10_000).await.unwrap(),
        HANG_UPS
    );
    listening.stop().await;
}

/// What shakes hands with a server that shows this certificate, in one of these protocols.
fn connector_to(files: &TestCertificate, protocols: &[&[u8]]) -> tokio_rustls::TlsConnector {
    use rustls::pki_types::pem::PemObject as _;
    let certificate = rustls::pki_types::CertificateDer::from_pem_file(&files.certificate);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Arc::new(config).into()
}

fn server_name() -> rustls::pki_types::ServerName<'static> {
    "localhost".try_into().unwrap()
}
