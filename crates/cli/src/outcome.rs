//! Reports the end of a run: files and commands for people, documents and differences as data.

use std::fmt::Write as _;

use clap::builder::styling::{AnsiColor, Style};
use recipe::{
    DryRunPlan, FileConflict, FileReport, FileStatus, NeededAnswers, RecipeRunOutcome,
    RecipeRunReport, RecipeRunRequest,
};
use serde::Serialize;
use serde_json::{Value, json};
use workspace::diff::ContentDiff;

use crate::ai_args::ResumeHint;
use crate::diff;
use crate::exit::{CliError, CliExit, CliProblem};
use crate::output::{self, OutputFormat};

/// More files than this are counted instead of listed.
const LISTED_MAX: usize = 200;

/// The current folder within the project, so that paths are those the person would type.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentFolder {
    /// From the project's folder down to the current one; empty in the project's folder.
    pub(crate) down: Vec<String>,
}

impl CurrentFolder {
    /// Returns a path of the project as it is called from here.
    pub(crate) fn shown(&self, path: &str) -> String {
        let names: Vec<&str> = path.split('/').collect();
        let shared = names
            .iter()
            .zip(&self.down)
            .take_while(|(name, down)| *name == down)
            .count();
        let shared = shared.min(names.len().saturating_sub(1));
        let up = "../".repeat(self.down.len() - shared);
        format!("{up}{}", names[shared..].join("/"))
    }
}

/// Prints the outcome; `go_on` names the answers that did not get into any file.
pub(crate) fn show(
    outcome: RecipeRunOutcome,
    request: &RecipeRunRequest,
    (form, here): (OutputFormat, &CurrentFolder),
    go_on: Option<&ResumeHint>,
) -> Result<CliExit, CliError> {
    match outcome {
        RecipeRunOutcome::Done(report) => done(&report, form, here),
        RecipeRunOutcome::AnswersNeeded(needed) => answers_needed(&needed, request, form),
        RecipeRunOutcome::Shown(plan) => {
            let exit = shown(&plan, form, go_on)?;
            say_go_on(go_on, form);
            Ok(exit)
        }
        RecipeRunOutcome::Conflicts(conflicts) => {
            let trouble = in_the_way(&conflicts);
            Err(match go_on {
                Some(go_on) => trouble.and_note(go_on.sentence()),
                None => trouble,
            })
        }
    }
}

pub(crate) fn say_go_on(go_on: Option<&ResumeHint>, form: OutputFormat) {
    if let Some(go_on) = go_on.filter(|_| form == OutputFormat::Text) {
        output::say(go_on.sentence());
    }
}

/// Adds the place of the saved answers to a result as JSON.
pub(crate) fn with_go_on(mut result: Value, go_on: Option<&ResumeHint>) -> Value {
    if let Some(go_on) = go_on {
        result["answers"] = go_on.to_json();
    }
    result
}

/// Prints the questions as data, and one line that says what to do with them.
pub(crate) fn answers_needed(
    needed: &NeededAnswers,
    request: &RecipeRunRequest,
    form: OutputFormat,
) -> Result<CliExit, CliError> {
    match form {
        OutputFormat::Json => output::json(&tagged("answers-needed", &needed.json))?,
        OutputFormat::Text => output::data(needed.document.as_bytes())?,
    }
    let path = &request.answers_path;
    let (what, them) = match needed.questionnaire.len() {
        1 => ("1 answer is".to_owned(), "it"),
        count => (format!("{count} answers are"), "them"),
    };
    let command = &needed.command;
    output::say(format!(
        "{what} needed: save {them} to {path}, then run\n  {command}"
    ));
    Ok(CliExit::AnswersNeeded)
}

/// Returns a result as JSON, with the command's outcome in front.
pub(crate) fn tagged(outcome: &str, result: &impl Serialize) -> Value {
    let mut tagged = serde_json::Map::new();
    tagged.insert("outcome".to_owned(), json!(outcome));
    if let Value::Object(fields) = json!(result) {
        tagged.extend(fields);
    }
    Value::Object(tagged)
}

fn done(
    report: &RecipeRunReport,
    form: OutputFormat,
    here: &CurrentFolder,
) -> Result<CliExit, CliError> {
    if form == OutputFormat::Json {
        output::json(&tagged("done", report))?;
        return Ok(CliExit::Done);
    }
    let mut lines: Vec<String> = report
        .files
        .iter()
        .take(LISTED_MAX)
        .map(|file| file_line(file, here))
        .collect();
    if report.files.len() > LISTED_MAX {
        lines.push(format!(
            "and {} more files",
            report.files.len() - LISTED_MAX
        ));
    }
    lines.extend(
        report
            .directories
            .iter()
            .map(|path| word("made", GOOD, &here.shown(path.as_str()))),
    );
    if lines.is_empty() && report.commands.is_empty() {
        lines.push("nothing to do".to_owned());
    }
    lines.extend(report.messages.iter().map(|text| output::harmless(text)));
    lines.extend(
        report
            .on_success
            .iter()
            .map(|text| output::harmless(text.trim_end())),
    );
    if !lines.is_empty() {
        output::say(lines.join("\n"));
    }
    Ok(CliExit::Done)
}

const GOOD: Style = AnsiColor::Green.on_default();
const CHANGED: Style = AnsiColor::Yellow.on_default();
const QUIET: Style = Style::new().dimmed();

fn file_line(file: &FileReport, here: &CurrentFolder) -> String {
    let style = match file.status {
        FileStatus::Created => GOOD,
        FileStatus::Unchanged | FileStatus::Skipped => QUIET,
        _ => CHANGED,
    };
    let reason = file
        .reason
        .as_ref()
        .map(|reason| format!("  ({reason})"))
        .unwrap_or_default();
    let done = match file.status {
        FileStatus::Forced => "overwritten",
        status => status.as_str(),
    };
    word(done, style, &format!("{}{reason}", here.shown(&file.path)))
}

/// Formats one line of a report: a word in its column, then the text.
pub(crate) fn word(word: &str, style: Style, about: &str) -> String {
    format!("{style}{word:<9}{style:#} {}", output::harmless(about))
}

fn shown(
    plan: &DryRunPlan,
    form: OutputFormat,
    go_on: Option<&ResumeHint>,
) -> Result<CliExit, CliError> {
    if form == OutputFormat::Json {
        output::json(&with_go_on(tagged("dry-run", plan), go_on))?;
        return Ok(CliExit::Done);
    }
    let mut text = String::new();
    for file in &plan.files {
        text.push_str(&diff::colored(&file.diff));
    }
    // Writing to a String cannot fail.
    for file in &plan.files {
        if let Some(why) = &file.needs_trust {
            let _ = writeln!(text, "# write {}  ({why}, needs --trust)", file.path);
        }
    }
    for path in &plan.directories {
        let _ = writeln!(text, "# make the folder {}", output::quoted(path.as_str()));
    }
    for command in &plan.commands {
        let trust = if command.outside {
            ", needs --trust"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "# run: {}  ({}{trust})",
            output::quoted(&command.command),
            output::quoted(&command.step)
        );
    }
    output::styled(&text)?;
    for file in &plan.files {
        match file.status {
            FileStatus::Unchanged => output::say(word("unchanged", QUIET, &file.path)),
            FileStatus::Skipped => {
                let reason = file.reason.as_deref().unwrap_or_default();
                output::say(word(
                    "skipped",
                    QUIET,
                    &format!("{}  ({reason})", file.path),
                ));
            }
            _ if file.provisional => {
                output::say(format!(
                    "{} may differ: a command decides about it",
                    file.path
                ));
            }
            _ => {}
        }
    }
    for path in &plan.conflicts {
        output::say(word(
            "conflict",
            CHANGED,
            &format!("{path} exists and differs"),
        ));
    }
    output::say("dry run: nothing was written, nothing was run");
    Ok(CliExit::Done)
}

fn in_the_way(conflicts: &[FileConflict]) -> CliError {
    let problems: Vec<CliProblem> = conflicts
        .iter()
        .map(|conflict| {
            let existing = Some(conflict.existing.as_slice());
            let summary = ContentDiff::between(existing, Some(&conflict.proposed)).summary();
            let (added, removed) = (summary.added, summary.removed);
            CliProblem {
                message: format!(
                    "{} exists and differs from what `{}` would write (+{added} -{removed})",
                    conflict.path, conflict.step
                ),
                file: Some(conflict.path.as_str().to_owned()),
                ..CliProblem::default()
            }
        })
        .collect();
    CliError {
        problems,
        ..CliError::failed("E_CONFLICT", "")
    }
    .hint(
        "nothing was written; see --dry-run, then choose --force or --skip-existing, or merge a newer \
         recipe into files it generated before with `drawloom update`",
    )
}
