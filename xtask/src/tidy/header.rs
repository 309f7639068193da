//! Every source file opens with a sentence that says what the file is for.

use super::finding::{Finding, Rule};
use super::tree::TextFile;

const WORDS_MIN: usize = 3;

pub(crate) fn check(file: &TextFile) -> Option<Finding> {
    let advice = complaint(&file.text)?;
    Some(Finding::new(&file.path, 1, Rule::NoSentence, advice))
}

fn complaint(text: &str) -> Option<&'static str> {
    let paragraph = first_paragraph(text);
    let starts_well = |c: char| c.is_uppercase() || c == '`';
    if paragraph.is_empty() {
        Some("open the file with a `//!` sentence that says what it is for")
    } else if !paragraph.starts_with(starts_well) {
        Some("start the opening sentence with a capital letter")
    } else if !(paragraph.ends_with('.') || paragraph.contains(". ")) {
        Some("end the opening sentence with a period before the first empty line")
    } else if paragraph.split_whitespace().count() < WORDS_MIN {
        Some("write a whole sentence: what is this file for?")
    } else {
        None
    }
}

fn first_paragraph(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let words: Vec<&str> = lines
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    words.join(" ")
}
