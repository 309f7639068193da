//! Searching and walking a workspace: results, their order, and the limits.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests build their own fixtures"
)]

use std::time::{Duration, Instant};

use tempfile::TempDir;
use workspace::{
    AccessPolicy, ContentMatches, ContentQuery, IgnoredFiles, Limits, LineKind, PatternSyntax,
    RelPath, SearchCase, SearchStop, WalkOptions, Workspace, WorkspaceErrorKind,
};

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// A project of these files.
fn project(files: &[(&str, &str)]) -> (TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let space = Workspace::open(dir.path(), AccessPolicy::default(), Limits::default()).unwrap();
    (dir, space)
}

/// `path:number:text` for matches, `path-number-text` for context.
fn shown(found: &ContentMatches) -> Vec<String> {
    let mut lines = Vec::new();
    for file in &found.files {
        for line in &file.lines {
            let mark = if line.kind == LineKind::Match {
                ':'
            } else {
                '-'
            };
            lines.push(format!(
                "{}{mark}{}{mark}{}",
                file.path, line.number, line.text
            ));
        }
    }
    lines
}

#[track_caller]
fn check(space: &Workspace, query: &ContentQuery, expected: &[&str]) {
    let found = space.search(query).unwrap();
    assert_eq!(shown(&found), expected, "{query:?}");
}

fn sample() -> (TempDir, Workspace) {
    project(&[
        ("a-b/x.txt", "needle a-b\n"),
        ("a/x.txt", "one\ntwo needle\nthree\nfour\nfive Needle\n"),
        ("a/deep/y.ts", "let needle = 1;\r\nlet other = 2;\r\n"),
        ("b.md", "no such thing"),
        ("c.bin", "needle\0needle\n"),
        (".hidden/z.txt", "needle hidden\n"),
        (".env", "needle=secret\n"),
        ("node_modules/m/index.js", "needle\n"),
    ])
}

#[test]
fn lines_are_found_in_tree_order() {
    let (_dir, space) = sample();
    check(
        &space,
        &ContentQuery::new("needle"),
        &[
            ".hidden/z.txt:1:needle hidden",
            "a/deep/y.ts:1:let needle = 1;",
            "a/x.txt:2:two needle",
            "a-b/x.txt:1:needle a-b",
        ],
    );
}

#[test]
fn a_search_can_be_narrowed() {
    let (_dir, space) = sample();
    let query = |edit: fn(&mut ContentQuery)| {
        let mut query = ContentQuery::new("needle");
        edit(&mut query);
        query
    };
    check(
        &space,
        &query(|q| q.path = path("a/deep")),
        &["a/deep/y.ts:1:let needle = 1;"],
    );
    check(
        &space,
        &query(|q| q.path = path("a/x.txt")),
        &["a/x.txt:2:two needle"],
    );
    check(
        &space,
        &query(|q| q.globs = vec!["*.ts".into()]),
        &["a/deep/y.ts:1:let needle = 1;"],
    );
    check(
        &space,
        &query(|q| q.globs = vec!["a/*".into()]),
        &["a/x.txt:2:two needle"],
    );
    check(
        &space,
        &query(|q| {
            q.path = path("a");
            q.globs = vec!["deep/**".into()];
        }),
        &["a/deep/y.ts:1:let needle = 1;"],
    );
    check(
        &space,
        &query(|q| q.globs = vec!["!*.txt".into()]),
        &["a/deep/y.ts:1:let needle = 1;"],
    );
    check(
        &space,
        &query(|q| q.globs = vec!["*.{ts,txt}".into(), "!.hidden/**".into(), "!a-b/**".into()]),
        &["a/deep/y.ts:1:let needle = 1;", "a/x.txt:2:two needle"],
    );
}

#[test]
fn patterns_are_regular_expressions_for_lines() {
    let (_dir, space) = sample();
    let query = |pattern: &str| ContentQuery {
        path: path("a"),
        ..ContentQuery::new(pattern)
    };
    check(
        &space,
        &query(r"^let \w+ = \d;$"),
        &[
            "a/deep/y.ts:1:let needle = 1;",
            "a/deep/y.ts:2:let other = 2;",
        ],
    );
    check(
        &space,
        &ContentQuery {
            case: SearchCase::Insensitive,
            ..query("NEEDLE$")
        },
        &["a/x.txt:2:two needle", "a/x.txt:5:five Needle"],
    );
    check(
        &space,
        &ContentQuery {
            case: SearchCase::Smart,
            ..query("Needle")
        },
        &["a/x.txt:5:five Needle"],
    );
    check(
        &space,
        &ContentQuery {
            syntax: PatternSyntax::Literal,
            ..query("= 1;")
        },
        &["a/deep/y.ts:1:let needle = 1;"],
    );
    check(
        &space,
        &ContentQuery {
            syntax: PatternSyntax::Literal,
            ..query(".*")
        },
        &[],
    );
    check(
        &space,
        &ContentQuery {
            context_lines: 1,
            ..query("two|five")
        },
        &[
            "a/x.txt-1-one",
            "a/x.txt:2:two needle",
            "a/x.txt-3-three",
            "a/x.txt-4-four",
            "a/x.txt:5:five Needle",
        ],
    );
}

#[test]
fn bad_queries_are_explained() {
    let (_dir, space) = sample();
    for (query, kind, says) in [
        (
            ContentQuery::new("(unclosed"),
            WorkspaceErrorKind::Pattern,
            "unclosed",
        ),
        (ContentQuery::new(""), WorkspaceErrorKind::Pattern, "empty"),
        (
            ContentQuery::new("(?=look)"),
            WorkspaceErrorKind::Pattern,
            "look-around",
        ),
        (
            ContentQuery::new(r"(a)\1"),
            WorkspaceErrorKind::Pattern,
            "back-references",
        ),
        (
            ContentQuery::new("a\nb"),
            WorkspaceErrorKind::Pattern,
            "single lines",
        ),
        (
            ContentQuery::new("(a{1000}){1000}"),
            WorkspaceErrorKind::Pattern,
            "cannot be used",
        ),
        (
            ContentQuery::new("x".repeat(100_000)),
            WorkspaceErrorKind::Limit,
            "PATTERN_BYTES_MAX",
        ),
        (
            ContentQuery {
                globs: vec!["a[".into()],
                ..ContentQuery::new("x")
            },
            WorkspaceErrorKind::Pattern,
            "a[",
        ),
        (
            ContentQuery {
                path: path("nope"),
                ..ContentQuery::new("x")
            },
            WorkspaceErrorKind::NotFound,
            "nope",
        ),
        (
            ContentQuery {
                path: path(".env"),
                ..ContentQuery::new("x")
            },
            WorkspaceErrorKind::Denied,
            "environment",
        ),
        (
            ContentQuery {
                path: path("node_modules/m"),
                ..ContentQuery::new("x")
            },
            WorkspaceErrorKind::Denied,
            "dependency",
        ),
    ] {
        let error = space.search(&query).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// A pattern that takes a backtracking engine for ever.
#[test]
fn no_pattern_takes_for_ever() {
    let text = "a".repeat(200_000) + "!";
    let (_dir, space) = project(&[("a.txt", &text)]);
    let started = Instant::now();
    for pattern in ["(a+)+$", "(a|a)*$", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
        assert_eq!(
            space.search(&ContentQuery::new(pattern)).unwrap().stop,
            None
        );
    }
    assert!(started.elapsed() < Duration::from_secs(20));
}

fn with_ignore_files() -> (TempDir, Workspace) {
    project(&[
        (
            ".gitignore",
            "*.log\n/top.txt\nout/\n!keep.log\n# comment\n\\!odd\n",
        ),
        (".git/info/exclude", "private.txt\n"),
        ("a.log", "needle"),
        ("keep.log", "needle"),
        ("top.txt", "needle"),
        ("sub/top.txt", "needle"),
        ("sub/.gitignore", "*.txt\n!top.txt\nlocal/\n"),
        ("sub/other.txt", "needle"),
        ("sub/local/x.rs", "needle"),
        ("sub/deep/other.txt", "needle"),
        ("sub/deep/.gitignore", "!other.txt\n"),
        ("out/x.rs", "needle"),
        ("private.txt", "needle"),
        ("p/.ignore", "x.rs\n"),
        ("p/x.rs", "needle"),
    ])
}

#[test]
fn a_search_leaves_out_what_git_ignores() {
    let (dir, space) = with_ignore_files();
    let files = |query: &ContentQuery| -> Vec<String> {
        let found = space.search(query).unwrap();
        found
            .files
            .iter()
            .map(|file| file.path.to_string())
            .collect()
    };
    let below = |start: &str| ContentQuery {
        path: path(start),
        ..ContentQuery::new("needle")
    };
    let expected = ["keep.log", "sub/deep/other.txt", "sub/top.txt"];
    assert_eq!(files(&ContentQuery::new("needle")), expected);
    // The files above the start have their say too.
    assert_eq!(files(&below("sub/deep")), ["sub/deep/other.txt"]);
    assert_eq!(files(&below("sub")), ["sub/deep/other.txt", "sub/top.txt"]);
    let all = ContentQuery {
        ignored: IgnoredFiles::Included,
        ..ContentQuery::new("needle")
    };
    assert_eq!(files(&all).len(), 10);
    // An ignore file that is not a file, or not text, is ignored.
    std::fs::remove_file(dir.path().join(".gitignore")).unwrap();
    std::fs::create_dir(dir.path().join(".gitignore")).unwrap();
    std::fs::write(dir.path().join("sub/.gitignore"), b"\xff\xfe[\n*.txt").unwrap();
    assert!(space.search(&ContentQuery::new("needle")).unwrap().matches > 4);
}

#[test]
fn a_walk_leaves_out_what_git_ignores() {
    let (_dir, space) = with_ignore_files();
    let walked = |options: &WalkOptions| -> Vec<String> {
        let tree = space.walk(options).unwrap();
        tree.entries
            .iter()
            .map(|entry| entry.path.to_string())
            .collect()
    };
    let options = WalkOptions::new(RelPath::root());
    assert_eq!(
        walked(&options),
        [
            ".gitignore",
            "keep.log",
            "p",
            "p/.ignore",
            "sub",
            "sub/.gitignore",
            "sub/deep",
            "sub/deep/.gitignore",
            "sub/deep/other.txt",
            "sub/top.txt"
        ]
    );
    let shallow = WalkOptions {
        depth_max: 1,
        ..options.clone()
    };
    assert_eq!(walked(&shallow), [".gitignore", "keep.log", "p", "sub"]);
    let few = WalkOptions {
        entries_max: 2,
        ..options
    };
    assert_eq!(walked(&few).len(), 2);
}

/// Many files in many directories, so that several threads take part.
fn forest(lines: usize) -> (TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..lines).map(|line| format!("needle {line}\n")).collect();
    for outer in 0..20 {
        for inner in 0..5 {
            let folder = dir.path().join(format!("d{outer:02}/e{inner}"));
            std::fs::create_dir_all(&folder).unwrap();
            for file in 0..8 {
                std::fs::write(folder.join(format!("f{file}.txt")), &text).unwrap();
            }
        }
    }
    let space = Workspace::open(dir.path(), AccessPolicy::default(), Limits::default()).unwrap();
    (dir, space)
}

#[test]
fn the_first_results_are_the_same_every_time() {
    let (_dir, space) = forest(3);
    let query = ContentQuery {
        results_max: 100,
        ..ContentQuery::new("needle")
    };
    let first = space.search(&query).unwrap();
    assert_eq!(
        (first.matches, first.stop),
        (100, Some(SearchStop::Results))
    );
    let lines: usize = first.files.iter().map(|file| file.lines.len()).sum();
    assert_eq!(lines, 100);
    assert_eq!(first.files[0].path.as_str(), "d00/e0/f0.txt");
    assert_eq!(first.files[33].path.as_str(), "d00/e4/f1.txt");
    assert_eq!(first.files[33].lines.len(), 1);
    for _ in 0..20 {
        let again = space.search(&query).unwrap();
        assert_eq!(again.files, first.files);
    }
    let all = ContentQuery {
        results_max: 2400,
        ..ContentQuery::new("needle")
    };
    let found = space.search(&all).unwrap();
    assert_eq!(
        (found.matches, found.searched, found.stop),
        (2400, 800, None)
    );
}

#[test]
fn a_search_is_bounded_in_bytes_and_time() {
    let (dir, _space) = forest(3);
    let search = |limits: Limits| {
        let space = Workspace::open(dir.path(), AccessPolicy::default(), limits).unwrap();
        space.search(&ContentQuery::new("needle 2")).unwrap()
    };
    let found = search(Limits {
        search_bytes_max: 1000,
        ..Limits::default()
    });
    assert_eq!(found.stop, Some(SearchStop::Bytes));
    assert!(found.searched <= 1000 / 27);
    let found = search(Limits {
        search_time_max: Duration::ZERO,
        ..Limits::default()
    });
    assert_eq!((found.stop, found.searched), (Some(SearchStop::Time), 0));
    assert_eq!(found.stop.unwrap().limit(), "search_time_max");
}

#[test]
fn a_long_line_is_shown_around_its_match() {
    let text = format!("{}needle{}\nshort\n", "é".repeat(5_000), "x".repeat(50_000));
    let (_dir, space) = project(&[("min.js", &text)]);
    let found = space.search(&ContentQuery::new("needle")).unwrap();
    let line = &found.files[0].lines[0];
    assert!(line.cut && line.text.contains("needle"));
    assert!(line.text.len() <= space.limits().search_line_bytes_max);
    assert!(!line.text.contains('\u{fffd}'), "no character is cut");
}

#[test]
fn large_files_are_searched_piece_by_piece() {
    let mut text = "filler line of some length\n".repeat(100_000);
    text.push_str("the needle at the end\n");
    let (_dir, space) = project(&[("big.log", &text)]);
    check(
        &space,
        &ContentQuery::new("needle"),
        &["big.log:100001:the needle at the end"],
    );
}

#[test]
fn text_in_utf_16_is_found() {
    let (dir, space) = project(&[]);
    let text: Vec<u8> = "\u{feff}find the needle\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    std::fs::write(dir.path().join("wide.txt"), text).unwrap();
    check(
        &space,
        &ContentQuery::new("needle"),
        &["wide.txt:1:find the needle"],
    );
}
