//! Workflows as files: found by path or by name, parsed, and checked against the project.

use std::collections::BTreeMap;
use std::path::Path;

use flow::{ExecutionMode, StepHandler, StepType, Workflow, WorkflowProblem, WorkflowStep};
use workspace::{RelPath, Root, fs};

use crate::{AppErrorCode, Error, ProcessEnvironment, Project};
use crate::{executors, triggers};

/// Folder of a project's workflows.
pub const WORKFLOWS_DIR: &str = ".drawloom/workflows";
/// Ending of their files.
const ENDING: &str = ".mmd";
/// Endings of files with diagrams.
const ENDINGS: [&str; 2] = [ENDING, ".mermaid"];
/// Number of diagrams that are compared with a misspelt name.
const BESIDE_MAX: usize = 100;
/// Longest file name of a workflow; file systems take 255 bytes.
const NAME_BYTES_MAX: usize = 200;

/// A workflow's text and the problems found in it.
#[derive(Debug)]
pub struct LoadedWorkflow {
    /// The file, as the person named it.
    pub shown: String,
    /// Name that subflows use.
    pub name: String,
    pub source: String,
    /// `None` if the text is not a workflow.
    pub workflow: Option<Workflow>,
    /// Errors and warnings, from the top of the text.
    pub problems: Vec<WorkflowProblem>,
}

impl LoadedWorkflow {
    /// Returns the name of its runs: the title, or else the name of the file.
    pub fn title(&self) -> &str {
        let title = self.workflow.as_ref().and_then(Workflow::name);
        title.unwrap_or(&self.name)
    }

    /// Returns true if it can run.
    pub fn is_fine(&self) -> bool {
        self.workflow.is_some() && flow::is_fine(&self.problems)
    }
}

/// Reads the workflow in a file, or the one of this name in the project.
pub fn read(
    project: &Project,
    surroundings: &ProcessEnvironment,
    given: &Path,
) -> Result<LoadedWorkflow, Error> {
    let path = surroundings.path(given);
    if let Some(source) = fs::read_text(&path)? {
        let name = given
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        return Ok(read_text(
            project,
            (&given.display().to_string(), &name.unwrap_or_default()),
            source,
        ));
    }
    let name = given.display().to_string();
    match text_of(project, &name)? {
        Some(source) => Ok(read_text(project, (&place(&name), &name), source)),
        None => {
            let names = names(project)?;
            let beside = beside(given, &path);
            let all = names.iter().chain(&beside).map(String::as_str);
            let hint = match crate::nearest(&name, all.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() && beside.is_empty() => {
                    format!("name a file, or put workflows into {WORKFLOWS_DIR}")
                }
                None => format!("workflows here: {}", all.collect::<Vec<_>>().join(", ")),
            };
            let message = format!("there is no file and no workflow `{name}`");
            Err(Error::new(AppErrorCode::NotFound, message).hint(hint))
        }
    }
}

/// Lists the diagrams in the folder of a missing file, as the person would write them.
fn beside(given: &Path, path: &Path) -> Vec<String> {
    let folder = path.parent().and_then(|folder| Root::open(folder).ok());
    let listed = folder.and_then(|root| root.list(&RelPath::root()).ok());
    let entries = listed.unwrap_or_default().into_iter();
    let names = entries.map(|entry| entry.path.as_str().to_owned());
    let diagrams = names.filter(|name| ENDINGS.iter().any(|ending| name.ends_with(ending)));
    let written = diagrams.map(|name| given.with_file_name(name).display().to_string());
    written.take(BESIDE_MAX).collect()
}

/// Reads every workflow of the project; skips those that cannot be read.
pub(crate) fn all(project: &Project) -> Result<Vec<LoadedWorkflow>, Error> {
    let mut sheets = Vec::new();
    for name in names(project)? {
        if let Some(source) = text_of(project, &name)? {
            sheets.push(read_text(project, (&place(&name), &name), source));
        }
    }
    Ok(sheets)
}

/// Returns a name for a workflow's file: the workflow's own if a file can have it, because subflows
/// use it, and plain words otherwise.
pub(crate) fn file_name(name: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
    let is_fine = name.chars().all(fits)
        && name.trim() == name
        && !name.starts_with('.')
        && !name.is_empty()
        && name.len() <= NAME_BYTES_MAX;
    match is_fine {
        true => name.to_owned(),
        false => slug(name),
    }
}

/// Returns the plain words of a name, joined by `-`.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let mut slug = words.join("-");
    while slug.len() > NAME_BYTES_MAX {
        slug.pop();
    }
    match slug.is_empty() {
        true => "workflow".to_owned(),
        false => slug,
    }
}

/// Reads a text as a workflow; its problems are part of the result.
pub fn read_text(project: &Project, (shown, name): (&str, &str), source: String) -> LoadedWorkflow {
    let mut sheet = LoadedWorkflow {
        shown: shown.to_owned(),
        name: name.to_owned(),
        workflow: None,
        problems: Vec::new(),
        source,
    };
    let workflow = match flow::parse(&sheet.source) {
        Ok(workflow) => workflow,
        Err(error) => {
            sheet.problems = error.problems().to_vec();
            return sheet;
        }
    };
    let others = others(project, name);
    let mut known: BTreeMap<String, &Workflow> = BTreeMap::new();
    for (other, workflow) in &others {
        known.insert(other.clone(), workflow);
    }
    known.insert(name.to_owned(), &workflow);
    let around = flow::CheckSurroundings {
        agents: Some(project.settings.workflows.agents.keys().cloned().collect()),
        people: project.people.clone(),
        workflows: Some(known),
        name: Some(name.to_owned()),
    };
    sheet.problems = flow::check(&workflow, &around);
    sheet
        .problems
        .extend(workflow.steps().iter().flat_map(handled));
    sheet.problems.extend(declared(project, &workflow));
    sheet
        .problems
        .sort_by_key(|problem| (problem.line, problem.column, problem.severity));
    sheet.workflow = Some(workflow);
    sheet
}

/// Returns the names of the project's workflows.
pub fn names(project: &Project) -> Result<Vec<String>, Error> {
    let folder = RelPath::parse(WORKFLOWS_DIR)?;
    if !fs::exists(&project.folder().join(WORKFLOWS_DIR)) {
        return Ok(Vec::new());
    }
    let files = project.root.walk(&folder)?;
    let names = files.into_iter().filter_map(|entry| {
        let inside = entry.path.strip_prefix(&folder)?;
        let name = inside.as_str().strip_suffix(ENDING)?.to_owned();
        Some(name)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// Returns the text of a workflow of the project: by the name of its file, or by its title.
pub(crate) fn text_of(project: &Project, name: &str) -> Result<Option<String>, Error> {
    if let Ok(path) = RelPath::parse(&place(name))
        && let Some(text) = project.root.read_text(&path)?
    {
        return Ok(Some(text));
    }
    let names = names(project)?;
    for other in &names {
        let text = project.root.read_text(&RelPath::parse(&place(other))?)?;
        let title = text.as_deref().and_then(|text| flow::parse(text).ok());
        if title.is_some_and(|workflow| workflow.name() == Some(name)) {
            return Ok(text);
        }
    }
    // `pr-review` is easier to type than 'PR Review'.
    let plain = names.iter().find(|other| slug(other) == name);
    match plain {
        Some(other) => Ok(project.root.read_text(&RelPath::parse(&place(other))?)?),
        None => Ok(None),
    }
}

fn place(name: &str) -> String {
    format!("{WORKFLOWS_DIR}/{name}{ENDING}")
}

/// Returns the other valid workflows; a broken one is reported where it is checked itself.
fn others(project: &Project, name: &str) -> Vec<(String, Workflow)> {
    let mut others = Vec::new();
    for other in names(project).unwrap_or_default() {
        let path = RelPath::parse(&place(&other));
        let text = path
            .ok()
            .and_then(|path| project.root.read_text(&path).ok().flatten());
        let workflow = text.and_then(|text| flow::parse(&text).ok());
        if let Some(workflow) = workflow.filter(|_| other != name) {
            if let Some(title) = workflow.name().filter(|title| *title != name) {
                others.push((title.to_owned(), workflow.clone()));
            }
            others.push((other, workflow));
        }
    }
    others
}

/// Returns the problems of names that a workflow takes from the project: recipes and their values,
/// times and patterns of triggers.
fn declared(project: &Project, workflow: &Workflow) -> Vec<WorkflowProblem> {
    let steps = workflow.steps().iter();
    let mut problems: Vec<WorkflowProblem> = steps
        .flat_map(|step| {
            let told = match step.config.handler {
                Some(StepHandler::Recipe) => executors::recipe_problems(project, step),
                Some(StepHandler::Mcp) => executors::mcp_problems(project, step),
                _ => Vec::new(),
            };
            let told = told.into_iter();
            told.map(|message| WorkflowProblem::of_handler(step, &message))
        })
        .collect();
    for trigger in workflow.triggers() {
        if let Some(message) = triggers::problem(project, trigger) {
            problems.push(WorkflowProblem::of_trigger(workflow, &message));
        }
    }
    problems
}

/// Returns the problems that a step's handler finds in it.
fn handled(step: &WorkflowStep) -> Vec<WorkflowProblem> {
    let works = match step.step_type {
        StepType::Task | StepType::Foreach | StepType::Join => {
            step.execution == ExecutionMode::Automated
        }
        StepType::Decision | StepType::Subflow | StepType::Wait => false,
    };
    if !works || (step.config.handler.is_none() && step.config.config.is_none()) {
        return Vec::new();
    }
    let executor = executors::of(step.config.handler.unwrap_or_default());
    let problems = executor.check(step).into_iter();
    problems
        .map(|message| WorkflowProblem::of_handler(step, &message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{file_name, slug};

    #[test]
    fn files_are_called_like_their_workflow_where_they_can_be() {
        for (name, file, plain) in [
            (
                "PR Review Pipeline",
                "PR Review Pipeline",
                "pr-review-pipeline",
            ),
            ("Größe_2", "Größe_2", "größe-2"),
            ("a/b: c", "a-b-c", "a-b-c"),
            (" x", "x", "x"),
            ("../..", "workflow", "workflow"),
            ("", "workflow", "workflow"),
        ] {
            assert_eq!(file_name(name), file);
            assert_eq!(slug(name), plain);
        }
        assert_eq!(file_name(&"é ".repeat(500)).len(), 200);
    }
}
