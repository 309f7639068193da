//! The values of a run: what was given, typed by what was declared.

mod given;
mod value;

pub use given::Given;
pub(crate) use given::assign;
pub(crate) use value::{checked, typed};
