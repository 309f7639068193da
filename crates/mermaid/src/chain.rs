//! Nodes and links: the statement `A & B --> C[text]:::class -->|label| D`.

use crate::arrow::Arrow;
use crate::error::{Fault, ProblemKind};
use crate::parser::{Parser, Read};
use crate::syntax::{Body, Chain, LabelForm, Link, Mention, Name, Text, TextKind};
use crate::token::{Kind, Token};

impl Parser<'_> {
    pub(crate) fn chain(&mut self) -> Read<Chain> {
        let mut chain = Chain::default();
        chain.groups.push(self.group()?);
        while matches!(self.token.kind, Kind::Link | Kind::StartLink | Kind::LinkId) {
            self.count_link()?;
            chain.links.push(self.link()?);
            chain.groups.push(self.group()?);
        }
        Ok(chain)
    }

    /// `A & B & C`.
    fn group(&mut self) -> Read<Vec<Mention>> {
        let mut mentions = Vec::new();
        loop {
            mentions.push(self.mention()?);
            if self.token.kind != Kind::Space {
                return Ok(mentions);
            }
            while self.token.kind == Kind::Space {
                self.bump();
            }
            if self.token.kind != Kind::Amp {
                return Ok(mentions);
            }
            self.bump();
            self.expect(Kind::Space, "a space after `&`")?;
            while self.token.kind == Kind::Space {
                self.bump();
            }
        }
    }

    fn mention(&mut self) -> Read<Mention> {
        let start = self.token.start;
        let id = self.name(Kind::is_id, "a node")?;
        let body = self.body()?;
        let mut class = None;
        if self.token.kind == Kind::ClassSeparator {
            self.bump();
            class = Some(self.name(Kind::is_id, "the name of a class")?);
        }
        let data = self.data()?;
        Ok(Mention {
            id,
            body,
            class,
            data,
            span: self.span(start..self.token.start),
        })
    }

    fn body(&mut self) -> Read<Option<Body>> {
        let open = self.token;
        let (shape, text, close) = match open.kind {
            Kind::SquareOpen => self.shaped("square", Kind::SquareClose)?,
            Kind::TripleOpen => self.shaped("doublecircle", Kind::TripleClose)?,
            Kind::EllipseOpen => self.shaped("ellipse", Kind::EllipseClose)?,
            Kind::StadiumOpen => self.shaped("stadium", Kind::StadiumClose)?,
            Kind::SubroutineOpen => self.shaped("subroutine", Kind::SubroutineClose)?,
            Kind::CylinderOpen => self.shaped("cylinder", Kind::CylinderClose)?,
            Kind::TagEnd => self.shaped("odd", Kind::SquareClose)?,
            Kind::ParenOpen => self.doubled(["round", "circle"], Kind::ParenClose)?,
            Kind::BraceOpen => self.doubled(["diamond", "hexagon"], Kind::BraceClose)?,
            Kind::SlashOpen => self.slanted(["lean_right", "trapezoid"])?,
            Kind::BackslashOpen => self.slanted(["inv_trapezoid", "lean_left"])?,
            Kind::PropertyOpen => self.with_property()?,
            _ => return Ok(None),
        };
        Ok(Some(Body {
            shape,
            text,
            span: self.span(open.start..close.end),
        }))
    }

    fn shaped(&mut self, shape: &'static str, close: Kind) -> Read<(&'static str, Text, Token)> {
        let open = self.bump();
        let (text, close) = self.bracket_text(open, &[close])?;
        Ok((shape, text, close))
    }

    /// One bracket, or the same bracket twice.
    fn doubled(
        &mut self,
        shapes: [&'static str; 2],
        close: Kind,
    ) -> Read<(&'static str, Text, Token)> {
        let open = self.bump();
        if self.token.kind != open.kind {
            let (text, close) = self.bracket_text(open, &[close])?;
            return Ok((shapes[0], text, close));
        }
        let open = self.bump();
        let (text, _) = self.bracket_text(open, &[close])?;
        let close = self.expect(close, "the second closing bracket")?;
        Ok((shapes[1], text, close))
    }

    fn slanted(&mut self, shapes: [&'static str; 2]) -> Read<(&'static str, Text, Token)> {
        let open = self.bump();
        let closing = [Kind::SlashClose, Kind::BackslashClose];
        let (text, close) = self.bracket_text(open, &closing)?;
        let shape = if close.kind == Kind::SlashClose {
            shapes[0]
        } else {
            shapes[1]
        };
        Ok((shape, text, close))
    }

    /// `[|borders:lt|text]`.
    fn with_property(&mut self) -> Read<(&'static str, Text, Token)> {
        self.bump();
        self.expect(Kind::NodeString, "the name of a property")?;
        self.expect(Kind::Colon, "`:` after the property's name")?;
        self.expect(Kind::NodeString, "the value of the property")?;
        let open = self.expect(Kind::Pipe, "`|` after the property")?;
        let (text, close) = self.bracket_text(open, &[Kind::SquareClose])?;
        Ok(("rect", text, close))
    }

    /// `@{ … }`; several in a row count as one.
    fn data(&mut self) -> Read<Option<Name>> {
        let open = self.token;
        if open.kind != Kind::DataOpen {
            return Ok(None);
        }
        let mut text = String::new();
        let mut end = open.start;
        while matches!(self.token.kind, Kind::DataOpen | Kind::ShapeData) {
            let token = self.bump();
            end = token.end;
            if token.kind == Kind::ShapeData {
                text.push_str(self.text(token.range()));
            }
        }
        // The closing brace is no token: it is the character the data ends at.
        let close = self.text(end..self.token.start).find('}');
        if close.is_none() && self.token.kind == Kind::End {
            let message = "This `@{` is never closed.";
            let fault = Fault::new(ProblemKind::Unclosed, message, self.span(open.range()));
            return Err(fault.hint("close it with `}`; a quote in it needs its second one"));
        }
        let end = close.map_or(end, |at| end + at + 1);
        Ok(Some(Name {
            text,
            span: self.span(open.start..end),
        }))
    }

    fn link(&mut self) -> Read<Link> {
        let start = self.token.start;
        let mut id = None;
        if self.token.kind == Kind::LinkId {
            let token = self.bump();
            id = Some(Name {
                text: self.text(token.range()).replacen('@', "", 1),
                span: self.span(token.range()),
            });
        }
        let first = self.token;
        let (arrow, label, form, end) = if first.kind == Kind::StartLink {
            self.bump();
            let (label, last) = self.middle(first)?;
            let arrow = self.halves(first, last)?;
            (arrow, Some(label), LabelForm::Middle, last.end)
        } else {
            let token = self.expect(Kind::Link, "a link after its id")?;
            let arrow = Arrow::parse(self.text(token.range()));
            let (label, end) = self.piped(token)?;
            let form = match label {
                Some(_) => LabelForm::Pipes,
                None => LabelForm::None,
            };
            (arrow, label, form, end)
        };
        let trimmed = |range: std::ops::Range<usize>| {
            let text = self.text(range.clone());
            let start = range.start + text.len() - text.trim_start().len();
            self.span(start..(range.start + text.trim_end().len()).max(start))
        };
        Ok(Link {
            id,
            arrow,
            label,
            form,
            span: trimmed(start..end),
            arrow_span: trimmed(first.range()),
        })
    }

    /// `|text|` after a link.
    fn piped(&mut self, link: Token) -> Read<(Option<Text>, usize)> {
        if self.token.kind != Kind::Pipe {
            return Ok((None, link.end));
        }
        let open = self.bump();
        let (text, close) = self.bracket_text(open, &[Kind::Pipe])?;
        if self.token.kind == Kind::Space {
            self.bump();
        }
        Ok((Some(text), close.end))
    }

    /// The text in the middle of a link, and the link's second half.
    fn middle(&mut self, first: Token) -> Read<(Text, Token)> {
        let start = self.token.start;
        let kind = match self.token.kind {
            Kind::Str => TextKind::String,
            Kind::MdStr => TextKind::Markdown,
            Kind::EdgeText => TextKind::Text,
            _ => return Err(self.half_link(first)),
        };
        let mut raw = self.text(self.token.range()).to_owned();
        self.bump();
        while self.token.kind == Kind::EdgeText {
            raw.push_str(self.text(self.token.range()));
            self.bump();
        }
        if self.token.kind != Kind::Link {
            return Err(self.half_link(first));
        }
        let last = self.bump();
        // The quotes around the text are no tokens; the first half ends before them.
        let text = Text {
            raw,
            kind,
            span: self.span(start.min(first.end)..last.start),
        };
        Ok((text, last))
    }

    fn half_link(&self, first: Token) -> Fault {
        let text = self.text(first.range());
        let start = first.start + text.len() - text.trim_start().len();
        let mark = text.trim();
        let message = format!("This `{mark}` begins a link that never ends.");
        let end = match mark.chars().next_back() {
            Some('=') => "==>",
            Some('.') => ".->",
            _ => "-->",
        };
        Fault::new(ProblemKind::Syntax, message, self.span(start..first.end)).hint(format!(
            "a link without a label is `{}`, one with a label `{mark} label {end}`",
            link_for(mark)
        ))
    }

    fn halves(&self, first: Token, last: Token) -> Read<Arrow> {
        let (start, end) = (self.text(first.range()), self.text(last.range()));
        Arrow::parse_halves(start, end).ok_or_else(|| {
            let (start, end) = (start.trim(), end.trim());
            let message =
                format!("The two ends of this link do not fit together: `{start}` and `{end}`.");
            Fault::new(
                ProblemKind::Arrow,
                message,
                self.span(first.start..last.end),
            )
            .hint("both ends need the same line, and a head at the start needs the same at the end")
        })
    }
}

fn link_for(mark: &str) -> &'static str {
    match mark.chars().next_back() {
        Some('=') => "==>",
        Some('.') => "-.->",
        _ => "-->",
    }
}
