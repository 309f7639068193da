//! Finds the names an expression reads from outside, without evaluating it.

use std::collections::HashSet;

use oxc_ast::ast::{
    BindingIdentifier, ComputedMemberExpression, Expression, IdentifierReference,
    StaticMemberExpression,
};
use oxc_ast_visit::{Visit, walk};

use crate::error::Error;
use crate::parse::parsed;

/// A free name and the properties that are read of it one after the other: `output.items[0]` is
/// `["output", "items", "0"]`. A property that is computed ends the path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NameReference {
    pub path: Vec<String>,
    /// Byte offset of the name in the expression.
    pub offset: usize,
    /// True if the path is everything that is read there, not the beginning of something computed.
    pub exact: bool,
}

/// Returns the free names of an expression, in the order they are written. Names that the
/// expression declares itself, as parameters of its functions, are not among them.
pub fn references(source: &str) -> Result<Vec<NameReference>, Error> {
    parsed(source, |expression, text| {
        let mut reader = ReferenceCollector::default();
        reader.visit_expression(expression);
        let ReferenceCollector { found, declared } = reader;
        let prefix = text.prefix as usize;
        let free = found.into_iter().filter(|reference| {
            let name = reference.path.first();
            name.is_some_and(|name| !declared.contains(name))
        });
        Ok(free
            .map(|reference| NameReference {
                offset: reference.offset.saturating_sub(prefix),
                ..reference
            })
            .collect())
    })
}

#[derive(Default)]
struct ReferenceCollector {
    found: Vec<NameReference>,
    declared: HashSet<String>,
}

impl<'a> Visit<'a> for ReferenceCollector {
    fn visit_binding_identifier(&mut self, identifier: &BindingIdentifier<'a>) {
        self.declared.insert(identifier.name.to_string());
    }

    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        self.found.push(start(identifier));
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        match static_path(&member.object) {
            Some(mut reference) => {
                reference.path.push(member.property.name.to_string());
                self.found.push(reference);
            }
            None => walk::walk_static_member_expression(self, member),
        }
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        let Some(mut reference) = static_path(&member.object) else {
            walk::walk_computed_member_expression(self, member);
            return;
        };
        match literal(&member.expression) {
            Some(key) => reference.path.push(key),
            None => reference.exact = false,
        }
        self.found.push(reference);
        self.visit_expression(&member.expression);
    }
}

fn start(identifier: &IdentifierReference<'_>) -> NameReference {
    NameReference {
        path: vec![identifier.name.to_string()],
        offset: identifier.span.start as usize,
        exact: true,
    }
}

/// Returns the path of an expression that is nothing else.
fn static_path(expression: &Expression<'_>) -> Option<NameReference> {
    match expression {
        Expression::Identifier(identifier) => Some(start(identifier)),
        Expression::StaticMemberExpression(member) => {
            let mut reference = static_path(&member.object)?;
            reference.path.push(member.property.name.to_string());
            Some(reference)
        }
        Expression::ComputedMemberExpression(member) => {
            let mut reference = static_path(&member.object)?;
            reference.path.push(literal(&member.expression)?);
            Some(reference)
        }
        _ => None,
    }
}

fn literal(expression: &Expression<'_>) -> Option<String> {
    match expression {
        Expression::StringLiteral(text) => Some(text.value.to_string()),
        Expression::NumericLiteral(number) => Some(crate::convert::number_to_string(number.value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::references;

    #[test]
    fn free_names_are_found_with_the_paths_read_of_them() {
        for (source, expected) in [
            ("output.score >= 80", "output.score"),
            (
                "steps.A.output.files[0].path",
                "steps.A.output.files.0.path",
            ),
            ("steps['a b'].output", "steps.a b.output"),
            ("steps[name].output", "steps* name"),
            (
                "output.items.filter(x => x.ok && x.n > min)",
                "output.items.filter min",
            ),
            ("(({a, b}) => a + b + c)(output)", "c output"),
            ("`${run.id} ${1}`", "run.id"),
            ("1 + 2", ""),
            ("output?.a?.b", "output.a.b"),
        ] {
            let found = references(source).unwrap();
            let shown: Vec<String> = found
                .iter()
                .map(|r| r.path.join(".") + if r.exact { "" } else { "*" })
                .collect();
            assert_eq!(shown.join(" "), expected, "{source}");
        }
    }

    #[test]
    fn an_invalid_expression_is_an_error() {
        assert!(references("output.").is_err());
    }
}
