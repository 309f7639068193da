//! Labels: the renderer measures them as HTML and puts them into foreign objects, which only
//! browsers show. Here they become lines of `<text>` in the same room.

use std::fmt::Write as _;

use roxmltree::Node;

use super::clean::escaped;
use super::css;

/// The height of a line as the renderer measures it, and the size at which labels are shown: a
/// little smaller than measured, so that a wider font fits too.
const LINE_HEIGHT: f64 = 24.0;
const FONT_SIZE: f64 = 14.0;
/// Distance from the middle of a line down to its baseline.
const BASELINE: f64 = 0.35 * FONT_SIZE;
/// Elements that begin a line of their own.
const BLOCKS: [&str; 8] = ["br", "p", "div", "li", "ul", "ol", "tr", "hr"];
/// Elements whose text is not for reading.
const SILENT: [&str; 5] = ["script", "style", "template", "noscript", "textarea"];

/// Writes the text of a foreign object, centred in its room.
pub(super) fn write(object: Node<'_, '_>, out: &mut String) {
    let size = |name: &str| {
        object
            .attribute(name)
            .and_then(|value| value.parse::<f64>().ok())
    };
    let (width, height) = (size("width").unwrap_or(0.0), size("height").unwrap_or(0.0));
    let rows = (height / LINE_HEIGHT).round().clamp(1.0, 1000.0);
    let lines = wrapped(&read(object), rows as usize);
    if lines.is_empty() {
        return;
    }
    let is_edge = object
        .descendants()
        .any(|node| node.attribute("class") == Some("labelBkg"));
    // Writing to a String cannot fail.
    if is_edge && width > 0.0 {
        let _ = write!(
            out,
            "<rect class=\"background\" width=\"{width}\" height=\"{height}\"/>"
        );
    }
    let class = if is_edge { "edgeLabel" } else { "nodeLabel" };
    let _ = write!(
        out,
        "<text class=\"{class}\" text-anchor=\"middle\" font-size=\"{FONT_SIZE}px\""
    );
    if let Some(colour) = colour(object) {
        let _ = write!(out, " style=\"fill:{}\"", escaped(&colour));
    }
    out.push('>');
    let step = if lines.len() as f64 > rows {
        height / lines.len() as f64
    } else {
        LINE_HEIGHT
    };
    let top = (height - step * lines.len() as f64) / 2.0;
    for (at, line) in lines.iter().enumerate() {
        let y = top + step * (at as f64 + 0.5) + BASELINE;
        let _ = write!(
            out,
            "<tspan x=\"{:.2}\" y=\"{y:.2}\">{}</tspan>",
            width / 2.0,
            escaped(line)
        );
    }
    out.push_str("</text>");
}

/// Reads the paragraphs of a label.
fn read(object: Node<'_, '_>) -> Vec<String> {
    let mut text = String::new();
    let mut silent_until = 0;
    for node in object.descendants() {
        if SILENT.contains(&node.tag_name().name()) {
            silent_until = silent_until.max(node.range().end);
        }
        if node.is_element() && BLOCKS.contains(&node.tag_name().name()) {
            text.push('\n');
        }
        let is_read = node.is_text() && node.range().start >= silent_until;
        if let Some(words) = node.text().filter(|_| is_read) {
            text.push_str(words);
        }
    }
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect()
}

/// Wraps the paragraphs into at most so many lines, if that is possible, each as short as it can
/// be.
fn wrapped(paragraphs: &[String], rows: usize) -> Vec<String> {
    if rows <= paragraphs.len() {
        return paragraphs.to_vec();
    }
    let longest = paragraphs
        .iter()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0);
    let mut limits = (1, longest.max(1));
    while limits.0 < limits.1 {
        let middle = limits.0.midpoint(limits.1);
        match broken(paragraphs, middle).len() <= rows {
            true => limits.1 = middle,
            false => limits.0 = middle + 1,
        }
    }
    broken(paragraphs, limits.1)
}

/// Breaks the paragraphs at spaces into lines of at most so many characters, where words allow.
fn broken(paragraphs: &[String], limit: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in paragraphs {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let length = line.chars().count() + 1 + word.chars().count();
            if !line.is_empty() && length > limit {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// Returns the colour that a diagram gives a label, which HTML and SVG call by different names.
fn colour(object: Node<'_, '_>) -> Option<String> {
    let styles = object
        .descendants()
        .filter_map(|node| node.attribute("style"));
    let kept = styles.map(css::declarations);
    let colours = kept.flat_map(|style| {
        let colour = style
            .split(';')
            .find_map(|one| one.strip_prefix("color:").map(str::to_owned));
        colour.into_iter().collect::<Vec<_>>()
    });
    colours.last()
}
