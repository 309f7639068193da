//! Python: syntax and imports, by the parser of Ruff.

use super::imports::{AnswerImport, ImportedModule};
use super::position::{SyntaxFault, position};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtImportFrom};
use ruff_text_size::{Ranged, TextRange};

pub(super) fn read(answer: &str) -> Result<Vec<AnswerImport>, SyntaxFault> {
    let parsed = ruff_python_parser::parse_module(answer).map_err(|error| {
        let offset = error.location.start().to_usize();
        SyntaxFault::at_offset(answer, offset, error.error.to_string())
    })?;
    let mut found = PythonImports {
        answer,
        imports: Vec::new(),
    };
    for statement in parsed.suite() {
        found.visit_stmt(statement);
    }
    Ok(found.imports)
}

struct PythonImports<'t> {
    answer: &'t str,
    imports: Vec<AnswerImport>,
}

impl PythonImports<'_> {
    fn add(&mut self, module: ImportedModule, range: TextRange) {
        let (line, column) = position(self.answer, range.start().to_usize());
        self.imports.push(AnswerImport {
            module,
            line,
            column,
        });
    }

    /// Records `from os import path` as an import of `os.path`, which it may be.
    fn from(&mut self, import: &StmtImportFrom) {
        let dots = ".".repeat(import.level as usize);
        let module = import.module.as_ref().map_or("", |module| module.as_str());
        for alias in &import.names {
            let name = alias.name.as_str();
            let module = match (name, module.is_empty()) {
                ("*", _) => ImportedModule::Everything(format!("{dots}{module}")),
                (name, true) => ImportedModule::Named(format!("{dots}{name}")),
                (name, false) => ImportedModule::Named(format!("{dots}{module}.{name}")),
            };
            self.add(module, alias.range());
        }
    }

    /// Records `__import__("os")` and `importlib.import_module("os")`.
    fn call(&mut self, call: &ExprCall) {
        let imports = match &*call.func {
            Expr::Name(name) => matches!(name.id.as_str(), "__import__" | "import_module"),
            Expr::Attribute(attribute) => attribute.attr.as_str() == "import_module",
            _ => false,
        };
        if !imports {
            return;
        }
        let module = match call.arguments.args.first() {
            Some(Expr::StringLiteral(name)) => {
                ImportedModule::Named(name.value.to_str().to_owned())
            }
            _ => ImportedModule::Computed,
        };
        self.add(module, call.range());
    }
}

impl<'a> Visitor<'a> for PythonImports<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.add(ImportedModule::Named(alias.name.to_string()), alias.range());
                }
            }
            Stmt::ImportFrom(import) => self.from(import),
            other => walk_stmt(self, other),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression {
            self.call(call);
        }
        walk_expr(self, expression);
    }
}
