//! Thousands of random workflows, run by workers that crash, stall, repeat themselves and come late,
//! on a clock that jumps. Everything follows from a seed; a failure prints it.
//!
//! `FLOW_SEED=123 cargo nextest run -p flow --test simulation one_seed` runs one of them again, and
//! `FLOW_SEEDS=100000 … long` as many as one has time for.
#![allow(
    clippy::disallowed_methods,
    reason = "a test reads its seed from the environment"
)]

mod chance;
mod drawing;
mod world;

use chance::Chance;
use world::World;

fn run(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let began = std::time::Instant::now();
        let result = std::panic::catch_unwind(|| simulate(seed));
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

fn simulate(seed: u64) {
    let mut chance = Chance::new(seed);
    let source = drawing::draw(&mut chance);
    let mut world = World::new(&source, chance);
    let troubles = world.chance.up_to(150) + 20;
    for _ in 0..troubles {
        world.trouble();
    }
    world.come_to_an_end();
}

#[test]
fn seeds_of_the_first_kind() {
    run(0..700);
}

#[test]
fn seeds_of_the_second_kind() {
    run(10_000..10_700);
}

#[test]
fn seeds_of_the_third_kind() {
    run(20_000..20_700);
}

#[test]
fn seeds_of_the_fourth_kind() {
    run(30_000..30_700);
}

#[test]
fn one_seed() {
    let seed = std::env::var("FLOW_SEED").ok();
    simulate(seed.and_then(|seed| seed.parse().ok()).unwrap_or(1));
}

#[test]
#[ignore = "as long as one has time for"]
fn long() {
    let seeds = std::env::var("FLOW_SEEDS").ok();
    let first = std::env::var("FLOW_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(100_000);
    run(first..first + seeds.and_then(|seeds| seeds.parse().ok()).unwrap_or(20_000));
}
