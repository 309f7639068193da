//! The words after a recipe's name: drawloom's own options, and the recipe's arguments.
//!
//! A recipe declares its own variables, so `--anything value` after its name may be one of them and
//! clap cannot know. Words that clap does not know are kept in order and read once the recipe is
//! loaded.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

use crate::exit::CliError;

/// A command line taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitLine {
    /// Words that clap reads.
    pub(crate) known: Vec<OsString>,
    /// Words that the recipe reads: values, and options that drawloom does not have.
    pub(crate) given: Vec<String>,
    /// `--help` came after the recipe's name and asks about the recipe.
    pub(crate) wants_recipe_help: bool,
    /// The long names of drawloom's own options behind the command.
    pub(crate) own_options: Vec<String>,
}

/// The long options after the recipe's name that are drawloom's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnOptions<'n> {
    /// All that drawloom has.
    All,
    /// All but these, which the recipe declares: behind its name they are its own.
    AllBut(&'n [String]),
    /// Only the one that says where the project is: the recipe is not known yet.
    Place,
}

impl OwnOptions<'_> {
    fn has(self, long: &str) -> bool {
        match self {
            OwnOptions::All => true,
            OwnOptions::AllBut(names) => !names.iter().any(|name| name == long),
            OwnOptions::Place => long == PLACE,
        }
    }
}

/// The option that every command line may have and that no recipe can take.
pub(crate) const PLACE: &str = "cwd";

/// Takes the command line apart; `root` is the whole clap tree.
pub(crate) fn split(
    words: Vec<OsString>,
    root: &Command,
    own: OwnOptions<'_>,
) -> Result<SplitLine, CliError> {
    let Some((start, command)) = find_run(&words, root) else {
        return Ok(SplitLine {
            known: words,
            ..SplitLine::default()
        });
    };
    let options = Options { root, command };
    let mut words = words.into_iter();
    let mut split = SplitLine {
        known: words.by_ref().take(start).collect(),
        ..SplitLine::default()
    };
    let mut has_recipe = false;
    while let Some(word) = words.next() {
        let text = word.to_str();
        let kind = match options.kind(&word) {
            WordKind::Known { .. } if has_recipe && !own.has(long_name(text)) => WordKind::Other,
            kind => kind,
        };
        match kind {
            WordKind::Known { takes_next } => {
                split.own_options.push(long_name(text).to_owned());
                split.known.push(word);
                split
                    .known
                    .extend(words.by_ref().take(usize::from(takes_next)));
            }
            WordKind::Help if has_recipe => split.wants_recipe_help = true,
            WordKind::End if has_recipe => {
                split.given.push(unicode(word)?);
                for rest in words.by_ref() {
                    split.given.push(unicode(rest)?);
                }
            }
            WordKind::Other if has_recipe => split.given.push(unicode(word)?),
            WordKind::Help | WordKind::End | WordKind::Other => {
                has_recipe = text.is_none_or(|text| !text.starts_with('-'));
                split.known.push(word);
            }
        }
    }
    Ok(split)
}

/// Returns `name` of `--name` and of `--name=value`.
fn long_name(word: Option<&str>) -> &str {
    let name = word.and_then(|word| word.strip_prefix("--"));
    let name = name.unwrap_or_default();
    name.split_once('=').map_or(name, |(name, _)| name)
}

/// True if the command of this line is in the tree and takes a recipe's values.
pub(crate) fn takes_values(words: &[OsString], root: &Command) -> bool {
    find_run(words, root).is_some()
}

/// Finds the words after `run`, `recipe run` or `update`, and the clap command they belong to.
fn find_run<'a>(words: &[OsString], root: &'a Command) -> Option<(usize, &'a Command)> {
    let options = Options {
        root,
        command: root,
    };
    let mut command = root;
    let mut at = 1;
    while at < words.len() {
        if let WordKind::Known { takes_next } = options.kind(&words[at]) {
            at += 1 + usize::from(takes_next);
            continue;
        }
        let above = command.get_name();
        command = command.find_subcommand(&words[at])?;
        at += 1;
        // `task run` and `plan run` have options of their own only.
        let is_first = above == root.get_name();
        let takes_values = match command.get_name() {
            "run" => is_first || above == "recipe",
            "update" => is_first,
            _ => false,
        };
        if takes_values {
            return Some((at, command));
        }
    }
    None
}

enum WordKind {
    /// An option clap knows; `takes_next` when its value is the next word.
    Known {
        takes_next: bool,
    },
    Help,
    /// `--`
    End,
    Other,
}

/// The options that clap accepts at a place: the command's own and the global ones.
struct Options<'a> {
    root: &'a Command,
    command: &'a Command,
}

impl Options<'_> {
    fn kind(&self, word: &OsStr) -> WordKind {
        let Some(text) = word.to_str() else {
            return WordKind::Other;
        };
        match text {
            "--" => return WordKind::End,
            "--help" | "-h" => return WordKind::Help,
            _ => {}
        }
        let (name, has_value) = match text.split_once('=') {
            Some((name, _)) => (name, true),
            None => (text, false),
        };
        match self.find(name) {
            Some(option) => WordKind::Known {
                takes_next: option.get_action().takes_values() && !has_value,
            },
            None => WordKind::Other,
        }
    }

    fn find(&self, name: &str) -> Option<&Arg> {
        let own = self.command.get_arguments();
        let global = self
            .root
            .get_arguments()
            .filter(|option| option.is_global_set());
        own.chain(global)
            .find(|option| match name.strip_prefix("--") {
                Some(long) => option.get_long() == Some(long),
                None => {
                    let short = name
                        .strip_prefix('-')
                        .filter(|rest| rest.chars().count() == 1);
                    short.is_some()
                        && option.get_short() == short.and_then(|rest| rest.chars().next())
                }
            })
    }
}

fn unicode(word: OsString) -> Result<String, CliError> {
    word.into_string().map_err(|word| {
        CliError::usage(format!("{} is not valid Unicode", word.display()))
            .hint("values for recipes are text")
    })
}
