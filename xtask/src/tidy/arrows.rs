//! The arrow table: which crate may use which, checked against every manifest.
//!
//! The table is the architecture. Adding an arrow means editing it here, and saying so in the commit.
//! Tests may reach further (`[dev-dependencies]`), except that nothing uses `xtask`.

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::finding::{Finding, Rule};
use super::tree::{TextFile, Tree};

/// One crate and the crates it may use, from the bottom of the stack to the top.
struct Row {
    name: &'static str,
    may_use: MayUse,
}

enum MayUse {
    Only(&'static [&'static str]),
    /// Every crate of an earlier row.
    AllAbove,
}

use MayUse::{AllAbove, Only};

const TABLE: [Row; 21] = [
    Row {
        name: LEAF,
        may_use: Only(&[]),
    },
    Row {
        name: "expr",
        may_use: Only(&[]),
    },
    Row {
        name: "prompt",
        may_use: Only(&[]),
    },
    Row {
        name: "mermaid",
        may_use: Only(&[]),
    },
    Row {
        name: "exec",
        may_use: Only(&[]),
    },
    Row {
        name: "workspace",
        may_use: Only(&[]),
    },
    Row {
        name: "index",
        may_use: Only(&["workspace"]),
    },
    Row {
        name: "llm",
        may_use: Only(&[]),
    },
    Row {
        name: "template",
        may_use: Only(&["expr", "prompt"]),
    },
    Row {
        name: "vcs",
        may_use: Only(&["exec"]),
    },
    Row {
        name: "transport",
        may_use: Only(&["prompt", "exec", "llm"]),
    },
    Row {
        name: "agent",
        may_use: Only(&["prompt", "llm", "workspace", "exec"]),
    },
    Row {
        name: "recipe",
        may_use: Only(&[
            "expr",
            "prompt",
            "template",
            "transport",
            "workspace",
            "exec",
        ]),
    },
    Row {
        name: "hygen",
        may_use: Only(&["expr", "template", "recipe"]),
    },
    Row {
        name: "builder",
        may_use: Only(&[
            "prompt",
            "llm",
            "agent",
            "workspace",
            "index",
            "exec",
            "vcs",
        ]),
    },
    Row {
        name: "flow",
        may_use: Only(&["expr", "prompt", "mermaid"]),
    },
    Row {
        name: "store",
        may_use: Only(&["agent", "builder", "flow"]),
    },
    Row {
        name: "app",
        may_use: AllAbove,
    },
    Row {
        name: "mcp",
        may_use: AllAbove,
    },
    Row {
        name: "server",
        may_use: AllAbove,
    },
    Row {
        name: "cli",
        may_use: AllAbove,
    },
];

/// The crate that every other one may use, and that uses none.
const LEAF: &str = "diagnostics";
/// Crates that exist for development: `testkit` may be a dev-dependency; no crate may depend on `xtask`.
const TESTKIT: &str = "testkit";
const XTASK: &str = "xtask";

pub(crate) fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let Some(folder) = crate_folder(&file.path) else {
            continue;
        };
        let manifest = file.text.parse::<Table>();
        let manifest = manifest.with_context(|| format!("{} is not TOML", file.path))?;
        findings.extend(check_manifest(file, folder, &manifest));
    }
    Ok(findings)
}

fn crate_folder(path: &str) -> Option<&str> {
    let folder = path.strip_suffix("/Cargo.toml")?;
    if folder == XTASK {
        return Some(folder);
    }
    folder
        .strip_prefix("crates/")
        .filter(|name| !name.contains('/'))
}

fn check_manifest(file: &TextFile, folder: &str, manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |line, advice: String| {
        findings.push(Finding::new(&file.path, line, Rule::Arrow, advice));
    };
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"));
    if name.and_then(Value::as_str) != Some(folder) {
        report(
            1,
            format!("name the crate `{folder}`, as its folder is named"),
        );
    }
    let Some(allowed) = allowed_for(folder) else {
        report(
            1,
            format!("give `{folder}` a row in the arrow table (xtask/src/tidy/arrows.rs)"),
        );
        return findings;
    };
    for (dependency, kind) in internal_dependencies(manifest) {
        let line = line_of(&file.text, &dependency);
        if dependency == XTASK {
            report(
                line,
                "nothing may use `xtask`; remove the dependency".to_owned(),
            );
        } else if kind == Kind::Dev {
            continue;
        } else if dependency == TESTKIT && folder != XTASK {
            report(line, "move `testkit` to [dev-dependencies]".to_owned());
        } else if dependency != LEAF && !allowed.contains(&dependency.as_str()) {
            report(line, forbidden(folder, &dependency, &allowed));
        }
    }
    findings
}

fn forbidden(folder: &str, dependency: &str, allowed: &[&str]) -> String {
    let may = if allowed.is_empty() {
        "nothing of ours".to_owned()
    } else {
        allowed.join(", ")
    };
    format!("`{folder}` may not use `{dependency}` (it may use {may}); move the code or the type")
}

/// `None` for a crate the table does not know.
fn allowed_for(folder: &str) -> Option<Vec<&'static str>> {
    if folder == TESTKIT || folder == XTASK {
        return Some(TABLE.iter().map(|row| row.name).collect());
    }
    let at = TABLE.iter().position(|row| row.name == folder)?;
    Some(match TABLE[at].may_use {
        Only(names) => names.to_vec(),
        AllAbove => TABLE[..at].iter().map(|row| row.name).collect(),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Dev,
}

fn internal_dependencies(manifest: &Table) -> Vec<(String, Kind)> {
    let mut found = Vec::new();
    collect(manifest, &mut found);
    let targets = manifest.get("target").and_then(Value::as_table);
    for target in targets.into_iter().flat_map(Table::values) {
        if let Some(target) = target.as_table() {
            collect(target, &mut found);
        }
    }
    found
}

fn collect(section: &Table, found: &mut Vec<(String, Kind)>) {
    let kinds = [
        ("dependencies", Kind::Normal),
        ("build-dependencies", Kind::Normal),
        ("dev-dependencies", Kind::Dev),
    ];
    for (key, kind) in kinds {
        let dependencies = section.get(key).and_then(Value::as_table);
        for (alias, value) in dependencies.into_iter().flatten() {
            let renamed = value.get("package").and_then(Value::as_str);
            let name = renamed.unwrap_or(alias);
            let is_ours = TABLE.iter().any(|row| row.name == name);
            let has_path = value.get("path").is_some();
            if is_ours || has_path || [TESTKIT, XTASK].contains(&name) {
                found.push((name.to_owned(), kind));
            }
        }
    }
}

fn line_of(text: &str, dependency: &str) -> usize {
    let starts = |line: &str| {
        let rest = line.trim_start().strip_prefix(dependency);
        rest.is_some_and(|rest| rest.starts_with([' ', '.', '=']))
    };
    text.lines().position(starts).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The crates that `name` reaches through any number of arrows.
    fn reach(name: &str) -> Vec<&'static str> {
        let mut reached = allowed_for(name).unwrap_or_default();
        let mut at = 0;
        while at < reached.len() {
            for next in allowed_for(reached[at]).unwrap_or_default() {
                if !reached.contains(&next) {
                    reached.push(next);
                }
            }
            at += 1;
        }
        reached
    }

    #[test]
    fn arrows_point_to_earlier_rows_only() {
        for (at, row) in TABLE.iter().enumerate() {
            for used in allowed_for(row.name).unwrap() {
                let earlier = TABLE[..at].iter().any(|above| above.name == used);
                assert!(
                    earlier,
                    "`{}` uses `{used}`, which does not stand above it",
                    row.name
                );
            }
        }
    }

    #[test]
    fn products_never_reach_each_other() {
        let products = ["recipe", "builder", "flow"];
        for product in products {
            let reached = reach(product);
            for other in products.iter().filter(|other| **other != product) {
                assert!(!reached.contains(other), "`{product}` reaches `{other}`");
            }
        }
    }
}
