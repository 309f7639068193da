//! Tests the facts read out of Rust, and the files they lead to.
#![allow(clippy::disallowed_methods, reason = "tests build their own fixtures")]

use std::path::Path;

use super::super::trial::{check_edges, check_exports, check_imports, check_places};

#[track_caller]
fn exports(text: &str, expected: &[&str]) {
    check_exports("src/lib.rs", text, expected);
}

#[track_caller]
fn imports(text: &str, expected: &[&str]) {
    check_imports("src/lib.rs", text, expected);
}

#[test]
fn every_kind_of_item_is_offered_under_its_name() {
    check_places(
        "src/lib.rs",
        "pub fn a() {}\npub struct B;\npub enum C {}\npub trait D {}\npub type E = u8;\n\
         pub const F: u8 = 1;\npub static mut G: u8 = 1;\npub mod h;\npub union I { a: u8 }\n\
         #[macro_export]\nmacro_rules! j { () => {} }\npub extern crate k;\npub use x::L;\n",
        &[
            "a Function 1",
            "B Class 2",
            "C Enum 3",
            "D Type 4",
            "E Type 5",
            "F Value 6",
            "G Value 7",
            "h Module 8",
            "I Class 9",
            "j Function 11",
            "k Reexport 12",
            "L Reexport 13",
        ],
    );
}

#[test]
fn invisible_items_are_not_exported() {
    exports("fn a() {} struct B; mod c { pub fn d() {} }", &[]);
    exports("macro_rules! m { () => { pub fn made() {} } }", &[]);
    exports("pub(self) fn a() {}", &[]);
    exports("pub const _: () = ();", &[]);
    exports(
        "struct A { pub b: u8 } struct C(pub u8); enum D { E { x: u8 } }",
        &[],
    );
    exports("impl A { pub fn b() {} pub const C: u8 = 1; }", &[]);
    exports("fn a() { pub fn b() {} }", &[]);
}

#[test]
fn names_for_the_project_alone_are_offered() {
    exports(
        "pub(crate) fn a() {} pub(super) struct B; pub(in crate::x) enum C {}",
        &["a", "B", "C"],
    );
}

#[test]
fn qualifiers_come_before_the_keyword() {
    exports(
        "pub async fn a() {} pub unsafe fn b() {} pub const fn c() {} pub const unsafe fn d() {} \
         pub extern \"C\" fn e() {} pub unsafe extern \"C\" fn f() {} pub unsafe trait G {} \
         pub unsafe auto trait H {} pub const I: fn() = || {};",
        &["a", "b", "c", "d", "e", "f", "G", "H", "I"],
    );
    exports(
        "unsafe extern \"C\" { pub safe fn a(); pub static B: u8; fn c(); }",
        &["a", "B"],
    );
    exports(
        "pub fn r#type() {} pub fn Ünicode() {}",
        &["type", "Ünicode"],
    );
}

#[test]
fn reexports_are_read_through_groups_renames_and_globs() {
    exports("pub use a::b::C;", &["C"]);
    exports(
        "pub use a::{B, c::{D, E as F}, g::*, self};",
        &["B", "D", "F", "a"],
    );
    exports("pub use a::B as _;", &[]);
    exports("pub use ::a::{self as b};", &["b"]);
    exports("pub(crate) use m;", &["m"]);
    exports("pub use {a, b::c};", &["a", "c"]);
    exports("pub use a::{b::{}, c,};", &["c"]);
    exports("use a::B;", &[]);
}

#[test]
fn modules_written_inside_are_spelled_out() {
    exports(
        "pub mod a { pub fn b() {} mod c { pub fn d() {} } pub mod e { pub use x::F; } } pub fn g() {}",
        &["a", "a::b", "a::e", "a::e::F", "g"],
    );
}

#[test]
fn items_inside_a_macro_are_offered() {
    exports(
        "lazy_static! { pub static ref A: u8 = 1; static ref B: u8 = 2; }",
        &["A"],
    );
    exports(
        "bitflags! { pub struct Flags: u32 { const X = 1; } }",
        &["Flags"],
    );
    exports(
        "cfg_if::cfg_if! { if #[cfg(unix)] { pub mod a; } else { pub fn b() {} } }",
        &["a", "b"],
    );
    exports("m! { pub struct $name; }", &[]);
}

#[test]
fn strings_and_comments_are_not_code() {
    exports(
        "/* pub fn a() {} /* nested */ pub fn b() {} */ pub fn c() {}",
        &["c"],
    );
    exports("// pub fn a() {}\npub fn b() {}", &["b"]);
    exports(
        "const A: &str = \"} pub fn a() {} {\"; pub fn b() {}",
        &["b"],
    );
    exports(
        "const A: &str = r##\"\"# pub fn a() {\"##; pub fn b() {}",
        &["b"],
    );
    exports(
        "const A: &[u8] = br\"\\\"; const B: &[u8] = b\"\\\"{\"; pub fn c() {}",
        &["c"],
    );
    exports(
        "const A: char = '\"'; const B: char = '\\''; const C: u8 = b'{'; pub fn d() {}",
        &["d"],
    );
    exports(
        "fn a<'a>(x: &'a str) -> &'static str { 'b: loop {} } pub fn c() {}",
        &["c"],
    );
    exports("const A: char = 'é'; pub fn b() {}", &["b"]);
}

#[test]
fn a_broken_file_keeps_its_readable_exports() {
    exports(
        "pub fn a() {\n    if x {\n}\n\npub fn b() {}\n",
        &["a", "b"],
    );
    exports("pub fn a( {}\npub fn b() {}\n", &["a", "b"]);
    exports("pub fn a() {} }}}} pub fn b() {}", &["a", "b"]);
    exports("pub use a::{b, c\npub fn d() {}", &["b", "d"]);
    exports("pub struct", &[]);
    exports("pub fn a() {} const X: &str = \"never closed", &["a"]);
    exports("pub", &[]);
    exports("pub(", &[]);
    exports("#[", &[]);
}

#[test]
fn uses_are_spelled_from_the_file() {
    imports("use crate::a::B;", &["crate::a::B"]);
    imports("use super::{a, b::C};", &["super::a", "super::b::C"]);
    imports("use self::a::*;", &["self::a"]);
    imports(
        "use std::fs; use core::mem; use other::Thing;",
        &["other::Thing"],
    );
    imports("fn f() { use crate::late::X; }", &["crate::late::X"]);
    imports(
        "fn f() -> impl Sized + use<'_> { crate::a::b() }",
        &["crate::a::b"],
    );
    imports(
        "extern crate other as o; fn f() { o::run() }",
        &["other", "other::run"],
    );
}

#[test]
fn inline_modules_are_left_behind() {
    imports(
        "mod tests { use super::*; use super::super::a::B; }",
        &["super::a::B"],
    );
    imports(
        "mod t { use super::a::B; use self::c::D; }",
        &["self::a::B", "self::t::c::D"],
    );
    imports("mod t { use crate::a; mod u; }", &["crate::a", "t::u"]);
    imports("mod t { } use super::a;", &["super::a"]);
}

#[test]
fn paths_in_the_middle_of_code_are_requests() {
    imports("fn f() { crate::a::b(1); }", &["crate::a::b"]);
    imports(
        "fn f(x: crate::a::B<super::c::D>) {}",
        &["crate::a::B", "super::c::D"],
    );
    imports(
        "fn f() { crate::a::B::new().c::<crate::d::E>() }",
        &["crate::a::B", "crate::d::E"],
    );
    imports(
        "fn f() { other::go(); Vec::new(); Self::x(); }",
        &["other::go"],
    );
    imports(
        "use crate::a; fn f() { a::b::c() }",
        &["crate::a", "crate::a::b::c"],
    );
    imports(
        "use crate::a as z; fn f() { z::b() }",
        &["crate::a", "crate::a::b"],
    );
    imports("use std::fs; fn f() { fs::read() }", &[]);
    imports(
        "macro_rules! m { () => { $crate::a::b() } }",
        &["crate::a::b"],
    );
    imports("pub(in crate::a) fn f() {}", &[]);
}

#[test]
fn parts_and_included_files_are_requests() {
    imports("mod a; pub mod b; mod c {}", &["a", "b"]);
    imports("#[path = \"x/y.rs\"] mod a;", &["a=x/y.rs", "a"]);
    imports(
        "#[cfg_attr(unix, path = \"u.rs\")]\n#[cfg_attr(windows, path = \"w.rs\")]\nmod a;",
        &["a=u.rs", "a=w.rs", "a"],
    );
    imports(
        "const A: &str = include_str!(\"a.md\"); include!(\"b.rs\");",
        &["=a.md", "=b.rs"],
    );
}

#[test]
fn the_tree_of_modules_is_followed() {
    check_edges(
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"p\"\nedition = \"2024\"\n",
            ),
            ("src/lib.rs", "mod a; pub mod b; pub use a::one::One;"),
            ("src/a.rs", "pub mod one; mod two; use crate::b::B;"),
            (
                "src/a/one.rs",
                "use super::two::Two; use super::super::b; pub struct One;",
            ),
            (
                "src/a/two.rs",
                "use crate::Everything; fn f() { self::inner::g() } mod inner { use super::super::one; }",
            ),
            (
                "src/b/mod.rs",
                "mod c; #[path = \"../odd/place.rs\"] mod d;",
            ),
            ("src/b/c.rs", "use super::d::D;"),
            ("src/odd/place.rs", "use super::c; use crate::a;"),
        ],
        &[
            "src/a.rs -> src/a/one.rs",
            "src/a.rs -> src/a/two.rs",
            "src/a.rs -> src/b/mod.rs",
            "src/a/one.rs -> src/a/two.rs",
            "src/a/one.rs -> src/b/mod.rs",
            "src/a/two.rs -> src/a/one.rs",
            "src/a/two.rs -> src/lib.rs",
            "src/b/c.rs -> src/odd/place.rs",
            "src/b/mod.rs -> src/b/c.rs",
            "src/b/mod.rs -> src/odd/place.rs",
            "src/lib.rs -> src/a.rs",
            "src/lib.rs -> src/a/one.rs",
            "src/lib.rs -> src/b/mod.rs",
            "src/odd/place.rs -> src/a.rs",
            "src/odd/place.rs -> src/b/c.rs",
        ],
    );
}

#[test]
fn crates_of_the_workspace_are_found_under_every_name() {
    check_edges(
        &[
            (
                "Cargo.toml",
                "[workspace]\nmembers = [\"crates/*\"]\n[workspace.dependencies]\none = { path = \"crates/one\" }\n\
                 short = { package = \"a-long-name\", path = \"crates/long\" }\n",
            ),
            (
                "crates/one/Cargo.toml",
                "[package]\nname = \"one\"\nedition = \"2021\"\n",
            ),
            ("crates/one/src/lib.rs", "pub mod deep;"),
            ("crates/one/src/deep.rs", "pub struct D;"),
            (
                "crates/long/Cargo.toml",
                "[package]\nname = \"a-long-name\"\nedition = \"2021\"\n",
            ),
            ("crates/long/src/lib.rs", ""),
            (
                "crates/odd/Cargo.toml",
                "[package]\nname = \"odd\"\nedition = \"2021\"\n[lib]\nname = \"even\"\npath = \"code/start.rs\"\n",
            ),
            ("crates/odd/code/start.rs", "mod next;"),
            ("crates/odd/code/next.rs", ""),
            (
                "crates/user/Cargo.toml",
                "[package]\nname = \"user\"\nedition = \"2021\"\n[dependencies]\none.workspace = true\n\
                 other = { package = \"a-long-name\", path = \"../long\" }\nserde = \"1\"\n\
                 [target.'cfg(unix)'.dependencies]\nodd = { path = \"../odd\" }\n",
            ),
            (
                "crates/user/src/main.rs",
                "use one::deep::D; fn main() { other::go(); even::x(); serde::y(); short::z() }",
            ),
            ("crates/user/src/lib.rs", ""),
            ("crates/user/tests/it.rs", "mod common; use user::X;"),
            (
                "crates/user/tests/common/mod.rs",
                "use crate::common::help; pub mod help;",
            ),
            ("crates/user/tests/common/help.rs", ""),
            ("crates/user/tests/group/main.rs", "mod part;"),
            ("crates/user/tests/group/part.rs", "use super::x;"),
            ("crates/user/src/bin/tool.rs", "mod side; use user::X;"),
            ("crates/user/src/bin/side.rs", ""),
            ("crates/user/build.rs", "mod made;"),
            ("crates/user/made.rs", ""),
        ],
        &[
            "crates/odd/code/start.rs -> crates/odd/code/next.rs",
            "crates/one/src/lib.rs -> crates/one/src/deep.rs",
            "crates/user/build.rs -> crates/user/made.rs",
            "crates/user/src/bin/tool.rs -> crates/user/src/bin/side.rs",
            "crates/user/src/bin/tool.rs -> crates/user/src/lib.rs",
            "crates/user/src/main.rs -> crates/long/src/lib.rs",
            "crates/user/src/main.rs -> crates/odd/code/start.rs",
            "crates/user/src/main.rs -> crates/one/src/deep.rs",
            "crates/user/tests/common/mod.rs -> crates/user/tests/common/help.rs",
            "crates/user/tests/group/main.rs -> crates/user/tests/group/part.rs",
            "crates/user/tests/group/part.rs -> crates/user/tests/group/main.rs",
            "crates/user/tests/it.rs -> crates/user/src/lib.rs",
            "crates/user/tests/it.rs -> crates/user/tests/common/mod.rs",
        ],
    );
}

#[test]
fn the_first_edition_counts_from_the_root() {
    check_edges(
        &[
            ("Cargo.toml", "[package]\nname = \"p\"\n"),
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "use b::B; use std::fmt; use c::D;"),
            ("src/b.rs", ""),
        ],
        &[
            "src/a.rs -> src/b.rs",
            "src/lib.rs -> src/a.rs",
            "src/lib.rs -> src/b.rs",
        ],
    );
}

#[test]
fn a_circle_of_modules_ends() {
    check_edges(
        &[
            (
                "src/a.rs",
                "#[path = \"b.rs\"] mod b; use super::super::super::x; use crate::y;",
            ),
            ("src/b.rs", "#[path = \"a.rs\"] mod a; use crate::z;"),
        ],
        &["src/a.rs -> src/b.rs", "src/b.rs -> src/a.rs"],
    );
}

/// The names that `syn` finds, by the same rules.
mod oracle {
    use syn::{File, ForeignItem, Item, ItemMacro, UseTree, Visibility};

    /// The result of a full parser for a file.
    #[derive(Default)]
    pub(super) struct Parsed {
        pub(super) names: Vec<String>,
        /// True if macros are among the items: a parser does not know their definitions.
        pub(super) has_macros: bool,
    }

    pub(super) fn parse(file: &File) -> Parsed {
        let mut parsed = Parsed::default();
        walk(&file.items, "", &mut parsed);
        parsed.names.sort();
        parsed.names.dedup();
        parsed
    }

    fn visible(visibility: &Visibility) -> bool {
        match visibility {
            Visibility::Public(_) => true,
            Visibility::Restricted(restricted) => !restricted.path.is_ident("self"),
            Visibility::Inherited => false,
        }
    }

    fn walk(items: &[Item], prefix: &str, parsed: &mut Parsed) {
        for item in items {
            let (visibility, name) = match item {
                Item::Const(x) => (&x.vis, &x.ident),
                Item::Enum(x) => (&x.vis, &x.ident),
                Item::ExternCrate(x) => match &x.rename {
                    Some((_, name)) => (&x.vis, name),
                    None => (&x.vis, &x.ident),
                },
                Item::Fn(x) => (&x.vis, &x.sig.ident),
                Item::Static(x) => (&x.vis, &x.ident),
                Item::Struct(x) => (&x.vis, &x.ident),
                Item::Trait(x) => (&x.vis, &x.ident),
                Item::TraitAlias(x) => (&x.vis, &x.ident),
                Item::Type(x) => (&x.vis, &x.ident),
                Item::Union(x) => (&x.vis, &x.ident),
                Item::Mod(x) => {
                    if let (true, Some((_, items))) = (visible(&x.vis), &x.content) {
                        let inner = x.ident.to_string();
                        walk(items, &format!("{prefix}{}::", plain(&inner)), parsed);
                    }
                    (&x.vis, &x.ident)
                }
                Item::Use(x) => {
                    if visible(&x.vis) {
                        leaves(&x.tree, None, prefix, &mut parsed.names);
                    }
                    continue;
                }
                Item::ForeignMod(x) => {
                    foreign(&x.items, prefix, parsed);
                    continue;
                }
                Item::Macro(x) => {
                    invoked(x, prefix, parsed);
                    continue;
                }
                _ => {
                    parsed.has_macros |= matches!(item, Item::Verbatim(_));
                    continue;
                }
            };
            if visible(visibility) && name != "_" {
                let name = name.to_string();
                parsed.names.push(format!("{prefix}{}", plain(&name)));
            }
        }
    }

    fn plain(name: &str) -> &str {
        name.trim_start_matches("r#")
    }

    fn foreign(items: &[ForeignItem], prefix: &str, parsed: &mut Parsed) {
        for item in items {
            let (visibility, name) = match item {
                ForeignItem::Fn(x) => (&x.vis, &x.sig.ident),
                ForeignItem::Static(x) => (&x.vis, &x.ident),
                ForeignItem::Type(x) => (&x.vis, &x.ident),
                _ => {
                    parsed.has_macros = true;
                    continue;
                }
            };
            if visible(visibility) {
                let name = name.to_string();
                parsed.names.push(format!("{prefix}{}", plain(&name)));
            }
        }
    }

    fn invoked(item: &ItemMacro, prefix: &str, parsed: &mut Parsed) {
        let Some(name) = &item.ident else {
            parsed.has_macros = true;
            return;
        };
        let mut attributes = item.attrs.iter();
        if attributes.any(|attribute| attribute.path().is_ident("macro_export")) {
            parsed.names.push(format!("{prefix}{name}"));
        }
        // Our reader also reads one inside a condition.
        parsed.has_macros |= item.attrs.iter().any(|a| a.path().is_ident("cfg_attr"));
    }

    fn leaves(tree: &UseTree, parent: Option<&str>, prefix: &str, names: &mut Vec<String>) {
        let mut push = |name: &str| {
            if !matches!(name, "self" | "super" | "crate") {
                names.push(format!("{prefix}{}", plain(name)));
            }
        };
        match tree {
            UseTree::Path(path) => leaves(&path.tree, Some(&path.ident.to_string()), prefix, names),
            UseTree::Name(name) if name.ident == "self" => push(parent.unwrap_or("self")),
            UseTree::Name(name) => push(&name.ident.to_string()),
            UseTree::Rename(rename) if rename.rename == "_" => {}
            UseTree::Rename(rename) => push(&rename.rename.to_string()),
            UseTree::Glob(_) => {}
            UseTree::Group(group) => {
                for tree in &group.items {
                    leaves(tree, parent, prefix, names);
                }
            }
        }
    }
}

/// Returns the difference between our names and a parser's, or `None` if there is no difference or
/// the text is not Rust.
fn difference(text: &str) -> Option<String> {
    let parsed = oracle::parse(&syn::parse_file(text).ok()?);
    let facts = super::super::trial::read("src/lib.rs", text);
    let found: Vec<&str> = facts.exports.iter().map(|e| e.name.as_str()).collect();
    let known = |name: &&String| !found.contains(&name.as_str());
    let missing: Vec<&String> = parsed.names.iter().filter(known).collect();
    let more: Vec<&&str> = found
        .iter()
        .filter(|name| !parsed.names.iter().any(|known| known == **name))
        .collect();
    let differs = !missing.is_empty() || !more.is_empty() && !parsed.has_macros;
    differs.then(|| format!("missing {missing:?}, more {more:?}"))
}

/// The files in which our names differ from a parser's, and how many were compared.
fn differences(dir: &Path) -> (Vec<String>, usize) {
    let mut found = Vec::new();
    let mut count = 0;
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                // Others may be writing to the checkout.
                let Ok(text) = std::fs::read_to_string(&path) else {
                    continue;
                };
                count += 1;
                found.extend(difference(&text).map(|slip| format!("{}: {slip}", path.display())));
            }
        }
    }
    (found, count)
}

#[test]
fn a_parser_finds_the_same_names_in_this_repository() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (slips, count) = differences(crates);
    assert!(count > 50, "{count} files");
    assert_eq!(slips, Vec::<String>::new());
}
