//! Which files matter: by who imports them, and by what one is looking for.
//!
//! The order is fixed: first what fits the [`Focus`], then what defines something before what does
//! not, then by importance, then by path. Importance is the share of a reader who opens files at
//! random and follows imports (PageRank), so a file is important when important files need it.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Index, IndexedFile, Language};
use crate::RelPath;

/// How often the reader follows an import rather than opening another file.
const DAMPING: f64 = 0.85;
/// After so many rounds the order no longer changes in practice.
const ROUNDS: usize = 24;
/// How many imports away from a given path a file is still near.
const NEAR_MAX: u32 = 2;
/// A word that fits more than this share of the files says nothing.
const WORD_SHARE_MAX: f64 = 0.25;
/// Shorter words say nothing.
const WORD_CHARS_MIN: usize = 3;

/// What one is looking for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Focus {
    /// The folder that is shown; the root for all of the project.
    pub within: RelPath,
    /// Words that should be in names: of files, folders and what they define.
    pub words: Vec<String>,
    /// Files whose neighbours matter too.
    pub paths: Vec<RelPath>,
}

impl Focus {
    /// The words of a sentence; those that say nothing are left out when ranking.
    #[must_use]
    pub fn on(text: &str) -> Self {
        Self {
            words: words(text).collect(),
            ..Self::default()
        }
    }
}

impl Default for Focus {
    /// On nothing: by importance alone.
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

impl Index {
    /// The places of all files that are shown, the one that matters most first.
    pub(super) fn ranked(&self, focus: &Focus) -> Vec<usize> {
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

    /// How well each file fits; zero for what has nothing to do with it.
    fn fit(&self, focus: &Focus) -> Vec<f64> {
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
            // In a project of a handful of files every word fits a large share.
            if share > WORD_SHARE_MAX && self.files.len() > 20 {
                continue;
            }
            for (fit, matches) in fit.iter_mut().zip(&matches) {
                *fit += matches.get(word.as_str()).copied().unwrap_or(0.0);
            }
        }
        fit
    }

    /// Adds what the given files and those around them are worth.
    fn near(&self, paths: &[RelPath], fit: &mut [f64]) {
        let mut distance: HashMap<usize, u32> = HashMap::new();
        let mut pending: VecDeque<usize> = VecDeque::new();
        let within = |dir: &RelPath| {
            let files = self.files.iter().enumerate();
            let inside = files.filter(|(_, file)| file.path.is_within(dir));
            inside.map(|(position, _)| position).collect::<Vec<_>>()
        };
        // A folder stands for the files in it.
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

/// What defines something comes before code that does not, and code before everything else.
fn class(file: &IndexedFile) -> u8 {
    match (file.language, file.exports.is_empty()) {
        (Language::Other, _) => 2,
        (_, true) => 1,
        (_, false) => 0,
    }
}

/// What each wanted word is worth in this file: most in the file's name.
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

/// The words of a text or a name, in lower case: `UserService` has two.
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
