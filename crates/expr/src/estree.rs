//! Maps the parser's node types and operators to ours.

use oxc_ast::ast::{Expression, Statement as AstStatement};
use oxc_syntax::operator as js;

use crate::ir::ExprKind;
use crate::operators::BinaryOperator;

pub(crate) fn shape_of(expression: &Expression<'_>) -> ExprKind {
    match expression {
        Expression::ArrayExpression(_) => ExprKind::Array,
        Expression::ArrowFunctionExpression(_) => ExprKind::Arrow,
        Expression::AssignmentExpression(_) => ExprKind::Assignment,
        Expression::AwaitExpression(_) => ExprKind::Await,
        Expression::BinaryExpression(_) => ExprKind::Binary,
        Expression::CallExpression(_) => ExprKind::Call,
        Expression::ChainExpression(_) => ExprKind::Chain,
        Expression::ConditionalExpression(_) => ExprKind::Conditional,
        Expression::Identifier(_) => ExprKind::Identifier,
        Expression::LogicalExpression(_) => ExprKind::Logical,
        Expression::NewExpression(_) => ExprKind::New,
        Expression::ObjectExpression(_) => ExprKind::Object,
        Expression::SequenceExpression(_) => ExprKind::Sequence,
        Expression::TemplateLiteral(_) => ExprKind::TemplateLiteral,
        Expression::ThisExpression(_) => ExprKind::This,
        Expression::UnaryExpression(_) => ExprKind::Unary,
        Expression::UpdateExpression(_) => ExprKind::Update,
        other if other.as_member_expression().is_some() => ExprKind::Member,
        _ => ExprKind::Literal,
    }
}

/// Returns the ESTree name of a node that is not allowed.
pub(crate) fn estree_name(expression: &Expression<'_>) -> &'static str {
    match expression {
        Expression::FunctionExpression(_) => "FunctionExpression",
        Expression::ClassExpression(_) => "ClassExpression",
        Expression::TaggedTemplateExpression(_) => "TaggedTemplateExpression",
        Expression::ImportExpression(_) => "ImportExpression",
        Expression::YieldExpression(_) => "YieldExpression",
        Expression::ImportMeta(_) | Expression::NewTarget(_) => "MetaProperty",
        Expression::Super(_) => "Super",
        Expression::PrivateInExpression(_) => "PrivateIdentifier",
        _ => "Expression",
    }
}

pub(crate) fn statement_name(statement: &AstStatement<'_>) -> &'static str {
    match statement {
        AstStatement::VariableDeclaration(_) => "VariableDeclaration",
        AstStatement::IfStatement(_) => "IfStatement",
        AstStatement::ForStatement(_) => "ForStatement",
        AstStatement::ForInStatement(_) => "ForInStatement",
        AstStatement::ForOfStatement(_) => "ForOfStatement",
        AstStatement::WhileStatement(_) => "WhileStatement",
        AstStatement::DoWhileStatement(_) => "DoWhileStatement",
        AstStatement::SwitchStatement(_) => "SwitchStatement",
        AstStatement::ThrowStatement(_) => "ThrowStatement",
        AstStatement::TryStatement(_) => "TryStatement",
        AstStatement::BreakStatement(_) => "BreakStatement",
        AstStatement::ContinueStatement(_) => "ContinueStatement",
        AstStatement::LabeledStatement(_) => "LabeledStatement",
        AstStatement::DebuggerStatement(_) => "DebuggerStatement",
        AstStatement::ClassDeclaration(_) => "ClassDeclaration",
        AstStatement::WithStatement(_) => "WithStatement",
        _ => "Statement",
    }
}

pub(crate) fn binary_operator(operator: js::BinaryOperator) -> BinaryOperator {
    use js::BinaryOperator as Js;
    match operator {
        Js::Equality => BinaryOperator::Equal,
        Js::Inequality => BinaryOperator::NotEqual,
        Js::StrictEquality => BinaryOperator::StrictEqual,
        Js::StrictInequality => BinaryOperator::StrictNotEqual,
        Js::LessThan => BinaryOperator::Less,
        Js::LessEqualThan => BinaryOperator::LessEqual,
        Js::GreaterThan => BinaryOperator::Greater,
        Js::GreaterEqualThan => BinaryOperator::GreaterEqual,
        Js::Addition => BinaryOperator::Add,
        Js::Subtraction => BinaryOperator::Subtract,
        Js::Multiplication => BinaryOperator::Multiply,
        Js::Division => BinaryOperator::Divide,
        Js::Remainder => BinaryOperator::Remainder,
        Js::Exponential => BinaryOperator::Power,
        Js::ShiftLeft => BinaryOperator::ShiftLeft,
        Js::ShiftRight => BinaryOperator::ShiftRight,
        Js::ShiftRightZeroFill => BinaryOperator::ShiftRightUnsigned,
        Js::BitwiseOR => BinaryOperator::BitOr,
        Js::BitwiseXOR => BinaryOperator::BitXor,
        Js::BitwiseAnd => BinaryOperator::BitAnd,
        Js::In => BinaryOperator::In,
        Js::Instanceof => BinaryOperator::InstanceOf,
    }
}
