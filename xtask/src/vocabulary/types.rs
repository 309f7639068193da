//! Finds the names of types and functions in production code, and the nouns of the glossary.

use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemEnum, ItemFn, ItemMod, ItemStruct, ItemTrait};

use crate::tidy::Source;

/// Names that every crate may have for itself.
const SHARED_BY_CUSTOM: [&str; 4] = ["Error", "Result", "Limits", "Options"];

/// A struct, enum or trait, with the crate that defines it.
pub(super) struct TypeName {
    pub(super) name: String,
    pub(super) crate_name: String,
}

impl TypeName {
    pub(super) fn is_one_word(&self) -> bool {
        !self.may_be_shared() && self.name.chars().filter(|c| c.is_uppercase()).count() == 1
    }

    pub(super) fn may_be_shared(&self) -> bool {
        SHARED_BY_CUSTOM.contains(&self.name.as_str())
    }
}

/// Reads the bold terms of the glossary; `**run, step**: …` defines two.
pub(super) fn glossary(architecture: &str) -> Vec<String> {
    let section = architecture
        .split_once("\n## Glossary")
        .map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let bold = section.split("**").skip(1).step_by(2);
    bold.flat_map(|terms| terms.split(','))
        .map(|term| term.trim().to_lowercase())
        .collect()
}

/// The names that one file defines, and which of its lines are tests.
#[derive(Default)]
pub(super) struct FileNames {
    pub(super) types: Vec<TypeName>,
    pub(super) functions: Vec<String>,
    pub(super) tests: Vec<String>,
    test_lines: Vec<RangeInclusive<usize>>,
}

impl FileNames {
    /// Reads the types and functions of a file, apart from those of its test modules.
    pub(super) fn of(source: &Source<'_>) -> Self {
        let crate_name = source.file.path.split('/').nth(1).unwrap_or_default();
        let mut collector = Collector {
            crate_name,
            names: Self::default(),
        };
        collector.visit_file(&source.syntax);
        collector.names
    }

    pub(super) fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.iter().any(|lines| lines.contains(&line))
    }
}

struct Collector<'a> {
    crate_name: &'a str,
    names: FileNames,
}

impl Collector<'_> {
    fn add_type(&mut self, name: &syn::Ident) {
        self.names.types.push(TypeName {
            name: name.to_string(),
            crate_name: self.crate_name.to_owned(),
        });
    }

    fn add_test_lines(&mut self, item: &impl Spanned) {
        let span = item.span();
        self.names
            .test_lines
            .push(span.start().line..=span.end().line);
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.attrs.iter().any(is_test_only) {
            self.add_test_lines(item);
            self.names.tests.extend(test_functions(item));
        } else {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.add_type(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.add_type(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.add_type(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if item.attrs.iter().any(is_test_only) {
            self.add_test_lines(item);
            self.names.tests.push(item.sig.ident.to_string());
        } else {
            self.names.functions.push(item.sig.ident.to_string());
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.names.functions.push(item.sig.ident.to_string());
        visit::visit_impl_item_fn(self, item);
    }
}

fn test_functions(module: &ItemMod) -> Vec<String> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    let functions = items.filter_map(|item| match item {
        Item::Fn(item) if item.attrs.iter().any(is_test_only) => Some(item.sig.ident.to_string()),
        _ => None,
    });
    functions.collect()
}

/// Recognises `#[cfg(test)]`, `#[test]` and `#[tokio::test]`.
pub(crate) fn is_test_only(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    if last.is_some_and(|last| last.ident == "test") {
        return true;
    }
    let is_cfg = attribute.path().is_ident("cfg");
    is_cfg
        && attribute
            .parse_args::<syn::Ident>()
            .is_ok_and(|condition| condition == "test")
}
