//! The diagram for a terminal: boxes in layers joined by lines, or a list where they do not fit.

use std::collections::HashMap;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use crate::diagram::{Diagram, DiagramEdge, DiagramNode};
use crate::status::NodeStatus;

mod canvas;
mod layers;
mod lines;

/// Number of nodes that are drawn; a larger diagram is listed.
pub(crate) const TEXT_NODES_MAX: usize = 60;
/// Columns of a label on one line.
const LABEL_COLUMNS_MAX: usize = 24;
/// Lines of a label that are shown.
const LABEL_LINES_MAX: usize = 3;

impl Diagram {
    /// Draws the diagram as text of at most `width` columns, from top to bottom whatever its
    /// direction. Labels that do not fit next to their lines, and edges that lead back, are listed
    /// below.
    #[must_use]
    pub fn to_text(&self, width: usize, statuses: &HashMap<String, NodeStatus>) -> String {
        let drawn = (self.nodes.len() <= TEXT_NODES_MAX)
            .then(|| layers::GraphLayers::new(self))
            .and_then(|layers| lines::draw(self, &layers, statuses, width));
        match drawn {
            Some((picture, rest)) => picture + &self.list_edges(&rest),
            None => self.list(statuses),
        }
    }

    /// Lists every node with the edges that leave it.
    fn list(&self, statuses: &HashMap<String, NodeStatus>) -> String {
        let mut out = String::new();
        for node in &self.nodes {
            let _ = writeln!(out, "{}", title(node, statuses));
            for edge in self.edges.iter().filter(|edge| edge.from == node.id) {
                let _ = writeln!(out, "    → {}", self.target(edge));
            }
        }
        out
    }

    fn list_edges(&self, edges: &[usize]) -> String {
        let mut out = String::new();
        for edge in edges.iter().filter_map(|at| self.edges.get(*at)) {
            let from = self
                .node(&edge.from)
                .map_or(edge.from.clone(), |node| plain(&node.label.text));
            let _ = writeln!(out, "{from} → {}", self.target(edge));
        }
        if out.is_empty() {
            out
        } else {
            format!("\n{out}")
        }
    }

    fn target(&self, edge: &DiagramEdge) -> String {
        let to = self
            .node(&edge.to)
            .map_or(edge.to.clone(), |node| plain(&node.label.text));
        match plain(&edge.label.text) {
            label if label.is_empty() => to,
            label => format!("{to}: {label}"),
        }
    }
}

/// Returns the node's mark and label.
pub(super) fn title(node: &DiagramNode, statuses: &HashMap<String, NodeStatus>) -> String {
    let label = plain(&node.label.text);
    match statuses.get(&node.id) {
        Some(status) => format!("{} {label}", status.mark()),
        None => label,
    }
}

/// Puts a label on one line, without anything a terminal would act on.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    let text = text.replace("<br/>", " ").replace("<br>", " ");
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if !out.is_empty() && !word.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Wraps a label into lines of a readable width; a label that is too long is cut.
pub(super) fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else {
            break;
        };
        if !line.is_empty() && line.width() + 1 + word.width() > LABEL_COLUMNS_MAX {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    let cut = lines.len() > LABEL_LINES_MAX;
    lines.truncate(LABEL_LINES_MAX);
    for line in &mut lines {
        *line = shorten(line, LABEL_COLUMNS_MAX);
    }
    if let (true, Some(last)) = (cut, lines.last_mut()) {
        *last = shorten(&format!("{last} …"), LABEL_COLUMNS_MAX);
    }
    lines
}

pub(super) fn shorten(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        let mut longer = out.clone();
        longer.push(c);
        if longer.width() >= columns {
            break;
        }
        out = longer;
    }
    out.push('…');
    out
}
