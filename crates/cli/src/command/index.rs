//! `drawloom index`: what every file of a project defines, within a budget if there is one.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use app::indexing::{self, IndexedFolder};
use clap::Args;
use clap::builder::styling::{AnsiColor, Style};
use index::{FileExtent, FileSelection, IndexFocus, IndexedFile, SourceLanguage};
use serde_json::{Value, json};
use workspace::RelPath;

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// The widest aligned column of paths.
const PATH_WIDTH_MAX: usize = 56;

/// Show the exports and the length of every file of the project
///
/// One line for each file: `path | exports | N lines`. Files that git ignores or that may not be
/// read (`agent.policy`) are left out. With a budget, the most important files are shown: those
/// that match `--focus`, then those that many others import. Facts about unchanged files come from
/// `.drawloom/cache`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom index
  drawloom index packages/api --budget 2000
  drawloom index --budget 800 --focus 'rate limit login'
  drawloom index --json | jq '.files[] | select(.importers == 0) | .path'")]
pub(crate) struct IndexArgs {
    /// The folder to show [default: all of the project]
    path: Option<PathBuf>,
    /// Maximum number of tokens to print (3.5 bytes each)
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    budget: Option<u32>,
    /// Words or files of the project to rank the list by
    #[arg(long, value_name = "WORDS")]
    focus: Vec<String>,
    /// Print the result as one JSON document
    #[arg(long)]
    json: bool,
}

impl IndexArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let indexed = indexing::index(&session.surroundings, self.path.as_deref())?;
        let focus = self.focus(&indexed);
        let budget = self.budget.and_then(|budget| usize::try_from(budget).ok());
        let selection = indexed.index.select(budget, &focus);
        if self.json {
            output::json(&as_json(&indexed, &selection))?;
            return Ok(CliExit::Done);
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
        Ok(CliExit::Done)
    }

    /// Reads the focus: a word that names a file of the project means the file; everything else is
    /// a search word.
    fn focus(&self, indexed: &IndexedFolder) -> IndexFocus {
        let mut focus = IndexFocus {
            within: indexed.part.clone(),
            ..IndexFocus::default()
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

fn as_table(selection: &FileSelection<'_>) -> String {
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

fn as_json(indexed: &IndexedFolder, selection: &FileSelection<'_>) -> Value {
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

fn file_json(indexed: &IndexedFolder, file: &IndexedFile) -> Value {
    let around = indexed.index.neighbours(&file.path);
    let (lines, bytes) = match file.extent {
        FileExtent::Lines(lines) => (Some(lines), None),
        FileExtent::Bytes(bytes) => (None, Some(bytes)),
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

fn language(language: SourceLanguage) -> &'static str {
    match language {
        SourceLanguage::JavaScript => "javascript",
        SourceLanguage::Rust => "rust",
        SourceLanguage::Python => "python",
        SourceLanguage::Go => "go",
        SourceLanguage::Java => "java",
        SourceLanguage::C => "c",
        SourceLanguage::Other => "other",
    }
}
