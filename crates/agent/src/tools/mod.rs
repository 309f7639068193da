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
mod toolchains;
mod write_file;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use workspace::diff::ContentDiff;
use workspace::{ChangeSet, PathChange, RelPath, Workspace, WorkspaceErrorKind};

use crate::error::{AgentErrorKind, Error};
use crate::tool::{FileChangeKind, Tool, ToolAction, ToolError, ToolOutput};
use crate::toolset::AgentTools;

pub use execute_command::CommandSettings;
use execute_command::ExecuteCommand;
pub use git_filter::{GitFilter, InsteadOfGit, ShownHistory};

/// Allows or forbids commands.
#[derive(Clone, Debug)]
pub enum CommandAccess {
    /// There is no `execute_command`.
    None,
    /// There is, in these surroundings.
    Allowed(CommandSettings),
}

/// Returns the tools of the design's table, on one workspace.
pub fn standard(workspace: &Arc<Workspace>, commands: CommandAccess) -> Result<AgentTools, Error> {
    let mut toolset = AgentTools::new();
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
    if let CommandAccess::Allowed(settings) = commands {
        toolset.add(Arc::new(ExecuteCommand::new(shared(), settings)))?;
    }
    Ok(toolset)
}

/// Returns the tools that only read, for planning before anything is written.
pub fn reading(workspace: &Arc<Workspace>) -> Result<AgentTools, Error> {
    let mut toolset = AgentTools::new();
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

/// Returns the declaration of a tool.
fn declare(name: &str, description: &str, schema: Value) -> llm::ToolDeclaration {
    llm::ToolDeclaration {
        name: name.to_owned(),
        description: description.to_owned(),
        schema,
    }
}

/// Arguments that fit the schema as the handler's own type.
fn arguments<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments.clone()))
        .map_err(|error| ToolError::tell(format!("The arguments do not fit: {error}.")))
}

fn path(text: &str) -> Result<RelPath, ToolError> {
    RelPath::parse(text).map_err(refused)
}

/// Work with files, away from the threads that drive the conversation.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|failed| {
        Err(ToolError::Stop(Error::new(
            AgentErrorKind::Tool,
            format!("a tool broke down ({failed}). This is a defect; please report it."),
        )))
    })
}

/// Turns an error of the workspace into an error of a tool.
fn refused(error: workspace::Error) -> ToolError {
    let full = error
        .os()
        .is_some_and(|os| os.kind() == std::io::ErrorKind::StorageFull);
    match error.kind() {
        WorkspaceErrorKind::Recovery | WorkspaceErrorKind::OtherFilesystem => stopped(&error),
        _ if full => stopped(&error),
        _ => ToolError::tell(sentence(&error.to_string())),
    }
}

fn stopped(error: &workspace::Error) -> ToolError {
    ToolError::Stop(Error::new(AgentErrorKind::Tool, error.to_string()))
}

/// Adds a capital letter and a full stop.
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

/// Returns the text of a file that has to be there.
fn existing(workspace: &Workspace, path: &RelPath) -> Result<String, ToolError> {
    match workspace.read_text(path).map_err(refused)? {
        Some(text) => Ok(text),
        None => Err(ToolError::tell(format!(
            "`{path}` does not exist. Use `write_file` to create it, or `list_files` to find it."
        ))),
    }
}

/// New contents for some files, by path; `None` is a file that goes.
struct FileRewrite {
    path: RelPath,
    old: Option<String>,
    new: Option<String>,
}

impl FileRewrite {
    fn change(&self) -> FileChangeKind {
        match (&self.old, &self.new) {
            (_, None) => FileChangeKind::Deleted,
            (None, _) => FileChangeKind::Created,
            _ => FileChangeKind::Modified,
        }
    }

    fn deed(&self) -> ToolAction {
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
        let (old, new) = (bytes(&self.old), bytes(&self.new));
        let summary = ContentDiff::between(old.as_deref(), new.as_deref()).summary();
        ToolAction::Wrote {
            path: self.path.clone(),
            change: self.change(),
            lines_added: summary.added as u64,
            lines_removed: summary.removed as u64,
            bytes: self.new.as_ref().map_or(0, |text| text.len() as u64),
        }
    }
}

/// Writes all of the files or none, and adds the changes made to `value`.
fn write(
    workspace: &Workspace,
    rewrites: &[FileRewrite],
    value: Value,
) -> Result<ToolOutput, ToolError> {
    let mut changes = ChangeSet::new();
    for rewrite in rewrites.iter().filter(|rewrite| rewrite.old != rewrite.new) {
        let change = match &rewrite.new {
            Some(text) => PathChange::Write {
                bytes: text.clone().into_bytes(),
                executable: false,
            },
            None => PathChange::Delete,
        };
        changes.put(rewrite.path.clone(), change);
    }
    let mut output = ToolOutput::new(value);
    if changes.is_empty() {
        return Ok(output);
    }
    workspace.apply(&changes).map_err(refused)?;
    let written = rewrites.iter().filter(|rewrite| rewrite.old != rewrite.new);
    output.deeds.extend(written.map(FileRewrite::deed));
    Ok(output)
}

/// Returns the text with a line end at its end, if there is anything in it.
fn ended(mut text: String, ending: &str) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(ending);
    }
    text
}

/// Counts the lines of a text; the last one need not end with a line feed.
fn line_count(text: &str) -> usize {
    text.lines().count()
}
