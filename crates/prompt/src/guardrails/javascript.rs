//! JavaScript and TypeScript: syntax and imports, by the tree of `oxc`.

use super::imports::{AnswerImport, ImportedModule};
use super::position::{SyntaxFault, position};
use super::syntax::GuardedSyntax;
use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument, CallExpression, ExportAllDeclaration, ExportFromDeclaration, Expression,
    ImportDeclaration, ImportExpression, StringLiteral, TSExternalModuleReference, TSImportType,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType};

pub(super) fn read(syntax: GuardedSyntax, answer: &str) -> Result<Vec<AnswerImport>, SyntaxFault> {
    let kind = match syntax {
        GuardedSyntax::TypeScript => SourceType::ts(),
        GuardedSyntax::Tsx => SourceType::tsx(),
        GuardedSyntax::Jsx => SourceType::jsx(),
        // A module unless it is written as a script.
        _ => SourceType::unambiguous(),
    };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, answer, kind)
        .with_options(ParseOptions::default())
        .parse();
    if let Some(first) = parsed.diagnostics.iter().next() {
        let label = first.labels.first();
        let offset = label.map_or(0, |label| label.offset());
        let detail = match &first.help {
            Some(help) => format!("{} ({help})", first.message),
            None => first.message.to_string(),
        };
        return Err(SyntaxFault::at_offset(answer, offset as usize, detail));
    }
    let mut found = JavaScriptImports {
        answer,
        imports: Vec::new(),
    };
    found.visit_program(&parsed.program);
    Ok(found.imports)
}

struct JavaScriptImports<'t> {
    answer: &'t str,
    imports: Vec<AnswerImport>,
}

impl JavaScriptImports<'_> {
    fn add(&mut self, module: ImportedModule, offset: u32) {
        let (line, column) = position(self.answer, offset as usize);
        self.imports.push(AnswerImport {
            module,
            line,
            column,
        });
    }

    fn named(&mut self, source: &StringLiteral<'_>) {
        self.add(
            ImportedModule::Named(source.value.to_string()),
            source.span.start,
        );
    }

    /// Records the argument of `import()` or `require()`.
    fn loaded(&mut self, source: &Expression<'_>) {
        match source {
            Expression::StringLiteral(source) => self.named(source),
            Expression::TemplateLiteral(template) if template.expressions.is_empty() => {
                let quasi = template.quasis.first();
                let name = quasi.and_then(|quasi| quasi.value.cooked.as_ref());
                let name = name.map(ToString::to_string).unwrap_or_default();
                self.add(ImportedModule::Named(name), template.span.start);
            }
            other => self.add(ImportedModule::Computed, other.span().start),
        }
    }
}

impl<'a> Visit<'a> for JavaScriptImports<'_> {
    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        self.named(&it.source);
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        self.named(&it.source);
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        self.named(&it.source);
    }

    fn visit_ts_import_type(&mut self, it: &TSImportType<'a>) {
        self.named(&it.source);
        walk::walk_ts_import_type(self, it);
    }

    fn visit_ts_external_module_reference(&mut self, it: &TSExternalModuleReference<'a>) {
        self.named(&it.expression);
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.loaded(&it.source);
        walk::walk_import_expression(self, it);
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        let is_require =
            matches!(&it.callee, Expression::Identifier(name) if name.name == "require");
        if is_require {
            match it.arguments.first().and_then(Argument::as_expression) {
                Some(source) => self.loaded(source),
                None => self.add(ImportedModule::Computed, it.span.start),
            }
        }
        walk::walk_call_expression(self, it);
    }
}
