//! Small by habit: how long a file and a function may grow, how wide a signature.
//!
//! clippy guards the same limits inside functions; an `expect` with clippy's lint name and a reason is
//! therefore as good a statement here as an allowance.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, Item, ItemFn, ItemImpl, ItemMod, Signature, TraitItemFn};

use super::finding::{Finding, Rule};
use super::rust::Source;

const FILE_LINES_MAX: usize = 500;
const FUNCTION_CODE_LINES_MAX: usize = 70;
const PARAMETERS_MAX: usize = 5;

pub(crate) fn check(source: &Source<'_>) -> Vec<Finding> {
    let mut functions = Functions {
        source,
        findings: Vec::new(),
    };
    if !states_reason(&source.syntax.attrs, "too_many_lines") {
        functions.visit_file(&source.syntax);
    }
    let mut findings = functions.findings;
    findings.extend(check_file(source));
    findings
}

fn check_file(source: &Source<'_>) -> Option<Finding> {
    let file = source.file;
    if file.is_test() || file.allowances.has(Rule::LongFile) {
        return None;
    }
    let lines = file.text.lines().count() - test_lines(&source.syntax.items);
    let advice = format!(
        "{lines} lines without its tests, {FILE_LINES_MAX} is the habit: split it by idea, or state a \
         reason"
    );
    (lines > FILE_LINES_MAX).then(|| Finding::new(&file.path, 1, Rule::LongFile, advice))
}

fn test_lines(items: &[Item]) -> usize {
    items
        .iter()
        .filter(|item| is_test_only(attributes_of(item)))
        .map(line_count)
        .sum()
}

fn line_count(item: &Item) -> usize {
    item.span().end().line + 1 - item.span().start().line
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let inner = attribute
            .path()
            .is_ident("cfg")
            .then(|| attribute.parse_args::<syn::Path>());
        matches!(inner, Some(Ok(path)) if path.is_ident("test"))
    })
}

/// Tells whether the attributes expect or allow clippy's `lint`; clippy itself demands the reason.
fn states_reason(attributes: &[Attribute], lint: &str) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let excuses = path.is_ident("expect") || path.is_ident("allow");
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        excuses && list.tokens.to_string().contains(lint)
    })
}

struct Functions<'a> {
    source: &'a Source<'a>,
    findings: Vec<Finding>,
}

impl Functions<'_> {
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, body: Option<&Block>) {
        if !states_reason(attributes, "too_many_arguments") {
            self.width(signature);
        }
        if let Some(body) = body
            && !states_reason(attributes, "too_many_lines")
        {
            self.length(signature, body);
        }
    }

    fn width(&mut self, signature: &Signature) {
        let count = signature.inputs.len();
        if count > PARAMETERS_MAX {
            let advice = format!(
                "`{}` takes {count} parameters, {PARAMETERS_MAX} is the habit: make a type of those \
                 that belong together",
                signature.ident
            );
            self.report(signature, Rule::WideSignature, advice);
        }
    }

    /// The lines between the braces, as clippy counts them.
    fn length(&mut self, signature: &Signature, body: &Block) {
        let (open, close) = (body.span().start().line, body.span().end().line);
        let lines = self.source.code_lines_between(open, close);
        if lines > FUNCTION_CODE_LINES_MAX {
            let advice = format!(
                "`{}` has {lines} lines of code, {FUNCTION_CODE_LINES_MAX} is the habit: give its \
                 stages names",
                signature.ident
            );
            self.report(signature, Rule::LongFunction, advice);
        }
    }

    fn report(&mut self, signature: &Signature, rule: Rule, advice: String) {
        let file = self.source.file;
        if !file.allowances.has(rule) {
            let line = signature.ident.span().start().line;
            self.findings
                .push(Finding::new(&file.path, line, rule, advice));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.attrs, &item.sig, Some(&item.block));
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.attrs, &item.sig, Some(&item.block));
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.function(&item.attrs, &item.sig, item.default.as_ref());
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if !states_reason(&item.attrs, "too_many_lines") {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !states_reason(&item.attrs, "too_many_lines") {
            visit::visit_item_mod(self, item);
        }
    }
}
