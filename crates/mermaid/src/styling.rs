//! The statements that style and link: `style`, `classDef`, `class`, `linkStyle`, `click`.

use crate::parser::{DiagramParser, ParseResult};
use crate::syntax::{SpannedName, StatementKind};
use crate::token::DiagramTokenKind;

impl DiagramParser<'_> {
    pub(crate) fn style(&mut self) -> ParseResult<StatementKind> {
        self.bump();
        self.space()?;
        let id = self.name(DiagramTokenKind::is_id, "the id of a node")?;
        self.space()?;
        let styles = self.styles()?;
        Ok(StatementKind::Style { id, styles })
    }

    pub(crate) fn class_def(&mut self) -> ParseResult<StatementKind> {
        self.bump();
        self.space()?;
        let names = self.name(DiagramTokenKind::is_id, "the name of a class")?;
        self.space()?;
        let styles = self.styles()?;
        Ok(StatementKind::ClassDef { names, styles })
    }

    pub(crate) fn class(&mut self) -> ParseResult<StatementKind> {
        self.bump();
        self.space()?;
        let ids = self.name(
            DiagramTokenKind::is_id,
            "the ids of nodes, separated by commas without spaces",
        )?;
        self.space()?;
        let class = self.name(DiagramTokenKind::is_id, "the name of a class")?;
        if self.token.kind == DiagramTokenKind::Space {
            let fault = self.unexpected("the end of the line after the class");
            return Err(
                fault.hint("write the ids of `class` with commas and no spaces: `class A,B name`")
            );
        }
        Ok(StatementKind::Class { ids, class })
    }

    pub(crate) fn link_style(&mut self) -> ParseResult<StatementKind> {
        self.bump();
        self.space()?;
        let mut indices = Vec::new();
        if self.token.kind == DiagramTokenKind::Default {
            self.bump();
        } else {
            indices.push(self.index()?);
            while self.token.kind == DiagramTokenKind::Comma {
                self.bump();
                indices.push(self.index()?);
            }
        }
        self.space()?;
        if self.token.kind == DiagramTokenKind::Interpolate {
            self.bump();
            self.space()?;
            self.name(DiagramTokenKind::is_alphanumeric, "the name of a curve")?;
            if self.token.kind != DiagramTokenKind::Space {
                return Ok(StatementKind::LinkStyle { indices });
            }
            self.bump();
        }
        self.styles()?;
        Ok(StatementKind::LinkStyle { indices })
    }

    pub(crate) fn click(&mut self) -> ParseResult<StatementKind> {
        let ids = self.bump();
        let ids = SpannedName {
            text: self.text(ids.range()).to_owned(),
            span: self.span(ids.range()),
        };
        match self.token.kind {
            DiagramTokenKind::CallbackName => {
                self.bump();
                if self.token.kind == DiagramTokenKind::CallbackArgs {
                    self.bump();
                }
                self.tooltip()?;
            }
            DiagramTokenKind::Href => {
                self.bump();
                self.expect(DiagramTokenKind::Str, "an address in quotes")?;
                self.tooltip_and_target()?;
            }
            DiagramTokenKind::Str => {
                self.bump();
                self.tooltip_and_target()?;
            }
            _ => {
                let what = "a callback, an address in quotes, `href` or `call`";
                self.name(DiagramTokenKind::is_alphanumeric, what)?;
                self.tooltip()?;
            }
        }
        Ok(StatementKind::Click { ids })
    }

    fn tooltip(&mut self) -> ParseResult<()> {
        if self.token.kind == DiagramTokenKind::Space {
            self.bump();
            self.expect(DiagramTokenKind::Str, "a tooltip in quotes")?;
        }
        Ok(())
    }

    fn tooltip_and_target(&mut self) -> ParseResult<()> {
        if self.token.kind != DiagramTokenKind::Space {
            return Ok(());
        }
        self.bump();
        if self.token.kind == DiagramTokenKind::Str {
            self.bump();
            if self.token.kind != DiagramTokenKind::Space {
                return Ok(());
            }
            self.bump();
        }
        let what = "a tooltip in quotes, or `_self`, `_blank`, `_parent` or `_top`";
        self.expect(DiagramTokenKind::LinkTarget, what)?;
        Ok(())
    }

    fn space(&mut self) -> ParseResult<()> {
        self.expect(DiagramTokenKind::Space, "a space")?;
        Ok(())
    }

    fn index(&mut self) -> ParseResult<SpannedName> {
        let token = self.expect(
            DiagramTokenKind::Num,
            "the number of a link, counted from 0",
        )?;
        Ok(SpannedName {
            text: self.text(token.range()).to_owned(),
            span: self.span(token.range()),
        })
    }

    /// Parses `key:value,key:value`.
    fn styles(&mut self) -> ParseResult<String> {
        let start = self.token.start;
        loop {
            self.name(DiagramTokenKind::is_style, "a style such as `fill:red`")?;
            if self.token.kind != DiagramTokenKind::Comma {
                return Ok(self.text(start..self.token.start).to_owned());
            }
            self.bump();
        }
    }
}
