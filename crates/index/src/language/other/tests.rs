//! Tests the facts read out of documents, settings, scripts and languages without their own reader.

use super::super::trial::{check_edges, check_exports, check_imports, check_places};

#[test]
fn a_document_has_its_title_and_chapters() {
    check_places(
        "README.md",
        "---\ntitle: x\n# no\n---\n# The title #\n\ntext\n\n## One\n### deeper\n```sh\n# not a heading\n```\nTwo\n---\n\n- item\n---\n",
        &["The title Section 5", "One Section 9", "Two Section 14"],
    );
    check_exports(
        "a.rst",
        "=====\nTitle\n=====\n\nPart\n----\n\nDeep\n~~~~\n",
        &["Title", "Part"],
    );
}

#[test]
fn settings_have_their_first_level() {
    check_exports(
        "a.toml",
        "x = 1\n[package]\nname = 'a'\n[[bin]]\n[a.b]\nlist = [\n['x', 1],\n]\n",
        &["package", "bin", "a.b"],
    );
    check_exports(
        "a.yml",
        "# c\nname: x\n\"on\":\n  push: 1\njobs:\n- a: 1\nhttp://x: 1\n",
        &["name", "on", "jobs"],
    );
    check_exports(
        "a.json",
        "{\"a\": {\"b\": 1}, \"c\": [\"d\", {\"e\": \":\"}], \"f\\\"\": 1}",
        &["a", "c", "f\\\""],
    );
    check_exports("a.json", "[{\"a\": 1}]", &[]);
    check_exports("a.json", "not json", &[]);
}

#[test]
fn scripts_have_their_functions_and_targets() {
    check_exports(
        "a.sh",
        "#!/bin/sh\nrun() {\n  echo\n}\nfunction go-on {\n}\ncat <<EOF\nfake() {\nEOF\n# no() {\n  inner () { :; }\necho a\n",
        &["run", "go-on", "inner"],
    );
    check_exports("bin/tool", "#!/usr/bin/env bash\nrun() { :; }\n", &["run"]);
    check_exports("bin/tool", "#!/usr/bin/env python3\nrun() { :; }\n", &[]);
    check_exports(
        "Makefile",
        "X := 1\nall: a b\n\ttouch x: y\n.PHONY: all\na b: c\n%.o: %.c\n$(X): y\ndefine f\nfake: x\nendef\n",
        &["all", "a", "b"],
    );
    check_exports(
        "Dockerfile",
        "FROM rust:1 AS build\nRUN x\nfrom debian as run\nFROM x\n",
        &["build", "run"],
    );
    check_exports(
        "a.sql",
        "CREATE TABLE IF NOT EXISTS \"users\" (\n  id int\n);\ncreate or replace view v as select 1;\nCREATE UNIQUE INDEX i ON users (id);\nCREATE FUNCTION f() RETURNS int;\n",
        &["users", "v", "f"],
    );
    check_exports(
        "a.rb",
        "module A\n  class B < C\n    def d; end\n  end\n  class E; end\nend\ndef f(x)\nend\n",
        &["A", "A::B", "A::E", "f"],
    );
}

#[test]
fn languages_with_braces_have_their_types_and_functions() {
    check_exports(
        "a.kt",
        "package a\nimport b.C\ndata class D(val x: Int)\nenum class E { F }\nprivate class G\nfun <T> List<T>.h() {}\nfun String.i() = 1\nfun j() { fun k() {} }\nval l = 1\nobject M\n",
        &["D", "E", "h", "i", "j", "l", "M"],
    );
    check_exports(
        "a.cs",
        "using System;\nnamespace A.B {\n  public class C { class D {} }\n  record struct E(int X);\n  delegate int F(int x);\n  enum G { H }\n}\n",
        &["A.B", "C", "E", "F", "G"],
    );
    check_exports(
        "a.swift",
        "public struct A { var b = 1 }\nprotocol C {}\nfileprivate class D {}\nfunc e() {}\n",
        &["A", "C", "e"],
    );
    check_exports(
        "a.php",
        "<?php\nnamespace A\\B;\nfinal class C { function d() {} }\nfunction e() {}\ninterface F {}\n",
        &["A\\B", "C", "e", "F"],
    );
    check_exports(
        "a.proto",
        "syntax = \"proto3\";\nmessage A { message B {} }\nservice C { rpc D (A) returns (A); }\n",
        &["A", "C"],
    );
    check_exports(
        "a.graphql",
        "type A { b: Int }\ninput C { d: Int }\nextend type E { f: Int }\n",
        &["A", "C"],
    );
    check_exports(
        "a.scala",
        "object A { def b = 1 }\ncase class C(d: Int)\ntrait E\n",
        &["A", "C", "E"],
    );
    check_exports(
        "a.dart",
        "import 'b.dart';\nclass A {}\nclass _B {}\n",
        &["A"],
    );
}

#[test]
fn unknown_kinds_of_file_have_no_facts() {
    for path in ["a.xyz", "a.txt", "LICENSE", "a.svg"] {
        check_exports(path, "class A {}\nfunction b() {}\n# C\n", &[]);
    }
}

#[test]
fn broken_files_keep_their_readable_exports() {
    for path in [
        "a.md",
        "a.rst",
        "a.toml",
        "a.yml",
        "a.json",
        "a.sh",
        "Makefile",
        "Dockerfile",
        "a.sql",
        "a.rb",
        "a.kt",
        "a.cs",
        "a.php",
        "a.proto",
        "a.css",
        "a.graphql",
    ] {
        for text in [
            "",
            "\n",
            "[",
            "{",
            "\"",
            "#",
            "# ",
            "class",
            "namespace",
            "CREATE",
            "fun <",
            "delegate",
            "<<",
            "é",
            "\u{feff}",
            "---",
            "===",
            ":",
            "\\",
            "{\"a",
            "{\"a\\",
        ] {
            check_exports(path, text, &[]);
        }
    }
}

#[test]
fn files_that_are_named_by_their_path_are_found() {
    check_imports(
        "a.sh",
        ". ./b.sh\nsource \"$DIR/c.sh\"\nsource \"$(dirname \"$0\")/d.sh\"\n",
        &["./b.sh", "c.sh", "d.sh"],
    );
    check_edges(
        &[
            ("run.sh", "source ./lib/log.sh\n. \"${HERE}/lib/util.sh\""),
            ("lib/log.sh", ""),
            ("lib/util.sh", ""),
            ("Makefile", "include rules.mk\n"),
            ("rules.mk", ""),
            (
                "css/a.scss",
                "@use 'vars';\n@import \"b.css\";\n@import url('http://x');\n",
            ),
            ("css/_vars.scss", ""),
            ("css/b.css", ""),
            ("proto/a.proto", "import \"proto/b.proto\";"),
            ("proto/b.proto", ""),
            (
                "app.rb",
                "require_relative 'lib/c'\nrequire 'd'\nrequire 'json'\n",
            ),
            ("lib/c.rb", ""),
            ("lib/d.rb", ""),
            ("a.php", "<?php require_once __DIR__ . '/b.php';"),
            ("b.php", ""),
        ],
        &[
            "Makefile -> rules.mk",
            "a.php -> b.php",
            "app.rb -> lib/c.rb",
            "app.rb -> lib/d.rb",
            "css/a.scss -> css/_vars.scss",
            "css/a.scss -> css/b.css",
            "proto/a.proto -> proto/b.proto",
            "run.sh -> lib/log.sh",
            "run.sh -> lib/util.sh",
        ],
    );
}
