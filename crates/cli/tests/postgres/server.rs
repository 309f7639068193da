//! A server that can be killed, frozen and started again, without anything to await.

use std::path::PathBuf;
use std::process::Command;

use sqlx::{Connection as _, Row as _};
use tokio::runtime::Runtime;

use crate::cluster::{Cluster, Flush};

pub(crate) struct ClusterServer {
    runtime: Runtime,
    pub(crate) cluster: Cluster,
}

impl ClusterServer {
    pub(crate) fn start() -> ClusterServer {
        let runtime = Runtime::new().unwrap();
        let cluster = runtime.block_on(Cluster::start(Flush::No));
        ClusterServer { runtime, cluster }
    }

    /// On a cluster that was made and does not run yet.
    pub(crate) fn of(cluster: Cluster) -> ClusterServer {
        let runtime = Runtime::new().unwrap();
        ClusterServer { runtime, cluster }
    }

    pub(crate) fn database(&self, name: &str) -> String {
        self.runtime.block_on(self.cluster.database(name))
    }

    pub(crate) fn kill(&mut self) {
        self.runtime.block_on(self.cluster.kill());
    }

    pub(crate) fn run(&mut self) {
        self.runtime.block_on(self.cluster.run());
    }

    /// It neither sends nor receives until it is thawed: to its clients a cut network.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    /// Runs a statement, and gives the first column of what it says.
    pub(crate) fn sql(&self, database: &str, sql: &'static str) -> Vec<String> {
        self.runtime.block_on(async {
            let mut connection = self.cluster.connect(database).await.unwrap();
            let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
            connection.close().await.unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        })
    }

    /// The server and all its children, each of which has a session of its own.
    fn signal(&self, signal: &str) {
        let file = self.cluster.folder().join("data/postmaster.pid");
        let file = std::fs::read_to_string(file).unwrap();
        let server = file.lines().next().unwrap().to_owned();
        let mut all = children(&server);
        all.insert(0, server);
        // A child may have ended meanwhile.
        let _ = Command::new("kill").arg(signal).args(all).output().unwrap();
    }
}

fn children(parent: &str) -> Vec<String> {
    let place = PathBuf::from(format!("/proc/{parent}/task/{parent}/children"));
    let listed = std::fs::read_to_string(place).unwrap();
    listed.split_whitespace().map(str::to_owned).collect()
}
