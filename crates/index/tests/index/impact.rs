//! The files that a change affects, their distance, and the tests to run.

use crate::project::{Files, index, path};

const PROJECT: Files<'_> = &[
    ("src/user.ts", "export class User {}"),
    (
        "src/service.ts",
        "import { User } from './user'; export class Service {}",
    ),
    ("src/api.ts", "import './service'; import './log';"),
    ("src/log.ts", "import './api';"),
    ("src/other.ts", ""),
    ("src/user.test.ts", "import './user';"),
    ("tests/api.ts", "import '../src/api';"),
];

#[track_caller]
fn check(changed: &[&str], depth_max: u32, expected: &[&str]) {
    let changed: Vec<_> = changed.iter().map(|text| path(text)).collect();
    let impact = index(PROJECT).impact(&changed, depth_max);
    let lists = [("", impact.files), ("test ", impact.tests)];
    let mut found = Vec::new();
    for (mark, list) in lists {
        for it in list {
            found.push(format!("{mark}{} {} via {}", it.depth, it.path, it.via));
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn importers_are_followed_with_their_distance_and_tests_are_apart() {
    check(
        &["src/user.ts"],
        u32::MAX,
        &[
            "1 src/service.ts via src/user.ts",
            "2 src/api.ts via src/service.ts",
            "3 src/log.ts via src/api.ts",
            "test 1 src/user.test.ts via src/user.ts",
            "test 3 tests/api.ts via src/api.ts",
        ],
    );
}

#[test]
fn the_distance_can_be_limited() {
    check(
        &["src/user.ts"],
        1,
        &[
            "1 src/service.ts via src/user.ts",
            "test 1 src/user.test.ts via src/user.ts",
        ],
    );
    check(&["src/user.ts"], 0, &[]);
}

#[test]
fn several_changes_count_from_the_nearest_and_are_not_reached_themselves() {
    check(
        &["src/user.ts", "src/api.ts"],
        u32::MAX,
        &[
            "1 src/log.ts via src/api.ts",
            "1 src/service.ts via src/user.ts",
            "test 1 src/user.test.ts via src/user.ts",
            "test 1 tests/api.ts via src/api.ts",
        ],
    );
}

#[test]
fn files_without_importers_and_missing_files_affect_no_file() {
    check(&["src/other.ts"], u32::MAX, &[]);
    check(&["src/none.ts"], u32::MAX, &[]);
    check(&[], u32::MAX, &[]);
}

#[test]
fn neighbours_are_those_on_both_sides() {
    let index = index(PROJECT);
    let around = index.neighbours(&path("src/api.ts"));
    assert_eq!(
        around.imports,
        [&path("src/log.ts"), &path("src/service.ts")]
    );
    assert_eq!(
        around.importers,
        [&path("src/log.ts"), &path("tests/api.ts")]
    );
    assert!(index.neighbours(&path("gone.ts")).imports.is_empty());
}
