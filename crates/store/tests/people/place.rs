//! A database of either engine, for a test alone, which can be opened more than once.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent::Clock;
use store::{Options, Outbox, People, Postgres, PostgresOptions, Queries, Schedules, Scrub};
use store::{Store, Tokens, Views};

use crate::cluster::Cluster;

/// The time as it is: both engines have it.
struct Now;

impl Clock for Now {
    fn now_ms(&self) -> u64 {
        now_ms()
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

/// All the ports of a database.
pub(crate) trait Database: Outbox + People + Queries + Schedules + Views + Tokens {}

impl<T: Outbox + People + Queries + Schedules + Views + Tokens> Database for T {}

/// Where a database is.
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

    pub(crate) async fn workflows(&self) -> Arc<dyn flow::Store> {
        let opened = match self {
            Place::File(folder) => in_file(folder.path()).await.workflows().await,
            Place::Server(address) => on_server(address).await.workflows().await,
        };
        opened.unwrap()
    }
}

async fn in_file(folder: &std::path::Path) -> Store {
    let options = Options {
        clock: Arc::new(Now),
        scrub: Some(scrub()),
        bytes_max: None,
        pid: std::process::id(),
    };
    let place = folder.join(".drawloom").join("drawloom.db");
    Store::open(&place, options).await.unwrap()
}

pub(crate) async fn on_server(address: &str) -> Postgres {
    let options = PostgresOptions {
        clock: Arc::new(Now),
        scrub: Some(scrub()),
    };
    Postgres::open(address, options).await.unwrap()
}

fn scrub() -> Scrub {
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
