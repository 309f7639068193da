//! One connection: the time it has to say something, the handshake, and the requests on it.

use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::Watcher;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower::Layer as _;

use crate::proxies::EncryptedConnection;
use crate::state::ServerState;
use crate::tls::HTTP2_NAME;

/// How often the server looks whether a client has finished its first words.
const LOOK: Duration = Duration::from_millis(50);
/// The first bytes of a client that speaks HTTP/2.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The first byte of a handshake.
const HANDSHAKE: u8 = 0x16;
/// The text for a client that speaks without a handshake.
const NOT_ENCRYPTED: &str = "this server speaks https: ask for https://\n";

/// The parts with which every connection is served.
#[derive(Clone)]
pub(crate) struct ConnectionPlan {
    router: Router,
    builder: Builder<TokioExecutor>,
    /// Shakes hands, where the server has a certificate.
    acceptor: Option<TlsAcceptor>,
    /// How long a client may take until it has said what it wants.
    wait: Duration,
}

impl ConnectionPlan {
    pub(crate) fn new(state: &ServerState, acceptor: Option<TlsAcceptor>) -> ConnectionPlan {
        let wait = state.limits().head_wait_max;
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(wait);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(Some(wait))
            .keep_alive_timeout(wait);
        ConnectionPlan {
            router: crate::router(state),
            builder,
            acceptor,
            wait,
        }
    }

    /// Answers a client until one side ends it; one that says nothing is not waited for when the server
    /// closes. A client that breaks off is its own business.
    pub(crate) async fn serve(
        self,
        (stream, peer): (TcpStream, SocketAddr),
        watcher: Watcher,
        closing: impl Future<Output = ()>,
    ) {
        match self.acceptor.clone() {
            None => {
                let is_spoken_to = tokio::select! {
                    is_spoken_to = speaks_soon(&stream, self.wait) => is_spoken_to,
                    () = closing => false,
                };
                if is_spoken_to {
                    self.answer_plain(stream, peer, watcher).await;
                }
            }
            Some(acceptor) => {
                let shaking = tokio::time::timeout(self.wait, shake_hands(acceptor, stream));
                let encrypted = tokio::select! {
                    shaken = shaking => shaken.ok().flatten(),
                    () = closing => None,
                };
                if let Some(encrypted) = encrypted {
                    self.answer_encrypted(encrypted, peer, watcher).await;
                }
            }
        }
    }

    async fn answer_plain(self, stream: TcpStream, peer: SocketAddr, watcher: Watcher) {
        let answering = Extension(ConnectInfo(peer)).layer(self.router);
        let service = TowerToHyperService::new(answering);
        let connection = self.builder.serve_connection(TokioIo::new(stream), service);
        let _ = watcher.watch(connection.into_owned()).await;
    }

    async fn answer_encrypted(
        self,
        stream: TlsStream<TcpStream>,
        peer: SocketAddr,
        watcher: Watcher,
    ) {
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2_NAME);
        let builder = if is_http2 {
            self.builder.http2_only()
        } else {
            self.builder.http1_only()
        };
        let asked = Arc::new(Notify::new());
        let answering = Extension(ConnectInfo(peer)).layer(self.router);
        let telling = Extension(EncryptedConnection(Arc::clone(&asked))).layer(answering);
        let service = TowerToHyperService::new(telling);
        let serving = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(watcher.watch(serving.into_owned()));
        let silent = async {
            if tokio::time::timeout(self.wait, asked.notified())
                .await
                .is_ok()
            {
                pending::<()>().await;
            }
        };
        tokio::select! {
            _ = &mut connection => {}
            () = silent => {}
        }
    }
}

/// Shakes hands. A client that begins with HTTP itself is told what is missing.
async fn shake_hands(acceptor: TlsAcceptor, mut stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    let count = stream.peek(&mut first).await.ok()?;
    if count == 1 && first[0] != HANDSHAKE {
        // Closing with bytes unread would take the answer back.
        let _ = stream.read(&mut [0; 8192]).await;
        let length = NOT_ENCRYPTED.len();
        let answer = format!(
            "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Connection: close\r\nContent-Length: {length}\r\n\r\n{NOT_ENCRYPTED}"
        );
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
        return None;
    }
    acceptor.accept(stream).await.ok()
}

/// Waits until a client has said which version of HTTP it speaks; false if it does not in time. The
/// limits of either version begin only then, and a silent client must not keep a place for good.
async fn speaks_soon(stream: &TcpStream, wait: Duration) -> bool {
    let mut bytes = [0; PREFACE.len()];
    let spoken = async {
        loop {
            let count = stream.peek(&mut bytes).await.unwrap_or(0);
            if count == 0 || count == PREFACE.len() || bytes[..count] != PREFACE[..count] {
                return count > 0;
            }
            // A part of the preface is no choice yet.
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(wait, spoken).await.unwrap_or(false)
}
