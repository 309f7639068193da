//! Takes a node out of a diagram's text: every mention of it, and the names that a cut leaves behind.

use crate::diagram::{Diagram, DiagramEdge};
use crate::document::DiagramDocument;
use crate::edit::TextEdit;
use crate::error::Error;
use crate::redraw::{UNCLEAR, same};
use crate::span::Span;
use crate::syntax::{NodeMention, StatementKind};

impl DiagramDocument {
    /// Takes a node and its edges away. Where it has one way on, without a label, the edges that led to
    /// the node lead there.
    ///
    /// # Errors
    ///
    /// When there is no such node, or it is written in a way that has to be taken apart by hand.
    pub fn without_node(&self, id: &str) -> Result<DiagramDocument, Error> {
        self.known(id)?;
        let edges = &self.diagram().edges;
        let mut ways = edges.iter().filter(|edge| edge.from == id);
        let target = match (ways.next(), ways.next()) {
            (Some(only), None) if only.label.text.is_empty() && only.to != id => Some(&only.to),
            _ => None,
        };
        let is_bridged =
            |edge: &DiagramEdge| edge.to == id && target.is_some_and(|target| *target != edge.from);
        if let Some(target) = target
            && edges.iter().any(is_bridged)
            && edges.iter().filter(|edge| edge.to == id).all(is_bridged)
        {
            let bridged = self.meant_without(id, Some(target));
            if let Ok(document) = self.erased(id, Some(target), &bridged) {
                return Ok(document);
            }
        }
        self.erased(id, None, &self.meant_without(id, None))
    }

    /// The diagram without a node, its edges led on to a target.
    fn meant_without(&self, id: &str, target: Option<&str>) -> Diagram {
        let mut meant = self.diagram().clone();
        meant.nodes.retain(|node| node.id != id);
        if let Some(target) = target {
            let led = meant.edges.iter_mut().filter(|edge| edge.to == id);
            led.for_each(|edge| target.clone_into(&mut edge.to));
        }
        meant.edges.retain(|edge| edge.from != id && edge.to != id);
        for group in &mut meant.subgraphs {
            group.nodes.retain(|member| member != id);
        }
        meant
    }

    /// Cuts every mention of a node, one after the other.
    fn erased(
        &self,
        id: &str,
        target: Option<&str>,
        meant: &Diagram,
    ) -> Result<DiagramDocument, Error> {
        let mut document = self.clone();
        // Each round takes one mention or one statement away.
        for _ in 0..=self.source().len() {
            let nodes = &document.diagram().nodes;
            let Some(index) = nodes.iter().position(|node| node.id == id) else {
                let cleared = document.without_leftovers(self, meant)?;
                return match same(cleared.diagram(), meant) {
                    true => Ok(cleared),
                    false => Err(self.refuse_drawing(UNCLEAR)),
                };
            };
            let places = document.places.mentions.get(index);
            let edit = match places.and_then(|places| places.first()) {
                Some(place) => document.without_mention(*place, target),
                None => document.without_styling(id),
            };
            let edit = edit.ok_or_else(|| self.refuse_drawing(UNCLEAR))?;
            document = document.edited(&[edit])?;
        }
        Err(self.refuse_drawing(UNCLEAR))
    }

    /// Cuts one mention out of its chain.
    fn without_mention(
        &self,
        (statement, group, index): (usize, usize, usize),
        target: Option<&str>,
    ) -> Option<TextEdit> {
        let chain = self.chain(statement)?;
        let mentions = chain.groups.get(group)?;
        let mention = mentions.get(index)?;
        let cut = |start: usize, end: usize, text: String| {
            Some(TextEdit {
                span: Span { start, end },
                text,
            })
        };
        if mentions.len() > 1 {
            return match mentions.get(index + 1) {
                Some(next) => cut(mention.span.start, next.span.start, String::new()),
                None => cut(
                    mentions.get(index.checked_sub(1)?)?.span.end,
                    mention.span.end,
                    String::new(),
                ),
            };
        }
        let before = group.checked_sub(1).and_then(|left| chain.groups.get(left));
        let before = before
            .and_then(|group| group.last())
            .map(|one| one.span.end);
        let next = chain.groups.get(group + 1);
        let after = next
            .and_then(|group| group.first())
            .map(|one| one.span.start);
        let first = self.statements.get(statement)?.span;
        let line = format!("\n{}", self.indent(first.start));
        match (before, after, target) {
            (Some(_), Some(after), Some(target)) => {
                let is_next = next
                    .is_some_and(|next| matches!(next.as_slice(), [one] if one.id.text == target));
                match is_next {
                    true => cut(mention.span.start, after, String::new()),
                    false => cut(mention.span.start, after, format!("{target}{line}")),
                }
            }
            (Some(before), Some(after), None) => cut(before, after, line),
            (Some(_), None, Some(target)) => {
                cut(mention.span.start, mention.span.end, target.to_owned())
            }
            (Some(before), None, None) => cut(before, mention.span.end, String::new()),
            (None, Some(after), _) => cut(mention.span.start, after, String::new()),
            (None, None, _) => cut_whole(self, first),
        }
    }

    /// Cuts the statement that styles a node: it would bring the node back.
    fn without_styling(&self, id: &str) -> Option<TextEdit> {
        let styled = self.statements.iter().find(|one| match &one.kind {
            StatementKind::Style { id: name, .. } => name.text == id,
            _ => false,
        });
        cut_whole(self, styled?.span)
    }

    /// Takes away bare names that a cut has left behind and that say nothing.
    pub(crate) fn without_leftovers(
        self,
        before: &DiagramDocument,
        meant: &Diagram,
    ) -> Result<DiagramDocument, Error> {
        let mut document = self;
        while let Some(edit) = document.leftover(before) {
            let cleared = document.edited(&[edit])?;
            if !same(cleared.diagram(), meant) {
                break;
            }
            document = cleared;
        }
        Ok(document)
    }

    fn leftover(&self, before: &DiagramDocument) -> Option<TextEdit> {
        let bare = |document: &DiagramDocument, at: usize| -> Option<String> {
            let chain = document.chain(at)?;
            let [group] = chain.groups.as_slice() else {
                return None;
            };
            let is_bare =
                |one: &NodeMention| one.body.is_none() && one.class.is_none() && one.data.is_none();
            let names: Vec<&str> = group.iter().map(|one| one.id.text.as_str()).collect();
            let is_known = |id: &&str| document.mentions_of(id).len() > 1;
            (group.iter().all(is_bare) && names.iter().all(is_known)).then(|| names.join("&"))
        };
        let count = |document: &DiagramDocument, name: &str| {
            let all = (0..document.statements.len()).filter_map(|at| bare(document, at));
            all.filter(|one| one == name).count()
        };
        let found = (0..self.statements.len()).find(|at| {
            let name = bare(self, *at);
            name.is_some_and(|name| count(self, &name) > count(before, &name))
        });
        cut_whole(self, self.statements.get(found?)?.span)
    }
}

/// Cuts a statement: the whole line if nothing else is on it, otherwise its bytes and the `;` behind them.
fn cut_whole(document: &DiagramDocument, span: Span) -> Option<TextEdit> {
    let source = document.source();
    let start = source.get(..span.start)?.rfind('\n').map_or(0, |at| at + 1);
    let rest = source.get(span.end..)?;
    let end = rest.find('\n').map_or(source.len(), |at| span.end + at + 1);
    let is_blank = |text: Option<&str>| {
        text.is_some_and(|text| text.trim().trim_matches(';').trim().is_empty())
    };
    let is_alone = is_blank(source.get(start..span.start)) && is_blank(source.get(span.end..end));
    let behind = rest.len()
        - rest
            .trim_start_matches([' ', '\t'])
            .trim_start_matches(';')
            .len();
    let span = match is_alone {
        true => Span { start, end },
        false => Span {
            start: span.start,
            end: span.end + behind,
        },
    };
    Some(TextEdit {
        span,
        text: String::new(),
    })
}
