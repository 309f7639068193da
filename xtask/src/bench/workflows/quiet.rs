//! Checks whether the machine is quiet enough for measurements.

/// More than this and others have a share of what is measured.
const LOAD_MAX: f64 = 0.7;

/// Says so if the machine is not quiet. Measuring goes on: ratios within a run bear some noise.
pub(super) fn warn() {
    match load() {
        Some(load) if load > LOAD_MAX => println!(
            "WARNING: the load is {load:.2} (more than {LOAD_MAX}): others are at work here, and \
             the figures are theirs, too"
        ),
        Some(load) => println!("the load is {load:.2}: quiet"),
        None => println!("WARNING: how busy the machine is, it does not say"),
    }
}

/// The average of the last minute.
fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
