//! Finds `require`, `import()`, `import('…')` types and CommonJS exports anywhere in a file.

use std::collections::HashSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use oxc_ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, BindingPattern, CallExpression, Expression,
    ImportExpression, MemberExpression, ObjectExpression, ObjectPropertyKind, Program,
    TSImportType, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};

use super::{ExportKind, ImportKind, JavaScriptFacts};

// Made once, and not for every file.
static IMPORT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("import"));
static REQUIRE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("require"));
static EXPORTS: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("exports"));

/// Walks the whole tree, if the text contains any of these words.
pub(super) fn read(reading: &mut JavaScriptFacts, text: &str, program: &Program<'_>) {
    let is_script = !reading.is_module;
    let is_wanted = is_called(text, &IMPORT)
        || is_called(text, &REQUIRE)
        || is_script && EXPORTS.find(text.as_bytes()).is_some();
    if is_wanted {
        let mut aliases = ExportsAliases::default();
        if is_script {
            aliases.visit_program(program);
        }
        let mut calls = CallVisitor {
            reading,
            is_script,
            aliases: aliases.0,
        };
        calls.visit_program(program);
    }
}

/// Variables that are CommonJS's `exports` under another name: `const self = module.exports`,
/// `var app = exports = module.exports = {}`, `module.exports = app`.
#[derive(Default)]
struct ExportsAliases(HashSet<String>);

impl<'a> Visit<'a> for ExportsAliases {
    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let (BindingPattern::BindingIdentifier(name), Some(value)) = (&it.id, &it.init)
            && leads_to_exports(value)
        {
            self.0.insert(name.name.to_string());
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        let names_exports = is_exports_target(&it.left);
        match (&it.left, &it.right) {
            (_, Expression::Identifier(value)) if names_exports => {
                self.0.insert(value.name.to_string());
            }
            (AssignmentTarget::AssignmentTargetIdentifier(name), value)
                if leads_to_exports(value) =>
            {
                self.0.insert(name.name.to_string());
            }
            _ => {}
        }
        walk::walk_assignment_expression(self, it);
    }
}

/// Returns true if the value is `exports`, or becomes it in the same expression.
fn leads_to_exports(value: &Expression<'_>) -> bool {
    match value {
        Expression::AssignmentExpression(it) => {
            is_exports_target(&it.left) || leads_to_exports(&it.right)
        }
        other => is_exports(other),
    }
}

/// Returns true if the word occurs before a bracket somewhere in the text.
fn is_called(text: &str, word: &Finder<'_>) -> bool {
    let text = text.as_bytes();
    word.find_iter(text).any(|at| {
        let after = text[at + word.needle().len()..].iter();
        after.copied().find(|byte| !byte.is_ascii_whitespace()) == Some(b'(')
    })
}

struct CallVisitor<'r> {
    reading: &'r mut JavaScriptFacts,
    /// True if `exports` may be CommonJS's.
    is_script: bool,
    /// Other names of `exports`.
    aliases: HashSet<String>,
}

impl<'a> Visit<'a> for CallVisitor<'_> {
    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        if let Some(specifier) = text_of(&it.source) {
            self.reading
                .import(it.span.start, specifier, ImportKind::Dynamic);
        }
        walk::walk_import_expression(self, it);
    }

    fn visit_ts_import_type(&mut self, it: &TSImportType<'a>) {
        self.reading
            .import(it.span.start, &it.source.value, ImportKind::Type);
        walk::walk_ts_import_type(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        if let Some(specifier) = required(it) {
            self.reading
                .import(it.span.start, specifier, ImportKind::Require);
        } else if self.is_script {
            self.exporting_call(it);
        }
        walk::walk_call_expression(self, it);
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        if self.is_script
            && let Some(target) = it.left.as_member_expression()
        {
            self.assigned(target, it);
        }
        walk::walk_assignment_expression(self, it);
    }
}

impl CallVisitor<'_> {
    /// `exports.a = …`, `module.exports.a = …`, `module.exports = …`.
    fn assigned(&mut self, target: &MemberExpression<'_>, it: &AssignmentExpression<'_>) {
        let offset = it.span.start;
        if target.is_specific_member_access("module", "exports") {
            return self.whole(offset, &it.right);
        }
        if self.is_exported(target.object())
            && let Some(name) = target.static_property_name()
            && name != "__esModule"
        {
            self.reading.export(offset, name, kind_of(&it.right));
        }
    }

    /// Returns true if it is `exports`, under any of its names.
    fn is_exported(&self, object: &Expression<'_>) -> bool {
        let is_alias =
            matches!(object, Expression::Identifier(it) if self.aliases.contains(it.name.as_str()));
        is_alias || is_exports(object)
    }

    /// Reads the exports of `module.exports = …`.
    fn whole(&mut self, offset: u32, value: &Expression<'_>) {
        match value {
            Expression::ObjectExpression(object) => self.properties(object),
            Expression::CallExpression(call) if required(call).is_some() => {
                if let Some(specifier) = required(call) {
                    let all = ImportKind::ReexportAll;
                    self.reading.import(offset, specifier, all);
                }
            }
            // `exports = module.exports = …` is seen again from its inner half.
            Expression::AssignmentExpression(inner) if is_exports_target(&inner.left) => {
                self.whole(offset, &inner.right);
            }
            other => self.reading.export(offset, "export=", kind_of(other)),
        }
    }

    fn properties(&mut self, object: &ObjectExpression<'_>) {
        for property in &object.properties {
            match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    if let Some(name) = property.key.static_name() {
                        let kind = kind_of(&property.value);
                        self.reading.export(property.span.start, &name, kind);
                    }
                }
                ObjectPropertyKind::SpreadProperty(spread) => {
                    if let Expression::CallExpression(call) = &spread.argument
                        && let Some(specifier) = required(call)
                    {
                        let all = ImportKind::ReexportAll;
                        self.reading.import(spread.span.start, specifier, all);
                    }
                }
            }
        }
    }

    /// Reads exports as compilers write them: `Object.defineProperty(exports, 'a', …)`,
    /// `__exportStar(require('…'), exports)`.
    fn exporting_call(&mut self, it: &CallExpression<'_>) {
        let argument = |index: usize| it.arguments.get(index).and_then(Argument::as_expression);
        let (first, second) = (argument(0), argument(1));
        if it
            .callee
            .is_specific_member_access("Object", "defineProperty")
        {
            if first.is_some_and(|it| self.is_exported(it))
                && let Some(name) = second.and_then(text_of)
                && name != "__esModule"
            {
                self.reading.export(it.span.start, name, ExportKind::Value);
            }
            return;
        }
        if it.callee.is_specific_member_access("Object", "assign") {
            if first.is_some_and(|it| self.is_exported(it)) {
                self.assigned_all(it);
            }
            return;
        }
        if second.is_some_and(is_exports)
            && let Some(Expression::CallExpression(call)) = first
            && let Some(specifier) = required(call)
        {
            let all = ImportKind::ReexportAll;
            self.reading.import(it.span.start, specifier, all);
        }
    }
}

impl CallVisitor<'_> {
    /// `Object.assign(exports, { a }, require('…'))`.
    fn assigned_all(&mut self, it: &CallExpression<'_>) {
        for value in it.arguments.iter().skip(1) {
            match value.as_expression() {
                Some(Expression::ObjectExpression(object)) => self.properties(object),
                Some(Expression::CallExpression(call)) => {
                    if let Some(specifier) = required(call) {
                        let all = ImportKind::ReexportAll;
                        self.reading.import(call.span.start, specifier, all);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The module of `require('…')`.
fn required<'c>(call: &'c CallExpression<'_>) -> Option<&'c str> {
    let is_require = matches!(&call.callee, Expression::Identifier(it) if it.name == "require");
    if !is_require {
        return None;
    }
    text_of(call.arguments.first()?.as_expression()?)
}

/// The text of a string, or of a template without expressions.
fn text_of<'e>(expression: &'e Expression<'_>) -> Option<&'e str> {
    match expression {
        Expression::StringLiteral(it) => Some(it.value.as_str()),
        Expression::TemplateLiteral(it) if it.expressions.is_empty() => {
            let cooked = it.quasis.first()?.value.cooked.as_ref();
            cooked.map(|text| text.as_str())
        }
        _ => None,
    }
}

/// `exports` or `module.exports`.
fn is_exports(expression: &Expression<'_>) -> bool {
    expression.is_specific_id("exports")
        || expression.is_specific_member_access("module", "exports")
}

fn is_exports_target(target: &AssignmentTarget<'_>) -> bool {
    match target {
        AssignmentTarget::AssignmentTargetIdentifier(it) => it.name == "exports",
        other => other
            .as_member_expression()
            .is_some_and(|it| it.is_specific_member_access("module", "exports")),
    }
}

fn kind_of(value: &Expression<'_>) -> ExportKind {
    match value {
        Expression::FunctionExpression(_) | Expression::ArrowFunctionExpression(_) => {
            ExportKind::Function
        }
        Expression::ClassExpression(_) => ExportKind::Class,
        Expression::CallExpression(call) if required(call).is_some() => ExportKind::Reexport,
        _ => ExportKind::Value,
    }
}
