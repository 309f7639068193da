//! A diagram's text and everything read from it.

use serde_json::{Value, json};

use crate::clean;
use crate::diagram::{Diagram, SyntaxPlaces, gather};
use crate::error::{Error, ProblemKind, SpanProblem};
use crate::parser;
use crate::span::Span;
use crate::syntax::{CommentLine, DiagramStatement, FrontMatter};
use crate::yaml;

/// The longest text that is read.
pub const SOURCE_BYTES_MAX: usize = 8 << 20;

/// A diagram's text, its meaning, and the place of each part.
#[derive(Clone, Debug)]
pub struct DiagramDocument {
    pub(crate) source: String,
    pub(crate) statements: Vec<DiagramStatement>,
    pub(crate) places: SyntaxPlaces,
    diagram: Diagram,
    keyword: Span,
    direction: Option<Span>,
    front_matter: Option<FrontMatter>,
    directives: Vec<Span>,
    comments: Vec<CommentLine>,
}

/// Reads a flowchart.
///
/// # Errors
///
/// Every problem of the text that could be told apart, with its place and often a hint.
pub fn parse(source: &str) -> Result<DiagramDocument, Error> {
    let fail = |fault: SpanProblem| Error::new(source, vec![fault]);
    if source.len() > SOURCE_BYTES_MAX {
        let bytes = source.len();
        let message =
            format!("The text has {bytes} bytes, more than SOURCE_BYTES_MAX = {SOURCE_BYTES_MAX}.");
        return Err(fail(SpanProblem::new(
            ProblemKind::Limit,
            message,
            Span::default(),
        )));
    }
    let (cleaned, trivia) = clean::clean(source);
    if let Some(front) = &trivia.front_matter {
        yaml::read(&front.body).map_err(|detail| {
            let message = format!("The front matter is not valid YAML: {detail}.");
            fail(SpanProblem::new(
                ProblemKind::FrontMatter,
                message,
                front.span,
            ))
        })?;
    }
    let parsed = parser::parse(&cleaned);
    if !parsed.faults.is_empty() {
        return Err(Error::new(source, parsed.faults));
    }
    let written = |span: Span| cleaned.of(span);
    let (diagram, places) = gather(parsed.direction, &parsed.statements, written)
        .map_err(|faults| Error::new(source, faults))?;
    Ok(DiagramDocument {
        source: source.to_owned(),
        statements: parsed.statements,
        places,
        diagram,
        keyword: parsed.keyword,
        direction: parsed.direction_span,
        front_matter: trivia.front_matter,
        directives: trivia.directives,
        comments: trivia.comments,
    })
}

impl DiagramDocument {
    /// Returns the text, as it was given or as edits made it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the diagram that the text describes.
    #[must_use]
    pub fn diagram(&self) -> &Diagram {
        &self.diagram
    }

    /// Returns the statements in their order.
    #[must_use]
    pub fn statements(&self) -> &[DiagramStatement] {
        &self.statements
    }

    /// Returns the `%%` lines in their order.
    #[must_use]
    pub fn comments(&self) -> &[CommentLine] {
        &self.comments
    }

    #[must_use]
    pub fn front_matter(&self) -> Option<&FrontMatter> {
        self.front_matter.as_ref()
    }

    /// Returns the `%%{ … }%%` blocks.
    #[must_use]
    pub fn directives(&self) -> &[Span] {
        &self.directives
    }

    /// Returns the places of the header's keyword and of its direction.
    #[must_use]
    pub fn header(&self) -> (Span, Option<Span>) {
        (self.keyword, self.direction)
    }

    /// Returns the first place where a node is written, with its brackets.
    #[must_use]
    pub fn node_span(&self, id: &str) -> Option<Span> {
        let index = self.diagram.nodes.iter().position(|node| node.id == id)?;
        let place = self.places.mentions.get(index)?.first()?;
        self.mention(*place).map(|mention| mention.span)
    }

    /// Returns the place of an edge's link, by the edge's index.
    #[must_use]
    pub fn edge_span(&self, edge: usize) -> Option<Span> {
        self.link(edge).map(|link| link.span)
    }

    /// Returns the line of a place, counted from 1.
    #[must_use]
    pub fn line_of(&self, span: Span) -> usize {
        let before = self.source.get(..span.start).unwrap_or(&self.source);
        before.matches('\n').count() + 1
    }
}

impl Diagram {
    /// Returns the diagram as `{direction, nodes, edges, subgraphs}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let nodes = self.nodes.iter().map(
            |node| json!({ "id": node.id, "text": node.label.text, "shape": node.shape.name() }),
        );
        let edges = self.edges.iter().map(|edge| {
            let mut value = json!({
                "from": edge.from,
                "to": edge.to,
                "label": edge.label.text,
                "kind": edge.arrow.heads.name(),
                "stroke": edge.arrow.stroke.name(),
                "length": edge.arrow.length,
            });
            if let (Some(id), Some(fields)) = (&edge.id, value.as_object_mut()) {
                fields.insert("id".to_owned(), json!(id));
            }
            value
        });
        let subgraphs = self.subgraphs.iter().map(|subgraph| {
            json!({ "id": subgraph.id, "title": subgraph.title.text, "nodes": subgraph.nodes })
        });
        json!({
            "direction": self.direction.name(),
            "nodes": nodes.collect::<Vec<_>>(),
            "edges": edges.collect::<Vec<_>>(),
            "subgraphs": subgraphs.collect::<Vec<_>>(),
        })
    }
}
