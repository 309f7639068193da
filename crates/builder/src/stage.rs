//! The stages of a job, one file each. [`crate::run`] names them in order; none calls another.

pub(crate) mod generating;
pub(crate) mod planning;
pub(crate) mod publishing;
pub(crate) mod repairing;
pub(crate) mod reviewing;
pub(crate) mod saving;
pub(crate) mod validating;
