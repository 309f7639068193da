//! Names that say nothing, or say "the second try", are not names.

use syn::Ident;
use syn::visit::{self, Visit};
use syn::{ItemEnum, ItemMod, ItemStruct, ItemTrait};

use super::finding::{Finding, Rule};
use super::rust::Source;

const FORBIDDEN: [&str; 10] = [
    "common", "commons", "helper", "helpers", "manager", "managers", "misc", "util", "utils",
    "utility",
];

pub(crate) fn check(source: &Source<'_>) -> Vec<Finding> {
    let file = source.file;
    if file.allowances.has(Rule::ForbiddenName) {
        return Vec::new();
    }
    let mut named = Named {
        source,
        findings: Vec::new(),
    };
    let without_extension = file.path.trim_end_matches(".rs");
    for part in without_extension.split('/') {
        named.name(part, 1);
    }
    named.visit_file(&source.syntax);
    named.findings
}

struct Named<'a> {
    source: &'a Source<'a>,
    findings: Vec<Finding>,
}

impl Named<'_> {
    fn ident(&mut self, ident: &Ident) {
        self.name(&ident.to_string(), ident.span().start().line);
    }

    fn name(&mut self, name: &str, line: usize) {
        let Some(word) = words(name).into_iter().find(|word| is_forbidden(word)) else {
            return;
        };
        let advice = format!("`{name}` says `{word}`; name it for the one thing it does");
        self.findings.push(Finding::new(
            &self.source.file.path,
            line,
            Rule::ForbiddenName,
            advice,
        ));
    }
}

impl<'ast> Visit<'ast> for Named<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.ident(&item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.ident(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.ident(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.ident(&item.ident);
    }
}

/// The lower-case words of a `snake_case`, `kebab-case` or `PascalCase` name.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        let starts_word = c == '_' || c == '-' || c.is_uppercase();
        if starts_word {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// A version suffix (`_v2`) is a name for "I did not dare to change the first one".
fn is_forbidden(word: &str) -> bool {
    let version = word.strip_prefix('v').is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()) && rest != "1"
    });
    version || FORBIDDEN.contains(&word)
}
