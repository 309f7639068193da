//! Drawing on a workflow: each act on the diagram is an edit of its text that keeps every other byte.
//!
//! The text may be one that cannot run yet; only its diagram must be readable.

use mermaid::{DiagramDocument, NewNode};
use serde_json::{Map, Value, json};

use crate::block;
use crate::config::{ExecutionMode, StepConfig, StepType};
use crate::error::{Error, WorkflowProblem, WorkflowProblemCode};
use crate::line_span::LineSpan;
use crate::patching;
use crate::step;

/// The kinds of steps that can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnKind {
    Machine,
    Person,
    Decision,
    Foreach,
    Join,
    Subflow,
    Wait,
}

impl DrawnKind {
    /// All of them, in the order in which they are offered.
    pub const ALL: [DrawnKind; 7] = [
        DrawnKind::Machine,
        DrawnKind::Person,
        DrawnKind::Decision,
        DrawnKind::Foreach,
        DrawnKind::Join,
        DrawnKind::Subflow,
        DrawnKind::Wait,
    ];

    /// The word in forms.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DrawnKind::Machine => "machine",
            DrawnKind::Person => "person",
            DrawnKind::Decision => "decision",
            DrawnKind::Foreach => "foreach",
            DrawnKind::Join => "join",
            DrawnKind::Subflow => "subflow",
            DrawnKind::Wait => "wait",
        }
    }

    /// Says in a line what such a step does.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            DrawnKind::Machine => "a model, a command or another handler does it",
            DrawnKind::Person => "a person answers it in the inbox",
            DrawnKind::Decision => "conditions choose the way on",
            DrawnKind::Foreach => "the steps behind it run once for every item",
            DrawnKind::Join => "waits until enough branches or items have ended",
            DrawnKind::Subflow => "runs another workflow",
            DrawnKind::Wait => "waits for a time or a signal",
        }
    }

    /// The kind that a form's word means.
    #[must_use]
    pub fn named(word: &str) -> Option<DrawnKind> {
        DrawnKind::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// The type of step that the engine knows.
    #[must_use]
    pub fn step_type(self) -> StepType {
        match self {
            DrawnKind::Machine | DrawnKind::Person => StepType::Task,
            DrawnKind::Decision => StepType::Decision,
            DrawnKind::Foreach => StepType::Foreach,
            DrawnKind::Join => StepType::Join,
            DrawnKind::Subflow => StepType::Subflow,
            DrawnKind::Wait => StepType::Wait,
        }
    }

    fn shape(self) -> &'static str {
        match self {
            DrawnKind::Machine | DrawnKind::Wait => "square",
            DrawnKind::Person => "round",
            DrawnKind::Decision => "diamond",
            DrawnKind::Foreach | DrawnKind::Join | DrawnKind::Subflow => "subroutine",
        }
    }

    /// The word that the label begins with.
    fn prefix(self) -> Option<&'static str> {
        match self {
            DrawnKind::Foreach => Some("Each"),
            DrawnKind::Join => Some("Join"),
            DrawnKind::Subflow => Some("Run"),
            DrawnKind::Wait => Some("Wait"),
            _ => None,
        }
    }

    fn label(self, name: &str) -> String {
        match self.prefix() {
            Some(prefix) => format!("{prefix}: {name}"),
            None => name.to_owned(),
        }
    }

    /// The settings without which a new step of this kind has a problem.
    fn settings(self, name: &str) -> Option<Value> {
        match self {
            DrawnKind::Machine => Some(json!({ "handler": "no_op" })),
            DrawnKind::Person => Some(json!({ "prompt": name })),
            DrawnKind::Foreach => Some(json!({ "itemsPath": "output.items" })),
            DrawnKind::Wait => Some(json!({ "for": "1h" })),
            DrawnKind::Decision | DrawnKind::Join | DrawnKind::Subflow => None,
        }
    }
}

/// One act on a diagram. Edges are named by their number, in the order in which they are written.
#[derive(Clone, Debug, PartialEq)]
pub enum DrawingEdit {
    /// A step, behind another one or alone.
    Add {
        after: Option<String>,
        kind: DrawnKind,
        name: String,
    },
    /// A step on an edge.
    Insert {
        edge: usize,
        kind: DrawnKind,
        name: String,
    },
    /// An edge.
    Connect {
        from: String,
        to: String,
        label: String,
    },
    /// Another label, which is the condition if its source is a decision.
    Relabel { edge: usize, label: String },
    /// Another name of a step.
    Rename { step: String, name: String },
    /// Another kind of step.
    Retype { step: String, kind: DrawnKind },
    /// A step and its edges go.
    Delete { step: String },
    /// An edge goes.
    Disconnect { edge: usize },
    /// Settings of a step; one without a value goes.
    Configure {
        step: String,
        values: Vec<(String, Option<Value>)>,
    },
}

/// A text after an act, and the step that the person looks at next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedrawnText {
    pub source: String,
    pub step: Option<String>,
}

/// Does something to the diagram of a text.
///
/// # Errors
///
/// When the text has no diagram that can be read, or the act would change anything else.
pub fn redraw(source: &str, edit: &DrawingEdit) -> Result<RedrawnText, Error> {
    let document = mermaid::parse(source).map_err(|error| Error::of_diagram(&error))?;
    let drawn = drawn(&document, edit).map_err(|error| Error::of_diagram(&error));
    let (document, step) = drawn?;
    let configured = match edit {
        DrawingEdit::Configure { step, values } => patching::patched(&document, step, values)?,
        DrawingEdit::Delete { step } => match has_entry(&document, step) {
            true => edited(&document, block::edit(&document, step, None))?,
            false => document,
        },
        _ => document,
    };
    Ok(RedrawnText {
        source: configured.source().to_owned(),
        step,
    })
}

type DrawnDocument = (DiagramDocument, Option<String>);

fn drawn(document: &DiagramDocument, edit: &DrawingEdit) -> Result<DrawnDocument, mermaid::Error> {
    let unchanged = |step: &String| (document.clone(), Some(step.clone()));
    Ok(match edit {
        DrawingEdit::Add { after, kind, name } => add(document, after.as_deref(), *kind, name)?,
        DrawingEdit::Insert { edge, kind, name } => insert(document, *edge, *kind, name)?,
        DrawingEdit::Connect { from, to, label } => {
            let label = match label.trim() {
                "" => label_from(document, from, to),
                label => label.to_owned(),
            };
            let document = document.with_edge_added(from, to, &label)?;
            (document, Some(from.clone()))
        }
        DrawingEdit::Relabel { edge, label } => {
            (document.with_edge_label(*edge, label.trim())?, None)
        }
        DrawingEdit::Rename { step, name } => {
            let label = renamed(document, step, name.trim());
            (document.with_node_label(step, &label)?, Some(step.clone()))
        }
        DrawingEdit::Retype { step, kind } => retype(document, step, *kind)?,
        DrawingEdit::Delete { step } => (document.without_node(step)?, None),
        DrawingEdit::Disconnect { edge } => (document.without_edge(*edge)?, None),
        DrawingEdit::Configure { step, .. } => unchanged(step),
    })
}

fn edited(document: &DiagramDocument, edit: mermaid::TextEdit) -> Result<DiagramDocument, Error> {
    let edited = document.edited(&[edit]);
    edited.map_err(|error| Error::of_diagram(&error))
}

fn has_entry(document: &DiagramDocument, step: &str) -> bool {
    let blocks = block::read(document);
    blocks.entries.iter().any(|entry| entry.id == step)
}

/// Gives a new step the settings that its kind needs.
fn configured(
    document: DiagramDocument,
    id: &str,
    config: Option<&Value>,
) -> Result<DiagramDocument, mermaid::Error> {
    match config {
        Some(config) => {
            let json = block::laid_out(config);
            document.edited(&[block::edit(&document, id, Some(&json))])
        }
        None => Ok(document),
    }
}

fn add(
    document: &DiagramDocument,
    after: Option<&str>,
    kind: DrawnKind,
    name: &str,
) -> Result<DrawnDocument, mermaid::Error> {
    let node = new_node(document, kind, name);
    let id = node.id.clone();
    let label = after.map_or(String::new(), |after| label_from(document, after, &id));
    let added = match label.is_empty() {
        true => document.with_node_added(&node, after)?,
        false => {
            let added = document.with_node_added(&node, after)?;
            let last = added.diagram().edges.len().saturating_sub(1);
            added.with_edge_label(last, &label)?
        }
    };
    let added = configured(added, &id, kind.settings(name).as_ref())?;
    if kind != DrawnKind::Foreach {
        return Ok((added, Some(id)));
    }
    let (added, inner) = add(&added, Some(&id), DrawnKind::Machine, "Do one of them")?;
    let (added, _) = add(&added, inner.as_deref(), DrawnKind::Join, "All of them")?;
    Ok((added, Some(id)))
}

fn insert(
    document: &DiagramDocument,
    edge: usize,
    kind: DrawnKind,
    name: &str,
) -> Result<DrawnDocument, mermaid::Error> {
    let node = new_node(document, kind, name);
    let id = node.id.clone();
    let added = document.with_node_inserted(edge, &node)?;
    let added = match kind {
        // A decision with one way on takes it whatever happens.
        DrawnKind::Decision => {
            let edges = &added.diagram().edges;
            let way = edges.iter().position(|edge| edge.from == id);
            added.with_edge_label(way.unwrap_or_default(), "default")?
        }
        _ => added,
    };
    let added = configured(added, &id, kind.settings(name).as_ref())?;
    if kind != DrawnKind::Foreach {
        return Ok((added, Some(id)));
    }
    let behind = |document: &DiagramDocument, id: &str| {
        let edges = &document.diagram().edges;
        edges
            .iter()
            .position(|edge| edge.from == id)
            .unwrap_or_default()
    };
    let (added, inner) = insert(
        &added,
        behind(&added, &id),
        DrawnKind::Machine,
        "Do one of them",
    )?;
    let way = behind(&added, inner.as_deref().unwrap_or_default());
    let (added, _) = insert(&added, way, DrawnKind::Join, "All of them")?;
    Ok((added, Some(id)))
}

/// The label that a new edge needs: a decision's edges have conditions.
fn label_from(document: &DiagramDocument, from: &str, to: &str) -> String {
    let diagram = document.diagram();
    let is_decision = diagram
        .node(from)
        .is_some_and(|node| node.shape.family() == Some("diamond"));
    let mut ways = diagram.edges.iter().filter(|edge| edge.from == from);
    match (
        is_decision,
        ways.any(|edge| edge.label.text.trim() == "default"),
    ) {
        (false, _) => String::new(),
        (true, false) => "default".to_owned(),
        (true, true) => format!("output.next == '{to}'"),
    }
}

/// The label with another name, behind the word that says the kind.
fn renamed(document: &DiagramDocument, step: &str, name: &str) -> String {
    let old = document.diagram().node(step);
    let old = old.map_or("", |node| node.label.text.as_str());
    let prefix = old.split_once(':').map(|(prefix, _)| prefix.trim());
    let known = ["each", "run", "join", "wait"];
    match prefix.filter(|prefix| known.contains(&prefix.to_lowercase().as_str())) {
        Some(prefix) if !name.contains(':') => format!("{prefix}: {name}"),
        _ => name.to_owned(),
    }
}

fn retype(
    document: &DiagramDocument,
    step: &str,
    kind: DrawnKind,
) -> Result<DrawnDocument, mermaid::Error> {
    let old = document.diagram().node(step);
    let old = old.map_or("", |node| node.label.text.as_str());
    let known = ["each", "run", "join", "wait"];
    let name = match old.split_once(':') {
        Some((prefix, rest)) if known.contains(&prefix.trim().to_lowercase().as_str()) => {
            rest.trim()
        }
        _ => old,
    };
    let label = kind.label(name);
    let shaped = document.with_node_shape(step, kind.shape())?;
    let labelled = match label == old {
        true => shaped,
        false => shaped.with_node_label(step, &label)?,
    };
    Ok((labelled, Some(step.to_owned())))
}

/// A node with an id that is free: a letter where the others are letters.
fn new_node(document: &DiagramDocument, kind: DrawnKind, name: &str) -> NewNode {
    let name = match name.trim() {
        "" => "New step",
        name => name,
    };
    let nodes = &document.diagram().nodes;
    let groups = &document.diagram().subgraphs;
    let is_free = |id: &String| {
        !nodes.iter().any(|node| node.id == *id) && !groups.iter().any(|group| group.id == *id)
    };
    let are_letters = nodes.iter().all(|node| node.id.chars().count() == 1);
    let letters = ('A'..='Z').map(String::from).filter(|_| are_letters);
    let numbered = (1..).map(|number| format!("S{number}"));
    let mut ids = letters.chain(numbered).filter(is_free);
    NewNode {
        id: ids.next().unwrap_or_default(),
        label: kind.label(name),
        shape: kind.shape(),
    }
}

/// Refuses with a sentence.
pub(crate) fn refused(message: String) -> Error {
    Error::new(vec![WorkflowProblem::error(
        WorkflowProblemCode::Config,
        LineSpan::BEGIN,
        message,
    )])
}

/// Returns the kind of a step, even if the text cannot run; `None` if there is no such step or its shape
/// does not say it.
#[must_use]
pub fn drawn_kind(source: &str, step: &str) -> Option<DrawnKind> {
    let document = mermaid::parse(source).ok()?;
    let node = document.diagram().node(step)?;
    let settings = Value::Object(settings_of(source, step));
    let config: StepConfig = serde_json::from_value(settings).unwrap_or_default();
    let kind = step::kind(node, &config, |_| LineSpan::BEGIN).ok()?;
    Some(match (kind.step_type, kind.execution) {
        (StepType::Task, ExecutionMode::Automated) => DrawnKind::Machine,
        (StepType::Task, ExecutionMode::Manual) => DrawnKind::Person,
        (StepType::Decision, _) => DrawnKind::Decision,
        (StepType::Foreach, _) => DrawnKind::Foreach,
        (StepType::Join, _) => DrawnKind::Join,
        (StepType::Subflow, _) => DrawnKind::Subflow,
        (StepType::Wait, _) => DrawnKind::Wait,
    })
}

/// The settings of a step as they are written, also where the text cannot run.
#[must_use]
pub fn settings_of(source: &str, step: &str) -> Map<String, Value> {
    let Ok(document) = mermaid::parse(source) else {
        return Map::new();
    };
    let blocks = block::read(&document);
    let entry = blocks.entries.iter().find(|entry| entry.id == step);
    let read = entry.and_then(|entry| serde_json::from_str(&entry.json).ok());
    read.unwrap_or_default()
}
