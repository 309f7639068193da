//! Rust: syntax and imports, by the tree of `syn`.

use super::imports::{AnswerImport, ImportedModule};
use super::position::SyntaxFault;
use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{ItemExternCrate, ItemUse, Path, UseTree};

pub(super) fn read(answer: &str) -> Result<Vec<AnswerImport>, SyntaxFault> {
    let file = syn::parse_file(answer).map_err(|error| {
        let at = error.span().start();
        SyntaxFault {
            line: at.line.max(1),
            column: at.column + 1,
            detail: error.to_string(),
        }
    })?;
    let mut found = RustImports::default();
    found.visit_file(&file);
    Ok(found.imports)
}

#[derive(Default)]
struct RustImports {
    imports: Vec<AnswerImport>,
}

impl RustImports {
    fn add(&mut self, module: ImportedModule, span: Span) {
        let at = span.start();
        self.imports.push(AnswerImport {
            module,
            line: at.line.max(1),
            column: at.column + 1,
        });
    }

    /// Collects every path of a `use` with braces.
    fn tree(&mut self, prefix: &str, tree: &UseTree) {
        let joined = |name: &dyn std::fmt::Display| match prefix {
            "" => name.to_string(),
            prefix => format!("{prefix}::{name}"),
        };
        match tree {
            UseTree::Path(path) => self.tree(&joined(&path.ident), &path.tree),
            UseTree::Name(name) if name.ident == "self" && !prefix.is_empty() => {
                self.add(ImportedModule::Named(prefix.to_owned()), name.ident.span());
            }
            UseTree::Name(name) => self.add(
                ImportedModule::Named(joined(&name.ident)),
                name.ident.span(),
            ),
            UseTree::Rename(rename) if rename.ident == "self" && !prefix.is_empty() => {
                self.add(
                    ImportedModule::Named(prefix.to_owned()),
                    rename.ident.span(),
                );
            }
            UseTree::Rename(rename) => {
                self.add(
                    ImportedModule::Named(joined(&rename.ident)),
                    rename.ident.span(),
                );
            }
            UseTree::Glob(glob) => {
                self.add(
                    ImportedModule::Everything(prefix.to_owned()),
                    glob.star_token.spans[0],
                );
            }
            UseTree::Group(group) => {
                for item in &group.items {
                    self.tree(prefix, item);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for RustImports {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.tree("", &item.tree);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast ItemExternCrate) {
        self.add(
            ImportedModule::Named(item.ident.to_string()),
            item.ident.span(),
        );
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if let (Some(first), true) = (path.segments.first(), path.segments.len() > 1) {
            let names: Vec<String> = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect();
            self.add(ImportedModule::Path(names.join("::")), first.ident.span());
        }
        visit::visit_path(self, path);
    }
}
