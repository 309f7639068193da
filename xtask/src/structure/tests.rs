//! Small trees with known structure, and the counts they must bring.

use super::Structure;
use crate::tidy::Tree;

/// Checks the counts over files of the crate `a`, in the order of `Structure::counts`.
#[track_caller]
fn check(files: &[(&str, &str)], expected: [usize; 6]) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("//! A.\n{text}")).unwrap();
    }
    let counts = Structure::of(&Tree::read(folder.path()).unwrap()).counts();
    let counts: Vec<usize> = counts.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, expected);
}

#[test]
fn a_type_in_four_files_is_spread() {
    let methods = "impl<T> RowCache<T> { fn get(&self) {} }\nimpl Drop for RowCache<u8> {}\n";
    let three = [
        ("crates/a/src/x.rs", methods),
        ("crates/a/src/y.rs", methods),
        ("crates/a/src/z.rs", methods),
        ("crates/b/src/x.rs", methods),
        ("crates/a/tests/x.rs", methods),
    ];
    check(&three, [0, 0, 0, 0, 0, 0]);
    let four = [&three[..], &[("crates/a/src/w.rs", methods)]].concat();
    check(&four, [1, 4, 0, 0, 0, 0]);
}

#[test]
fn elements_of_tuples_are_parameters() {
    let source = "fn five(a: u8, b: (u8, &(u8, u8)), c: u8) {}\n\
                  fn six(a: u8, (b, c): (u8, u8), d: (u8, u8), e: [(u8, u8); 2]) {}\n";
    check(&[("crates/a/src/lib.rs", source)], [0, 0, 1, 0, 0, 0]);
}

#[test]
fn matches_on_bool_and_shadowed_lets_are_counted() {
    let source = "fn f(x: bool) {\n\
        match x { true => {}, false => {} }\n\
        match Some(x) { Some(true) => {}, _ => {} }\n\
        let a = 1; let a: u8 = a + 1; let b = a; let a = b;\n\
    }\n\
    #[cfg(test)]\nmod tests { fn g(x: bool) { match x { true => {}, false => {} } } }\n";
    check(&[("crates/a/src/lib.rs", source)], [0, 0, 0, 1, 1, 0]);
}

#[test]
fn public_items_are_named_by_another_crate_or_by_tests() {
    let source = "pub fn used() {}\npub fn unused() {}\npub struct RowCache;\n\
        impl RowCache { pub fn get_row(&self) {} pub fn drop_row(&self) { unused() } }\n\
        pub(crate) fn inner() {}\n";
    check(
        &[
            ("crates/a/src/lib.rs", source),
            (
                "crates/b/src/lib.rs",
                "fn f(c: a::RowCache) { a::used(); }\n",
            ),
            ("crates/a/tests/all.rs", "fn f() { x.get_row() }\n"),
        ],
        [0, 0, 0, 0, 0, 2],
    );
}
