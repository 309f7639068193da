//! `@component`, component tags, `@slot` and `@inject`.

use std::borrow::Cow;
use std::rc::Rc;

use expr::{ExprKind, number_to_string};
use indexmap::IndexMap;

use super::arguments::{self, PATH_SHAPES, TagArgument};
use super::{NodeBuilder, TemplateParser};
use crate::error::CompileFault;
use crate::node::{ComponentName, ComponentNode, LocatedExpr, SlotBody, TemplateNode};
use crate::tags::TagKind;
use crate::token::{JsSource, TagToken, TemplateToken};

impl TemplateParser<'_> {
    pub(super) fn component(
        &mut self,
        mut tag: TagToken<'_>,
    ) -> Result<TemplateNode, CompileFault> {
        let (name, props) = self.name_and_props(&tag)?;
        let children = std::mem::take(&mut tag.children);
        let mut main = Vec::new();
        let mut slots: IndexMap<Rc<str>, SlotTokens<'_>> = IndexMap::new();
        for child in children {
            match child {
                TemplateToken::Tag(slot) if slot.kind == TagKind::Slot && !slot.escaped => {
                    let (name, prop) = self.slot_head(&slot)?;
                    let tokens = slots.entry(name).or_default();
                    tokens.prop = tokens.prop.take().or(prop);
                    tokens.tokens.extend(slot.children);
                }
                // Newlines before the first thing in the main slot are not part of it.
                TemplateToken::Newline if main.is_empty() => {}
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
        Ok(TemplateNode::Component(Box::new(ComponentNode {
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

    fn name_and_props(
        &mut self,
        tag: &TagToken<'_>,
    ) -> Result<(ComponentName, Option<LocatedExpr>), CompileFault> {
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
            return Err(CompileFault::new(
                "E_UNALLOWED_EXPRESSION",
                message,
                name.at,
            ));
        }
        Ok((ComponentName::Computed(name.code), props))
    }

    /// Reads the name of a slot and the variable that takes what the component passes to it.
    fn slot_head(
        &mut self,
        tag: &TagToken<'_>,
    ) -> Result<(Rc<str>, Option<Rc<str>>), CompileFault> {
        let refuse =
            |message: String, at| Err(CompileFault::new("E_UNALLOWED_EXPRESSION", message, at));
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
            return Err(CompileFault::new("E_MAX_ARGUMENTS", message, start));
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
    fn slot_body(
        &mut self,
        slot: SlotTokens<'_>,
        at: (u32, u32),
    ) -> Result<SlotBody, CompileFault> {
        self.scope.push_frame();
        // Its slot is `SLOT_CONTEXT_SLOT`.
        self.scope.declare("$context");
        self.open_block();
        let prop = match slot.prop {
            Some(name) => Some(self.declare(&name, at)?),
            None => None,
        };
        let mut nodes = NodeBuilder::default();
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

    pub(super) fn inject(&mut self, tag: &TagToken<'_>) -> Result<LocatedExpr, CompileFault> {
        // Parentheses let an object literal begin the expression.
        let text = format!("({})", tag.argument.text);
        let column = tag.argument.column.saturating_sub(1);
        let source = JsSource {
            text: Cow::Owned(text),
            line: tag.argument.line,
            column,
        };
        let code = self.code(&source, "inject")?;
        let shapes = [ExprKind::Object, ExprKind::Identifier, ExprKind::Call];
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
    tokens: Vec<TemplateToken<'s>>,
    prop: Option<Rc<str>>,
}

fn literal_text(argument: &TagArgument) -> Option<Rc<str>> {
    match argument.literal.as_ref()? {
        expr::Value::String(text) => Some(text.clone()),
        expr::Value::Number(number) => Some(number_to_string(*number).into()),
        _ => Some(argument.text.as_str().into()),
    }
}

pub(super) fn orphan_slot(tag: &TagToken<'_>) -> CompileFault {
    let message = "@slot tag must appear as top level tag inside the @component tag";
    CompileFault::new("E_ORPHAN_SLOT_TAG", message, tag.at())
}
