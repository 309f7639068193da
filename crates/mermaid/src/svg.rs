//! Pictures: the diagram as SVG, its nodes coloured by how far they have come.
//!
//! The renderer reads the text itself; what a diagram means never comes from it. This is the only
//! module that knows it. What it draws is written again by `clean`: labels as text that every viewer
//! shows, and nothing that a page should not have from strangers.

mod clean;
mod css;
mod labels;

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;

use merman::svg::{ScopedCssPostprocessor, SvgPipeline, SvgRenderOptions};
use merman::{
    Engine, MermaidConfig, OperationControl, ParseOptions, RenderOutput, RenderRequest, Renderer,
    SvgRequest,
};

use crate::diagram::Diagram;
use crate::document::DiagramDocument;
use crate::shape::NodeShape;
use crate::status::NodeStatus;
use crate::syntax::TextKind;

/// Number of nodes and edges together that are drawn: the layout's time grows faster than they do.
pub const DRAWN_MAX: usize = 2_000;

/// Styles added to the renderer's own.
const CSS: &str = "
.status-running rect, .status-running polygon, .status-running path, .status-running circle { stroke-width: 2.5px; }
.label .background { fill: #eeeeee; opacity: 0.85; stroke: none; }
text { fill: #333; }
";

/// White space around the picture, for labels at its edge.
const PADDING: f64 = 16.0;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SvgError {
    /// More than [`DRAWN_MAX`] nodes and edges.
    TooLarge { drawn: usize },
    /// The renderer gave up, and says why.
    Renderer(String),
}

impl fmt::Display for SvgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SvgError::TooLarge { drawn } => write!(
                f,
                "The diagram has {drawn} nodes and edges, more than DRAWN_MAX = {DRAWN_MAX}; draw a part of it."
            ),
            SvgError::Renderer(detail) => write!(f, "The diagram cannot be drawn: {detail}"),
        }
    }
}

impl std::error::Error for SvgError {}

impl DiagramDocument {
    /// Draws the diagram. `name` makes the ids inside the picture its own; nodes without a status
    /// keep the colours of the diagram.
    ///
    /// # Errors
    ///
    /// When the diagram is too large, or the renderer refuses it.
    pub fn to_svg(
        &self,
        name: &str,
        statuses: &HashMap<String, NodeStatus>,
    ) -> Result<String, SvgError> {
        let drawn = self.diagram().nodes.len() + self.diagram().edges.len();
        if drawn > DRAWN_MAX {
            return Err(SvgError::TooLarge { drawn });
        }
        let written = with_statuses(self.source(), self.diagram(), statuses);
        if let Ok(svg) = draw(name, &written) {
            return Ok(svg);
        }
        // The renderer reads less than we do. A text that it would not read is written again, more
        // simply.
        let plain = plain(self.diagram());
        draw(name, &with_statuses(&plain.to_string(), &plain, statuses)).or_else(|error| {
            let (bare, statuses) = bare(&plain, statuses);
            let bare = with_statuses(&bare.to_string(), &bare, &statuses);
            draw(name, &bare).map_err(|_| error)
        })
    }
}

fn draw(name: &str, text: &str) -> Result<String, SvgError> {
    let config = MermaidConfig::from_value(serde_json::json!({
        "theme": "default",
        "look": "classic",
        "securityLevel": "strict",
        "flowchart": { "diagramPadding": PADDING },
    }));
    let renderer = Renderer::new()
        .with_engine(Engine::new().with_site_config(config))
        .with_parse_options(ParseOptions::strict());
    let request = SvgRequest {
        options: SvgRenderOptions {
            diagram_id: Some(merman::svg::sanitize_svg_id(name)),
            ..SvgRenderOptions::default()
        },
        pipeline: Some(SvgPipeline::parity().with_postprocessor(ScopedCssPostprocessor::new(CSS))),
        ..SvgRequest::default()
    };
    let request = RenderRequest::svg(text, OperationControl::new(), request);
    match renderer.render(request) {
        Ok(RenderOutput::Svg(Some(svg))) => clean::clean(svg.svg()).ok_or_else(|| {
            let detail = format!(
                "the picture is no XML, or is deeper than {}",
                clean::DEPTH_MAX
            );
            SvgError::Renderer(detail)
        }),
        Ok(_) => Err(SvgError::Renderer(
            "no flowchart was found in it".to_owned(),
        )),
        Err(error) => Err(SvgError::Renderer(error.to_string())),
    }
}

/// Adds a class for every status to the text, and puts each node in its own.
fn with_statuses(text: &str, diagram: &Diagram, statuses: &HashMap<String, NodeStatus>) -> String {
    let mut text = text.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut used = Vec::new();
    for node in &diagram.nodes {
        let Some(status) = statuses.get(&node.id).copied() else {
            continue;
        };
        if !used.contains(&status) {
            used.push(status);
            let _ = writeln!(
                text,
                "classDef status-{} {}",
                status.name(),
                colours(status)
            );
        }
        let _ = writeln!(text, "{}:::status-{}", node.id, status.name());
    }
    text
}

/// Returns the diagram with quotes around its labels, formulas as they are written, and no
/// ellipses.
fn plain(diagram: &Diagram) -> Diagram {
    let mut plain = diagram.clone();
    let nodes = plain.nodes.iter_mut().map(|node| {
        if node.shape.name() == "ellipse" {
            node.shape = NodeShape::bracketed("stadium");
        }
        &mut node.label
    });
    let edges = plain.edges.iter_mut().map(|edge| &mut edge.label);
    let edges = edges.filter(|label| !label.text.is_empty());
    let titles = plain.subgraphs.iter_mut().map(|group| &mut group.title);
    for label in nodes.chain(edges).chain(titles) {
        label.text = label.text.replace("$$", "$\u{2060}$");
        if label.kind == TextKind::Text {
            label.kind = TextKind::String;
        }
    }
    plain
}

/// Returns the diagram with ids that any reader takes, and nothing but nodes, edges and subgraphs.
fn bare(
    diagram: &Diagram,
    statuses: &HashMap<String, NodeStatus>,
) -> (Diagram, HashMap<String, NodeStatus>) {
    let mut ids: HashMap<String, String> = HashMap::new();
    let mut rename = |id: &mut String| {
        let next = format!("n{}", ids.len());
        id.clone_from(ids.entry(id.clone()).or_insert(next));
    };
    let mut bare = diagram.clone();
    bare.styling.clear();
    for node in &mut bare.nodes {
        rename(&mut node.id);
        node.classes.clear();
        node.data.clear();
    }
    for edge in &mut bare.edges {
        rename(&mut edge.from);
        rename(&mut edge.to);
        edge.id = None;
    }
    for group in &mut bare.subgraphs {
        rename(&mut group.id);
        group.nodes.iter_mut().for_each(&mut rename);
    }
    let statuses = statuses.iter();
    let statuses = statuses.filter_map(|(id, status)| Some((ids.get(id)?.clone(), *status)));
    (bare, statuses.collect())
}

/// Fill, border and text, told apart by more than their hue.
fn colours(status: NodeStatus) -> &'static str {
    match status {
        NodeStatus::Pending => "fill:#f4f4f5,stroke:#a1a1aa,color:#3f3f46",
        NodeStatus::Running => "fill:#dbeafe,stroke:#2563eb,color:#1e3a8a",
        NodeStatus::Waiting => "fill:#fef3c7,stroke:#d97706,color:#78350f",
        NodeStatus::Done => "fill:#dcfce7,stroke:#16a34a,color:#14532d",
        NodeStatus::Failed => "fill:#fee2e2,stroke:#dc2626,color:#7f1d1d",
        NodeStatus::Skipped => "fill:#fafafa,stroke:#d4d4d8,color:#71717a,stroke-dasharray:4 3",
    }
}
