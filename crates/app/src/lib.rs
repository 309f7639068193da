//! What a command needs from outside, resolved once: environment, clock, settings, project, kits.
//!
//! This crate is the door to the environment and the clock, and it wires the products together into
//! use cases. It never prints: each use case returns what happened, and the caller says it.

#![expect(
    clippy::disallowed_methods,
    reason = "app is the door to the environment and the clock"
)]

mod error;
mod surroundings;

pub mod ai;
pub mod builds;
pub mod demo;
pub mod doctor;
mod executors;
pub mod fetched;
mod ignoring;
pub mod import;
pub mod indexing;
pub mod init;
pub mod kit_refresh;
pub mod kits;
mod notices;
mod outbound;
pub mod people;
pub mod project;
pub mod recipes;
pub mod schedules;
pub mod settings;
pub mod tasks;
pub mod templates;
pub mod trust;
pub mod worker;
pub mod workflows;

pub use error::{Code, Error, Fault, Place};
pub use exec::Cancel;
pub use project::Project;
pub use prompt::nearest;
pub use settings::Settings;
pub use surroundings::{Surroundings, UserFolders};
