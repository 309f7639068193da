//! Tests the facts read out of Java, and the files they lead to.

use super::super::trial::{check_edges, check_exports, check_imports, check_places};

#[track_caller]
fn exports(text: &str, expected: &[&str]) {
    check_exports("A.java", text, expected);
}

#[track_caller]
fn imports(text: &str, expected: &[&str]) {
    check_imports("A.java", text, expected);
}

#[test]
fn top_level_types_are_offered_with_their_places() {
    check_places(
        "A.java",
        "package a.b;\n\n@Deprecated(since = \"class X {\")\npublic final class A extends B {\n  public static class Inner {}\n}\n\
         interface I {}\nenum E { X, Y { void f() {} } }\npublic record R(int x) {}\nrecord G<T>(T t) {}\n@interface N {}\nsealed interface S permits A {}\nnon-sealed class T {}\n",
        &[
            "A Class 4",
            "I Type 7",
            "E Enum 8",
            "R Class 9",
            "G Class 10",
            "N Type 11",
            "S Type 12",
            "T Class 13",
        ],
    );
    check_exports(
        "module-info.java",
        "open module a.b { requires c; exports a.b; }",
        &["a.b"],
    );
}

#[test]
fn strings_and_comments_are_not_code() {
    exports(
        "/* class A {} */ // class B {}\nclass C { String s = \"class D { \\\" {\"; char c = '{'; String t = \"\"\"\n  } class E {} \\\"\"\" {\n  \"\"\"; }\nclass F {}",
        &["C", "F"],
    );
}

#[test]
fn imports_and_unexplained_types_are_requests() {
    imports(
        "import a.B;\nimport a.c.*;\nimport static a.D.run;\nimport static a.E.*;\nclass X { B b; F f; List<G> g = x.H.y(); void m() { com.acme.Tool.go(); } }",
        &[
            "a.B",
            "a.c.*",
            "a.D.run",
            "a.E.*",
            ".F",
            ".List",
            ".G",
            "com.acme.Tool",
        ],
    );
}

#[test]
fn a_broken_file_keeps_its_readable_exports() {
    exports("class A {\n  void f() {\n}\n\nclass B {}\n", &["A", "B"]);
    for text in [
        "class",
        "import",
        "import static",
        "package",
        "@interface",
        "record",
        "import a.",
        "module",
        "\"\"\"",
        "'",
    ] {
        exports(text, &[]);
    }
}

#[test]
fn types_are_found_by_package_wherever_the_files_are() {
    check_edges(
        &[
            (
                "src/main/java/a/A.java",
                "package a; import a.b.B; import a.c.*; import static a.d.D.run; import a.b.B.Inner; class A { Same s; Star t; String u; java.util.List<a.full.Q> q; }",
            ),
            ("src/main/java/a/Same.java", "package a; class Same {}"),
            ("src/main/java/a/b/B.java", "package a.b; public class B {}"),
            (
                "src/main/java/a/c/Star.java",
                "package a.c; public class Star {}",
            ),
            (
                "src/main/java/a/c/Unused.java",
                "package a.c; public class Unused {}",
            ),
            ("src/main/java/a/d/D.java", "package a.d; public class D {}"),
            ("odd/place/Q.java", "package a.full; public class Q {}"),
            (
                "src/test/java/a/ATest.java",
                "package a; class ATest { A a; }",
            ),
            ("other/a/Same.java", "package a; class Same {}"),
            ("Plain.java", "class Plain { Default d; }"),
            ("Default.java", "class Default {}"),
        ],
        &[
            "Plain.java -> Default.java",
            "src/main/java/a/A.java -> odd/place/Q.java",
            "src/main/java/a/A.java -> src/main/java/a/Same.java",
            "src/main/java/a/A.java -> src/main/java/a/b/B.java",
            "src/main/java/a/A.java -> src/main/java/a/c/Star.java",
            "src/main/java/a/A.java -> src/main/java/a/d/D.java",
            "src/test/java/a/ATest.java -> src/main/java/a/A.java",
        ],
    );
}
