//! The statements that style and link: `style`, `classDef`, `class`, `linkStyle`, `click`.

use crate::parser::{Parser, Read};
use crate::syntax::{Name, StatementKind};
use crate::token::Kind;

impl Parser<'_> {
    pub(crate) fn style(&mut self) -> Read<StatementKind> {
        self.bump();
        self.space()?;
        let id = self.name(Kind::is_id, "the id of a node")?;
        self.space()?;
        let styles = self.styles()?;
        Ok(StatementKind::Style { id, styles })
    }

    pub(crate) fn class_def(&mut self) -> Read<StatementKind> {
        self.bump();
        self.space()?;
        let names = self.name(Kind::is_id, "the name of a class")?;
        self.space()?;
        let styles = self.styles()?;
        Ok(StatementKind::ClassDef { names, styles })
    }

    pub(crate) fn class(&mut self) -> Read<StatementKind> {
        self.bump();
        self.space()?;
        let ids = self.name(
            Kind::is_id,
            "the ids of nodes, separated by commas without spaces",
        )?;
        self.space()?;
        let class = self.name(Kind::is_id, "the name of a class")?;
        if self.token.kind == Kind::Space {
            let fault = self.unexpected("the end of the line after the class");
            return Err(
                fault.hint("write the ids of `class` with commas and no spaces: `class A,B name`")
            );
        }
        Ok(StatementKind::Class { ids, class })
    }

    pub(crate) fn link_style(&mut self) -> Read<StatementKind> {
        self.bump();
        self.space()?;
        let mut indices = Vec::new();
        if self.token.kind == Kind::Default {
            self.bump();
        } else {
            indices.push(self.index()?);
            while self.token.kind == Kind::Comma {
                self.bump();
                indices.push(self.index()?);
            }
        }
        self.space()?;
        if self.token.kind == Kind::Interpolate {
            self.bump();
            self.space()?;
            self.name(Kind::is_alphanumeric, "the name of a curve")?;
            if self.token.kind != Kind::Space {
                return Ok(StatementKind::LinkStyle { indices });
            }
            self.bump();
        }
        self.styles()?;
        Ok(StatementKind::LinkStyle { indices })
    }

    pub(crate) fn click(&mut self) -> Read<StatementKind> {
        let ids = self.bump();
        let ids = Name {
            text: self.text(ids.range()).to_owned(),
            span: self.span(ids.range()),
        };
        match self.token.kind {
            Kind::CallbackName => {
                self.bump();
                if self.token.kind == Kind::CallbackArgs {
                    self.bump();
                }
                self.tooltip()?;
            }
            Kind::Href => {
                self.bump();
                self.expect(Kind::Str, "an address in quotes")?;
                self.tooltip_and_target()?;
            }
            Kind::Str => {
                self.bump();
                self.tooltip_and_target()?;
            }
            _ => {
                let what = "a callback, an address in quotes, `href` or `call`";
                self.name(Kind::is_alphanumeric, what)?;
                self.tooltip()?;
            }
        }
        Ok(StatementKind::Click { ids })
    }

    fn tooltip(&mut self) -> Read<()> {
        if self.token.kind == Kind::Space {
            self.bump();
            self.expect(Kind::Str, "a tooltip in quotes")?;
        }
        Ok(())
    }

    fn tooltip_and_target(&mut self) -> Read<()> {
        if self.token.kind != Kind::Space {
            return Ok(());
        }
        self.bump();
        if self.token.kind == Kind::Str {
            self.bump();
            if self.token.kind != Kind::Space {
                return Ok(());
            }
            self.bump();
        }
        let what = "a tooltip in quotes, or `_self`, `_blank`, `_parent` or `_top`";
        self.expect(Kind::LinkTarget, what)?;
        Ok(())
    }

    fn space(&mut self) -> Read<()> {
        self.expect(Kind::Space, "a space")?;
        Ok(())
    }

    fn index(&mut self) -> Read<Name> {
        let token = self.expect(Kind::Num, "the number of a link, counted from 0")?;
        Ok(Name {
            text: self.text(token.range()).to_owned(),
            span: self.span(token.range()),
        })
    }

    /// `key:value,key:value`.
    fn styles(&mut self) -> Read<String> {
        let start = self.token.start;
        loop {
            self.name(Kind::is_style, "a style such as `fill:red`")?;
            if self.token.kind != Kind::Comma {
                return Ok(self.text(start..self.token.start).to_owned());
            }
            self.bump();
        }
    }
}
