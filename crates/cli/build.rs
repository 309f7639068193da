//! Lays out the released program, so that starting it touches little memory.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script is told its target by the environment and answers on stdout"
)]

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=start.order");
    let is = |name: &str, wanted: &str| var(name).is_ok_and(|value| value == wanted);
    let released_for_linux = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("PROFILE", "release");
    if !released_for_linux {
        return;
    }
    // A position-independent program relocates every table of every crate when it starts, whether
    // the command at hand needs it or not.
    println!("cargo::rustc-link-arg-bins=-no-pie");
    // What a plain run calls stands together (`cargo xtask order` lists it). Only the linker that
    // rustc brings along on this architecture is known to take such a list.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && !has_other_linker() {
        let folder = var("CARGO_MANIFEST_DIR").unwrap_or_default();
        for argument in [
            format!("--symbol-ordering-file={folder}/start.order"),
            "--no-warn-symbol-ordering".to_owned(),
        ] {
            println!("cargo::rustc-link-arg-bins=-Xlinker");
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

fn has_other_linker() -> bool {
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    var("RUSTC_LINKER").is_ok() || flags.contains("linker") || flags.contains("fuse-ld")
}
