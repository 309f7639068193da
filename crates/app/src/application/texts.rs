//! Texts of workflows: listed, read, checked, saved, imported and exported.
//!
//! A workflow is called by its name here, never by a path: a door to the network must not become a way
//! to read files of the machine. Where the project has a file of that name, the file is the truth;
//! otherwise the newest version in the database is.

use flow::TextHash;
use serde_json::Value;
use store::{NewVersion, VersionOrigin, WorkflowVersion};
use workspace::{ChangeSet, PathChange, RelPath};

use super::UseCases;
use super::access::{Actor, Permission};
use crate::people::explained;
use crate::workflows::{self, ImportOptions, LoadedWorkflow, WORKFLOWS_DIR};
use crate::{AppErrorCode, Error, Project, trust};

/// Largest number of named workflows in a list.
const WORKFLOWS_MAX: usize = 10_000;
/// Largest number of versions in a list.
pub const VERSIONS_MAX: usize = 100;

/// A text to save under a name.
#[derive(Clone, Debug)]
pub struct TextSave {
    pub name: String,
    pub source: String,
    /// The hash of the text that the author has seen; nothing for a workflow that is new.
    pub seen: Option<String>,
    /// A line that says why.
    pub message: String,
}

impl UseCases {
    /// Lists the names of all workflows: those with a file and those in the database.
    pub async fn workflow_names(&self) -> Result<Vec<String>, Error> {
        self.permit(Permission::Look)?;
        let mut names = workflows::names(self.project())?;
        let ports = self.app().ports();
        let kept = ports.named_workflows(None, WORKFLOWS_MAX).await;
        names.extend(kept.map_err(explained)?.into_iter().map(|kept| kept.name));
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Reads and checks the workflow of a name, against the agents and people that are known now.
    pub async fn sheet(&self, name: &str) -> Result<LoadedWorkflow, Error> {
        self.permit(Permission::Look)?;
        let text = match self.file_of(name)? {
            Some(path) => self.project().root.read_text(&path)?,
            None => None,
        };
        let text = match text {
            Some(text) => text,
            None => self.kept_text(name).await?,
        };
        let project = self.project_now().await?;
        Ok(workflows::read_text(&project, (name, name), text))
    }

    /// Checks a text as if it were a workflow of the project.
    pub async fn check_text(&self, name: &str, text: String) -> Result<LoadedWorkflow, Error> {
        self.permit(Permission::Look)?;
        let project = self.project_now().await?;
        Ok(workflows::read_text(&project, (name, name), text))
    }

    /// Saves a text under a name: the file and the version together. Refused when the text is not the one
    /// that the author has seen, and when it is no workflow at all.
    pub async fn save_workflow(
        &self,
        save: TextSave,
    ) -> Result<(LoadedWorkflow, WorkflowVersion), Error> {
        self.permit(Permission::EditWorkflows)?;
        let TextSave {
            name,
            source,
            seen,
            message,
        } = save;
        let path = self.file_of(&name)?.ok_or_else(|| no_name(&name))?;
        let sheet = self.check_text(&name, source).await?;
        if sheet.workflow.is_none() {
            return Err(Error::new(AppErrorCode::Data, "the text is no workflow")
                .hint("check it first: the problems say where"));
        }
        let _saving = self.state().saving.lock().await;
        let before = self.project().root.read_text(&path)?;
        let kept = self.app().ports().version(&name, None).await;
        let kept = kept.map_err(explained)?;
        let there = before
            .clone()
            .or(kept.as_ref().map(|(_, text)| text.clone()));
        let hash = there.as_deref().map(TextHash::of);
        if hash.as_ref().map(TextHash::as_str) != seen.as_deref() {
            return Err(changed_meanwhile(&name, there.is_some()));
        }
        self.refuse_new_acts(&sheet, there).await?;
        self.put_file(&path, Some(&sheet.source))?;
        let version = NewVersion {
            name,
            expected: kept.map_or(0, |(version, _)| version.number),
            source: sheet.source.clone(),
            author: self.actor().name().to_owned(),
            message,
            origin: VersionOrigin::Saved,
        };
        match self.app().ports().save_version(&version).await {
            Ok(version) => Ok((sheet, version)),
            Err(error) => {
                self.put_file(&path, before.as_ref())?;
                Err(explained(error))
            }
        }
    }

    /// Refuses a text that does more than its author may let it do. Trust in the folder is trust in
    /// what its owner writes into it; a text that came over the network or from an agent is no such
    /// text, and its commands, addresses and secrets need a person who may allow them.
    async fn refuse_new_acts(
        &self,
        sheet: &LoadedWorkflow,
        before: Option<String>,
    ) -> Result<(), Error> {
        if matches!(self.actor(), Actor::Terminal { .. }) {
            return Ok(());
        }
        let project = self.project_now().await?;
        let name = sheet.name.as_str();
        let before = before.map(|text| workflows::read_text(&project, (name, name), text));
        let acts = trust::new_acts(&project, sheet, before.as_ref())?;
        let is_allowed = self.permit(Permission::AllowActs).is_ok() && !self.actor().is_agent();
        let Some(act) = acts.first().filter(|_| !is_allowed) else {
            return Ok(());
        };
        let message = format!(
            "{} may not {}: {} {}",
            self.actor().name(),
            Permission::AllowActs.words(),
            act.subject,
            act.does.join(", ")
        );
        Err(Error::new(AppErrorCode::Forbidden, message)
            .hint("a person who is an admin saves it; steps that are there already may stay"))
    }

    /// Lists the versions of a workflow, the newest first, from before a number.
    pub async fn workflow_versions(
        &self,
        name: &str,
        before: Option<u64>,
    ) -> Result<Vec<WorkflowVersion>, Error> {
        self.permit(Permission::Look)?;
        let ports = self.app().ports();
        let listed = ports.versions(name, before, VERSIONS_MAX).await;
        listed.map_err(explained)
    }

    /// Returns one version with its text.
    pub async fn workflow_version(
        &self,
        name: &str,
        number: u64,
    ) -> Result<(WorkflowVersion, String), Error> {
        self.permit(Permission::Look)?;
        let found = self.app().ports().version(name, Some(number)).await;
        found.map_err(explained)?.ok_or_else(|| {
            let message = format!("the workflow `{name}` has no version {number}");
            Error::new(AppErrorCode::NotFound, message)
        })
    }

    /// Returns a workflow as a document for others, with the agents it names.
    pub async fn export_workflow(&self, name: &str) -> Result<Value, Error> {
        let sheet = self.sheet(name).await?;
        let project = self.project_now().await?;
        let Some(workflow) = &sheet.workflow else {
            let message = format!("the text of `{name}` is no workflow");
            return Err(Error::new(AppErrorCode::Data, message).hint("check it first"));
        };
        let surroundings = self.app().surroundings();
        Ok(workflows::export(
            &project,
            surroundings,
            (&sheet, workflow),
        ))
    }

    /// Imports a document that was exported, or a bare diagram, and returns its name. A workflow of that
    /// name with another text is not replaced.
    pub async fn import_workflow(
        &self,
        text: &str,
        name: Option<&str>,
    ) -> Result<LoadedWorkflow, Error> {
        self.permit(Permission::EditWorkflows)?;
        if let Some(name) = name {
            self.file_of(name)?;
        }
        let mut project = self.project_now().await?;
        let wish = ImportOptions {
            name,
            creates_agents: self.permit(Permission::ManagePeople).is_ok(),
        };
        let imported = workflows::import(&mut project, (text, "the document"), wish)?;
        if !imported.sheet.is_fine() {
            let message = "the document has a workflow that cannot run";
            return Err(Error::new(AppErrorCode::Data, message)
                .hint("check its text: the problems say where"));
        }
        if imported.replaces() {
            let message = format!("there is a workflow `{}` already", imported.sheet.name);
            return Err(Error::new(AppErrorCode::Conflict, message)
                .hint("give another name, or save the text with If-Match"));
        }
        let _saving = self.state().saving.lock().await;
        self.refuse_new_acts(&imported.sheet, None).await?;
        let register = self.app().register();
        imported.write(self.project(), Some(&register)).await?;
        Ok(imported.sheet)
    }

    /// Returns the project with the agents and people that the database has at this moment.
    pub(crate) async fn project_now(&self) -> Result<Project, Error> {
        let surroundings = self.app().surroundings();
        let surroundings = crate::ProcessEnvironment {
            cwd: self.project().folder().to_owned(),
            ..surroundings.clone()
        };
        let mut project = Project::open(&surroundings)?;
        let users = self
            .app()
            .people()
            .users(store::UserFilter::Everybody)
            .await;
        crate::people::join(&mut project, users.map_err(explained)?);
        Ok(project)
    }

    /// Returns the file of a workflow, from the project's folder; an errorfor what cannot be a
    /// name.
    fn file_of(&self, name: &str) -> Result<Option<RelPath>, Error> {
        let is_odd = |c: char| c.is_control() || matches!(c, '\\' | ':' | '\0');
        let parts = || name.split('/');
        let fits = !name.is_empty()
            && name.chars().count() <= store::WORKFLOW_NAME_CHARS_MAX
            && !name.chars().any(is_odd)
            && parts()
                .all(|part| !part.is_empty() && !part.starts_with('.') && part.trim() == part);
        match fits {
            true => Ok(Some(RelPath::parse(&format!(
                "{WORKFLOWS_DIR}/{name}.mmd"
            ))?)),
            false => Err(no_name(name)),
        }
    }

    /// Returns the text of a workflow's file, or `None` if it has no file.
    pub(super) fn file_text(&self, name: &str) -> Result<Option<String>, Error> {
        match self.file_of(name)? {
            Some(path) => Ok(self.project().root.read_text(&path)?),
            None => Ok(None),
        }
    }

    /// Writes a workflow's file.
    pub(super) fn write_file(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.file_of(name)?.ok_or_else(|| no_name(name))?;
        self.put_file(&path, Some(&text.to_owned()))
    }

    async fn kept_text(&self, name: &str) -> Result<String, Error> {
        let found = self.app().ports().version(name, None).await;
        let found = found.map_err(explained)?;
        if let Some((_, text)) = found {
            return Ok(text);
        }
        let names = self.workflow_names().await?;
        let hint = match crate::nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "GET /api/v1/workflows lists them".to_owned(),
        };
        Err(Error::new(
            AppErrorCode::NotFound,
            format!("there is no workflow `{name}`"),
        )
        .hint(hint))
    }

    fn put_file(&self, path: &RelPath, text: Option<&String>) -> Result<(), Error> {
        let change = match text {
            Some(text) => PathChange::Write {
                bytes: text.clone().into_bytes(),
                executable: false,
            },
            None => PathChange::Delete,
        };
        let mut changes = ChangeSet::new();
        changes.put(path.clone(), change);
        self.project().root.apply(&changes)?;
        Ok(())
    }
}

fn no_name(name: &str) -> Error {
    let message = format!("`{name}` cannot be the name of a workflow");
    Error::new(AppErrorCode::Usage, message).hint("use letters, digits, spaces, `-` and `_`")
}

fn changed_meanwhile(name: &str, is_there: bool) -> Error {
    let message = match is_there {
        true => format!("the workflow `{name}` is there with another text"),
        false => format!("there is no workflow `{name}` any more"),
    };
    Error::new(AppErrorCode::Stale, message)
        .hint("read it again, and put your change into what is there now")
}
