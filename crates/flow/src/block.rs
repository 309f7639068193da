//! The config blocks in a diagram's comments: where each step's JSON stands, and how it is replaced.

use mermaid::{Comment, Document, Edit, Span};
use serde_json::Value;

use crate::error::{Code, Problem};
use crate::spot::{Lines, Spot};

const BEGIN: &str = "=== WORKFLOW_CONFIG ===";
const END: &str = "=== END_CONFIG ===";
/// What a comment begins with.
const MARK: &str = "%%";

/// One step's entry in a config block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) id: String,
    /// From the first `%%` of the entry to the end of its last line.
    pub(crate) span: Span,
    /// Where `@ID` stands.
    pub(crate) spot: Spot,
    pub(crate) json: String,
    /// Where each line of the JSON begins in the source.
    pub(crate) lines: Vec<usize>,
}

/// The blocks of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Blocks {
    pub(crate) entries: Vec<Entry>,
    /// Where the line that ends each block begins.
    ends: Vec<usize>,
    pub(crate) problems: Vec<Problem>,
}

/// Finds every block. What cannot be read is a problem and no entry.
pub(crate) fn read(document: &Document) -> Blocks {
    let mut reader = Reader {
        document,
        lines: Lines::of(document.source()),
        blocks: Blocks::default(),
        open: None,
        entry: None,
    };
    for comment in document.comments() {
        reader.line(comment);
    }
    reader.end_entry();
    if let Some(spot) = reader.open {
        let message = format!("The config block is not closed: `%% {END}` is missing.");
        let problem = Problem::error(Code::Config, spot, message);
        reader.blocks.problems.push(problem);
    }
    reader.blocks
}

/// The change that gives a step this config, or none, and touches no other line.
pub(crate) fn edit(document: &Document, id: &str, json: Option<&str>) -> Edit {
    let blocks = read(document);
    let existing = blocks.entries.iter().find(|entry| entry.id == id);
    let written = json.map(|json| written(id, json));
    match (existing, written) {
        (Some(entry), Some(text)) => Edit {
            span: entry.span,
            text,
        },
        (Some(entry), None) => Edit {
            span: whole_lines(document.source(), entry.span),
            text: String::new(),
        },
        (None, text) => {
            let source = document.source();
            let text = text.unwrap_or_default();
            let (at, text) = match blocks.ends.last() {
                _ if text.is_empty() => (source.len(), text),
                Some(end) => (*end, format!("{text}\n")),
                None => {
                    let gap = if source.ends_with('\n') { "\n" } else { "\n\n" };
                    (source.len(), format!("{gap}%% {BEGIN}\n{text}\n%% {END}\n"))
                }
            };
            Edit {
                span: Span { start: at, end: at },
                text,
            }
        }
    }
}

/// A config as it is printed where nobody has laid it out.
pub(crate) fn laid_out(config: &Value) -> String {
    match config {
        Value::Object(map) if map.len() <= 1 && config.to_string().len() <= 60 => {
            let inside: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {value}", Value::from(key.as_str())))
                .collect();
            format!("{{ {} }}", inside.join(", "))
        }
        config => serde_json::to_string_pretty(config).unwrap_or_else(|_| config.to_string()),
    }
}

struct Reader<'d> {
    document: &'d Document,
    lines: Lines<'d>,
    blocks: Blocks,
    /// The line that opened the block we are in.
    open: Option<Spot>,
    entry: Option<Entry>,
}

impl Reader<'_> {
    fn line(&mut self, comment: &Comment) {
        let text = comment.text.trim();
        let spot = self.lines.spot(comment.span);
        match (text, self.open) {
            (BEGIN, None) => self.open = Some(spot),
            (BEGIN, Some(_)) => self.problem(spot, "A config block begins inside of another."),
            (END, Some(_)) => {
                self.end_entry();
                self.open = None;
                let source = self.document.source();
                let before = source.get(..comment.span.start).unwrap_or("");
                let start = before.rfind('\n').map_or(0, |at| at + 1);
                self.blocks.ends.push(start);
            }
            (END, None) => self.problem(spot, "A config block ends here that never began."),
            (_, None) => {}
            (_, Some(_)) => self.inside(comment, spot),
        }
    }

    fn inside(&mut self, comment: &Comment, spot: Spot) {
        if let Some(entry) = &mut self.entry
            && !is_whole(&entry.json)
        {
            entry.json.push('\n');
            entry.json.push_str(&comment.text);
            entry.lines.push(comment.span.start + MARK.len());
            entry.span.end = comment.span.end;
            return;
        }
        let text = comment.text.trim();
        if text.is_empty() {
            return;
        }
        self.end_entry();
        let Some((id, json)) = text.strip_prefix('@').and_then(named) else {
            let message = "This line of the config block belongs to no step.";
            let problem = Problem::error(Code::Config, spot, message);
            let hint = "a step's config begins with `%% @ID: {`";
            self.blocks.problems.push(problem.hint(hint));
            return;
        };
        let before = comment.text.trim_end().len() - json.len();
        let head = comment.text.find('@').unwrap_or(0);
        let at = comment.span.start + MARK.len();
        self.entry = Some(Entry {
            id: id.to_owned(),
            span: comment.span,
            spot: self.lines.spot(Span {
                start: at + head,
                end: at + head + 1 + id.len(),
            }),
            lines: vec![at + before],
            json: json.to_owned(),
        });
    }

    fn end_entry(&mut self) {
        let Some(entry) = self.entry.take() else {
            return;
        };
        if let Some(first) = self.blocks.entries.iter().find(|e| e.id == entry.id) {
            let message = format!(
                "The step `{}` has a config already, on line {}.",
                entry.id, first.spot.line
            );
            let problem = Problem::error(Code::DuplicateConfig, entry.spot, message);
            self.blocks.problems.push(problem);
            return;
        }
        self.blocks.entries.push(entry);
    }

    fn problem(&mut self, spot: Spot, message: &str) {
        self.blocks
            .problems
            .push(Problem::error(Code::Config, spot, message));
    }
}

/// `ID: { …` as the id and what follows it. An id may have a colon inside.
fn named(text: &str) -> Option<(&str, &str)> {
    let colons = text.match_indices(':').map(|(at, _)| at);
    let mut parts = colons.map(|at| (text[..at].trim(), text[at + 1..].trim_start()));
    parts.find(|(id, json)| !id.is_empty() && (json.is_empty() || json.starts_with('{')))
}

/// Whether every brace that was opened is closed.
fn is_whole(json: &str) -> bool {
    let (mut depth, mut in_string, mut escaped, mut opened) = (0_i64, false, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            // A JSON string does not go over the end of its line.
            b'"' | b'\n' if in_string => in_string = false,
            b'"' => in_string = true,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                opened = true;
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    opened && depth <= 0
}

/// A bare `%%` is a node to Mermaid: a blank line keeps the space after it.
fn written(id: &str, json: &str) -> String {
    let mut lines = json.lines();
    let first = lines.next().unwrap_or("{}");
    let mut out = format!("%% @{id}: {first}");
    for line in lines {
        out.push_str("\n%% ");
        out.push_str(line);
    }
    out
}

fn whole_lines(source: &str, span: Span) -> Span {
    let before = source.get(..span.start).unwrap_or("");
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let after = source.get(span.end..).unwrap_or("");
    let end = after
        .find('\n')
        .map_or(source.len(), |at| span.end + at + 1);
    Span { start, end }
}
