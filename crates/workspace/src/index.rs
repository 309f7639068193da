//! The index of a project: what every file defines, how long it is, and who imports it.
//!
//! The stages: `language` reads the facts out of each text, `project` is what a resolver of
//! imports may look at, and the resolved imports make the graph.

mod language;
mod project;

pub use language::{Export, ExportKind, Language};
