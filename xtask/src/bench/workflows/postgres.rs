//! A PostgreSQL of our own for the time of the run: a fresh cluster on a free port of the loopback.
//!
//! It refuses to run as root, so as root it is started as the user that its Debian package brings.
//! Everyone on the loopback is trusted; `fsync` is on, as it is by default.

use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

const PACKAGE: &str = "postgresql";
/// One folder for each version, with the programs in its `bin`.
const VERSIONS: &str = "/usr/lib/postgresql";
const ROOT: u32 = 0;
const USER: &str = "postgres";
const ROLE: &str = "bench";
const CONNECTIONS_MAX: usize = 200;

pub(super) struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    account: Option<Account>,
}

/// The account that the server runs as; our own unless we are root.
#[derive(Clone, Copy)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Cluster {
    pub(super) fn start(stage: &Path) -> Result<Self> {
        let programs = programs()?;
        let account = account(stage)?;
        let folder = stage.join("postgres");
        std::fs::create_dir(&folder)?;
        if let Some(account) = account {
            std::os::unix::fs::chown(&folder, Some(account.uid), Some(account.gid))?;
        }
        let cluster = Self {
            programs,
            folder,
            port: free_port()?,
            account,
        };
        let data = cluster.folder.join("data");
        let mut initdb = cluster.program("initdb");
        initdb
            .args(["--auth", "trust", "--encoding", "UTF8", "--locale", "C"])
            .args(["--username", ROLE, "--no-instructions", "--pgdata"])
            .arg(&data);
        finish(&mut initdb)?;
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=on \
             -c max_connections={CONNECTIONS_MAX}",
            cluster.port
        );
        let mut start = cluster.program("pg_ctl");
        start
            .args(["start", "--wait", "--silent", "--pgdata"])
            .arg(&data)
            .arg("--log")
            .arg(cluster.folder.join("log.txt"))
            .args(["--options", &options]);
        finish(&mut start)?;
        Ok(cluster)
    }

    pub(super) fn version(&self) -> Result<String> {
        let output = self.program("postgres").arg("--version").output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// The URL of an empty database.
    pub(super) fn database(&self, name: &str) -> Result<String> {
        let mut createdb = self.program("createdb");
        createdb
            .args(["--host", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--username", ROLE, name]);
        finish(&mut createdb)?;
        Ok(format!(
            "postgresql://{ROLE}@127.0.0.1:{}/{name}",
            self.port
        ))
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(&self.folder).stdin(Stdio::null());
        if let Some(account) = self.account {
            command.uid(account.uid).gid(account.gid);
        }
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut stop = self.program("pg_ctl");
        stop.args(["stop", "--silent", "--mode", "immediate", "--pgdata"])
            .arg(self.folder.join("data"));
        if let Err(problem) = finish(&mut stop) {
            println!("PostgreSQL was not stopped: {problem:#}");
        }
    }
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no port is free on the loopback")?;
    Ok(listener.local_addr()?.port())
}

/// Returns the folder of the server's programs, which are installed if no version is there.
fn programs() -> Result<PathBuf> {
    if let Some(found) = newest() {
        return Ok(found);
    }
    install()?;
    newest().with_context(|| format!("{PACKAGE} is installed, and {VERSIONS} has no `initdb`"))
}

fn newest() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).ok()?.flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            let programs = entry.path().join("bin");
            programs
                .join("initdb")
                .exists()
                .then_some((version, programs))
        })
        .collect();
    versions.sort();
    versions.pop().map(|(_, programs)| programs)
}

fn install() -> Result<()> {
    println!("installing {PACKAGE} with apt-get");
    let status = Command::new("apt-get")
        .args(["install", "-y", "-qq", PACKAGE])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot run apt-get; install {PACKAGE} and run again"))?;
    ensure!(
        status.success(),
        "apt-get failed ({status}); install {PACKAGE} and run again"
    );
    Ok(())
}

fn account(stage: &Path) -> Result<Option<Account>> {
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(stage)?);
    if owner != ROOT {
        return Ok(None);
    }
    let passwd = std::fs::read_to_string("/etc/passwd")?;
    let account = passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        match fields.as_slice() {
            [USER, _, uid, gid, ..] => Some(Account {
                uid: uid.parse().ok()?,
                gid: gid.parse().ok()?,
            }),
            _ => None,
        }
    });
    let account = account.with_context(|| {
        format!("PostgreSQL does not run as root and there is no user `{USER}`; add one")
    })?;
    Ok(Some(account))
}

fn finish(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    // Not a pipe: the server keeps what its starter had open, and the pipe would never end.
    let status = command
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    ensure!(status.success(), "{program} failed ({status})");
    Ok(())
}
