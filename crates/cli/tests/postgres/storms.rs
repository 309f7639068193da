//! Storms on PostgreSQL: four workers, killed and stopped, and the server with them.

use std::thread::sleep;
use std::time::Duration;

use crate::chance::Chance;
use crate::server::Server;
use crate::storm::{Ground, Storm, Struck, storms};
use crate::yard::Yard;

impl Ground for Server {
    fn yard(&mut self, seed: u64) -> Yard {
        Yard::new(Some(self.database(&format!("storm{seed}"))))
    }

    fn strike(&mut self, chance: &mut Chance) -> Struck {
        match chance.up_to(24) {
            0 => {
                self.kill();
                sleep(Duration::from_millis(chance.up_to(300)));
                self.run();
                Struck::Killed
            }
            1 => {
                self.freeze();
                sleep(Duration::from_millis(200 + chance.up_to(1_500)));
                self.thaw();
                Struck::Frozen
            }
            _ => Struck::Nothing,
        }
    }
}

#[test]
fn four_workers_and_their_server_are_killed_and_nothing_is_lost_or_done_twice() {
    let mut server = Server::start();
    let storm = Storm {
        seed: 1,
        runs: 40,
        workers: 4,
        lasts: Duration::from_secs(5),
    };
    storms(storm, &mut server);
}
