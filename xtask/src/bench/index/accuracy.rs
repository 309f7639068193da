//! The accuracy of the index: its names beside the TypeScript compiler's, its imports beside
//! dependency-cruiser's, file by file.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::corpus::CONDITION;
use super::{AGREEMENT_MIN, Bench};
use crate::bench::goals::Goal;

/// Limits the differences that are shown.
const SHOWN_MAX: usize = 10;

/// Something said about each file.
type Told = BTreeMap<String, BTreeSet<String>>;

pub(super) fn compare(bench: &Bench) -> Result<Vec<Goal>> {
    let said = json(bench.command().arg("index").arg("--json"))?;
    let files = said["files"].as_array().context("the index lists files")?;
    let ours = |field: &str, name: fn(&Value) -> Option<&str>| -> Told {
        let one = |file: &Value| {
            let list = file[field].as_array().into_iter().flatten();
            let names = list.filter_map(|it| name(it).map(str::to_owned)).collect();
            (file["path"].as_str().unwrap_or_default().to_owned(), names)
        };
        files.iter().map(one).collect()
    };
    let mut compiler = Command::new("node");
    compiler
        .arg(bench.scripts.join("names.cjs"))
        .args([&bench.modules, &bench.corpus.repository])
        .arg(CONDITION);
    let theirs = json(&mut compiler)?;
    let mut names = Told::new();
    for (path, list) in theirs.as_object().context("names by path")? {
        let list = list.as_array().into_iter().flatten();
        let list = list.filter_map(|it| it.as_str().map(str::to_owned));
        names.insert(path.clone(), list.collect());
    }
    let imports = cruised(&json(&mut cruiser(bench))?, &names)?;
    println!(
        "\n{:<10}{:>10}{:>12}{:>14}{:>12}{:>10}",
        "", "both", "only ours", "only theirs", "precision", "recall"
    );
    let mut goals = judge("names", &ours("exports", |it| it["name"].as_str()), &names);
    goals.extend(judge("imports", &ours("imports", Value::as_str), &imports));
    Ok(goals)
}

/// dependency-cruiser on the whole repository.
pub(super) fn cruiser(bench: &Bench) -> Command {
    let mut command = Command::new(bench.modules.join(".bin/depcruise"));
    command
        .arg("--config")
        .arg(bench.scripts.join("cruiser.cjs"))
        .args(["--output-type", "json", "packages"])
        .env("CRUISER_CONDITIONS", CONDITION)
        .current_dir(&bench.corpus.repository);
    command
}

impl Bench {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.drawloom);
        command.current_dir(&self.corpus.repository);
        command
    }
}

/// The imports from file to file, of the files whose names are known.
fn cruised(told: &Value, names: &Told) -> Result<Told> {
    let mut imports = Told::new();
    for module in told["modules"].as_array().context("modules are listed")? {
        let path = module["source"].as_str().unwrap_or_default();
        if !names.contains_key(path) {
            continue;
        }
        let list = module["dependencies"].as_array().into_iter().flatten();
        let inside = list
            .filter(|it| it["couldNotResolve"] == Value::Bool(false))
            .filter_map(|it| it["resolved"].as_str())
            .filter(|target| target.starts_with("packages/") && *target != path);
        imports.insert(path.to_owned(), inside.map(str::to_owned).collect());
    }
    Ok(imports)
}

fn judge(what: &str, ours: &Told, theirs: &Told) -> Vec<Goal> {
    let (mut both, mut only_ours, mut only_theirs) = (0, 0, 0);
    let mut shown = Vec::new();
    let nothing = BTreeSet::new();
    for (path, theirs) in theirs {
        let ours = ours.get(path).unwrap_or(&nothing);
        both += ours.intersection(theirs).count();
        only_ours += ours.difference(theirs).count();
        only_theirs += theirs.difference(ours).count();
        shown.extend(
            ours.difference(theirs)
                .map(|it| format!("{path}: {it} (only ours)")),
        );
        shown.extend(
            theirs
                .difference(ours)
                .map(|it| format!("{path}: {it} (only theirs)")),
        );
    }
    let share = |wrong: usize| {
        #[expect(clippy::cast_precision_loss, reason = "counts of names are small")]
        let (both, all) = (both as f64, (both + wrong).max(1) as f64);
        both / all
    };
    let (precision, recall) = (share(only_ours), share(only_theirs));
    println!("{what:<10}{both:>10}{only_ours:>12}{only_theirs:>14}{precision:>12.4}{recall:>10.4}");
    for line in shown.iter().take(SHOWN_MAX) {
        println!("    {line}");
    }
    vec![
        Goal::at_least(format!("precision of {what}"), precision, AGREEMENT_MIN),
        Goal::at_least(format!("recall of {what}"), recall, AGREEMENT_MIN),
    ]
}

fn json(command: &mut Command) -> Result<Value> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    ensure!(
        output.status.success(),
        "{program} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).with_context(|| format!("{program} printed no JSON"))
}
