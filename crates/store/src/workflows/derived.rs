//! Rows for readers that a transaction implies: costs of attempts that ended, and the texts of
//! replies.
//!
//! They are few, because attempts that cost something take seconds. A transaction without such rows
//! writes nothing here, and its statement does not grow.

use std::collections::BTreeMap;

use flow::engine::{CallRow, EventKind, RowChanges, RunEvent, SpentAmount};
use flow::{RunId, TaskId};

use super::RowEncoder;
use crate::costs::CostKind;
use crate::search::{DocumentKind, SearchDocument};

const DAY_MS: u64 = 86_400_000;
/// The model of attempts that do not say which one they asked.
const OTHER_MODEL: &str = "other";
/// The person of unassigned tasks.
const NO_PERSON: &str = "nobody";

/// Rows that follow from the rows of a transaction.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DerivedRows {
    pub(crate) costs: Vec<CostRow>,
    pub(crate) documents: Vec<SearchDocument>,
}

/// An amount that is added to one sum of costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CostRow {
    pub(crate) kind: CostKind,
    pub(crate) day: u64,
    pub(crate) name: String,
    pub(crate) attempts: u64,
    pub(crate) spent: SpentAmount,
}

impl DerivedRows {
    /// Derives the rows of a transaction; known keys are taken out of their texts.
    pub(crate) fn of(changes: &RowChanges, encoder: &mut RowEncoder) -> DerivedRows {
        let mut derived = DerivedRows {
            costs: costs(changes),
            documents: changes
                .calls
                .iter()
                .map(|call| reply(changes, call))
                .collect(),
        };
        for cost in &mut derived.costs {
            cost.name = encoder.text(&cost.name);
        }
        for document in &mut derived.documents {
            document.title = encoder.text(&document.title);
            document.body = encoder.text(&document.body);
        }
        derived
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.costs.is_empty() && self.documents.is_empty()
    }

    /// Returns whether a transaction has any, without making them.
    pub(crate) fn are_implied(changes: &RowChanges) -> bool {
        !changes.calls.is_empty() || changes.events.iter().any(|event| paid(event).is_some())
    }
}

/// The task whose attempt ended, and what it cost.
fn paid(event: &RunEvent) -> Option<(&TaskId, SpentAmount)> {
    match &event.what {
        EventKind::TaskMoved {
            task,
            spent: Some(spent),
            ..
        } => Some((task, *spent)),
        _ => None,
    }
}

/// One row for each sum, in the order of their keys: workers that add to the same sums wait for each
/// other and never in a circle.
fn costs(changes: &RowChanges) -> Vec<CostRow> {
    let mut sums: BTreeMap<(CostKind, u64, String), (u64, SpentAmount)> = BTreeMap::new();
    for event in &changes.events {
        let Some((task, spent)) = paid(event) else {
            continue;
        };
        let workflow = workflow_name(changes, &event.run);
        let step = format!("{workflow}/{}", task.step.as_str());
        let call = changes.calls.iter().find(|call| call.task == *task);
        let model = call.and_then(|call| call.call.by.clone());
        let row = changes.tasks.iter().find(|row| row.id == *task);
        let person = row.and_then(|row| row.assignee.clone());
        let day = event.at_ms / DAY_MS;
        for (kind, name) in [
            (CostKind::Day, String::new()),
            (CostKind::Run, event.run.to_string()),
            (CostKind::Workflow, workflow.to_owned()),
            (CostKind::Step, step),
            (
                CostKind::Model,
                model.unwrap_or_else(|| OTHER_MODEL.to_owned()),
            ),
            (
                CostKind::Person,
                person.unwrap_or_else(|| NO_PERSON.to_owned()),
            ),
        ] {
            let (attempts, sum) = sums.entry((kind, day, name)).or_default();
            *attempts += 1;
            sum.tokens = sum.tokens.saturating_add(spent.tokens);
            sum.micros = sum.micros.saturating_add(spent.micros);
        }
    }
    let row = |((kind, day, name), (attempts, spent))| CostRow {
        kind,
        day,
        name,
        attempts,
        spent,
    };
    sums.into_iter().map(row).collect()
}

fn workflow_name<'c>(changes: &'c RowChanges, run: &RunId) -> &'c str {
    let row = changes.runs.iter().find(|row| row.id == *run);
    row.and_then(|row| row.name.as_deref()).unwrap_or_default()
}

/// The document of a reply: its summary, the reply that counts, and the prompt.
fn reply(changes: &RowChanges, call: &CallRow) -> SearchDocument {
    let said = &call.call;
    let title = match workflow_name(changes, &call.task.run) {
        "" => call.task.step.as_str().to_owned(),
        workflow => format!("{workflow}: {}", call.task.step.as_str()),
    };
    let texts = said.summary.iter().chain(said.replies.last());
    let prompts = said.layers.iter().filter(|layer| layer.name != "base");
    let texts = texts.chain(prompts.map(|layer| &layer.text));
    let body: Vec<&str> = texts.map(String::as_str).collect();
    SearchDocument {
        kind: DocumentKind::Reply,
        name: format!("{}#{}", call.task, call.seq),
        run: Some(call.task.run.clone()),
        task: Some(call.task.clone()),
        title,
        body: body.join("\n"),
        at_ms: said.ended_ms,
    }
}
