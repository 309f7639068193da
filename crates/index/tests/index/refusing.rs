//! Files that are not read or not named, and hostile files that must not harm the index.

use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use index::{IndexCache, SourceIndex};
use workspace::{AccessPolicy, Limits, PolicySettings, Workspace, WorkspaceErrorKind};

use crate::project::{check_lines, folder, index, lines, open};

#[test]
fn ignored_and_refused_files_are_not_named() {
    check_lines(
        &[
            (".gitignore", "*.log\n/build/\n"),
            ("a.ts", "export const a = 1;\n"),
            ("x.log", ""),
            ("build/b.ts", ""),
            (".env", "KEY=1"),
            (".git/config", ""),
            (".drawloom/recipes/x/recipe.yml", ""),
            ("sub/.gitignore", "c.ts\n"),
            ("sub/c.ts", ""),
        ],
        &[
            ".gitignore | - | 2 lines",
            "a.ts | a | 1 line",
            "sub/.gitignore | - | 1 line",
        ],
    );
}

#[test]
fn the_projects_own_rules_hold() {
    let dir = folder(&[
        ("a.ts", "import './secret/b';"),
        ("secret/b.ts", "export const b = 1;"),
    ]);
    let settings = PolicySettings {
        read_deny: vec!["secret".to_owned()],
        ..PolicySettings::default()
    };
    let policy = AccessPolicy::new(&settings).unwrap();
    let space = Workspace::open(dir.path(), policy, Limits::default()).unwrap();
    let index = SourceIndex::build(&space, &IndexCache::none()).unwrap();
    assert_eq!(lines(&index), ["a.ts | - | 1 line"]);
    assert_eq!(index.edges(), 0);
}

#[test]
fn links_are_not_followed_and_hard_links_from_outside_not_read() {
    let outside = folder(&[("secret.ts", "export const secret = 1;")]);
    let dir = folder(&[("a.ts", "export const a = 1;")]);
    let secret = outside.path().join("secret.ts");
    symlink(&secret, dir.path().join("link.ts")).unwrap();
    symlink(outside.path(), dir.path().join("linked")).unwrap();
    std::fs::hard_link(&secret, dir.path().join("hard.ts")).unwrap();
    let index = SourceIndex::build(&open(dir.path()), &IndexCache::none()).unwrap();
    assert_eq!(lines(&index), ["a.ts | a | 1 line"]);
}

#[test]
fn hard_links_within_the_project_are_read() {
    let dir = folder(&[("a.ts", "export const a = 1;")]);
    for n in 0..40 {
        let file = dir.path().join(format!("f{n}.ts"));
        std::fs::write(&file, "export const f = 1;").unwrap();
        std::fs::hard_link(&file, dir.path().join(format!("g{n}.ts"))).unwrap();
    }
    for cache in [
        IndexCache::none(),
        IndexCache::at(SystemTime::now() + Duration::from_secs(60)),
    ] {
        let index = SourceIndex::build(&open(dir.path()), &cache).unwrap();
        assert_eq!(lines(&index).len(), 81);
        let again = SourceIndex::build(&open(dir.path()), &cache).unwrap();
        assert_eq!(lines(&again), lines(&index));
    }
}

#[test]
fn a_binary_file_is_listed_by_its_size() {
    let dir = folder(&[("empty.ts", ""), ("open.txt", "no end of line")]);
    std::fs::write(dir.path().join("image.png"), [0_u8; 3000]).unwrap();
    std::fs::write(
        dir.path().join("latin.ts"),
        b"// \xe9\nexport const a = 1;\n",
    )
    .unwrap();
    let index = SourceIndex::build(&open(dir.path()), &IndexCache::none()).unwrap();
    assert_eq!(
        lines(&index),
        [
            "empty.ts | - | 0 lines",
            "image.png | - | 2 kB",
            "latin.ts | a | 2 lines",
            "open.txt | - | 1 line"
        ]
    );
}

#[test]
fn a_text_in_another_encoding_gives_its_names() {
    let dir = folder(&[]);
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
    let utf16 = |text: &str, mark: [u8; 2], unit: fn(u16) -> [u8; 2]| {
        let units = text.encode_utf16().flat_map(unit);
        mark.into_iter().chain(units).collect::<Vec<u8>>()
    };
    let text = "export const gr\u{f6}\u{df}e = 1;\nexport const b = 2;\n";
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(c).unwrap()).collect();
    write("latin.ts", &latin);
    write("little.ts", &utf16(text, [0xff, 0xfe], u16::to_le_bytes));
    write("big.ts", &utf16(text, [0xfe, 0xff], u16::to_be_bytes));
    // One broken byte spoils nothing else.
    let mut broken = format!("// !\n{text}").into_bytes();
    broken[3] = 0xff;
    write("broken.ts", &broken);
    write("sound.bin", &[0xff, 0xfe, 0, 0, 1, 0]);
    let index = SourceIndex::build(&open(dir.path()), &IndexCache::none()).unwrap();
    assert_eq!(
        lines(&index),
        [
            "big.ts | gr\u{f6}\u{df}e, b | 2 lines",
            "broken.ts | gr\u{f6}\u{df}e, b | 3 lines",
            "latin.ts | gr\u{f6}\u{df}e, b | 2 lines",
            "little.ts | gr\u{f6}\u{df}e, b | 2 lines",
            "sound.bin | - | 6 B",
        ]
    );
}

#[test]
fn a_manifest_in_another_encoding_still_names_its_package() {
    let dir = folder(&[
        ("main.ts", "import { x } from 'lib';\n"),
        ("packages/lib/index.ts", "export const x = 1;\n"),
    ]);
    let manifest = b"{ \"name\": \"lib\", \"main\": \"index.ts\", \"author\": \"Andr\xe9\" }\n";
    std::fs::write(dir.path().join("packages/lib/package.json"), manifest).unwrap();
    let index = SourceIndex::build(&open(dir.path()), &IndexCache::none()).unwrap();
    let lib = workspace::RelPath::parse("packages/lib/index.ts").unwrap();
    assert_eq!(index.neighbours(&lib).importers.len(), 1);
}

#[test]
fn a_file_that_is_too_large_is_counted_and_not_parsed() {
    let line = "export const a = 1;\n";
    let large = line.repeat(3 * 1024 * 1024 / line.len());
    let index = index(&[("large.ts", &large), ("small.ts", line)]);
    let expected = format!("large.ts | - | {} lines", large.lines().count());
    assert_eq!(lines(&index), [expected.as_str(), "small.ts | a | 1 line"]);
}

#[test]
fn no_nesting_overflows_the_stack() {
    let deep = |open: &str, close: &str, count: usize| {
        format!(
            "export const a = {}1{};\n",
            open.repeat(count),
            close.repeat(count)
        )
    };
    let texts = [
        deep("(", ")", 20_000),
        deep("[", "]", 50_000),
        deep("{a:", "}", 20_000),
        deep("!", "", 100_000),
        deep("typeof ", "", 50_000),
        deep("x?", ":1", 20_000),
        deep("()=>", "", 20_000),
        deep("`${", "}`", 20_000),
        deep("1+", "", 100_000),
        format!(
            "export type T = {}1{};",
            "A<".repeat(20_000),
            ">".repeat(20_000)
        ),
        "{".repeat(300_000),
        "if(1)".repeat(20_000),
        "<a>".repeat(20_000),
    ];
    for text in &texts {
        let index = index(&[("a.tsx", text), ("b.ts", "export const b = 1;")]);
        assert_eq!(lines(&index)[1], "b.ts | b | 1 line");
    }
}

#[test]
fn a_project_with_too_many_files_says_so() {
    let dir = folder(&[("a.ts", ""), ("b.ts", ""), ("c.ts", "")]);
    let limits = Limits {
        walk_entries_max: 2,
        ..Limits::default()
    };
    let space = Workspace::open(dir.path(), AccessPolicy::default(), limits).unwrap();
    let error = SourceIndex::build(&space, &IndexCache::none()).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Limit);
    assert!(
        error.to_string().contains("walk_entries_max (2)"),
        "{error}"
    );
}

#[test]
fn an_empty_project_has_an_empty_index() {
    check_lines(&[], &[]);
}
