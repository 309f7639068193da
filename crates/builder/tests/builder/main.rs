//! Build jobs against a scripted model over real HTTP, real git repositories and real commands.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build the projects and servers they work with"
)]

mod mortal;
mod test_builder;

mod building;
mod cancelling;
mod checking;
mod context;
mod detecting;
mod following;
mod judging;
mod links;
mod moving;
mod planning;
mod publishing;
mod repairing;
mod resuming;
mod reviewing;
mod task_types;

use testkit::{peer, scripted_model as scripted};
