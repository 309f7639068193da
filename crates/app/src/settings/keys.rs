//! Every key of `drawloom.toml` in one table: the file, the variables and the written example use it.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::{Color, OnConflict, Settings};
use crate::surroundings::PREFIX;

pub(super) struct Key {
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What it means, one line per item.
    about: &'static [&'static str],
    /// As it stands in the file.
    default: &'static str,
}

/// What a key holds, and how it gets into the settings.
pub(super) enum Kind {
    Paths(fn(&mut Settings, Vec<PathBuf>)),
    Choice(&'static [&'static str], fn(&mut Settings, &str)),
    Flag(fn(&mut Settings, bool)),
    /// A whole number of at least 1.
    Count(fn(&mut Settings, u64)),
}

pub(super) const ALL: &[Key] = &[
    Key {
        section: "recipes",
        name: "dirs",
        kind: Kind::Paths(|settings, dirs| settings.recipes.dirs = dirs),
        about: &["More folders with recipes, beside .drawloom/recipes; relative to this file."],
        default: "[]",
    },
    Key {
        section: "run",
        name: "on_conflict",
        kind: Kind::Choice(&["ask", "force", "skip", "fail"], |settings, choice| {
            settings.run.on_conflict = match choice {
                "force" => OnConflict::Force,
                "skip" => OnConflict::Skip,
                "fail" => OnConflict::Fail,
                _ => OnConflict::Ask,
            };
        }),
        about: &[
            "When a file exists and would change: \"ask\" (fails without a terminal), \"force\",",
            "\"skip\" or \"fail\". `--force` and `--skip-existing` override it.",
        ],
        default: r#""ask""#,
    },
    Key {
        section: "run",
        name: "trust",
        kind: Kind::Flag(|settings, trust| settings.run.trust = trust),
        about: &["Let recipes from kits run commands without `--trust`."],
        default: "false",
    },
    Key {
        section: "limits",
        name: "fuel_max",
        kind: Kind::Count(|settings, count| settings.limits.expr.fuel_max = count),
        about: &["Steps of work one render may take."],
        default: "20000000",
    },
    Key {
        section: "limits",
        name: "depth_max",
        kind: Kind::Count(|settings, count| {
            settings.limits.expr.depth_max = u32::try_from(count).unwrap_or(u32::MAX)
        }),
        about: &["Nested calls, includes and expressions."],
        default: "400",
    },
    Key {
        section: "limits",
        name: "string_bytes_max",
        kind: Kind::Count(|settings, count| settings.limits.expr.string_bytes_max = size(count)),
        about: &["Bytes in one string."],
        default: "16777216",
    },
    Key {
        section: "limits",
        name: "items_max",
        kind: Kind::Count(|settings, count| settings.limits.expr.items_max = size(count)),
        about: &["Items in one list or object."],
        default: "1000000",
    },
    Key {
        section: "limits",
        name: "template_bytes_max",
        kind: Kind::Count(|settings, count| settings.limits.template_bytes_max = size(count)),
        about: &["Bytes in one template."],
        default: "16777216",
    },
    Key {
        section: "limits",
        name: "parts_max",
        kind: Kind::Count(|settings, count| settings.limits.parts_max = size(count)),
        about: &["Tags and interpolations in one template."],
        default: "100000",
    },
    Key {
        section: "limits",
        name: "blocks_nested_max",
        kind: Kind::Count(|settings, count| settings.limits.blocks_nested_max = size(count)),
        about: &["Blocks inside each other."],
        default: "200",
    },
    Key {
        section: "limits",
        name: "output_bytes_max",
        kind: Kind::Count(|settings, count| settings.limits.output_bytes_max = size(count)),
        about: &["Bytes one render may print."],
        default: "67108864",
    },
    Key {
        section: "output",
        name: "color",
        kind: Kind::Choice(&["auto", "always", "never"], |settings, choice| {
            settings.output.color = match choice {
                "always" => Color::Always,
                "never" => Color::Never,
                _ => Color::Auto,
            };
        }),
        about: &["\"auto\" (only on a terminal, and not with NO_COLOR), \"always\" or \"never\"."],
        default: r#""auto""#,
    },
];

impl Key {
    pub(super) fn dotted(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    pub(super) fn variable(&self) -> String {
        format!("{PREFIX}{}_{}", self.section, self.name).to_uppercase()
    }

    /// Sets the key from a variable's text; the problem reads on after the key's name.
    pub(super) fn set_from_text(&self, settings: &mut Settings, text: &str) -> Result<(), String> {
        match &self.kind {
            Kind::Paths(set) => set(settings, std::env::split_paths(text).collect()),
            Kind::Choice(choices, set) => set(settings, one_of(choices, text)?),
            Kind::Flag(set) => set(settings, flag(text)?),
            Kind::Count(set) => {
                let count = text.parse::<u64>().ok().filter(|count| *count > 0);
                set(settings, count.ok_or_else(|| not_a_count(text))?);
            }
        }
        Ok(())
    }
}

/// A limit beyond what can be addressed is no limit.
fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

pub(super) fn one_of<'a>(choices: &[&'static str], text: &'a str) -> Result<&'a str, String> {
    if choices.contains(&text) {
        return Ok(text);
    }
    let listed: Vec<String> = choices
        .iter()
        .map(|choice| format!("\"{choice}\""))
        .collect();
    Err(format!(
        "must be one of {}, not \"{text}\"",
        listed.join(", ")
    ))
}

pub(super) fn not_a_count(text: &str) -> String {
    format!("must be a whole number of at least 1, not {text}")
}

fn flag(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" | "" => Ok(false),
        _ => Err(format!("must be true or false, not \"{text}\"")),
    }
}

/// The names of all variables that are settings.
pub fn variables() -> Vec<String> {
    ALL.iter().map(Key::variable).collect()
}

/// The file that `init` writes: every key with its default, commented out.
pub fn commented_file() -> String {
    let mut text = String::from(
        "# Settings of drawloom for this project. Every key is shown with its default; a variable\n\
         # such as DRAWLOOM_RUN_ON_CONFLICT overrides the key of that name, a flag overrides both.\n",
    );
    let mut section = "";
    for key in ALL {
        if key.section != section {
            section = key.section;
            // Writing to a String cannot fail.
            let _ = write!(text, "\n[{section}]\n");
        }
        for line in key.about {
            let _ = writeln!(text, "# {line}");
        }
        let _ = writeln!(text, "# {} = {}", key.name, key.default);
    }
    text
}
