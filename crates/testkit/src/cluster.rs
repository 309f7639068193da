//! A PostgreSQL server of the test's own: a cluster in a folder that goes with it.
//!
//! `./test` installs the programs. The server refuses to run as root, so that root starts it as
//! `postgres`. A shell is in between: it ends the server when the test ends, however it ends.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::{ConnectOptions as _, Connection as _};

const START_MS_MAX: u64 = 60_000;

/// Says whether commits wait for the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// `kill -9` of processes loses nothing without it, and tests are quicker.
    No,
    Yes,
}

pub struct Cluster {
    folder: tempfile::TempDir,
    flush: Flush,
    /// The command that starts the server; empty for the shell.
    pub starter: &'static str,
    /// More for its command line.
    settings: String,
    port: u16,
    shell: Option<Child>,
}

impl Cluster {
    pub async fn start(flush: Flush) -> Cluster {
        let mut cluster = Cluster::make(flush, |_| {});
        cluster.run().await;
        cluster
    }

    /// A cluster that does not run yet, in a folder that was prepared for it: its data goes into
    /// `data`, its log of writes into `wal`.
    pub fn make(flush: Flush, prepare: impl FnOnce(&Path)) -> Cluster {
        // Short: the path of a socket has 107 characters at most.
        let folder = tempfile::Builder::new().prefix("dl-pg").tempdir_in("/tmp");
        let folder = folder.unwrap();
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).unwrap();
        prepare(folder.path());
        let script = "exec \"$0\" -D \"$1/data\" -X \"$1/wal\" -U drawloom -A trust -N --locale=C \
                      -E UTF8";
        let made = as_server(script)
            .arg(program("initdb"))
            .arg(folder.path())
            .stdout(Stdio::null())
            .status();
        assert!(made.unwrap().success(), "initdb failed");
        Cluster {
            folder,
            flush,
            starter: "",
            settings: String::new(),
            port: 5432,
            shell: None,
        }
    }

    /// Starts the server, and waits until it answers.
    pub async fn run(&mut self) {
        let flush = match self.flush {
            Flush::No => "fsync=off",
            Flush::Yes => "fsync=on",
        };
        let script = "$3 \"$0\" -D \"$1/data\" -k \"$1\" -c listen_addresses= -c max_connections=50 \
             -c \"$2\" -c shared_buffers=32MB $4 2>>\"$1/log\" & cat >/dev/null; \
             kill -QUIT $(head -n 1 \"$1/data/postmaster.pid\") 2>/dev/null; wait";
        let shell = as_server(script)
            .arg(program("postgres"))
            .arg(self.folder.path())
            .arg(flush)
            .arg(self.starter)
            .arg(&self.settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        self.shell = Some(shell.unwrap());
        let began = Instant::now();
        while let Err(cause) = self.connect("postgres").await {
            let log = std::fs::read_to_string(self.folder.path().join("log"));
            assert!(
                began.elapsed() < Duration::from_millis(START_MS_MAX),
                "{cause}\n{}",
                log.unwrap_or_default()
            );
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// `kill -9` of the server, as the kernel does it when memory ends. Its children see to
    /// themselves.
    pub async fn kill(&mut self) {
        let mut file = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid"));
        // A server that has given up by itself left no file.
        if let Ok(file) = &mut file {
            file.truncate(file.find('\n').unwrap());
            // It may be dying already.
            let _ = Command::new("kill").args(["-9", file]).status().unwrap();
        }
        self.stop();
        // The next one refuses to start while children of the last live.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    /// The folder of the cluster: `data`, `wal`, `log`, and the socket.
    #[allow(dead_code, reason = "not every program of tests looks into it")]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// From its next start on, the server is reached at this port of 127.0.0.1, too, and speaks TLS.
    #[allow(dead_code, reason = "not every program of tests speaks TLS")]
    pub fn speak_tls(&mut self, port: u16, certificate: &Path, key: &Path) {
        let folder = self.folder.path();
        for (file, name) in [(certificate, "server.pem"), (key, "server.key")] {
            // The server accepts a key only if no other user can read it.
            let copied = as_server("umask 077; cat >\"$0\"")
                .arg(folder.join(name))
                .stdin(std::fs::File::open(file).unwrap())
                .status();
            assert!(copied.unwrap().success());
        }
        let folder = folder.display();
        self.port = port;
        self.settings = format!(
            "-c port={port} -c listen_addresses=127.0.0.1 -c ssl=on \
             -c ssl_cert_file={folder}/server.pem -c ssl_key_file={folder}/server.key"
        );
    }

    /// A new database.
    pub async fn database(&self, name: &str) -> String {
        let mut connection = self.connect("postgres").await.unwrap();
        let sql = format!("CREATE DATABASE \"{name}\"");
        let made = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
        made.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        self.address(name)
    }

    pub async fn connect(&self, name: &str) -> Result<sqlx::PgConnection, sqlx::Error> {
        let options: sqlx::postgres::PgConnectOptions = self.address(name).parse()?;
        options.connect().await
    }

    fn address(&self, name: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://drawloom@{folder}:{}/{name}", self.port)
    }

    fn stop(&mut self) {
        if let Some(mut shell) = self.shell.take() {
            drop(shell.stdin.take());
            shell.wait().unwrap();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
        if rustix::process::geteuid().is_root() {
            // The folder's content is another user's; root may remove it.
            for inside in ["data", "wal"] {
                let _ = std::fs::remove_dir_all(self.folder.path().join(inside));
            }
        }
    }
}

/// A shell as the user that the server runs as.
fn as_server(script: &str) -> Command {
    let mut command = match rustix::process::geteuid().is_root() {
        true => {
            let mut command = Command::new("setpriv");
            let user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"];
            command.args(user).arg("sh");
            command
        }
        false => Command::new("sh"),
    };
    command.current_dir("/").arg("-c").arg(script);
    command
}

/// Debian keeps the programs of a server out of the path.
pub fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut found: Vec<PathBuf> = versions
        .map(|version| version.unwrap().path().join("bin").join(name))
        .filter(|program| program.exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| Path::new(name).to_owned())
}
