//! EJS text cut into its pieces, with the white space that its tags take away already taken.

/// A part of an EJS text. What the pieces print, one after the other, is what EJS prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EjsPiece {
    pub(super) kind: PieceKind,
    /// The text as it was written, for comments about what could not be carried over.
    pub(super) source: String,
    /// Counted from one.
    pub(super) line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    Text(String),
    /// `<%= %>` and `<%- %>`; the first writes `&lt;` for `<`.
    Print {
        code: String,
        escapes_html: bool,
    },
    /// `<% %>`.
    Code(String),
    /// `<%# %>`.
    Comment(String),
}

/// A tag that is never closed, and its line.
#[derive(Debug)]
pub(super) struct UnclosedTag {
    pub(super) line: u32,
}

/// In the order in which they are tried.
const TOKENS: [&str; 10] = [
    "<%%", "%%>", "<%=", "<%-", "<%_", "<%#", "<%", "%>", "-%>", "_%>",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum EjsMode {
    Text,
    /// After `<%%`: up to the next end, which is text as well.
    Literal,
    Tag(&'static str),
}

struct EjsSplitter {
    pieces: Vec<EjsPiece>,
    mode: EjsMode,
    /// The line break that follows belongs to the tag before it.
    truncate: bool,
    line: u32,
    tag_line: u32,
    code: String,
}

/// Cuts a text whose first line is `line`.
pub(super) fn cut(text: &str, line: u32) -> Result<Vec<EjsPiece>, UnclosedTag> {
    let text = without_spaces_around_underscores(text);
    let mut cutter = EjsSplitter {
        pieces: Vec::new(),
        mode: EjsMode::Text,
        truncate: false,
        line,
        tag_line: line,
        code: String::new(),
    };
    let mut rest = text.as_str();
    while let Some((at, token)) = next_token(rest) {
        cutter.between(&rest[..at]);
        cutter.token(token)?;
        rest = &rest[at + token.len()..];
    }
    cutter.between(rest);
    match cutter.mode {
        EjsMode::Tag(_) => Err(UnclosedTag {
            line: cutter.tag_line,
        }),
        _ => Ok(cutter.pieces),
    }
}

impl EjsSplitter {
    fn between(&mut self, text: &str) {
        match self.mode {
            EjsMode::Tag(_) => self.code.push_str(text),
            _ => self.print(text),
        }
        self.line += u32::try_from(text.matches('\n').count()).unwrap_or(0);
    }

    fn token(&mut self, token: &'static str) -> Result<(), UnclosedTag> {
        match (self.mode, token) {
            (EjsMode::Tag(_), "%>" | "-%>" | "_%>") => self.close(token),
            // A tag holds one stretch of code and nothing else.
            (EjsMode::Tag(_), _) => {
                return Err(UnclosedTag {
                    line: self.tag_line,
                });
            }
            (_, "<%%") => {
                self.print("<%");
                self.mode = EjsMode::Literal;
            }
            (_, "%%>") => {
                self.print("%>");
                self.mode = EjsMode::Literal;
            }
            (mode, "%>" | "-%>" | "_%>") => {
                if mode == EjsMode::Literal {
                    self.print(token);
                }
                self.mode = EjsMode::Text;
                self.truncate = token.len() == 3;
            }
            (_, open) => {
                self.mode = EjsMode::Tag(open);
                self.tag_line = self.line;
                self.code.clear();
            }
        }
        Ok(())
    }

    fn close(&mut self, token: &str) {
        let EjsMode::Tag(open) = self.mode else {
            return;
        };
        let code = std::mem::take(&mut self.code);
        let source = format!("{open}{code}{token}");
        let kind = match open {
            "<%=" => PieceKind::Print {
                code,
                escapes_html: true,
            },
            "<%-" => PieceKind::Print {
                code,
                escapes_html: false,
            },
            "<%#" => PieceKind::Comment(code),
            _ => PieceKind::Code(code),
        };
        self.pieces.push(EjsPiece {
            kind,
            source,
            line: self.tag_line,
        });
        self.mode = EjsMode::Text;
        self.truncate = token.len() == 3;
    }

    fn print(&mut self, text: &str) {
        let shown = match std::mem::take(&mut self.truncate) {
            true => text
                .strip_prefix("\r\n")
                .or_else(|| text.strip_prefix(['\r', '\n']))
                .unwrap_or(text),
            false => text,
        };
        // An empty stretch between two tags does not use the truncation up in EJS either, because
        // the end of the second tag decides anew.
        if let Some(EjsPiece {
            kind: PieceKind::Text(last),
            source,
            ..
        }) = self.pieces.last_mut()
        {
            last.push_str(shown);
            source.push_str(text);
        } else if !text.is_empty() {
            let kind = PieceKind::Text(shown.to_owned());
            self.pieces.push(EjsPiece {
                kind,
                source: text.to_owned(),
                line: self.line,
            });
        }
    }
}

/// Removes the blanks before `<%_` and behind `_%>`.
fn without_spaces_around_underscores(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = [rest.find("<%_"), rest.find("_%>")]
        .into_iter()
        .flatten()
        .min()
    {
        let (before, mark) = (&rest[..at], &rest[at..at + 3]);
        let blanks = [' ', '\t'];
        rest = &rest[at + 3..];
        if mark == "<%_" {
            out.push_str(before.trim_end_matches(blanks));
        } else {
            out.push_str(before);
            rest = rest.trim_start_matches(blanks);
        }
        out.push_str(mark);
    }
    out.push_str(rest);
    out
}

fn next_token(text: &str) -> Option<(usize, &'static str)> {
    let mut from = 0;
    while let Some(found) = text[from..].find(['<', '%', '-', '_']) {
        let at = from + found;
        if let Some(token) = TOKENS
            .into_iter()
            .find(|token| text[at..].starts_with(token))
        {
            return Some((at, token));
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let pieces = cut(text, 1).unwrap();
        let shown = pieces.iter().map(|piece| match &piece.kind {
            PieceKind::Text(text) => text.clone(),
            PieceKind::Print { code, .. } => format!("[={}]", code.trim()),
            PieceKind::Code(code) => format!("[{}]", code.trim()),
            PieceKind::Comment(_) => "[#]".to_owned(),
        });
        shown.collect()
    }

    #[test]
    fn tags_take_the_white_space_that_ejs_takes() {
        for (text, expected) in [
            ("a\n<% x %>\nb", "a\n[x]\nb"),
            ("a\n<% x -%>\nb", "a\n[x]b"),
            ("a\n  <%_ x _%>  \nb", "a\n[x]b"),
            ("a  <%_ x %>  \nb", "a[x]  \nb"),
            ("<%= x -%>\r\n\r\nb", "[=x]\r\nb"),
            ("<% x -%><% y %>\nb", "[x][y]\nb"),
            ("<%% x %> <%= y %>", "<% x %> [=y]"),
            ("a %%> b", "a %> b"),
            ("<%# gone %>x<%- y %>", "[#]x[=y]"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_are_those_of_the_text() {
        let pieces = cut("a\n<% x\ny %>\n<%= z %>", 5).unwrap();
        let lines: Vec<u32> = pieces.iter().map(|piece| piece.line).collect();
        assert_eq!(lines, [5, 6, 7, 8]);
        assert_eq!(cut("a\n<% x", 1).unwrap_err().line, 2);
        assert_eq!(cut("a\n<% x <% y %>", 1).unwrap_err().line, 2);
    }
}
