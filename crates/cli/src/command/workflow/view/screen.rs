//! The lower part of a terminal, drawn over and over: one write for each change, so that nothing flickers.

use dialoguer::console::Term;

use super::frame::Size;
use crate::output;

/// Ends the text of a line: what was there before goes.
const REST_OF_LINE: &str = "\u{1b}[K";
const REST_OF_SCREEN: &str = "\u{1b}[J";

/// A terminal with a frame at its end.
pub(super) struct Screen {
    term: Term,
    /// The lines that stand there, as they were drawn.
    drawn: Vec<String>,
    hides_cursor: bool,
}

impl Screen {
    /// The terminal behind stderr, if it is one that can be drawn on.
    pub(super) fn open() -> Option<Self> {
        let term = Term::stderr();
        let is_able = term.is_term() && term.features().is_attended();
        is_able.then_some(Self {
            term,
            drawn: Vec::new(),
            hides_cursor: false,
        })
    }

    pub(super) fn size(&self) -> Size {
        let (rows, columns) = self.term.size();
        Size {
            rows: usize::from(rows),
            columns: usize::from(columns),
        }
    }

    /// Puts lines above the frame, for good, and draws the frame anew.
    pub(super) fn draw(&mut self, above: &[String], frame: Vec<String>) {
        let frame: Vec<String> = frame.iter().map(|line| output::dressed(line)).collect();
        if above.is_empty() && frame == self.drawn {
            return;
        }
        if !self.hides_cursor {
            // A cursor that cannot be hidden is only in the way.
            let _ = self.term.hide_cursor();
            self.hides_cursor = true;
        }
        let size = self.size();
        let mut text = self.way_up(size);
        for line in above {
            // It may take several rows, each of which would show what was there.
            text.push_str(REST_OF_SCREEN);
            text.push_str(&output::dressed(line));
            text.push('\n');
        }
        for line in &frame {
            match size.height(line) {
                1 => text.push_str(&format!("{line}{REST_OF_LINE}\n")),
                _ => text.push_str(&format!("{REST_OF_SCREEN}{line}\n")),
            }
        }
        text.push_str(REST_OF_SCREEN);
        // Whoever cannot see it does not stop the work.
        let _ = self.term.write_str(&text);
        self.drawn = frame;
    }

    /// Leaves the frame as it stands; whatever comes next comes below it.
    pub(super) fn leave(&mut self) {
        self.drawn.clear();
        if std::mem::take(&mut self.hides_cursor) {
            let _ = self.term.show_cursor();
        }
    }

    /// From below the frame to its first line. A narrower screen has wrapped its lines.
    fn way_up(&self, size: Size) -> String {
        let rows: usize = self.drawn.iter().map(|line| size.height(line)).sum();
        match rows.min(size.rows.saturating_sub(1)) {
            0 => "\r".to_owned(),
            rows => format!("\r\u{1b}[{rows}A"),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}
