//! Disks of the server that fill or fail: a sentence, nothing lost, and on it goes afterwards.

use std::thread::sleep;
use std::time::Duration;

use crate::cluster::{Cluster, Flush};
use crate::server::ClusterServer;
use crate::small::SmallDisk;
use crate::test_cluster::{TestCluster, wait_for};

/// The twelfth time that a process of the server flushes its log of writes, the disk refuses.
const REFUSING: &str = "strace -f -o /dev/null -e trace=fdatasync \
                        -e inject=fdatasync:error=EIO:when=12";
/// What fits a cluster and little more.
const MEGABYTES: u32 = 64;

#[test]
#[ignore = "root: only root can mount a small disk"]
fn a_full_disk_of_the_server_is_said_and_work_goes_on_when_there_is_room_as_root() {
    let mut disk = None;
    // The log of writes has a disk of its own, as it should: a server whose log is full stops.
    let cluster = Cluster::make(Flush::No, |folder| {
        disk = Some(SmallDisk::mount(&folder.join("data"), MEGABYTES));
        // The server runs as a user of its own.
        let given = std::process::Command::new("chown")
            .arg("postgres")
            .arg(folder.join("data"))
            .status();
        assert!(given.unwrap().success());
    });
    let disk = disk.unwrap();
    let mut server = ClusterServer::of(cluster);
    server.run();
    let yard = TestCluster::new(Some(server.database("full")));
    for _ in 0..8 {
        assert!(yard.start("fan"));
    }
    disk.fill();
    let worker = yard.worker("one", "--lease 1s");
    let big = format!(
        "workflow start fan --input '{{\"text\": \"{}\"}}'",
        "x".repeat(90_000)
    );
    let mut refused = String::new();
    wait_for("a full disk", || {
        let ran = yard.run(&big);
        refused = ran.err;
        ran.exit != 0
    });
    assert!(refused.contains("is full"), "{refused}");
    assert!(refused.contains("make room"), "{refused}");
    sleep(Duration::from_millis(500));
    disk.make_room();
    let next = yard.worker("two", "--lease 1s");
    yard.wait_for_end(8);
    drop([worker, next]);
    yard.check();
    server.kill();
}

#[test]
fn flushes_that_the_server_s_disk_refuses_lose_nothing() {
    let mut cluster = Cluster::make(Flush::Yes, |_| {});
    cluster.starter = REFUSING;
    let mut server = ClusterServer::of(cluster);
    server.run();
    let yard = TestCluster::new(Some(server.database("flush")));
    let mut started = 0;
    let crew = ["one", "two"].map(|name| yard.worker(name, "--lease 1s"));
    for _ in 0..6 {
        started += usize::from(yard.start("fan"));
        sleep(Duration::from_millis(300));
    }
    let log = || std::fs::read_to_string(server.cluster.folder().join("log")).unwrap();
    wait_for("a flush that fails", || log().contains("PANIC"));
    sleep(Duration::from_millis(500));
    server.kill();
    server.cluster.starter = "";
    server.run();
    let next = yard.worker("three", "--lease 1s");
    yard.wait_for_end(started);
    drop(crew);
    drop(next);
    yard.check();
}
