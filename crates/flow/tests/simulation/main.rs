//! Thousands of random workflows, run by workers that crash, stall, repeat themselves and come late,
//! on a clock that jumps. Everything follows from a seed; a failure prints it.
//!
//! `FLOW_SEED=123 cargo nextest run -p flow --test simulation one_seed` runs one of them again, and
//! `FLOW_SEEDS=100000 … --run-ignored all as_many_seeds_as_are_asked_for` as many as one has time for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a test fails by panicking, and its tables are long"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test reads its seed from the environment, and says how long it took"
)]

mod actors;
mod desks;
mod drawing;
mod law;
mod world;

use chance::Chance;
use testkit::chance;
use world::World;

fn run(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let began = std::time::Instant::now();
        let result = std::panic::catch_unwind(|| drop(simulate(seed)));
        if std::env::var("FLOW_TIMES").is_ok() {
            println!("{seed} {:?}", began.elapsed());
        }
        if let Err(panic) = result {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            let source = drawing::draw(&mut Chance::new(seed));
            panic!("FLOW_SEED={seed}: {}\n{source}", text.unwrap_or_default());
        }
    }
}

fn simulate(seed: u64) -> World {
    let mut chance = Chance::new(seed);
    let source = drawing::draw(&mut chance);
    let mut world = World::new(&source, chance);
    let troubles = world.chance.up_to(300) + 30;
    for _ in 0..troubles {
        world.trouble();
    }
    world.come_to_an_end();
    world
}

#[test]
fn seeds_of_the_first_quarter() {
    run(0..700);
}

#[test]
fn seeds_of_the_second_quarter() {
    run(10_000..10_700);
}

#[test]
fn seeds_of_the_third_quarter() {
    run(20_000..20_700);
}

#[test]
fn seeds_of_the_fourth_quarter() {
    run(30_000..30_700);
}

#[test]
fn everything_that_can_happen_does() {
    let mut met = std::collections::BTreeSet::new();
    for seed in 0..1_500 {
        met.extend(simulate(seed).met);
    }
    let moves = flow::engine::StatusMove::ALL.map(|by| format!("{by:?}"));
    let events = "run_started run_paused run_resumed run_ended run_reopened task_created task_moved \
        assigned decided group_opened item_started item_ended item_reopened group_closed \
        group_reopened group_continued arrived came_late signalled run_moved";
    let holds = "Failed Asked Review LoopExhausted Budget Timeout Child";
    let wanted = events.split_whitespace().map(str::to_owned);
    let wanted = wanted.chain(holds.split(' ').map(|kind| format!("hold {kind}")));
    let others = ["kept while others went on", "held up by a rate"];
    let wanted = wanted.chain(others.map(str::to_owned));
    let missing: Vec<String> = wanted
        .chain(moves)
        .filter(|what| !met.contains(what))
        .collect();
    assert!(missing.is_empty(), "never met: {missing:?}");
}

#[test]
fn one_seed() {
    let seed = std::env::var("FLOW_SEED").ok();
    simulate(seed.and_then(|seed| seed.parse().ok()).unwrap_or(1));
}

#[test]
#[ignore = "soak: `cargo xtask soak` gives it fresh seeds"]
fn as_many_seeds_as_are_asked_for() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("FLOW_SEED").unwrap_or(100_000);
    run(first..first + number("FLOW_SEEDS").unwrap_or(1_000));
}
