//! Changes to one part of a text that leave every other byte as it was.

use crate::diagram::{Label, Node};
use crate::document::{Document, parse};
use crate::error::{Error, Fault, ProblemKind};
use crate::span::Span;
use crate::syntax::{LabelForm, Link, Mention, StatementKind, TextKind};
use crate::write::{flow, in_brackets};

/// New text for a span of the old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

impl Document {
    /// The document with some spans replaced, read anew.
    ///
    /// # Errors
    ///
    /// When spans overlap or are not of this text, or when the new text is no diagram.
    pub fn edited(&self, edits: &[Edit]) -> Result<Document, Error> {
        let mut edits: Vec<&Edit> = edits.iter().collect();
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

    /// The document with another label on a node, in quotes.
    ///
    /// # Errors
    ///
    /// When there is no such node, or it stands where no label can be written.
    pub fn with_node_label(&self, id: &str, text: &str) -> Result<Document, Error> {
        let nodes = &self.diagram().nodes;
        let index = nodes.iter().position(|node| node.id == id);
        let mentions = index.and_then(|index| self.places.mentions.get(index));
        let mentions = mentions.into_iter().flatten();
        let mentions: Vec<&Mention> = mentions.filter_map(|place| self.mention(*place)).collect();
        let (Some(first), Some(node)) = (mentions.first(), index.and_then(|at| nodes.get(at)))
        else {
            let message = format!("There is no node `{id}` to label.");
            return Err(self.refuse(&message, Span::default()));
        };
        let quoted = in_brackets(&Label {
            text: text.to_owned(),
            kind: TextKind::String,
        });
        // What is written last counts.
        let last = mentions
            .iter()
            .rev()
            .find(|m| m.body.is_some() || m.data.is_some());
        let edit = match last.unwrap_or(first) {
            Mention {
                data: Some(data), ..
            } if says_label(&data.text) => Edit {
                span: data.span,
                text: data_with(node, text),
            },
            Mention {
                body: Some(body), ..
            } => Edit {
                span: body.text.span,
                text: quoted,
            },
            mention => Edit {
                span: Span {
                    start: mention.id.span.end,
                    end: mention.id.span.end,
                },
                text: format!("[{quoted}]"),
            },
        };
        self.edited(&[edit])
    }

    /// The document with another label on an edge, in quotes; an empty one takes the label away.
    /// Edges that are written with one link share its label.
    ///
    /// # Errors
    ///
    /// When there is no such edge.
    pub fn with_edge_label(&self, edge: usize, text: &str) -> Result<Document, Error> {
        let Some(link) = self.link(edge) else {
            let message = format!("There is no edge {edge} to label.");
            return Err(self.refuse(&message, Span::default()));
        };
        let quoted = in_brackets(&Label {
            text: text.to_owned(),
            kind: TextKind::String,
        });
        let arrow = link.arrow.to_string();
        let id = link.id.as_ref().map_or("", |id| id.span.of(&self.source));
        let edit = match (&link.label, link.form) {
            (Some(label), _) if !text.is_empty() => Edit {
                span: label.span,
                text: quoted,
            },
            (None, _) if text.is_empty() => return Ok(self.clone()),
            (_, LabelForm::None) => Edit {
                span: Span {
                    start: link.arrow_span.end,
                    end: link.arrow_span.end,
                },
                text: format!("|{quoted}|"),
            },
            _ => Edit {
                span: link.span,
                text: format!("{id}{arrow}"),
            },
        };
        self.edited(&[edit])
    }

    pub(crate) fn mention(&self, place: (usize, usize, usize)) -> Option<&Mention> {
        let StatementKind::Chain(chain) = &self.statements.get(place.0)?.kind else {
            return None;
        };
        chain.groups.get(place.1)?.get(place.2)
    }

    pub(crate) fn link(&self, edge: usize) -> Option<&Link> {
        let (statement, link) = self.places.links.get(edge)?;
        let StatementKind::Chain(chain) = &self.statements.get(*statement)?.kind else {
            return None;
        };
        chain.links.get(*link)
    }

    fn refuse(&self, message: &str, span: Span) -> Error {
        Error::new(
            &self.source,
            vec![Fault::new(ProblemKind::Edit, message, span)],
        )
    }
}

fn says_label(data: &str) -> bool {
    let data = crate::data::parse(data).ok().flatten();
    data.is_some_and(|data| data.contains_key("label"))
}

/// The data of a node on one line, with another label.
fn data_with(node: &Node, text: &str) -> String {
    let string = |text: &str| serde_json::Value::String(text.to_owned());
    let label = crate::entity::encode(text, |_, _| false);
    let mut pairs = vec![flow("label", &string(&label))];
    pairs.push(flow("labelType", &string("string")));
    if crate::shape::brackets(node.shape.name()).is_none() && node.shape != crate::Shape::DEFAULT {
        pairs.insert(0, flow("shape", &string(node.shape.name())));
    }
    pairs.extend(node.data.iter().map(|(key, value)| flow(key, value)));
    format!("@{{ {} }}", pairs.join(", "))
}
