//! Finds the public items of each crate that no other crate names.
//!
//! Names are compared as words: an item counts as used if any other crate has an identifier of the
//! same name. A crate's own tests and benchmarks count as another crate, because they see only what
//! is public.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{ImplItemFn, Item, ItemMod, Visibility};

use crate::tidy::Source;
use crate::vocabulary::is_test_only;

/// The public items and all identifiers of the tree.
#[derive(Default)]
pub(super) struct PublicItems {
    items: Vec<PublicItem>,
    identifiers: BTreeMap<String, BTreeSet<String>>,
}

struct PublicItem {
    crate_name: String,
    name: String,
    place: String,
}

impl PublicItems {
    pub(super) fn read(&mut self, source: &Source<'_>) {
        let path = &source.file.path;
        let unit = unit_of(path);
        let seen = self.identifiers.entry(unit.clone()).or_default();
        seen.extend(source.identifiers.iter().cloned());
        let is_production = path.starts_with("crates/") && !source.file.is_test();
        if let Some(name) = unit.strip_suffix("/src").filter(|_| is_production) {
            let mut collector = Collector {
                path,
                crate_name: name,
                items: &mut self.items,
            };
            collector.visit_file(&source.syntax);
        }
    }

    /// Returns each item with its place.
    pub(super) fn unnamed(&self) -> Vec<String> {
        let unnamed = self.items.iter().filter(|item| {
            let own = format!("{}/src", item.crate_name);
            let others = self.identifiers.iter().filter(|(unit, _)| **unit != own);
            !others
                .into_iter()
                .any(|(_, names)| names.contains(&item.name))
        });
        unnamed
            .map(|item| format!("{}: {}", item.place, item.name))
            .collect()
    }
}

/// Returns the compilation unit of a file, for example `flow/src` or `flow/tests`.
fn unit_of(path: &str) -> String {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    path.splitn(3, '/').take(2).collect::<Vec<_>>().join("/")
}

struct Collector<'a> {
    path: &'a str,
    crate_name: &'a str,
    items: &'a mut Vec<PublicItem>,
}

impl Collector<'_> {
    fn add(&mut self, visibility: &Visibility, name: &Ident) {
        if matches!(visibility, Visibility::Public(_)) {
            self.items.push(PublicItem {
                crate_name: self.crate_name.to_owned(),
                name: name.to_string(),
                place: format!("{}:{}", self.path, name.span().start().line),
            });
        }
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !item.attrs.iter().any(is_test_only) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Const(item) => self.add(&item.vis, &item.ident),
            Item::Enum(item) => self.add(&item.vis, &item.ident),
            Item::Fn(item) => self.add(&item.vis, &item.sig.ident),
            Item::Static(item) => self.add(&item.vis, &item.ident),
            Item::Struct(item) => self.add(&item.vis, &item.ident),
            Item::Trait(item) => self.add(&item.vis, &item.ident),
            Item::Type(item) => self.add(&item.vis, &item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.add(&item.vis, &item.sig.ident);
    }
}
