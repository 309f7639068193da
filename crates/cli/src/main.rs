//! The binary `drawloom`.
fn main() {}
