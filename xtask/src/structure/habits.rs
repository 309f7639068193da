//! Finds, in one file of production code, the methods of each type and the habits that cost reading.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Block, Expr, ExprMatch, FnArg, ImplItem, ImplItemFn, ItemFn, ItemImpl, ItemMod, Lit, Local,
    Pat, Signature, Stmt, TraitItemFn, Type,
};

use crate::vocabulary::is_test_only;

/// Everything found in one file, each with its line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileHabits {
    /// Inherent methods by the name of their type.
    pub(super) methods: BTreeMap<String, usize>,
    /// Parameters of each function; an element of a tuple counts as one.
    pub(super) parameters: Vec<(usize, usize)>,
    pub(super) bool_matches: Vec<usize>,
    pub(super) shadowed_lets: Vec<usize>,
}

impl FileHabits {
    pub(super) fn of(file: &syn::File) -> Self {
        let mut habits = Self::default();
        habits.visit_file(file);
        habits
    }

    fn read_signature(&mut self, signature: &Signature) {
        let count = signature.inputs.iter().map(|input| match input {
            FnArg::Receiver(_) => 1,
            FnArg::Typed(typed) => elements(&typed.ty),
        });
        let line = signature.ident.span().start().line;
        self.parameters.push((line, count.sum()));
    }
}

impl<'ast> Visit<'ast> for FileHabits {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !item.attrs.iter().any(is_test_only) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if item.attrs.iter().any(is_test_only) {
            return;
        }
        if let (None, Some(name)) = (&item.trait_, type_name(&item.self_ty)) {
            let methods = item.items.iter();
            let methods = methods.filter(|item| matches!(item, ImplItem::Fn(_)));
            *self.methods.entry(name).or_default() += methods.count();
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !item.attrs.iter().any(is_test_only) {
            self.read_signature(&item.sig);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.read_signature(&item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.read_signature(&item.sig);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_match(&mut self, item: &'ast ExprMatch) {
        if item.arms.iter().any(|arm| is_bool(&arm.pat)) {
            self.bool_matches.push(item.span().start().line);
        }
        visit::visit_expr_match(self, item);
    }

    fn visit_block(&mut self, item: &'ast Block) {
        for pair in item.stmts.windows(2) {
            if let [Stmt::Local(first), Stmt::Local(second)] = pair
                && let (Some(name), Some(next)) = (bound_name(first), bound_name(second))
                && name == next
            {
                self.shadowed_lets.push(second.span().start().line);
            }
        }
        visit::visit_block(self, item);
    }
}

/// Counts the values that a parameter of this type carries.
fn elements(parameter: &Type) -> usize {
    match parameter {
        Type::Tuple(tuple) => tuple.elems.iter().map(elements).sum(),
        Type::Reference(reference) => elements(&reference.elem),
        Type::Paren(inner) => elements(&inner.elem),
        _ => 1,
    }
}

fn type_name(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|it| it.ident.to_string()),
        _ => None,
    }
}

fn is_bool(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Lit(literal) if matches!(literal.lit, Lit::Bool(_)))
}

/// Returns the name that a `let` with a value binds.
fn bound_name(local: &Local) -> Option<String> {
    let has_value = local
        .init
        .as_ref()
        .is_some_and(|init| !is_empty(&init.expr));
    let pattern = match &local.pat {
        Pat::Type(typed) => &typed.pat,
        pattern => pattern,
    };
    match pattern {
        Pat::Ident(name) if has_value => Some(name.ident.to_string()),
        _ => None,
    }
}

fn is_empty(value: &Expr) -> bool {
    matches!(value, Expr::Tuple(tuple) if tuple.elems.is_empty())
}
