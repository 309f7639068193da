//! A line to a server that counts what is asked, and can be cut at the worst moment: when a commit
//! was sent and did not arrive.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;

const SOCKET: &str = ".s.PGSQL.5432";
/// The message with which a client waits for an answer.
const SYNC: &[u8] = b"S\0\0\0\x04";

pub(crate) struct Cut {
    folder: tempfile::TempDir,
    line: Arc<Line>,
}

struct Line {
    server: PathBuf,
    /// The next commit is cut off.
    is_armed: AtomicBool,
    /// Blocks all traffic.
    is_cut: AtomicBool,
    made: Notify,
    asked: AtomicUsize,
}

impl Cut {
    /// A proxy between a client and the server whose socket is in this folder.
    pub(crate) fn between(server: &Path) -> Cut {
        let folder = tempfile::Builder::new().prefix("dl-cut").tempdir_in("/tmp");
        let folder = folder.unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let line = Arc::new(Line {
            server: server.join(SOCKET),
            is_armed: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            made: Notify::new(),
            asked: AtomicUsize::new(0),
        });
        let lines = Arc::clone(&line);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&lines).carry(client));
            }
        });
        Cut { folder, line }
    }

    /// The address of the server, by way of this line.
    pub(crate) fn address(&self, address: &str, server: &Path) -> String {
        let name = |folder: &Path| folder.display().to_string().replace('/', "%2F");
        let through = address.replace(&name(server), &name(self.folder.path()));
        assert_ne!(
            through, address,
            "the socket's folder stands in the address"
        );
        through
    }

    pub(crate) fn arm(&self) {
        self.line.is_armed.store(true, Ordering::SeqCst);
    }

    /// Returns how many requests the server got.
    pub(crate) fn asked(&self) -> usize {
        self.line.asked.load(Ordering::SeqCst)
    }

    pub(crate) async fn was_made(&self) {
        self.line.made.notified().await;
    }

    pub(crate) fn mend(&self) {
        self.line.is_cut.store(false, Ordering::SeqCst);
    }
}

impl Line {
    async fn carry(self: Arc<Self>, client: UnixStream) {
        if self.is_cut.load(Ordering::SeqCst) {
            return;
        }
        let Ok(server) = UnixStream::connect(&self.server).await else {
            return;
        };
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let back = tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
            if buffer[..read].ends_with(SYNC) {
                self.asked.fetch_add(1, Ordering::SeqCst);
            }
            let is_commit = buffer[..read].windows(6).any(|text| text == b"COMMIT");
            if is_commit && self.is_armed.swap(false, Ordering::SeqCst) {
                self.is_cut.store(true, Ordering::SeqCst);
                back.abort();
                drop(from_client);
                self.made.notify_one();
                // The server knows of nothing, and waits for the rest.
                return std::future::pending().await;
            }
            if to_server.write_all(&buffer[..read]).await.is_err() {
                break;
            }
        }
        back.abort();
    }
}
