//! The values of a run: the given words, converted to the declared types.

mod given_values;
mod value;

pub use given_values::GivenValues;
pub(crate) use given_values::assign;
pub(crate) use value::{checked, typed};
