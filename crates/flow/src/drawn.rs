//! The edges as they are drawn, before it is known what their labels mean.
//!
//! An edge to a subgraph leads to the steps that nothing inside leads to, an edge from one comes from
//! those that lead to nothing inside.

use std::collections::{HashMap, HashSet};

use mermaid::{Diagram, Document, Heads, Span, StatementKind, Stroke, Text};

use crate::error::{Code, Problem};
use crate::id::StepId;
use crate::spot::{Lines, Spot};
use crate::workflow::{Edge, When};

/// The edges between steps, in the order they are written.
pub(crate) fn drawn(
    document: &Document,
    index: &HashMap<StepId, usize>,
    problems: &mut Vec<Problem>,
) -> Vec<Edge> {
    let diagram = document.diagram();
    let lines = Lines::of(document.source());
    let labels = labels(document);
    let groups = Groups::of(diagram);
    let mut edges = Vec::new();
    for (at, edge) in diagram.edges.iter().enumerate() {
        if edge.arrow.stroke == Stroke::Invisible {
            continue;
        }
        let link = document.edge_span(at).unwrap_or_default();
        let written = labels.get(&(link.start, link.end));
        let spot = lines.spot(written.map_or(link, |text| text.span));
        let label = edge.label.text.trim();
        let wrong = |message: String, hint: &str| {
            Problem::error(Code::Branch, lines.spot(link), message).hint(hint)
        };
        if matches!(
            edge.arrow.heads,
            Heads::DoublePoint | Heads::DoubleCross | Heads::DoubleCircle
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
                let edge = Edge {
                    from: StepId::new(*from),
                    to: StepId::new(*to),
                    when: When::Always,
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

/// The subgraphs, each with everything inside of it.
struct Groups<'d> {
    diagram: &'d Diagram,
    members: HashMap<&'d str, HashSet<&'d str>>,
}

/// The steps at one end of an edge.
type End<'d> = Vec<&'d str>;

impl<'d> Groups<'d> {
    fn of(diagram: &'d Diagram) -> Groups<'d> {
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
        Groups {
            diagram,
            members: members.collect(),
        }
    }

    /// The steps that an edge leads from and to.
    fn ends(
        &self,
        edge: &'d mermaid::Edge,
        label: &str,
    ) -> Result<(End<'d>, End<'d>), (String, &'static str)> {
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

    /// The steps inside that no edge joins to anything else inside, looking at one end of the edges.
    fn rims(
        &self,
        inside: &HashSet<&'d str>,
        ends: impl Fn(&'d mermaid::Edge) -> (&'d str, &'d str),
    ) -> End<'d> {
        let edges = self.diagram.edges.iter();
        let edges = edges.filter(|edge| edge.arrow.stroke != Stroke::Invisible);
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

/// The labels of links, by where the links stand.
fn labels(document: &Document) -> HashMap<(usize, usize), &Text> {
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

/// Where a label's text stands, unless it reads otherwise than it is written.
fn verbatim(written: &Text, label: &str, lines: &Lines<'_>) -> Option<Spot> {
    let Span { start, end } = written.span;
    let text = Span { start, end }.of(lines.source());
    let at = text.find(label).filter(|_| !label.is_empty())?;
    Some(lines.spot(Span {
        start: start + at,
        end: start + at + label.len(),
    }))
}
