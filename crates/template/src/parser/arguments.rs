//! The arguments of tags: compiled, and checked for the shapes a tag takes.

use expr::{Expr, ExprKind, NameScope};

use super::TemplateParser;
use super::names::word;
use crate::error::CompileFault;
use crate::lines::is_space;
use crate::node::{CodeOrigin, LocatedExpr, place_in};
use crate::token::JsSource;

/// Kinds of expression that may name a partial.
pub(super) const PATH_SHAPES: &[ExprKind] = &[
    ExprKind::Literal,
    ExprKind::Identifier,
    ExprKind::Call,
    ExprKind::TemplateLiteral,
    ExprKind::Member,
    ExprKind::Logical,
    ExprKind::Conditional,
];

/// One of several arguments.
pub(super) struct TagArgument {
    pub(super) code: LocatedExpr,
    pub(super) literal: Option<expr::Value>,
    pub(super) identifier: Option<std::rc::Rc<str>>,
    pub(super) text: String,
    pub(super) at: (u32, u32),
}

impl TemplateParser<'_> {
    /// Compiles a tag's argument as one expression.
    pub(super) fn code(
        &mut self,
        source: &JsSource<'_>,
        tag: &str,
    ) -> Result<LocatedExpr, CompileFault> {
        if source.text.chars().all(is_space) {
            return Err(empty(source, &format!("@{tag}")));
        }
        self.code_with(source, expr::compile)
    }

    pub(super) fn code_with(
        &mut self,
        source: &JsSource<'_>,
        compile: fn(&str, &mut NameScope) -> Result<Expr, expr::Error>,
    ) -> Result<LocatedExpr, CompileFault> {
        // A semicolon at the end is a habit, and Edge lets it pass.
        let text = source.text.trim_end_matches(is_space);
        let text = text.strip_suffix(';').unwrap_or(text);
        let expr = compile(text, &mut self.scope).map_err(|error| fault(&error, source))?;
        self.note_answers(&source.text);
        Ok(LocatedExpr {
            expr,
            origin: Box::new(origin(source)),
        })
    }

    /// Compiles the argument of a tag that takes exactly one.
    pub(super) fn single(
        &mut self,
        source: &JsSource<'_>,
        tag: &str,
    ) -> Result<LocatedExpr, CompileFault> {
        let name = tag.trim_matches(['"', '@']);
        let code = self.code(source, name)?;
        if code.expr.shape() == ExprKind::Sequence {
            let message = match tag {
                // Edge words this one differently.
                "@elseif" => format!(
                    "{{{}}} is not a valid argument type for the @elseif tag",
                    source.text
                ),
                _ => not_valid(source, tag),
            };
            return Err(CompileFault::new(
                "E_UNALLOWED_EXPRESSION",
                message,
                start(source),
            ));
        }
        Ok(code)
    }

    /// Compiles a list of arguments.
    pub(super) fn arguments(
        &mut self,
        source: &JsSource<'_>,
    ) -> Result<Vec<TagArgument>, CompileFault> {
        let list = expr::compile_arguments(&source.text, &mut self.scope)
            .map_err(|error| fault(&error, source))?;
        self.note_answers(&source.text);
        Ok(list
            .into_iter()
            .map(|argument| TagArgument {
                code: LocatedExpr {
                    expr: argument.expr,
                    origin: Box::new(origin(source)),
                },
                literal: argument.literal,
                identifier: argument.identifier,
                text: argument.text,
                at: place_in(
                    &source.text,
                    argument.offset as usize,
                    (source.line, source.column),
                ),
            })
            .collect())
    }
}

pub(super) fn origin(source: &JsSource<'_>) -> CodeOrigin {
    CodeOrigin::from(source)
}

/// Refuses an expression whose shape is not among `shapes`.
pub(super) fn allow(
    code: &LocatedExpr,
    shapes: &[ExprKind],
    message: impl FnOnce() -> String,
) -> Result<(), CompileFault> {
    if shapes.contains(&code.expr.shape()) {
        return Ok(());
    }
    let CodeOrigin { line, column, text } = &*code.origin;
    // A parenthesis around a list or an object is not part of it; one that begins a function is.
    let around = matches!(
        code.expr.shape(),
        ExprKind::Sequence | ExprKind::Array | ExprKind::Object
    );
    let skipped: &[char] = if around { &['('] } else { &[] };
    let at = start_of(text, (*line, *column), skipped);
    Err(CompileFault::new("E_UNALLOWED_EXPRESSION", message(), at))
}

pub(super) fn not_valid(source: &JsSource<'_>, tag: &str) -> String {
    format!(
        "\"{}\" is not a valid argument type for the {tag} tag",
        source.text
    )
}

pub(super) fn empty(source: &JsSource<'_>, tag: &str) -> CompileFault {
    let message = format!("{tag} needs an argument");
    CompileFault::new(
        "E_UNALLOWED_EXPRESSION",
        message,
        (source.line, source.column),
    )
}

/// Returns the position of the expression, past space and opening parentheses.
pub(super) fn start(source: &JsSource<'_>) -> (u32, u32) {
    start_of(&source.text, (source.line, source.column), &['('])
}

fn start_of(text: &str, at: (u32, u32), skipped: &[char]) -> (u32, u32) {
    let first = text
        .find(|c| !is_space(c) && !skipped.contains(&c))
        .unwrap_or(0);
    place_in(text, first, at)
}

/// Makes an error of an expression, with its position in the template.
pub(super) fn fault(error: &expr::Error, source: &JsSource<'_>) -> CompileFault {
    if error.code() == expr::ExprErrorCode::Parser
        && let Some(fault) = statement(source)
    {
        return fault;
    }
    let offset = error.offset().unwrap_or(0) as usize;
    let at = place_in(&source.text, offset, (source.line, source.column));
    CompileFault::new(code_name(error.code()), error.message(), at)
}

/// Reports a statement in place of an expression, named as Edge names it.
fn statement(source: &JsSource<'_>) -> Option<CompileFault> {
    let (name, hint) = match word(source.text.trim_start_matches(is_space)) {
        "if" => ("IfStatement", "use @if, or condition ? a : b"),
        "for" => ("ForStatement", "use @each"),
        "while" => ("WhileStatement", "use @each"),
        "do" => ("DoWhileStatement", "use @each"),
        "let" | "const" | "var" => ("VariableDeclaration", "use @let"),
        "switch" => ("SwitchStatement", "use @if and @elseif"),
        "throw" => ("ThrowStatement", "use @newError"),
        "try" => (
            "TryStatement",
            "templates cannot catch errors; test before with @if",
        ),
        _ => return None,
    };
    let message = format!("\"{name}\" is not supported");
    Some(CompileFault::new("E_UNALLOWED_EXPRESSION", message, start(source)).hint(hint))
}

/// Returns the code as Edge names it.
pub(crate) fn code_name(code: expr::ExprErrorCode) -> &'static str {
    match code {
        expr::ExprErrorCode::Parser => "E_ACORN_ERROR",
        other => other.as_str(),
    }
}
