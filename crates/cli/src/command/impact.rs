//! `drawloom impact`: who imports a file, however many files are in between, and which tests to run.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use app::indexing::{self, ReachedFiles};
use clap::Args;
use clap::builder::styling::{AnsiColor, Style};
use index::ImpactedFile;
use serde_json::{Value, json};
use workspace::RelPath;

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// The widest aligned column of paths.
const PATH_WIDTH_MAX: usize = 64;
/// Number of files that a sentence names.
const NAMED_MAX: usize = 5;

/// Show what a change affects, and which tests to run
///
/// Follows imports backwards from the given files: the files that import them, the files that
/// import those, and so on. Specifiers are resolved as the language does it, with extensions and
/// index files, `tsconfig.json` paths, packages of the workspace, modules and includes. Tests are
/// listed separately.
///
/// A folder means the files in it. For a deleted or renamed file, the command shows the files that
/// still import it, and those that import it under its new name. Files that were never committed,
/// or are not in the index, are left out with a note.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom impact src/user.ts
  drawloom impact src/user.ts src/session.ts --depth 1
  drawloom impact packages/core
  git diff --name-only | xargs drawloom impact --json")]
pub(crate) struct ImpactArgs {
    /// The files that change, or folders of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Maximum distance in imports; 1 shows only direct importers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl ImpactArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let depth_max = self.depth.unwrap_or(u32::MAX);
        let (_, reached) = indexing::impact(&session.surroundings, &self.files, depth_max)?;
        if self.json {
            output::json(&as_json(&reached))?;
            return Ok(CliExit::Done);
        }
        for error in &reached.left_out {
            output::say(format!("left out: {error}"));
        }
        if !reached.gone.is_empty() {
            let names = named(&reached.gone);
            output::say(format!(
                "no longer there, and still imported if listed: {names}"
            ));
        }
        if reached.impact.is_empty() {
            output::say(format!("nothing imports {}", named(&reached.changed)));
        } else if std::io::stdout().is_terminal() {
            output::styled(&as_table(&reached))?;
        } else {
            output::data(as_lines(&reached).as_bytes())?;
        }
        Ok(CliExit::Done)
    }
}

/// Lists the files by name, if they are few.
fn named(paths: &[RelPath]) -> String {
    if paths.len() > NAMED_MAX {
        return format!("the {} files from elsewhere", paths.len());
    }
    let names: Vec<&str> = paths.iter().map(RelPath::as_str).collect();
    names.join(", ")
}

/// Formats lines for programs: `path | depth N | via PATH`, and ` | test` for tests.
fn as_lines(reached: &ReachedFiles) -> String {
    let mut text = String::new();
    let lists = [
        (&reached.impact.files, ""),
        (&reached.impact.tests, " | test"),
    ];
    for (list, mark) in lists {
        for it in list {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{} | depth {} | via {}{mark}",
                it.path, it.depth, it.via
            );
        }
    }
    text
}

fn as_table(reached: &ReachedFiles) -> String {
    let heading = AnsiColor::Green.on_default().bold();
    let impact = &reached.impact;
    let all = || impact.files.iter().chain(&impact.tests);
    let widths = all().map(|it| it.path.as_str().chars().count());
    let width = widths.max().unwrap_or(0).min(PATH_WIDTH_MAX);
    let sections = [
        (counted(impact.files.len(), "file"), &impact.files),
        (
            format!("{} to run", counted(impact.tests.len(), "test")),
            &impact.tests,
        ),
    ];
    let mut text = String::new();
    for (title, list) in sections.iter().filter(|(_, list)| !list.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{heading}{title}{heading:#}");
        text.extend(list.iter().map(|it| row(it, width)));
    }
    text
}

fn row(it: &ImpactedFile, width: usize) -> String {
    let dimmed = Style::new().dimmed();
    let style = match it.depth {
        1 => AnsiColor::Yellow.on_default(),
        _ => Style::new(),
    };
    let (depth, path) = (it.depth, it.path.as_str());
    let line = format!("{dimmed}{depth:>3}{dimmed:#}  {style}{path}{style:#}");
    let pad = " ".repeat(width.saturating_sub(path.chars().count()));
    match depth {
        1 => format!("{line}\n"),
        _ => format!("{line}{pad}  {dimmed}via {}{dimmed:#}\n", it.via),
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

fn as_json(reached: &ReachedFiles) -> Value {
    let list = |list: &[ImpactedFile]| -> Vec<Value> {
        let entry =
            |it: &ImpactedFile| json!({ "path": it.path, "depth": it.depth, "via": it.via });
        list.iter().map(entry).collect()
    };
    json!({
        "changed": reached.changed,
        "gone": reached.gone,
        "files": list(&reached.impact.files),
        "tests": list(&reached.impact.tests),
        "left_out": reached.left_out.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
