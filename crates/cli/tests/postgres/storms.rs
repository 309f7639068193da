//! Storms on PostgreSQL: four workers, killed and stopped, and the server with them.

use std::thread::sleep;
use std::time::Duration;

use crate::chance::Chance;
use crate::server::ClusterServer;
use crate::storm::{Storm, StormStrike, StormTarget, storms};
use crate::test_cluster::TestCluster;

impl StormTarget for ClusterServer {
    fn yard(&mut self, seed: u64) -> TestCluster {
        TestCluster::new(Some(self.database(&format!("storm{seed}"))))
    }

    fn strike(&mut self, chance: &mut Chance) -> StormStrike {
        match chance.up_to(24) {
            0 => {
                self.kill();
                sleep(Duration::from_millis(chance.up_to(300)));
                self.run();
                StormStrike::Killed
            }
            1 => {
                self.freeze();
                sleep(Duration::from_millis(200 + chance.up_to(1_500)));
                self.thaw();
                StormStrike::Frozen
            }
            _ => StormStrike::Nothing,
        }
    }
}

#[test]
fn four_workers_and_their_server_are_killed_and_nothing_is_lost_or_done_twice() {
    let mut server = ClusterServer::start();
    let storm = Storm {
        seed: 1,
        runs: 40,
        workers: 4,
        lasts: Duration::from_secs(5),
    };
    storms(storm, &mut server);
}
