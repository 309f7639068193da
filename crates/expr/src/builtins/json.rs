//! The global `JSON`, its reading and its writing.

mod parse;
mod write;

use crate::value::{Builtin, BuiltinMember};

pub(super) static JSON: Builtin = Builtin {
    name: "JSON",
    call: None,
    construct: None,
    members: &[
        ("parse", BuiltinMember::Function(&PARSE)),
        ("stringify", BuiltinMember::Function(&STRINGIFY)),
    ],
};

static PARSE: Builtin = super::function("parse", parse::parse);
static STRINGIFY: Builtin = super::function("stringify", write::stringify);
