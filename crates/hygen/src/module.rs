//! A JavaScript module as far as it is plain data, freed from its syntax tree.

use std::collections::HashMap;

use oxc_ast::ast::{
    Argument, ArrayExpressionElement, ArrowFunctionBody, AssignmentExpression, AssignmentTarget,
    CallExpression, ExportDefaultDeclaration, Expression, FunctionBody, ObjectExpression,
    ObjectPropertyKind, Program, PropertyKey, Statement, VariableDeclarator,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator::UnaryOperator;
use serde_json::{Number, Value};

/// A value and the line it is written on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModuleItem {
    pub(super) data: ModuleData,
    pub(super) line: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ModuleData {
    Value(Value),
    List(Vec<ModuleItem>),
    Map(Vec<(String, ModuleItem)>),
    /// Anything that has to run to be known.
    Code,
}

impl ModuleData {
    pub(super) fn text(&self) -> Option<String> {
        match self {
            ModuleData::Value(Value::String(text)) => Some(text.clone()),
            ModuleData::Value(value @ (Value::Number(_) | Value::Bool(_))) => {
                Some(value.to_string())
            }
            _ => None,
        }
    }
}

/// The parts of a module that the import needs.
#[derive(Default)]
pub(super) struct JsModule<'t> {
    pub(super) exported: Option<ModuleItem>,
    /// The argument of each `….prompt(…)` call.
    pub(super) prompts: Vec<ModuleItem>,
    /// True if the exported `prompt` does nothing but ask.
    pub(super) prompt_is_plain: bool,
    constants: HashMap<String, ModuleItem>,
    text: &'t str,
}

impl<'t> JsModule<'t> {
    pub(super) fn of(program: &Program<'_>, text: &'t str) -> Self {
        let mut module = JsModule {
            text,
            ..JsModule::default()
        };
        module.visit_program(program);
        module
    }

    fn item(&self, expression: &Expression<'_>) -> ModuleItem {
        ModuleItem {
            data: self.data(expression),
            line: self.line(expression.span()),
        }
    }

    fn data(&self, expression: &Expression<'_>) -> ModuleData {
        let value = match expression {
            Expression::StringLiteral(text) => Value::String(text.value.to_string()),
            Expression::TemplateLiteral(template) => match &template.quasis[..] {
                [only] => Value::String(only.value.raw.to_string()),
                _ => return ModuleData::Code,
            },
            Expression::BooleanLiteral(literal) => Value::Bool(literal.value),
            Expression::NullLiteral(_) => Value::Null,
            Expression::NumericLiteral(literal) => number(literal.value),
            Expression::UnaryExpression(it) => match (&it.operator, &it.argument) {
                (UnaryOperator::UnaryNegation, Expression::NumericLiteral(literal)) => {
                    number(-literal.value)
                }
                _ => return ModuleData::Code,
            },
            Expression::ParenthesizedExpression(inner) => return self.data(&inner.expression),
            Expression::TSAsExpression(inner) => return self.data(&inner.expression),
            Expression::TSSatisfiesExpression(inner) => return self.data(&inner.expression),
            Expression::Identifier(name) => {
                let known = self.constants.get(name.name.as_str());
                return known.map_or(ModuleData::Code, |item| item.data.clone());
            }
            Expression::ArrayExpression(array) => {
                let items = array
                    .elements
                    .iter()
                    .map(|element| match element.as_expression() {
                        Some(expression) => self.item(expression),
                        None => ModuleItem {
                            data: ModuleData::Code,
                            line: self.line(ArrayExpressionElement::span(element)),
                        },
                    });
                return ModuleData::List(items.collect());
            }
            Expression::ObjectExpression(object) => return ModuleData::Map(self.entries(object)),
            _ => return ModuleData::Code,
        };
        ModuleData::Value(value)
    }

    fn entries(&self, object: &ObjectExpression<'_>) -> Vec<(String, ModuleItem)> {
        let mut entries = Vec::new();
        for property in &object.properties {
            match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    let name = key(&property.key).unwrap_or_else(|| "[…]".to_owned());
                    entries.push((name, self.item(&property.value)));
                }
                ObjectPropertyKind::SpreadProperty(spread) => {
                    let item = ModuleItem {
                        data: ModuleData::Code,
                        line: self.line(spread.span),
                    };
                    entries.push(("...".to_owned(), item));
                }
            }
        }
        entries
    }

    fn line(&self, span: Span) -> u32 {
        let before = self.text.get(..span.start as usize).unwrap_or("");
        u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX)
    }

    fn export(&mut self, value: &Expression<'_>) {
        self.exported = Some(self.item(value));
        if let Expression::ObjectExpression(object) = value {
            self.prompt_is_plain = object.properties.iter().any(|property| match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    key(&property.key).as_deref() == Some("prompt") && only_asks(&property.value)
                }
                ObjectPropertyKind::SpreadProperty(_) => false,
            });
        }
    }
}

impl<'a> VisitJs<'a> for JsModule<'_> {
    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let (Some(id), Some(init)) = (it.id.get_binding_identifier(), &it.init) {
            let item = self.item(init);
            self.constants.insert(id.name.to_string(), item);
        }
        walk_js::walk_variable_declarator(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if asks(it)
            && let Some(argument) = it.arguments.first().and_then(Argument::as_expression)
        {
            let item = self.item(argument);
            self.prompts.push(item);
        }
        walk_js::walk_call_expression(self, it);
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        walk_js::walk_assignment_expression(self, it);
        if let AssignmentTarget::StaticMemberExpression(left) = &it.left
            && left.property.name == "exports"
        {
            self.export(&it.right);
        }
    }

    fn visit_export_default_declaration(&mut self, it: &ExportDefaultDeclaration<'a>) {
        walk_js::walk_export_default_declaration(self, it);
        if let Some(value) = it.declaration.as_expression() {
            self.export(value);
        }
    }
}

/// Returns true for a call of `prompter.prompt(…)`.
fn asks(call: &CallExpression<'_>) -> bool {
    matches!(&call.callee, Expression::StaticMemberExpression(it) if it.property.name == "prompt")
}

/// Returns true if a function does nothing but return `prompter.prompt(…)`.
fn only_asks(value: &Expression<'_>) -> bool {
    let returns = |body: &FunctionBody<'_>| match &body.statements[..] {
        [Statement::ReturnStatement(it)] => it.argument.as_ref().is_some_and(is_asking),
        _ => false,
    };
    match value {
        Expression::FunctionExpression(it) => it.body.as_ref().is_some_and(|body| returns(body)),
        Expression::ArrowFunctionExpression(it) => match &it.body {
            ArrowFunctionBody::FunctionBody(body) => returns(body),
            other => other.as_expression().is_some_and(is_asking),
        },
        _ => false,
    }
}

fn is_asking(expression: &Expression<'_>) -> bool {
    matches!(expression, Expression::CallExpression(call) if asks(call))
}

fn key(key: &PropertyKey<'_>) -> Option<String> {
    match key {
        PropertyKey::StaticIdentifier(name) => Some(name.name.to_string()),
        PropertyKey::StringLiteral(text) => Some(text.value.to_string()),
        _ => None,
    }
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
