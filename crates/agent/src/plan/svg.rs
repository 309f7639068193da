//! The order of a plan's tasks as an SVG picture, from left to right.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::graph::TaskGraph;
use crate::task::TaskName;

const BOX_WIDTH: usize = 200;
const BOX_HEIGHT: usize = 48;
const GAP_X: usize = 64;
const GAP_Y: usize = 20;
const MARGIN: usize = 16;
/// More characters of a title than this do not fit into a box.
const TITLE_CHARS_MAX: usize = 26;

impl TaskGraph {
    /// Draws the plan: a box for each task, a column for each layer, a curve for each dependency.
    pub fn to_svg(&self) -> String {
        let mut cells = GridCells::default();
        for node in self.nodes() {
            cells.place(&node.id, node.layer);
        }
        let mut curves = String::new();
        for node in self.nodes() {
            for first in &node.after {
                let cells = cells.between(first, &node.id);
                curves.extend(cells.windows(2).map(|pair| curve(pair[0], pair[1])));
            }
        }
        let (width, height) = cells.size();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\">\n{curves}"
        );
        for node in self.nodes() {
            let (x, y) = cells.tasks.get(&node.id).map_or((0, 0), GridCell::corner);
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
}

/// A place in the grid.
#[derive(Clone, Copy)]
struct GridCell {
    layer: usize,
    row: usize,
    /// Says if a task is there, or only a curve that passes.
    holds: CellContent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CellContent {
    Task,
    Passage,
}

impl GridCell {
    fn corner(&self) -> (usize, usize) {
        let x = MARGIN + self.layer * (BOX_WIDTH + GAP_X);
        (x, MARGIN + self.row * (BOX_HEIGHT + GAP_Y))
    }
}

/// The occupied cells and their contents.
#[derive(Default)]
struct GridCells<'g> {
    rows: BTreeMap<usize, usize>,
    tasks: BTreeMap<&'g TaskName, GridCell>,
    passages: BTreeMap<(&'g TaskName, usize), GridCell>,
}

impl<'g> GridCells<'g> {
    fn place(&mut self, id: &'g TaskName, layer: usize) {
        let cell = self.free(layer, CellContent::Task);
        self.tasks.insert(id, cell);
    }

    /// Returns the cells from one task to a later one. Layers between them are passed in a row of
    /// their own, so that no curve runs behind a box; curves of one task share it.
    fn between(&mut self, from: &'g TaskName, to: &TaskName) -> Vec<GridCell> {
        let (Some(&start), Some(&end)) = (self.tasks.get(from), self.tasks.get(to)) else {
            return Vec::new();
        };
        let mut cells = vec![start];
        for layer in start.layer + 1..end.layer {
            let cell = match self.passages.get(&(from, layer)) {
                Some(cell) => *cell,
                None => self.free(layer, CellContent::Passage),
            };
            self.passages.insert((from, layer), cell);
            cells.push(cell);
        }
        cells.push(end);
        cells
    }

    fn free(&mut self, layer: usize, holds: CellContent) -> GridCell {
        let next = self.rows.entry(layer).or_default();
        let row = *next;
        *next += 1;
        GridCell { layer, row, holds }
    }

    fn size(&self) -> (usize, usize) {
        let layers = self.rows.len();
        let rows = self.rows.values().copied().max().unwrap_or(0);
        let side = |cells: usize, cell: usize, gap: usize| {
            2 * MARGIN + cells * (cell + gap) - gap.min(cells * gap)
        };
        (
            side(layers, BOX_WIDTH, GAP_X),
            side(rows, BOX_HEIGHT, GAP_Y),
        )
    }
}

/// Draws a curve from one cell to the next, and straight on through a cell that is only passed.
fn curve(from: GridCell, to: GridCell) -> String {
    let ((from_x, from_y), (to_x, to_y)) = (from.corner(), to.corner());
    let (x1, y1) = (from_x + BOX_WIDTH, from_y + BOX_HEIGHT / 2);
    let (x2, y2) = (to_x, to_y + BOX_HEIGHT / 2);
    let bend = GAP_X / 2;
    let through = match to.holds {
        CellContent::Task => String::new(),
        CellContent::Passage => format!(" H{}", x2 + BOX_WIDTH),
    };
    format!(
        "<path d=\"M{x1} {y1} C{} {y1} {} {y2} {x2} {y2}{through}\" fill=\"none\" stroke=\"#999\"/>\n",
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
