//! The form of text files: newlines, white space, and no path of the machine that wrote them.

use super::finding::{Finding, Rule};
use super::tree::TextFile;

/// Extensions whose lines carry no white space at their end.
const TRIMMED: [&str; 3] = ["rs", "md", "toml"];

// tidy: allow machine-path, because this is the list of forbidden texts
const MACHINE_FOLDERS: [&str; 3] = ["/work/", "/root/", "/tmp/bash_jobs"];

pub(crate) fn check(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !file.is_data() && !file.allowances.has(Rule::TextForm) {
        check_form(file, &mut findings);
    }
    if !file.allowances.has(Rule::MachinePath) {
        check_paths(file, &mut findings);
    }
    findings
}

fn check_form(file: &TextFile, findings: &mut Vec<Finding>) {
    let mut report = |line, advice: &str| {
        findings.push(Finding::new(&file.path, line, Rule::TextForm, advice));
    };
    let is_trimmed = TRIMMED.contains(&file.extension());
    let is_rust = file.extension() == "rs";
    for (index, line) in file.text.split('\n').enumerate() {
        if is_trimmed && line.ends_with(char::is_whitespace) {
            report(index + 1, "remove the white space at the end of the line");
        }
        if is_rust && line.contains('\t') {
            report(
                index + 1,
                "write spaces, and `\\t` inside strings, not a tab",
            );
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        report(file.text.lines().count(), "end the file with a newline");
    }
}

fn check_paths(file: &TextFile, findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        let found = MACHINE_FOLDERS
            .iter()
            .find(|folder| names_folder(line, folder));
        if let Some(folder) = found {
            let advice = format!("`{folder}` is a path of one machine; write a relative one");
            findings.push(Finding::new(
                &file.path,
                index + 1,
                Rule::MachinePath,
                advice,
            ));
        }
    }
}

/// Tells whether `folder` is the start of an absolute path on this line, not a part of a longer
/// one.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "._-*})>]".contains(c)))
    })
}
