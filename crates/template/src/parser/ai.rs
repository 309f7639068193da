//! `@ai` and the tags inside it.

use std::borrow::Cow;

use super::Parser;
use super::names::quoted;
use crate::error::Fault;
use crate::node::{Ai, Code, Node, Part};
use crate::tags::{AiPart, TagKind};
use crate::token::{Source, Tag, Token};

impl Parser<'_> {
    pub(super) fn ai(&mut self, mut tag: Tag<'_>) -> Result<Node, Fault> {
        if self.in_ai {
            let message = "@ai cannot stand inside another @ai";
            return Err(Fault::new("E_NESTED_AI_TAG", message, tag.at())
                .hint("end the first one with @end"));
        }
        let key = self.options(&tag.argument)?;
        if key.is_none() && !names_key(&tag.children) {
            let fault = Fault::new("E_AI_KEY_MISSING", "this @ai block has no key", tag.at());
            return Err(fault.hint("write @ai('key'), or @output({ key: 'key' }) inside it"));
        }
        self.note_key(&tag.argument.text);
        let placing = self.placing(&tag);
        let at = tag.at();
        let children = std::mem::take(&mut tag.children);
        self.in_ai = true;
        self.scope.push_block();
        self.open_block();
        let body = self.body(children);
        self.blocks.pop();
        self.scope.pop_block();
        self.in_ai = false;
        Ok(Node::Ai(Box::new(Ai {
            key,
            body: body?,
            at,
            placing,
        })))
    }

    pub(super) fn ai_part(&mut self, tag: Tag<'_>, part: AiPart) -> Result<Node, Fault> {
        if !self.in_ai && part != AiPart::Context {
            return Err(orphan_part(&tag, part));
        }
        let options = self.options(&tag.argument)?;
        if options.is_some() && part != AiPart::Output {
            let message = format!("@{}() takes no arguments", part.name());
            return Err(Fault::new("E_UNALLOWED_EXPRESSION", message, tag.at())
                .hint("only @ai and @output have options"));
        }
        if part == AiPart::Output {
            self.note_key(&tag.argument.text);
        }
        let language = tag.suffix.map(Into::into);
        let at = tag.at();
        self.scope.push_block();
        self.open_block();
        let body = self.body(tag.children);
        self.blocks.pop();
        self.scope.pop_block();
        Ok(Node::AiPart(Box::new(Part {
            part,
            options,
            language,
            body: body?,
            at,
        })))
    }

    /// The options of a tag; parentheses let an object literal begin the expression.
    fn options(&mut self, source: &Source<'_>) -> Result<Option<Code>, Fault> {
        if source.text.trim().is_empty() {
            return Ok(None);
        }
        let text = Cow::Owned(format!("({}\n)", source.text));
        let column = source.column.saturating_sub(1);
        let wrapped = Source {
            text,
            line: source.line,
            column,
        };
        self.code_with(&wrapped, expr::compile).map(Some)
    }

    /// Remembers the key of a question where it is written out: `'k'`, `{ key: 'k' }`.
    fn note_key(&mut self, text: &str) {
        let text = text.trim_start();
        let value = match text.find("key") {
            Some(at) if text.starts_with('{') => {
                let after = text[at + "key".len()..]
                    .trim_start_matches(['"', '\''])
                    .trim_start();
                after.strip_prefix(':').map(str::trim_start)
            }
            _ => Some(text),
        };
        if let Some(key) = value.and_then(quoted) {
            self.answers.asked.push(key.into());
        }
    }
}

/// Whether a tag inside may name the key.
fn names_key(tokens: &[Token<'_>]) -> bool {
    tokens.iter().any(|token| match token {
        Token::Tag(tag) => match tag.kind {
            TagKind::AiPart(AiPart::Output) => !tag.argument.text.trim().is_empty(),
            TagKind::AiPart(_) => false,
            // What is included or rendered by a component is not known yet.
            TagKind::Include | TagKind::IncludeIf | TagKind::Component | TagKind::Custom(_) => true,
            _ => names_key(&tag.children),
        },
        _ => false,
    })
}

fn orphan_part(tag: &Tag<'_>, part: AiPart) -> Fault {
    let code = match part {
        AiPart::Context => "E_ORPHAN_CONTEXT_TAG",
        AiPart::Prompt => "E_ORPHAN_PROMPT_TAG",
        AiPart::Output => "E_ORPHAN_OUTPUT_TAG",
        AiPart::Example => "E_ORPHAN_EXAMPLE_TAG",
    };
    let message = format!("@{} belongs inside @ai", part.name());
    Fault::new(code, message, tag.at())
        .hint("a tag stands alone on its line: `@ai(…)` after other text is text")
}
