//! The lower part of a terminal, drawn over and over: one write for each change, so that nothing flickers.

use dialoguer::console::Term;

use super::frame::ScreenSize;
use crate::output;

/// Ends the text of a line: what was there before goes.
const REST_OF_LINE: &str = "\u{1b}[K";
const REST_OF_SCREEN: &str = "\u{1b}[J";

/// A terminal with a frame at its end.
pub(super) struct TerminalScreen {
    term: Term,
    /// The lines on the screen, as they were drawn.
    drawn: Vec<String>,
    hides_cursor: bool,
}

impl TerminalScreen {
    /// Opens the terminal behind stderr, if it can be drawn on.
    pub(super) fn open() -> Option<Self> {
        let term = Term::stderr();
        let is_able = term.is_term() && term.features().is_attended();
        is_able.then_some(Self {
            term,
            drawn: Vec::new(),
            hides_cursor: false,
        })
    }

    pub(super) fn size(&self) -> ScreenSize {
        let (rows, columns) = self.term.size();
        ScreenSize {
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
        // A closed terminal does not stop the work.
        let _ = self.term.write_str(&text);
        self.drawn = frame;
    }

    /// Leaves the frame on the screen; further output comes below it.
    pub(super) fn leave(&mut self) {
        self.drawn.clear();
        if std::mem::take(&mut self.hides_cursor) {
            let _ = self.term.show_cursor();
        }
    }

    /// Returns the way from below the frame to its first line. A narrower screen has wrapped lines.
    fn way_up(&self, size: ScreenSize) -> String {
        let rows: usize = self.drawn.iter().map(|line| size.height(line)).sum();
        match rows.min(size.rows.saturating_sub(1)) {
            0 => "\r".to_owned(),
            rows => format!("\r\u{1b}[{rows}A"),
        }
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        self.leave();
    }
}
