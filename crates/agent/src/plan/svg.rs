//! The order of a plan's tasks as an SVG picture, from left to right.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::graph::Graph;
use crate::task::TaskId;

const BOX_WIDTH: usize = 200;
const BOX_HEIGHT: usize = 48;
const GAP_X: usize = 64;
const GAP_Y: usize = 20;
const MARGIN: usize = 16;
/// More characters of a title than this do not fit into a box.
const TITLE_CHARS_MAX: usize = 26;

impl Graph {
    /// The picture: a box for each task, a column for each layer, a curve for each dependency.
    pub fn to_svg(&self) -> String {
        let corners = self.corners();
        let width = self.side(corners.values().map(|(x, _)| x + BOX_WIDTH));
        let height = self.side(corners.values().map(|(_, y)| y + BOX_HEIGHT));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\">\n"
        );
        for node in self.nodes() {
            for first in &node.after {
                let (Some(from), Some(to)) = (corners.get(first), corners.get(&node.id)) else {
                    continue;
                };
                svg.push_str(&curve(*from, *to));
            }
        }
        for node in self.nodes() {
            let Some((x, y)) = corners.get(&node.id) else {
                continue;
            };
            let (text_x, title_y, kind_y) = (x + 12, y + 21, y + 38);
            let title = escaped(&shortened(&node.title));
            writeln!(
                svg,
                "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" \
                 height=\"{BOX_HEIGHT}\" rx=\"6\" fill=\"#fff\" stroke=\"#555\"/>\
                 <text x=\"{text_x}\" y=\"{title_y}\" font-size=\"13\">{title}</text>\
                 <text x=\"{text_x}\" y=\"{kind_y}\" font-size=\"11\" fill=\"#666\">{}</text></g>",
                escaped(&format!("{}: {}", node.id, node.title)),
                node.kind.word(),
            )
            .ok();
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The upper left corner of each box.
    fn corners(&self) -> BTreeMap<&TaskId, (usize, usize)> {
        let mut filled: BTreeMap<usize, usize> = BTreeMap::new();
        let mut corners = BTreeMap::new();
        for node in self.nodes() {
            let row = filled.entry(node.layer).or_default();
            let x = MARGIN + node.layer * (BOX_WIDTH + GAP_X);
            let y = MARGIN + *row * (BOX_HEIGHT + GAP_Y);
            *row += 1;
            corners.insert(&node.id, (x, y));
        }
        corners
    }

    fn side(&self, ends: impl Iterator<Item = usize>) -> usize {
        ends.max().unwrap_or(0) + MARGIN
    }
}

fn curve((from_x, from_y): (usize, usize), (to_x, to_y): (usize, usize)) -> String {
    let (x1, y1) = (from_x + BOX_WIDTH, from_y + BOX_HEIGHT / 2);
    let (x2, y2) = (to_x, to_y + BOX_HEIGHT / 2);
    let bend = GAP_X / 2;
    format!(
        "<path d=\"M{x1} {y1} C{} {y1} {} {y2} {x2} {y2}\" fill=\"none\" stroke=\"#999\"/>\n",
        x1 + bend,
        x2 - bend,
    )
}

fn shortened(title: &str) -> String {
    if title.chars().count() <= TITLE_CHARS_MAX {
        return title.to_owned();
    }
    let kept: String = title.chars().take(TITLE_CHARS_MAX - 1).collect();
    format!("{}…", kept.trim_end())
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no way to write these.
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
