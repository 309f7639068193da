//! Lays out the released program, so that starting it touches little memory.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script is told its target by the environment and answers on stdout"
)]

use std::env::{var, var_os};
use std::fs;
use std::io;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=start.order");
    let is = |name: &str, wanted: &str| var(name).is_ok_and(|value| value == wanted);
    let released_for_linux = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("PROFILE", "release");
    if !released_for_linux {
        return Ok(());
    }
    // The functions that a plain run calls are placed together (`cargo xtask order` lists them). Only the linker that
    // rustc brings along on this architecture is known to take such a list.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && !has_other_linker() {
        let list = list_of_this_build()?;
        for argument in [
            format!("--symbol-ordering-file={}", list.display()),
            "--no-warn-symbol-ordering".to_owned(),
        ] {
            println!("cargo::rustc-link-arg-bins=-Xlinker");
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
    Ok(())
}

/// The list, copied to where this build keeps its things: what a build script said is remembered
/// in a build folder that several checkouts may share, and outlives the checkout that ran it.
fn list_of_this_build() -> io::Result<PathBuf> {
    let folder = var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let copy = PathBuf::from(folder).join("start.order");
    fs::copy("start.order", &copy)?;
    Ok(copy)
}

fn has_other_linker() -> bool {
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    var("RUSTC_LINKER").is_ok() || flags.contains("linker") || flags.contains("fuse-ld")
}
