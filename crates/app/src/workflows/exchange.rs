//! Workflows that come from elsewhere and go elsewhere: checked whole before anything is written, and
//! written whole or not at all.

use flow::export::Agent;
use flow::{Execution, Problem, Workflow};
use serde_json::Value;
use workspace::{Change, ChangeSet, RelPath};

use super::heading;
use super::reading::{Sheet, WORKFLOWS_DIR, file_name, read_text};
use crate::people::{Nature, Register, Role, Slug, User};
use crate::settings::WorkflowAgent;
use crate::{Code, Error, Project, Surroundings};

/// How an import is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// What to call the workflow; its own name if left out.
    pub name: Option<&'a str>,
    /// Whether agents that are not known here are added.
    pub creates_agents: bool,
}

/// What an import would write.
#[derive(Debug)]
pub struct Imported {
    /// From the project's folder.
    pub file: String,
    /// What the file holds now, if it is there.
    pub before: Option<String>,
    /// The workflow, checked as if the agents were there.
    pub sheet: Sheet,
    /// Agents that would be added.
    pub agents: Vec<User>,
    /// Agents that are another one here: they stay as they are.
    pub kept: Vec<String>,
    /// Agents of which only the name is known: their prompt is a stopgap.
    pub unwritten: Vec<String>,
}

/// Reads a file that was exported, or a bare diagram, and checks all of it. Nothing is written; the
/// project only learns of the agents that would be.
pub fn import(
    project: &mut Project,
    (text, shown): (&str, &str),
    wish: Wish<'_>,
) -> Result<Imported, Error> {
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
    let newcomers = Newcomers::of(project, &import);
    if let (false, [first, ..]) = (wish.creates_agents, newcomers.needed.as_slice()) {
        return Err(unknown(first, newcomers.needed.len(), shown));
    }
    let Newcomers { all, kept, .. } = newcomers;
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
    let source = heading::with(
        import.workflow.source(),
        (title, &name),
        import.description.as_deref(),
    );
    Ok(Imported {
        before: project.root.read_text(&path)?,
        sheet: read_text(project, (&file, &name), source),
        file,
        agents,
        kept,
        unwritten,
    })
}

impl Imported {
    /// Whether a file with another text is replaced.
    pub fn replaces(&self) -> bool {
        let before = self.before.as_ref();
        before.is_some_and(|before| *before != self.sheet.source)
    }

    /// Writes the workflow and adds its agents. Where the agents cannot be added, the file is put back
    /// as it was.
    pub fn write(&self, project: &Project, register: Option<&Register>) -> Result<(), Error> {
        self.put(project, Some(&self.sheet.source))?;
        let added = register.map_or(Ok(()), |register| register.add_all(&self.agents));
        if added.is_err() {
            self.put(project, self.before.as_ref())?;
        }
        added
    }

    fn put(&self, project: &Project, text: Option<&String>) -> Result<(), Error> {
        let change = match text {
            Some(text) => Change::Write {
                bytes: text.clone().into_bytes(),
                executable: false,
            },
            None => Change::Delete,
        };
        let mut changes = ChangeSet::new();
        changes.put(RelPath::parse(&self.file)?, change);
        project.root.apply(&changes)?;
        Ok(())
    }
}

/// A workflow as a document for others, with the agents it names.
pub fn export(
    project: &Project,
    surroundings: &Surroundings,
    (sheet, workflow): (&Sheet, &Workflow),
) -> Value {
    let named = workflow.steps().iter().flat_map(|step| {
        let config = &step.config;
        [&config.default_assignee_id, &config.fallback_assignee_id]
    });
    let agents = named.flatten().filter_map(|id| {
        let agent = project.settings.workflows.agents.get(id)?;
        Some(Agent {
            id: id.clone(),
            display_name: agent.display_name.clone(),
            agent_prompt: agent.prompt.clone(),
        })
    });
    let mut agents: Vec<Agent> = agents.collect();
    agents.sort_by(|a, b| a.id.cmp(&b.id));
    agents.dedup();
    let name = workflow.name().unwrap_or(&sheet.name);
    let description = heading::description(workflow);
    let now = jiff::Timestamp::from_millisecond(surroundings.now_ms as i64).unwrap_or_default();
    let about = (name, description.as_deref());
    flow::export::export(workflow, about, &agents, &now.to_string())
}

/// The agents of a file, beside those that are here.
struct Newcomers {
    /// Not here: those that travel with the workflow, and those of which it has the name only.
    all: Vec<Agent>,
    /// Those of them that automated steps name.
    needed: Vec<String>,
    /// Here with another prompt.
    kept: Vec<String>,
}

impl Newcomers {
    fn of(project: &Project, import: &flow::export::Import) -> Self {
        let here = &project.settings.workflows.agents;
        let automated = import
            .workflow
            .steps()
            .iter()
            .filter(|step| step.execution == Execution::Automated);
        // Whoever does manual steps is a person, and people do not travel.
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
                all.push(Agent {
                    id: id.clone(),
                    display_name: String::new(),
                    agent_prompt: String::new(),
                });
            }
        }
        Self { all, needed, kept }
    }
}

/// The agent as it will be kept. One of which only the name is known gets a prompt that says it.
fn user(agent: &Agent) -> Result<User, Error> {
    let wrong = |cause: store::Error| {
        Error::new(
            Code::Data,
            format!("the agent `{}` of the file: {cause}", agent.id),
        )
        .hint("mend the file; `drawloom workflow export` writes such files")
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
        role: Role::Operator,
        is_active: true,
        nature: Nature::Agent { prompt },
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
    Error::new(Code::NotFound, message).hint(format!(
        "give `--create-agents` to add what the file has, or `drawloom agents add {first} --prompt …`"
    ))
}

/// Why a file is no workflow, with the place in the text that is meant: the file's own, or the
/// diagram inside it.
fn unreadable(error: &flow::export::ImportError, (text, shown): (&str, &str)) -> Error {
    const HINT: &str =
        "`drawloom workflow export` writes such files; a bare diagram is fine as well";
    if matches!(error.problems.as_slice(), [one] if one.message == error.message) {
        // It is about the file, and no line of the diagram is to blame.
        return Error::new(Code::Data, format!("{shown}: {}", error.message)).hint(HINT);
    }
    let json: Option<Value> = serde_json::from_str(text).ok();
    let inside = json.as_ref().map(|json| &json["workflow"]["mermaidSource"]);
    let (source, shown) = match inside.and_then(Value::as_str) {
        Some(source) => (source, format!("{shown}, mermaidSource")),
        None => (text, shown.to_owned()),
    };
    let report = |problem: &Problem| problem.report(&shown, source);
    let told: Vec<String> = error.problems.iter().map(report).collect();
    let message = match (told.as_slice(), json.is_some()) {
        ([], _) | ([_], false) => format!("{shown}: {}", error.message),
        _ => format!("{shown} cannot be imported\n{}", told.join("\n")),
    };
    Error::new(Code::Data, message).hint(HINT)
}

fn stem(shown: &str) -> String {
    let path = std::path::Path::new(shown);
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| stem != "-").unwrap_or_default()
}
