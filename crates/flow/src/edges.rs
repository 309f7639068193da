//! The edges as the diagram draws them, before their labels are interpreted.
//!
//! An edge to a subgraph leads to its first steps, those without an edge from inside; an edge from
//! a subgraph comes from its last steps, those without an edge to the inside.

use std::collections::{HashMap, HashSet};

use mermaid::{ArrowHeads, Diagram, DiagramDocument, LabelText, LineStroke, Span, StatementKind};

use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::id::StepId;
use crate::line_span::{LineSpan, LineStarts};
use crate::workflow::{EdgeCondition, WorkflowEdge};

/// Returns the edges between steps, in the order of the text.
pub(crate) fn drawn(
    document: &DiagramDocument,
    index: &HashMap<StepId, usize>,
    problems: &mut Vec<WorkflowProblem>,
) -> Vec<WorkflowEdge> {
    let diagram = document.diagram();
    let lines = LineStarts::of(document.source());
    let labels = labels(document);
    let groups = SubgraphMembers::of(diagram);
    let mut edges = Vec::new();
    for (at, edge) in diagram.edges.iter().enumerate() {
        if edge.arrow.stroke == LineStroke::Invisible {
            continue;
        }
        let link = document.edge_span(at).unwrap_or_default();
        let written = labels.get(&(link.start, link.end));
        let spot = lines.spot(written.map_or(link, |text| text.span));
        let label = edge.label.text.trim();
        let wrong = |message: String, hint: &str| {
            WorkflowProblem::error(WorkflowProblemCode::Branch, lines.spot(link), message)
                .hint(hint)
        };
        if matches!(
            edge.arrow.heads,
            ArrowHeads::DoublePoint | ArrowHeads::DoubleCross | ArrowHeads::DoubleCircle
        ) {
            let message = format!(
                "The edge between `{}` and `{}` has two heads.",
                edge.from, edge.to
            );
            problems.push(wrong(message, "draw one edge for each direction"));
            continue;
        }
        let (from, to) = match groups.ends(edge, label) {
            Ok(ends) => ends,
            Err((message, hint)) => {
                problems.push(wrong(message, hint));
                continue;
            }
        };
        for from in &from {
            for to in &to {
                let edge = WorkflowEdge {
                    from: StepId::new(*from),
                    to: StepId::new(*to),
                    when: EdgeCondition::Always,
                    text: written.and_then(|written| verbatim(written, label, &lines)),
                    label: label.to_owned(),
                    spot,
                };
                if index.contains_key(&edge.from) && index.contains_key(&edge.to) {
                    edges.push(edge);
                }
            }
        }
    }
    edges
}

/// The subgraphs, each with all nodes inside it.
struct SubgraphMembers<'d> {
    diagram: &'d Diagram,
    members: HashMap<&'d str, HashSet<&'d str>>,
}

/// The steps at one end of an edge.
type EdgeEnds<'d> = Vec<&'d str>;

impl<'d> SubgraphMembers<'d> {
    fn of(diagram: &'d Diagram) -> SubgraphMembers<'d> {
        let direct: HashMap<&str, &Vec<String>> = diagram
            .subgraphs
            .iter()
            .map(|subgraph| (subgraph.id.as_str(), &subgraph.nodes))
            .collect();
        let members = direct.keys().map(|id| {
            let mut found: HashSet<&str> = HashSet::new();
            let mut open = vec![*id];
            while let Some(id) = open.pop() {
                for node in direct.get(id).into_iter().copied().flatten() {
                    if found.insert(node.as_str()) {
                        open.push(node.as_str());
                    }
                }
            }
            (*id, found)
        });
        SubgraphMembers {
            diagram,
            members: members.collect(),
        }
    }

    /// Returns the steps that an edge leads from and to.
    fn ends(
        &self,
        edge: &'d mermaid::DiagramEdge,
        label: &str,
    ) -> Result<(EdgeEnds<'d>, EdgeEnds<'d>), (String, &'static str)> {
        let from = match self.members.get(edge.from.as_str()) {
            None => vec![edge.from.as_str()],
            Some(_) if !label.is_empty() => {
                let message = format!("The edge from the subgraph `{}` has a label.", edge.from);
                return Err((message, "draw it from the step inside that it is about"));
            }
            Some(inside) => self.rims(inside, |edge| (edge.from.as_str(), edge.to.as_str())),
        };
        let to = match self.members.get(edge.to.as_str()) {
            None => vec![edge.to.as_str()],
            Some(inside) => self.rims(inside, |edge| (edge.to.as_str(), edge.from.as_str())),
        };
        if from.is_empty() || to.is_empty() {
            let id = if to.is_empty() { &edge.to } else { &edge.from };
            let message = format!("It cannot be told which step of the subgraph `{id}` is meant.");
            return Err((message, "draw the edge to the step itself"));
        }
        if to.len() > 1 && !label.is_empty() {
            let message = format!(
                "The edge with a label leads to {} steps of the subgraph `{}`.",
                to.len(),
                edge.to
            );
            return Err((message, "draw it to the step that comes first"));
        }
        Ok((from, to))
    }

    /// Returns the steps of a subgraph that no edge inside it leads to, or from.
    fn rims(
        &self,
        inside: &HashSet<&'d str>,
        ends: impl Fn(&'d mermaid::DiagramEdge) -> (&'d str, &'d str),
    ) -> EdgeEnds<'d> {
        let edges = self.diagram.edges.iter();
        let edges = edges.filter(|edge| edge.arrow.stroke != LineStroke::Invisible);
        let mut within: HashSet<&str> = HashSet::new();
        for (near, far) in edges.map(ends) {
            if inside.contains(near) && inside.contains(far) {
                within.insert(near);
                within.extend(self.members.get(near).into_iter().flatten());
            }
        }
        let steps = self.diagram.nodes.iter().map(|node| node.id.as_str());
        let steps = steps.filter(|id| inside.contains(id) && !self.members.contains_key(id));
        steps.filter(|id| !within.contains(id)).collect()
    }
}

/// Returns the labels of links by the positions of the links.
fn labels(document: &DiagramDocument) -> HashMap<(usize, usize), &LabelText> {
    let chains = document
        .statements()
        .iter()
        .filter_map(|statement| match &statement.kind {
            StatementKind::Chain(chain) => Some(chain),
            _ => None,
        });
    let links = chains.flat_map(|chain| &chain.links);
    let labelled = links.filter_map(|link| Some((link.span, link.label.as_ref()?)));
    labelled
        .map(|(span, label)| ((span.start, span.end), label))
        .collect()
}

/// Returns the position of a label's text, if the text reads exactly as it is written.
fn verbatim(written: &LabelText, label: &str, lines: &LineStarts<'_>) -> Option<LineSpan> {
    let Span { start, end } = written.span;
    let text = Span { start, end }.of(lines.source());
    let at = text.find(label).filter(|_| !label.is_empty())?;
    Some(lines.spot(Span {
        start: start + at,
        end: start + at + label.len(),
    }))
}
