//! `@component`, component tags, `@slot` and `@inject`.

use std::borrow::Cow;
use std::rc::Rc;

use expr::{Shape, number_to_string};
use indexmap::IndexMap;

use super::arguments::{self, Argument, PATH_SHAPES};
use super::{Nodes, Parser};
use crate::error::Fault;
use crate::node::{Code, Component, ComponentName, Node, SlotBody};
use crate::tags::TagKind;
use crate::token::{Source, Tag, Token};

impl Parser<'_> {
    pub(super) fn component(&mut self, mut tag: Tag<'_>) -> Result<Node, Fault> {
        let (name, props) = self.name_and_props(&tag)?;
        let children = std::mem::take(&mut tag.children);
        let mut main = Vec::new();
        let mut slots: IndexMap<Rc<str>, SlotTokens<'_>> = IndexMap::new();
        for child in children {
            match child {
                Token::Tag(slot) if slot.kind == TagKind::Slot && !slot.escaped => {
                    let (name, prop) = self.slot_head(&slot)?;
                    let tokens = slots.entry(name).or_default();
                    tokens.prop = tokens.prop.take().or(prop);
                    tokens.tokens.extend(slot.children);
                }
                // Newlines before the first thing in the main slot are not part of it.
                Token::Newline if main.is_empty() => {}
                child => main.push(child),
            }
        }
        let main = self.slot_body(
            SlotTokens {
                tokens: main,
                prop: None,
            },
            tag.at(),
        )?;
        let mut bodies = Vec::new();
        for (name, tokens) in slots {
            bodies.push((name, Rc::new(self.slot_body(tokens, tag.at())?)));
        }
        Ok(Node::Component(Box::new(Component {
            name,
            props,
            main: Rc::new(main),
            slots: bodies.into_boxed_slice(),
            context: self.context(&tag.argument)?,
            origin: arguments::origin(&tag.argument),
            placing: self.placing(&tag),
            in_ai: self.in_ai,
        })))
    }

    fn name_and_props(&mut self, tag: &Tag<'_>) -> Result<(ComponentName, Option<Code>), Fault> {
        let mut arguments = self.arguments(&tag.argument)?.into_iter();
        if let TagKind::Custom(path) = &tag.kind {
            let props = arguments.next().map(|argument| argument.code);
            return Ok((ComponentName::Known(path.clone()), props));
        }
        let Some(name) = arguments.next() else {
            return Err(arguments::empty(&tag.argument, "@component"));
        };
        let props = arguments.next().map(|argument| argument.code);
        if !PATH_SHAPES.contains(&name.code.expr.shape()) {
            let message = match props {
                Some(_) => format!(
                    "\"{}\" is not a valid argument for component name",
                    name.text
                ),
                None => arguments::not_valid(&tag.argument, "@component"),
            };
            return Err(Fault::new("E_UNALLOWED_EXPRESSION", message, name.at));
        }
        Ok((ComponentName::Computed(name.code), props))
    }

    /// The name of a slot and the variable that takes what the component passes to it.
    fn slot_head(&mut self, tag: &Tag<'_>) -> Result<(Rc<str>, Option<Rc<str>>), Fault> {
        let refuse = |message: String, at| Err(Fault::new("E_UNALLOWED_EXPRESSION", message, at));
        let arguments = self.arguments(&tag.argument)?;
        let start = arguments::start(&tag.argument);
        let Some(name) = arguments.first() else {
            return refuse("slot name must be a valid string literal".to_owned(), start);
        };
        let Some(text) = literal_text(name) else {
            let message = match arguments.len() {
                1 => arguments::not_valid(&tag.argument, "@slot"),
                _ => "slot name must be a valid string literal".to_owned(),
            };
            return refuse(message, name.at);
        };
        if arguments.len() > 2 {
            let message = "maximum of 2 arguments are allowed for @slot tag";
            return Err(Fault::new("E_MAX_ARGUMENTS", message, start));
        }
        let Some(prop) = arguments.get(1) else {
            return Ok((text, None));
        };
        match &prop.identifier {
            Some(identifier) => Ok((text, Some(identifier.clone()))),
            None => {
                let text = &prop.text;
                refuse(
                    format!("\"{text}\" is not valid prop identifier for @slot tag"),
                    prop.at,
                )
            }
        }
    }

    /// Compiles what a caller wrote for a slot: a function with a frame of its own.
    fn slot_body(&mut self, slot: SlotTokens<'_>, at: (u32, u32)) -> Result<SlotBody, Fault> {
        self.scope.push_frame();
        // Its slot is `SLOT_CONTEXT_SLOT`.
        self.scope.declare("$context");
        self.open_block();
        let prop = match slot.prop {
            Some(name) => Some(self.declare(&name, at)?),
            None => None,
        };
        let mut nodes = Nodes::default();
        for token in slot.tokens {
            self.token(token, &mut nodes)?;
        }
        self.blocks.pop();
        let slots = self.scope.pop_frame();
        Ok(SlotBody {
            body: nodes.finish(),
            slots,
            prop,
        })
    }

    pub(super) fn inject(&mut self, tag: &Tag<'_>) -> Result<Code, Fault> {
        // Parentheses let an object literal begin the expression.
        let text = format!("({})", tag.argument.text);
        let column = tag.argument.column.saturating_sub(1);
        let source = Source {
            text: Cow::Owned(text),
            line: tag.argument.line,
            column,
        };
        let code = self.code(&source, "inject")?;
        let shapes = [Shape::Object, Shape::Identifier, Shape::Call];
        arguments::allow(&code, &shapes, || {
            format!(
                "\"{}\" is not a valid key-value pair for the @inject tag",
                source.text
            )
        })?;
        Ok(code)
    }
}

#[derive(Default)]
struct SlotTokens<'s> {
    tokens: Vec<Token<'s>>,
    prop: Option<Rc<str>>,
}

fn literal_text(argument: &Argument) -> Option<Rc<str>> {
    match argument.literal.as_ref()? {
        expr::Value::String(text) => Some(text.clone()),
        expr::Value::Number(number) => Some(number_to_string(*number).into()),
        _ => Some(argument.text.as_str().into()),
    }
}

pub(super) fn orphan_slot(tag: &Tag<'_>) -> Fault {
    let message = "@slot tag must appear as top level tag inside the @component tag";
    Fault::new("E_ORPHAN_SLOT_TAG", message, tag.at())
}
