//! Converts every form of loop in a script to a repetition over a list.

use oxc_ast::ast::{
    Argument, ArrowFunctionBody, BindingPattern, CallExpression, Expression, ForInStatement,
    ForOfStatement, ForStatement, ForStatementInit, ForStatementLeft, FormalParameters, Statement,
};
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator::BinaryOperator;

use super::ejs_tree::{EjsEach, EjsNode, EjsPrint};
use super::script::{ScriptReader, ScriptResult, UnsupportedStatement};

/// Names for the item of a loop whose own is a pattern.
const ITEM_NAMES: [&str; 4] = ["item", "entry", "element", "piece"];

impl ScriptReader<'_> {
    pub(super) fn for_of(&mut self, it: &ForOfStatement<'_>) -> ScriptResult<Vec<EjsNode>> {
        let pattern = left(&it.left)?;
        let entries = object_entries(&it.right);
        if let (Some(object), Some((key, value))) = (entries, pair(pattern)) {
            let list = self.value(object)?;
            let node = self.each((value, Some(key)), list, LoopBody::One(&it.body), it.span);
            return Ok(vec![over_object(node)]);
        }
        let list = self.value(&it.right)?;
        Ok(self.over(pattern, None, list, (LoopBody::One(&it.body), it.span)))
    }

    pub(super) fn for_in(&mut self, it: &ForInStatement<'_>) -> ScriptResult<Vec<EjsNode>> {
        let BindingPattern::BindingIdentifier(key) = left(&it.left)? else {
            return Err(UnsupportedStatement("a pattern in `for … in`".to_owned()));
        };
        let list = self.value(&it.right)?;
        let list = EjsPrint {
            code: format!("Object.keys({})", list.code),
            simple: true,
        };
        Ok(vec![self.each(
            (key.name.to_string(), None),
            list,
            LoopBody::One(&it.body),
            it.span,
        )])
    }

    /// Converts `for (let i = a; i < b; i++)`.
    pub(super) fn counted(&mut self, it: &ForStatement<'_>) -> ScriptResult<Vec<EjsNode>> {
        let wrong = || {
            UnsupportedStatement("only `for (let i = a; i < b; i++)` has a counterpart".to_owned())
        };
        let Some(ForStatementInit::VariableDeclaration(init)) = &it.init else {
            return Err(wrong());
        };
        let [declarator] = &init.declarations[..] else {
            return Err(wrong());
        };
        let (BindingPattern::BindingIdentifier(id), Some(start)) =
            (&declarator.id, &declarator.init)
        else {
            return Err(wrong());
        };
        let Some(Expression::BinaryExpression(test)) = &it.test else {
            return Err(wrong());
        };
        let name = id.name.as_str();
        let tests_it = matches!(&test.left, Expression::Identifier(left) if left.name == name);
        let counts = it.update.as_ref().map(|update| self.text(update.span()));
        let counts = counts.is_some_and(|code| {
            [
                format!("{name}++"),
                format!("++{name}"),
                format!("{name} += 1"),
            ]
            .contains(&code)
        });
        let more = match test.operator {
            BinaryOperator::LessThan => "",
            BinaryOperator::LessEqualThan => " + 1",
            _ => return Err(wrong()),
        };
        if !tests_it || !counts {
            return Err(wrong());
        }
        let (start, end) = (self.value(start)?, self.value(&test.right)?);
        let code = match start.code.as_str() {
            "0" => format!(
                "Array.from({{ length: {}{more} }}, (_, {name}) => {name})",
                end.operand()
            ),
            from => format!(
                "Array.from({{ length: {}{more} - {} }}, (_, {name}) => {name} + {})",
                end.operand(),
                start.operand(),
                if start.simple {
                    from.to_owned()
                } else {
                    start.operand()
                }
            ),
        };
        let list = EjsPrint { code, simple: true };
        Ok(vec![self.each(
            (name.to_owned(), None),
            list,
            LoopBody::One(&it.body),
            it.span,
        )])
    }

    /// Converts `list.forEach((item, index) => { … })`; `None` for any other call.
    pub(super) fn for_each(
        &mut self,
        call: &CallExpression<'_>,
    ) -> ScriptResult<Option<Vec<EjsNode>>> {
        let Expression::StaticMemberExpression(member) = &call.callee else {
            return Ok(None);
        };
        let loops = matches!(member.property.name.as_str(), "forEach" | "map");
        let Some(function) = call.arguments.first().filter(|_| loops) else {
            return Ok(None);
        };
        let (parameters, body) = match function {
            Argument::ArrowFunctionExpression(arrow) => match &arrow.body {
                ArrowFunctionBody::FunctionBody(body) => (&arrow.params, body),
                _ => return Ok(None),
            },
            Argument::FunctionExpression(function) => match &function.body {
                Some(body) => (&function.params, body),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let body = (LoopBody::Many(&body.statements), call.span);
        let (item, index) = self.parameters(parameters)?;
        if let (Some(object), Some((key, value)), None) =
            (object_entries(&member.object), item.and_then(pair), &index)
        {
            let list = self.value(object)?;
            let node = self.each((value, Some(key)), list, body.0, body.1);
            return Ok(Some(vec![over_object(node)]));
        }
        let list = self.value(&member.object)?;
        Ok(Some(match item {
            Some(item) => self.over(item, index, list, body),
            None => vec![self.each((self.free_name(), None), list, body.0, body.1)],
        }))
    }

    fn parameters<'p>(
        &self,
        parameters: &'p FormalParameters<'_>,
    ) -> ScriptResult<(Option<&'p BindingPattern<'p>>, Option<String>)> {
        let item = parameters.items.first().map(|item| &item.pattern);
        let index = match parameters.items.get(1).map(|index| &index.pattern) {
            None => None,
            Some(BindingPattern::BindingIdentifier(id)) => Some(id.name.to_string()),
            Some(_) => {
                return Err(UnsupportedStatement(
                    "a pattern for the index of a loop".to_owned(),
                ));
            }
        };
        if parameters.items.len() > 2 || parameters.rest.is_some() {
            return Err(UnsupportedStatement(
                "a loop whose function takes more than item and index".to_owned(),
            ));
        }
        Ok((item, index))
    }

    /// Converts a loop whose item may be a pattern, which is taken apart inside.
    fn over(
        &mut self,
        pattern: &BindingPattern<'_>,
        index: Option<String>,
        list: EjsPrint,
        (body, span): (LoopBody<'_, '_>, Span),
    ) -> Vec<EjsNode> {
        if let BindingPattern::BindingIdentifier(id) = pattern {
            return vec![self.each((id.name.to_string(), index), list, body, span)];
        }
        let name = self.free_name();
        let taken = format!("@let({} = {name})", self.text(pattern.span()));
        self.bind(pattern, false);
        let mut node = self.each((name, index), list, body, span);
        if let EjsNode::Each(each) = &mut node {
            each.body.insert(0, EjsNode::Quiet(taken));
        }
        vec![node]
    }

    fn each(
        &mut self,
        (item, index): (String, Option<String>),
        list: EjsPrint,
        body: LoopBody<'_, '_>,
        span: Span,
    ) -> EjsNode {
        self.unsure.remove(&item);
        let body = match body {
            LoopBody::One(statement) => self.block(statement),
            LoopBody::Many(statements) => self.statements(statements),
        };
        EjsNode::Each(EjsEach {
            item,
            index,
            list,
            over_object: false,
            body,
            line: self.line(span),
        })
    }

    fn free_name(&self) -> String {
        let free = ITEM_NAMES
            .iter()
            .find(|name| !self.script.text.contains(**name));
        (*free.unwrap_or(&"hygen_item")).to_owned()
    }
}

enum LoopBody<'b, 'a> {
    One(&'b Statement<'a>),
    Many(&'b [Statement<'a>]),
}

fn left<'l>(left: &'l ForStatementLeft<'_>) -> ScriptResult<&'l BindingPattern<'l>> {
    match left {
        ForStatementLeft::VariableDeclaration(declaration) => declaration
            .declarations
            .first()
            .map(|declarator| &declarator.id)
            .ok_or_else(|| UnsupportedStatement("a loop without a variable".to_owned())),
        _ => Err(UnsupportedStatement(
            "a loop over a variable declared elsewhere".to_owned(),
        )),
    }
}

/// Returns `o` of `Object.entries(o)`.
fn object_entries<'e>(expression: &'e Expression<'_>) -> Option<&'e Expression<'e>> {
    let Expression::CallExpression(call) = expression else {
        return None;
    };
    let Expression::StaticMemberExpression(member) = &call.callee else {
        return None;
    };
    let is_object = matches!(&member.object, Expression::Identifier(name) if name.name == "Object");
    let entries = is_object && member.property.name == "entries";
    call.arguments
        .first()
        .filter(|_| entries)
        .and_then(Argument::as_expression)
}

fn over_object(node: EjsNode) -> EjsNode {
    match node {
        EjsNode::Each(each) => EjsNode::Each(EjsEach {
            over_object: true,
            ..each
        }),
        other => other,
    }
}

/// Returns the names in `[key, value]`.
fn pair(pattern: &BindingPattern<'_>) -> Option<(String, String)> {
    let BindingPattern::ArrayPattern(array) = pattern else {
        return None;
    };
    let [
        Some(BindingPattern::BindingIdentifier(key)),
        Some(BindingPattern::BindingIdentifier(value)),
    ] = &array.elements[..]
    else {
        return None;
    };
    Some((key.name.to_string(), value.name.to_string()))
}
