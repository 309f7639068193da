//! Named workflows in files and in the database: listed side by side, pushed, pulled and restored.

use flow::TextHash;
use store::{NewVersion, VersionOrigin, WorkflowVersion};

use super::UseCases;
use super::access::Permission;
use super::texts::TextSave;
use crate::people::explained;
use crate::workflows::LoadedWorkflow;
use crate::{AppErrorCode, Error};

/// A workflow of the project, of the database, or of both.
#[derive(Clone, Debug)]
pub struct NamedWorkflow {
    pub name: String,
    /// The newest version in the database.
    pub newest: Option<WorkflowVersion>,
    pub file: FileState,
}

/// The file of a workflow, compared with the newest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// There is no file.
    Missing,
    /// The file has the text of the newest version.
    Same,
    /// The file has the text of an older version: `pull` brings it up to date.
    Behind,
    /// The file has a text that no version has: `push` keeps it.
    Changed,
}

impl FileState {
    /// Returns the word in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            FileState::Missing => "no file",
            FileState::Same => "same",
            FileState::Behind => "behind",
            FileState::Changed => "changed",
        }
    }
}

/// The result of moving a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextMove {
    /// The text is there now, as the version of this number.
    Moved(u64),
    /// It was there already.
    Same,
}

impl UseCases {
    /// Lists all workflows with their newest versions and the state of their files.
    pub async fn named_workflows(&self) -> Result<Vec<NamedWorkflow>, Error> {
        let mut listed = Vec::new();
        for name in self.workflow_names().await? {
            listed.push(self.named_workflow(&name).await?);
        }
        Ok(listed)
    }

    /// Returns one workflow with its newest version and the state of its file.
    pub async fn named_workflow(&self, name: &str) -> Result<NamedWorkflow, Error> {
        self.permit(Permission::Look)?;
        let versions = self.workflow_versions(name, None).await?;
        let text = self.file_text(name)?;
        let hash = text.as_deref().map(TextHash::of);
        let at = hash.map(|hash| versions.iter().position(|version| version.hash == hash));
        Ok(NamedWorkflow {
            name: name.to_owned(),
            newest: versions.into_iter().next(),
            file: match at {
                None => FileState::Missing,
                Some(Some(0)) => FileState::Same,
                Some(Some(_)) => FileState::Behind,
                Some(None) => FileState::Changed,
            },
        })
    }

    /// Keeps the text of a workflow's file as its newest version in the database.
    pub async fn push_workflow(&self, name: &str, message: &str) -> Result<TextMove, Error> {
        self.permit(Permission::EditWorkflows)?;
        let Some(source) = self.file_text(name)? else {
            let message = format!("there is no file of the workflow `{name}`");
            return Err(Error::new(AppErrorCode::NotFound, message)
                .hint("`drawloom workflow list` lists workflows and their files"));
        };
        let sheet = self.check_text(name, source).await?;
        require_workflow(&sheet)?;
        let newest = self.workflow_versions(name, None).await?.into_iter().next();
        let hash = TextHash::of(&sheet.source);
        if newest.as_ref().is_some_and(|newest| newest.hash == hash) {
            return Ok(TextMove::Same);
        }
        let version = NewVersion {
            name: name.to_owned(),
            expected: newest.map_or(0, |newest| newest.number),
            source: sheet.source,
            author: self.person(),
            message: message.to_owned(),
            origin: VersionOrigin::Pushed,
        };
        let saved = self.app().ports().save_version(&version).await;
        Ok(TextMove::Moved(saved.map_err(explained)?.number))
    }

    /// Writes the newest version of a workflow into its file. A file with a text that no version has is
    /// replaced only with `is_forced`.
    pub async fn pull_workflow(&self, name: &str, is_forced: bool) -> Result<TextMove, Error> {
        self.permit(Permission::EditWorkflows)?;
        let named = self.named_workflow(name).await?;
        let Some(newest) = named.newest else {
            let message = format!("the database has no workflow `{name}`");
            return Err(Error::new(AppErrorCode::NotFound, message)
                .hint("`drawloom workflow push` puts it there"));
        };
        match named.file {
            FileState::Same => return Ok(TextMove::Same),
            FileState::Changed if !is_forced => {
                let message = format!("the file of `{name}` has changes that no version has");
                return Err(Error::new(AppErrorCode::Conflict, message).hint(format!(
                    "`drawloom workflow diff {name}` shows them; push them first, or pull with --force"
                )));
            }
            _ => {}
        }
        let (_, text) = self.workflow_version(name, newest.number).await?;
        self.write_file(name, &text)?;
        Ok(TextMove::Moved(newest.number))
    }

    /// Saves the text of an older version as the newest one, in the database and in the file.
    pub async fn restore_workflow(&self, name: &str, number: u64) -> Result<TextMove, Error> {
        self.permit(Permission::EditWorkflows)?;
        let (_, source) = self.workflow_version(name, number).await?;
        let there = match self.file_text(name)? {
            Some(text) => text,
            None => self.newest_text(name).await?,
        };
        let newest = self.workflow_versions(name, None).await?.into_iter().next();
        let is_newest = newest.is_some_and(|newest| newest.hash == TextHash::of(&source));
        if is_newest && there == source {
            return Ok(TextMove::Same);
        }
        let save = TextSave {
            name: name.to_owned(),
            source,
            seen: Some(TextHash::of(&there).as_str().to_owned()),
            message: format!("Restored version {number}"),
        };
        let (_, version) = self.save_workflow(save).await?;
        Ok(TextMove::Moved(version.number))
    }

    async fn newest_text(&self, name: &str) -> Result<String, Error> {
        let found = self.app().ports().version(name, None).await;
        let found = found.map_err(explained)?;
        Ok(found.map(|(_, text)| text).unwrap_or_default())
    }
}

fn require_workflow(sheet: &LoadedWorkflow) -> Result<(), Error> {
    match sheet.workflow.is_some() {
        true => Ok(()),
        false => Err(Error::new(
            AppErrorCode::Data,
            format!("the text of `{}` is no workflow", sheet.name),
        )
        .hint("`drawloom workflow check` says what is wrong with it")),
    }
}
