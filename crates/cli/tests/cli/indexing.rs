//! `drawloom index` and `drawloom impact`: what is printed, and every way to use them wrongly.

use crate::project::ExpectedText::{Exactly, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, ExpectedText, check};

const FILES: &[(&str, &str)] = &[
    (".gitignore", "dist\n"),
    (
        "src/user.ts",
        "export class User {}\nexport type Id = string;\n",
    ),
    (
        "src/api.ts",
        "import { User } from './user';\nexport const api = 1;\n",
    ),
    ("src/main.ts", "import './api.js';\n"),
    ("src/user.test.ts", "import './user';\n"),
    ("dist/user.js", "exports.built = 1;\n"),
    (".env", "SECRET=1\n"),
];

#[track_caller]
fn check_done(project: &CliProject, line: &str, out: ExpectedText<'_>) {
    let expect = ExpectedRun {
        exit: 0,
        out,
        err: Nothing,
    };
    check(project, line, expect);
}

#[track_caller]
fn check_failed(project: &CliProject, line: &str, exit: i32, err: &[&str]) {
    let expect = ExpectedRun {
        exit,
        out: Nothing,
        err: Has(err),
    };
    check(project, line, expect);
}

#[test]
fn the_index_is_one_line_for_each_file() {
    let project = CliProject::with(FILES);
    let all = ".gitignore | - | 1 line\n\
               src/api.ts | api | 2 lines\n\
               src/main.ts | - | 1 line\n\
               src/user.test.ts | - | 1 line\n\
               src/user.ts | User, Id | 2 lines\n";
    check_done(&project, "index", Exactly(all));
    check_done(&project, "index .", Exactly(all));
    // Nothing is left behind in a folder that is no project of ours.
    assert!(!project.path().join(".drawloom").exists());
}

#[test]
fn a_part_a_budget_and_a_focus_choose() {
    let project = CliProject::with(FILES);
    project.write("lib/other.ts", "export const other = 1;\n");
    check_done(
        &project,
        "index lib",
        Exactly("lib/other.ts | other | 1 line\n"),
    );
    check_done(
        &project,
        "index --budget 20",
        Exactly("src/user.ts | User, Id | 2 lines\n… 5 more files left out\n"),
    );
    check_done(
        &project,
        "index --budget 20 --focus 'the other one'",
        Exactly("lib/other.ts | other | 1 line\n… 5 more files left out\n"),
    );
    check_done(
        &project,
        "index --budget 20 --focus src/api.ts",
        Exactly("src/api.ts | api | 2 lines\n… 5 more files left out\n"),
    );
}

#[test]
fn the_whole_project_is_read_from_anywhere_inside_it() {
    let project = CliProject::with(FILES);
    project.write("drawloom.toml", "");
    check_done(
        &project,
        "index --cwd src",
        Has(&[".gitignore | ", "src/user.ts | "]),
    );
    check_done(
        &project,
        "impact --cwd src user.ts --depth 1",
        Has(&["src/api.ts | depth 1 | via src/user.ts\n"]),
    );
    // A project of ours keeps a cache, and the cache is no part of the index.
    assert!(project.path().join(".drawloom/cache/index").exists());
    check_done(&project, "index", ExpectedText::Lacks(&[".drawloom"]));
}

#[test]
fn json_has_names_lines_and_imports() {
    let project = CliProject::with(FILES);
    let expect = ExpectedRun {
        exit: 0,
        out: ExpectedText::Anything,
        err: Nothing,
    };
    let ran = check(&project, "index src --json", expect);
    let said: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let file = &said["files"][0];
    assert_eq!(file["path"], "src/api.ts");
    assert_eq!(file["language"], "javascript");
    assert_eq!(file["lines"], 2);
    assert_eq!(file["imports"], serde_json::json!(["src/user.ts"]));
    assert_eq!(file["importers"], 1);
    let export = serde_json::json!([{ "name": "api", "kind": "value", "line": 2 }]);
    assert_eq!(file["exports"], export);
    assert_eq!(said["left_out"], 0);
}

#[test]
fn impact_follows_importers_and_keeps_tests_apart() {
    let project = CliProject::with(FILES);
    check_done(
        &project,
        "impact src/user.ts",
        Exactly(
            "src/api.ts | depth 1 | via src/user.ts\n\
             src/main.ts | depth 2 | via src/api.ts\n\
             src/user.test.ts | depth 1 | via src/user.ts | test\n",
        ),
    );
    check_done(
        &project,
        "impact ./src/../src/api.ts",
        Exactly("src/main.ts | depth 1 | via src/api.ts\n"),
    );
    let expect = ExpectedRun {
        exit: 0,
        out: Has(&["\"changed\"", "src/api.ts", "\"depth\": 1", "\"tests\": []"]),
        err: Nothing,
    };
    check(&project, "impact src/api.ts --json", expect);
    let expect = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Exactly("nothing imports src/main.ts\n"),
    };
    check(&project, "impact src/main.ts", expect);
}

#[test]
fn a_folder_means_its_files_and_deleted_ones_are_left_out() {
    let project = CliProject::with(FILES);
    project.write("lib/other.ts", "export const other = 1;\n");
    let done = |out, err| ExpectedRun { exit: 0, out, err };
    let expect = done(Nothing, Exactly("nothing imports lib/other.ts\n"));
    check(&project, "impact lib", expect);
    // As `git diff --name-only` lists them: from the top, files that were deleted among them.
    project.write("drawloom.toml", "");
    check(
        &project,
        "impact --cwd lib src/api.ts src/gone.ts drawloom.toml",
        done(
            Exactly("src/main.ts | depth 1 | via src/api.ts\n"),
            Has(&[
                "left out: there is no file src/gone.ts",
                "left out: drawloom.toml is not in the index",
            ]),
        ),
    );
    check(
        &project,
        "impact src/api.ts src/gone.ts --json",
        done(
            Has(&["\"left_out\": [\n    \"there is no file src/gone.ts in the project\""]),
            Nothing,
        ),
    );
}

#[test]
fn wrong_uses_say_what_to_do() {
    let project = CliProject::with(FILES);
    check_failed(&project, "index none", 1, &["there is no folder", "hint: "]);
    check_failed(
        &project,
        "index src/user.ts",
        1,
        &["is not a folder", "drawloom impact"],
    );
    check_failed(&project, "index --budget 0", 64, &["--budget"]);
    check_failed(&project, "index --budget many", 64, &["--budget"]);
    check_failed(&project, "impact", 64, &["<FILE>"]);
    check_failed(&project, "impact --depth 0 src/user.ts", 64, &["--depth"]);
    check_failed(
        &project,
        "impact src/usr.ts",
        1,
        &["there is no file src/usr.ts", "did you mean src/user.ts?"],
    );
    check_failed(
        &project,
        "impact lib/user.ts",
        1,
        &["there is no file", "did you mean", "src/user.ts"],
    );
    check_failed(
        &project,
        "impact dist",
        1,
        &["no file in the folder dist is in the index", "ignored"],
    );
    check_failed(
        &project,
        "impact dist/user.js",
        1,
        &["is not in the index", "ignored"],
    );
    check_failed(&project, "impact .env", 1, &["is not in the index"]);
    check_failed(
        &project,
        "impact /etc/hostname",
        1,
        &["outside of the project"],
    );
    check_failed(
        &project,
        "impact ../../x.ts",
        1,
        &["outside of the project"],
    );
    check_failed(&project, "index --json none", 1, &["{\"error\":", "E_FILE"]);
}

#[test]
fn an_empty_folder_has_nothing_to_show() {
    let expect = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Exactly("there is no file to show\n"),
    };
    check(&CliProject::empty(), "index", expect);
}

fn git(project: &CliProject, words: &str) {
    let run = std::process::Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@b.c"])
        .args(words.split(' '))
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(run.status.success(), "{words}: {run:?}");
}

#[test]
fn a_file_that_was_deleted_or_renamed_reaches_those_who_import_it() {
    let project = CliProject::with(FILES);
    for words in ["init -q", "add -A", "commit -q -m first"] {
        git(&project, words);
    }
    std::fs::remove_file(project.path().join("src/user.ts")).unwrap();
    let says = |names: &'static [&'static str]| ExpectedRun {
        exit: 0,
        out: Has(names),
        err: Has(&["no longer there"]),
    };
    let reached: &[&str] = &[
        "src/api.ts | depth 1 | via src/user.ts\n",
        "src/main.ts | depth 2 | via src/api.ts\n",
        "src/user.test.ts | depth 1 | via src/user.ts | test\n",
    ];
    check(&project, "impact src/user.ts", says(reached));
    // A commit later it is still known.
    git(&project, "commit -q -a -m second");
    check(&project, "impact src/user.ts", says(reached));
    git(&project, "mv src/api.ts src/http.ts");
    project.write("src/main.ts", "import './http.js';\n");
    let renamed = &["src/main.ts | depth 1 | via src/http.ts\n"];
    check(&project, "impact src/api.ts", says(renamed));
    check_failed(
        &project,
        "impact src/never.ts",
        1,
        &["there is no file src/never.ts"],
    );
}

#[test]
fn names_with_control_characters_are_counted() {
    let project = CliProject::with(FILES);
    std::fs::write(project.path().join("src/\u{7}bell.ts"), "").unwrap();
    let expect = ExpectedRun {
        exit: 0,
        out: Has(&["src/user.ts"]),
        err: Has(&["left out for their names, with control characters or not UTF-8: 1"]),
    };
    check(&project, "index", expect);
    check_done(&project, "index --json", Has(&["\"unnameable\": 1"]));
}
