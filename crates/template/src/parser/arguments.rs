//! The arguments of tags: compiled, and checked for the shapes a tag takes.

use expr::{Expr, Scope, Shape};

use super::Parser;
use super::names::word;
use crate::error::Fault;
use crate::lines::is_space;
use crate::node::{Code, Origin, place_in};
use crate::token::Source;

/// What may name a partial.
pub(super) const PATH_SHAPES: &[Shape] = &[
    Shape::Literal,
    Shape::Identifier,
    Shape::Call,
    Shape::TemplateLiteral,
    Shape::Member,
    Shape::Logical,
    Shape::Conditional,
];

/// One of several arguments.
pub(super) struct Argument {
    pub(super) code: Code,
    pub(super) literal: Option<expr::Value>,
    pub(super) identifier: Option<std::rc::Rc<str>>,
    pub(super) text: String,
    pub(super) at: (u32, u32),
}

impl Parser<'_> {
    /// Compiles a tag's argument as one expression.
    pub(super) fn code(&mut self, source: &Source<'_>, tag: &str) -> Result<Code, Fault> {
        if source.text.chars().all(is_space) {
            return Err(empty(source, &format!("@{tag}")));
        }
        self.code_with(source, expr::compile)
    }

    pub(super) fn code_with(
        &mut self,
        source: &Source<'_>,
        compile: fn(&str, &mut Scope) -> Result<Expr, expr::Error>,
    ) -> Result<Code, Fault> {
        // A semicolon at the end is a habit, and Edge lets it pass.
        let text = source.text.trim_end_matches(is_space);
        let text = text.strip_suffix(';').unwrap_or(text);
        let expr = compile(text, &mut self.scope).map_err(|error| fault(&error, source))?;
        self.note_answers(&source.text);
        Ok(Code {
            expr,
            origin: Box::new(origin(source)),
        })
    }

    /// Compiles the argument of a tag that takes exactly one.
    pub(super) fn single(&mut self, source: &Source<'_>, tag: &str) -> Result<Code, Fault> {
        let name = tag.trim_matches(['"', '@']);
        let code = self.code(source, name)?;
        if code.expr.shape() == Shape::Sequence {
            let message = match tag {
                // Edge words this one differently.
                "@elseif" => format!(
                    "{{{}}} is not a valid argument type for the @elseif tag",
                    source.text
                ),
                _ => not_valid(source, tag),
            };
            return Err(Fault::new("E_UNALLOWED_EXPRESSION", message, start(source)));
        }
        Ok(code)
    }

    /// Compiles a list of arguments.
    pub(super) fn arguments(&mut self, source: &Source<'_>) -> Result<Vec<Argument>, Fault> {
        let list = expr::compile_arguments(&source.text, &mut self.scope)
            .map_err(|error| fault(&error, source))?;
        self.note_answers(&source.text);
        Ok(list
            .into_iter()
            .map(|argument| Argument {
                code: Code {
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

pub(super) fn origin(source: &Source<'_>) -> Origin {
    Origin::from(source)
}

/// Refuses an expression whose shape is not among `shapes`.
pub(super) fn allow(
    code: &Code,
    shapes: &[Shape],
    message: impl FnOnce() -> String,
) -> Result<(), Fault> {
    if shapes.contains(&code.expr.shape()) {
        return Ok(());
    }
    let Origin { line, column, text } = &*code.origin;
    // A parenthesis around a list or an object is not part of it; one that begins a function is.
    let around = matches!(
        code.expr.shape(),
        Shape::Sequence | Shape::Array | Shape::Object
    );
    let skipped: &[char] = if around { &['('] } else { &[] };
    let at = start_of(text, (*line, *column), skipped);
    Err(Fault::new("E_UNALLOWED_EXPRESSION", message(), at))
}

pub(super) fn not_valid(source: &Source<'_>, tag: &str) -> String {
    format!(
        "\"{}\" is not a valid argument type for the {tag} tag",
        source.text
    )
}

pub(super) fn empty(source: &Source<'_>, tag: &str) -> Fault {
    let message = format!("{tag} needs an argument");
    Fault::new(
        "E_UNALLOWED_EXPRESSION",
        message,
        (source.line, source.column),
    )
}

/// Where the expression begins, past space and opening parentheses.
pub(super) fn start(source: &Source<'_>) -> (u32, u32) {
    start_of(&source.text, (source.line, source.column), &['('])
}

fn start_of(text: &str, at: (u32, u32), skipped: &[char]) -> (u32, u32) {
    let first = text
        .find(|c| !is_space(c) && !skipped.contains(&c))
        .unwrap_or(0);
    place_in(text, first, at)
}

/// An error of an expression, placed in the template.
pub(super) fn fault(error: &expr::Error, source: &Source<'_>) -> Fault {
    if error.code() == expr::Code::Parser
        && let Some(fault) = statement(source)
    {
        return fault;
    }
    let offset = error.offset().unwrap_or(0) as usize;
    let at = place_in(&source.text, offset, (source.line, source.column));
    Fault::new(code_name(error.code()), error.message(), at)
}

/// A statement where an expression should stand, named as Edge names it.
fn statement(source: &Source<'_>) -> Option<Fault> {
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
    Some(Fault::new("E_UNALLOWED_EXPRESSION", message, start(source)).hint(hint))
}

/// The code as Edge names it.
pub(crate) fn code_name(code: expr::Code) -> &'static str {
    match code {
        expr::Code::Parser => "E_ACORN_ERROR",
        other => other.as_str(),
    }
}
