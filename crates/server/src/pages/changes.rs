//! Shows how a version changed a workflow: the graph before and after, each change in a line, and the text.

use std::collections::BTreeMap;

use flow::Workflow;
use maud::{Markup, html};

use super::diff;
use super::frame::{NavPage, page};
use super::parts::{count, line, state, when};
use super::picture::{DiagramMarks, NodeMark, diagram};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

/// The difference of two workflows, step by step and edge by edge.
#[derive(Debug, Default, PartialEq, Eq)]
struct GraphDiff {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
    /// Edges that are new, and those that are gone, as `A → B: label`.
    edges_added: Vec<String>,
    edges_removed: Vec<String>,
}

impl GraphDiff {
    fn between(old: &Workflow, new: &Workflow) -> GraphDiff {
        let steps = |workflow: &Workflow| -> BTreeMap<String, String> {
            let all = workflow.steps().iter();
            all.map(|step| {
                let about = format!(
                    "{:?} {:?} {} {:?}",
                    step.step_type, step.execution, step.name, step.config
                );
                (step.id.as_str().to_owned(), about)
            })
            .collect()
        };
        let edges = |workflow: &Workflow| -> Vec<String> {
            let all = workflow.edges().iter();
            all.map(|edge| match edge.label.is_empty() {
                true => format!("{} → {}", edge.from.as_str(), edge.to.as_str()),
                false => format!(
                    "{} → {}: {}",
                    edge.from.as_str(),
                    edge.to.as_str(),
                    edge.label
                ),
            })
            .collect()
        };
        let (before, after) = (steps(old), steps(new));
        let (edges_before, edges_after) = (edges(old), edges(new));
        let missing = |from: &[String], other: &[String]| -> Vec<String> {
            from.iter()
                .filter(|one| !other.contains(one))
                .cloned()
                .collect()
        };
        GraphDiff {
            added: after
                .keys()
                .filter(|id| !before.contains_key(*id))
                .cloned()
                .collect(),
            removed: before
                .keys()
                .filter(|id| !after.contains_key(*id))
                .cloned()
                .collect(),
            changed: before
                .iter()
                .filter(|(id, about)| after.get(*id).is_some_and(|now| now != *about))
                .map(|(id, _)| id.clone())
                .collect(),
            edges_added: missing(&edges_after, &edges_before),
            edges_removed: missing(&edges_before, &edges_after),
        }
    }

    fn number(&self) -> usize {
        self.added.len()
            + self.removed.len()
            + self.changed.len()
            + self.edges_added.len()
            + self.edges_removed.len()
    }

    /// The marks of one side's picture.
    fn marks(&self, is_new: bool) -> DiagramMarks {
        let mut marks = DiagramMarks::default();
        let mut mark = |ids: &[String], class, glyph, word: &str| {
            for id in ids {
                marks.mark(
                    id,
                    NodeMark {
                        class,
                        glyph,
                        word: word.to_owned(),
                    },
                );
            }
        };
        match is_new {
            true => mark(&self.added, "status-done", '+', "added"),
            false => mark(&self.removed, "status-failed", '−', "removed"),
        }
        mark(&self.changed, "status-waiting", '~', "changed");
        marks
    }

    fn markup(&self) -> Markup {
        let groups = [
            ("ok", "added", &self.added),
            ("bad", "removed", &self.removed),
            ("hold", "changed", &self.changed),
            ("ok", "new edge", &self.edges_added),
            ("bad", "edge gone", &self.edges_removed),
        ];
        html! {
            ul class="plain" {
                @for (class, word, all) in groups { @for one in all { li { (state(class, word)) " " code { (line(one)) } } } }
            }
        }
    }
}

/// Shows a version beside the one before it, or the one that the address names.
pub(super) async fn show(visit: PageVisit) -> PageResult {
    let name = visit.path("name").to_owned();
    let given = visit.path("number");
    let number: u64 = given.parse().map_err(|_| {
        ApiProblem::new(
            ProblemCode::NotFound,
            format!("`{given}` is no number of a version"),
        )
    })?;
    let from = visit.query.text("from").and_then(|from| from.parse().ok());
    let from = from.unwrap_or(number.saturating_sub(1));
    let (_, old) = visit.use_cases.workflow_version(&name, from).await?;
    let (version, new) = visit.use_cases.workflow_version(&name, number).await?;
    let sheets = (flow::parse(&old), flow::parse(&new));
    let title = format!("What version {number} of {name} changed");
    let text = app::unified_diff(&old, &new, &name);
    let body = html! {
        div class="head" { div {
            p class="small muted" { a href="/workflows" { "Workflows" } " / " a href={ "/workflows/" (encoded(&name)) } { (name) } }
            h1 dir="auto" { (title) }
            p class="small muted" dir="auto" { (version.author) " · " (when(version.created_ms, visit.now_ms)) " · " (line(&version.message)) }
        } }
        @if let (Ok(old), Ok(new)) = &sheets {
            @let difference = GraphDiff::between(old, new);
            section class="card" { h2 { (count(difference.number(), "change of the graph", "changes of the graph")) } (difference.markup()) }
            div class="split split-two" {
                div { h2 { "Version " (from) } (diagram(old.document(), &difference.marks(false))) }
                div { h2 { "Version " (number) } (diagram(new.document(), &difference.marks(true))) }
            }
        } @else { p class="why" { "One of the versions cannot be read as a workflow; here is the text." } }
        (diff::file(&name, &text, 400))
    };
    Ok(page(&visit, NavPage::Workflows, &title, &body).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_steps_and_edges() {
        let old = flow::parse("graph TD\n A[One] --> B[Two]\n").unwrap();
        let new = flow::parse("graph TD\n A[First] --> C(Ask)\n").unwrap();
        let found = GraphDiff::between(&old, &new);
        let all = |one: &str| vec![one.to_owned()];
        let expected = GraphDiff {
            added: all("C"),
            removed: all("B"),
            changed: all("A"),
            edges_added: all("A → C"),
            edges_removed: all("A → B"),
        };
        assert_eq!(found, expected);
    }
}
