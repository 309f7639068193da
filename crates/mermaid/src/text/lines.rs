//! Layers → boxes and the lines between them.

use std::collections::{BTreeSet, HashMap};

use unicode_width::UnicodeWidthStr as _;

use super::canvas::TextCanvas;
use super::layers::{GraphLayers, LayerItem, LayerSegment};
use super::{plain, shorten, title, wrap};
use crate::diagram::Diagram;
use crate::status::NodeStatus;

/// Columns between two boxes.
const GAP: usize = 3;
/// The shortest label worth printing next to its line.
const LABEL_COLUMNS_MIN: usize = 4;

/// Draws the layers; with the edges that the picture does not show in full. `None` if it is too
/// wide.
pub(super) fn draw(
    diagram: &Diagram,
    layers: &GraphLayers,
    statuses: &HashMap<String, NodeStatus>,
    width: usize,
) -> Option<(String, Vec<usize>)> {
    let boxes: Vec<NodeBox> = layers
        .items
        .iter()
        .map(|item| boxed(diagram, *item, statuses))
        .collect();
    let centers = centers(layers, &boxes);
    let right = |item: usize| centers[item] + boxes[item].width.div_ceil(2);
    let needed = (0..boxes.len()).map(right).max().unwrap_or(0) + 1;
    if needed > width {
        return None;
    }
    let mut drawing = TextDrawing {
        diagram,
        boxes: &boxes,
        centers: &centers,
        canvas: TextCanvas::new(width),
        rest: layers.back.clone(),
    };
    let mut y = 0;
    for (row, segments) in layers.rows.iter().zip(&layers.segments) {
        y = drawing.row(row, y);
        y = drawing.channel(segments, y);
    }
    let TextDrawing {
        canvas, mut rest, ..
    } = drawing;
    rest.sort_unstable();
    Some((canvas.finish(), rest))
}

/// The text of an item's box and its width with borders.
struct NodeBox {
    lines: Vec<String>,
    width: usize,
    /// Corners from the upper left clockwise, then the two sides.
    border: [char; 6],
}

fn boxed(diagram: &Diagram, item: LayerItem, statuses: &HashMap<String, NodeStatus>) -> NodeBox {
    let Some(node) = (match item {
        LayerItem::Node(at) => diagram.nodes.get(at),
        LayerItem::Bend => None,
    }) else {
        return NodeBox {
            lines: Vec::new(),
            width: 1,
            border: [' '; 6],
        };
    };
    let lines = wrap(&title(node, statuses));
    let text = lines.iter().map(|line| line.width()).max().unwrap_or(0);
    let border = match node.shape.family() {
        Some("round" | "stadium" | "circle" | "doublecircle" | "ellipse") => {
            ['╭', '╮', '╯', '╰', '│', '│']
        }
        Some("diamond" | "hexagon") => ['╱', '╲', '╱', '╲', '‹', '›'],
        Some("subroutine") => ['┌', '┐', '┘', '└', '║', '║'],
        _ => ['┌', '┐', '┘', '└', '│', '│'],
    };
    // An odd width has a middle column for the line to meet.
    NodeBox {
        lines,
        width: (text + 4) | 1,
        border,
    }
}

/// Returns the middle of each item: below its neighbours, as far as there is room.
fn centers(layers: &GraphLayers, boxes: &[NodeBox]) -> Vec<usize> {
    let mut centers = vec![0_usize; boxes.len()];
    for (at, row) in layers.rows.iter().enumerate() {
        let above = at
            .checked_sub(1)
            .and_then(|above| layers.segments.get(above));
        let mut wanted: HashMap<usize, Vec<usize>> = HashMap::new();
        for segment in above.into_iter().flatten() {
            wanted
                .entry(segment.to)
                .or_default()
                .push(centers[segment.from]);
        }
        place(row, boxes, &wanted, &mut centers);
    }
    spread_upwards(layers, boxes, &mut centers);
    centers
}

/// Puts a row's items as near to where they are wanted as their widths allow.
fn place(
    row: &[usize],
    boxes: &[NodeBox],
    wanted: &HashMap<usize, Vec<usize>>,
    centers: &mut [usize],
) {
    let mean = |item: &usize| {
        let places = wanted.get(item)?;
        Some(places.iter().sum::<usize>() / places.len().max(1))
    };
    let mut left = 0;
    let mut over = 0;
    let mut counted = 0;
    for item in row {
        let half = boxes[*item].width / 2;
        let center = mean(item).map_or(left + half, |want| want.max(left + half));
        if let Some(want) = mean(item) {
            over += center - want;
            counted += 1;
        }
        centers[*item] = center;
        left = center + half + 1 + GAP;
    }
    // A row that had to move right as a whole goes back by half of what it moved.
    let first = row
        .first()
        .map_or(0, |item| centers[*item] - boxes[*item].width / 2);
    let back = (over / usize::max(counted, 1)).min(first);
    for item in row {
        centers[*item] -= back;
    }
}

/// Moves items right, over the middle of the items they lead to, where nothing is in the way.
fn spread_upwards(layers: &GraphLayers, boxes: &[NodeBox], centers: &mut [usize]) {
    for (row, segments) in layers.rows.iter().zip(&layers.segments).rev() {
        let mut limit = usize::MAX;
        for item in row.iter().rev() {
            let below: Vec<usize> = segments
                .iter()
                .filter(|s| s.from == *item)
                .map(|s| centers[s.to])
                .collect();
            let half = boxes[*item].width / 2;
            if !below.is_empty() {
                let want = below.iter().sum::<usize>() / below.len();
                let most = limit.saturating_sub(half + 1 + GAP);
                centers[*item] = centers[*item].max(want.min(most));
            }
            limit = centers[*item] - half;
        }
    }
}

struct TextDrawing<'d> {
    diagram: &'d Diagram,
    boxes: &'d [NodeBox],
    centers: &'d [usize],
    canvas: TextCanvas,
    /// Edges to be listed below the picture.
    rest: Vec<usize>,
}

impl TextDrawing<'_> {
    /// Draws the boxes of a row and gives the line below them.
    fn row(&mut self, row: &[usize], y: usize) -> usize {
        let lines = row
            .iter()
            .map(|item| self.boxes[*item].lines.len())
            .max()
            .unwrap_or(0);
        for item in row {
            let this = &self.boxes[*item];
            let center = self.centers[*item];
            if this.lines.is_empty() {
                for down in 0..lines + 2 {
                    self.canvas.put(center, y + down, '│');
                }
                continue;
            }
            self.boxed(this, center, y, lines);
        }
        y + lines + 2
    }

    fn boxed(&mut self, this: &NodeBox, center: usize, y: usize, lines: usize) {
        let left = center - this.width / 2;
        let right = left + this.width - 1;
        let [
            upper_left,
            upper_right,
            lower_right,
            lower_left,
            side_left,
            side_right,
        ] = this.border;
        for x in left..=right {
            self.canvas.put(x, y, '─');
            self.canvas.put(x, y + lines + 1, '─');
        }
        self.canvas.put(left, y, upper_left);
        self.canvas.put(right, y, upper_right);
        self.canvas.put(right, y + lines + 1, lower_right);
        self.canvas.put(left, y + lines + 1, lower_left);
        for line in 0..lines {
            self.canvas.put(left, y + 1 + line, side_left);
            self.canvas.put(right, y + 1 + line, side_right);
        }
        for (at, text) in this.lines.iter().enumerate() {
            let indent = (this.width - text.width()) / 2;
            self.canvas.write(left + indent, y + 1 + at, text);
        }
    }

    /// Draws the lines between two rows and gives the line below them.
    fn channel(&mut self, segments: &[LayerSegment], y: usize) -> usize {
        if segments.is_empty() {
            return y;
        }
        let sources: BTreeSet<usize> = segments.iter().map(|segment| segment.from).collect();
        let bent = |source: &usize| {
            let mut own = segments.iter().filter(|segment| segment.from == *source);
            own.any(|segment| self.centers[segment.to] != self.centers[*source])
        };
        let mut bending: Vec<usize> = sources.into_iter().filter(bent).collect();
        bending.sort_by_key(|source| self.centers[*source]);
        let track: HashMap<usize, usize> = bending
            .iter()
            .enumerate()
            .map(|(at, source)| (*source, y + 1 + at))
            .collect();
        let bottom = y + bending.len() + 2;
        for segment in segments {
            let (from, to) = (self.centers[segment.from], self.centers[segment.to]);
            let turn = track.get(&segment.from).copied().unwrap_or(y);
            for line in y..=turn {
                self.canvas.put(from, line, '│');
            }
            for line in turn..=bottom {
                self.canvas.put(to, line, '│');
            }
        }
        for source in bending {
            self.track(segments, source, track[&source]);
        }
        for segment in segments.iter().filter(|segment| segment.arrives.is_some()) {
            self.canvas.put(self.centers[segment.to], bottom, '▼');
        }
        self.labels(segments, bottom - 1);
        bottom + 1
    }

    /// Draws the horizontal line of one source. Lines of others go over it without a joint.
    fn track(&mut self, segments: &[LayerSegment], source: usize, y: usize) {
        let start = self.centers[source];
        let own = segments.iter().filter(|segment| segment.from == source);
        let ends: BTreeSet<usize> = own.map(|segment| self.centers[segment.to]).collect();
        let left = ends.first().copied().unwrap_or(start).min(start);
        let right = ends.last().copied().unwrap_or(start).max(start);
        for x in left..=right {
            let joint = x == start || ends.contains(&x);
            if !joint {
                if self.canvas.get(x, y) == ' ' {
                    self.canvas.put(x, y, '─');
                }
                continue;
            }
            let up = x == start || leads_down(self.canvas.get(x, y - 1));
            let down = ends.contains(&x);
            self.canvas
                .put(x, y, joint_of([up, down, x > left, x < right]));
        }
    }

    /// Prints the labels next to the lines; those that do not fit are listed.
    fn labels(&mut self, segments: &[LayerSegment], y: usize) {
        for segment in segments {
            let Some(edge) = segment.arrives else {
                continue;
            };
            let label = self
                .diagram
                .edges
                .get(edge)
                .map(|edge| plain(&edge.label.text));
            let label = label.unwrap_or_default();
            if label.is_empty() {
                continue;
            }
            let x = self.centers[segment.to] + 2;
            let shared = segments
                .iter()
                .filter(|other| other.to == segment.to)
                .count()
                > 1;
            let room = segments
                .iter()
                .map(|other| self.centers[other.to])
                .filter(|other| *other >= x);
            let room = room
                .min()
                .map_or(usize::MAX, |next| (next - x).saturating_sub(1));
            let room = room.min(self.canvas.width().saturating_sub(x));
            if label.width() > room || shared {
                self.rest.push(edge);
            }
            if room >= LABEL_COLUMNS_MIN && !shared {
                self.canvas.write(x, y, &shorten(&label, room));
            }
        }
    }
}

fn leads_down(c: char) -> bool {
    matches!(c, '│' | '╮' | '╭' | '┬' | '┼' | '┤' | '├')
}

/// Returns the character with legs up, down, left and right.
fn joint_of(legs: [bool; 4]) -> char {
    match legs {
        [true, true, true, true] => '┼',
        [true, true, true, false] => '┤',
        [true, true, false, true] => '├',
        [true, false, true, true] => '┴',
        [false, true, true, true] => '┬',
        [true, false, true, false] => '╯',
        [true, false, false, true] => '╰',
        [false, true, true, false] => '╮',
        [false, true, false, true] => '╭',
        [false, false, _, _] => '─',
        _ => '│',
    }
}
