//! Drawing on a diagram: nodes and edges added, inserted, taken away, in the text they are written in.
//!
//! Every change is read again and compared with the diagram that was meant. An edit that would mean
//! anything else is refused, so the text is never worse than before.

use crate::diagram::{Diagram, DiagramEdge, DiagramNode, TextLabel};
use crate::document::DiagramDocument;
use crate::edit::TextEdit;
use crate::error::Error;
use crate::shape::{NodeShape, brackets};
use crate::span::Span;
use crate::syntax::{LinkChain, NodeMention, StatementKind, SyntaxLink, TextKind};
use crate::write::in_brackets;

/// The indent of a new line where no other line shows one.
const INDENT: &str = "    ";

/// A node to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNode {
    pub id: String,
    pub label: String,
    /// The name of a shape that brackets write, such as `square`.
    pub shape: &'static str,
}

impl NewNode {
    /// The node as it is written: `A["label"]`.
    fn written(&self) -> String {
        let (open, close) = brackets(self.shape).unwrap_or(("[", "]"));
        format!("{}{open}{}{close}", self.id, label_text(&self.label))
    }

    fn node(&self) -> DiagramNode {
        DiagramNode {
            id: self.id.clone(),
            label: label(&self.label),
            shape: NodeShape::bracketed(self.shape),
            classes: Vec::new(),
            data: serde_json::Map::new(),
        }
    }
}

fn label(text: &str) -> TextLabel {
    TextLabel {
        text: text.to_owned(),
        kind: TextKind::String,
    }
}

/// A label without quotes where it needs none.
fn label_text(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == ' ';
    let is_word = text.starts_with(|c: char| c.is_ascii_uppercase());
    match is_word && text.chars().all(is_plain) && !text.ends_with(' ') {
        true => text.to_owned(),
        false => in_brackets(&label(text)),
    }
}

impl DiagramDocument {
    /// Adds a node on a line of its own, behind another node if one is given.
    ///
    /// # Errors
    ///
    /// When the id is taken, or there is no node to add it behind.
    pub fn with_node_added(
        &self,
        node: &NewNode,
        after: Option<&str>,
    ) -> Result<DiagramDocument, Error> {
        self.refuse_taken(&node.id)?;
        let mut meant = self.diagram().clone();
        meant.nodes.push(node.node());
        let line = match after {
            Some(after) => {
                self.known(after)?;
                meant.edges.push(plain_edge(after, &node.id, ""));
                format!("{after} --> {}", node.written())
            }
            None => node.written(),
        };
        self.redrawn(&[self.new_line(&line)], &meant)
    }

    /// Adds an edge on a line of its own; an empty label is left out.
    ///
    /// # Errors
    ///
    /// When one of the nodes is not there.
    pub fn with_edge_added(
        &self,
        from: &str,
        to: &str,
        text: &str,
    ) -> Result<DiagramDocument, Error> {
        self.known(from)?;
        self.known(to)?;
        let mut meant = self.diagram().clone();
        meant.edges.push(plain_edge(from, to, text));
        let arrow = match text.is_empty() {
            true => "-->".to_owned(),
            false => format!("-->|{}|", in_brackets(&label(text))),
        };
        self.redrawn(&[self.new_line(&format!("{from} {arrow} {to}"))], &meant)
    }

    /// Puts a node on an edge. The edge keeps its label and leads to the node.
    ///
    /// # Errors
    ///
    /// When there is no such edge, or the id is taken.
    pub fn with_node_inserted(
        &self,
        edge: usize,
        node: &NewNode,
    ) -> Result<DiagramDocument, Error> {
        self.refuse_taken(&node.id)?;
        let (place, link) = self.drawn_link(edge)?;
        let mut meant = self.diagram().clone();
        let there = meant.edges.get_mut(edge);
        let to = there.map(|there| std::mem::replace(&mut there.to, node.id.clone()));
        meant.nodes.push(node.node());
        meant
            .edges
            .push(plain_edge(&node.id, &to.unwrap_or_default(), ""));
        let edit = match self.is_single(place) {
            true => {
                let rest = self.source().get(link.span.end..).unwrap_or("");
                let gap = match rest.starts_with([' ', '\t']) {
                    true => "",
                    false => " ",
                };
                TextEdit {
                    span: at(link.span.end),
                    text: format!(" {} -->{gap}", node.written()),
                }
            }
            false => self.taken_apart(place.0, edge, Some(&node.written()))?,
        };
        self.redrawn(&[edit], &meant)
    }

    /// Takes an edge away. Its nodes stay.
    ///
    /// # Errors
    ///
    /// When there is no such edge.
    pub fn without_edge(&self, edge: usize) -> Result<DiagramDocument, Error> {
        let (place, _) = self.drawn_link(edge)?;
        let mut meant = self.diagram().clone();
        meant.edges.remove(edge);
        let edit = match self.is_single(place) {
            true => self.cut_at_link(place)?,
            false => self.taken_apart(place.0, edge, None)?,
        };
        let cut = self.redrawn(&[edit], &meant)?;
        cut.without_leftovers(self, &meant)
    }

    /// Gives a node the brackets of another shape. Its label stays.
    ///
    /// # Errors
    ///
    /// When there is no such node, or its shape is not written with brackets.
    pub fn with_node_shape(&self, id: &str, shape: &'static str) -> Result<DiagramDocument, Error> {
        let node = self.known(id)?;
        let (open, close) = brackets(shape).unwrap_or(("[", "]"));
        let mut meant = self.diagram().clone();
        if let Some(meant) = meant.nodes.iter_mut().find(|node| node.id == id) {
            meant.shape = NodeShape::bracketed(shape);
        }
        let mentions = self.mentions_of(id);
        let body = mentions
            .iter()
            .rev()
            .find_map(|mention| mention.body.as_ref());
        let edit = match (body, mentions.first()) {
            (Some(body), _) => TextEdit {
                span: body.span,
                text: format!("{open}{}{close}", label_text(&node.label.text)),
            },
            (None, Some(mention)) => TextEdit {
                span: at(mention.id.span.end),
                text: format!("{open}{}{close}", label_text(&node.label.text)),
            },
            (None, None) => return Err(self.refuse_drawing("The node is not drawn in a chain.")),
        };
        self.redrawn(&[edit], &meant)
    }

    /// The node of an id.
    pub(crate) fn known(&self, id: &str) -> Result<&DiagramNode, Error> {
        let found = self.diagram().node(id);
        found.ok_or_else(|| self.refuse_drawing(&format!("There is no node `{id}`.")))
    }

    fn refuse_taken(&self, id: &str) -> Result<(), Error> {
        match self.diagram().node(id) {
            Some(_) => Err(self.refuse_drawing(&format!("There is a node `{id}` already."))),
            None => Ok(()),
        }
    }

    fn drawn_link(&self, edge: usize) -> Result<((usize, usize), &SyntaxLink), Error> {
        let place = self.places.links.get(edge).copied();
        let found = place.and_then(|place| Some((place, self.link(edge)?)));
        found.ok_or_else(|| self.refuse_drawing(&format!("There is no edge {edge}.")))
    }

    pub(crate) fn mentions_of(&self, id: &str) -> Vec<&NodeMention> {
        let nodes = &self.diagram().nodes;
        let index = nodes.iter().position(|node| node.id == id);
        let places = index.and_then(|index| self.places.mentions.get(index));
        let places = places.into_iter().flatten();
        places.filter_map(|place| self.mention(*place)).collect()
    }

    pub(crate) fn chain(&self, statement: usize) -> Option<&LinkChain> {
        match &self.statements.get(statement)?.kind {
            StatementKind::Chain(chain) => Some(chain),
            _ => None,
        }
    }

    /// Returns whether a link joins one node with one other.
    fn is_single(&self, (statement, link): (usize, usize)) -> bool {
        let groups = self.chain(statement).map(|chain| &chain.groups);
        let sizes = groups.map(|groups| (groups.get(link), groups.get(link + 1)));
        matches!(sizes, Some((Some(left), Some(right))) if left.len() == 1 && right.len() == 1)
    }

    /// A line behind the last statement.
    fn new_line(&self, line: &str) -> TextEdit {
        let last = self.statements.last().map(|last| last.span);
        let (keyword, direction) = self.header();
        let end = last.or(direction).unwrap_or(keyword).end;
        let rest = self.source().get(end..).unwrap_or("");
        let to_end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let top = self.statements.iter().rev().find(|one| one.depth == 0);
        let indent = top.map_or(INDENT.to_owned(), |top| self.indent(top.span.start));
        TextEdit {
            span: at(end + to_end),
            text: format!("\n{indent}{line}"),
        }
    }

    /// Returns the white space at the start of a place's line, if nothing else precedes the place.
    pub(crate) fn indent(&self, place: usize) -> String {
        let before = self.source().get(..place).unwrap_or("");
        let line = before.rsplit('\n').next().unwrap_or("");
        match line.chars().all(|c| c == ' ' || c == '\t') {
            true => line.to_owned(),
            false => INDENT.to_owned(),
        }
    }

    /// Cuts a chain in two at a link.
    fn cut_at_link(&self, (statement, link): (usize, usize)) -> Result<TextEdit, Error> {
        let chain = self.chain(statement);
        let ends = chain.and_then(|chain| {
            let left = chain.groups.get(link)?.last()?.span.end;
            let right = chain.groups.get(link + 1)?.first()?.span.start;
            Some((left, right))
        });
        let (start, end) = ends.ok_or_else(|| self.refuse_drawing("The edge is not drawn."))?;
        let first = self
            .statements
            .get(statement)
            .map_or(0, |one| one.span.start);
        Ok(TextEdit {
            span: Span { start, end },
            text: format!("\n{}", self.indent(first)),
        })
    }

    /// Writes the edges of a chain one by one, without one of them or with a node on it.
    fn taken_apart(
        &self,
        statement: usize,
        changed: usize,
        inserted: Option<&str>,
    ) -> Result<TextEdit, Error> {
        let lost = || self.refuse_drawing("The edge is not drawn in a chain.");
        let chain = self.chain(statement).ok_or_else(lost)?;
        let span = self.statements.get(statement).ok_or_else(lost)?.span;
        let mut told: Vec<&str> = Vec::new();
        let mut lines = Vec::new();
        let links = self.places.links.iter().enumerate();
        for (at, (_, link)) in links.filter(|(_, place)| place.0 == statement) {
            let edge = self.diagram().edges.get(at).ok_or_else(lost)?;
            let mut written = |group: usize, id: &str| -> Option<String> {
                let mention = chain
                    .groups
                    .get(group)?
                    .iter()
                    .find(|one| one.id.text == id)?;
                let is_told = told.contains(&mention.id.text.as_str());
                told.push(&mention.id.text);
                let span = match is_told {
                    true => mention.id.span,
                    false => mention.span,
                };
                Some(span.of(self.source()).to_owned())
            };
            let arrow = chain.links.get(*link).ok_or_else(lost)?;
            let arrow = arrow.span.of(self.source());
            if at == changed && inserted.is_none() {
                continue;
            }
            let from = written(*link, &edge.from).ok_or_else(lost)?;
            let to = written(*link + 1, &edge.to).ok_or_else(lost)?;
            lines.push(match inserted.filter(|_| at == changed) {
                Some(node) => format!("{from} {arrow} {node} --> {to}"),
                None => format!("{from} {arrow} {to}"),
            });
        }
        let untold = chain.groups.iter().flatten();
        for mention in untold.filter(|mention| !told.contains(&mention.id.text.as_str())) {
            lines.push(mention.span.of(self.source()).to_owned());
        }
        Ok(TextEdit {
            span,
            text: lines.join(&format!("\n{}", self.indent(span.start))),
        })
    }

    /// The edited document, if it means what was meant.
    fn redrawn(&self, edits: &[TextEdit], meant: &Diagram) -> Result<DiagramDocument, Error> {
        let edited = self.edited(edits)?;
        match same(edited.diagram(), meant) {
            true => Ok(edited),
            false => Err(self.refuse_drawing(UNCLEAR)),
        }
    }

    pub(crate) fn refuse_drawing(&self, message: &str) -> Error {
        self.refuse(message, Span::default())
    }
}

pub(crate) const UNCLEAR: &str =
    "This cannot be drawn without changing something else. Edit the text instead.";

fn at(place: usize) -> Span {
    Span {
        start: place,
        end: place,
    }
}

fn plain_edge(from: &str, to: &str, text: &str) -> DiagramEdge {
    DiagramEdge {
        from: from.to_owned(),
        to: to.to_owned(),
        label: label(text),
        arrow: crate::arrow::EdgeArrow::default(),
        id: None,
    }
}

/// Returns whether two diagrams mean the same: the order of nodes, and of edges of different nodes, aside.
pub(crate) fn same(one: &Diagram, other: &Diagram) -> bool {
    let nodes = |diagram: &Diagram| {
        let mut nodes: Vec<_> = diagram
            .nodes
            .iter()
            .map(|node| {
                let shape = node.shape.family().unwrap_or_else(|| node.shape.name());
                (
                    node.id.clone(),
                    node.label.text.clone(),
                    shape,
                    node.classes.clone(),
                    node.data.clone(),
                )
            })
            .collect();
        nodes.sort_by(|a, b| a.0.cmp(&b.0));
        nodes
    };
    let edges = |diagram: &Diagram| {
        let mut edges: Vec<_> = diagram
            .edges
            .iter()
            .map(|edge| {
                (
                    edge.from.clone(),
                    edge.to.clone(),
                    edge.label.text.clone(),
                    edge.arrow,
                )
            })
            .collect();
        edges.sort_by(|a, b| a.0.cmp(&b.0));
        edges
    };
    let groups = |diagram: &Diagram| {
        let mut groups: Vec<_> = diagram
            .subgraphs
            .iter()
            .map(|group| {
                let mut members = group.nodes.clone();
                members.sort();
                (
                    group.id.clone(),
                    group.title.text.clone(),
                    members,
                    group.direction,
                )
            })
            .collect();
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        groups
    };
    nodes(one) == nodes(other)
        && edges(one) == edges(other)
        && groups(one) == groups(other)
        && one.direction == other.direction
}
