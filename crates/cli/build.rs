//! Lays out the released program, so that starting it touches little memory.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script is told its target by the environment and answers on stdout"
)]

use std::env::var;
use std::fs;
use std::path::PathBuf;

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
        for argument in [
            format!("--symbol-ordering-file={}", list_of_this_build().display()),
            "--no-warn-symbol-ordering".to_owned(),
        ] {
            println!("cargo::rustc-link-arg-bins=-Xlinker");
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// The list, copied to where this build keeps its things: what a build script said is remembered
/// in a build folder that several checkouts may share, and outlives the checkout that ran it.
fn list_of_this_build() -> PathBuf {
    let copy = PathBuf::from(var("OUT_DIR").expect("cargo names the folder")).join("start.order");
    fs::copy("start.order", &copy).expect("the list of functions can be copied");
    copy
}

fn has_other_linker() -> bool {
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    var("RUSTC_LINKER").is_ok() || flags.contains("linker") || flags.contains("fuse-ld")
}
