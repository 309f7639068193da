//! Writes the renderer's picture again, with only the parts that are on a list.
//!
//! A diagram may come from a stranger, and its picture is shown in pages. So no element, attribute,
//! style or link passes by oversight: forms, images, scripts, foreign objects and `target` are not
//! on the lists. Labels become `<text>`, which every viewer shows.

use std::fmt::Write as _;

use roxmltree::{Document, Node};

use super::css;
use super::labels;

/// Depth to which elements may nest.
pub(super) const DEPTH_MAX: usize = 256;

const ELEMENTS: [&str; 24] = [
    "svg",
    "g",
    "path",
    "rect",
    "circle",
    "ellipse",
    "polygon",
    "polyline",
    "line",
    "text",
    "tspan",
    "defs",
    "marker",
    "title",
    "desc",
    "style",
    "linearGradient",
    "radialGradient",
    "stop",
    "clipPath",
    "filter",
    "feDropShadow",
    "a",
    "foreignObject",
];

const ATTRIBUTES: [&str; 60] = [
    "id",
    "class",
    "transform",
    "d",
    "x",
    "y",
    "width",
    "height",
    "rx",
    "ry",
    "cx",
    "cy",
    "r",
    "points",
    "x1",
    "y1",
    "x2",
    "y2",
    "viewBox",
    "refX",
    "refY",
    "markerUnits",
    "markerWidth",
    "markerHeight",
    "orient",
    "marker-start",
    "marker-mid",
    "marker-end",
    "fill",
    "fill-opacity",
    "fill-rule",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "opacity",
    "text-anchor",
    "dominant-baseline",
    "alignment-baseline",
    "font-family",
    "font-size",
    "font-style",
    "font-weight",
    "dx",
    "dy",
    "role",
    "offset",
    "stop-color",
    "stop-opacity",
    "clip-path",
    "stdDeviation",
    "flood-color",
    "flood-opacity",
    "preserveAspectRatio",
    "data-id",
    "data-look",
    "data-edge",
    "filter",
];

/// Returns the picture with only the parts on the lists, or `None` if it is no XML or too deep.
pub(super) fn clean(svg: &str) -> Option<String> {
    let document = Document::parse(svg).ok()?;
    let root = document.root_element();
    let mut writer = SvgWriter {
        scope: format!("#{}", root.attribute("id").unwrap_or_default()),
        out: String::with_capacity(svg.len()),
    };
    writer.element(root, 0)?;
    Some(writer.out)
}

struct SvgWriter {
    /// The selector that every rule of the style sheet must begin with.
    scope: String,
    out: String,
}

impl SvgWriter {
    fn element(&mut self, node: Node<'_, '_>, depth: usize) -> Option<()> {
        let name = node.tag_name().name();
        if depth > DEPTH_MAX {
            return None;
        }
        if !ELEMENTS.contains(&name) {
            return Some(());
        }
        match name {
            "foreignObject" => {
                labels::write(node, &mut self.out);
                return Some(());
            }
            "style" => {
                let rules = css::sheet(&text_of(node), &self.scope);
                // Writing to a String cannot fail.
                let _ = write!(self.out, "<style>{}</style>", escaped(&rules));
                return Some(());
            }
            _ => {}
        }
        let link = (name == "a").then(|| link_of(node)).flatten();
        let written = if name == "a" && link.is_none() {
            "g"
        } else {
            name
        };
        let _ = write!(self.out, "<{written}");
        if depth == 0 {
            self.out.push_str(" xmlns=\"http://www.w3.org/2000/svg\"");
        }
        if let Some(link) = link {
            let _ = write!(
                self.out,
                " href=\"{}\" rel=\"noopener noreferrer\"",
                escaped(link)
            );
        }
        self.attributes(node);
        self.children(node, depth, written)
    }

    fn attributes(&mut self, node: Node<'_, '_>) {
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            let is_plain = attribute.namespace().is_none();
            if is_plain && name == "style" {
                let style = css::declarations(value);
                if !style.is_empty() {
                    let _ = write!(self.out, " style=\"{}\"", escaped(&style));
                }
                continue;
            }
            let is_known = ATTRIBUTES.contains(&name) || name.starts_with("aria-");
            if is_plain && is_known && css::is_harmless(value) {
                let _ = write!(self.out, " {name}=\"{}\"", escaped(value));
            }
        }
    }

    fn children(&mut self, node: Node<'_, '_>, depth: usize, written: &str) -> Option<()> {
        let has_text = matches!(written, "text" | "tspan" | "title" | "desc");
        if node.first_child().is_none() {
            self.out.push_str("/>");
            return Some(());
        }
        self.out.push('>');
        for child in node.children() {
            if child.is_element() {
                self.element(child, depth + 1)?;
            } else if let Some(text) = child.text().filter(|_| has_text && child.is_text()) {
                self.out.push_str(&escaped(text));
            }
        }
        let _ = write!(self.out, "</{written}>");
        Some(())
    }
}

/// Returns the target of a link, if it is a page.
fn link_of<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    let mut hrefs = node
        .attributes()
        .filter(|attribute| attribute.name() == "href");
    let href = hrefs.next()?.value();
    let is_page = ["http://", "https://"].iter().any(|scheme| {
        href.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    (is_page && !href.contains(|c: char| c.is_whitespace() || c.is_control())).then_some(href)
}

fn text_of(node: Node<'_, '_>) -> String {
    node.children().filter_map(|child| child.text()).collect()
}

/// Escapes a text for XML.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}
