//! The developers' own commands: `cargo xtask tidy`, `cargo xtask order` and `cargo xtask bench`.
//!
//! Nothing here ships. Each command is one module; this file only reads the command line.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a developers' tool is its own door to files, processes and the terminal"
)]

mod bench;
mod limits;
mod matrix;
mod order;
mod sbom;
mod soak;
mod structure;
mod tidy;
mod vocabulary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  tidy              check the arrow table, opening sentences, sizes, names and text files
  vocabulary        count one-word types, shared names and idioms; tidy refuses an increase
  structure         count spread types, hidden parameters and unused public items; tidy refuses an increase
  matrix            every toolchain in every sandbox, with Maven and public projects
  order             list the functions a plain run calls, for the linker to put together
  sbom              list everything the program is made of, as a CycloneDX document
  bench agent       what a turn of the agent loop costs, with a conversation of one megabyte
  bench generators  drawloom beside hygen, plop, copier and cookiecutter: CPU and memory
  bench index       drawloom's index beside ctags, madge, dependency-cruiser and aider's map
  bench pages [[quick] --drawloom PATH]
                    bytes and CPU of each page with 100 000 runs in the database; with `quick` a hundredth
                    of them, to see that all of it works; with a PATH that program instead of a fresh build
  bench sandbox [--drawloom PATH]
                    a command that does nothing in a project of 5 000 files, with and without each kind
                    of sandbox; with a PATH that program builds them instead of this one
  bench search      drawloom's search beside ripgrep on a tree of 5 000 files
  bench templates   drawloom's template engine beside edge.js and minijinja, in process
  bench workflows [quick] [ours] [--drawloom PATH]
                    drawloom's workflows beside Restate, LangGraph, DBOS and the floor; with `quick`
                    a tenth of it with development builds, to see that all of it works; with `ours`
                    only drawloom and the floor; with a PATH that program instead of a fresh build
  soak [MINUTES] [PART]
                    simulations with fresh seeds, and workers and their server killed in loops, for
                    30 minutes if none are given; PART is simulation, sqlite, postgres or races
";

fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // Names another program as the one that builds sandboxes, before this one names itself.
    if let [bench, sandbox, flag, path] = words.as_slice()
        && [bench, sandbox, flag] == ["bench", "sandbox", "--drawloom"]
    {
        exec::sandbox::use_stages_of(path);
    }
    exec::sandbox::serve_stages();
    let root = workspace_root()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["tidy"] => tidy::run(&root),
        ["vocabulary"] => vocabulary::run(&root),
        ["structure"] => structure::run(&root),
        ["matrix"] => matrix::run(&root),
        ["order"] => order::run(&root),
        ["sbom"] => sbom::run(&root),
        ["bench", "agent"] => bench::agent::run(&root),
        ["bench", "generators"] => bench::generators::run(&root),
        ["bench", "index"] => bench::index::run(&root),
        ["bench", "pages", words @ ..] => bench::pages::run(&root, words),
        ["bench", "sandbox"] => bench::sandbox::run(),
        ["bench", "sandbox", "--drawloom", _] => bench::sandbox::run(),
        ["bench", "search"] => bench::search::run(&root),
        ["bench", "templates"] => bench::templates::run(&root),
        ["bench", "workflows", words @ ..] => bench::workflows::run(&root, words),
        ["soak", words @ ..] => soak::run(&soak::Wish::read(words)?),
        _ => {
            print!("{USAGE}");
            Ok(ExitCode::from(64))
        }
    }
}

/// xtask lives one level below the root, wherever the checkout is. Asked when run, not when built:
/// several checkouts may share a build folder.
fn workspace_root() -> Result<PathBuf> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").context("run me as `cargo xtask`")?;
    Ok(Path::new(&folder)
        .parent()
        .context("xtask must be in a folder of the workspace")?
        .to_owned())
}
