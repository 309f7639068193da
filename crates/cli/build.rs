//! Links the released program to a fixed address, so that starting it touches less memory.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script is told its target by the environment and answers on stdout"
)]

/// A position-independent program relocates every table of every crate when it starts, whether the
/// command at hand needs it or not. With TLS and SQL linked in, that is a tenth of what a plain run
/// may use.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("PROFILE", "release")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
