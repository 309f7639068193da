//! The index as text: `path | exports | N lines`, whole lines only, within a budget of tokens.

use std::fmt::Write as _;

use diagnostics::{bytes_of_tokens, tokens_of_bytes};

use super::rank::IndexFocus;
use super::{FileExtent, IndexedFile, SourceIndex};

/// The largest part of a budget that one line may take; the rest of a long list of names is only
/// counted.
const LINE_SHARE_MAX: usize = 8;
/// However small the budget, so much of a list of names is shown.
const NAMES_BYTES_MIN: usize = 120;

/// The files that fit a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSelection<'i> {
    /// The shown files, in tree order, each with its names as text.
    pub shown: Vec<(&'i IndexedFile, String)>,
    /// Number of files left out.
    pub left_out: usize,
}

impl SourceIndex {
    /// Selects the most important files that together take no more than `budget` tokens as text;
    /// all of them without a budget.
    #[must_use]
    pub fn select(&self, budget: Option<usize>, focus: &IndexFocus) -> FileSelection<'_> {
        let Some(budget) = budget else {
            let files = self.files.iter();
            let files = files.filter(|file| file.path.is_within(&focus.within));
            return FileSelection {
                shown: files.map(|file| (file, names(file, usize::MAX))).collect(),
                left_out: 0,
            };
        };
        let names_max = (bytes_of_tokens(budget) / LINE_SHARE_MAX).max(NAMES_BYTES_MIN);
        let order = self.ranked(focus);
        let mut chosen = Vec::new();
        // Reserves room for the sentence about omitted files first.
        let mut spent = note(order.len()).len();
        for position in &order {
            let file = &self.files[*position];
            let names = names(file, names_max);
            let cost = line(file, &names).len() + 1;
            if tokens_of_bytes(spent + cost) > budget {
                break;
            }
            spent += cost;
            chosen.push((file, names));
        }
        let left_out = order.len() - chosen.len();
        chosen.sort_unstable_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        FileSelection {
            shown: chosen,
            left_out,
        }
    }

    /// The selection as text, a line for each file, and how many were left out at the end.
    #[must_use]
    pub fn render(&self, budget: Option<usize>, focus: &IndexFocus) -> String {
        self.select(budget, focus).to_string()
    }
}

impl std::fmt::Display for FileSelection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (file, names) in &self.shown {
            for part in [file.path.as_str(), " | ", names, " | "] {
                f.write_str(part)?;
            }
            writeln!(f, "{}", file.extent)?;
        }
        match self.left_out {
            0 => Ok(()),
            left_out => f.write_str(&note(left_out)),
        }
    }
}

impl std::fmt::Display for FileExtent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lines(1) => f.write_str("1 line"),
            Self::Lines(lines) => write!(f, "{lines} lines"),
            Self::Bytes(bytes @ ..1024) => write!(f, "{bytes} B"),
            Self::Bytes(bytes @ ..1_048_576) => write!(f, "{} kB", bytes / 1024),
            Self::Bytes(bytes) => write!(f, "{} MB", bytes / 1_048_576),
        }
    }
}

fn line(file: &IndexedFile, names: &str) -> String {
    format!("{} | {names} | {}", file.path, file.extent)
}

/// Returns the names a file exports, as many as fit; `-` for none.
fn names(file: &IndexedFile, bytes_max: usize) -> String {
    if file.exports.is_empty() {
        return "-".to_owned();
    }
    let mut text = String::new();
    for (shown, export) in file.exports.iter().enumerate() {
        if shown > 0 && text.len() + export.name.len() + 2 > bytes_max {
            // Writing to a String cannot fail.
            let _ = write!(text, ", +{} more", file.exports.len() - shown);
            break;
        }
        if shown > 0 {
            text.push_str(", ");
        }
        text.push_str(&export.name);
    }
    text
}

fn note(left_out: usize) -> String {
    let files = if left_out == 1 { "file" } else { "files" };
    format!("… {left_out} more {files} left out\n")
}
