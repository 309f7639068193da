//! `cargo xtask order`: which functions a plain run calls, so that the linker can put them together.
//!
//! The kernel maps code in pieces of 64 KiB around what is called. Functions that are called stand
//! scattered over a program that can do much else, and so most of it was mapped for nothing. The list
//! is `crates/cli/start.order`; a name in it that no longer exists is ignored by the linker, so an
//! old list only does less.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::bench::scratch::Scratch;

const LIST: &str = "crates/cli/start.order";

/// The commands that people run most, and those of the generator benchmark.
const RUNS: [&str; 9] = [
    "init",
    "run hello World",
    "run hello Moon --dry-run",
    "run about Drawloom --ai-mode stdout",
    "run bench --count=3",
    "run bench --count=3 --force",
    "template render card.edge",
    "recipe list",
    "--help",
];

const CARD: &str =
    "@each(i in [1, 2])\n{{ i.toFixed(1) }} {{ 'a'.toUpperCase() }} {{ [i].join() }}\n@end\n";

pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let scratch = Scratch::open(root)?;
    let drawloom = build_with_names(root, &scratch)?;
    let project = scratch.fresh("order")?;
    std::fs::write(project.join("card.edge"), CARD)?;
    let mut names = BTreeSet::new();
    for words in RUNS {
        println!("tracing drawloom {words}");
        names.extend(functions_called(&drawloom, words, &project)?);
        if words == "init" {
            lay_recipe(root, &project)?;
        }
    }
    let list: String = names
        .iter()
        .flat_map(|name| [name.as_str(), "\n"])
        .collect();
    std::fs::write(root.join(LIST), list)?;
    println!("{} functions in {LIST}", names.len());
    Ok(ExitCode::SUCCESS)
}

/// The released program, but for its names, which a trace needs.
fn build_with_names(root: &Path, scratch: &Scratch) -> Result<std::path::PathBuf> {
    println!("building drawloom (dist, with names)");
    let status = Command::new("cargo")
        .args(["build", "--profile", "dist", "--locked", "--package", "cli"])
        .args(["--config", "profile.dist.package.cli.strip='none'"])
        .current_dir(root)
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "cargo build failed ({status})");
    Ok(scratch.target.join("dist/drawloom"))
}

fn lay_recipe(root: &Path, project: &Path) -> Result<()> {
    let (from, to) = (
        root.join("benches/generators/drawloom"),
        project.join(".drawloom/recipes/bench"),
    );
    std::fs::create_dir_all(to.join("templates"))?;
    for folder in ["", "templates"] {
        for entry in std::fs::read_dir(from.join(folder))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                std::fs::copy(entry.path(), to.join(folder).join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

/// The Rust functions that a run calls, by the names the linker knows.
fn functions_called(drawloom: &Path, words: &str, project: &Path) -> Result<BTreeSet<String>> {
    let trace = project.join("trace.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--demangle=no"])
        .arg(format!("--callgrind-out-file={}", trace.display()))
        .arg(drawloom)
        .args(words.split(' '))
        .current_dir(project)
        .output()
        .context("cannot run valgrind; install it (apt-get install valgrind) and run again")?;
    // 2 is "answers needed", which is what the run was for.
    ensure!(
        matches!(output.status.code(), Some(0 | 2)),
        "`drawloom {words}` failed under valgrind:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let trace = std::fs::read_to_string(trace)?;
    Ok(trace.lines().filter_map(rust_function).collect())
}

/// The name in a line such as `fn=(12) _ZN4expr…E'2`; the number after `'` counts recursion.
fn rust_function(line: &str) -> Option<String> {
    let (kind, name) = line.split_once(") ")?;
    let is_function = kind.starts_with("fn=(") || kind.starts_with("cfn=(");
    let name = name.split('\'').next()?;
    (is_function && (name.starts_with("_ZN") || name.starts_with("_R"))).then(|| name.to_owned())
}
