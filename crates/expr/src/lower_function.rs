//! Lowers functions: parameters, bodies, the few kinds of statement they may hold.

use std::rc::Rc;

use oxc_ast::ast::{
    ArrowFunctionBody, ArrowFunctionExpression, Expression, FormalParameters, Function,
    Statement as AstStatement,
};
use oxc_span::GetSpan;

use crate::error::Error;
use crate::estree::statement_name;
use crate::ir::{ArrowBody, ArrowFunction, ExprNode, StatementNode};
use crate::lower::{ExprLowering, unallowed};
use crate::value::Value;

impl ExprLowering<'_, '_> {
    pub(crate) fn arrow(
        &mut self,
        arrow: &ArrowFunctionExpression<'_>,
    ) -> Result<ArrowFunction, Error> {
        let source: Rc<str> = self.text(arrow.span).into();
        self.function(
            &arrow.params,
            (source, "".into()),
            |lowering| match &arrow.body {
                ArrowFunctionBody::FunctionBody(body) => lowering
                    .statements(&body.statements)
                    .map(ArrowBody::Statements),
                expression => match expression.as_expression() {
                    Some(expression) => lowering.node(expression).map(ArrowBody::Expression),
                    None => Err(unallowed("BlockStatement", arrow.span)),
                },
            },
        )
    }

    fn function(
        &mut self,
        parameters: &FormalParameters<'_>,
        (source, name): (Rc<str>, Rc<str>),
        body: impl FnOnce(&mut Self) -> Result<ArrowBody, Error>,
    ) -> Result<ArrowFunction, Error> {
        let declaring = std::mem::replace(&mut self.declaring, true);
        self.scope.push_frame();
        let lowered = self.parameters(parameters).and_then(|(parameters, rest)| {
            self.declaring = false;
            body(self).map(|body| (parameters, rest, body))
        });
        let slots = self.scope.pop_frame();
        self.declaring = declaring;
        let (parameters, rest, body) = lowered?;
        Ok(ArrowFunction {
            parameters,
            rest,
            body,
            slots,
            source,
            name,
        })
    }

    fn statements(
        &mut self,
        statements: &[AstStatement<'_>],
    ) -> Result<Box<[StatementNode]>, Error> {
        let mut hoisted = Vec::new();
        for statement in statements {
            if let AstStatement::FunctionDeclaration(function) = statement
                && let Some(id) = &function.id
            {
                hoisted.push((self.scope.declare(id.name.as_str()), function));
            }
        }
        let mut lowered = Vec::with_capacity(statements.len());
        for (slot, function) in hoisted {
            let arrow = Rc::new(self.declared_function(function)?);
            lowered.push(StatementNode::Function { slot, arrow });
        }
        for statement in statements {
            match statement {
                AstStatement::ExpressionStatement(statement) => {
                    lowered.push(StatementNode::Expression(self.node(&statement.expression)?));
                }
                AstStatement::ReturnStatement(statement) => {
                    lowered.push(StatementNode::Return(match &statement.argument {
                        Some(argument) => self.node(argument)?,
                        None => ExprNode::Constant(Value::Undefined),
                    }));
                }
                AstStatement::BlockStatement(block) => {
                    lowered.push(StatementNode::Block(self.statements(&block.body)?));
                }
                AstStatement::FunctionDeclaration(_) | AstStatement::EmptyStatement(_) => {}
                other => return Err(unallowed(statement_name(other), other.span())),
            }
        }
        Ok(lowered.into())
    }

    fn declared_function(&mut self, function: &Function<'_>) -> Result<ArrowFunction, Error> {
        let source: Rc<str> = self.text(function.span).into();
        let name = function.id.as_ref().map_or("", |id| id.name.as_str());
        let body = function.body.as_ref();
        if function.generator {
            return Err(unallowed("FunctionDeclaration", function.span));
        }
        self.function(
            &function.params,
            (source, name.into()),
            |lowering| match body {
                Some(body) => lowering
                    .statements(&body.statements)
                    .map(ArrowBody::Statements),
                None => Ok(ArrowBody::Statements(Box::default())),
            },
        )
    }
}

/// Returns the expression an arrow function consists of, if it is one.
pub(crate) fn expression_body<'a, 'b>(
    arrow: &'b ArrowFunctionExpression<'a>,
) -> Option<&'b Expression<'a>> {
    match &arrow.body {
        ArrowFunctionBody::FunctionBody(_) => None,
        expression => expression.as_expression(),
    }
}
