//! Template text to a tree of tokens, line by line, with Edge's rules for newlines.
//!
//! A tag line prints nothing itself; a line of text is preceded by a newline that belongs to the
//! innermost open block. Jig layout differs where Edge glues lines together or adds blank ones:
//! see `docs/templates.md`.

mod pieces;

use std::borrow::Cow;

use crate::error::CompileFault;
use crate::layout::TemplateLayout;
use crate::limits::Limits;
use crate::lines::{NumberedLines, indent_of, is_blank, is_space, trim, units};
use crate::loader::ComponentTags;
use crate::scanner::{ClosingPattern, ScanStart, ScannedText, TemplateScanner, UnclosedText};
use crate::tags::{self, TagKind, TagSpec};
use crate::token::{JsSource, TagToken, TemplateToken};
use pieces::{contiguous, escaped_mustache, suffix};

/// Reads a template.
pub(crate) fn lex<'s>(
    text: &'s str,
    layout: TemplateLayout,
    components: &ComponentTags,
    limits: &Limits,
) -> Result<Vec<TemplateToken<'s>>, CompileFault> {
    let mut lexer = TemplateLexer {
        whole: text,
        lines: NumberedLines::new(text),
        scanner: TemplateScanner::new(),
        layout,
        components,
        limits,
        line: 0,
        parts: 0,
        last_line_was_tag: false,
        drop_newline: false,
        open: Vec::new(),
        tokens: Vec::new(),
    };
    while let Some((number, line)) = lexer.lines.next() {
        lexer.line = number;
        lexer.line(line)?;
    }
    lexer.finish()
}

struct TemplateLexer<'s, 'e> {
    whole: &'s str,
    lines: NumberedLines<'s>,
    scanner: TemplateScanner,
    layout: TemplateLayout,
    components: &'e ComponentTags,
    limits: &'e Limits,
    line: u32,
    parts: usize,
    last_line_was_tag: bool,
    /// The next newline is not printed.
    drop_newline: bool,
    open: Vec<TagToken<'s>>,
    tokens: Vec<TemplateToken<'s>>,
}

/// The beginning of a line that is a tag.
struct TagOpening<'s> {
    spec: TagSpec,
    name: &'s str,
    escaped: bool,
    self_closed: bool,
    indent: &'s str,
    /// The text after the name and up to two spaces.
    rest: &'s str,
    column: u32,
    /// Jig's content type after the arguments.
    suffix: Option<&'s str>,
}

impl<'s> TemplateLexer<'s, '_> {
    fn line(&mut self, line: &'s str) -> Result<(), CompileFault> {
        if self.closes(line) {
            self.close(line);
            return Ok(());
        }
        match self.opening(line) {
            Some(opening) => self.tag(opening, line),
            None => {
                self.last_line_was_tag = false;
                self.text_line(line)
            }
        }
    }

    /// Returns true if the line ends the innermost open block.
    fn closes(&self, line: &str) -> bool {
        let Some(tag) = self.open.last() else {
            return false;
        };
        let line = trim(line);
        let line = line.strip_suffix('~').unwrap_or(line);
        let end = line.strip_prefix("@end");
        end.is_some_and(|name| name.is_empty() || name == tag.name)
    }

    fn close(&mut self, line: &'s str) {
        let Some(mut tag) = self.open.pop() else {
            return;
        };
        if tag.escaped && self.layout == TemplateLayout::Jig {
            let children = std::mem::take(&mut tag.children);
            self.siblings().extend(children);
            self.push_newline();
            self.push_text(line, true);
            return;
        }
        if tag.kind == TagKind::Ai {
            self.last_line_was_tag = false;
        }
        self.push(TemplateToken::Tag(Box::new(tag)));
        if line.ends_with('~') {
            self.drop_newline = true;
        }
    }

    /// Reads the beginning of a tag line; `None` if the line is text.
    fn opening(&self, line: &'s str) -> Option<TagOpening<'s>> {
        let indent = indent_of(line);
        let after_at = line[indent.len()..].strip_prefix('@')?;
        let (escaped, after_at) = match after_at.strip_prefix('@') {
            Some(after) => (true, after),
            None => (false, after_at),
        };
        let (self_closed, after) = match after_at.strip_prefix('!') {
            Some(after) => (true, after),
            None => (false, after_at),
        };
        let is_name = |c: char| c.is_ascii_alphabetic() || c == '.' || c == '_';
        let name = &after[..after.find(|c| !is_name(c)).unwrap_or(after.len())];
        let spec = tags::find(name, self.components)?;
        let mut rest = &after[name.len()..];
        for _ in 0..2 {
            rest = rest.strip_prefix(is_space).unwrap_or(rest);
        }
        if matches!(spec.kind, TagKind::AiPart(_)) && !rest.starts_with('(') && !self.inside_ai() {
            // Documentation comments use these words: only with parentheses are they tags.
            return None;
        }
        let column = units(&line[..line.len() - rest.len()]);
        Some(TagOpening {
            spec,
            name,
            escaped,
            self_closed,
            indent,
            rest,
            column,
            suffix: None,
        })
    }

    fn tag(&mut self, opening: TagOpening<'s>, line: &'s str) -> Result<(), CompileFault> {
        self.count_part((self.line, opening.column))?;
        if opening.escaped && self.layout == TemplateLayout::Jig {
            return self.escaped_tag(opening, line);
        }
        let newline_before = self.newline_before_tag(&opening);
        self.last_line_was_tag = true;
        let at = (self.line, opening.column);
        if !opening.spec.seekable {
            let drops = self.drops_newline(&opening.spec);
            let source = JsSource {
                text: Cow::Borrowed(""),
                line: at.0,
                column: at.1,
            };
            self.consume(opening, source, newline_before)?;
            self.drop_newline |= drops || line.ends_with('~');
            return Ok(());
        }
        let Some(inside) = opening.rest.strip_prefix('(') else {
            return Err(
                CompileFault::new("E_UNOPENED_PAREN", "Missing token \"(\"", at)
                    .hint(format!("write @{}(…)", opening.name)),
            );
        };
        let column = opening.column + 1;
        let start = ScanStart {
            text: inside,
            line: self.line,
            column,
        };
        let scanned = self.scan(start, ClosingPattern::Arguments).map_err(|_| {
            CompileFault::new("E_UNCLOSED_PAREN", "Missing token \")\"", (at.0, column))
        })?;
        let (rest, end) = (scanned.rest, (scanned.line, scanned.column));
        let source = JsSource {
            text: scanned.text,
            line: at.0,
            column,
        };
        let drops = self.drops_newline(&opening.spec);
        let (suffix, rest) = suffix(rest, self.layout);
        self.consume(TagOpening { suffix, ..opening }, source, newline_before)?;
        match trim(rest) {
            "~" => self.drop_newline = true,
            "" => self.drop_newline |= drops,
            _ => {
                let message = format!("Unexpected token \"{rest}\"");
                return Err(CompileFault::new("E_CANNOT_SEEK_STATEMENT", message, end)
                    .hint("a tag must be alone on its line; put the text on the next one"));
            }
        }
        Ok(())
    }

    /// Prints an escaped tag of Jig as it is written, without the first `@`, and its end likewise.
    fn escaped_tag(&mut self, opening: TagOpening<'s>, line: &'s str) -> Result<(), CompileFault> {
        self.push_newline();
        let text = format!("{}{}", opening.indent, &line[opening.indent.len() + 1..]);
        self.push(TemplateToken::Text {
            text: Cow::Owned(text),
            leading: true,
        });
        if opening.spec.block && !opening.self_closed {
            let source = JsSource {
                line: self.line,
                column: opening.column,
                ..JsSource::default()
            };
            self.consume(opening, source, false)?;
        }
        Ok(())
    }

    /// Puts the tag where it belongs, or keeps it open until its end.
    fn consume(
        &mut self,
        opening: TagOpening<'s>,
        argument: JsSource<'s>,
        newline_before: bool,
    ) -> Result<(), CompileFault> {
        let tag = TagToken {
            kind: opening.spec.kind,
            name: opening.name,
            escaped: opening.escaped,
            line: argument.line,
            column: argument.column,
            argument,
            indent: opening.indent,
            newline_before,
            suffix: opening.suffix,
            children: Vec::new(),
        };
        if !opening.spec.block || opening.self_closed {
            self.push(TemplateToken::Tag(Box::new(tag)));
            return Ok(());
        }
        if self.open.len() >= self.limits.blocks_nested_max {
            let max = self.limits.blocks_nested_max;
            let message = format!("blocks are nested deeper than blocks_nested_max = {max}");
            return Err(CompileFault::new("E_LIMIT_EXCEEDED", message, tag.at())
                .hint("move the inner blocks into a partial"));
        }
        self.open.push(tag);
        Ok(())
    }

    /// Returns true if the tag's output starts on a line of its own; otherwise adds Edge's newline
    /// between tag lines.
    fn newline_before_tag(&mut self, opening: &TagOpening<'s>) -> bool {
        let prints = match &opening.spec.kind {
            TagKind::Ai => true,
            TagKind::Include
            | TagKind::IncludeIf
            | TagKind::Component
            | TagKind::Custom(_)
            | TagKind::Stack => self.layout == TemplateLayout::Jig,
            _ => false,
        };
        if prints {
            return self.line > 1 && !std::mem::take(&mut self.drop_newline);
        }
        match self.layout {
            // There is no newline here to drop, so a `~` has done its work.
            TemplateLayout::Jig => self.drop_newline = false,
            TemplateLayout::Edge if self.last_line_was_tag => self.push_newline(),
            TemplateLayout::Edge => {}
        }
        false
    }

    fn drops_newline(&self, spec: &TagSpec) -> bool {
        spec.drops_newline && self.layout == TemplateLayout::Edge
    }

    fn text_line(&mut self, line: &'s str) -> Result<(), CompileFault> {
        if self.joined(line) {
            return Ok(());
        }
        let undo = (self.siblings().len(), self.drop_newline);
        self.push_newline();
        let mut rest = ScanStart {
            text: line,
            line: self.line,
            column: 0,
        };
        let mut leading = true;
        let mut only_comments = true;
        while let Some(at) = rest.text.find("{{") {
            let mustache = self.mustache(rest, at, leading)?;
            only_comments &= mustache.comment && is_blank(&rest.text[..at]);
            leading = false;
            rest = mustache.rest;
            if is_blank(rest.text) {
                // Edge drops white space after the last interpolation of a line.
                if only_comments && self.layout == TemplateLayout::Jig {
                    self.siblings().truncate(undo.0);
                    self.drop_newline = undo.1;
                }
                return Ok(());
            }
        }
        self.push_text(rest.text, leading);
        Ok(())
    }

    /// Appends a line without interpolations to the text before it. Templates are mostly text, and a
    /// token for each line of it would take many times the memory of the line.
    fn joined(&mut self, line: &'s str) -> bool {
        if self.drop_newline || line.contains("{{") {
            return false;
        }
        let whole = self.whole;
        let Some(TemplateToken::Text {
            text,
            leading: true,
        }) = self.siblings().last_mut()
        else {
            return false;
        };
        match text {
            Cow::Borrowed(before) => match contiguous(whole, before, line) {
                Some(both) => *before = both,
                None => *text = Cow::Owned(format!("{before}\n{line}")),
            },
            Cow::Owned(before) => {
                before.push('\n');
                before.push_str(line);
            }
        }
        true
    }

    /// Reads the interpolation or comment at `at`, with the text before it.
    fn mustache(
        &mut self,
        from: ScanStart<'s>,
        at: usize,
        leading: bool,
    ) -> Result<AfterMustache<'s>, CompileFault> {
        let after = &from.text[at + 2..];
        let close = if after.starts_with("--") {
            ClosingPattern::Comment
        } else if after.starts_with('{') {
            ClosingPattern::SafeMustache
        } else {
            ClosingPattern::Mustache
        };
        let opening_len = match close {
            ClosingPattern::Comment => 4,
            ClosingPattern::SafeMustache => 3,
            _ => 2,
        };
        let before = &from.text[..at];
        let escaped = close != ClosingPattern::Comment && before.ends_with('@');
        let left = if escaped { &before[..at - 1] } else { before };
        // A comment that begins a line is not content, and Edge's main slot waits for content.
        let silent = close == ClosingPattern::Comment && self.layout == TemplateLayout::Edge;
        if !left.is_empty() || (leading && !silent) {
            self.push_text(left, leading);
        }
        let start = ScanStart {
            text: &from.text[at + opening_len..],
            line: from.line,
            column: from.column + units(&from.text[..at + opening_len]),
        };
        self.count_part((start.line, start.column))?;
        let scanned = self.scan(start, close).map_err(|endless| {
            let at = (endless.line, endless.column);
            CompileFault::new("E_UNCLOSED_CURLY_BRACE", "Missing token \"}\"", at)
        })?;
        let rest = ScanStart {
            text: scanned.rest,
            line: scanned.line,
            column: scanned.column,
        };
        if escaped {
            let text = escaped_mustache(&scanned.text, close);
            self.push(TemplateToken::Text {
                text: Cow::Owned(text),
                leading: false,
            });
        } else if close != ClosingPattern::Comment {
            let (line, column) = (start.line, start.column);
            self.push(TemplateToken::Mustache(JsSource {
                text: scanned.text,
                line,
                column,
            }));
        }
        Ok(AfterMustache {
            rest,
            comment: close == ClosingPattern::Comment,
        })
    }

    fn scan(
        &mut self,
        start: ScanStart<'s>,
        close: ClosingPattern,
    ) -> Result<ScannedText<'s>, UnclosedText> {
        let scanned = self.scanner.scan(start, close, &mut self.lines)?;
        self.line = scanned.line;
        Ok(scanned)
    }

    fn push_newline(&mut self) {
        if self.line == 1 {
            return;
        }
        if self.drop_newline {
            self.drop_newline = false;
            return;
        }
        self.push(TemplateToken::Newline);
    }

    fn push_text(&mut self, text: &'s str, leading: bool) {
        self.push(TemplateToken::Text {
            text: Cow::Borrowed(text),
            leading,
        });
    }

    fn push(&mut self, token: TemplateToken<'s>) {
        self.siblings().push(token);
    }

    fn siblings(&mut self) -> &mut Vec<TemplateToken<'s>> {
        match self.open.last_mut() {
            Some(tag) => &mut tag.children,
            None => &mut self.tokens,
        }
    }

    fn inside_ai(&self) -> bool {
        self.open.iter().any(|tag| tag.kind == TagKind::Ai)
    }

    fn count_part(&mut self, at: (u32, u32)) -> Result<(), CompileFault> {
        self.parts += 1;
        if self.parts <= self.limits.parts_max {
            return Ok(());
        }
        let max = self.limits.parts_max;
        let message =
            format!("this template has more tags and interpolations than parts_max = {max}");
        Err(CompileFault::new("E_LIMIT_EXCEEDED", message, at).hint("split it into partials"))
    }

    fn finish(mut self) -> Result<Vec<TemplateToken<'s>>, CompileFault> {
        match self.open.pop() {
            None => Ok(self.tokens),
            Some(tag) => {
                let message = format!("Unclosed tag {}", tag.name);
                Err(CompileFault::new("E_UNCLOSED_TAG", message, tag.at())
                    .hint(format!("end it with a line @end or @end{}", tag.name)))
            }
        }
    }
}

struct AfterMustache<'s> {
    rest: ScanStart<'s>,
    comment: bool,
}
