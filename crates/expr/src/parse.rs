//! Parses text to a tree: one entry point per place an expression can be in.

use std::rc::Rc;

use oxc_allocator::Allocator;
use oxc_ast::ast::{AssignmentExpression, Expression};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType};
use oxc_syntax::operator::{AssignmentOperator, BinaryOperator};

use crate::error::{Error, ExprErrorCode};
use crate::ir::{ArgumentList, DestructurePattern, ElementNode, Expr, ExprKind, ExprNode};
use crate::lower::ExprLowering;
use crate::nesting::with_stack_for;
use crate::scope::NameScope;
use crate::value::Value;

/// Text that is put before an expression that uses `await`, so that the parser allows it.
const AWAIT_PREFIX: &str = "async()=>(";

/// One argument of a tag.
#[derive(Debug)]
pub struct ParsedArgument {
    pub expr: Expr,
    /// The value, when the argument is a literal.
    pub literal: Option<Value>,
    /// The name, when the argument is a plain identifier.
    pub identifier: Option<Rc<str>>,
    pub offset: u32,
    pub text: String,
}

/// The head of a loop: `item in list`, `(item, index) in list`.
#[derive(Debug)]
pub struct EachHead {
    pub item: String,
    pub index: Option<String>,
    pub list: Expr,
}

/// The head of a declaration: `pattern = value`.
#[derive(Debug)]
pub struct LetHead {
    pub pattern: DestructurePattern,
    pub value: Expr,
}

/// Compiles one expression.
pub fn compile(source: &str, scope: &mut NameScope) -> Result<Expr, Error> {
    compile_at(source, 0, scope)
}

/// Compiles an expression that begins `start` bytes into the user's text.
fn compile_at(source: &str, start: usize, scope: &mut NameScope) -> Result<Expr, Error> {
    let start = u32::try_from(start).unwrap_or(u32::MAX);
    parsed(source, |expression, text| {
        ExprLowering::new(ParserInput { start, ..text }, scope).whole(expression)
    })
    .map_err(|error| error.shifted(start))
}

/// Compiles an expression that may be piped through filters: `outer :: inner :: value`.
pub fn compile_filtered(source: &str, scope: &mut NameScope) -> Result<Expr, Error> {
    let mut ends = filter_marks(source);
    let Some(last) = ends.pop() else {
        return compile(source, scope);
    };
    let mut expr = compile_at(&source[last + 2..], last + 2, scope)?;
    let mut end = last;
    loop {
        let start = ends.pop().map_or(0, |mark| mark + 2);
        let text = &source[start..end];
        if text.trim().is_empty() {
            let message = "a filter's name is missing before \"::\"";
            return Err(
                Error::new(ExprErrorCode::Parser, message).at(u32::try_from(start).unwrap_or(0))
            );
        }
        let filter = compile_at(text, start, scope)?;
        expr = apply_filter(filter, expr, text.trim(), start);
        if start == 0 {
            return Ok(expr);
        }
        end = start - 2;
    }
}

fn apply_filter(filter: Expr, value: Expr, text: &str, start: usize) -> Expr {
    let node = ExprNode::Call(Box::new(crate::ir::CallNode {
        callee: filter.node,
        arguments: ArgumentList::Computed(Box::new([ElementNode::One(value.node)])),
        optional: false,
        text: text.into(),
        at: u32::try_from(start).unwrap_or(u32::MAX),
    }));
    Expr {
        node,
        shape: ExprKind::Call,
    }
}

/// Compiles a comma-separated list of arguments; nothing at all is an empty list.
pub fn compile_arguments(
    source: &str,
    scope: &mut NameScope,
) -> Result<Vec<ParsedArgument>, Error> {
    if source.trim().is_empty() {
        return Ok(Vec::new());
    }
    parsed(source, |expression, text| {
        let mut lowering = ExprLowering::new(text, scope);
        match expression {
            Expression::SequenceExpression(sequence)
                if !text.is_parenthesised(sequence.span.start) =>
            {
                let parts = sequence.expressions.iter();
                parts
                    .map(|part| argument(&mut lowering, part, text))
                    .collect()
            }
            single => Ok(vec![argument(&mut lowering, single, text)?]),
        }
    })
}

/// The text the parser saw, and where the user's own text begins in it.
#[derive(Clone, Copy)]
pub(crate) struct ParserInput<'t> {
    pub(crate) whole: &'t str,
    /// Length of the front that is not the user's.
    pub(crate) prefix: u32,
    /// Offset of the user's part in a longer text of theirs.
    pub(crate) start: u32,
}

impl ParserInput<'_> {
    /// Returns true if an opening parenthesis comes before a sequence: then it is one argument, not
    /// several.
    fn is_parenthesised(&self, start: u32) -> bool {
        self.whole
            .get(self.prefix as usize..start as usize)
            .is_some_and(|before| before.trim_end().ends_with('('))
    }
}

fn argument(
    lowering: &mut ExprLowering<'_, '_>,
    part: &Expression<'_>,
    text: ParserInput<'_>,
) -> Result<ParsedArgument, Error> {
    let expr = lowering.whole(part)?;
    let literal = match &expr.node {
        ExprNode::Constant(value) if expr.shape == ExprKind::Literal => Some(value.clone()),
        _ => None,
    };
    let identifier = match part {
        Expression::Identifier(identifier) => Some(Rc::from(identifier.name.as_str())),
        _ => None,
    };
    let span = part.span();
    let offset = span.start.saturating_sub(text.prefix);
    Ok(ParsedArgument {
        expr,
        literal,
        identifier,
        offset,
        text: lowering.text(span).to_owned(),
    })
}

/// Compiles the head of `@each`.
pub fn compile_each(source: &str, scope: &mut NameScope) -> Result<EachHead, Error> {
    let invalid = || {
        let message = format!(
            "\"{}\" is not valid expression for the @each tag",
            source.trim()
        );
        Error::new(ExprErrorCode::UnallowedExpression, message).at(0)
    };
    parsed(source, |expression, text| {
        let Expression::BinaryExpression(binary) = expression else {
            return Err(invalid());
        };
        if binary.operator != BinaryOperator::In {
            return Err(invalid());
        }
        let name = |part: &Expression<'_>| match part {
            Expression::Identifier(identifier) => Ok(identifier.name.to_string()),
            _ => Err(invalid()),
        };
        let (item, index) = match &binary.left {
            Expression::SequenceExpression(pair) if pair.expressions.len() == 2 => (
                name(&pair.expressions[0])?,
                Some(name(&pair.expressions[1])?),
            ),
            single => (name(single)?, None),
        };
        let list = ExprLowering::new(text, scope).whole(&binary.right)?;
        Ok(EachHead { item, index, list })
    })
}

/// Compiles the head of `@let` and declares its names.
pub fn compile_let(source: &str, scope: &mut NameScope) -> Result<LetHead, Error> {
    // A pattern at the start would read as a block; parentheses make it an expression.
    let wrapped = format!("({source}\n)");
    let result = parsed(&wrapped, |expression, text| {
        let Expression::AssignmentExpression(assignment) = expression else {
            return Err(invalid_let(source));
        };
        let_head(text, assignment, scope)
    });
    result.map_err(|error| error.unshifted(1))
}

fn let_head(
    text: ParserInput<'_>,
    assignment: &AssignmentExpression<'_>,
    scope: &mut NameScope,
) -> Result<LetHead, Error> {
    if assignment.operator != AssignmentOperator::Assign {
        return Err(invalid_let(text.whole));
    }
    // The parenthesis put in front is not the user's either.
    let text = ParserInput {
        prefix: text.prefix + 1,
        ..text
    };
    let mut lowering = ExprLowering::new(text, scope);
    let value = lowering.whole(&assignment.right)?;
    let pattern = DestructurePattern(lowering.declaring().target(&assignment.left)?);
    Ok(LetHead { pattern, value })
}

fn invalid_let(source: &str) -> Error {
    let message = format!(
        "\"{}\" is not a valid expression for the @let tag",
        source.trim()
    );
    Error::new(ExprErrorCode::UnallowedExpression, message).at(0)
}

/// Parses `source` and hands the tree on while the parser's memory lives.
pub(crate) fn parsed<R>(
    source: &str,
    lower: impl FnOnce(&Expression<'_>, ParserInput<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    with_stack_for(source, || {
        let options = ParseOptions {
            preserve_parens: false,
            ..ParseOptions::default()
        };
        let allocator = Allocator::default();
        // Scripts allow names such as `package` and `interface`, which modules reserve; only
        // inside an async function do they allow `await`.
        if !source.contains("await") {
            let expression = Parser::new(&allocator, source, SourceType::script())
                .with_options(options)
                .parse_expression()
                .map_err(|diagnostics| parser_error(&diagnostics, 0, source))?;
            return lower(
                &expression,
                ParserInput {
                    whole: source,
                    prefix: 0,
                    start: 0,
                },
            );
        }
        let wrapped = format!("{AWAIT_PREFIX}{source}\n)");
        let prefix = u32::try_from(AWAIT_PREFIX.len()).unwrap_or(0);
        let expression = Parser::new(&allocator, &wrapped, SourceType::script())
            .with_options(options)
            .parse_expression()
            .map_err(|diagnostics| parser_error(&diagnostics, prefix, source))?;
        match body_of_wrapper(&expression) {
            Some(body) => lower(
                body,
                ParserInput {
                    whole: &wrapped,
                    prefix,
                    start: 0,
                },
            )
            .map_err(|error| error.unshifted(prefix)),
            None => Err(Error::new(ExprErrorCode::Parser, "Unexpected token").at(0)),
        }
    })
}

fn body_of_wrapper<'a, 'b>(expression: &'b Expression<'a>) -> Option<&'b Expression<'a>> {
    match expression {
        Expression::ArrowFunctionExpression(arrow) => crate::lower_function::expression_body(arrow),
        _ => None,
    }
}

fn parser_error(diagnostics: &oxc_diagnostics::Diagnostics, prefix: u32, source: &str) -> Error {
    let (message, offset) = match diagnostics.first() {
        Some(first) => {
            let offset = first.labels.first().map_or(0, |label| label.offset());
            (first.message.to_string(), offset)
        }
        None => ("Unexpected token".to_owned(), 0),
    };
    let offset = offset.saturating_sub(prefix);
    let end = u32::try_from(source.len()).unwrap_or(u32::MAX);
    Error::new(ExprErrorCode::Parser, message).at(offset.min(end))
}

/// Returns the positions of `::` outside of strings and brackets.
fn filter_marks(source: &str) -> Vec<usize> {
    if !source.contains("::") {
        return Vec::new();
    }
    let bytes = source.as_bytes();
    let (mut marks, mut depth, mut quote, mut at) = (Vec::new(), 0_usize, None, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        match quote {
            Some(_) if byte == b'\\' => at += 1,
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None => match byte {
                b'"' | b'\'' | b'`' => quote = Some(byte),
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b':' if depth == 0 && bytes.get(at + 1) == Some(&b':') => {
                    marks.push(at);
                    at += 1;
                }
                _ => {}
            },
        }
        at += 1;
    }
    marks
}
