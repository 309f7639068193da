//! The urgency of a task, from low to critical.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::users::invalid;

/// The urgency of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskUrgency {
    /// It can wait.
    Low,
    /// As usual.
    #[default]
    Normal,
    /// Before others.
    High,
    /// Now.
    Critical,
}

impl TaskUrgency {
    /// All of them, from least to most.
    pub const ALL: [TaskUrgency; 4] = [
        TaskUrgency::Low,
        TaskUrgency::Normal,
        TaskUrgency::High,
        TaskUrgency::Critical,
    ];

    /// Returns the word in the database, on the command line and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            TaskUrgency::Low => "low",
            TaskUrgency::Normal => "normal",
            TaskUrgency::High => "high",
            TaskUrgency::Critical => "critical",
        }
    }
}

impl FromStr for TaskUrgency {
    type Err = Error;

    fn from_str(text: &str) -> Result<TaskUrgency> {
        let mut all = TaskUrgency::ALL.into_iter();
        let found = all.find(|urgency| urgency.as_str() == text);
        found.ok_or_else(|| {
            let words = TaskUrgency::ALL.map(TaskUrgency::as_str).join(", ");
            invalid(format!("`{text}` is no urgency; choose one of {words}."))
        })
    }
}
