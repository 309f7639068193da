//! Finds the thing that a word names for `drawloom run`: a recipe, a workflow, a task file or a plan file.
//!
//! A recipe that is not ambiguous costs one look for a file more than naming it a recipe does: no
//! database is opened, and no workflow is read.

use std::path::{Path, PathBuf};

use recipe::RecipeErrorKind;
use workspace::{RelPath, Root, fs};

use crate::recipes::{self, FoundRecipe};
use crate::workflows::{self, WORKFLOWS_DIR};
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};

/// Number of files beside a missing one that are compared with its name.
const BESIDE_MAX: usize = 200;
/// Endings of files with workflows.
const DIAGRAM_ENDINGS: [&str; 2] = ["mmd", "mermaid"];
/// Ending of task and plan files.
const JSON_ENDING: &str = "json";

/// The kinds of things that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    Recipe,
    Workflow,
    Task,
    Plan,
}

impl TargetKind {
    /// The kinds that have names; the others are files.
    pub const NAMED: [TargetKind; 2] = [TargetKind::Recipe, TargetKind::Workflow];

    /// Returns the word for it, as messages say it.
    pub fn as_str(self) -> &'static str {
        match self {
            TargetKind::Recipe => "recipe",
            TargetKind::Workflow => "workflow",
            TargetKind::Task => "task",
            TargetKind::Plan => "plan",
        }
    }
}

/// A thing that can be run.
#[derive(Debug)]
pub enum RunTarget {
    Recipe(Box<FoundRecipe>),
    /// The workflow's file or its name, as it was given.
    Workflow(PathBuf),
    Task(PathBuf),
    Plan(PathBuf),
}

/// Finds what the words name: the first one, and for a recipe of a kit further ones. Files are told by
/// their ending and contents; a name is a recipe's or a workflow's. Paths are relative to the current
/// folder.
pub fn find(
    project: &Project,
    surroundings: &ProcessEnvironment,
    words: &[String],
) -> Result<RunTarget, Error> {
    let word = words.first().map(String::as_str).unwrap_or_default();
    if let Some(file) = file_target(surroundings, word)? {
        return Ok(file);
    }
    let error = match recipes::find(project, &surroundings.cwd, words) {
        Ok(found) => {
            return match has_workflow_file(project, word) {
                true => Err(ambiguous(project, surroundings, (word, &found))),
                false => Ok(RunTarget::Recipe(Box::new(found))),
            };
        }
        Err(error) => error,
    };
    if !is_not_found(&error) {
        return Err(error);
    }
    match workflows::text_of(project, word)? {
        Some(_) => Ok(RunTarget::Workflow(word.into())),
        None => Err(nothing(project, surroundings, (word, error))),
    }
}

/// Returns the kind of a file that exists and has the ending of one.
fn file_target(surroundings: &ProcessEnvironment, word: &str) -> Result<Option<RunTarget>, Error> {
    let given = Path::new(word);
    let ending = given.extension().and_then(|ending| ending.to_str());
    let Some(ending) = ending else {
        return Ok(None);
    };
    let is_diagram = DIAGRAM_ENDINGS.contains(&ending);
    let path = surroundings.path(given);
    if !(is_diagram || ending == JSON_ENDING) || fs::is_dir(&path) || !fs::exists(&path) {
        return Ok(None);
    }
    if is_diagram {
        return Ok(Some(RunTarget::Workflow(given.to_owned())));
    }
    let text = fs::read_text(&path)?.unwrap_or_default();
    Ok(Some(match crate::tasks::is_plan(&text) {
        true => RunTarget::Plan(given.to_owned()),
        false => RunTarget::Task(given.to_owned()),
    }))
}

/// True if the project has a workflow in a file of this name. Titles do not count: they are found
/// only by names that no recipe has.
fn has_workflow_file(project: &Project, word: &str) -> bool {
    let file = RelPath::parse(word).ok();
    let file = file.map(|_| project.folder().join(format!("{WORKFLOWS_DIR}/{word}.mmd")));
    file.is_some_and(|file| fs::exists(&file))
}

/// Refuses a name that is a recipe's and a workflow's, and says how to write each.
fn ambiguous(
    project: &Project,
    surroundings: &ProcessEnvironment,
    (word, found): (&str, &FoundRecipe),
) -> Error {
    let message = format!("`{word}` is both a recipe and a workflow");
    let recipe = written(surroundings, &project.folder().join(&found.recipe.id));
    let file = project.folder().join(format!("{WORKFLOWS_DIR}/{word}.mmd"));
    let workflow = written(surroundings, &file);
    let recipe = match fs::exists(&surroundings.path(Path::new(&recipe))) {
        true => format!("`drawloom run {recipe}`"),
        // A single file, a user's own recipe, or one of a further folder.
        false => format!("`drawloom recipe run {word}`"),
    };
    Error::new(AppErrorCode::Usage, message).hint(format!(
        "name the folder or the file: {recipe} runs the recipe, `drawloom run {workflow}` the workflow"
    ))
}

/// Returns a path as one would write it in the current folder.
fn written(surroundings: &ProcessEnvironment, path: &Path) -> String {
    let here = fs::canonical(&surroundings.cwd).ok();
    let inside = here
        .as_deref()
        .and_then(|here| path.strip_prefix(here).ok());
    match inside {
        Some(inside) => format!("./{}", inside.display()),
        None => path.display().to_string(),
    }
}

fn is_not_found(error: &Error) -> bool {
    match error {
        Error::Recipe(error) => error.kind() == RecipeErrorKind::NotFound,
        Error::Own(fault) => fault.code == AppErrorCode::NotFound,
        _ => false,
    }
}

/// Explains that nothing has this name, with the nearest name of any kind.
fn nothing(
    project: &Project,
    surroundings: &ProcessEnvironment,
    (word, error): (&str, Error),
) -> Error {
    let Error::Recipe(refused) = &error else {
        // A kit that is locked and not there, for one: it says more than any name.
        return error;
    };
    let said = refused.to_string();
    if !said.starts_with("there is no recipe") {
        return error;
    }
    let hint = refused.diagnostics().first();
    let hint = hint.and_then(|diagnostic| diagnostic.hint.clone());
    let missing = match Path::new(word)
        .extension()
        .and_then(|ending| ending.to_str())
    {
        Some(ending) if ending == JSON_ENDING || DIAGRAM_ENDINGS.contains(&ending) => {
            format!("there is no file `{word}`")
        }
        _ => format!("there is no recipe `{word}`, and no workflow or file of this name"),
    };
    let error = Error::new(AppErrorCode::NotFound, missing);
    let names = other_names(project, surroundings, word);
    let recipes = recipe_names(project);
    let all = names.iter().map(|(name, _)| name.as_str());
    let near = crate::nearest(word, all.chain(recipes.iter().map(String::as_str)));
    let other = near.and_then(|near| names.iter().find(|(name, _)| name == near));
    match (other, hint) {
        (Some((name, kind)), _) => error.hint(format!("did you mean the {kind} `{name}`?")),
        (None, Some(hint)) if hint.contains("did you mean") => error.hint(hint),
        _ if names.is_empty() && recipes.is_empty() => error.hint(
            "there are no recipes and no workflows here: `drawloom init` sets up this folder with two \
             example recipes, and `--cwd` names another folder",
        ),
        _ => error.hint(
            "`drawloom recipe list` and `drawloom workflow list` show what there is; \
             a path is taken from the folder you are in",
        ),
    }
}

fn recipe_names(project: &Project) -> Vec<String> {
    let catalog = recipes::catalog(project).ok();
    let listed = catalog.iter().flat_map(|catalog| catalog.all());
    listed
        .flat_map(|listing| [listing.id.clone(), listing.name.clone()])
        .collect()
}

/// Returns the names of workflows, and of files that could be meant, each with its kind.
fn other_names(
    project: &Project,
    surroundings: &ProcessEnvironment,
    word: &str,
) -> Vec<(String, &'static str)> {
    let workflows = workflows::names(project).unwrap_or_default().into_iter();
    let mut names: Vec<(String, &'static str)> = workflows
        .map(|name| (name, TargetKind::Workflow.as_str()))
        .collect();
    let given = Path::new(word);
    let path = surroundings.path(given);
    let folder = path.parent().and_then(|folder| Root::open(folder).ok());
    let listed = folder.and_then(|root| root.list(&RelPath::root()).ok());
    let files = listed.unwrap_or_default().into_iter().filter_map(|entry| {
        let name = entry.path.as_str();
        let ending = Path::new(name).extension()?.to_str()?;
        let kind = match ending {
            JSON_ENDING => "file",
            _ if DIAGRAM_ENDINGS.contains(&ending) => TargetKind::Workflow.as_str(),
            _ => return None,
        };
        Some((given.with_file_name(name).display().to_string(), kind))
    });
    names.extend(files.take(BESIDE_MAX));
    names
}
