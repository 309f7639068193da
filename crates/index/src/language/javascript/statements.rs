//! Reads the top level of a module: `import` and `export` in all their forms.

use oxc_ast::ast::{
    BindingPattern, Declaration, ExportDefaultDeclarationKind, ImportDeclaration,
    ImportDeclarationSpecifier, ModuleExportName, Program, Statement, TSModuleReference,
};
use oxc_span::GetSpan as _;

use super::{ExportKind, ImportKind, JavaScriptFacts};

/// Reads the statements of a module. In a declaration file, names declared beside exports are
/// exported too, unless the file has an export list.
pub(super) fn read(reading: &mut JavaScriptFacts, program: &Program<'_>, is_declaration: bool) {
    for statement in &program.body {
        self::statement(reading, program, statement);
    }
    if is_declaration && reading.is_module && !program.body.iter().any(is_list) {
        for statement in &program.body {
            if let Some(declaration) = statement.as_declaration() {
                declared(declaration, &mut |offset, name, kind| {
                    reading.export(offset, name, kind);
                });
            }
        }
    }
}

/// Returns true for a statement that lists exports, apart from declarations with `export`.
fn is_list(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::ExportNamedDeclaration(_)
        | Statement::ExportFromDeclaration(_)
        | Statement::ExportAllDeclaration(_)
        | Statement::TSExportAssignment(_) => true,
        Statement::ExportDefaultDeclaration(it) => it.declaration.is_expression(),
        _ => false,
    }
}

fn statement(reading: &mut JavaScriptFacts, program: &Program<'_>, statement: &Statement<'_>) {
    match statement {
        Statement::ImportDeclaration(it) => {
            reading.import(it.span.start, &it.source.value, kind_of_import(it));
        }
        Statement::ExportDeclaration(it) => {
            declared(&it.declaration, &mut |offset, name, kind| {
                reading.export(offset, name, kind);
            });
            external(reading, &it.declaration);
        }
        Statement::ExportNamedDeclaration(it) => {
            for specifier in &it.specifiers {
                let kind = kind_of_local(program, &name_of(&specifier.local));
                reading.export(specifier.span.start, &name_of(&specifier.exported), kind);
            }
        }
        Statement::ExportFromDeclaration(it) => {
            reading.import(it.span.start, &it.source.value, ImportKind::Reexport);
            for specifier in &it.specifiers {
                let name = name_of(&specifier.exported);
                reading.export(specifier.span.start, &name, ExportKind::Reexport);
            }
        }
        Statement::ExportAllDeclaration(it) => match &it.exported {
            Some(name) => {
                reading.import(it.span.start, &it.source.value, ImportKind::Reexport);
                reading.export(it.span.start, &name_of(name), ExportKind::Module);
            }
            None => reading.import(it.span.start, &it.source.value, ImportKind::ReexportAll),
        },
        Statement::ExportDefaultDeclaration(it) => {
            let kind = match &it.declaration {
                ExportDefaultDeclarationKind::FunctionDeclaration(_)
                | ExportDefaultDeclarationKind::ArrowFunctionExpression(_) => ExportKind::Function,
                ExportDefaultDeclarationKind::ClassDeclaration(_) => ExportKind::Class,
                ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => ExportKind::Type,
                ExportDefaultDeclarationKind::Identifier(it) => kind_of_local(program, &it.name),
                _ => ExportKind::Value,
            };
            reading.export(it.span.start, "default", kind);
        }
        Statement::TSExportAssignment(it) => {
            reading.export(it.span.start, "export=", ExportKind::Value);
        }
        Statement::TSNamespaceExportDeclaration(_) => {}
        other => {
            if let Some(declaration) = other.as_declaration() {
                external(reading, declaration);
            }
            return;
        }
    }
    reading.is_module = true;
}

fn kind_of_import(it: &ImportDeclaration<'_>) -> ImportKind {
    let named_as_types = it.specifiers.as_ref().is_some_and(|specifiers| {
        !specifiers.is_empty()
            && specifiers.iter().all(|specifier| {
                matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(it)
                    if it.import_kind.is_type())
            })
    });
    if it.import_kind.is_type() || named_as_types {
        ImportKind::Type
    } else {
        ImportKind::Static
    }
}

/// `import x = require('…')`.
fn external(reading: &mut JavaScriptFacts, declaration: &Declaration<'_>) {
    if let Declaration::TSImportEqualsDeclaration(it) = declaration
        && let TSModuleReference::ExternalModuleReference(module) = &it.module_reference
    {
        reading.import(it.span.start, &module.expression.value, ImportKind::Require);
        reading.is_module = true;
    }
}

/// Passes on the names of a declaration, with their kinds.
fn declared(declaration: &Declaration<'_>, found: &mut impl FnMut(u32, &str, ExportKind)) {
    let offset = declaration.span().start;
    match declaration {
        Declaration::VariableDeclaration(it) => {
            for declarator in &it.declarations {
                use oxc_ast::ast::Expression;
                let kind = match &declarator.init {
                    Some(
                        Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_),
                    ) => ExportKind::Function,
                    Some(Expression::ClassExpression(_)) => ExportKind::Class,
                    _ => ExportKind::Value,
                };
                bound(&declarator.id, kind, found);
            }
        }
        Declaration::FunctionDeclaration(it) => {
            if let Some(id) = &it.id {
                found(offset, &id.name, ExportKind::Function);
            }
        }
        Declaration::ClassDeclaration(it) => {
            if let Some(id) = &it.id {
                found(offset, &id.name, ExportKind::Class);
            }
        }
        Declaration::TSTypeAliasDeclaration(it) => found(offset, &it.id.name, ExportKind::Type),
        Declaration::TSInterfaceDeclaration(it) => found(offset, &it.id.name, ExportKind::Type),
        Declaration::TSEnumDeclaration(it) => found(offset, &it.id.name, ExportKind::Enum),
        Declaration::TSImportEqualsDeclaration(it) => {
            found(offset, &it.id.name, ExportKind::Reexport);
        }
        Declaration::TSNamespaceDeclaration(it) => found(offset, &it.id.name, ExportKind::Module),
        Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => {}
    }
}

fn bound(
    pattern: &BindingPattern<'_>,
    kind: ExportKind,
    found: &mut impl FnMut(u32, &str, ExportKind),
) {
    match pattern {
        BindingPattern::BindingIdentifier(id) => found(id.span.start, &id.name, kind),
        other => {
            for id in other.get_binding_identifiers() {
                found(id.span.start, &id.name, ExportKind::Value);
            }
        }
    }
}

/// Returns the kind of a name at the top of the module.
fn kind_of_local(program: &Program<'_>, name: &str) -> ExportKind {
    for statement in &program.body {
        if let Statement::ImportDeclaration(it) = statement {
            let specifiers = it.specifiers.iter().flatten();
            if specifiers
                .map(|it| it.local().name)
                .any(|local| local == name)
            {
                return ExportKind::Reexport;
            }
            continue;
        }
        let declaration = match statement {
            Statement::ExportDeclaration(it) => Some(&it.declaration),
            other => other.as_declaration(),
        };
        let mut kind = None;
        if let Some(declaration) = declaration {
            declared(declaration, &mut |_, declared, found| {
                if declared == name {
                    kind = Some(found);
                }
            });
        }
        if let Some(kind) = kind {
            return kind;
        }
    }
    ExportKind::Value
}

fn name_of(name: &ModuleExportName<'_>) -> String {
    name.name().to_string()
}
