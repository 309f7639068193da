//! `drawloom index`: what every file of a project defines, within a budget if there is one.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use app::indexing::{self, Indexed};
use clap::Args;
use clap::builder::styling::{AnsiColor, Style};
use serde_json::{Value, json};
use workspace::RelPath;
use workspace::index::{Extent, Focus, IndexedFile, Language, Selection};

use crate::exit::{Exit, Trouble};
use crate::output;
use crate::session::Session;

/// The widest column of paths that is kept straight.
const PATH_WIDTH_MAX: usize = 56;

/// Show what every file of the project defines, and how long it is
///
/// One line for each file: `path | exports | N lines`. What git ignores and what may not be read
/// (`agent.policy`) is left out. With a budget, the files that matter most are shown: those that fit
/// `--focus`, then those that much else is built on. Facts about files that have not changed are taken
/// from `.drawloom/cache`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom index
  drawloom index packages/api --budget 2000
  drawloom index --budget 800 --focus 'rate limit login'
  drawloom index --json | jq '.files[] | select(.importers == 0) | .path'")]
pub(crate) struct Index {
    /// The folder to show [default: all of the project]
    path: Option<PathBuf>,
    /// The most tokens to print (3.5 bytes each)
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    budget: Option<u32>,
    /// What you are looking for: words, or files of the project
    #[arg(long, value_name = "WORDS")]
    focus: Vec<String>,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl Index {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let indexed = indexing::index(&session.surroundings, self.path.as_deref())?;
        let focus = self.focus(&indexed);
        let budget = self.budget.and_then(|budget| usize::try_from(budget).ok());
        let selection = indexed.index.select(budget, &focus);
        if self.json {
            output::json(&as_json(&indexed, &selection))?;
            return Ok(Exit::Done);
        }
        if std::io::stdout().is_terminal() {
            output::styled(&as_table(&selection))?;
        } else {
            output::data(selection.to_string().as_bytes())?;
        }
        match (selection.shown.len(), selection.left_out) {
            (0, 0) => output::say("there is no file to show"),
            (0, _) => output::say("no line fits the budget; give `--budget` more tokens"),
            _ => {}
        }
        let unnameable = indexed.index.unnameable();
        if unnameable > 0 {
            output::say(format!(
                "left out for their names, with control characters or not UTF-8: {unnameable}"
            ));
        }
        // The process ends here; giving its memory back name by name would only take time.
        std::mem::forget(indexed);
        Ok(Exit::Done)
    }

    /// What is a file of the project is meant as one; everything else is words.
    fn focus(&self, indexed: &Indexed) -> Focus {
        let mut focus = Focus {
            within: indexed.part.clone(),
            ..Focus::default()
        };
        for text in &self.focus {
            let path = RelPath::parse(text).ok();
            match path.filter(|path| indexed.index.file(path).is_some()) {
                Some(path) => focus.paths.push(path),
                None => focus.words.push(text.clone()),
            }
        }
        focus
    }
}

fn as_table(selection: &Selection<'_>) -> String {
    let dimmed = Style::new().dimmed();
    let file_style = AnsiColor::Cyan.on_default();
    let test_style = AnsiColor::Magenta.on_default();
    let shown = &selection.shown;
    let wide = |text: &str| text.chars().count();
    let widths = shown.iter().map(|(file, _)| wide(file.path.as_str()));
    let path_width = widths.max().unwrap_or(0).min(PATH_WIDTH_MAX);
    let extents = shown.iter().map(|(file, _)| wide(&file.extent.to_string()));
    let extent_width = extents.max().unwrap_or(0);
    let mut text = String::new();
    for (file, names) in shown {
        let path = file.path.as_str();
        let cut = path.rfind('/').map_or(0, |cut| cut + 1);
        let (dir, name) = path.split_at(cut);
        let style = if file.is_test { test_style } else { file_style };
        let pad = " ".repeat(path_width.saturating_sub(wide(path)));
        let extent = format!("{:>extent_width$}", file.extent.to_string());
        text.push_str(&format!(
            "{dimmed}{dir}{dimmed:#}{style}{name}{style:#}{pad}  {dimmed}{extent}{dimmed:#}  {names}\n"
        ));
    }
    if selection.left_out > 0 {
        text.push_str(&format!(
            "{dimmed}… {} more left out{dimmed:#}\n",
            selection.left_out
        ));
    }
    text
}

fn as_json(indexed: &Indexed, selection: &Selection<'_>) -> Value {
    let files: Vec<Value> = selection
        .shown
        .iter()
        .map(|(file, _)| file_json(indexed, file))
        .collect();
    json!({
        "root": indexed.folder,
        "files": files,
        "left_out": selection.left_out,
        "unnameable": indexed.index.unnameable(),
    })
}

fn file_json(indexed: &Indexed, file: &IndexedFile) -> Value {
    let around = indexed.index.neighbours(&file.path);
    let (lines, bytes) = match file.extent {
        Extent::Lines(lines) => (Some(lines), None),
        Extent::Bytes(bytes) => (None, Some(bytes)),
    };
    json!({
        "path": file.path,
        "language": language(file.language),
        "test": file.is_test,
        "lines": lines,
        "bytes": bytes,
        "exports": file.exports,
        "imports": around.imports,
        "importers": around.importers.len(),
    })
}

fn language(language: Language) -> &'static str {
    match language {
        Language::JavaScript => "javascript",
        Language::Rust => "rust",
        Language::Python => "python",
        Language::Go => "go",
        Language::Java => "java",
        Language::C => "c",
        Language::Other => "other",
    }
}
