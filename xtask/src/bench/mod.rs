//! Benchmarks that run others' tools beside ours on the same job, in one run, and judge the ratios.
//!
//! Absolute times belong to the machine; ratios within one run belong to the programs. So each tool runs
//! in turn, round after round, and the goals are ratios wherever there is something to compare with.

pub(crate) mod agent;
pub(crate) mod generators;
pub(crate) mod index;
pub(crate) mod pages;
pub(crate) mod sandbox;
pub(crate) mod search;
pub(crate) mod templates;
pub(crate) mod workflows;

mod goals;
mod jobs;
mod measure;
pub(crate) mod scratch;
