//! Finds the names of types and functions in production code, and the nouns of the glossary.

use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, ItemEnum, ItemFn, ItemMod, ItemStruct, ItemTrait};

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
        self.name.chars().filter(|c| c.is_uppercase()).count() == 1
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

/// Appends the types and functions of one file, without those of its test modules.
pub(super) fn read(source: &Source<'_>, types: &mut Vec<TypeName>, functions: &mut Vec<String>) {
    let crate_name = source.file.path.split('/').nth(1).unwrap_or_default();
    let mut collector = Collector {
        crate_name,
        types,
        functions,
    };
    collector.visit_file(&source.syntax);
}

struct Collector<'a> {
    crate_name: &'a str,
    types: &'a mut Vec<TypeName>,
    functions: &'a mut Vec<String>,
}

impl Collector<'_> {
    fn add_type(&mut self, name: &syn::Ident) {
        self.types.push(TypeName {
            name: name.to_string(),
            crate_name: self.crate_name.to_owned(),
        });
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !item.attrs.iter().any(is_test_only) {
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
        if !item.attrs.iter().any(is_test_only) {
            self.functions.push(item.sig.ident.to_string());
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.functions.push(item.sig.ident.to_string());
        visit::visit_impl_item_fn(self, item);
    }
}

/// Recognises `#[cfg(test)]` and `#[test]`.
fn is_test_only(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("test") {
        return true;
    }
    let is_cfg = attribute.path().is_ident("cfg");
    is_cfg
        && attribute
            .parse_args::<syn::Ident>()
            .is_ok_and(|condition| condition == "test")
}
