//! Columns that line up, without lines between them.

use std::fmt::Write as _;

use crate::output;

/// Rows of words, padded column by column; the last column is as long as it wants to be. Words are often
/// those of others, and nothing in them is a style or an order to the terminal.
pub(crate) fn render(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let cell = output::quoted(cell);
            // Writing to a String cannot fail.
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Renders a table for a screen of this width: a last column that is wider is cut.
pub(crate) fn render_within(rows: &[Vec<String>], width: usize) -> String {
    let mut text = String::new();
    for line in render(rows).lines() {
        match line.chars().count() > width {
            true => {
                text.extend(line.chars().take(width.saturating_sub(1)));
                text.push('…');
            }
            false => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_clean() {
        let row = |cells: &[&str]| {
            cells
                .iter()
                .map(|cell| (*cell).to_owned())
                .collect::<Vec<_>>()
        };
        let rows = [
            row(&["a", "long", "x"]),
            row(&["bcd", "", ""]),
            row(&["é", "s"]),
        ];
        assert_eq!(render(&rows), "a    long  x\nbcd\né    s\n");
        assert_eq!(render_within(&rows, 12), render(&rows));
        assert_eq!(render_within(&rows, 8), "a    lo…\nbcd\né    s\n");
    }
}
