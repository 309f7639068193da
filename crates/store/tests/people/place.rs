//! A database of either engine, for a test alone, which can be opened more than once.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent::AgentClock;
use store::{AuditLog, CostQueries, EventStream, IdempotencyKeys, PersonCredentials, RunParts};
use store::{
    Options, Outbox, PostgresDatabase, PostgresOptions, RunQueries, ScheduleStore, SecretScrub,
    UserStore,
};
use store::{SearchIndex, TaskLists, TaskNotes};
use store::{SqliteDatabase, TokenStore, TriggerMemory, ViewStore};
use store::{WebSessions, WebhookEndpoints, WorkflowVersions};

use crate::cluster::Cluster;

/// The time as it is: both engines have it.
struct Now;

impl AgentClock for Now {
    fn now_ms(&self) -> u64 {
        now_ms()
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// The ports of a database that programs and pages look at it by.
pub(crate) trait Database:
    Outbox
    + UserStore
    + RunQueries
    + ScheduleStore
    + TriggerMemory
    + ViewStore
    + TokenStore
    + EventStream
    + ServerPorts
{
}

impl<
    T: Outbox
        + UserStore
        + RunQueries
        + ScheduleStore
        + TriggerMemory
        + ViewStore
        + TokenStore
        + EventStream
        + ServerPorts,
> Database for T
{
}

/// The ports that a server needs.
pub(crate) trait ServerPorts:
    AuditLog
    + CostQueries
    + IdempotencyKeys
    + PersonCredentials
    + RunParts
    + SearchIndex
    + TaskLists
    + TaskNotes
    + WebSessions
    + WebhookEndpoints
    + WorkflowVersions
{
}

impl<T> ServerPorts for T where
    T: AuditLog
        + CostQueries
        + IdempotencyKeys
        + PersonCredentials
        + RunParts
        + SearchIndex
        + TaskLists
        + TaskNotes
        + WebSessions
        + WebhookEndpoints
        + WorkflowVersions
{
}

/// The location of a database.
pub(crate) enum Place {
    File(tempfile::TempDir),
    Server(String),
}

impl Place {
    pub(crate) fn file() -> Place {
        Place::File(tempfile::tempdir().unwrap())
    }

    pub(crate) async fn server(cluster: &Cluster, name: &str) -> Place {
        Place::Server(cluster.database(name).await)
    }

    pub(crate) async fn open(&self) -> Box<dyn Database> {
        match self {
            Place::File(folder) => Box::new(in_file(folder.path()).await),
            Place::Server(address) => Box::new(on_server(address).await),
        }
    }

    pub(crate) async fn workflows(&self) -> Arc<dyn flow::WorkflowStore> {
        let opened = match self {
            Place::File(folder) => in_file(folder.path()).await.workflows().await,
            Place::Server(address) => on_server(address).await.workflows().await,
        };
        opened.unwrap()
    }
}

pub(crate) async fn in_file(folder: &std::path::Path) -> SqliteDatabase {
    let options = Options {
        clock: Arc::new(Now),
        scrub: Some(scrub()),
        bytes_max: None,
        pid: std::process::id(),
    };
    let place = folder.join(".drawloom").join("drawloom.db");
    SqliteDatabase::open(&place, options).await.unwrap()
}

pub(crate) async fn on_server(address: &str) -> PostgresDatabase {
    let options = PostgresOptions {
        clock: Arc::new(Now),
        scrub: Some(scrub()),
    };
    PostgresDatabase::open(address, options).await.unwrap()
}

fn scrub() -> SecretScrub {
    Arc::new(|text: &str| {
        text.contains("sk-secret-1")
            .then(|| text.replace("sk-secret-1", "[key removed]"))
    })
}

/// Each check as a test in SQLite, and all of them in one in PostgreSQL: to start a server takes
/// longer than they do.
macro_rules! on_both {
    ($($check:ident),+ $(,)?) => {
        mod in_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $check() {
                    super::$check(&crate::place::Place::file()).await;
                }
            )+
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn the_same_in_postgres() {
            let cluster = crate::cluster::Cluster::start(crate::cluster::Flush::No).await;
            for (number, check) in [$(stringify!($check)),+].into_iter().enumerate() {
                let place = crate::place::Place::server(&cluster, &format!("d{number}")).await;
                match check {
                    $(stringify!($check) => $check(&place).await,)+
                    _ => panic!("{check}"),
                }
            }
        }
    };
}

pub(crate) use on_both;
