//! The named limits of one evaluation; each appears by name in the error it causes.

/// Limits of one evaluation, or of one render, which shares a [`crate::EvalContext`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units of work: one per evaluated node or built-in step, plus one per 16 bytes produced.
    pub fuel_max: u64,
    /// Nested calls, includes and expressions.
    pub depth_max: u32,
    /// Bytes in one string.
    pub string_bytes_max: usize,
    /// Elements in one array, map, set or object.
    pub items_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel_max: 20_000_000,
            depth_max: 400,
            string_bytes_max: 16 << 20,
            items_max: 1_000_000,
        }
    }
}
