//! A terminal: what a program shows on one of this size, row by row, as a person would see it.

use std::process::Command;

use serde_json::{Value, json};

use crate::project::CliProject;

/// What stood on the screen in the end, with what had scrolled away above it.
pub(crate) struct ShownScreen {
    pub(crate) exit: i32,
    pub(crate) rows: Vec<String>,
    /// Everything as it was sent.
    pub(crate) sent: String,
    pub(crate) shows_cursor: bool,
    pub(crate) has_styles: bool,
}

impl ShownScreen {
    pub(crate) fn text(&self) -> String {
        self.rows.join("\n")
    }

    /// How many rows have this in them.
    pub(crate) fn count(&self, piece: &str) -> usize {
        self.rows.iter().filter(|row| row.contains(piece)).count()
    }

    #[track_caller]
    pub(crate) fn has(&self, pieces: &[&str]) {
        for piece in pieces {
            assert!(
                self.count(piece) > 0,
                "{piece:?} is not in\n{}",
                self.text()
            );
        }
    }
}

/// Runs a command line on a terminal; `then` is what is waited for, and done.
pub(crate) fn show(
    project: &CliProject,
    line: &str,
    (rows, columns): (usize, usize),
    then: Value,
) -> ShownScreen {
    show_with(project, line, (rows, columns), then, &[])
}

pub(crate) fn show_with(
    project: &CliProject,
    line: &str,
    (rows, columns): (usize, usize),
    then: Value,
    variables: &[(&str, &str)],
) -> ShownScreen {
    let drawloom = project.command(line);
    let script = json!({ "rows": rows, "columns": columns, "then": then });
    let mut command = Command::new("python3");
    command
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/screens/data/on_screen.py"
        ))
        .arg(script.to_string())
        .arg(drawloom.get_program())
        .args(drawloom.get_args())
        .current_dir(project.path())
        .envs(
            drawloom
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env_remove("NO_COLOR")
        .env("TERM", "xterm-256color")
        .env("USER", "ann");
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let missed = String::from_utf8_lossy(&output.stderr).into_owned();
    let sent = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(missed.is_empty(), "{missed}\n{sent}");
    let mut terminal = TestTerminal::new(rows, columns);
    terminal.feed(&sent);
    ShownScreen {
        exit: output.status.code().unwrap_or(-1),
        rows: terminal.text(),
        sent,
        shows_cursor: terminal.shows_cursor,
        has_styles: terminal.has_styles,
    }
}

/// As much of a terminal as the program uses. What it does not know fails the test.
struct TestTerminal {
    rows: usize,
    columns: usize,
    /// All lines, those that have scrolled away first.
    lines: Vec<Vec<char>>,
    /// The first line of the screen.
    top: usize,
    row: usize,
    column: usize,
    shows_cursor: bool,
    has_styles: bool,
}

impl TestTerminal {
    fn new(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            lines: vec![Vec::new()],
            top: 0,
            row: 0,
            column: 0,
            shows_cursor: true,
            has_styles: false,
        }
    }

    fn text(&self) -> Vec<String> {
        let text = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_owned();
        let mut rows: Vec<String> = self.lines.iter().map(text).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    fn feed(&mut self, text: &str) {
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            match c {
                '\u{1b}' => match rest.next() {
                    Some('[') => {
                        let mut parameters = String::new();
                        let ends = rest.by_ref().find(|c| {
                            let is_end = c.is_ascii_alphabetic();
                            if !is_end {
                                parameters.push(*c);
                            }
                            is_end
                        });
                        self.order(&parameters, ends.unwrap());
                    }
                    Some(']') => {
                        let order: String = rest.by_ref().take_while(|c| *c != '\u{7}').collect();
                        self.resized(&order);
                    }
                    other => panic!("ESC {other:?} in {text:?}"),
                },
                '\r' => self.column = 0,
                '\n' => self.down(),
                c => self.put(c),
            }
        }
    }

    fn order(&mut self, parameters: &str, order: char) {
        let number = parameters.parse().unwrap_or(1);
        let at = self.top + self.row;
        match order {
            'm' => self.has_styles |= !matches!(parameters, "" | "0"),
            'A' => self.row = self.row.saturating_sub(number),
            'B' => (0..number).for_each(|_| self.row = (self.row + 1).min(self.rows - 1)),
            'C' => self.column += number,
            'D' => self.column = self.column.saturating_sub(number),
            'G' => self.column = number - 1,
            'K' if parameters == "2" => self.lines[at].clear(),
            'K' => self.lines[at].truncate(self.column),
            'J' => {
                self.lines[at].truncate(self.column);
                self.lines.truncate(at + 1);
            }
            'h' | 'l' if parameters == "?25" => self.shows_cursor = order == 'h',
            // Pasted texts are marked.
            'h' | 'l' if parameters == "?2004" => {}
            _ => panic!("ESC [ {parameters} {order}"),
        }
    }

    fn resized(&mut self, order: &str) {
        let mut parts = order.strip_prefix("resize;").unwrap().split(';');
        let mut next = || parts.next().unwrap().parse().unwrap();
        let bottom = self.top + self.row;
        (self.rows, self.columns) = (next(), next());
        self.top = self.top.max((bottom + 1).saturating_sub(self.rows));
        self.row = bottom - self.top;
    }

    fn down(&mut self) {
        if self.row + 1 == self.rows {
            self.top += 1;
        } else {
            self.row += 1;
        }
        while self.lines.len() <= self.top + self.row {
            self.lines.push(Vec::new());
        }
    }

    fn put(&mut self, c: char) {
        if self.column == self.columns {
            self.column = 0;
            self.down();
        }
        let line = &mut self.lines[self.top + self.row];
        while line.len() <= self.column {
            line.push(' ');
        }
        line[self.column] = c;
        self.column += 1;
    }
}
