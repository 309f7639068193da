//! Diagrams inside of pages: the picture of `mermaid`, without styles of its own.
//!
//! Pages allow no inline styles. So the picture's style sheet and `style` attributes go, and the
//! stylesheet of the pages colours it by class, in light and dark. Steps get `data-step` and, where they
//! have a state, a glyph before their label and its word: no state is shown by colour alone. Edges get
//! `data-at`, their number in the text.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use flow::engine::{EventKind, RunEvent, TaskRow, TaskStatus};
use flow::{TextHash, Workflow};
use maud::{Markup, PreEscaped, html};
use mermaid::{Diagram, DiagramDocument, NodeStatus, SvgError};

use super::parts::waits_for_person;

/// The name that makes ids inside of the picture its own.
const NAME: &str = "picture";
/// How many pictures are kept: drawing one takes longer than everything else of a page.
const KEPT_MAX: usize = 64;

/// A state of a node: its class, a glyph and a word.
#[derive(Clone, Debug)]
pub(super) struct NodeMark {
    pub(super) class: &'static str,
    pub(super) glyph: char,
    pub(super) word: String,
}

/// Everything that a picture shows beside the diagram.
#[derive(Debug, Default)]
pub(super) struct DiagramMarks {
    nodes: HashMap<String, NodeMark>,
    /// Edges that were taken, from and to.
    taken: HashSet<(String, String)>,
    /// Small texts below nodes: counts of a foreach.
    counts: HashMap<String, String>,
    /// `true` if a person draws on it: edges get an area to click, nodes can be focused.
    is_editable: bool,
}

impl DiagramMarks {
    /// No marks, on a diagram that a person draws on.
    pub(super) fn editable() -> DiagramMarks {
        DiagramMarks {
            is_editable: true,
            ..DiagramMarks::default()
        }
    }

    /// Marks one node.
    pub(super) fn mark(&mut self, node: &str, mark: NodeMark) {
        self.nodes.insert(node.to_owned(), mark);
    }

    /// Writes a small text below a node.
    pub(super) fn count(&mut self, node: &str, words: String) {
        self.counts.insert(node.to_owned(), words);
    }

    /// Reads how far a run has come from its tasks and events.
    pub(super) fn of(workflow: &Workflow, tasks: &[TaskRow], events: &[RunEvent]) -> DiagramMarks {
        let mut statuses: HashMap<String, NodeStatus> = HashMap::new();
        let mut marks = DiagramMarks::default();
        for task in tasks {
            let step = task.id.step.as_str().to_owned();
            let status = status_of(task);
            let kept = statuses.entry(step.clone()).or_insert(status);
            if rank(status) >= rank(*kept) {
                *kept = status;
            }
            if let Some(from) = &task.from {
                marks.take(from.step.as_str(), &step);
            }
        }
        for event in events {
            if let EventKind::Decided {
                decision,
                after,
                to,
                ..
            } = &event.what
            {
                let decision = decision.as_str();
                statuses.insert(decision.to_owned(), NodeStatus::Done);
                marks.take(decision, to.as_str());
                if let Some(after) = after {
                    marks.take(after.step.as_str(), decision);
                }
            }
        }
        for step in workflow.steps() {
            let status = statuses.get(step.id.as_str()).copied();
            let status = status.unwrap_or(NodeStatus::Pending);
            let mark = NodeMark {
                class: class_of(status),
                glyph: status.mark(),
                word: status.name().to_owned(),
            };
            marks.mark(step.id.as_str(), mark);
        }
        marks
    }

    /// Marks an edge as taken.
    pub(super) fn take(&mut self, from: &str, to: &str) {
        self.taken.insert((from.to_owned(), to.to_owned()));
    }
}

fn class_of(status: NodeStatus) -> &'static str {
    match status {
        NodeStatus::Pending => "status-pending",
        NodeStatus::Running => "status-running",
        NodeStatus::Waiting => "status-waiting",
        NodeStatus::Done => "status-done",
        NodeStatus::Failed => "status-failed",
        NodeStatus::Skipped => "status-skipped",
    }
}

/// How far a step is whose task is this.
fn status_of(task: &TaskRow) -> NodeStatus {
    match task.status {
        TaskStatus::Failed => NodeStatus::Failed,
        TaskStatus::Completed => NodeStatus::Done,
        TaskStatus::Cancelled => NodeStatus::Skipped,
        TaskStatus::InProgress => NodeStatus::Running,
        _ if waits_for_person(task) => NodeStatus::Waiting,
        TaskStatus::Waiting => NodeStatus::Running,
        TaskStatus::Pending | TaskStatus::OnHold => NodeStatus::Pending,
    }
}

/// Of several tasks of a step, the one that a person has to know about counts.
fn rank(status: NodeStatus) -> u8 {
    match status {
        NodeStatus::Waiting => 5,
        NodeStatus::Running => 4,
        NodeStatus::Failed => 3,
        NodeStatus::Pending => 2,
        NodeStatus::Done => 1,
        NodeStatus::Skipped => 0,
    }
}

/// Draws a diagram; a sentence where it cannot be drawn.
pub(super) fn diagram(document: &DiagramDocument, marks: &DiagramMarks) -> Markup {
    match kept_picture(document) {
        Ok(svg) => {
            let drawn = PictureWriter::of(document.diagram(), marks).plain(&svg);
            html! { div class="diagram" id="diagram" { (PreEscaped(drawn)) } }
        }
        Err(error) => {
            html! { p class="why" { (error.to_string()) " The list of steps says the same." } }
        }
    }
}

/// Draws a diagram that is edited: it may be of a text that cannot run yet.
pub(super) fn editable(source: &str, marks: &DiagramMarks) -> Option<Markup> {
    let document = mermaid::parse(source).ok()?;
    Some(diagram(&document, marks))
}

/// The pictures that were drawn last, by the hash of their text.
type PictureCache = Mutex<Vec<(String, Arc<String>)>>;

static PICTURES: LazyLock<PictureCache> = LazyLock::new(Mutex::default);

fn kept_picture(document: &DiagramDocument) -> Result<Arc<String>, SvgError> {
    let hash = TextHash::of(document.source()).as_str().to_owned();
    let mut kept = PICTURES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = kept.iter().position(|(one, _)| *one == hash) {
        let found = kept.remove(at);
        let svg = Arc::clone(&found.1);
        kept.push(found);
        return Ok(svg);
    }
    drop(kept);
    let svg = Arc::new(document.to_svg(NAME, &HashMap::new())?);
    let mut kept = PICTURES.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() >= KEPT_MAX {
        kept.remove(0);
    }
    kept.push((hash, Arc::clone(&svg)));
    Ok(svg)
}

/// Writes a picture again, with marks.
struct PictureWriter<'m> {
    diagram: &'m Diagram,
    marks: &'m DiagramMarks,
    /// How many edges between two nodes were met.
    met: HashMap<(String, String), usize>,
    /// The glyph and the small text of the node that is being written.
    glyph: Option<char>,
    count: Option<String>,
    /// Where the lower edge of that node is, and where its label begins, from the node's middle.
    edge: f64,
    label: f64,
}

impl<'m> PictureWriter<'m> {
    fn of(diagram: &'m Diagram, marks: &'m DiagramMarks) -> PictureWriter<'m> {
        PictureWriter {
            diagram,
            marks,
            met: HashMap::new(),
            glyph: None,
            count: None,
            edge: 0.0,
            label: 0.0,
        }
    }

    /// Reads from a tag of a node where its small text fits below it.
    fn measure(&mut self, tag: &str) {
        let number = |text: &str| text.parse::<f64>().ok();
        let moved = attribute(tag, " transform=\"translate(")
            .and_then(|text| text.trim_end_matches(')').split(',').nth(1))
            .and_then(number);
        if tag.starts_with("<g class=\"label\"") {
            self.label = moved.unwrap_or(0.0);
        } else if tag.contains("label-container") {
            let high = attribute(tag, " height=\"").and_then(number);
            let radius = attribute(tag, " r=\"").and_then(number);
            let half = high.map(|high| high / 2.0);
            self.edge = half.or(radius).or(moved).unwrap_or(27.0);
        }
    }

    /// The picture without styles.
    fn plain(mut self, svg: &str) -> String {
        let mut written = String::with_capacity(svg.len() * 2);
        let mut rest = svg;
        while let Some(open) = rest.find('<') {
            written.push_str(&rest[..open]);
            rest = &rest[open..];
            let end = tag_end(rest);
            let tag = &rest[..end];
            rest = &rest[end..];
            if tag.starts_with("<style") {
                let close = rest
                    .find("</style>")
                    .map_or(rest.len(), |at| at + "</style>".len());
                rest = &rest[close..];
                continue;
            }
            self.tag(tag, &mut written);
        }
        written.push_str(rest);
        written
    }

    fn tag(&mut self, tag: &str, written: &mut String) {
        let body = without_style(tag);
        let close = match body.ends_with("/>") {
            true => body.len() - 2,
            false => body.len().saturating_sub(1),
        };
        let (body, end) = body.split_at(close);
        if body.starts_with("<svg") {
            written.push_str(&body.replace(" width=\"100%\"", ""));
            if let Some((width, height)) = size(body) {
                written.push_str(&format!(" width=\"{width}\" height=\"{height}\""));
            }
            written.push_str(end);
        } else if let Some(step) = step_of(body) {
            self.node(body, step, written);
        } else if let Some((at, edge)) = self.edge_of(body) {
            self.edge((body, end), at, &edge, written);
        } else {
            if self.count.is_some() {
                self.measure(body);
            }
            written.push_str(body);
            written.push_str(end);
            if body.starts_with("<tspan")
                && let Some(glyph) = self.glyph.take()
            {
                written.push(glyph);
                written.push(' ');
            }
            if body.starts_with("</text")
                && let Some(count) = self.count.take()
            {
                let below = self.edge - self.label + 14.0;
                let place = format!("<text class=\"count\"><tspan x=\"60\" y=\"{below}\">");
                written.push_str(&place);
                written.push_str(&html! { (count) }.into_string());
                written.push_str("</tspan></text>");
            }
        }
    }

    fn node(&mut self, body: &str, step: &str, written: &mut String) {
        let mark = self.marks.nodes.get(step);
        self.glyph = mark.map(|mark| mark.glyph);
        self.count = self.marks.counts.get(step).cloned();
        let class = mark.map_or("", |mark| mark.class);
        written.push_str(&body.replacen("class=\"node", &format!("class=\"node {class}"), 1));
        let label = self.diagram.node(step).map_or("", |node| &node.label.text);
        let words = match mark {
            Some(mark) => format!("{label}: {}", mark.word),
            None => label.to_owned(),
        };
        let extra = match self.marks.is_editable {
            true => html! { g data-step=(step) tabindex="0" role="button" aria-label=(words) {} },
            false => html! { g data-step=(step) {} },
        };
        let extra = extra.into_string();
        let attributes = extra
            .strip_prefix("<g")
            .and_then(|text| text.strip_suffix("></g>"));
        written.push_str(attributes.unwrap_or_default());
        written.push('>');
        written.push_str(&html! { title { (words) } }.into_string());
    }

    /// The number of the edge that a path draws, and its ends.
    fn edge_of(&mut self, tag: &str) -> Option<(usize, (String, String))> {
        let id = attribute(tag, " data-id=\"L_").filter(|_| tag.starts_with("<path"))?;
        let (ends, _) = id.rsplit_once('_')?;
        let edges = self.diagram.edges.iter();
        let pair = edges
            .map(|edge| (&edge.from, &edge.to))
            .find(|(from, to)| {
                ends.strip_prefix(from.as_str())
                    .and_then(|rest| rest.strip_prefix('_'))
                    == Some(to)
            })?;
        let pair = (pair.0.clone(), pair.1.clone());
        let met = self.met.entry(pair.clone()).or_default();
        let mut alike = self.diagram.edges.iter().enumerate();
        let mut alike = alike
            .by_ref()
            .filter(|(_, edge)| (&edge.from, &edge.to) == (&pair.0, &pair.1));
        let at = alike.nth(*met)?.0;
        *met += 1;
        Some((at, pair))
    }

    fn edge(
        &self,
        (body, end): (&str, &str),
        at: usize,
        pair: &(String, String),
        written: &mut String,
    ) {
        match self.marks.taken.contains(pair) {
            true => written.push_str(&body.replace("class=\"", "class=\"taken ")),
            false => written.push_str(body),
        }
        written.push_str(&format!(" data-at=\"{at}\"{end}"));
        if !self.marks.is_editable {
            return;
        }
        let line = attribute(body, " d=\"").unwrap_or_default();
        let words = format!("edge from {} to {}", pair.0, pair.1);
        let area = html! { path class="hit" d=(line) data-at=(at) tabindex="0" role="button" aria-label=(words) {} };
        written.push_str(&area.into_string());
    }
}

/// Where a tag ends, quotes respected.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '>') => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn without_style(tag: &str) -> String {
    let Some(at) = tag.find(" style=\"") else {
        return tag.to_owned();
    };
    let inside = &tag[at + " style=\"".len()..];
    let end = inside.find('"').map_or(inside.len(), |end| end + 1);
    format!("{}{}", &tag[..at], &inside[end..])
}

/// Width and height of the picture, from its view box.
fn size(tag: &str) -> Option<(&str, &str)> {
    let (_, rest) = tag.split_once("viewBox=\"")?;
    let (numbers, _) = rest.split_once('"')?;
    let mut numbers = numbers.split(' ').skip(2);
    Some((numbers.next()?, numbers.next()?))
}

fn attribute<'t>(tag: &'t str, start: &str) -> Option<&'t str> {
    let (_, rest) = tag.split_once(start)?;
    rest.split_once('"').map(|(value, _)| value)
}

/// The step that a node is, as its id says: `picture-flowchart-STEP-NUMBER`.
fn step_of(tag: &str) -> Option<&str> {
    if !tag.starts_with("<g class=\"node") {
        return None;
    }
    let id = attribute(tag, " id=\"picture-flowchart-")?;
    id.rsplit_once('-').map(|(step, _)| step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, marks: &DiagramMarks) -> String {
        editable(text, marks).unwrap().into_string()
    }

    #[test]
    fn pictures_have_no_styles_and_name_their_steps_and_edges() {
        let mut marks = DiagramMarks::default();
        let mark = |class, status: NodeStatus| NodeMark {
            class,
            glyph: status.mark(),
            word: status.name().to_owned(),
        };
        marks.mark("A", mark("status-done", NodeStatus::Done));
        marks.count("B", "3 done".to_owned());
        marks.take("A", "B");
        let text = "graph TD\n    A[\"x style='a' <b>\"] --> B\n    style A fill:#f00\n    B --> A\n    A --> B\n";
        let shown = drawn(text, &marks);
        for absent in ["<style", " style=\"", "<b>", "class=\"hit\""] {
            assert!(!shown.contains(absent), "{absent}: {shown}");
        }
        let present = [
            "data-step=\"A\"",
            "status-done",
            ">✓ x",
            "class=\"taken ",
            ">3 done<",
            "data-at=\"0\"",
            "data-at=\"1\"",
            "data-at=\"2\"",
            "&lt;b&gt;: done</title>",
        ];
        for present in present {
            assert!(shown.contains(present), "{present}: {shown}");
        }
        marks.is_editable = true;
        assert!(drawn(text, &marks).contains("class=\"hit\""));
    }
}
