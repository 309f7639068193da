//! A grid of characters to draw on.

use unicode_width::UnicodeWidthChar as _;

/// Fills the second column of a wide character.
const TAIL: char = '\0';

pub(super) struct TextCanvas {
    rows: Vec<Vec<char>>,
    width: usize,
}

impl TextCanvas {
    pub(super) fn new(width: usize) -> Self {
        TextCanvas {
            rows: Vec::new(),
            width,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn get(&self, x: usize, y: usize) -> char {
        self.rows
            .get(y)
            .and_then(|row| row.get(x))
            .copied()
            .unwrap_or(' ')
    }

    pub(super) fn put(&mut self, x: usize, y: usize, c: char) {
        while self.rows.len() <= y {
            self.rows.push(vec![' '; self.width]);
        }
        if let Some(cell) = self.rows.get_mut(y).and_then(|row| row.get_mut(x)) {
            *cell = c;
        }
    }

    pub(super) fn write(&mut self, x: usize, y: usize, text: &str) {
        let mut at = x;
        for c in text.chars() {
            self.put(at, y, c);
            let columns = c.width().unwrap_or(0);
            for tail in 1..columns {
                self.put(at + tail, y, TAIL);
            }
            at += columns;
        }
    }

    pub(super) fn finish(self) -> String {
        let mut out = String::new();
        for row in self.rows {
            let line: String = row.into_iter().filter(|c| *c != TAIL).collect();
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}
