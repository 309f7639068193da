//! The parser's tree to ours: names resolved, only the allowed kinds of node let through.

use std::cell::Cell;
use std::rc::Rc;

use oxc_ast::ast::{Argument as AstArgument, MemberExpression};
use oxc_ast::ast::{
    ArrayExpressionElement, CallExpression, ChainElement, Expression, ObjectProperty,
    ObjectPropertyKind, PropertyKey, PropertyKind, TemplateLiteral,
};
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator as js;

use crate::builtins;
use crate::error::{Error, ExprErrorCode};
use crate::estree::{binary_operator, estree_name, shape_of};
use crate::ir::{
    ArgumentList, BinaryNode, CallNode, ElementNode, Expr, ExprNode, IndexNode, MemberNode,
    MethodCall, MethodName, NativeCall, PropertyNode, TemplatePart,
};
use crate::operators::UnaryOperator;
use crate::parse::ParserInput;
use crate::regex::JsRegex;
use crate::scope::{NameScope, ResolvedName};
use crate::value::{self, Value};

/// Deepest nesting of nodes in one expression.
const EXPRESSION_DEPTH_MAX: u32 = 200;

/// Lowers one expression.
pub(crate) struct ExprLowering<'s, 'c> {
    source: &'s str,
    /// Offset from a position in `source` to one in the user's text.
    base: i64,
    pub(crate) scope: &'c mut NameScope,
    depth: u32,
    /// True if names on the left of `=` are new variables.
    pub(crate) declaring: bool,
}

impl<'s, 'c> ExprLowering<'s, 'c> {
    pub(crate) fn new(text: ParserInput<'s>, scope: &'c mut NameScope) -> Self {
        let base = i64::from(text.start) - i64::from(text.prefix);
        Self {
            source: text.whole,
            base,
            scope,
            depth: 0,
            declaring: false,
        }
    }

    pub(crate) fn declaring(&mut self) -> &mut Self {
        self.declaring = true;
        self
    }

    /// Lowers a whole expression.
    pub(crate) fn whole(&mut self, expression: &Expression<'_>) -> Result<Expr, Error> {
        let node = self.node(expression)?;
        Ok(Expr {
            node,
            shape: shape_of(expression),
        })
    }

    pub(crate) fn text(&self, span: Span) -> &'s str {
        self.source
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    /// Converts a position to one in the user's text.
    pub(crate) fn at(&self, start: u32) -> u32 {
        u32::try_from(i64::from(start) + self.base).unwrap_or(0)
    }

    pub(crate) fn node(&mut self, expression: &Expression<'_>) -> Result<ExprNode, Error> {
        if self.depth >= EXPRESSION_DEPTH_MAX {
            return Err(Error::limit(format!(
                "an expression is nested deeper than expression_depth_max = {EXPRESSION_DEPTH_MAX}"
            ))
            .at(expression.span().start));
        }
        self.depth += 1;
        let node = self.node_unbounded(expression);
        self.depth -= 1;
        node
    }

    fn node_unbounded(&mut self, expression: &Expression<'_>) -> Result<ExprNode, Error> {
        match expression {
            Expression::BooleanLiteral(literal) => {
                Ok(ExprNode::Constant(Value::Bool(literal.value)))
            }
            Expression::NullLiteral(_) => Ok(ExprNode::Constant(Value::Null)),
            Expression::NumericLiteral(literal) => {
                Ok(ExprNode::Constant(Value::Number(literal.value)))
            }
            Expression::StringLiteral(literal) => {
                Ok(ExprNode::Constant(Value::from(literal.value.as_str())))
            }
            Expression::BigIntLiteral(literal) => big_int(literal.value.as_str(), literal.span),
            Expression::RegExpLiteral(literal) => {
                let flags = literal.regex.flags.to_string();
                let regex = JsRegex::new(literal.regex.pattern.text.as_str(), &flags)
                    .map_err(|error| error.at(literal.span.start))?;
                Ok(ExprNode::RegExp(Rc::new(regex)))
            }
            Expression::TemplateLiteral(literal) => self.template(literal),
            Expression::Identifier(identifier) => {
                Ok(self.identifier(identifier.name.as_str(), self.at(identifier.span.start)))
            }
            Expression::ThisExpression(_) => Ok(ExprNode::This),
            Expression::ArrayExpression(array) => array
                .elements
                .iter()
                .map(|element| self.element(element))
                .collect::<Result<_, _>>()
                .map(ExprNode::Array),
            Expression::ObjectExpression(object) => object
                .properties
                .iter()
                .map(|property| self.property(property))
                .collect::<Result<_, _>>()
                .map(ExprNode::Object),
            Expression::ArrowFunctionExpression(arrow) => self
                .arrow(arrow)
                .map(|arrow| ExprNode::Arrow(Rc::new(arrow))),
            Expression::AwaitExpression(inner) => self.node(&inner.argument),
            Expression::SequenceExpression(sequence) => sequence
                .expressions
                .iter()
                .map(|part| self.node(part))
                .collect::<Result<_, _>>()
                .map(ExprNode::Sequence),
            Expression::ParenthesizedExpression(inner) => self.node(&inner.expression),
            Expression::ChainExpression(chain) => self.chain(&chain.expression),
            Expression::CallExpression(call) => self.call(call),
            Expression::NewExpression(new) => self.construct(new),
            Expression::AssignmentExpression(assignment) => self.assignment(assignment),
            Expression::UpdateExpression(update) => self.update(update),
            _ => self.operation(expression),
        }
    }

    /// Operators and members; anything else is not allowed.
    fn operation(&mut self, expression: &Expression<'_>) -> Result<ExprNode, Error> {
        match expression {
            Expression::UnaryExpression(unary) => self.unary(unary),
            Expression::BinaryExpression(binary) => Ok(ExprNode::Binary(Box::new(BinaryNode {
                operator: binary_operator(binary.operator),
                left: self.node(&binary.left)?,
                right: self.node(&binary.right)?,
                at: self.at(binary.span.start),
            }))),
            Expression::LogicalExpression(logical) => {
                let pair = Box::new([self.node(&logical.left)?, self.node(&logical.right)?]);
                Ok(match logical.operator {
                    js::LogicalOperator::And => ExprNode::And(pair),
                    js::LogicalOperator::Or => ExprNode::Or(pair),
                    js::LogicalOperator::Coalesce => ExprNode::Coalesce(pair),
                })
            }
            Expression::ConditionalExpression(conditional) => {
                Ok(ExprNode::Conditional(Box::new([
                    self.node(&conditional.test)?,
                    self.node(&conditional.consequent)?,
                    self.node(&conditional.alternate)?,
                ])))
            }
            other => match other.as_member_expression() {
                Some(member) => self.member(member),
                None => Err(unallowed(estree_name(other), other.span())),
            },
        }
    }

    fn identifier(&mut self, name: &str, at: u32) -> ExprNode {
        match self.scope.resolve(name) {
            ResolvedName::Variable { hops, slot } => ExprNode::Variable { hops, slot },
            ResolvedName::Ended => ExprNode::Ended {
                name: name.into(),
                at,
            },
            ResolvedName::State if name == "state" => ExprNode::StateObject,
            ResolvedName::State => match builtins::global(name) {
                Some(value) => ExprNode::Constant(value),
                None => ExprNode::State {
                    name: name.into(),
                    at,
                },
            },
        }
    }

    fn template(&mut self, literal: &TemplateLiteral<'_>) -> Result<ExprNode, Error> {
        let mut parts = Vec::new();
        for (index, quasi) in literal.quasis.iter().enumerate() {
            let text = quasi
                .value
                .cooked
                .as_ref()
                .unwrap_or(&quasi.value.raw)
                .as_str();
            if !text.is_empty() {
                parts.push(TemplatePart::Text(text.into()));
            }
            if let Some(expression) = literal.expressions.get(index) {
                parts.push(TemplatePart::Node(self.node(expression)?));
            }
        }
        Ok(ExprNode::Template(parts.into()))
    }

    fn element(&mut self, element: &ArrayExpressionElement<'_>) -> Result<ElementNode, Error> {
        match element {
            ArrayExpressionElement::SpreadElement(spread) => {
                self.node(&spread.argument).map(ElementNode::Spread)
            }
            ArrayExpressionElement::Elision(_) => Ok(ElementNode::Hole),
            other => match other.as_expression() {
                Some(expression) => self.node(expression).map(ElementNode::One),
                None => Err(unallowed("ArrayElement", other.span())),
            },
        }
    }

    fn arguments(&mut self, arguments: &[AstArgument<'_>]) -> Result<ArgumentList, Error> {
        let items: Box<[ElementNode]> = arguments
            .iter()
            .map(|argument| match argument {
                AstArgument::SpreadElement(spread) => {
                    self.node(&spread.argument).map(ElementNode::Spread)
                }
                other => match other.as_expression() {
                    Some(expression) => self.node(expression).map(ElementNode::One),
                    None => Err(unallowed("Argument", other.span())),
                },
            })
            .collect::<Result<_, _>>()?;
        let known = items.iter().map(|item| match item {
            ElementNode::One(ExprNode::Constant(value)) => Some(value.clone()),
            _ => None,
        });
        Ok(match known.collect() {
            Some(values) => ArgumentList::Known(values),
            None => ArgumentList::Computed(items),
        })
    }

    fn property(&mut self, property: &ObjectPropertyKind<'_>) -> Result<PropertyNode, Error> {
        match property {
            ObjectPropertyKind::SpreadProperty(spread) => {
                self.node(&spread.argument).map(PropertyNode::Spread)
            }
            ObjectPropertyKind::ObjectProperty(property) => self.object_property(property),
        }
    }

    fn object_property(&mut self, property: &ObjectProperty<'_>) -> Result<PropertyNode, Error> {
        if property.method || property.kind != PropertyKind::Init {
            return Err(unallowed("FunctionExpression", property.value.span()));
        }
        let value = self.node(&property.value)?;
        match static_key(&property.key) {
            Some(key) if !property.computed => Ok(PropertyNode::Named { key, value }),
            _ => match property.key.as_expression() {
                Some(key) => Ok(PropertyNode::Computed {
                    key: self.node(key)?,
                    value,
                }),
                None => Err(unallowed("PrivateIdentifier", property.key.span())),
            },
        }
    }

    pub(crate) fn member(&mut self, member: &MemberExpression<'_>) -> Result<ExprNode, Error> {
        match member {
            MemberExpression::StaticMemberExpression(member) => {
                let object = self.node(&member.object)?;
                if let Some(value) = builtin_member(&object, member.property.name.as_str()) {
                    return Ok(ExprNode::Constant(value));
                }
                Ok(ExprNode::Member(Box::new(MemberNode {
                    object,
                    name: member.property.name.as_str().into(),
                    seen: Cell::default(),
                    optional: member.optional,
                    at: self.at(member.property.span.start),
                })))
            }
            MemberExpression::ComputedMemberExpression(member) => {
                Ok(ExprNode::Index(Box::new(IndexNode {
                    object: self.node(&member.object)?,
                    index: self.node(&member.expression)?,
                    optional: member.optional,
                    at: self.at(member.expression.span().start),
                })))
            }
            MemberExpression::PrivateFieldExpression(member) => {
                Err(unallowed("PrivateIdentifier", member.span))
            }
        }
    }

    fn chain(&mut self, element: &ChainElement<'_>) -> Result<ExprNode, Error> {
        let inner = match element {
            ChainElement::CallExpression(call) => self.call(call)?,
            other => match other.as_member_expression() {
                Some(member) => self.member(member)?,
                None => return Err(unallowed("ChainExpression", other.span())),
            },
        };
        Ok(ExprNode::Chain(Box::new(inner)))
    }

    fn call(&mut self, call: &CallExpression<'_>) -> Result<ExprNode, Error> {
        let text: Rc<str> = self.text(call.callee.span()).into();
        let at = self.at(call.callee.span().start);
        let callee = self.node(&call.callee)?;
        let arguments = self.arguments(&call.arguments)?;
        let optional = call.optional;
        Ok(match callee {
            ExprNode::Constant(Value::Builtin(value::Builtin {
                call: Some(function),
                ..
            })) => ExprNode::NativeCall(Box::new(NativeCall {
                function: *function,
                arguments,
                at,
            })),
            ExprNode::Member(member) => {
                let method = builtins::method(&member.name);
                ExprNode::MethodCall(Box::new(MethodCall {
                    object: member.object,
                    name: MethodName::Named {
                        name: member.name,
                        method,
                    },
                    optional_object: member.optional,
                    optional_call: optional,
                    arguments,
                    text,
                    at: member.at,
                }))
            }
            ExprNode::Index(index) => ExprNode::MethodCall(Box::new(MethodCall {
                object: index.object,
                name: MethodName::Computed(index.index),
                optional_object: index.optional,
                optional_call: optional,
                arguments,
                text,
                at: index.at,
            })),
            callee => ExprNode::Call(Box::new(CallNode {
                callee,
                arguments,
                optional,
                text,
                at,
            })),
        })
    }

    fn construct(&mut self, new: &oxc_ast::ast::NewExpression<'_>) -> Result<ExprNode, Error> {
        let at = self.at(new.callee.span().start);
        let text: Rc<str> = self.text(new.callee.span()).into();
        let callee = match self.node(&new.callee)? {
            // As in Edge, `new` looks for constructors, never in the state.
            ExprNode::State { name, at } => ExprNode::Ended { name, at },
            callee => callee,
        };
        let arguments = self.arguments(&new.arguments)?;
        Ok(ExprNode::New(Box::new(CallNode {
            callee,
            arguments,
            optional: false,
            text,
            at,
        })))
    }

    fn unary(&mut self, unary: &oxc_ast::ast::UnaryExpression<'_>) -> Result<ExprNode, Error> {
        let operator = match unary.operator {
            js::UnaryOperator::UnaryNegation => UnaryOperator::Minus,
            js::UnaryOperator::UnaryPlus => UnaryOperator::Plus,
            js::UnaryOperator::LogicalNot => UnaryOperator::Not,
            js::UnaryOperator::BitwiseNot => UnaryOperator::BitNot,
            js::UnaryOperator::Void => UnaryOperator::Void,
            js::UnaryOperator::Typeof => {
                return Ok(ExprNode::TypeOf(Box::new(self.node(&unary.argument)?)));
            }
            js::UnaryOperator::Delete => return self.delete(&unary.argument),
        };
        let operand = Box::new(self.node(&unary.argument)?);
        Ok(ExprNode::Unary {
            operator,
            operand,
            at: self.at(unary.span.start),
        })
    }
}

pub(crate) fn unallowed(kind: &str, span: Span) -> Error {
    Error::new(
        ExprErrorCode::UnallowedExpression,
        format!("\"{kind}\" is not supported"),
    )
    .at(span.start)
}

/// Returns a member of the standard library that is known at compile time: `Math.max`,
/// `Number.MAX_SAFE_INTEGER`.
fn builtin_member(object: &ExprNode, name: &str) -> Option<Value> {
    let ExprNode::Constant(Value::Builtin(builtin)) = object else {
        return None;
    };
    builtin
        .members
        .iter()
        .find(|(member, _)| *member == name)
        .map(|(_, member)| match member {
            value::BuiltinMember::Number(number) => Value::Number(*number),
            value::BuiltinMember::Function(function) => Value::Builtin(function),
        })
}

pub(crate) fn static_key(key: &PropertyKey<'_>) -> Option<Rc<str>> {
    match key {
        PropertyKey::StaticIdentifier(identifier) => Some(identifier.name.as_str().into()),
        PropertyKey::StringLiteral(literal) => Some(literal.value.as_str().into()),
        PropertyKey::NumericLiteral(literal) => {
            Some(crate::convert::number_to_string(literal.value).into())
        }
        _ => None,
    }
}

fn big_int(digits: &str, span: Span) -> Result<ExprNode, Error> {
    match digits.parse::<i128>() {
        Ok(value) => Ok(ExprNode::Constant(Value::BigInt(Rc::new(value)))),
        Err(_) => Err(Error::limit(
            "a BigInt of more than 127 bits is over big_int_bits_max = 127",
        )
        .at(span.start)),
    }
}
