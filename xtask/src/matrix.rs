//! `cargo xtask matrix`: the toolchains that do not come from a registry of packages, in every sandbox,
//! and public projects from a sentence to a green build.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};

/// Debian's packages with which `mvn -o test` works without a network.
const MAVEN_PACKAGES: [&str; 5] = [
    "maven-debian-helper",
    "libmaven-compiler-plugin-java",
    "libmaven-resources-plugin-java",
    "libsurefire-java",
    "junit4",
];
/// A file that the packages bring.
const MAVEN_SETTINGS: &str = "/etc/maven/settings-debian.xml";

/// Installs what is missing and runs every cell of the matrix, the slow ones included.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    if !Path::new(MAVEN_SETTINGS).exists() {
        println!("installing {} with apt-get", MAVEN_PACKAGES.join(" "));
        let is_root = Command::new("id").arg("-u").output()?.stdout == b"0\n";
        let mut command = match is_root {
            true => Command::new("apt-get"),
            false => {
                let mut sudo = Command::new("sudo");
                sudo.arg("apt-get");
                sudo
            }
        };
        command.args(["install", "-y", "-qq", "--no-install-recommends"]);
        command.args(MAVEN_PACKAGES);
        let status = command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status()
            .context("apt-get is missing; install Debian's Maven plugins by hand")?;
        ensure!(status.success(), "apt-get ended with {status}");
    }
    let status = Command::new("cargo")
        .current_dir(root)
        .args(["test", "--package", "cli", "--test", "toolchains"])
        .args(["--features", "matrix", "--", "--test-threads", "2"])
        .status()?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
