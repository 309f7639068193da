//! The name helpers answer what the libraries they stand for answer.

use std::time::Instant;

use expr::text_functions::{self, FunctionArg, FunctionOutput};
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::{Value, json};

const SETS: [&str; 4] = ["changeCase", "inflection", "helpers", "edge"];

/// Runs every `[helper, arguments, answer]` and reports all that differ at once.
///
/// An error is expected as an object; its wording is ours.
fn check(calls: impl IntoIterator<Item = (String, Vec<Value>, Value)>) {
    let mut count = 0;
    let mut wrong = Vec::new();
    for (name, args, want) in calls {
        count += 1;
        let got = call(&name, &args);
        let same = match (want.as_f64(), got.as_f64()) {
            (Some(want), Some(got)) => want == got,
            _ => want == got || (want.get("error").is_some() && got.get("error").is_some()),
        };
        if !same {
            wrong.push(format!("{name}{}: want {want}, got {got}", json!(args)));
        }
    }
    assert!(count > 0, "nothing was checked");
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn call(name: &str, args: &[Value]) -> Value {
    let Some(helper) = text_functions::lookup(name) else {
        return json!(format!("no helper is called {name}"));
    };
    let args: Vec<FunctionArg<'_>> = args.iter().map(arg).collect();
    match (helper.call)(&args) {
        Ok(FunctionOutput::Str(text)) => json!(text),
        Ok(FunctionOutput::Num(number)) => json!(number),
        Ok(FunctionOutput::Null) => Value::Null,
        Err(message) => json!({ "error": message }),
    }
}

fn arg(value: &Value) -> FunctionArg<'_> {
    match value {
        Value::String(text) => FunctionArg::Str(text),
        Value::Number(number) => FunctionArg::Num(number.as_f64().unwrap_or(f64::NAN)),
        Value::Bool(value) => FunctionArg::Bool(*value),
        Value::Array(items) => FunctionArg::List(
            items
                .iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect(),
        ),
        Value::Object(options) => FunctionArg::Opts(
            options
                .iter()
                .map(|(key, value)| (key.clone(), arg(value)))
                .collect(),
        ),
        Value::Null => FunctionArg::Undefined,
    }
}

/// A call in the tests' own tables.
fn case(name: &str, args: Value, want: Value) -> (String, Vec<Value>, Value) {
    let args = args.as_array().cloned().unwrap_or_default();
    (name.to_owned(), args, want)
}

#[test]
fn every_helper_answers_the_corpus() {
    let corpus: Value = serde_json::from_str(include_str!("data/helpers.json")).expect("JSON");
    let helpers = corpus.as_object().expect("an object");
    assert_eq!(helpers.len(), 43);
    check(helpers.iter().flat_map(|(name, answers)| {
        let answers = answers.as_object().expect("an object");
        assert_eq!(answers.len(), 64, "{name}");
        answers
            .iter()
            .map(|(input, answer)| case(name, json!([input]), answer.clone()))
    }));
}

#[test]
fn recorded_calls_answer_the_same() {
    let recorded: Value =
        serde_json::from_str(include_str!("data/helper-calls.json")).expect("JSON");
    let calls = recorded["calls"].as_array().expect("a list");
    check(calls.iter().map(|call| {
        let name = call[0].as_str().expect("a name");
        case(name, call[1].clone(), call[2].clone())
    }));
}

#[test]
fn templates_see_hypergens_version_of_a_name_both_define() {
    check([
        case("snakeCase", json!(["fooBAR2baz"]), json!("foo_bar2baz")),
        case(
            "edge.snakeCase",
            json!(["fooBAR2baz"]),
            json!("foo_bar_2_baz"),
        ),
        case("camelCase", json!(["version1.2"]), json!("version1_2")),
        case("edge.camelCase", json!(["version1.2"]), json!("version12")),
        case("camelCase", json!(["hello-world"]), json!("helloWorld")),
        case("pluralize", json!(["box"]), json!("boxes")),
        case("pluralize", json!(["octopus"]), json!("octopuses")),
        case("dotCase", json!(["FooBar"]), json!("foo.bar")),
        case("edge.dotCase", json!(["FooBar"]), json!("Foo.Bar")),
        case("capitalize", json!(["userName"]), json!("UserName")),
        case(
            "inflection.capitalize",
            json!(["userName"]),
            json!("Username"),
        ),
        case(
            "kebabCase",
            json!(["XMLHttpRequest"]),
            json!("xml-http-request"),
        ),
        case(
            "titleize",
            json!(["message_properties to keep"]),
            json!("Message Properties to Keep"),
        ),
        case("humanize", json!(["author_id"]), json!("Author")),
        case(
            "titleCase",
            json!(["the end of an era"]),
            json!("The End of an Era"),
        ),
    ]);
}

#[test]
fn arguments_only_edge_reads_call_edges_version() {
    check([
        case("pluralize", json!(["box", 1]), json!("box")),
        case("pluralize", json!(["boxes", 1, true]), json!("1 box")),
        case("pluralize", json!(["BOX", 3, true]), json!("3 BOXES")),
        case("dotCase", json!(["FooBar", {}]), json!("Foo.Bar")),
        case(
            "dotCase",
            json!(["FooBar", { "lowerCase": true }]),
            json!("foo.bar"),
        ),
    ]);
}

#[test]
fn edges_measures_and_cuts_have_their_defaults() {
    check([
        case(
            "truncate",
            json!(["hello world foo bar baz", 10]),
            json!("hello world..."),
        ),
        case(
            "truncate",
            json!(["hello world", 8, { "strict": true }]),
            json!("hello wo..."),
        ),
        case(
            "truncate",
            json!(["<p>hello world foo</p>", 7]),
            json!("<p>hello world...</p>"),
        ),
        case("truncate", json!([null, 10]), json!("")),
        case(
            "excerpt",
            json!(["<b>hello</b> <i>world</i> foo", 5]),
            json!("hello..."),
        ),
        case("prettyMs", json!([5_400_000]), json!("2h")),
        case("prettyMs", json!([60_000, true]), json!("1 minute")),
        case("toMs", json!(["2 days"]), json!(172_800_000.0)),
        case("prettyBytes", json!([1152]), json!("1.13KB")),
        case("prettyBytes", json!(["1152"]), json!(null)),
        case("toBytes", json!(["1.5kb"]), json!(1536.0)),
        case("toBytes", json!(["much"]), json!(null)),
        case("ordinal", json!([22]), json!("22nd")),
        case("ordinal", json!(["113"]), json!("113th")),
        case("sentence", json!([["a", "b", "c"]]), json!("a, b, and c")),
        case("sentence", json!([["a", "b"]]), json!("a and b")),
        case(
            "dashCase",
            json!(["fooBar", { "capitalize": true }]),
            json!("Foo-Bar"),
        ),
    ]);
}

#[test]
fn a_value_that_is_not_text_reads_as_javascript_prints_it() {
    check([
        case("camelCase", json!([]), json!("undefined")),
        case("snakeCase", json!([1.5]), json!("1_5")),
        case("constantCase", json!([true]), json!("TRUE")),
        case("pascalCase", json!([["foo", "bar"]]), json!("FooBar")),
        case("paramCase", json!([{}]), json!("object-object")),
        case("constantCase", json!([1e21]), json!("1E_21")),
    ]);
}

#[test]
fn errors_say_what_to_do() {
    let cases = [
        (
            "transform",
            json!(["a"]),
            "`transform` needs a list of what to do, such as ['pluralize', 'dasherize'].",
        ),
        (
            "undasherize",
            json!(["a--b"]),
            "`undasherize` needs a letter before and after every dash; \"a--b\" has an empty word.",
        ),
        (
            "ordinal",
            json!(["x"]),
            "`ordinal` needs a finite number, but got \"x\".",
        ),
        (
            "sentence",
            json!(["x"]),
            "`sentence` needs a list of texts.",
        ),
        (
            "toMs",
            json!(["soon"]),
            "\"soon\" is no duration; write a number other than 0 and a unit, such as \"10 mins\".",
        ),
        (
            "prettyBytes",
            json!([1, { "decimalPlaces": 101 }]),
            "`decimalPlaces` must be from 0 to 100; it is 101.",
        ),
    ];
    for (name, args, message) in cases {
        let args = args.as_array().expect("a list");
        assert_eq!(call(name, args), json!({ "error": message }));
    }
}

#[test]
fn names_are_sorted_and_found() {
    let sets = SETS.map(|set| {
        (
            format!("{set}."),
            text_functions::set_named(set).expect("a set"),
        )
    });
    for (prefix, helpers) in sets
        .into_iter()
        .chain([(String::new(), text_functions::all())])
    {
        assert!(helpers.is_sorted_by(|a, b| a.name < b.name), "{prefix}");
        for helper in helpers {
            let found = text_functions::lookup(&format!("{prefix}{}", helper.name));
            assert_eq!(found.map(|it| it.name), Some(helper.name));
        }
    }
    for unknown in [
        "",
        "nope",
        "edge",
        "edge.",
        "edge.nope",
        "nope.camelCase",
        "a.b.c",
    ] {
        assert!(text_functions::lookup(unknown).is_none(), "{unknown}");
    }
}

#[test]
fn long_text_takes_linear_time() {
    // Quadratic work on this much would take minutes.
    const LEN: usize = 1 << 18;
    const SECONDS_MAX: u64 = 30;
    let start = Instant::now();
    for text in ["<", "<!--", "a ", "aB", "é-", "</p>\n", "\n\n", "-"] {
        let long = text.repeat(LEN / text.len());
        for name in ["excerpt", "titleCase", "titleize", "truncate"] {
            assert!(call(name, &[json!(long)]).is_string(), "{name}");
        }
    }
    assert!(start.elapsed().as_secs() < SECONDS_MAX);
}

fn any_arg() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("suffix"),
        Just("strict"),
        Just("completeWords"),
        Just("decimalPlaces"),
        Just("unit"),
        Just("thousandsSeparator"),
        Just("fixedDecimals"),
        Just("lastSeparator"),
    ];
    let simple = prop_oneof![
        any::<String>().prop_map(|text| json!(text)),
        "[a-zA-Z0-9 _<>/p.:\n-]{0,24}".prop_map(|text| json!(text)),
        any::<f64>().prop_map(|number| json!(number)),
        (-40..40).prop_map(|number| json!(number)),
        any::<bool>().prop_map(|value| json!(value)),
        Just(Value::Null),
    ];
    prop_oneof![
        simple.clone(),
        prop::collection::vec(any::<String>(), 0..4).prop_map(|items| json!(items)),
        prop::collection::vec((key.prop_map(str::to_owned), simple), 0..4)
            .prop_map(|options| Value::Object(options.into_iter().collect())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_helper_panics(args in prop::collection::vec(any_arg(), 0..4)) {
        for helper in text_functions::all() {
            call(helper.name, &args);
        }
        for set in SETS {
            for helper in text_functions::set_named(set).unwrap_or_default() {
                call(&format!("{set}.{}", helper.name), &args);
            }
        }
    }

    #[test]
    fn a_case_of_its_own_output_changes_nothing(words in prop::collection::vec("[a-z]{2,8}", 1..5)) {
        let text = words.join(" ");
        for name in ["snakeCase", "kebabCase", "dotCase", "pathCase", "constantCase", "camelCase", "pascalCase"] {
            let once = call(name, &[json!(text)]);
            prop_assert_eq!(call(name, std::slice::from_ref(&once)), once);
        }
    }
}
