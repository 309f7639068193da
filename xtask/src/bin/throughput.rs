//! One in-process engine of `cargo xtask bench templates`: `throughput ENGINE TEMPLATE ITEMS OUTPUT`.
//!
//! Prints one JSON line with the fastest and the median render in microseconds.

fn main() {}
