//! Turns hygen's `_templates` into a kit.
//!
//! Each generator becomes a cookbook, each of its actions a recipe with one step per template.
//! EJS becomes Jig that prints the same bytes (`jig_printer.rs` says how); questions of `prompt.js` and
//! names that templates use become variables. What cannot be carried over is a warning with file and
//! line, and stays in the template as a comment. Nothing is read or written here.

mod action;
mod ejs;
mod ejs_tree;
mod hygen_frontmatter;
mod jig;
mod jig_printer;
mod loops;
mod module;
mod print;
mod prompts;
mod script;
mod script_analysis;
mod template;
mod variables;
mod write;

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A kit, and the parts that the user must convert by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HygenConversion {
    /// Paths below the kit's folder, and texts.
    pub files: Vec<(String, String)>,
    pub warnings: Vec<ConversionWarning>,
}

/// Something that was not carried over, or not exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionWarning {
    /// The path below `_templates`.
    pub file: String,
    /// Counted from one.
    pub line: u32,
    pub message: String,
}

/// Files of hygen and of operating systems that are no templates.
const IGNORED: [&str; 6] = [
    ".hygenignore",
    ".DS_Store",
    ".Spotlight-V100",
    ".Trashes",
    "ehthumbs.db",
    "Thumbs.db",
];

/// Files that ask, in the order in which hygen looks for them.
const HOOKS: [&str; 5] = [
    "index.js",
    "index.ts",
    "prompt.cjs",
    "prompt.js",
    "prompt.ts",
];

/// The action of a generator that is run when none is named.
const DEFAULT_ACTION: &str = "_default";

/// A file below `_templates`.
type HygenFile<'f> = (&'f str, &'f str);

/// Everything there is, for files that one template takes from another place.
struct HygenFiles<'f> {
    files: Vec<HygenFile<'f>>,
    /// Paths that a `from` names.
    taken: Vec<String>,
}

/// Converts files, given by their path below `_templates`, into a kit of that name.
pub fn convert(files: &[(String, String)], kit: &str) -> HygenConversion {
    let mut conversion = HygenConversion::default();
    let mut generators: BTreeMap<&str, BTreeMap<&str, Vec<HygenFile<'_>>>> = BTreeMap::new();
    let mut sorted: Vec<HygenFile<'_>> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    sorted.sort_by(|(left, _), (right, _)| in_order(left, right));
    for (path, text) in &sorted {
        let mut words = path.splitn(3, '/');
        if let (Some(generator), Some(action), Some(_)) = (words.next(), words.next(), words.next())
        {
            let actions = generators.entry(generator).or_default();
            actions.entry(action).or_default().push((*path, *text));
        }
    }
    let taken = sorted
        .iter()
        .filter_map(|(_, text)| template::taken(text))
        .collect();
    let sources = HygenFiles {
        files: sorted,
        taken,
    };
    for (path, _) in &sources.files {
        if path.matches('/').count() < 2 && !sources.taken.iter().any(|taken| taken == path) {
            conversion.warnings.push(ConversionWarning {
                file: (*path).to_owned(),
                line: 1,
                message: "this file belongs to no action; it was left out".to_owned(),
            });
        }
    }
    conversion
        .files
        .push(("kit.yml".to_owned(), write::kit(kit)));
    for (generator, actions) in &generators {
        let mut made = Vec::new();
        for (action, own) in actions {
            let recipe = action::convert((generator, action), own, &sources);
            conversion.warnings.extend(recipe.warnings);
            if !recipe.files.is_empty() {
                made.push(*action);
                conversion.files.extend(recipe.files);
            }
        }
        if !made.is_empty() {
            let default = made.contains(&DEFAULT_ACTION).then_some(DEFAULT_ACTION);
            let text = write::cookbook(generator, default);
            conversion
                .files
                .push((format!("{generator}/cookbook.yml"), text));
        }
    }
    conversion.files.sort();
    conversion
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Compares paths in the order in which hygen goes through files: that of JavaScript's
/// `localeCompare`.
fn in_order(left: &str, right: &str) -> Ordering {
    let key = |text: &str| text.chars().map(rank).collect::<Vec<_>>();
    // Small letters come before capital ones, but only when nothing else decides.
    let case = |text: &str| text.chars().map(char::is_uppercase).collect::<Vec<_>>();
    key(left)
        .cmp(&key(right))
        .then_with(|| case(left).cmp(&case(right)))
        .then_with(|| left.cmp(right))
}

fn rank(c: char) -> (u8, char) {
    const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    match PUNCTUATION.chars().position(|mark| mark == c) {
        Some(at) => (
            0,
            char::from_u32(u32::try_from(at).unwrap_or(0)).unwrap_or(c),
        ),
        None if c.is_ascii_digit() => (1, c),
        None if c.is_alphabetic() => (2, c.to_lowercase().next().unwrap_or(c)),
        None => (0, '\0'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_the_order_of_locale_compare() {
        // Sorted by node 20: ['b.t','a-b.t','a.t','A.t','a_b.t','ab.t','1.t','a/x.t'].sort(localeCompare)
        let mut names = [
            "b.t", "a-b.t", "a.t", "A.t", "a_b.t", "ab.t", "1.t", "a/x.t",
        ];
        names.sort_by(|left, right| in_order(left, right));
        assert_eq!(
            names,
            [
                "1.t", "a_b.t", "a-b.t", "a.t", "A.t", "a/x.t", "ab.t", "b.t"
            ]
        );
    }
}
