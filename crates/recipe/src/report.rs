//! Reports about a run: what it did, or what it would do.

use std::collections::HashMap;

use indexmap::IndexMap;
use serde_json::{Value, json};
use workspace::RelPath;
use workspace::diff::ContentDiff;

use crate::effect::{Effect, FileStatus, FileWrite};
use crate::error::Error;
use crate::perform::CommandReport;
use crate::request::{DryRunCommand, DryRunFile, DryRunPlan, FileReport, RecipeRunReport};
use crate::session::{PassResult, RecipeSession, commands};

/// Reports on a finished run.
pub(crate) fn report(
    session: &RecipeSession<'_>,
    walked: &PassResult,
    commands: Vec<CommandReport>,
) -> RecipeRunReport {
    let files = files(&walked.found.effects);
    let of = |wanted: &[FileStatus]| -> Vec<Value> {
        let paths = files.iter().filter(|file| wanted.contains(&file.status));
        paths.map(|file| Value::String(file.path.clone())).collect()
    };
    let changed = [
        FileStatus::Modified,
        FileStatus::Forced,
        FileStatus::Injected,
    ];
    let result = json!({
        "success": true,
        "filesCreated": of(&[FileStatus::Created]),
        "filesModified": of(&changed),
        "errors": [],
    });
    let manifest = &session.unit.recipe.manifest;
    RecipeRunReport {
        recipe: manifest.name.clone(),
        directories: directories(&walked.found.effects),
        commands,
        messages: messages(&walked.found.effects),
        on_success: session.say(manifest.on_success.as_ref(), &walked.scope, &result),
        steps: walked.found.steps.clone(),
        files,
    }
}

/// Reports on a run that was only planned, with differences.
pub(crate) fn plan(session: &RecipeSession<'_>, walked: &PassResult) -> Result<DryRunPlan, Error> {
    let found = &walked.found;
    // Only the last write of a file counts.
    let writes = found.effects.iter().filter_map(|effect| match effect {
        Effect::Write(write) => Some((write.path.as_str(), write)),
        _ => None,
    });
    let writes: HashMap<&str, &FileWrite> = writes.collect();
    let mut planned = Vec::new();
    for file in files(&found.effects) {
        let (diff, provisional) = difference(session, &writes, &file)?;
        let write = writes.get(file.path.as_str());
        let needs_trust = write.and_then(|write| write.needs_trust.clone());
        let FileReport {
            path,
            status,
            reason,
        } = file;
        planned.push(DryRunFile {
            path,
            status,
            reason,
            diff,
            provisional,
            needs_trust,
        });
    }
    let commands = commands(found).into_iter().map(|command| DryRunCommand {
        step: command.step.clone(),
        command: command.what.line(),
        cwd: command.cwd.clone(),
        outside: command.outside,
    });
    Ok(DryRunPlan {
        recipe: session.unit.recipe.manifest.name.clone(),
        files: planned,
        directories: directories(&found.effects),
        commands: commands.collect(),
        messages: messages(&found.effects),
        conflicts: found
            .conflicts
            .iter()
            .map(|conflict| conflict.path.clone())
            .collect(),
        steps: found.steps.clone(),
    })
}

fn difference(
    session: &RecipeSession<'_>,
    writes: &HashMap<&str, &FileWrite>,
    file: &FileReport,
) -> Result<(String, bool), Error> {
    let Some(write) = writes.get(file.path.as_str()) else {
        return Ok((String::new(), false));
    };
    let before = session.root.read(&write.path)?;
    let diff = ContentDiff::between(before.as_deref(), Some(&write.content));
    Ok((diff.unified(write.path.as_str()), write.provisional))
}

/// Lists each file once, with its status over all steps.
fn files(effects: &[Effect]) -> Vec<FileReport> {
    let mut files: IndexMap<&str, FileReport> = IndexMap::new();
    for effect in effects {
        let (path, status, reason) = match effect {
            Effect::Write(write) => (write.path.as_str(), write.status, None),
            Effect::Unchanged { path, .. } => (path.as_str(), FileStatus::Unchanged, None),
            Effect::Skipped { path, reason, .. } => {
                (path.as_str(), FileStatus::Skipped, Some(reason.clone()))
            }
            _ => continue,
        };
        let report = FileReport {
            path: path.to_owned(),
            status,
            reason,
        };
        match files.get_mut(path) {
            // A new file stays new, even if later steps add to it.
            Some(known) if stronger(known.status, status) => {}
            Some(known) => *known = report,
            None => {
                files.insert(path, report);
            }
        }
    }
    files.into_values().collect()
}

fn stronger(known: FileStatus, new: FileStatus) -> bool {
    let quiet = |status| matches!(status, FileStatus::Unchanged | FileStatus::Skipped);
    matches!(
        known,
        FileStatus::Created | FileStatus::Forced | FileStatus::Conflict
    ) || (quiet(new) && !quiet(known))
}

fn directories(effects: &[Effect]) -> Vec<RelPath> {
    let made = effects.iter().filter_map(|effect| match effect {
        Effect::EnsureDir { path, .. } => Some(path.clone()),
        _ => None,
    });
    made.collect()
}

fn messages(effects: &[Effect]) -> Vec<String> {
    let said = effects.iter().filter_map(|effect| match effect {
        Effect::Message { text, .. } => Some(text.trim_end().to_owned()),
        _ => None,
    });
    said.collect()
}
