//! The sets of helpers by name, each sorted so that a name is found by halving.

use super::{FunctionOutput, NameFn, calls, change_case, edge_case, inflection};

/// A helper that reads one text and writes one.
macro_rules! text {
    ($name:literal, $function:path) => {
        NameFn {
            name: $name,
            call: |args| Ok(FunctionOutput::Str($function(&calls::subject(args)))),
        }
    };
}

/// The helpers of templates: Hypergen's names, then Edge's, then the rest of the libraries.
pub(super) const TEMPLATE: &[NameFn] = &[
    text!("camelCase", change_case::camel),
    NameFn {
        name: "camelize",
        call: calls::camelize,
    },
    text!("capitalCase", edge_case::capital),
    text!("capitalize", change_case::first_upper),
    text!("classify", inflection::classify),
    text!("constantCase", change_case::constant),
    NameFn {
        name: "dashCase",
        call: calls::dash_case,
    },
    text!("dasherize", inflection::dasherize),
    text!("demodulize", inflection::demodulize),
    NameFn {
        name: "dotCase",
        call: calls::dot_case,
    },
    NameFn {
        name: "excerpt",
        call: calls::excerpt,
    },
    NameFn {
        name: "foreignKey",
        call: calls::foreign_key,
    },
    text!("headerCase", change_case::header),
    text!("humanize", inflection::humanize),
    text!("hyphenCase", change_case::param),
    NameFn {
        name: "inflect",
        call: calls::inflect,
    },
    // plop's spelling.
    text!("kabobCase", change_case::param),
    text!("kebabCase", change_case::param),
    text!("lowerCase", change_case::lower_case),
    text!("lowerCaseFirst", change_case::first_lower),
    text!("noCase", edge_case::no),
    NameFn {
        name: "ordinal",
        call: calls::ordinal,
    },
    text!("ordinalize", inflection::ordinalize),
    text!("paramCase", change_case::param),
    text!("pascalCase", change_case::pascal),
    text!("pathCase", change_case::path),
    NameFn {
        name: "pluralize",
        call: calls::pluralize_counted,
    },
    NameFn {
        name: "prettyBytes",
        call: calls::pretty_bytes,
    },
    NameFn {
        name: "prettyMs",
        call: calls::pretty_ms,
    },
    // plop's name for `pascalCase`.
    text!("properCase", change_case::pascal),
    NameFn {
        name: "sentence",
        call: calls::sentence,
    },
    text!("sentenceCase", edge_case::sentence),
    text!("singularize", inflection::singularize),
    text!("snakeCase", change_case::snake),
    text!("swapCase", change_case::swap),
    text!("tableize", inflection::tableize),
    text!("titleCase", edge_case::title),
    text!("titleize", inflection::titleize),
    NameFn {
        name: "toBytes",
        call: calls::to_bytes,
    },
    NameFn {
        name: "toMs",
        call: calls::to_ms,
    },
    NameFn {
        name: "transform",
        call: calls::transform,
    },
    NameFn {
        name: "truncate",
        call: calls::truncate,
    },
    NameFn {
        name: "undasherize",
        call: calls::undasherize,
    },
    NameFn {
        name: "underscore",
        call: calls::underscore,
    },
    text!("upperCase", change_case::upper),
    text!("upperCaseFirst", change_case::first_upper),
];

/// change-case 3, with its short names.
pub(super) const CHANGE_CASE: &[NameFn] = &[
    text!("camel", change_case::camel),
    text!("camelCase", change_case::camel),
    text!("constant", change_case::constant),
    text!("constantCase", change_case::constant),
    text!("dot", change_case::dot),
    text!("dotCase", change_case::dot),
    text!("header", change_case::header),
    text!("headerCase", change_case::header),
    text!("hyphen", change_case::param),
    text!("hyphenCase", change_case::param),
    text!("kebab", change_case::param),
    text!("kebabCase", change_case::param),
    text!("lcFirst", change_case::first_lower),
    text!("lower", change_case::lower_case),
    text!("lowerCase", change_case::lower_case),
    text!("lowerCaseFirst", change_case::first_lower),
    text!("no", change_case::no),
    text!("noCase", change_case::no),
    text!("param", change_case::param),
    text!("paramCase", change_case::param),
    text!("pascal", change_case::pascal),
    text!("pascalCase", change_case::pascal),
    text!("path", change_case::path),
    text!("pathCase", change_case::path),
    text!("sentence", change_case::sentence),
    text!("sentenceCase", change_case::sentence),
    text!("snake", change_case::snake),
    text!("snakeCase", change_case::snake),
    text!("swap", change_case::swap),
    text!("swapCase", change_case::swap),
    text!("title", change_case::title),
    text!("titleCase", change_case::title),
    text!("ucFirst", change_case::first_upper),
    text!("upper", change_case::upper),
    text!("upperCase", change_case::upper),
    text!("upperCaseFirst", change_case::first_upper),
];

/// inflection 3, and the `undasherize` that hygen adds.
pub(super) const INFLECTION: &[NameFn] = &[
    NameFn {
        name: "camelize",
        call: calls::camelize,
    },
    text!("capitalize", inflection::capitalize),
    text!("classify", inflection::classify),
    text!("dasherize", inflection::dasherize),
    text!("demodulize", inflection::demodulize),
    NameFn {
        name: "foreignKey",
        call: calls::foreign_key,
    },
    NameFn {
        name: "humanize",
        call: calls::humanize,
    },
    NameFn {
        name: "inflect",
        call: calls::inflect,
    },
    text!("ordinalize", inflection::ordinalize),
    NameFn {
        name: "pluralize",
        call: calls::pluralize,
    },
    NameFn {
        name: "singularize",
        call: calls::singularize,
    },
    text!("tableize", inflection::tableize),
    text!("titleize", inflection::titleize),
    NameFn {
        name: "transform",
        call: calls::transform,
    },
    NameFn {
        name: "undasherize",
        call: calls::undasherize,
    },
    NameFn {
        name: "underscore",
        call: calls::underscore,
    },
];

/// hygen's own.
pub(super) const HELPERS: &[NameFn] = &[text!("capitalize", change_case::first_upper)];

/// Edge's globals.
pub(super) const EDGE: &[NameFn] = &[
    text!("camelCase", edge_case::camel),
    text!("capitalCase", edge_case::capital),
    NameFn {
        name: "dashCase",
        call: calls::dash_case,
    },
    NameFn {
        name: "dotCase",
        call: calls::edge_dot_case,
    },
    NameFn {
        name: "excerpt",
        call: calls::excerpt,
    },
    text!("noCase", edge_case::no),
    NameFn {
        name: "ordinal",
        call: calls::ordinal,
    },
    text!("pascalCase", edge_case::pascal),
    NameFn {
        name: "pluralize",
        call: calls::edge_pluralize,
    },
    NameFn {
        name: "prettyBytes",
        call: calls::pretty_bytes,
    },
    NameFn {
        name: "prettyMs",
        call: calls::pretty_ms,
    },
    NameFn {
        name: "sentence",
        call: calls::sentence,
    },
    text!("sentenceCase", edge_case::sentence),
    text!("snakeCase", edge_case::snake),
    text!("titleCase", edge_case::title),
    NameFn {
        name: "toBytes",
        call: calls::to_bytes,
    },
    NameFn {
        name: "toMs",
        call: calls::to_ms,
    },
    NameFn {
        name: "truncate",
        call: calls::truncate,
    },
];
