//! The content of a diagram: nodes, edges and subgraphs, gathered from the statements in their
//! order.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::arrow::EdgeArrow;
use crate::data;
use crate::direction::FlowDirection;
use crate::entity;
use crate::error::{ProblemKind, SpanProblem};
use crate::shape::NodeShape;
use crate::span::Span;
use crate::syntax::{
    DiagramStatement, LabelText, LinkChain, NodeMention, SpannedName, StatementKind, SubgraphStart,
    SyntaxLink, TextKind,
};
use crate::yaml;

/// Number of edges a diagram may have; `A & B --> C & D` multiplies.
pub const EDGES_MAX: usize = 100_000;

/// A flowchart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagram {
    pub direction: FlowDirection,
    /// In the order they are first mentioned.
    pub nodes: Vec<DiagramNode>,
    /// In the order they are written.
    pub edges: Vec<DiagramEdge>,
    /// In the order they end: an inner one before the one around it.
    pub subgraphs: Vec<Subgraph>,
    /// The statements that only style, link and describe, as they are written but for what Mermaid
    /// drops before it reads.
    pub styling: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DiagramNode {
    pub id: String,
    pub label: TextLabel,
    pub shape: NodeShape,
    /// Given by `:::name`.
    pub classes: Vec<String>,
    /// The keys of `@{ … }` besides shape and label.
    pub data: Map<String, Value>,
}

/// A text to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextLabel {
    /// As a person reads it, except that HTML stays HTML.
    pub text: String,
    pub kind: TextKind,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DiagramEdge {
    pub from: String,
    pub to: String,
    pub label: TextLabel,
    pub arrow: EdgeArrow,
    /// Given by `id@-->`.
    pub id: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Subgraph {
    pub id: String,
    pub title: TextLabel,
    /// Ids of nodes and of inner subgraphs. A node is a member of the first subgraph it is met in.
    pub nodes: Vec<String>,
    pub direction: Option<FlowDirection>,
}

/// The statements in which nodes and edges are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyntaxPlaces {
    /// Statement, group and mention of every mention of a node, by the node's index.
    pub(crate) mentions: Vec<Vec<(usize, usize, usize)>>,
    /// Statement and link of every edge.
    pub(crate) links: Vec<(usize, usize)>,
}

impl Diagram {
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&DiagramNode> {
        self.nodes.iter().find(|node| node.id == id)
    }
}

/// Gathers the diagram of some statements of this cleaned text.
pub(crate) fn gather(
    direction: FlowDirection,
    statements: &[DiagramStatement],
    written: impl Fn(Span) -> String,
) -> Result<(Diagram, SyntaxPlaces), Vec<SpanProblem>> {
    let mut gathering = DiagramBuilder::default();
    gathering.diagram.direction = direction;
    for (index, statement) in statements.iter().enumerate() {
        gathering.statement = index;
        match &statement.kind {
            StatementKind::Chain(chain) => gathering.chain(chain),
            StatementKind::SubgraphStart(start) => gathering.open.push(OpenSubgraph {
                start: Some(start.clone()),
                ..OpenSubgraph::default()
            }),
            StatementKind::SubgraphEnd => gathering.close(),
            StatementKind::Direction(direction) => {
                if let Some(open) = gathering.open.last_mut() {
                    open.direction = Some(*direction);
                }
            }
            StatementKind::Style { id, .. } => {
                gathering.node(&id.text);
            }
            StatementKind::LinkStyle { indices } => gathering.link_style(indices),
            _ => {}
        }
        for (id, span) in gathering.data_elsewhere.drain(..) {
            gathering
                .diagram
                .styling
                .push(format!("{id}{}", written(span)));
        }
        if styles(&statement.kind) {
            gathering.diagram.styling.push(written(statement.span));
        }
        if !gathering.faults.is_empty() && gathering.diagram.edges.len() >= EDGES_MAX {
            break;
        }
    }
    if gathering.faults.is_empty() {
        Ok((gathering.diagram, gathering.places))
    } else {
        Err(gathering.faults)
    }
}

fn styles(kind: &StatementKind) -> bool {
    !matches!(
        kind,
        StatementKind::Chain(_)
            | StatementKind::SubgraphStart(_)
            | StatementKind::SubgraphEnd
            | StatementKind::Direction(_)
    )
}

#[derive(Default)]
struct DiagramBuilder {
    diagram: Diagram,
    places: SyntaxPlaces,
    faults: Vec<SpanProblem>,
    statement: usize,
    node_index: HashMap<String, usize>,
    edge_ids: HashSet<String>,
    edges_between: HashMap<(String, String), usize>,
    open: Vec<OpenSubgraph>,
    subgraph_index: HashMap<String, usize>,
    /// Ids that are in some subgraph already.
    owned: HashSet<String>,
    subgraphs_closed: usize,
    /// Data of edges and subgraphs, which has no place in the diagram but is styling.
    data_elsewhere: Vec<(String, Span)>,
}

/// A subgraph that is being read.
#[derive(Default)]
struct OpenSubgraph {
    start: Option<SubgraphStart>,
    members: Vec<String>,
    direction: Option<FlowDirection>,
}

impl DiagramBuilder {
    fn chain(&mut self, chain: &LinkChain) {
        for (at, group) in chain.groups.iter().enumerate() {
            // Like Mermaid, take the keys of `@{ … }` after the next node of the group: it matters
            // when both are the same node.
            let mut waiting = None;
            for (mention_at, mention) in group.iter().enumerate() {
                self.mention(mention, (self.statement, at, mention_at));
                self.mention_data(waiting.replace(mention));
            }
            self.mention_data(waiting);
            let before = at.checked_sub(1).and_then(|before| {
                let link = chain.links.get(before)?;
                Some((chain.groups.get(before)?, link, before))
            });
            if let Some((from, link, link_at)) = before {
                self.link(from, group, link, link_at);
            }
        }
        // The last group first, as Mermaid lists them.
        if let Some(open) = self.open.last_mut() {
            let mentions = chain.groups.iter().rev().flatten();
            open.members
                .extend(mentions.map(|mention| mention.id.text.clone()));
        }
    }

    fn mention(&mut self, mention: &NodeMention, place: (usize, usize, usize)) {
        let id = &mention.id.text;
        if !self.edge_ids.contains(id) {
            let index = self.node(id);
            if let Some(mentions) = self.places.mentions.get_mut(index) {
                mentions.push(place);
            }
            if let (Some(body), Some(node)) = (&mention.body, self.diagram.nodes.get_mut(index)) {
                node.label = label(&body.text);
                node.shape = NodeShape::bracketed(body.shape);
            }
            if let (Some(class), Some(node)) = (&mention.class, self.diagram.nodes.get_mut(index)) {
                node.classes.push(class.text.clone());
            }
        }
    }

    fn mention_data(&mut self, mention: Option<&NodeMention>) {
        let Some(mention) = mention else { return };
        if let Some(data) = &mention.data {
            self.data(&mention.id.text, data);
        }
    }

    fn node(&mut self, id: &str) -> usize {
        if let Some(index) = self.node_index.get(id) {
            return *index;
        }
        if self.edge_ids.contains(id) {
            return usize::MAX;
        }
        let index = self.diagram.nodes.len();
        self.node_index.insert(id.to_owned(), index);
        self.places.mentions.push(Vec::new());
        self.diagram.nodes.push(DiagramNode {
            id: id.to_owned(),
            label: TextLabel {
                text: id.to_owned(),
                kind: TextKind::Text,
            },
            shape: NodeShape::DEFAULT,
            classes: Vec::new(),
            data: Map::new(),
        });
        index
    }

    fn data(&mut self, id: &str, written: &SpannedName) {
        let data = match data::parse(&written.text) {
            Ok(data) => data,
            Err(detail) => return self.unreadable(&detail, written),
        };
        if self.edge_ids.contains(id) || (data.is_some() && self.subgraph_index.contains_key(id)) {
            // Empty data is no styling: the printer writes it where it needs a gap.
            if data.is_some_and(|data| !data.is_empty()) {
                self.data_elsewhere.push((id.to_owned(), written.span));
            }
            return;
        }
        let Some(data) = data else {
            return self.unreadable("it is empty", written);
        };
        let index = self.node(id);
        let node = self.diagram.nodes.get_mut(index);
        if let Some(fault) = node.and_then(|node| apply(node, data, written.span)) {
            self.faults.push(fault);
        }
    }

    fn unreadable(&mut self, detail: &str, written: &SpannedName) {
        let message = format!("The data in `@{{ … }}` cannot be read: {detail}.");
        let fault = SpanProblem::new(ProblemKind::Data, message, written.span);
        let first = written.text.split_once('\n').map(|(first, _)| first);
        let hint = if first.is_some_and(|first| !first.trim().is_empty()) {
            "over several lines, begin after `@{` on a line of its own and indent all alike"
        } else {
            "it is YAML: `@{ shape: diam, label: \"text\" }`"
        };
        self.faults.push(fault.hint(hint));
    }

    fn link(
        &mut self,
        from: &[NodeMention],
        to: &[NodeMention],
        link: &SyntaxLink,
        link_at: usize,
    ) {
        if self.diagram.edges.len() + from.len() * to.len() > EDGES_MAX {
            let message = format!("The diagram has more edges than EDGES_MAX = {EDGES_MAX}.");
            let fault = SpanProblem::new(ProblemKind::Limit, message, link.span);
            self.faults.push(fault);
            return;
        }
        let label = link.label.as_ref().map(label).unwrap_or_default();
        let last = from.last().map(|mention| &mention.id.text);
        let first = to.first().map(|mention| &mention.id.text);
        for start in from {
            for end in to {
                let named = Some(&start.id.text) == last && Some(&end.id.text) == first;
                let id = link.id.as_ref().filter(|_| named);
                let id = id.map(|id| id.text.clone()).filter(|id| !id.is_empty());
                let edge = DiagramEdge {
                    from: start.id.text.clone(),
                    to: end.id.text.clone(),
                    label: label.clone(),
                    arrow: link.arrow,
                    id: id.filter(|id| !self.edge_ids.contains(id)),
                };
                self.name_edge(&edge);
                self.places.links.push((self.statement, link_at));
                self.diagram.edges.push(edge);
            }
        }
    }

    /// Gives an edge its id; one without its own id is numbered among the edges between the same
    /// nodes.
    fn name_edge(&mut self, edge: &DiagramEdge) {
        let between = (edge.from.clone(), edge.to.clone());
        let count = self.edges_between.entry(between).or_insert(0);
        let number = if *count == 0 { 0 } else { *count + 1 };
        *count += 1;
        let given = edge.id.clone();
        let id = given.unwrap_or_else(|| format!("L_{}_{}_{number}", edge.from, edge.to));
        self.edge_ids.insert(id);
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let Some(start) = open.start else {
            return;
        };
        let id =
            subgraph_id(&start).unwrap_or_else(|| format!("subGraph{}", self.subgraphs_closed));
        self.subgraphs_closed += 1;
        let mut seen = HashSet::new();
        let mut nodes = open.members;
        nodes.retain(|node| !self.owned.contains(node) && seen.insert(node.clone()));
        nodes.retain(|node| *node != id);
        self.owned.extend(nodes.iter().cloned());
        if let Some(around) = self.open.last_mut() {
            around.members.push(id.clone());
        }
        let existing = self.subgraph_index.get(&id).copied();
        if let Some(existing) = existing.and_then(|at| self.diagram.subgraphs.get_mut(at)) {
            existing.nodes.extend(nodes);
            return;
        }
        self.subgraph_index
            .insert(id.clone(), self.diagram.subgraphs.len());
        let title = start.title.as_ref().unwrap_or(&start.name);
        self.diagram.subgraphs.push(Subgraph {
            id,
            title: label(title),
            nodes,
            direction: open.direction,
        });
    }

    fn link_style(&mut self, indices: &[SpannedName]) {
        let edges = self.diagram.edges.len();
        for index in indices {
            let number = index.text.parse::<usize>();
            let within =
                number.is_ok_and(|number| number < edges && number.to_string() == index.text);
            if !within {
                let message = format!(
                    "There is no link {} yet: {edges} are written before this.",
                    index.text
                );
                let fault = SpanProblem::new(ProblemKind::LinkStyle, message, index.span);
                self.faults
                    .push(fault.hint("links are counted from 0 in the order they are written"));
            }
        }
    }
}

/// Returns the id of a subgraph, unless only a title of several words is given.
fn subgraph_id(start: &SubgraphStart) -> Option<String> {
    let written = &start.name.raw;
    if start.title.is_none() && written.contains(crate::chars::is_space) {
        return None;
    }
    Some(written.trim().to_owned())
}

fn label(text: &LabelText) -> TextLabel {
    let mut raw = text.raw.trim_matches(crate::chars::is_space);
    // A label that is quoted once more loses those quotes too.
    if raw.len() > 1 && raw.starts_with('"') && raw.ends_with('"') {
        raw = &raw[1..raw.len() - 1];
    }
    TextLabel {
        text: entity::decode(raw),
        kind: text.kind,
    }
}

/// Puts the data of a node into it, or says what Mermaid would not take.
fn apply(node: &mut DiagramNode, mut data: Map<String, Value>, span: Span) -> Option<SpanProblem> {
    let bad = |message: String| Some(SpanProblem::new(ProblemKind::Data, message, span));
    match data.shift_remove("shape") {
        Some(Value::String(name)) if !name.is_empty() => match NodeShape::named(&name) {
            Some(shape) => node.shape = shape,
            None => return Some(no_shape(&name, span)),
        },
        Some(shape) if truthy(&shape) => {
            return bad(format!("`{shape}` is not the name of a shape."));
        }
        _ => {}
    }
    let kind = match data
        .shift_remove("labelType")
        .as_ref()
        .and_then(Value::as_str)
    {
        Some("text") => TextKind::Text,
        Some("string") => TextKind::String,
        _ => TextKind::Markdown,
    };
    let written = data.shift_remove("label").filter(|label| !label.is_null());
    let pictured = ["icon", "img"]
        .iter()
        .any(|key| data.get(*key).is_some_and(truthy));
    let blank = match &written {
        None => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(other) if pictured => return bad(format!("The label `{other}` is not a text.")),
        Some(_) => false,
    };
    let written = written.filter(truthy);
    if let Some(text) = written {
        node.label = TextLabel {
            text: match text {
                Value::String(text) => entity::decode(&text),
                Value::Number(number) => yaml::shown(&number),
                other => other.to_string(),
            },
            kind,
        };
    }
    if pictured && blank && node.label.text == node.id {
        node.label.text.clear();
    }
    node.data.extend(data);
    None
}

fn truthy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        _ => true,
    }
}

fn no_shape(name: &str, span: Span) -> SpanProblem {
    let fault = SpanProblem::new(
        ProblemKind::Shape,
        format!("There is no shape `{name}`."),
        span,
    );
    match NodeShape::nearest(name) {
        Some(nearest) => fault.hint(format!("did you mean `{nearest}`?")),
        None => fault.hint("Mermaid's documentation lists the shapes, from `rect` to `bolt`"),
    }
}
