//! Our search as a program, for `cargo xtask bench search`: `searching ROOT PATTERN RESULTS_MAX`.
//!
//! Prints `path:number:line` as ripgrep does, so that both do the same work and
//! their answers can be compared.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use workspace::{AccessPolicy, ContentQuery, Limits, Workspace};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [root, pattern, results_max] = words.as_slice() else {
        bail!("usage: searching ROOT PATTERN RESULTS_MAX");
    };
    let space = Workspace::open(Path::new(root), AccessPolicy::default(), Limits::default())?;
    let query = ContentQuery {
        results_max: results_max.parse()?,
        ..ContentQuery::new(pattern)
    };
    let found = space.search(&query)?;
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    for file in &found.files {
        for line in &file.lines {
            writeln!(output, "{}:{}:{}", file.path, line.number, line.text)?;
        }
    }
    Ok(output.flush()?)
}
