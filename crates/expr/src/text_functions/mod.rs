//! Name helpers: the text functions templates call, such as `camelCase` and `pluralize`.
//!
//! Two families of templates meet here and they disagree. Hypergen registers thirteen names on
//! top of change-case 3, inflection 3 and a `capitalize` of its own; Edge brings its own globals
//! from `@poppinss/string`. Where both define a name, templates see Hypergen's, because that is
//! what a Jig template sees: `snakeCase("fooBAR2baz")` is `foo_bar2baz`, not `foo_bar_2_baz`.
//! Hypergen's versions read one argument. So when a call gives more, as in `pluralize("box", 1)`
//! or `dotCase(name, { lowerCase: true })`, only Edge's version can be meant, and that one runs.
//!
//! Every version stays reachable under the name of its set, `edge.snakeCase` or
//! `inflection.capitalize`, and as a plain function: [`change_case::snake`], [`edge_case::snake`].

mod args;
mod calls;
pub mod change_case;
pub mod edge_case;
pub mod edge_plural;
mod edge_plural_rules;
mod endings;
pub mod inflection;
mod inflection_rules;
mod js_text;
mod letters;
pub mod measures;
mod sets;
pub mod truncate;

pub use args::{FunctionArg, FunctionOutput};

/// One helper: its name in templates and how to run it.
pub struct NameFn {
    pub name: &'static str,
    pub call: fn(&[FunctionArg<'_>]) -> Result<FunctionOutput, String>,
}

/// Finds a helper by the name a template sees, or by `set.name`: `edge.camelCase`.
///
/// The sets are `changeCase`, `inflection`, `helpers` and `edge`.
#[must_use]
pub fn lookup(name: &str) -> Option<&'static NameFn> {
    let (helpers, name) = match name.split_once('.') {
        Some((set, name)) => (set_named(set)?, name),
        None => (all(), name),
    };
    let place = helpers
        .binary_search_by(|helper| helper.name.cmp(name))
        .ok()?;
    helpers.get(place)
}

/// Returns every name a template sees, sorted.
#[must_use]
pub fn all() -> &'static [NameFn] {
    sets::TEMPLATE
}

/// Returns one set under its own names, sorted: the members of `h.changeCase` and `h.inflection`.
#[must_use]
pub fn set_named(set: &str) -> Option<&'static [NameFn]> {
    match set {
        "changeCase" => Some(sets::CHANGE_CASE),
        "inflection" => Some(sets::INFLECTION),
        "helpers" => Some(sets::HELPERS),
        "edge" => Some(sets::EDGE),
        _ => None,
    }
}
