//! Changes to one part of a text that leave every other byte as it was.

use crate::diagram::{DiagramNode, TextLabel};
use crate::document::{DiagramDocument, parse};
use crate::error::{Error, ProblemKind, SpanProblem};
use crate::span::Span;
use crate::syntax::{LabelForm, NodeMention, StatementKind, SyntaxLink, TextKind};
use crate::write::{flow, in_brackets};

/// New text for a span of the old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    pub span: Span,
    pub text: String,
}

impl DiagramDocument {
    /// Returns the document with some spans replaced, parsed again.
    ///
    /// # Errors
    ///
    /// When spans overlap or are not of this text, or when the new text is no diagram.
    pub fn edited(&self, edits: &[TextEdit]) -> Result<DiagramDocument, Error> {
        let mut edits: Vec<&TextEdit> = edits.iter().collect();
        edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        let mut text = String::with_capacity(self.source.len());
        let mut at = 0;
        for edit in edits {
            let Some(kept) = self.source.get(at..edit.span.start) else {
                return Err(self.refuse("The edits overlap or lie outside of the text.", edit.span));
            };
            if self.source.get(edit.span.start..edit.span.end).is_none() {
                return Err(self.refuse("The edits overlap or lie outside of the text.", edit.span));
            }
            text.push_str(kept);
            text.push_str(&edit.text);
            at = edit.span.end;
        }
        text.push_str(self.source.get(at..).unwrap_or(""));
        parse(&text)
    }

    /// Returns the document with another label on a node, in quotes.
    ///
    /// # Errors
    ///
    /// When there is no such node, or no label can be written at its place.
    pub fn with_node_label(&self, id: &str, text: &str) -> Result<DiagramDocument, Error> {
        let nodes = &self.diagram().nodes;
        let index = nodes.iter().position(|node| node.id == id);
        let mentions = index.and_then(|index| self.places.mentions.get(index));
        let mentions = mentions.into_iter().flatten();
        let mentions: Vec<&NodeMention> =
            mentions.filter_map(|place| self.mention(*place)).collect();
        let (Some(first), Some(node)) = (mentions.first(), index.and_then(|at| nodes.get(at)))
        else {
            let message = format!("There is no node `{id}` to label.");
            return Err(self.refuse(&message, Span::default()));
        };
        let quoted = in_brackets(&TextLabel {
            text: text.to_owned(),
            kind: TextKind::String,
        });
        // The last label written counts.
        let last = mentions
            .iter()
            .rev()
            .find(|m| m.body.is_some() || m.data.is_some());
        let edit = match last.unwrap_or(first) {
            NodeMention {
                data: Some(data), ..
            } if says_label(&data.text) => TextEdit {
                span: data.span,
                text: data_with(node, text),
            },
            NodeMention {
                body: Some(body), ..
            } => TextEdit {
                span: body.text.span,
                text: quoted,
            },
            mention => TextEdit {
                span: Span {
                    start: mention.id.span.end,
                    end: mention.id.span.end,
                },
                text: format!("[{quoted}]"),
            },
        };
        self.edited(&[edit])
    }

    /// Returns the document with another label on an edge, in quotes; an empty one takes the label
    /// away. Edges that are written with one link share its label.
    ///
    /// # Errors
    ///
    /// When there is no such edge.
    pub fn with_edge_label(&self, edge: usize, text: &str) -> Result<DiagramDocument, Error> {
        let Some(link) = self.link(edge) else {
            let message = format!("There is no edge {edge} to label.");
            return Err(self.refuse(&message, Span::default()));
        };
        let quoted = in_brackets(&TextLabel {
            text: text.to_owned(),
            kind: TextKind::String,
        });
        let arrow = link.arrow.to_string();
        let id = link.id.as_ref().map_or("", |id| id.span.of(&self.source));
        let edit = match (&link.label, link.form) {
            (Some(label), _) if !text.is_empty() => TextEdit {
                span: label.span,
                text: quoted,
            },
            (None, _) if text.is_empty() => return Ok(self.clone()),
            (_, LabelForm::None) => TextEdit {
                span: Span {
                    start: link.arrow_span.end,
                    end: link.arrow_span.end,
                },
                text: format!("|{quoted}|"),
            },
            _ => TextEdit {
                span: link.span,
                text: format!("{id}{arrow}"),
            },
        };
        self.edited(&[edit])
    }

    pub(crate) fn mention(&self, place: (usize, usize, usize)) -> Option<&NodeMention> {
        let StatementKind::Chain(chain) = &self.statements.get(place.0)?.kind else {
            return None;
        };
        chain.groups.get(place.1)?.get(place.2)
    }

    pub(crate) fn link(&self, edge: usize) -> Option<&SyntaxLink> {
        let (statement, link) = self.places.links.get(edge)?;
        let StatementKind::Chain(chain) = &self.statements.get(*statement)?.kind else {
            return None;
        };
        chain.links.get(*link)
    }

    pub(crate) fn refuse(&self, message: &str, span: Span) -> Error {
        Error::new(
            &self.source,
            vec![SpanProblem::new(ProblemKind::Edit, message, span)],
        )
    }
}

fn says_label(data: &str) -> bool {
    let data = crate::data::parse(data).ok().flatten();
    data.is_some_and(|data| data.contains_key("label"))
}

/// Returns the data of a node on one line, with another label.
fn data_with(node: &DiagramNode, text: &str) -> String {
    let string = |text: &str| serde_json::Value::String(text.to_owned());
    let label = crate::entity::encode(text, |_, _| false);
    let mut pairs = vec![flow("label", &string(&label))];
    pairs.push(flow("labelType", &string("string")));
    if crate::shape::brackets(node.shape.name()).is_none()
        && node.shape != crate::NodeShape::DEFAULT
    {
        pairs.insert(0, flow("shape", &string(node.shape.name())));
    }
    pairs.extend(node.data.iter().map(|(key, value)| flow(key, value)));
    format!("@{{ {} }}", pairs.join(", "))
}
