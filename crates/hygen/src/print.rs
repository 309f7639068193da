//! Values that are printed: EJS prints nothing for null and writes `<` as `&lt;`.

use std::collections::HashSet;

use oxc_ast::ast::{Expression, TemplateLiteral};
use oxc_span::Span;
use oxc_syntax::operator::{BinaryOperator, LogicalOperator};

use super::ejs_tree::{EjsPrint, quoted};
use super::script_analysis::ScriptChange;

/// Rules for printing a value.
pub(super) struct PrintContext<'p> {
    /// Variables of the template that may be null.
    pub(super) unsure: &'p HashSet<String>,
    pub(super) escapes_html: bool,
}

/// Changes that printing a value requires.
#[derive(Default)]
pub(super) struct PrintChanges {
    pub(super) changes: Vec<ScriptChange>,
    pub(super) nullable: bool,
    /// Characters of a literal were escaped as hygen does.
    pub(super) escaped: bool,
}

/// Expression that is printed for null.
const NOTHING: &str = "''";

/// Methods whose results are strings, numbers or lists.
const SURE_METHODS: [&str; 21] = [
    "toUpperCase",
    "toLowerCase",
    "replace",
    "replaceAll",
    "trim",
    "trimStart",
    "trimEnd",
    "slice",
    "substring",
    "substr",
    "join",
    "charAt",
    "concat",
    "padStart",
    "padEnd",
    "repeat",
    "toString",
    "toFixed",
    "stringify",
    "split",
    "map",
];

impl PrintContext<'_> {
    pub(super) fn of(&self, expression: &Expression<'_>) -> PrintChanges {
        let mut output = PrintChanges::default();
        output.nullable = self.look(expression, &mut output);
        output
    }

    pub(super) fn may_be_null(&self, expression: &Expression<'_>) -> bool {
        let output = self.of(expression);
        output.nullable || output.changes.iter().any(|change| change.text == NOTHING)
    }

    /// Returns true if the value may be null; collects changes of literals that are printed as they
    /// are.
    fn look(&self, expression: &Expression<'_>, output: &mut PrintChanges) -> bool {
        match expression {
            Expression::StringLiteral(text) => {
                self.escape(&text.value, text.span, output);
                false
            }
            Expression::TemplateLiteral(template) => {
                self.template(template, output);
                false
            }
            Expression::NumericLiteral(_) | Expression::BooleanLiteral(_) => false,
            Expression::NullLiteral(null) => nothing(null.span, output),
            Expression::Identifier(name) if name.name == "undefined" => nothing(name.span, output),
            // A variable that is printed directly is required or has a default, so it is not null.
            Expression::Identifier(name) => self.unsure.contains(name.name.as_str()),
            Expression::ParenthesizedExpression(inner) => self.look(&inner.expression, output),
            Expression::ConditionalExpression(it) => {
                let first = self.look(&it.consequent, output);
                let second = self.look(&it.alternate, output);
                first || second
            }
            Expression::LogicalExpression(it) => {
                let left = self.look(&it.left, output);
                let right = self.look(&it.right, output);
                match it.operator {
                    LogicalOperator::And => left || right,
                    LogicalOperator::Or | LogicalOperator::Coalesce => right,
                }
            }
            Expression::BinaryExpression(it) => {
                if it.operator == BinaryOperator::Addition {
                    let mut inside = PrintChanges::default();
                    self.look(&it.left, &mut inside);
                    self.look(&it.right, &mut inside);
                    // `null + 'x'` prints null, in EJS as here.
                    inside.changes.retain(|change| change.text != NOTHING);
                    output.changes.append(&mut inside.changes);
                    output.escaped |= inside.escaped;
                }
                false
            }
            Expression::CallExpression(call) => match &call.callee {
                Expression::StaticMemberExpression(member) => {
                    let method = member.property.name.as_str();
                    !(SURE_METHODS.contains(&method) || is_helper(&member.object))
                }
                _ => true,
            },
            Expression::UnaryExpression(_) | Expression::UpdateExpression(_) => false,
            _ => true,
        }
    }

    fn template(&self, template: &TemplateLiteral<'_>, output: &mut PrintChanges) {
        for part in &template.quasis {
            let raw = part.value.raw.as_str();
            if self.escapes_html && raw.contains(['&', '<', '>', '"', '\'']) {
                output.escaped = true;
                output.changes.push(ScriptChange {
                    span: part.span,
                    text: html(raw),
                });
            }
        }
    }

    fn escape(&self, text: &str, span: Span, output: &mut PrintChanges) {
        if self.escapes_html && text.contains(['&', '<', '>', '"', '\'']) {
            output.escaped = true;
            output.changes.push(ScriptChange {
                span,
                text: quoted(&html(text)),
            });
        }
    }
}

/// Makes the expression print an empty text instead of null.
pub(super) fn never_null(code: String, expression: &Expression<'_>, nullable: bool) -> EjsPrint {
    let simple = is_simple(expression);
    match nullable {
        true => {
            let code = EjsPrint { code, simple }.operand();
            EjsPrint {
                code: format!("{code} ?? ''"),
                simple: false,
            }
        }
        false => EjsPrint { code, simple },
    }
}

/// Returns true if an expression needs no parentheses beside an operator.
pub(super) fn is_simple(expression: &Expression<'_>) -> bool {
    matches!(
        expression,
        Expression::Identifier(_)
            | Expression::StaticMemberExpression(_)
            | Expression::ComputedMemberExpression(_)
            | Expression::CallExpression(_)
            | Expression::StringLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::BooleanLiteral(_)
            | Expression::NullLiteral(_)
            | Expression::TemplateLiteral(_)
            | Expression::ParenthesizedExpression(_)
            | Expression::ArrayExpression(_)
    )
}

fn nothing(span: Span, output: &mut PrintChanges) -> bool {
    output.changes.push(ScriptChange {
        span,
        text: NOTHING.to_owned(),
    });
    false
}

fn is_helper(object: &Expression<'_>) -> bool {
    match object {
        Expression::Identifier(name) => name.name == "h",
        Expression::StaticMemberExpression(member) => is_helper(&member.object),
        _ => false,
    }
}

fn html(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&#34;").replace('\'', "&#39;")
}
