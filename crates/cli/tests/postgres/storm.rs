//! A storm over a yard: runs are started while workers, and the server if there is one, are killed and
//! stopped again and again. Then it is calm, and every run has to end.
//!
//! What strikes follows from a seed; when it strikes is up to the machine. `cargo xtask soak` has these
//! storms for as long as it is told: it says so in the environment.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::chance::Chance;
use super::test_cluster::{ClusterReport, KINDS, TestCluster, WorkerProcess, wait_for};

/// How long `cargo xtask soak` wants storms, in seconds, and the first seed.
pub(crate) const SECONDS: &str = "DRAWLOOM_SOAK_SECONDS";
const SEED: &str = "DRAWLOOM_SOAK_SEED";

/// A worker that is stopped for longer has lost its leases.
const LEASE_MS: u64 = 700;

pub(crate) struct Storm {
    pub(crate) seed: u64,
    pub(crate) runs: usize,
    pub(crate) workers: usize,
    pub(crate) lasts: Duration,
}

/// What the yards stand on.
pub(crate) trait StormTarget {
    /// A yard with a database of its own.
    fn yard(&mut self, seed: u64) -> TestCluster;

    /// Strikes what the database is kept by, or does not; what it was.
    fn strike(&mut self, chance: &mut Chance) -> StormStrike;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StormStrike {
    Nothing,
    Killed,
    Frozen,
}

#[derive(Debug, Default)]
struct StormTally {
    kills: usize,
    stalls: usize,
    server_kills: usize,
    cuts: usize,
}

/// One storm, or as many as are asked for, each in a yard of its own.
pub(crate) fn storms(mut storm: Storm, ground: &mut dyn StormTarget) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    storm.seed = number(SEED).unwrap_or(storm.seed);
    let whole = Duration::from_secs(number(SECONDS).unwrap_or(0));
    let begun = Instant::now();
    loop {
        let yard = ground.yard(storm.seed);
        println!("storm {}", storm.seed);
        let (found, tally) = storm.pass(&yard, ground);
        // The runs, the marks and the blows are what `cargo xtask soak` adds up.
        println!(
            "soak seeds=1 runs={} effects={} spare={} kills={} stalls={} server_kills={} cuts={}",
            found.runs,
            found.effects,
            found.spare,
            tally.kills,
            tally.stalls,
            tally.server_kills,
            tally.cuts
        );
        storm.seed += 1;
        if begun.elapsed() >= whole {
            return;
        }
    }
}

impl Storm {
    fn pass(
        &self,
        yard: &TestCluster,
        ground: &mut dyn StormTarget,
    ) -> (ClusterReport, StormTally) {
        let mut chance = Chance::new(self.seed);
        let mut tally = StormTally::default();
        let mut crew: Vec<StormThread> = (0..self.workers)
            .map(|place| StormThread::new(yard, place))
            .collect();
        let begun = Instant::now();
        let mut started = 0;
        while begun.elapsed() < self.lasts || started < self.runs {
            // A start that failed may have been kept all the same: what is there has to end.
            if started < self.runs {
                let kind = chance.pick(&KINDS).unwrap();
                started += usize::from(yard.start(kind));
            }
            self.blow(yard, &mut crew, &mut chance, &mut tally);
            match ground.strike(&mut chance) {
                StormStrike::Nothing => {}
                StormStrike::Killed => tally.server_kills += 1,
                StormStrike::Frozen => tally.cuts += 1,
            }
            sleep(Duration::from_millis(20 + chance.up_to(120)));
        }
        wait_for(&format!("the end of storm {}", self.seed), || {
            crew.iter_mut().for_each(|hand| hand.rise(yard));
            yard.has_ended(self.runs)
        });
        drop(crew);
        (yard.check(), tally)
    }

    /// One of the crew is killed, or stopped for longer than its lease.
    fn blow(
        &self,
        yard: &TestCluster,
        crew: &mut [StormThread],
        chance: &mut Chance,
        tally: &mut StormTally,
    ) {
        let at = usize::try_from(chance.up_to(crew.len() as u64)).unwrap();
        crew.iter_mut().for_each(|hand| hand.rise(yard));
        match chance.up_to(5) {
            0 | 1 => {
                crew[at].fall(yard);
                tally.kills += 1;
            }
            2 => {
                crew[at].stand_still(Duration::from_millis(LEASE_MS + chance.up_to(800)));
                tally.stalls += 1;
            }
            _ => {}
        }
    }
}

/// A worker and its place, which another takes when it falls.
struct StormThread {
    name: String,
    worker: WorkerProcess,
}

impl StormThread {
    fn new(yard: &TestCluster, place: usize) -> StormThread {
        let name = format!("w{place}");
        StormThread {
            worker: employ(yard, &name),
            name,
        }
    }

    fn fall(&mut self, yard: &TestCluster) {
        // Its successor is there before it falls.
        self.worker = employ(yard, &self.name);
    }

    /// One that gave up, because the server was gone for long, is replaced as a supervisor does it.
    fn rise(&mut self, yard: &TestCluster) {
        if self.worker.has_ended() {
            self.worker = employ(yard, &self.name);
        }
    }

    /// Wakes up by itself: a worker stopped in the middle of a transaction keeps others waiting,
    /// and the one that would wake it may be among them.
    fn stand_still(&self, long: Duration) {
        self.worker.signal("-STOP");
        let id = self.worker.id();
        std::thread::spawn(move || {
            sleep(long);
            // It may have been killed meanwhile.
            let _ = Command::new("kill").args(["-CONT", &id]).output();
        });
    }
}

fn employ(yard: &TestCluster, name: &str) -> WorkerProcess {
    yard.worker(name, &format!("--lease {LEASE_MS}ms --concurrency 4"))
}
