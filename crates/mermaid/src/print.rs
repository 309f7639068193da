//! Diagram → text that reads back as the same diagram.
//!
//! This writes a diagram from scratch, one statement a line. A text that a person wrote is not
//! printed by this: [`DiagramDocument`](crate::DiagramDocument) keeps it, and edits change only their own bytes.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::clean::with_semicolons_to_lose;
use crate::diagram::{Diagram, DiagramEdge, DiagramNode, Subgraph, TextLabel};
use crate::parser::SUBGRAPH_DEPTH_MAX;
use crate::shape::{NodeShape, brackets};
use crate::syntax::TextKind;
use crate::write::{block, flow, holds_map, in_brackets};

/// Words that swallow the white space after them, so that nothing may follow but a mark.
const GREEDY: [&str; 6] = ["call", "click", "href", "direction", "accTitle", "accDescr"];

impl std::fmt::Display for Diagram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&print(self))
    }
}

fn print(diagram: &Diagram) -> String {
    let mut out = format!("flowchart {}\n", diagram.direction.name());
    for node in &diagram.nodes {
        push_node(&mut out, node);
    }
    for edge in &diagram.edges {
        push_line(&mut out, &edge_line(edge), 1);
    }
    SubgraphTree::new(diagram).print(&mut out);
    for statement in &diagram.styling {
        out.push_str("    ");
        out.push_str(statement);
        let prose = statement.starts_with("acc");
        if !prose && GREEDY.iter().any(|word| statement.ends_with(word)) {
            out.push(';');
        }
        out.push('\n');
    }
    with_semicolons_to_lose(&out)
}

fn push_line(out: &mut String, line: &str, depth: usize) {
    for _ in 0..depth {
        out.push_str("    ");
    }
    if line.starts_with("%%") {
        out.push(';');
    }
    out.push_str(line);
    if GREEDY.iter().any(|word| line.ends_with(word)) {
        // A semicolon after `#` and a word would make an entity code.
        out.push_str(if line.contains('#') { "@{ }" } else { ";" });
    }
    out.push('\n');
}

fn push_node(out: &mut String, node: &DiagramNode) {
    let mut line = node.id.clone();
    let mut data = Map::new();
    let plain = node.label.kind == TextKind::Text && node.label.text == node.id;
    match brackets(node.shape.name()) {
        Some((open, close)) => {
            let _ = write!(line, "{open}{}{close}", in_brackets(&node.label));
        }
        None if node.shape == NodeShape::DEFAULT => {
            if !plain && !cleared(node) {
                label_data(&node.label, &mut data);
            }
        }
        None => {
            if !plain && !cleared(node) {
                let _ = write!(line, "[{}]", in_brackets(&node.label));
            }
            data.insert("shape".to_owned(), json!(node.shape.name()));
        }
    }
    // A picture's label that is the node's id would be dropped.
    if pictured(node) && node.label.text == node.id {
        label_data(&node.label, &mut data);
    }
    let mut classes = node.classes.iter();
    if let Some(class) = classes.next() {
        let _ = write!(line, ":::{class}");
    }
    data.extend(node.data.clone());
    if data.values().any(holds_map) {
        let _ = write!(line, "@{{\n{}}}", block(&data, 1));
    } else if !data.is_empty() {
        let pairs: Vec<String> = data.iter().map(|(key, value)| flow(key, value)).collect();
        let _ = write!(line, "@{{ {} }}", pairs.join(", "));
    }
    push_line(out, &line, 1);
    for class in classes {
        push_line(out, &format!("{}:::{class}", node.id), 1);
    }
}

/// True if a node is a picture without a label: its text needs no label either.
fn cleared(node: &DiagramNode) -> bool {
    node.label.text.is_empty() && pictured(node)
}

fn pictured(node: &DiagramNode) -> bool {
    let keys = ["icon", "img"];
    keys.iter().any(|key| node.data.contains_key(*key))
}

fn label_data(label: &TextLabel, data: &mut Map<String, Value>) {
    data.insert(
        "label".to_owned(),
        json!(crate::entity::encode(&label.text, |_, _| false)),
    );
    match label.kind {
        TextKind::Markdown => {}
        TextKind::String => {
            data.insert("labelType".to_owned(), json!("string"));
        }
        TextKind::Text => {
            data.insert("labelType".to_owned(), json!("text"));
        }
    }
}

fn edge_line(edge: &DiagramEdge) -> String {
    let DiagramEdge {
        from, to, arrow, ..
    } = edge;
    let greedy = GREEDY.iter().any(|word| from.ends_with(word));
    // An edge's id that looks like a link is read as one, unless it comes right after a brace.
    let line = |id: &String| {
        id.trim_start_matches(['x', 'o', '<'])
            .starts_with(['-', '=', '.', '~'])
    };
    let gap = match (greedy, edge.id.as_ref().is_some_and(line)) {
        (_, true) => "@{ }",
        (true, false) => "@{ } ",
        (false, false) => " ",
    };
    let id = edge.id.as_deref().map(|id| format!("{}@", with_mark(id)));
    let id = id.unwrap_or_default();
    let bare = edge.label.text.is_empty() && edge.label.kind == TextKind::Text;
    if bare {
        return format!("{from}{gap}{id}{arrow} {to}");
    }
    format!("{from}{gap}{id}{arrow}|{}| {to}", in_brackets(&edge.label))
}

/// Doubles the first `@` of an edge's id, because the reader takes one out.
fn with_mark(id: &str) -> String {
    match id.find('@') {
        Some(at) => format!(
            "{}@{}",
            &id[..at],
            id[at..].strip_suffix('@').unwrap_or(&id[at..])
        ),
        None => id.to_owned(),
    }
}

/// The subgraphs of a diagram, nested where the order they are listed in allows it.
struct SubgraphTree<'d> {
    diagram: &'d Diagram,
    index: HashMap<&'d str, usize>,
    nodes: HashSet<&'d str>,
    edges: HashSet<&'d str>,
    /// The subgraphs written inside each subgraph.
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
    /// A subgraph holds one that ends after it, itself perhaps inside: only subgraphs that are
    /// opened again can say so. All are written empty in their order, then filled.
    reopened: bool,
}

impl<'d> SubgraphTree<'d> {
    fn new(diagram: &'d Diagram) -> Self {
        let subgraphs = &diagram.subgraphs;
        let index: HashMap<&str, usize> = subgraphs
            .iter()
            .enumerate()
            .map(|(at, s)| (s.id.as_str(), at))
            .collect();
        let mut groups = SubgraphTree {
            diagram,
            index,
            nodes: diagram.nodes.iter().map(|node| node.id.as_str()).collect(),
            edges: diagram
                .edges
                .iter()
                .filter_map(|edge| edge.id.as_deref())
                .collect(),
            children: vec![Vec::new(); subgraphs.len()],
            roots: Vec::new(),
            reopened: false,
        };
        groups.reopened = groups.holds_a_later_one();
        groups.nest();
        if groups.reopened || groups.post_order() != Some((0..subgraphs.len()).collect()) {
            groups.children = vec![Vec::new(); subgraphs.len()];
            groups.roots = (0..subgraphs.len()).collect();
        }
        groups
    }

    /// True if a subgraph holds a later one. A later one that is a node too is no problem: its name
    /// alone makes it a member.
    fn holds_a_later_one(&self) -> bool {
        let subgraphs = self.diagram.subgraphs.iter().enumerate();
        let mut members = subgraphs.flat_map(|(at, s)| s.nodes.iter().map(move |id| (at, id)));
        members.any(|(at, id)| {
            let inner = self.index.get(id.as_str());
            inner.is_some_and(|inner| *inner >= at) && !self.nodes.contains(id.as_str())
        })
    }

    fn nest(&mut self) {
        let mut inner = vec![false; self.children.len()];
        for (at, subgraph) in self.diagram.subgraphs.iter().enumerate() {
            for node in &subgraph.nodes {
                let Some(child) = self.index.get(node.as_str()).copied() else {
                    continue;
                };
                if child < at && !inner[child] {
                    inner[child] = true;
                    self.children[at].push(child);
                }
            }
        }
        self.roots = (0..inner.len()).filter(|at| !inner[*at]).collect();
    }

    /// Returns the order the subgraphs would end in, or `None` if they nest too deep.
    fn post_order(&self) -> Option<Vec<usize>> {
        let mut order = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        for root in &self.roots {
            open.push((*root, 0));
            while let Some((at, next)) = open.last_mut() {
                if let Some(child) = self.children[*at].get(*next) {
                    *next += 1;
                    open.push((*child, 0));
                } else {
                    order.push(*at);
                    open.pop();
                }
                if open.len() > SUBGRAPH_DEPTH_MAX - 1 {
                    return None;
                }
            }
        }
        Some(order)
    }

    fn print(&self, out: &mut String) {
        if self.reopened {
            for subgraph in &self.diagram.subgraphs {
                open(subgraph, out, 1);
                push_line(out, "end", 1);
            }
        }
        for root in &self.roots {
            self.print_one(*root, out, 1);
        }
    }

    /// Depth is bounded by [`SubgraphTree::post_order`].
    fn print_one(&self, at: usize, out: &mut String, depth: usize) {
        let Some(subgraph) = self.diagram.subgraphs.get(at) else {
            return;
        };
        if self.reopened && subgraph.nodes.is_empty() {
            return;
        }
        open(subgraph, out, depth);
        for node in &subgraph.nodes {
            match self.index.get(node.as_str()) {
                Some(child) if self.children[at].contains(child) => {
                    self.print_one(*child, out, depth + 1);
                }
                _ if self.nodes.contains(node.as_str()) => push_line(out, node, depth + 1),
                // Written elsewhere already: naming it again makes it a member.
                Some(child) => {
                    push_line(out, &start_line(&self.diagram.subgraphs[*child]), depth + 1);
                    push_line(out, "end", depth + 1);
                }
                None if self.is_edge(node) => push_line(out, node, depth + 1),
                None => {}
            }
        }
        push_line(out, "end", depth);
    }

    fn is_edge(&self, id: &str) -> bool {
        self.edges.contains(id) || id.starts_with("L_")
    }
}

fn open(subgraph: &Subgraph, out: &mut String, depth: usize) {
    push_line(out, &start_line(subgraph), depth);
    if let Some(direction) = subgraph.direction {
        push_line(out, &format!("direction {}", direction.name()), depth + 1);
    }
}

fn start_line(subgraph: &Subgraph) -> String {
    let id = &subgraph.id;
    let word = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !id.is_empty();
    let reserved = crate::lexer::is_reserved(id) || GREEDY.contains(&id.as_str()) || id == "v";
    let bare = (word && !reserved) || id.starts_with('`');
    let name = if id.contains('"') {
        // Only after `click` may a word hold anything; the space ends it.
        format!("click {id} ")
    } else if bare {
        id.clone()
    } else if id.is_empty() {
        "\" \"".to_owned()
    } else {
        format!("\"{id}\"")
    };
    let same = subgraph.title.kind == TextKind::Text && subgraph.title.text == *id;
    if same && word && bare {
        return format!("subgraph {name}");
    }
    format!("subgraph {name}[{}]", in_brackets(&subgraph.title))
}
