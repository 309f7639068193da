//! Analysis of a script: the names it takes from outside, hygen's helpers, and the code that must
//! be rewritten for Jig.

use std::collections::HashSet;

use oxc_ast::ast::{
    ArrowFunctionExpression, BindingPattern, BlockStatement, CallExpression, ConditionalExpression,
    Expression, ForInStatement, ForOfStatement, ForStatement, ForStatementInit, ForStatementLeft,
    Function, FunctionBody, IdentifierReference, IfStatement, Program, Statement,
    StaticMemberExpression, UnaryExpression, VariableDeclaration,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_span::{GetSpan, Span};
use oxc_syntax::operator::UnaryOperator;
use oxc_syntax::scope::ScopeFlags;

/// The way a name from outside is used, which decides the type of its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameUseKind {
    /// Its value matters.
    Value,
    /// Only whether it is true.
    Test,
    /// A loop iterates over it.
    List,
    /// Through `locals.x` or `typeof x`, where it may be missing.
    Maybe,
}

/// One use of a name from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameUse {
    pub(super) name: String,
    pub(super) how: NameUseKind,
    /// Byte offset in the script.
    pub(super) at: u32,
}

/// A stretch of the script to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptChange {
    pub(super) span: Span,
    pub(super) text: String,
}

/// Result of the analysis.
#[derive(Default)]
pub(super) struct ScriptAnalysis {
    pub(super) uses: Vec<NameUse>,
    pub(super) changes: Vec<ScriptChange>,
    /// Code that cannot work in Jig, by its position.
    pub(super) problems: Vec<(u32, String)>,
    scopes: Vec<HashSet<String>>,
}

/// Methods that only lists have.
const LIST_METHODS: [&str; 11] = [
    "forEach", "map", "filter", "join", "reduce", "some", "every", "find", "flatMap", "push",
    "sort",
];

/// Names of the JavaScript host, which are not values of the template.
const HOST: [&str; 9] = [
    "process",
    "require",
    "console",
    "fs",
    "module",
    "global",
    "globalThis",
    "include",
    "Buffer",
];

const STANDARD: [&str; 22] = [
    "Array",
    "Boolean",
    "Date",
    "Infinity",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "decodeURIComponent",
    "encodeURIComponent",
    "isFinite",
    "isNaN",
    "parseFloat",
    "parseInt",
    "undefined",
    "arguments",
];

/// Looks a whole script through; calls of `marker` are not the script's own.
pub(super) fn survey(program: &Program<'_>, marker: &str) -> ScriptAnalysis {
    let mut found = ScriptAnalysis::default();
    found.scopes.push(HashSet::from([marker.to_owned()]));
    found.visit_program(program);
    found
}

/// Returns the new text of a stretch of the script.
pub(super) fn rewritten(script: &str, span: Span, changes: &[&ScriptChange]) -> String {
    let mut inside: Vec<&&ScriptChange> = changes
        .iter()
        .filter(|change| span.start <= change.span.start && change.span.end <= span.end)
        .collect();
    inside.sort_by_key(|change| (change.span.start, change.span.end));
    let mut out = String::new();
    let mut from = span.start as usize;
    for change in inside {
        if (change.span.start as usize) < from {
            continue;
        }
        out.push_str(script.get(from..change.span.start as usize).unwrap_or(""));
        out.push_str(&change.text);
        from = change.span.end as usize;
    }
    out.push_str(script.get(from..span.end as usize).unwrap_or(""));
    out
}

impl ScriptAnalysis {
    fn knows(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.contains(name))
    }

    fn within(&mut self, names: HashSet<String>, look: impl FnOnce(&mut Self)) {
        self.scopes.push(names);
        look(self);
        self.scopes.pop();
    }

    fn used(&mut self, name: &str, how: NameUseKind, at: u32) {
        if self.knows(name) || STANDARD.contains(&name) || name == "h" {
            return;
        }
        if HOST.contains(&name) {
            let problem =
                format!("`{name}` does not exist here: templates read no files and run nothing");
            self.problems.push((at, problem));
            return;
        }
        self.uses.push(NameUse {
            name: name.to_owned(),
            how,
            at,
        });
    }

    fn change(&mut self, span: Span, text: impl Into<String>) {
        self.changes.push(ScriptChange {
            span,
            text: text.into(),
        });
    }

    /// Notes names of which only the truth matters.
    fn test(&mut self, expression: &Expression<'_>) {
        match expression {
            Expression::Identifier(name) => {
                self.used(&name.name, NameUseKind::Test, name.span.start)
            }
            Expression::StaticMemberExpression(member) if is_locals(&member.object) => {
                self.local(member);
                self.used(&member.property.name, NameUseKind::Test, member.span.start);
            }
            Expression::ParenthesizedExpression(inner) => self.test(&inner.expression),
            Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::LogicalNot => {
                self.test(&unary.argument);
            }
            Expression::LogicalExpression(logical) => {
                self.test(&logical.left);
                self.test(&logical.right);
            }
            other => self.visit_expression(other),
        }
    }

    /// Replaces `locals.x` by `x`.
    fn local(&mut self, member: &StaticMemberExpression<'_>) {
        self.used(&member.property.name, NameUseKind::Maybe, member.span.start);
        self.change(member.span, member.property.name.as_str());
    }

    /// Handles a member of `h`: replaces a known helper, reports an unknown one; returns false for
    /// any other member.
    fn helper(&mut self, member: &StaticMemberExpression<'_>) -> bool {
        let name = member.property.name.as_str();
        let set = match &member.object {
            Expression::Identifier(object) if object.name == "h" => "helpers",
            Expression::StaticMemberExpression(inner) if is_helpers(&inner.object) => {
                inner.property.name.as_str()
            }
            _ => return false,
        };
        if set == "helpers" && matches!(name, "changeCase" | "inflection") {
            return true;
        }
        let known = expr::text_functions::set_named(set).unwrap_or_default();
        if known.iter().any(|helper| helper.name == name) {
            if let Some(ours) = ours(set, name) {
                self.change(member.span, ours);
            }
            return true;
        }
        let whole = if set == "helpers" {
            format!("h.{name}")
        } else {
            format!("h.{set}.{name}")
        };
        let problem =
            format!("`{whole}` is not one of hygen's own helpers: write what it does here");
        self.problems.push((member.span.start, problem));
        true
    }
}

/// Returns the name under which templates have the same helper.
fn ours(set: &str, name: &str) -> Option<&'static str> {
    Some(match (set, name) {
        ("helpers", "capitalize") => "capitalize",
        ("changeCase", "camel" | "camelCase") => "camelCase",
        ("changeCase", "pascal" | "pascalCase") => "pascalCase",
        ("changeCase", "snake" | "snakeCase") => "snakeCase",
        ("changeCase", "kebab" | "kebabCase" | "param" | "paramCase") => "kebabCase",
        ("changeCase", "constant" | "constantCase") => "constantCase",
        ("changeCase", "path" | "pathCase") => "pathCase",
        ("inflection", "pluralize") => "pluralize",
        ("inflection", "singularize") => "singularize",
        ("inflection", "humanize") => "humanize",
        ("inflection", "titleize") => "titleize",
        ("inflection", "underscore") => "underscore",
        ("inflection", "dasherize") => "dasherize",
        ("inflection", "tableize") => "tableize",
        ("inflection", "classify") => "classify",
        _ => return None,
    })
}

fn is_helpers(expression: &Expression<'_>) -> bool {
    matches!(expression, Expression::Identifier(name) if name.name == "h")
}

fn is_locals(expression: &Expression<'_>) -> bool {
    matches!(expression, Expression::Identifier(name) if name.name == "locals")
}

impl<'a> VisitJs<'a> for ScriptAnalysis {
    fn visit_program(&mut self, program: &Program<'a>) {
        self.within(declared(&program.body), |found| {
            walk_js::walk_program(found, program)
        });
    }

    fn visit_block_statement(&mut self, block: &BlockStatement<'a>) {
        self.within(declared(&block.body), |found| {
            walk_js::walk_block_statement(found, block)
        });
    }

    fn visit_function_body(&mut self, body: &FunctionBody<'a>) {
        self.within(declared(&body.statements), |found| {
            walk_js::walk_function_body(found, body)
        });
    }

    fn visit_arrow_function_expression(&mut self, arrow: &ArrowFunctionExpression<'a>) {
        let mut names = HashSet::new();
        for parameter in &arrow.params.items {
            bound(&parameter.pattern, &mut names);
        }
        self.within(names, |found| {
            walk_js::walk_arrow_function_expression(found, arrow)
        });
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        let mut names = HashSet::new();
        for parameter in &function.params.items {
            bound(&parameter.pattern, &mut names);
        }
        if function.is_expression()
            && let Some(body) = &function.body
        {
            // Only arrow functions are expressions in templates.
            let keyword = Span::new(function.span.start, function.params.span.start);
            self.change(keyword, "");
            self.change(Span::new(function.params.span.end, body.span.start), " => ");
        }
        self.within(names, |found| {
            walk_js::walk_function(found, function, flags)
        });
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        let mut names = HashSet::new();
        if let Some(ForStatementInit::VariableDeclaration(declaration)) = &it.init {
            declares(declaration, &mut names);
        }
        self.within(names, |found| walk_js::walk_for_statement(found, it));
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        if let Expression::Identifier(list) = &it.right {
            self.used(&list.name, NameUseKind::List, list.span.start);
        }
        self.within(left(&it.left), |found| {
            walk_js::walk_for_of_statement(found, it)
        });
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        self.within(left(&it.left), |found| {
            walk_js::walk_for_in_statement(found, it)
        });
    }

    fn visit_if_statement(&mut self, it: &IfStatement<'a>) {
        self.test(&it.test);
        self.visit_statement(&it.consequent);
        if let Some(alternate) = &it.alternate {
            self.visit_statement(alternate);
        }
    }

    fn visit_conditional_expression(&mut self, it: &ConditionalExpression<'a>) {
        self.test(&it.test);
        self.visit_expression(&it.consequent);
        self.visit_expression(&it.alternate);
    }

    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        match (&it.operator, &it.argument) {
            (UnaryOperator::Typeof, Expression::Identifier(name)) => {
                self.used(&name.name, NameUseKind::Maybe, name.span.start);
            }
            _ => walk_js::walk_unary_expression(self, it),
        }
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if let Expression::StaticMemberExpression(member) = &it.callee
            && it.arguments.len() > 1
            && self.helper(member)
        {
            // With more than the name, only the helper of the same name reads its arguments alike.
            self.changes.pop_if(|change| change.span == member.span);
            for argument in &it.arguments {
                self.visit_argument(argument);
            }
            return;
        }
        walk_js::walk_call_expression(self, it);
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if is_locals(&it.object) {
            self.local(it);
            return;
        }
        if self.helper(it) {
            return;
        }
        if let Expression::Identifier(list) = &it.object
            && LIST_METHODS.contains(&it.property.name.as_str())
        {
            self.used(&list.name, NameUseKind::List, list.span.start);
            return;
        }
        walk_js::walk_static_member_expression(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if it.name == "locals" {
            let problem = "only `locals.name` is understood, not `locals` as a whole";
            self.problems.push((it.span.start, problem.to_owned()));
            return;
        }
        self.used(&it.name, NameUseKind::Value, it.span().start);
    }
}

/// Returns the names that statements declare for their neighbours.
fn declared(statements: &[Statement<'_>]) -> HashSet<String> {
    let mut names = HashSet::new();
    for statement in statements {
        match statement {
            Statement::VariableDeclaration(declaration) => declares(declaration, &mut names),
            Statement::FunctionDeclaration(function) => {
                names.extend(function.id.iter().map(|id| id.name.to_string()));
            }
            _ => {}
        }
    }
    names
}

fn declares(declaration: &VariableDeclaration<'_>, names: &mut HashSet<String>) {
    for declarator in &declaration.declarations {
        bound(&declarator.id, names);
    }
}

fn left(left: &ForStatementLeft<'_>) -> HashSet<String> {
    let mut names = HashSet::new();
    if let ForStatementLeft::VariableDeclaration(declaration) = left {
        declares(declaration, &mut names);
    }
    names
}

fn bound(pattern: &BindingPattern<'_>, names: &mut HashSet<String>) {
    names.extend(
        pattern
            .get_binding_identifiers()
            .iter()
            .map(|id| id.name.to_string()),
    );
}
