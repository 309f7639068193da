//! Work left for later does not land: no unfinished macros, no marks for later, no ignored tests.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Macro};

use super::finding::{Finding, Rule};
use super::rust::Source;

const MACROS: [&str; 2] = ["todo", "unimplemented"];
/// Who runs an ignored test: the test that starts it, `./test` as root, or a person, in which case
/// `./test` lists it as SKIPPED.
const RUNNERS: [&str; 5] = ["child: ", "root: ", "soak: ", "measure: ", "machine: "];
const MARKS: [&str; 3] = ["TODO", "FIXME", "XXX"];

pub(crate) fn check(source: &Source<'_>) -> Vec<Finding> {
    if source.file.allowances.has(Rule::Leftover) {
        return Vec::new();
    }
    let mut leftovers = Leftovers {
        source,
        findings: Vec::new(),
    };
    leftovers.visit_file(&source.syntax);
    for (line, comment) in &source.comments {
        let mark = MARKS.iter().find(|mark| has_word(comment, mark));
        if let Some(mark) = mark {
            leftovers.report(
                *line,
                format!("do what `{mark}` says, or file it as an issue"),
            );
        }
    }
    leftovers.findings
}

struct Leftovers<'a> {
    source: &'a Source<'a>,
    findings: Vec<Finding>,
}

impl Leftovers<'_> {
    fn report(&mut self, line: usize, advice: String) {
        self.findings.push(Finding::new(
            &self.source.file.path,
            line,
            Rule::Leftover,
            advice,
        ));
    }
}

impl<'ast> Visit<'ast> for Leftovers<'_> {
    fn visit_macro(&mut self, call: &'ast Macro) {
        let unfinished = MACROS.iter().find(|name| call.path.is_ident(name));
        if let Some(name) = unfinished {
            self.report(
                call.span().start().line,
                format!("finish what `{name}!` stands for"),
            );
        }
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("ignore") && !names_runner(attribute) {
            let advice = format!(
                "fix the ignored test, or say who runs it: the reason begins with {}",
                RUNNERS.join(", ")
            );
            self.report(attribute.span().start().line, advice);
        }
    }
}

/// Recognises a reason that begins with who runs the test.
fn names_runner(attribute: &Attribute) -> bool {
    let syn::Meta::NameValue(reason) = &attribute.meta else {
        return false;
    };
    let syn::Expr::Lit(syn::ExprLit {
        lit: syn::Lit::Str(reason),
        ..
    }) = &reason.value
    else {
        return false;
    };
    let reason = reason.value();
    RUNNERS.iter().any(|runner| reason.starts_with(runner))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|found| found == word)
}
