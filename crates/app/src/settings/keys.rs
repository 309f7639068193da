//! Every key of `drawloom.toml` in one table: the file, the variables and the written example use it.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::{ColorSetting, OnConflict, ProjectSettings};
use super::{agent, ai, builder, mcp, oidc, rates, server, workflows};
use crate::surroundings::PREFIX;

pub(super) struct SettingKey {
    /// With a dot where a section is inside another.
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    pub(super) kind: SettingValueKind,
    /// The key's meaning, one line per item.
    pub(super) about: &'static [&'static str],
    /// The default as the file shows it; with `# for example` if the key has no default.
    pub(super) default: &'static str,
}

/// Type of a key's value, and the function that stores it in the settings.
pub(super) enum SettingValueKind {
    Paths(fn(&mut ProjectSettings, Vec<PathBuf>)),
    Choice(&'static [&'static str], fn(&mut ProjectSettings, &str)),
    Flag(fn(&mut ProjectSettings, bool)),
    /// A whole number of at least 1.
    Count(fn(&mut ProjectSettings, u64)),
    /// A whole number.
    CountOrZero(fn(&mut ProjectSettings, u64)),
    Text(fn(&mut ProjectSettings, String)),
    Texts(fn(&mut ProjectSettings, Vec<String>)),
    /// Some of these words.
    Choices(
        &'static [&'static str],
        fn(&mut ProjectSettings, Vec<String>),
    ),
    /// A number from 0 to this.
    Number(f64, fn(&mut ProjectSettings, f64)),
}

/// The database, which has a variable of a shorter name than its key.
pub const DATABASE_VARIABLE: &str = "DRAWLOOM_DATABASE_URL";
/// The mail address of the first admin of `drawloom serve`.
pub const ADMIN_EMAIL: &str = "DRAWLOOM_ADMIN_EMAIL";
/// The file with the first admin's password.
pub const ADMIN_PASSWORD_FILE: &str = "DRAWLOOM_ADMIN_PASSWORD_FILE";

/// Returns all keys, in the order of the file.
pub(super) fn all() -> impl Iterator<Item = &'static SettingKey> + Clone {
    let later = agent::KEYS.iter().chain(builder::KEYS);
    let later = later.chain(workflows::KEYS).chain(server::KEYS);
    let later = later.chain(mcp::KEYS).chain(oidc::KEYS);
    OWN.iter().chain(ai::KEYS).chain(later)
}

/// Keys that give permission: a project may not set them, only its user.
const USERS_OWN: [&str; 5] = [
    "run.trust",
    "trust.projects",
    "workflows.http.allow",
    "server.proxies",
    "server.forwarded",
];

/// Sections of which a project may set nothing.
const USERS_OWN_SECTIONS: [&str; 3] = ["oidc", "telemetry", "tls"];

const OWN: &[SettingKey] = &[
    SettingKey {
        section: "trust",
        name: "projects",
        kind: SettingValueKind::Paths(|settings, paths| settings.trust.projects = paths),
        about: &[
            "Folders whose projects are trusted without a question, also when another user owns them.",
        ],
        default: "[]",
    },
    SettingKey {
        section: "recipes",
        name: "dirs",
        kind: SettingValueKind::Paths(|settings, dirs| settings.recipes.dirs = dirs),
        about: &["More folders with recipes, besides .drawloom/recipes; relative to this file."],
        default: "[]",
    },
    SettingKey {
        section: "run",
        name: "on_conflict",
        kind: SettingValueKind::Choice(&["ask", "force", "skip", "fail"], |settings, choice| {
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
    SettingKey {
        section: "run",
        name: "trust",
        kind: SettingValueKind::Flag(|settings, trust| settings.run.trust = trust),
        about: &["Let recipes from kits run commands without `--trust`."],
        default: "false",
    },
    SettingKey {
        section: "run",
        name: "wait_ms_max",
        kind: SettingValueKind::Count(|settings, count| settings.run.wait_ms_max = count),
        about: &["How long a run waits for another one that writes to the project."],
        default: "300000",
    },
    SettingKey {
        section: "limits",
        name: "fuel_max",
        kind: SettingValueKind::Count(|settings, count| settings.limits.expr.fuel_max = count),
        about: &["Steps of work one render may take."],
        default: "20000000",
    },
    SettingKey {
        section: "limits",
        name: "depth_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.limits.expr.depth_max = u32::try_from(count).unwrap_or(u32::MAX)
        }),
        about: &["Nested calls, includes and expressions."],
        default: "400",
    },
    SettingKey {
        section: "limits",
        name: "string_bytes_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.limits.expr.string_bytes_max = size(count)
        }),
        about: &["Bytes in one string."],
        default: "16777216",
    },
    SettingKey {
        section: "limits",
        name: "items_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.limits.expr.items_max = size(count)
        }),
        about: &["Items in one list or object."],
        default: "1000000",
    },
    SettingKey {
        section: "limits",
        name: "template_bytes_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.limits.template_bytes_max = size(count)
        }),
        about: &["Bytes in one template."],
        default: "16777216",
    },
    SettingKey {
        section: "limits",
        name: "parts_max",
        kind: SettingValueKind::Count(|settings, count| settings.limits.parts_max = size(count)),
        about: &["Tags and interpolations in one template."],
        default: "100000",
    },
    SettingKey {
        section: "limits",
        name: "blocks_nested_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.limits.blocks_nested_max = size(count)
        }),
        about: &["Blocks inside each other."],
        default: "200",
    },
    SettingKey {
        section: "limits",
        name: "output_bytes_max",
        kind: SettingValueKind::Count(|settings, count| {
            settings.limits.output_bytes_max = size(count)
        }),
        about: &["Bytes one render may print."],
        default: "67108864",
    },
    SettingKey {
        section: "output",
        name: "color",
        kind: SettingValueKind::Choice(&["auto", "always", "never"], |settings, choice| {
            settings.output.color = match choice {
                "always" => ColorSetting::Always,
                "never" => ColorSetting::Never,
                _ => ColorSetting::Auto,
            };
        }),
        about: &["\"auto\" (only on a terminal, and not with NO_COLOR), \"always\" or \"never\"."],
        default: r#""auto""#,
    },
];

impl SettingKey {
    /// Returns true if only the user's own settings may have it.
    pub(super) fn is_users_own(&self) -> bool {
        if USERS_OWN_SECTIONS.contains(&self.section) {
            return true;
        }
        USERS_OWN
            .iter()
            .filter_map(|dotted| dotted.rsplit_once('.'))
            .any(|(section, name)| section == self.section && name == self.name)
    }

    pub(super) fn dotted(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    pub(super) fn variable(&self) -> String {
        format!("{PREFIX}{}_{}", self.section, self.name)
            .replace('.', "_")
            .to_uppercase()
    }

    /// Sets the key from a variable's text; the problem reads on after the key's name.
    pub(super) fn set_from_text(
        &self,
        settings: &mut ProjectSettings,
        text: &str,
    ) -> Result<(), String> {
        match &self.kind {
            SettingValueKind::Paths(set) => set(settings, std::env::split_paths(text).collect()),
            SettingValueKind::Choice(choices, set) => set(settings, one_of(choices, text)?),
            SettingValueKind::Flag(set) => set(settings, flag(text)?),
            SettingValueKind::Count(set) => {
                let count = text.parse::<u64>().ok().filter(|count| *count > 0);
                set(settings, count.ok_or_else(|| not_a_count(text))?);
            }
            SettingValueKind::CountOrZero(set) => {
                let count = text.parse::<u64>().ok();
                set(settings, count.ok_or_else(|| not_whole(text))?);
            }
            SettingValueKind::Text(set) => set(settings, text.to_owned()),
            SettingValueKind::Texts(set) => set(settings, listed(text)),
            SettingValueKind::Choices(choices, set) => {
                set(settings, all_of(choices, listed(text))?);
            }
            SettingValueKind::Number(max, set) => {
                let number = text.trim().parse().ok();
                set(
                    settings,
                    within(*max, number).ok_or_else(|| not_within(*max, text))?,
                );
            }
        }
        Ok(())
    }
}

/// Returns the number if it is from 0 to `max`.
pub(super) fn within(max: f64, number: Option<f64>) -> Option<f64> {
    number.filter(|number| (0.0..=max).contains(number))
}

pub(super) fn not_within(max: f64, text: &str) -> String {
    match max < f64::MAX {
        true => format!("must be a number from 0 to {max}, not {text}"),
        false => format!("must be a number of at least 0, not {text}"),
    }
}

/// Converts a count; a limit larger than any size is no limit.
pub(super) fn size(count: u64) -> usize {
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

/// Returns the words if each of them is one of the choices.
pub(super) fn all_of(choices: &[&'static str], words: Vec<String>) -> Result<Vec<String>, String> {
    for word in &words {
        one_of(choices, word).map_err(|problem| problem.replacen("must be", "must list", 1))?;
    }
    Ok(words)
}

/// Splits the words of a variable at their commas.
fn listed(text: &str) -> Vec<String> {
    let items = text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    items.map(str::to_owned).collect()
}

pub(super) fn not_a_count(text: &str) -> String {
    format!("must be a whole number of at least 1, not {text}")
}

pub(super) fn not_whole(text: &str) -> String {
    format!("must be a whole number of at least 0, not {text}")
}

fn flag(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" | "" => Ok(false),
        _ => Err(format!("must be true or false, not \"{text}\"")),
    }
}

/// Returns the names of all variables that are settings.
pub fn variables() -> Vec<String> {
    let others = [DATABASE_VARIABLE, ADMIN_EMAIL, ADMIN_PASSWORD_FILE];
    let others = others.map(str::to_owned);
    all().map(SettingKey::variable).chain(others).collect()
}

/// Writes the file for `init`: every key with its default, commented out.
pub fn commented_file() -> String {
    let mut text = String::from(
        "# Settings of drawloom for this project. Every key is shown with its default, or with an\n\
         # example if it has none; a variable such as DRAWLOOM_RUN_ON_CONFLICT overrides the key\n\
         # of that name, a flag overrides both.\n",
    );
    let mut section = "";
    for key in all().filter(|key| !key.is_users_own()) {
        if key.section != section {
            if section == ai::LAST_SECTION {
                text.push_str(ai::PRICES_EXAMPLE);
            }
            section = key.section;
            // Writing to a String cannot fail.
            let _ = write!(text, "\n[{section}]\n");
        }
        for line in key.about {
            let _ = writeln!(text, "# {line}");
        }
        let _ = writeln!(text, "# {} = {}", key.name, key.default);
    }
    text.push_str(builder::CHECKS_EXAMPLE);
    text.push_str(workflows::AGENTS_EXAMPLE);
    text.push_str(workflows::NOTIFY_EXAMPLE);
    text.push_str(rates::RATES_EXAMPLE);
    text.push_str(mcp::EXAMPLE);
    text
}
