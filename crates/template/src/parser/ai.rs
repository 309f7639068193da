//! `@ai` and the tags inside it.

use std::borrow::Cow;

use super::TemplateParser;
use super::names::quoted;
use crate::error::CompileFault;
use crate::node::{AiNode, AiPartNode, LocatedExpr, TemplateNode};
use crate::tags::{AiPart, TagKind};
use crate::token::{JsSource, TagToken, TemplateToken};

impl TemplateParser<'_> {
    pub(super) fn ai(&mut self, mut tag: TagToken<'_>) -> Result<TemplateNode, CompileFault> {
        if self.in_ai {
            let message = "@ai cannot be nested in another @ai";
            return Err(CompileFault::new("E_NESTED_AI_TAG", message, tag.at())
                .hint("end the first one with @end"));
        }
        let key = self.options(&tag.argument)?;
        if key.is_none() && !names_key(&tag.children) {
            let fault =
                CompileFault::new("E_AI_KEY_MISSING", "this @ai block has no key", tag.at());
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
        Ok(TemplateNode::Ai(Box::new(AiNode {
            key,
            body: body?,
            at,
            placing,
        })))
    }

    pub(super) fn ai_part(
        &mut self,
        tag: TagToken<'_>,
        part: AiPart,
    ) -> Result<TemplateNode, CompileFault> {
        if !self.in_ai && part != AiPart::Context {
            return Err(orphan_part(&tag, part));
        }
        let options = self.options(&tag.argument)?;
        if options.is_some() && part != AiPart::Output {
            let message = format!("@{}() takes no arguments", part.name());
            return Err(
                CompileFault::new("E_UNALLOWED_EXPRESSION", message, tag.at())
                    .hint("only @ai and @output have options"),
            );
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
        Ok(TemplateNode::AiPart(Box::new(AiPartNode {
            part,
            options,
            language,
            body: body?,
            at,
        })))
    }

    /// Compiles the options of a tag; the added parentheses let an object literal begin the
    /// expression.
    fn options(&mut self, source: &JsSource<'_>) -> Result<Option<LocatedExpr>, CompileFault> {
        if source.text.trim().is_empty() {
            return Ok(None);
        }
        let text = Cow::Owned(format!("({}\n)", source.text));
        let column = source.column.saturating_sub(1);
        let wrapped = JsSource {
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

/// Returns true if a tag inside may name the key.
fn names_key(tokens: &[TemplateToken<'_>]) -> bool {
    tokens.iter().any(|token| match token {
        TemplateToken::Tag(tag) => match tag.kind {
            TagKind::AiPart(AiPart::Output) => !tag.argument.text.trim().is_empty(),
            TagKind::AiPart(_) => false,
            // The output of an include or a component is not known yet.
            TagKind::Include | TagKind::IncludeIf | TagKind::Component | TagKind::Custom(_) => true,
            _ => names_key(&tag.children),
        },
        _ => false,
    })
}

fn orphan_part(tag: &TagToken<'_>, part: AiPart) -> CompileFault {
    let code = match part {
        AiPart::Context => "E_ORPHAN_CONTEXT_TAG",
        AiPart::Prompt => "E_ORPHAN_PROMPT_TAG",
        AiPart::Output => "E_ORPHAN_OUTPUT_TAG",
        AiPart::Example => "E_ORPHAN_EXAMPLE_TAG",
    };
    let message = format!("@{} belongs inside @ai", part.name());
    CompileFault::new(code, message, tag.at())
        .hint("a tag must be alone on its line: `@ai(…)` after other text is text")
}
