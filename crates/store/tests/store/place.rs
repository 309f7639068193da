//! A database of either engine, for a test alone, which can be opened more than once.

use agent::AgentClock;
use builder::JobStore;
use store::{AgentRuns, BuildHolds, EventStream, PostgresDatabase, PostgresOptions, ProjectKeys};

use crate::cluster::Cluster;
use crate::support;

/// Everything that the work of agents needs of a database.
pub(crate) trait Database:
    AgentRuns + BuildHolds + EventStream + JobStore + ProjectKeys
{
}

impl<T: AgentRuns + BuildHolds + EventStream + JobStore + ProjectKeys> Database for T {}

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
            Place::File(folder) => Box::new(support::opened(folder.path()).await),
            Place::Server(address) => Box::new(on_server(address).await),
        }
    }
}

struct Now;

impl AgentClock for Now {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000
    }
}

pub(crate) async fn on_server(address: &str) -> PostgresDatabase {
    let options = PostgresOptions {
        clock: std::sync::Arc::new(Now),
        scrub: None,
    };
    PostgresDatabase::open(address, options).await.unwrap()
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
