//! Recipes: a manifest, values and answers in; effects on a project out.

mod data;
mod error;
mod fields;
mod frontmatter;
mod inject;
pub mod manifest;
mod nearest;
mod regex;
mod variables;
mod yaml;

pub use error::{Diagnostic, Error, Kind, Place};
pub use variables::Given;
