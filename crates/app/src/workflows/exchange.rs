//! Workflows that come from elsewhere and go elsewhere: checked whole before anything is written, and
//! written whole or not at all.

use flow::export::ExportedAgent;
use flow::{ExecutionMode, Workflow, WorkflowProblem};
use serde_json::Value;
use workspace::{ChangeSet, PathChange, RelPath};

use super::front_matter;
use super::reading::{LoadedWorkflow, WORKFLOWS_DIR, file_name, read_text};
use crate::people::{ProjectUsers, Slug, User, UserKind, UserRole};
use crate::settings::WorkflowAgent;
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};

/// Options of an import.
#[derive(Clone, Copy, Debug)]
pub struct ImportOptions<'a> {
    /// Name of the workflow; its own name if left out.
    pub name: Option<&'a str>,
    /// True if agents that are not known here are added.
    pub creates_agents: bool,
}

/// The result of an import before it is written.
#[derive(Debug)]
pub struct ImportPlan {
    /// From the project's folder.
    pub file: String,
    /// The current text of the file, if it is there.
    pub before: Option<String>,
    /// The workflow, checked as if the agents were there.
    pub sheet: LoadedWorkflow,
    /// Agents that would be added.
    pub agents: Vec<User>,
    /// Agents that are another one here: they stay as they are.
    pub kept: Vec<String>,
    /// Agents of which only the name is known: they get a placeholder prompt.
    pub unwritten: Vec<String>,
}

/// Reads a file that was exported, or a bare diagram, and checks all of it. Nothing is written; the
/// project only learns of the agents that would be.
pub fn import(
    project: &mut Project,
    (text, shown): (&str, &str),
    wish: ImportOptions<'_>,
) -> Result<ImportPlan, Error> {
    let known = project.settings.workflows.agents.keys().cloned().collect();
    let import =
        flow::export::import(text, &known).map_err(|error| unreadable(&error, (text, shown)))?;
    let is_bare = !text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('{');
    let name = match wish.name {
        Some(name) => name.to_owned(),
        None if is_bare => file_name(&stem(shown)),
        None => file_name(&import.name),
    };
    let file = format!("{WORKFLOWS_DIR}/{name}.mmd");
    let path = RelPath::parse(&file)?;
    let newcomers = ImportedAgents::of(project, &import);
    if let (false, [first, ..]) = (wish.creates_agents, newcomers.needed.as_slice()) {
        return Err(unknown(first, newcomers.needed.len(), shown));
    }
    let ImportedAgents { all, kept, .. } = newcomers;
    let (mut agents, mut unwritten) = (Vec::new(), Vec::new());
    for agent in all.into_iter().filter(|_| wish.creates_agents) {
        if agent.agent_prompt.trim().is_empty() {
            unwritten.push(agent.id.clone());
        }
        let user = user(&agent)?;
        enlist(project, &user);
        agents.push(user);
    }
    let title = match (wish.name, is_bare) {
        (None, false) => import.name.as_str(),
        _ => name.as_str(),
    };
    let source = front_matter::with(
        import.workflow.source(),
        (title, &name),
        import.description.as_deref(),
    );
    Ok(ImportPlan {
        before: project.root.read_text(&path)?,
        sheet: read_text(project, (&file, &name), source),
        file,
        agents,
        kept,
        unwritten,
    })
}

impl ImportPlan {
    /// Returns true if a file with another text is replaced.
    pub fn replaces(&self) -> bool {
        let before = self.before.as_ref();
        before.is_some_and(|before| *before != self.sheet.source)
    }

    /// Writes the workflow and adds its agents. Where the agents cannot be added, the file is put back
    /// as it was.
    pub async fn write(
        &self,
        project: &Project,
        register: Option<&ProjectUsers>,
    ) -> Result<(), Error> {
        self.put(project, Some(&self.sheet.source))?;
        let added = match register {
            Some(register) => register.add_all(&self.agents).await,
            None => Ok(()),
        };
        if added.is_err() {
            self.put(project, self.before.as_ref())?;
        }
        added
    }

    fn put(&self, project: &Project, text: Option<&String>) -> Result<(), Error> {
        let change = match text {
            Some(text) => PathChange::Write {
                bytes: text.clone().into_bytes(),
                executable: false,
            },
            None => PathChange::Delete,
        };
        let mut changes = ChangeSet::new();
        changes.put(RelPath::parse(&self.file)?, change);
        project.root.apply(&changes)?;
        Ok(())
    }
}

/// Writes a workflow as a document for others, with the agents it names.
pub fn export(
    project: &Project,
    surroundings: &ProcessEnvironment,
    (sheet, workflow): (&LoadedWorkflow, &Workflow),
) -> Value {
    let named = workflow.steps().iter().flat_map(|step| {
        let config = &step.config;
        [&config.default_assignee_id, &config.fallback_assignee_id]
    });
    let agents = named.flatten().filter_map(|id| {
        let agent = project.settings.workflows.agents.get(id)?;
        Some(ExportedAgent {
            id: id.clone(),
            display_name: agent.display_name.clone(),
            agent_prompt: agent.prompt.clone(),
        })
    });
    let mut agents: Vec<ExportedAgent> = agents.collect();
    agents.sort_by(|a, b| a.id.cmp(&b.id));
    agents.dedup();
    let name = workflow.name().unwrap_or(&sheet.name);
    let description = front_matter::description(workflow);
    let now = jiff::Timestamp::from_millisecond(surroundings.now_ms as i64).unwrap_or_default();
    let about = (name, description.as_deref());
    flow::export::export(workflow, about, &agents, &now.to_string())
}

/// The agents of a file, beside those that are here.
struct ImportedAgents {
    /// Not here: those that travel with the workflow, and those of which it has the name only.
    all: Vec<ExportedAgent>,
    /// Those of them that automated steps name.
    needed: Vec<String>,
    /// Here with another prompt.
    kept: Vec<String>,
}

impl ImportedAgents {
    fn of(project: &Project, import: &flow::export::WorkflowImport) -> Self {
        let here = &project.settings.workflows.agents;
        let automated = import
            .workflow
            .steps()
            .iter()
            .filter(|step| step.execution == ExecutionMode::Automated);
        // Manual steps belong to people, and people are not imported.
        let named = automated.filter_map(|step| step.config.default_assignee_id.clone());
        let mut needed: Vec<String> = named.filter(|id| !here.contains_key(id)).collect();
        needed.sort();
        needed.dedup();
        let (mut all, mut kept) = (Vec::new(), Vec::new());
        for agent in &import.agents {
            match here.get(&agent.id) {
                Some(known) if known.prompt == agent.agent_prompt => {}
                Some(_) => kept.push(agent.id.clone()),
                None => all.push(agent.clone()),
            }
        }
        for id in &needed {
            if !all.iter().any(|agent| agent.id == *id) {
                all.push(ExportedAgent {
                    id: id.clone(),
                    display_name: String::new(),
                    agent_prompt: String::new(),
                });
            }
        }
        Self { all, needed, kept }
    }
}

/// Makes the user record of an agent. If only the name is known, the prompt says so.
fn user(agent: &ExportedAgent) -> Result<User, Error> {
    let wrong = |cause: store::Error| {
        Error::new(
            AppErrorCode::Data,
            format!("the agent `{}` of the file: {cause}", agent.id),
        )
        .hint("correct the file; `drawloom workflow export` writes such files")
    };
    let slug: Slug = agent.id.parse().map_err(wrong)?;
    let display_name = match agent.display_name.trim() {
        "" => agent.id.clone(),
        name => name.to_owned(),
    };
    let prompt = match agent.agent_prompt.trim() {
        "" => format!("You are {display_name}."),
        _ => agent.agent_prompt.clone(),
    };
    let user = User {
        slug,
        display_name,
        role: UserRole::Operator,
        is_active: true,
        nature: UserKind::Agent { prompt },
        revision: 0,
        created_ms: 0,
        updated_ms: 0,
    };
    user.check().map_err(wrong)?;
    Ok(user)
}

fn enlist(project: &mut Project, user: &User) {
    let agent = WorkflowAgent {
        display_name: user.display_name.clone(),
        prompt: user.agent_prompt().unwrap_or_default().to_owned(),
    };
    let agents = &mut project.settings.workflows.agents;
    agents.insert(user.slug.to_string(), agent);
}

fn unknown(first: &str, count: usize, shown: &str) -> Error {
    let others = match count {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let message = format!("{shown} names the agent `{first}`{others}, which is not known here");
    Error::new(AppErrorCode::NotFound, message).hint(format!(
        "give `--create-agents` to add what the file has, or `drawloom agents add {first} --prompt …`"
    ))
}

/// Makes the error about a file that is not a workflow, with its position in the file or in the
/// diagram inside it.
fn unreadable(error: &flow::export::ImportError, (text, shown): (&str, &str)) -> Error {
    const HINT: &str =
        "`drawloom workflow export` writes such files; a bare diagram is fine as well";
    if matches!(error.problems.as_slice(), [one] if one.message == error.message) {
        // It is about the file, and no line of the diagram is to blame.
        return Error::new(AppErrorCode::Data, format!("{shown}: {}", error.message)).hint(HINT);
    }
    let json: Option<Value> = serde_json::from_str(text).ok();
    let inside = json.as_ref().map(|json| &json["workflow"]["mermaidSource"]);
    let (source, shown) = match inside.and_then(Value::as_str) {
        Some(source) => (source, format!("{shown}, mermaidSource")),
        None => (text, shown.to_owned()),
    };
    let report = |problem: &WorkflowProblem| problem.report(&shown, source);
    let told: Vec<String> = error.problems.iter().map(report).collect();
    let message = match (told.as_slice(), json.is_some()) {
        ([], _) | ([_], false) => format!("{shown}: {}", error.message),
        _ => format!("{shown} cannot be imported\n{}", told.join("\n")),
    };
    Error::new(AppErrorCode::Data, message).hint(HINT)
}

fn stem(shown: &str) -> String {
    let path = std::path::Path::new(shown);
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| stem != "-").unwrap_or_default()
}
