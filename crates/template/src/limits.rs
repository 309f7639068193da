//! The named limits of reading and rendering templates; each appears by name in its error.

/// Limits of one template and one render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The limits of the expressions of one render.
    pub expr: expr::Limits,
    /// Bytes of one template's text.
    pub template_bytes_max: usize,
    /// Tags and interpolations of one template.
    pub parts_max: usize,
    /// Blocks inside each other.
    pub blocks_nested_max: usize,
    /// Bytes one render may print.
    pub output_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            expr: expr::Limits::default(),
            template_bytes_max: 16 << 20,
            parts_max: 100_000,
            blocks_nested_max: 200,
            output_bytes_max: 64 << 20,
        }
    }
}
