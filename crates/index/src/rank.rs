//! Ranks files: by their importers, and by the focus of the reader.
//!
//! The order is fixed: first files that fit the [`IndexFocus`], then files with definitions before those
//! without, then by importance, then by path. Importance is the share of a reader who opens files
//! at random and follows imports (PageRank), so a file is important when important files need it.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{IndexedFile, SourceIndex, SourceLanguage};
use workspace::RelPath;

/// Probability that the reader follows an import rather than opening a random file.
const DAMPING: f64 = 0.85;
/// After so many rounds the order no longer changes in practice.
const ROUNDS: usize = 24;
/// The most imports between a given path and a file that still counts as near.
const NEAR_MAX: u32 = 2;
/// A word that occurs in more than this share of the files is ignored.
const WORD_SHARE_MAX: f64 = 0.25;
/// Shorter words are ignored.
const WORD_CHARS_MIN: usize = 3;

/// The focus of the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFocus {
    /// The folder that is shown; the root for all of the project.
    pub within: RelPath,
    /// Words that should occur in names: of files, folders and exports.
    pub words: Vec<String>,
    /// Files whose neighbours matter too.
    pub paths: Vec<RelPath>,
}

impl IndexFocus {
    /// Takes the words of a sentence; common ones are ignored when ranking.
    #[must_use]
    pub fn on(text: &str) -> Self {
        Self {
            words: words(text).collect(),
            ..Self::default()
        }
    }
}

impl Default for IndexFocus {
    /// No focus: ranks by importance alone.
    fn default() -> Self {
        Self {
            within: RelPath::root(),
            words: Vec::new(),
            paths: Vec::new(),
        }
    }
}

/// The importance of each file, by its imports.
#[expect(clippy::cast_precision_loss, reason = "counts of files are small")]
pub(super) fn importance(imports: &[Vec<u32>]) -> Vec<f64> {
    let count = imports.len().max(1) as f64;
    let mut shares = vec![1.0 / count; imports.len()];
    for _ in 0..ROUNDS {
        let lost: f64 = imports
            .iter()
            .zip(&shares)
            .filter(|(targets, _)| targets.is_empty())
            .map(|(_, share)| share)
            .sum();
        let given = (1.0 - DAMPING + DAMPING * lost) / count;
        let mut next = vec![given; imports.len()];
        for (targets, share) in imports.iter().zip(&shares) {
            let each = DAMPING * share / targets.len().max(1) as f64;
            for target in targets {
                next[*target as usize] += each;
            }
        }
        shares = next;
    }
    shares
}

impl SourceIndex {
    /// The places of all files that are shown, the one that matters most first.
    pub(super) fn ranked(&self, focus: &IndexFocus) -> Vec<usize> {
        let fit = self.fit(focus);
        let mut order: Vec<usize> = (0..self.files.len())
            .filter(|position| self.files[*position].path.is_within(&focus.within))
            .collect();
        order.sort_by(|a, b| {
            let by_fit = fit[*b].total_cmp(&fit[*a]);
            let by_class = class(&self.files[*a]).cmp(&class(&self.files[*b]));
            let by_importance = self.importance[*b].total_cmp(&self.importance[*a]);
            by_fit.then(by_class).then(by_importance).then(a.cmp(b))
        });
        order
    }

    /// Returns the fit of each file; zero for an unrelated one.
    fn fit(&self, focus: &IndexFocus) -> Vec<f64> {
        let mut fit = vec![0.0; self.files.len()];
        self.near(&focus.paths, &mut fit);
        let wanted: HashSet<String> = focus.words.iter().flat_map(|text| words(text)).collect();
        if wanted.is_empty() {
            return fit;
        }
        let matches: Vec<HashMap<&str, f64>> = self
            .files
            .iter()
            .map(|file| matched(file, &wanted))
            .collect();
        let mut order: Vec<&String> = wanted.iter().collect();
        order.sort_unstable();
        for word in order {
            let hits = matches.iter().filter(|it| it.contains_key(word.as_str()));
            #[expect(clippy::cast_precision_loss, reason = "counts of files are small")]
            let share = hits.count() as f64 / self.files.len().max(1) as f64;
            // In a project of few files every word occurs in a large share.
            if share > WORD_SHARE_MAX && self.files.len() > 20 {
                continue;
            }
            for (fit, matches) in fit.iter_mut().zip(&matches) {
                *fit += matches.get(word.as_str()).copied().unwrap_or(0.0);
            }
        }
        fit
    }

    /// Adds the score of the given files and their neighbours.
    fn near(&self, paths: &[RelPath], fit: &mut [f64]) {
        let mut distance: HashMap<usize, u32> = HashMap::new();
        let mut pending: VecDeque<usize> = VecDeque::new();
        let within = |dir: &RelPath| {
            let files = self.files.iter().enumerate();
            let inside = files.filter(|(_, file)| file.path.is_within(dir));
            inside.map(|(position, _)| position).collect::<Vec<_>>()
        };
        // A folder means the files in it.
        for position in paths.iter().flat_map(within) {
            if distance.insert(position, 0).is_none() {
                pending.push_back(position);
            }
        }
        while let Some(position) = pending.pop_front() {
            let next = distance.get(&position).copied().unwrap_or(0) + 1;
            if next > NEAR_MAX {
                continue;
            }
            let around = self.imports[position]
                .iter()
                .chain(&self.importers[position]);
            for neighbour in around.map(|id| *id as usize) {
                distance.entry(neighbour).or_insert_with(|| {
                    pending.push_back(neighbour);
                    next
                });
            }
        }
        for (position, distance) in distance {
            fit[position] += match distance {
                0 => 8.0,
                1 => 4.0,
                _ => 2.0,
            };
        }
    }
}

/// Sorts files with definitions before other code, and code before everything else.
fn class(file: &IndexedFile) -> u8 {
    match (file.language, file.exports.is_empty()) {
        (SourceLanguage::Other, _) => 2,
        (_, true) => 1,
        (_, false) => 0,
    }
}

/// Scores each wanted word for this file; a match in the file's name scores most.
fn matched<'w>(file: &IndexedFile, wanted: &'w HashSet<String>) -> HashMap<&'w str, f64> {
    let mut worth: HashMap<&'w str, f64> = HashMap::new();
    let mut note = |text: &str, value: f64| {
        for word in words(text) {
            let stem = word.strip_suffix('s').unwrap_or(&word);
            let found = wanted.get(&word).or_else(|| wanted.get(stem));
            if let Some(found) = found {
                let known = worth.entry(found).or_default();
                *known = known.max(value);
            }
        }
    };
    for (place, name) in file.path.names().rev().enumerate() {
        note(name, if place == 0 { 3.0 } else { 1.5 });
    }
    for export in &file.exports {
        note(&export.name, 2.0);
    }
    worth
}

/// Splits a text or a name into words, in lower case: `UserService` has two.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let pieces = text.split(|c: char| !c.is_alphanumeric());
    pieces.flat_map(|piece| {
        let mut found = Vec::new();
        let mut word = String::new();
        let mut was_lower = false;
        for c in piece.chars() {
            if c.is_uppercase() && was_lower {
                found.push(std::mem::take(&mut word));
            }
            was_lower = c.is_lowercase() || c.is_numeric();
            word.extend(c.to_lowercase());
        }
        found.push(word);
        found.retain(|word| word.chars().count() >= WORD_CHARS_MIN);
        found
    })
}
