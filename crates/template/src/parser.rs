//! Tokens to the tree that renders: expressions compiled, names resolved, tags checked.
// tidy: allow long-file, because it is one parser with all its tags

mod ai;
mod arguments;
mod components;
mod names;

pub(crate) use arguments::code_name;
pub(crate) use names::{bound_by_let, is_word};

use std::collections::HashSet;
use std::rc::Rc;

use expr::{ExprKind, NameScope};

use crate::error::{CompileFault, Error};
use crate::layout::{self, TemplateLayout};
use crate::lexer;
use crate::limits::Limits;
use crate::loader::ComponentTags;
use crate::node::{
    AnswerNames, CodeOrigin, EachNode, IfBranch, IfNode, IncludeNode, LetNode, LocatedExpr,
    NewError, NodeList, OutputPlacement, PushNode, StackNode, Template, TemplateNode,
};
use crate::tags::TagKind;
use crate::token::{JsSource, TagToken, TemplateToken};

/// A template to be compiled, and where it will run.
pub(crate) struct CompileUnit<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    pub(crate) layout: TemplateLayout,
    /// The variables of the template that includes this one.
    pub(crate) locals: &'a [Rc<str>],
    /// True if it runs inside an `@ai` block.
    pub(crate) in_ai: bool,
}

/// Compiles one template.
pub(crate) fn parse(
    unit: &CompileUnit<'_>,
    components: &ComponentTags,
    limits: &Limits,
) -> Result<Template, Error> {
    let parsed = parse_unit(unit, components, limits);
    parsed.map_err(|fault| fault.in_file(unit.file, unit.text))
}

fn parse_unit(
    unit: &CompileUnit<'_>,
    components: &ComponentTags,
    limits: &Limits,
) -> Result<Template, CompileFault> {
    if unit.text.len() > limits.template_bytes_max {
        let (size, max) = (unit.text.len(), limits.template_bytes_max);
        let message =
            format!("a template of {size} bytes is longer than template_bytes_max = {max}");
        return Err(CompileFault::new("E_LIMIT_EXCEEDED", message, (0, 0)));
    }
    let mut tokens = lexer::lex(unit.text, unit.layout, components, limits)?;
    if unit.layout == TemplateLayout::Jig {
        layout::dedent(&mut tokens);
    }
    let mut parser = TemplateParser {
        layout: unit.layout,
        limits,
        scope: NameScope::new(),
        blocks: Vec::new(),
        variables: 0,
        passed: 0,
        in_ai: unit.in_ai,
        has_functions: unit.text.contains("=>"),
        answers: AnswerNames::default(),
    };
    // Their slots are `FILENAME_SLOT` and `CONTEXT_SLOT`.
    parser.scope.declare("$filename");
    parser.scope.declare("$context");
    parser.open_block();
    for name in unit.locals {
        parser.scope.declare(name);
        parser.add_name(name.clone());
    }
    parser.open_block();
    let body = parser.body(tokens)?;
    Ok(Template {
        file: unit.file.into(),
        source: unit.text.into(),
        layout: unit.layout,
        body,
        slots: parser.scope.slots(),
        answers: parser.answers,
    })
}

/// Stack left below which a nested block moves to a fresh stack segment, and the segment's size.
const STACK_RED_ZONE_BYTES: usize = 512 << 10;
const STACK_SEGMENT_BYTES: usize = 4 << 20;

/// Variables one template may declare.
const VARIABLES_MAX: usize = 10_000;

struct TemplateParser<'e> {
    layout: TemplateLayout,
    limits: &'e Limits,
    scope: NameScope,
    /// The variables of every open block, as the scope knows them.
    blocks: Vec<BlockNames>,
    variables: usize,
    /// Number of variables that all includes together pass on.
    passed: usize,
    in_ai: bool,
    has_functions: bool,
    answers: AnswerNames,
}

#[derive(Default)]
struct BlockNames {
    visible: Vec<Rc<str>>,
    /// Those declared with `@let`, which JavaScript allows once per block.
    declared: HashSet<Rc<str>>,
}

/// Collects nodes and joins neighbouring text.
#[derive(Default)]
struct NodeBuilder {
    nodes: Vec<TemplateNode>,
    text: String,
}

impl NodeBuilder {
    fn push(&mut self, node: TemplateNode) {
        self.flush();
        self.nodes.push(node);
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.nodes
                .push(TemplateNode::Text(self.text.as_str().into()));
            self.text.clear();
        }
    }

    fn finish(mut self) -> NodeList {
        self.flush();
        self.nodes.into_boxed_slice()
    }
}

impl TemplateParser<'_> {
    fn body(&mut self, tokens: Vec<TemplateToken<'_>>) -> Result<NodeList, CompileFault> {
        let mut nodes = NodeBuilder::default();
        for token in tokens {
            self.token(token, &mut nodes)?;
        }
        Ok(nodes.finish())
    }

    fn token(
        &mut self,
        token: TemplateToken<'_>,
        nodes: &mut NodeBuilder,
    ) -> Result<(), CompileFault> {
        match token {
            TemplateToken::Newline => nodes.text.push('\n'),
            TemplateToken::Text { text, .. } => nodes.text.push_str(&text),
            TemplateToken::Mustache(source) => {
                let code = self.code_with(&source, expr::compile_filtered)?;
                nodes.push(TemplateNode::Emit(code));
            }
            TemplateToken::Tag(tag) if tag.escaped => self.escaped_tag(*tag, nodes)?,
            TemplateToken::Tag(tag) => {
                // Blocks nest in the parser as they do in the template.
                let node = stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || {
                    self.tag(*tag)
                })?;
                if let Some(node) = node {
                    nodes.push(node);
                }
            }
        }
        Ok(())
    }

    /// Prints an escaped tag and its end around the body, all on one line, as Edge does.
    fn escaped_tag(
        &mut self,
        tag: TagToken<'_>,
        nodes: &mut NodeBuilder,
    ) -> Result<(), CompileFault> {
        let argument = tag.argument.text.replace('\n', "");
        nodes.text.push_str(&format!("@{}({argument})", tag.name));
        for child in tag.children {
            self.token(child, nodes)?;
        }
        nodes.text.push_str(&format!("@end{}", tag.name));
        Ok(())
    }

    fn tag(&mut self, tag: TagToken<'_>) -> Result<Option<TemplateNode>, CompileFault> {
        Ok(Some(match &tag.kind {
            TagKind::If | TagKind::Unless => self.if_tag(tag)?,
            TagKind::Each => self.each(tag)?,
            TagKind::Else | TagKind::ElseIf => return Err(orphan_else(&tag)),
            TagKind::Let => self.let_tag(&tag)?,
            TagKind::Assign => {
                let code = self.code(&tag.argument, "assign")?;
                let message = "Invalid expression for the @assign tag";
                arguments::allow(&code, &[ExprKind::Assignment], || message.to_owned())?;
                TemplateNode::Eval(Box::new(code))
            }
            TagKind::Eval => TemplateNode::Eval(Box::new(self.code(&tag.argument, "eval")?)),
            TagKind::Include => self.include(&tag)?,
            TagKind::IncludeIf => self.include_if(&tag)?,
            TagKind::Component | TagKind::Custom(_) => self.component(tag)?,
            TagKind::Slot => return Err(components::orphan_slot(&tag)),
            TagKind::Inject => TemplateNode::Inject(Box::new(self.inject(&tag)?)),
            TagKind::Stack => {
                let name = self.single(&tag.argument, "\"@stack\"")?;
                let placing = self.placing(&tag);
                TemplateNode::Stack(Box::new(StackNode { name, placing }))
            }
            TagKind::PushTo | TagKind::PushOnceTo => self.push_to(tag)?,
            TagKind::Debugger => return Ok(None),
            TagKind::NewError => self.new_error(&tag)?,
            TagKind::Ai => self.ai(tag)?,
            TagKind::AiPart(part) => {
                let part = *part;
                self.ai_part(tag, part)?
            }
        }))
    }

    fn if_tag(&mut self, tag: TagToken<'_>) -> Result<TemplateNode, CompileFault> {
        let wanted = tag.kind == TagKind::If;
        let mut test = self.single(&tag.argument, &format!("@{}", tag.name))?;
        let mut wanted = wanted;
        let mut branches = Vec::new();
        let mut otherwise = None;
        let mut tokens = tag.children.into_iter();
        loop {
            let (body, next) = self.branch(&mut tokens)?;
            branches.push(IfBranch { test, wanted, body });
            let Some(next) = next else { break };
            if next.kind == TagKind::Else {
                let (body, extra) = self.branch(&mut tokens)?;
                if let Some(extra) = extra {
                    return Err(orphan_else(&extra));
                }
                otherwise = Some(body);
                break;
            }
            test = self.single(&next.argument, "@elseif")?;
            wanted = true;
        }
        let branches = branches.into_boxed_slice();
        Ok(TemplateNode::If(Box::new(IfNode {
            branches,
            otherwise,
        })))
    }

    /// Compiles up to the next `@else` or `@elseif`, which is the second half of the answer.
    fn branch<'s>(
        &mut self,
        tokens: &mut std::vec::IntoIter<TemplateToken<'s>>,
    ) -> Result<(NodeList, Option<Box<TagToken<'s>>>), CompileFault> {
        self.scope.push_block();
        self.open_block();
        let mut nodes = NodeBuilder::default();
        let mut next = None;
        for token in tokens.by_ref() {
            match token {
                TemplateToken::Tag(tag)
                    if !tag.escaped && matches!(tag.kind, TagKind::Else | TagKind::ElseIf) =>
                {
                    next = Some(tag);
                    break;
                }
                token => self.token(token, &mut nodes)?,
            }
        }
        self.close_branch();
        Ok((nodes.finish(), next))
    }

    fn each(&mut self, tag: TagToken<'_>) -> Result<TemplateNode, CompileFault> {
        let source = &tag.argument;
        let head = expr::compile_each(&source.text, &mut self.scope)
            .map_err(|error| arguments::fault(&error, source))?;
        self.note_answers(&source.text);
        let origin = arguments::origin(source);
        let list = LocatedExpr {
            expr: head.list,
            origin: Box::new(origin),
        };
        let own_frame = self.has_functions && names::has_function(&tag.children);
        if own_frame {
            self.scope.push_frame();
        } else {
            self.scope.push_block();
        }
        self.open_block();
        let item = self.declare(&head.item, tag.at())?;
        let index = match &head.index {
            Some(index) => Some(self.declare(index, tag.at())?),
            None => None,
        };
        let names = [Some(head.item), head.index].into_iter().flatten();
        let names = names.map(Rc::from).collect();
        let mut tokens = tag.children.into_iter();
        let mut nodes = NodeBuilder::default();
        let mut else_tag = None;
        for token in tokens.by_ref() {
            match token {
                TemplateToken::Tag(tag) if !tag.escaped && tag.kind == TagKind::Else => {
                    else_tag = Some(tag);
                    break;
                }
                token => self.token(token, &mut nodes)?,
            }
        }
        self.blocks.pop();
        let frame = if own_frame {
            Some(self.scope.pop_frame())
        } else {
            self.scope.pop_block();
            None
        };
        let otherwise = match else_tag {
            None => None,
            Some(_) => match self.branch(&mut tokens)? {
                (_, Some(extra)) => return Err(orphan_else(&extra)),
                (body, None) => Some(body),
            },
        };
        let body = nodes.finish();
        Ok(TemplateNode::Each(Box::new(EachNode {
            list,
            item,
            index,
            names,
            frame,
            body,
            otherwise,
        })))
    }

    fn let_tag(&mut self, tag: &TagToken<'_>) -> Result<TemplateNode, CompileFault> {
        let source = &tag.argument;
        let head = expr::compile_let(&source.text, &mut self.scope)
            .map_err(|error| arguments::fault(&error, source))?;
        self.note_answers(&source.text);
        for name in names::bound_by_let(&source.text) {
            self.count_variable(tag.at())?;
            let name: Rc<str> = name.into();
            self.add_name(name.clone());
            let fresh = self
                .blocks
                .last_mut()
                .is_none_or(|block| block.declared.insert(name.clone()));
            if !fresh {
                let message = format!("Identifier '{name}' has already been declared");
                return Err(CompileFault::new("E_ACORN_ERROR", message, tag.at())
                    .hint(format!("use @assign({name} = …) to change it")));
            }
        }
        let origin = arguments::origin(source);
        Ok(TemplateNode::Let(Box::new(LetNode { head, origin })))
    }

    fn include(&mut self, tag: &TagToken<'_>) -> Result<TemplateNode, CompileFault> {
        let path = self.code(&tag.argument, "include")?;
        arguments::allow(&path, arguments::PATH_SHAPES, || {
            arguments::not_valid(&tag.argument, "@include")
        })?;
        self.included(tag, None, path)
    }

    fn include_if(&mut self, tag: &TagToken<'_>) -> Result<TemplateNode, CompileFault> {
        let mut arguments = self.arguments(&tag.argument)?;
        let at = arguments::start(&tag.argument);
        if arguments.len() < 2 {
            let message = arguments::not_valid(&tag.argument, "@includeIf");
            return Err(CompileFault::new("E_UNALLOWED_EXPRESSION", message, at));
        }
        if arguments.len() > 2 {
            let message = "@includeIf expects a total of 2 arguments";
            return Err(CompileFault::new("E_ARGUMENTS_MIS_MATCH", message, at));
        }
        let path = arguments.pop();
        let (Some(condition), Some(path)) = (arguments.pop(), path) else {
            return Err(CompileFault::new(
                "E_ARGUMENTS_MIS_MATCH",
                "@includeIf expects a total of 2 arguments",
                at,
            ));
        };
        let shape = path.code.expr.shape();
        if !arguments::PATH_SHAPES.contains(&shape) {
            let name = shape.name();
            let message =
                format!("\"{name}\" is not a valid 2nd argument type for the @includeIf tag");
            return Err(CompileFault::new(
                "E_UNALLOWED_EXPRESSION",
                message,
                path.at,
            ));
        }
        self.included(tag, Some(condition.code), path.code)
    }

    fn included(
        &mut self,
        tag: &TagToken<'_>,
        condition: Option<LocatedExpr>,
        path: LocatedExpr,
    ) -> Result<TemplateNode, CompileFault> {
        let locals = self.visible_names();
        self.passed += locals.len();
        if self.passed > self.limits.parts_max {
            let max = self.limits.parts_max;
            let message = format!(
                "the includes of this template pass on more variables than parts_max = {max}"
            );
            return Err(CompileFault::new("E_LIMIT_EXCEEDED", message, tag.at()));
        }
        let mut values = Vec::with_capacity(locals.len());
        for name in &locals {
            let value = expr::compile(name, &mut self.scope);
            values.push(value.map_err(|error| arguments::fault(&error, &tag.argument))?);
        }
        Ok(TemplateNode::Include(Box::new(IncludeNode {
            condition,
            path,
            locals: locals.into(),
            values: values.into_boxed_slice(),
            context: self.context(&tag.argument)?,
            placing: self.placing(tag),
            in_ai: self.in_ai,
            found: std::cell::RefCell::default(),
        })))
    }

    fn push_to(&mut self, tag: TagToken<'_>) -> Result<TemplateNode, CompileFault> {
        let name = self.single(&tag.argument, &format!("\"@{}\"", tag.name))?;
        let once = (tag.kind == TagKind::PushOnceTo).then(|| tag.at());
        let body = self.body(tag.children)?;
        Ok(TemplateNode::Push(Box::new(PushNode { name, body, once })))
    }

    fn new_error(&mut self, tag: &TagToken<'_>) -> Result<TemplateNode, CompileFault> {
        let arguments = self.arguments(&tag.argument)?;
        let mut codes = arguments.into_iter().map(|argument| argument.code);
        let Some(message) = codes.next() else {
            return Err(arguments::empty(&tag.argument, "@newError"));
        };
        let (file, line, column) = (codes.next(), codes.next(), codes.next());
        let at = tag.at();
        Ok(TemplateNode::NewError(Box::new(NewError {
            message,
            file,
            line,
            column,
            at,
        })))
    }

    /// Returns `$context` as the scope resolves it here.
    fn context(&mut self, source: &JsSource<'_>) -> Result<expr::Expr, CompileFault> {
        let context = expr::compile("$context", &mut self.scope);
        context.map_err(|error| arguments::fault(&error, source))
    }

    /// Decides the placement of the tag's output.
    fn placing(&self, tag: &TagToken<'_>) -> OutputPlacement {
        if self.layout == TemplateLayout::Edge && tag.kind != TagKind::Ai {
            return OutputPlacement::Inline;
        }
        OutputPlacement::Lines {
            newline: tag.newline_before,
            indent: tag.indent.into(),
        }
    }
}

fn orphan_else(tag: &TagToken<'_>) -> CompileFault {
    let message = format!(
        "@{} belongs directly inside @if, @unless or @each",
        tag.name
    );
    CompileFault::new("E_ORPHAN_ELSE_TAG", message, tag.at())
}

impl From<&JsSource<'_>> for CodeOrigin {
    fn from(source: &JsSource<'_>) -> Self {
        CodeOrigin {
            line: source.line,
            column: source.column,
            text: source.text.as_ref().into(),
        }
    }
}
