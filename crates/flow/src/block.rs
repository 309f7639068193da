//! The config blocks in a diagram's comments: locates each step's JSON, and replaces it.

use mermaid::{CommentLine, DiagramDocument, Span, TextEdit};
use serde_json::Value;

use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::line_span::{LineSpan, LineStarts};
use crate::triggers::TRIGGER;

const BEGIN: &str = "=== WORKFLOW_CONFIG ===";
const END: &str = "=== END_CONFIG ===";
/// The mark that begins a comment.
const MARK: &str = "%%";

/// One step's entry in a config block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConfigEntry {
    pub(crate) id: String,
    /// From the first `%%` of the entry to the end of its last line.
    pub(crate) span: Span,
    /// The position of `@ID`.
    pub(crate) spot: LineSpan,
    pub(crate) json: String,
    /// The offsets in the source at which the lines of the JSON begin.
    pub(crate) lines: Vec<usize>,
}

/// The blocks of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ConfigBlocks {
    pub(crate) entries: Vec<ConfigEntry>,
    /// The offsets of the lines that end the blocks.
    ends: Vec<usize>,
    pub(crate) problems: Vec<WorkflowProblem>,
}

/// Finds every block. An entry that cannot be read becomes a problem.
pub(crate) fn read(document: &DiagramDocument) -> ConfigBlocks {
    let mut reader = BlockReader {
        document,
        lines: LineStarts::of(document.source()),
        blocks: ConfigBlocks::default(),
        open: None,
        entry: None,
    };
    for comment in document.comments() {
        reader.line(comment);
    }
    reader.end_entry();
    if let Some(spot) = reader.open {
        let message = format!("The config block is not closed: `%% {END}` is missing.");
        let problem = WorkflowProblem::error(WorkflowProblemCode::Config, spot, message);
        reader.blocks.problems.push(problem);
    }
    reader.blocks
}

/// Returns the edit that sets or removes a step's config, and touches no other line.
pub(crate) fn edit(document: &DiagramDocument, id: &str, json: Option<&str>) -> TextEdit {
    let blocks = read(document);
    let existing = blocks.entries.iter().find(|entry| entry.id == id);
    let written = json.map(|json| written(id, json));
    match (existing, written) {
        (Some(entry), Some(text)) => TextEdit {
            span: entry.span,
            text,
        },
        (Some(entry), None) => TextEdit {
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
            TextEdit {
                span: Span { start: at, end: at },
                text,
            }
        }
    }
}

/// Prints a config that no author has laid out yet.
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

/// Reads the comments of a diagram line by line.
struct BlockReader<'d> {
    document: &'d DiagramDocument,
    lines: LineStarts<'d>,
    blocks: ConfigBlocks,
    /// The line that opened the block we are in.
    open: Option<LineSpan>,
    entry: Option<ConfigEntry>,
}

impl BlockReader<'_> {
    fn line(&mut self, comment: &CommentLine) {
        let text = comment.text.trim();
        let spot = self.lines.spot(comment.span);
        match (text, self.open) {
            (BEGIN, None) => self.open = Some(spot),
            (BEGIN, Some(_)) => self.problem(spot, "A config block begins inside another."),
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

    fn inside(&mut self, comment: &CommentLine, spot: LineSpan) {
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
            let problem = WorkflowProblem::error(WorkflowProblemCode::Config, spot, message);
            let hint = "a step's config begins with `%% @ID: {`";
            self.blocks.problems.push(problem.hint(hint));
            return;
        };
        let before = comment.text.trim_end().len() - json.len();
        let head = comment.text.find('@').unwrap_or(0);
        let at = comment.span.start + MARK.len();
        self.entry = Some(ConfigEntry {
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
            let problem =
                WorkflowProblem::error(WorkflowProblemCode::DuplicateConfig, entry.spot, message);
            self.blocks.problems.push(problem);
            return;
        }
        self.blocks.entries.push(entry);
    }

    fn problem(&mut self, spot: LineSpan, message: &str) {
        self.blocks.problems.push(WorkflowProblem::error(
            WorkflowProblemCode::Config,
            spot,
            message,
        ));
    }
}

/// Splits `ID: { …` into the id and the rest. An id may contain a colon.
fn named(text: &str) -> Option<(&str, &str)> {
    let colons = text.match_indices(':').map(|(at, _)| at);
    let mut parts = colons.map(|at| (text[..at].trim(), text[at + 1..].trim_start()));
    // Triggers may be a list.
    let is_list = |id: &str, json: &str| id == TRIGGER && json.starts_with('[');
    parts.find(|(id, json)| {
        !id.is_empty() && (json.is_empty() || json.starts_with('{') || is_list(id, json))
    })
}

/// Tells whether every opened brace is closed.
fn is_whole(json: &str) -> bool {
    let (mut depth, mut in_string, mut escaped, mut opened) = (0_i64, false, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            // A JSON string ends with its line at the latest.
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

/// Writes an entry. Mermaid takes a bare `%%` for a node, so that a blank line keeps the space
/// after it.
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
