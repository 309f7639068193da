//! The tools every agent has: one file each, with its schema, its words for the model and its handler.
//!
//! All work on one [`Workspace`], whose policy and limits hold for each of them. Whatever changes
//! files builds a change set first and applies it in one step, or not at all.

mod apply_diff;
mod exceptions;
mod execute_command;
mod git_filter;
mod insert_content;
mod list_files;
mod modify_file;
mod on_files;
mod read_file;
mod search_files;
mod write_file;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use workspace::diff::Diff;
use workspace::{Change, ChangeSet, ErrorKind, RelPath, Workspace};

use crate::error::{Error, Kind};
use crate::tool::{Deed, Fault, FileChange, Output, Tool};
use crate::toolset::Toolset;

pub use execute_command::CommandSettings;
use execute_command::ExecuteCommand;
pub use git_filter::{GitFilter, InsteadOfGit, ShownHistory};

/// Whether commands may be run, and how.
#[derive(Clone, Debug)]
pub enum Commands {
    /// There is no `execute_command`.
    None,
    /// There is, in these surroundings.
    Allowed(CommandSettings),
}

/// The tools of the design's table, on one workspace.
pub fn standard(workspace: &Arc<Workspace>, commands: Commands) -> Result<Toolset, Error> {
    let mut toolset = Toolset::new();
    let shared = || Arc::clone(workspace);
    let files: [Arc<dyn Tool>; 7] = [
        Arc::new(read_file::tool(shared())),
        Arc::new(write_file::tool(shared())),
        Arc::new(modify_file::tool(shared())),
        Arc::new(apply_diff::tool(shared())),
        Arc::new(insert_content::tool(shared())),
        Arc::new(search_files::tool(shared())),
        Arc::new(list_files::tool(shared())),
    ];
    for tool in files {
        toolset.add(tool)?;
    }
    if let Commands::Allowed(settings) = commands {
        toolset.add(Arc::new(ExecuteCommand::new(shared(), settings)))?;
    }
    Ok(toolset)
}

/// The tools that only look, for whoever plans and writes nothing yet.
pub fn reading(workspace: &Arc<Workspace>) -> Result<Toolset, Error> {
    let mut toolset = Toolset::new();
    let files: [Arc<dyn Tool>; 3] = [
        Arc::new(read_file::tool(Arc::clone(workspace))),
        Arc::new(search_files::tool(Arc::clone(workspace))),
        Arc::new(list_files::tool(Arc::clone(workspace))),
    ];
    for tool in files {
        toolset.add(tool)?;
    }
    Ok(toolset)
}

/// The declaration of a tool.
fn declare(name: &str, description: &str, schema: Value) -> llm::Tool {
    llm::Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        schema,
    }
}

/// Arguments that fit the schema as the handler's own type.
fn arguments<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, Fault> {
    serde_json::from_value(Value::Object(arguments.clone()))
        .map_err(|error| Fault::tell(format!("The arguments do not fit: {error}.")))
}

fn path(text: &str) -> Result<RelPath, Fault> {
    RelPath::parse(text).map_err(refused)
}

/// Work with files, away from the threads that drive the conversation.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|failed| {
        Err(Fault::Stop(Error::new(
            Kind::Tool,
            format!("a tool broke down ({failed}). This is a defect; please report it."),
        )))
    })
}

/// The branch an error of the workspace takes.
fn refused(error: workspace::Error) -> Fault {
    let full = error
        .os()
        .is_some_and(|os| os.kind() == std::io::ErrorKind::StorageFull);
    match error.kind() {
        ErrorKind::Recovery | ErrorKind::OtherFilesystem => stopped(&error),
        _ if full => stopped(&error),
        _ => Fault::tell(sentence(&error.to_string())),
    }
}

fn stopped(error: &workspace::Error) -> Fault {
    Fault::Stop(Error::new(Kind::Tool, error.to_string()))
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}

/// The text of a file that has to be there.
fn existing(workspace: &Workspace, path: &RelPath) -> Result<String, Fault> {
    match workspace.read_text(path).map_err(refused)? {
        Some(text) => Ok(text),
        None => Err(Fault::tell(format!(
            "`{path}` does not exist. Use `write_file` to create it, or `list_files` to find it."
        ))),
    }
}

/// New contents for some files, by path; `None` is a file that goes.
struct Rewrite {
    path: RelPath,
    old: Option<String>,
    new: Option<String>,
}

impl Rewrite {
    fn change(&self) -> FileChange {
        match (&self.old, &self.new) {
            (_, None) => FileChange::Deleted,
            (None, _) => FileChange::Created,
            _ => FileChange::Modified,
        }
    }

    fn deed(&self) -> Deed {
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
        let (old, new) = (bytes(&self.old), bytes(&self.new));
        let summary = Diff::between(old.as_deref(), new.as_deref()).summary();
        Deed::Wrote {
            path: self.path.clone(),
            change: self.change(),
            lines_added: summary.added as u64,
            lines_removed: summary.removed as u64,
            bytes: self.new.as_ref().map_or(0, |text| text.len() as u64),
        }
    }
}

/// Writes all of it or nothing, and says what was done beside `value`.
fn write(workspace: &Workspace, rewrites: &[Rewrite], value: Value) -> Result<Output, Fault> {
    let mut changes = ChangeSet::new();
    for rewrite in rewrites.iter().filter(|rewrite| rewrite.old != rewrite.new) {
        let change = match &rewrite.new {
            Some(text) => Change::Write {
                bytes: text.clone().into_bytes(),
                executable: false,
            },
            None => Change::Delete,
        };
        changes.put(rewrite.path.clone(), change);
    }
    let mut output = Output::new(value);
    if changes.is_empty() {
        return Ok(output);
    }
    workspace.apply(&changes).map_err(refused)?;
    let written = rewrites.iter().filter(|rewrite| rewrite.old != rewrite.new);
    output.deeds.extend(written.map(Rewrite::deed));
    Ok(output)
}

/// The text with a line end at its end, if there is anything in it.
fn ended(mut text: String, ending: &str) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(ending);
    }
    text
}

/// How many lines a text has; the last one need not be ended.
fn line_count(text: &str) -> usize {
    text.lines().count()
}
