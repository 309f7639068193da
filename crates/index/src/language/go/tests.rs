//! Tests the facts read out of Go, and the files they lead to.

use super::super::trial::{check_edges, check_exports, check_imports, check_places};

#[track_caller]
fn exports(text: &str, expected: &[&str]) {
    check_exports("a.go", text, expected);
}

#[track_caller]
fn imports(text: &str, expected: &[&str]) {
    check_imports("a.go", text, expected);
}

#[test]
fn capitalised_names_are_offered_with_their_places() {
    check_places(
        "a.go",
        "package a\n\nfunc Run(x int) (int, error) {\n\tvar Inner = 1\n\treturn Inner, nil\n}\n\ntype T struct {\n\tField int\n}\n\
         type I interface{ M() }\nvar V, w = 1, 2\nconst C = `\nfunc Fake() {}\n`\nfunc (t *T) Method() {}\n",
        &[
            "Run Function 3",
            "T Class 8",
            "I Type 11",
            "V Value 12",
            "C Value 13",
            "T.Method Function 16",
        ],
    );
}

#[test]
fn small_names_are_not_offered() {
    exports(
        "package a\nfunc run() {}\ntype t int\nvar v = 1\nfunc (t *t) Method() {}\nfunc (T) small() {}\n",
        &[],
    );
}

#[test]
fn groups_are_read_line_by_line() {
    exports(
        "package a\nconst (\n\tA = iota\n\tB\n\tc\n\tD, E = 1,\n\t\tF\n\tG = H +\n\t\tI; J = 1\n)\nvar (\n\tK = map[string]int{\n\t\t\"L\": M,\n\t}\n\tN func(\n\t\tO int,\n\t)\n)\n\
         type (\n\tP struct {\n\t\tQ int\n\t}\n\tR = S\n\tT[U any] []U\n)\n",
        &["A", "B", "D", "E", "G", "J", "K", "N", "P", "R", "T"],
    );
}

#[test]
fn methods_are_spelled_with_their_type() {
    exports(
        "package a\nfunc (s *Set[K, V]) Add(k K) {}\nfunc (Set) Len() int { return 0 }\nfunc (m Map[K]) Get() {}\nfunc Generic[T any](x T) {}\n",
        &["Set.Add", "Set.Len", "Map.Get", "Generic"],
    );
}

#[test]
fn strings_and_comments_are_not_code() {
    exports(
        "package a\n// func A() {}\n/* func B() {} */\nvar s = \"}\" + '}' + `func C() {}`\nfunc D() { x := '\\'' }\nfunc Élan() {}\n",
        &["D", "Élan"],
    );
}

#[test]
fn imports_of_every_form_are_requests() {
    imports(
        "package a\nimport \"fmt\"\nimport (\n\t\"a/b\"\n\tc \"a/c\"\n\t_ \"a/d\"\n\t. \"a/e\" // why\n\t`a/f`; \"a/g\"\n)\nimport \"C\"\n",
        &["fmt", "a/b", "a/c", "a/d", "a/e", "a/f", "a/g"],
    );
    check_imports(
        "a_test.go",
        "package a\nimport \"testing\"",
        &[".", "testing"],
    );
    check_imports(
        "a_test.go",
        "package a_test\nimport \"testing\"",
        &["testing"],
    );
}

#[test]
fn a_broken_file_keeps_its_readable_exports() {
    exports(
        "package a\nfunc A() {\n\tif x {\n}\n\nfunc B() {}\n",
        &["A", "B"],
    );
    exports("package a\nfunc A( {\n}\nfunc B() {}\n", &["A", "B"]);
    for text in [
        "package", "import", "import (", "func", "func (", "type", "type (", "var", "const (",
        "\"", "`", "'",
    ] {
        exports(text, &[]);
        imports(text, &[]);
    }
}

#[test]
fn packages_are_found_by_modules_replacements_and_vendoring() {
    check_edges(
        &[
            (
                "go.mod",
                "module example.com/app // ours\n\nrequire (\n\texample.com/lib v1.0.0\n)\n\nreplace example.com/lib => ./third/lib\n\nreplace (\n\texample.com/old v1.2.3 => ../outside\n)\n",
            ),
            (
                "main.go",
                "package main\nimport (\n\t\"fmt\"\n\t\"example.com/app/store\"\n\t\"example.com/lib/deep\"\n\t\"example.com/vend\"\n\t\"example.com/apple\"\n)\n",
            ),
            ("store/a.go", "package store"),
            ("store/b.go", "package store\nimport \"example.com/tool\""),
            ("store/a_test.go", "package store"),
            (
                "store/x_test.go",
                "package store_test\nimport \"example.com/app/store\"",
            ),
            ("third/lib/go.mod", "module \"example.com/lib\"\n"),
            ("third/lib/deep/d.go", "package deep"),
            ("tool/go.mod", "module example.com/tool\n"),
            (
                "tool/t.go",
                "package tool\nimport \"example.com/app/store\"",
            ),
            ("vendor/example.com/vend/v.go", "package vend"),
            ("go.work", "use (\n\t.\n\t./tool\n)\n"),
        ],
        &[
            "main.go -> store/a.go",
            "main.go -> store/b.go",
            "main.go -> third/lib/deep/d.go",
            "main.go -> vendor/example.com/vend/v.go",
            "store/a_test.go -> store/a.go",
            "store/a_test.go -> store/b.go",
            "store/b.go -> tool/t.go",
            "store/x_test.go -> store/a.go",
            "store/x_test.go -> store/b.go",
            "tool/t.go -> store/a.go",
            "tool/t.go -> store/b.go",
        ],
    );
}

#[test]
fn the_type_of_a_function_swallows_nothing() {
    exports(
        "package a\n\ntype F func(int)\ntype G func(int) error\nvar X func()\nconst K = 1\nvar Chan chan func()\n\
         func Last() func() { return nil }\ntype M1 map[string]func()\ntype M2 struct{}\nvar H = func() {}\nvar (\n\tI func(int)\n\tJ = func() {}\n)\n\
         type S struct {\n\tf func()\n}\nfunc (s S) Do(f func()) func() { return f }\nvar V =\n\tfunc() {}\nfunc End() {}\n",
        &[
            "F", "G", "X", "K", "Chan", "Last", "M1", "M2", "H", "I", "J", "S", "S.Do", "V", "End",
        ],
    );
}
