//! Reading and patching data files: what is kept, what is refused, and that merging is exact.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail loudly"
)]

use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::Config;
use recipe::structured::{DataFormat, Error, merge, merged, read};
use serde_json::{Map, Value, json};

/// Merges twice: the second time nothing may change.
#[track_caller]
fn check(format: DataFormat, text: &str, changes: &Value, expected: &str) {
    let found = merge(format, text, changes, 2).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(found, expected, "{text:?} with {changes}");
    assert_eq!(
        merge(format, &found, changes, 2).unwrap(),
        found,
        "merging twice is merging once"
    );
}

#[track_caller]
fn refuses(format: DataFormat, text: &str, changes: &Value, place: Option<(u32, u32)>, says: &str) {
    let error = merge(format, text, changes, 2).expect_err(text);
    assert_eq!(error.line.zip(error.column), place, "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

/// A case file: `=== name`, `## before`, `## changes`, `## after`, each followed by a fenced text.
fn cases(file: &str) -> Vec<(String, [String; 3])> {
    let mut cases = Vec::new();
    for case in file.split("\n=== ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let text = |title: &str| {
            let (_, rest) = rest.split_once(&format!("## {title}\n```\n")).expect(name);
            rest.split_once("```\n").expect(name).0.to_owned()
        };
        cases.push((
            name.to_owned(),
            [text("before"), text("changes"), text("after")],
        ));
    }
    cases
}

#[track_caller]
fn check_file(format: DataFormat, file: &str) {
    let cases = cases(file);
    assert!(cases.len() > 3, "the case file is read");
    for (name, [before, changes, after]) in cases {
        let changes: Value = serde_json::from_str(&changes).expect(&name);
        let found = merge(format, &before, &changes, 2).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(found, after, "{name}");
        check(format, &before, &changes, &after);
        let crlf = |text: &str| text.replace('\n', "\r\n");
        check(format, &crlf(&before), &changes, &crlf(&after));
        let open = |text: &str| text.strip_suffix('\n').unwrap_or(text).to_owned();
        if !before.is_empty() && !before.trim_end().ends_with(['|', '>']) {
            check(format, &open(&before), &changes, &open(&after));
        }
    }
}

#[test]
fn json_keeps_what_it_does_not_change() {
    check_file(DataFormat::Json, include_str!("structured/json.md"));
}

#[test]
fn yaml_keeps_what_it_does_not_change() {
    check_file(DataFormat::Yaml, include_str!("structured/yaml.md"));
}

#[test]
fn toml_keeps_what_it_does_not_change() {
    check_file(DataFormat::Toml, include_str!("structured/toml.md"));
}

#[test]
fn a_new_file_is_written_with_the_indentation_asked_for() {
    let changes = json!({"a": {"b": [1, {"c": null}]}, "d": "yes"});
    for (format, expected) in [
        (
            DataFormat::Json,
            "{\n    \"a\": {\n        \"b\": [\n            1,\n            {\n                \"c\": null\n            }\n        ]\n    },\n    \"d\": \"yes\"\n}\n",
        ),
        (
            DataFormat::Yaml,
            "a:\n    b:\n        - 1\n        - c: null\nd: \"yes\"\n",
        ),
    ] {
        assert_eq!(merge(format, "", &changes, 4).unwrap(), expected);
    }
    let changes = json!({"a": {"b": [1, {"c": 2}]}, "d": "yes", "e": {"f": {"g": 1.5}}});
    let expected = "d = \"yes\"\n\n[a]\nb = [1, { c = 2 }]\n\n[e.f]\ng = 1.5\n";
    assert_eq!(merge(DataFormat::Toml, "", &changes, 4).unwrap(), expected);
    assert!(
        merge(DataFormat::Json, "", &changes, 0)
            .unwrap_err()
            .to_string()
            .contains("INDENT_MAX")
    );
}

#[test]
fn nothing_to_do_is_nothing_done() {
    for (format, text, changes) in [
        (
            DataFormat::Json,
            "{ \"a\" :1,}",
            json!({"a": 1, "b": {"$delete": true}}),
        ),
        (
            DataFormat::Yaml,
            "a:   [1,  2]   # x",
            json!({"a": {"$append": [2, 1]}}),
        ),
        (DataFormat::Toml, "a   =  'x' # y", json!({"a": "x"})),
        (DataFormat::Env, "A = 1", json!({"A": "1"})),
    ] {
        assert_eq!(merge(format, text, &changes, 2).unwrap(), text);
    }
}

#[test]
fn markers_delete_and_append() {
    let before = json!({"a": 1, "list": [1, {"x": 1}], "map": {"b": 2, "c": 3}});
    for (changes, after) in [
        (
            json!({"a": {"$delete": true}}),
            json!({"list": [1, {"x": 1}], "map": {"b": 2, "c": 3}}),
        ),
        (
            json!({"a": null}),
            json!({"a": null, "list": [1, {"x": 1}], "map": {"b": 2, "c": 3}}),
        ),
        (
            json!({"list": {"$append": [{"x": 1}, 2, 2]}, "map": {"b": {"$delete": true}}}),
            json!({"a": 1, "list": [1, {"x": 1}, 2], "map": {"c": 3}}),
        ),
        (
            json!({"new": {"x": {"$delete": true}, "y": {"$append": [1]}}, "map": []}),
            json!({"a": 1, "list": [1, {"x": 1}], "map": [], "new": {"y": [1]}}),
        ),
    ] {
        assert_eq!(merged(&before, &changes).unwrap(), after);
    }
    check(
        DataFormat::Json,
        "[\n  1\n]\n",
        &json!({"$append": [2, 1]}),
        "[\n  1,\n  2\n]\n",
    );
    check(
        DataFormat::Yaml,
        "# c\n- a\n- b\n",
        &json!({"$append": ["c"]}),
        "# c\n- a\n- b\n- c\n",
    );
}

#[test]
fn wrong_changes_are_refused() {
    let says =
        |changes: Value, says: &str| refuses(DataFormat::Json, "{\"a\": 1}", &changes, None, says);
    says(json!({"a": {"$delete": false}}), "with the value `true`");
    says(
        json!({"a": {"$delete": true, "b": 1}}),
        "must be the only key",
    );
    says(json!({"a": {"$append": 1}}), "with a list");
    says(json!({"a": {"$append": [1]}}), "not a list");
    says(json!({"$delete": true}), "whole file");
    says(json!([1]), "only a map");
    refuses(
        DataFormat::Json,
        "[1]",
        &json!({"a": 1}),
        None,
        "does not hold a map",
    );
    refuses(
        DataFormat::Toml,
        "a = 1",
        &json!({"a": null}),
        None,
        "$delete",
    );
    refuses(
        DataFormat::Toml,
        "a = 1",
        &json!({"a": u64::MAX}),
        None,
        "as large as",
    );
    refuses(
        DataFormat::Env,
        "A=1",
        &json!({"A": "2"}),
        None,
        "never changed",
    );
}

#[test]
fn broken_texts_are_refused_with_their_place() {
    let some = json!({"a": 1});
    for (format, text, place, says) in [
        (
            DataFormat::Json,
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            (2, 9),
            "comma",
        ),
        (
            DataFormat::Json,
            "{\n  \"é\": x\n}",
            (2, 8),
            "not valid JSON",
        ),
        (DataFormat::Json, "{\"a\": 1} {}", (1, 10), "more than one"),
        (
            DataFormat::Json,
            "{\"a\": Infinity}",
            (1, 7),
            "not valid JSON",
        ),
        (
            DataFormat::Yaml,
            "a: 1\nb: [1, 2\nc: 3\n",
            (3, 2),
            "not valid YAML",
        ),
        (
            DataFormat::Yaml,
            "a: 1\n---\nb: 2\n",
            (3, 1),
            "more than one YAML document",
        ),
        (DataFormat::Yaml, "a: 1\na: 2\n", (2, 1), "duplicate"),
        (DataFormat::Toml, "[a]\nb = \n", (2, 5), "not valid TOML"),
        (DataFormat::Toml, "a = 1\na = 2\n", (2, 1), "duplicate key"),
        (DataFormat::Env, "A=1\nB\n", (2, 1), "NAME=value"),
        (DataFormat::Env, "A='1\nB\n", (1, 3), "not closed"),
    ] {
        refuses(format, text, &some, Some(place), says);
    }
}

#[test]
fn endless_nesting_is_refused() {
    let deep = "[".repeat(100_000);
    for (format, text) in [
        (DataFormat::Json, deep.clone()),
        (DataFormat::Json, "{\"a\":".repeat(100_000)),
        (DataFormat::Yaml, deep.clone()),
        (DataFormat::Yaml, "- ".repeat(100_000)),
        (DataFormat::Toml, format!("a = {deep}")),
        (
            DataFormat::Toml,
            format!("a = {}", "{ a = ".repeat(100_000)),
        ),
    ] {
        assert!(read(format, &text).is_err());
        assert!(merge(format, &text, &json!({"b": 1}), 2).is_err());
    }
}

#[test]
fn an_edit_that_would_change_more_is_refused() {
    for (format, text, changes) in [
        // The anchored map is read in two places.
        (
            DataFormat::Yaml,
            "base: &b\n  x: 1\nother: *b\n",
            json!({"base": {"x": 2}}),
        ),
        // What a merge key brings cannot be taken away below it.
        (
            DataFormat::Yaml,
            "b: &b\n  x: 1\nc:\n  <<: *b\n  y: 1\n",
            json!({"c": {"x": {"$delete": true}}}),
        ),
        (DataFormat::Json, "{\"a\": 1, \"a\": 2}", json!({"a": 3})),
    ] {
        let error = merge(format, text, &changes, 2).expect_err(text);
        assert!(error.to_string().contains("by hand"), "{error}");
        assert!(error.line.is_some());
    }
    // An alias is replaced by the merged values; what it pointed at stays.
    check(
        DataFormat::Yaml,
        "base: &b\n  x: 1\nother: *b\n",
        &json!({"other": {"z": 2}}),
        "base: &b\n  x: 1\nother:\n  x: 1\n  z: 2\n",
    );
    check(
        DataFormat::Yaml,
        "b: &b\n  x: 1\nc:\n  <<: *b\n  y: 1\n",
        &json!({"c": {"x": 2}}),
        "b: &b\n  x: 1\nc:\n  <<: *b\n  y: 1\n  x: 2\n",
    );
}

#[test]
fn env_files_are_read() {
    let text = "# c\nA=1 # note\nexport B = \"x # y\\n\"\nC='a\\nb'\n\nD=\nE=a#b\nF=\"two\r\nlines\"\r\nG=x\r\n";
    let expected = json!({
        "A": "1", "B": "x # y\n", "C": "a\\nb", "D": "", "E": "a#b", "F": "two\nlines", "G": "x",
    });
    assert_eq!(read(DataFormat::Env, text).unwrap(), expected);
}

#[test]
fn json5_liberties_are_read() {
    let text = "// c\n{a: 'x', \"b\": +1, c: .5, d: 0xff, /* e */ 'f': [1,],}";
    let expected = json!({"a": "x", "b": 1, "c": 0.5, "d": 255, "f": [1]});
    assert_eq!(read(DataFormat::Json, text).unwrap(), expected);
    assert_eq!(read(DataFormat::Json, "").unwrap(), Value::Null);
    check(
        DataFormat::Json,
        "{a: 'x', // n\n}\n",
        &json!({"a": "y"}),
        "{a: 'y', // n\n}\n",
    );
}

#[test]
fn names_give_formats_away() {
    for (path, format) in [
        ("tsconfig.json", Some(DataFormat::Json)),
        ("a/.prettierrc.JSON5", Some(DataFormat::Json)),
        (".github/workflows/ci.yml", Some(DataFormat::Yaml)),
        ("Cargo.toml", Some(DataFormat::Toml)),
        (".env.local", Some(DataFormat::Env)),
        ("prod.env", Some(DataFormat::Env)),
        ("Makefile", None),
        ("notes.txt", None),
    ] {
        assert_eq!(DataFormat::of_path(path), format, "{path}");
    }
}

fn strings() -> impl Strategy<Value = String> {
    let tricky = [
        "",
        " ",
        "true",
        "null",
        "~",
        "yes",
        "n",
        "1",
        "1.0",
        "-",
        "- a",
        "a: b",
        "a #b",
        "#",
        "'",
        "\"",
        "\\",
        "0x1F",
        "1_000",
        ".5",
        "1e3",
        "0o7",
        "2024-01-01",
        "12:30",
        "<<",
        "=",
        "*a",
        "&a",
        "!x",
        "|",
        ">",
        "%",
        "@a",
        "`",
        "{",
        "}",
        "[",
        "]",
        ",",
        "?",
        ":",
        "a\nb",
        "a\n",
        "\na",
        " a",
        "a ",
        "\t",
        "a\tb",
        "---",
        "...",
        "é",
        "😀",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "a\r\nb",
        "{{ x }}",
        ".inf",
        ".nan",
        "$ref",
        "a.b",
    ];
    prop_oneof![
        3 => prop::sample::select(tricky.to_vec()).prop_map(str::to_owned),
        2 => "[a-z]{1,8}",
        1 => "[ -~\n]{0,12}",
    ]
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[a-d]{1,2}", 1 => strings().prop_filter("a marker", |key| !key.starts_with('$'))]
}

fn values(null: bool) -> impl Strategy<Value = Value> {
    let nothing = if null {
        Value::Null
    } else {
        Value::Bool(false)
    };
    let leaf = prop_oneof![
        1 => Just(nothing),
        1 => any::<bool>().prop_map(Value::from),
        2 => any::<i32>().prop_map(Value::from),
        1 => (-1e6f64..1e6).prop_map(Value::from),
        1 => prop::sample::select(vec![0.0, -0.5, 1e21, 1.0, 5e-324, 1e-7]).prop_map(Value::from),
        4 => strings().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let pairs = prop::collection::vec((keys(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            pairs.prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn maps(null: bool) -> impl Strategy<Value = Value> {
    let pairs = prop::collection::vec((keys(), values(null)), 0..5);
    pairs.prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
}

/// Changes: any map, with markers here and there.
fn changes(null: bool) -> impl Strategy<Value = Value> {
    let items = prop::collection::vec(values(null), 0..3);
    let change = prop_oneof![
        4 => values(null),
        1 => Just(json!({"$delete": true})),
        1 => items.prop_map(|items| json!({"$append": items})),
    ];
    let level = |inner: proptest::strategy::BoxedStrategy<Value>| {
        let pairs = prop::collection::vec((keys(), inner), 0..4);
        pairs.prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>()))
    };
    let inner = prop_oneof![2 => change.clone(), 1 => level(change.boxed())];
    level(inner.boxed())
}

/// Several ways to write the same values.
fn texts(format: DataFormat, value: &Value) -> Vec<String> {
    match format {
        DataFormat::Json => vec![
            value.to_string(),
            serde_json::to_string_pretty(value).unwrap(),
        ],
        DataFormat::Yaml => vec![
            serde_saphyr::to_string(value).unwrap(),
            serde_json::to_string_pretty(value).unwrap(),
            merge(format, "# nothing yet\n", value, 4).unwrap(),
        ],
        _ => vec![merge(format, "", value, 2).unwrap(), toml_inline(value)],
    }
}

fn toml_inline(value: &Value) -> String {
    let pairs = value.as_object().unwrap().iter();
    pairs
        .map(|(key, value)| format!("{} = {}\n", json!(key), inline(value)))
        .collect()
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[\n  {}\n]", items.join(",\n  "))
        }
        Value::Object(map) => {
            let pairs: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{} = {}", json!(key), inline(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Number(number) if number.is_f64() => format!("{:?}", number.as_f64().unwrap()),
        Value::String(text) => json!(text).to_string().replace('\u{7f}', "\\u007F"),
        other => other.to_string(),
    }
}

fn exact(
    format: DataFormat,
    before: &Value,
    changes: &Value,
) -> Result<(), proptest::test_runner::TestCaseError> {
    let expected: Result<Value, Error> = merged(before, changes);
    for text in texts(format, before) {
        // The writer of the test may say something else than it should; that is not our subject.
        if read(format, &text).ok().as_ref() != Some(before) {
            continue;
        }
        let found = merge(format, &text, changes, 2);
        let Ok(expected) = &expected else {
            assert!(found.is_err());
            continue;
        };
        let found = found.unwrap_or_else(|error| panic!("{error}\n{text}\n{changes}"));
        prop_assert_eq!(&read(format, &found).unwrap(), expected, "{}", text);
        if merged(expected, changes).as_ref() == Ok(expected) {
            prop_assert_eq!(&merge(format, &found, changes, 2).unwrap(), &found);
        }
    }
    Ok(())
}

/// The texts of all case files, to be damaged.
fn samples(format: DataFormat) -> Vec<String> {
    let file = match format {
        DataFormat::Json => include_str!("structured/json.md"),
        DataFormat::Yaml => include_str!("structured/yaml.md"),
        _ => include_str!("structured/toml.md"),
    };
    cases(file)
        .into_iter()
        .flat_map(|(_, [before, _, after])| [before, after])
        .collect()
}

/// A text with some lines or characters gone, doubled, or moved.
fn damaged(text: &str, wounds: &[(prop::sample::Index, u8)]) -> String {
    let mut text = text.to_owned();
    for (place, kind) in wounds {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let line = place.index(lines.len().max(1));
        let chars: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        match kind {
            0 if line < lines.len() => drop(lines.remove(line)),
            1 if line < lines.len() => lines.insert(line, lines[line]),
            2 if line < lines.len() => lines.insert(line, "  "),
            3 if line < lines.len() => lines.insert(line, "  &a *a <<: - ? [ {\n"),
            _ if !chars.is_empty() => {
                let at = chars[place.index(chars.len())];
                let mut cut = text.clone();
                match kind {
                    4 => drop(cut.remove(at)),
                    5 => cut.insert(at, '\n'),
                    6 => cut.insert(at, ' '),
                    _ => cut.truncate(at),
                }
                text = cut;
                continue;
            }
            _ => {}
        }
        text = lines.concat();
    }
    text
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn merging_into_json_is_merging_the_values(before in maps(true), changes in changes(true)) {
        exact(DataFormat::Json, &before, &changes)?;
    }

    #[test]
    fn merging_into_yaml_is_merging_the_values(before in maps(true), changes in changes(true)) {
        exact(DataFormat::Yaml, &before, &changes)?;
    }

    #[test]
    fn merging_into_toml_is_merging_the_values(before in maps(false), changes in changes(false)) {
        exact(DataFormat::Toml, &before, &changes)?;
    }

    #[test]
    fn damaged_texts_are_merged_exactly_or_refused(
        which in any::<prop::sample::Index>(),
        wounds in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 0..4),
        changes in changes(true),
    ) {
        for format in [DataFormat::Json, DataFormat::Yaml, DataFormat::Toml] {
            let samples = samples(format);
            let text = damaged(&samples[which.index(samples.len())], &wounds);
            let Ok(before) = read(format, &text) else { continue };
            let known = json!({"deps": {"c": 1}, "jobs": {"x": [1]}, "package": {"y": {"z": 1}}});
            for changes in [&changes, &known] {
                if let Ok(found) = merge(format, &text, changes, 2) {
                    let expected = merged(&before, changes).unwrap();
                    prop_assert_eq!(read(format, &found).unwrap(), expected);
                }
            }
        }
    }
}
