//! The maps stay true: ARCHITECTURE.md is short, and what the documents point at is there.

use super::finding::{Finding, Rule};
use super::tree::{TextFile, Tree};

const MAP: &str = "ARCHITECTURE.md";
const MAP_LINES_MAX: usize = 300;

/// A code span of the map that starts so is a path and must exist.
const TOP_FOLDERS: [&str; 5] = ["benches/", "crates/", "docs/", "fuzz/", "xtask/"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = check_map(tree).into_iter().collect();
    let documents = tree
        .files
        .iter()
        .filter(|file| file.extension() == "md" && !file.is_data());
    for file in documents {
        for (index, line) in prose_lines(&file.text) {
            let links = link_targets(line)
                .into_iter()
                .map(|link| resolve(&file.path, link));
            let mut named: Vec<Option<String>> = links.collect();
            if file.path == MAP {
                named.extend(path_spans(line).into_iter().map(|path| resolve("", path)));
            }
            let missing = named
                .into_iter()
                .flatten()
                .filter(|path| !tree.paths.contains(path));
            findings.extend(missing.map(|path| broken(file, index + 1, &path)));
        }
    }
    findings
}

fn check_map(tree: &Tree) -> Option<Finding> {
    let Some(map) = tree.file(MAP) else {
        return Some(Finding::new(
            MAP,
            1,
            Rule::Architecture,
            "write the map of the code",
        ));
    };
    let lines = map.text.lines().count();
    let advice = format!("{lines} lines; keep the map under {MAP_LINES_MAX}");
    (lines >= MAP_LINES_MAX).then(|| Finding::new(MAP, 1, Rule::Architecture, advice))
}

fn broken(file: &TextFile, line: usize, path: &str) -> Finding {
    let advice = format!("there is no `{path}`; mend the link or add the file");
    Finding::new(&file.path, line, Rule::BrokenLink, advice)
}

/// The lines outside fenced code, where a link is an example and not a link.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

fn link_targets(line: &str) -> Vec<&str> {
    let without_spans = line.split('`').step_by(2);
    let tails = without_spans.flat_map(|part| part.split("](").skip(1));
    tails
        .filter_map(|tail| tail.split_once(')').map(|(target, _)| target))
        .collect()
}

/// Code spans that name one file or folder; a pattern (`crates/*`) names none.
fn path_spans(line: &str) -> Vec<&str> {
    let spans = line.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| TOP_FOLDERS.iter().any(|top| span.starts_with(top));
    let is_plain = |span: &&str| !span.contains(['*', '{', '<', '…', ' ', ':']);
    spans.filter(is_path).filter(is_plain).collect()
}

/// The path from the root that `target` means in the document `from`; `None` for the outside world.
fn resolve(from: &str, target: &str) -> Option<String> {
    let path = target.split(['#', ' ', '?']).next().unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    Some(parts.join("/")).filter(|path| !path.is_empty())
}
