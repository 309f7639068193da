//! AI blocks: what is asked, when, and where answers stand.

#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests are lists of cases, and fixtures that cannot be built are failures"
)]

use std::rc::Rc;

use indexmap::IndexMap;
use prompt::AnswerKind;
use serde_json::{Value as Json, json};
use template::{Error, MapLoader, RenderInput, RenderResult, TemplateEngine, TemplateLayout};

const FILES: &[(&str, &str)] = &[
    ("context.jig", "@context()\nshared {{ name }}\n@end\n"),
    ("ask.jig", "@prompt()\nfrom a partial\n@end\n"),
    (
        "components/asks.jig",
        "@ai('inner')\n@prompt()\n{{ title }}\n@end\n@end\n",
    ),
];

fn render(template: &str, answers: Json) -> Result<RenderResult, Error> {
    render_as("main.jig", template, answers)
}

fn render_as(name: &str, template: &str, answers: Json) -> Result<RenderResult, Error> {
    let loader: MapLoader = FILES.iter().copied().collect();
    let state = json!({ "name": "Ada", "list": ["a", "b"], "yes": true });
    let answers: IndexMap<String, Json> = answers
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    TemplateEngine::new(Rc::new(loader)).render_text(&RenderInput {
        name,
        text: template,
        layout: TemplateLayout::of_path(name),
        state: &expr::JsObject::from_json_map(state.as_object().unwrap()),
        answers: &answers,
    })
}

/// Renders without and with answers; checks the texts and the keys asked and postponed.
fn check(template: &str, answers: Json, texts: [&str; 2], asked: &[&str], postponed: &[&str]) {
    let first = render(template, json!({})).unwrap();
    assert_eq!(first.text, texts[0], "pass 1 of {template}");
    let keys: Vec<&str> = first.questionnaire.keys().collect();
    assert_eq!(keys, asked, "asked by {template}");
    let later: Vec<&str> = first.postponed.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(later, postponed, "postponed by {template}");
    let second = render(template, answers).unwrap();
    assert_eq!(second.text, texts[1], "pass 2 of {template}");
    assert!(second.unanswered.is_empty(), "{:?}", second.unanswered);
}

#[test]
fn a_block_becomes_a_question() {
    let template = "\
class {{ name }} {
  @ai()
    @context()
      The fields are:
        {{ list }}
    @end
    @prompt()
      Which fields
      matter?
    @end
    @output({ key: 'fields', type: 'pick', from: list })
      A list.
      @example()
        [\"a\"]
      @end
    @end
  @end
}
";
    let rendered = render(template, json!({})).unwrap();
    let question = rendered.questionnaire.get("fields").unwrap();
    assert_eq!(question.contexts, ["The fields are:\n  a,b"]);
    assert_eq!(question.prompt, "Which fields\nmatter?");
    assert_eq!(question.format, "A list.");
    assert_eq!(question.examples, ["[\"a\"]"]);
    assert_eq!(
        question.kind,
        AnswerKind::Pick {
            from: vec![json!("a"), json!("b")]
        }
    );
    assert_eq!(
        (question.source.file.as_str(), question.source.line),
        ("main.jig", 2)
    );
    assert_eq!(rendered.text, "class Ada {\n}\n");
}

#[test]
fn lines_that_an_expression_prints_do_not_move_the_text_around_them() {
    let template = "\
@ai()
  @context()
    The Customer model has these fields:
    {{ JSON.stringify(list, null, 2) }}
  @end

  @prompt()
    Which fields are most relevant for a quick-view card?
  @end

  @output({ key: 'mainFields' })
    [\"fieldName1\", \"fieldName2\"]
  @end
@end
";
    let rendered = render(template, json!({})).unwrap();
    let question = rendered.questionnaire.get("mainFields").unwrap();
    assert_eq!(
        question.contexts,
        ["The Customer model has these fields:\n[\n  \"a\",\n  \"b\"\n]"]
    );
    assert_eq!(question.format, "[\"fieldName1\", \"fieldName2\"]");
}

#[test]
fn keys_have_three_places() {
    for head in [
        "@ai('k')\n",
        "@ai({ key: 'k' })\n",
        "@ai()\n@output({ key: 'k' })\nx\n@end\n",
        "@ai('k')\n@output({ key: 'k' })\nx\n@end\n",
        "@ai()\n@output('k')\nx\n@end\n",
    ] {
        let template = format!("{head}@prompt()\np\n@end\n@end\n");
        check(
            &template,
            json!({ "k": "answer" }),
            ["", "answer\n"],
            &["k"],
            &[],
        );
    }
}

#[test]
fn answers_replace_their_block() {
    let block = "@ai('k')\n    @prompt()\n    p\n    @end\n  @end";
    for (name, template, answer, expect) in [
        (
            "a.jig",
            format!("{{\n  {block}\n}}\n"),
            json!("one\n  two\n\nthree\n"),
            "{\n  one\n    two\n\n  three\n}\n",
        ),
        (
            "a.edge",
            format!("{{\n  {block}\n}}\n"),
            json!("one\ntwo"),
            "{\n  one\n  two\n}\n",
        ),
        ("a.edge", format!("{block}\n}}\n"), json!("one"), "one\n}\n"),
        (
            "a.jig",
            format!("@if(yes)\n  {block}\n@end\n"),
            json!("x\r\ny"),
            "x\ny\n",
        ),
        (
            "a.jig",
            format!("@each(x in list)\n  {block}\n@end\n"),
            json!("x"),
            "x\nx\n",
        ),
        (
            "a.edge",
            format!("a\n@if(yes)\n  {block}\n@end\nb"),
            json!("x"),
            "a\n  x\nb",
        ),
        ("a.jig", format!("a\n{block}\nb\n"), json!(null), "a\nb\n"),
        (
            "a.jig",
            format!("a\n{block}\nb\n"),
            json!(["x", 1]),
            "a\n[\n  \"x\",\n  1\n]\nb\n",
        ),
        (
            "a.jig",
            format!("a\n{block}\nb\n"),
            json!(true),
            "a\ntrue\nb\n",
        ),
    ] {
        let rendered = render_as(name, &template, json!({ "k": answer })).unwrap();
        assert_eq!(rendered.text, expect, "{name}: {template}");
    }
}

#[test]
fn answers_are_values() {
    let ask = "@ai()\n@prompt()\np\n@end\n@output({ key: 'k', type: 'json' })\n@end\n@end\n";
    for (body, answer, first, second) in [
        (
            "@each(x in answers.k)\n- {{ x }}\n@end\n",
            json!(["a", "b"]),
            "",
            "[\n  \"a\",\n  \"b\"\n]\n- a\n- b\n",
        ),
        (
            "{{ k.n.m }}|\n",
            json!({ "n": { "m": 1 } }),
            "|\n",
            "{\n  \"n\": {\n    \"m\": 1\n  }\n}\n1|\n",
        ),
        (
            "{{ answers.k.map(x => x.y).join() }}|\n",
            json!([]),
            "|\n",
            "[]\n|\n",
        ),
        (
            "@let(v = answers.k.deep.er)\n{{ v.x.y }}|\n",
            json!({ "deep": { "er": { "x": { "y": 2 } } } }),
            "|\n",
            "{\n  \"deep\": {\n    \"er\": {\n      \"x\": {\n        \"y\": 2\n      }\n    }\n  }\n}\n2|\n",
        ),
        (
            "@if(k)\nyes\n@else\nno\n@end\n",
            json!(true),
            "no\n",
            "true\nyes\n",
        ),
    ] {
        let template = format!("{ask}{body}");
        check(
            &template,
            json!({ "k": answer }),
            [first, second],
            &["k"],
            &[],
        );
        let before = format!("{body}{ask}");
        assert!(render(&before, json!({})).is_ok(), "{before}");
    }
}

#[test]
fn unanswered_keys_read_as_their_first_example() {
    let ask = |options: &str, example: &str| {
        format!(
            "@ai()\n@prompt()\np\n@end\n@output({{ key: 'k'{options} }})\n@example()\n{example}\n@end\n@end\n@end\n"
        )
    };
    for (options, example, body, expect) in [
        (
            "",
            "[\"x\", \"y\"]",
            "@each(i in k)\n{{ i }}\n@end\n",
            "x\ny\n",
        ),
        ("", "plain words", "{{ k }}\n", "plain words\n"),
        (", type: 'text'", "[1]", "{{ k.length }}\n", "3\n"),
        (", type: 'code'", "{}", "{{ typeof k }}\n", "string\n"),
        (", type: 'boolean'", "true", "{{ k === true }}\n", "true\n"),
        (", type: 'pick', from: list", "", "{{ k.length }}\n", "0\n"),
        (", type: 'boolean'", "", "{{ k }}\n", "false\n"),
    ] {
        let rendered = render(&format!("{}{body}", ask(options, example)), json!({})).unwrap();
        assert_eq!(rendered.text, expect, "{options} {example}");
        assert_eq!(rendered.unanswered, ["k"]);
    }
}

#[test]
fn questions_that_depend_on_answers_wait() {
    let ask = |key: &str, prompt: &str| format!("@ai('{key}')\n@prompt()\n{prompt}\n@end\n@end\n");
    let a = ask("a", "first");
    let depends = [
        ask("b", "more about {{ answers.a }}"),
        ask("b", "more about {{ a }}"),
        format!("@if(answers.a)\nx\n@else\n{}@end\n", ask("b", "p")),
        format!("@if(yes && !a)\n{}@end\n", ask("b", "p")),
        format!("@each(x in [answers.a])\n{}@end\n", ask("b", "p")),
        format!("@let(v = a + '!')\n{}", ask("b", "{{ v }}")),
        format!(
            "@let(v = a)\n@let({{ length }} = v)\n@if(length)\n@else\n{}@end\n",
            ask("b", "p")
        ),
        format!("@assign(seen = a)\n{}", ask("b", "{{ seen }}")),
        format!("@each(x in [a])\n{}@end\n", ask("b", "{{ x }}")),
        "@!asks({ title: answers.a })\n".to_owned(),
    ];
    for rest in &depends {
        let template = format!("{a}{rest}");
        let first = render(&template, json!({})).unwrap();
        assert_eq!(
            first.questionnaire.keys().collect::<Vec<_>>(),
            ["a"],
            "{template}"
        );
        assert_eq!(first.postponed.len(), 1, "{template}");
        assert_eq!(first.postponed[0].needs, ["a"], "{template}");
        let second = render(&template, json!({ "a": "x" })).unwrap();
        let conditional = rest.starts_with("@if") || rest.contains("@if(length");
        let asked = if conditional { 1 } else { 2 };
        assert_eq!(second.questionnaire.len(), asked, "{template}");
        assert!(second.postponed.is_empty(), "{template}");
    }
    let independent = format!(
        "{a}@let(v = a)\n{{{{ v }}}}\n{}",
        ask("b", "nothing to do with it")
    );
    let first = render(&independent, json!({})).unwrap();
    assert_eq!(first.questionnaire.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert!(first.postponed.is_empty());
}

#[test]
fn contexts_and_repeated_questions() {
    let ask = "@ai('k')\n@prompt()\np\n@end\n@end\n";
    let template = format!("@context()\n  global\n@end\n@include('context')\n{ask}{ask}");
    let rendered = render(&template, json!({})).unwrap();
    assert_eq!(rendered.questionnaire.contexts(), ["global", "shared Ada"]);
    assert_eq!(rendered.questionnaire.len(), 1);
    let loop_template =
        "@each(x in list)\n@ai({ key: 'k-' + x })\n@prompt()\nabout {{ x }}\n@end\n@end\n@end\n";
    let rendered = render(loop_template, json!({ "k-a": "A" })).unwrap();
    assert_eq!(
        rendered.questionnaire.keys().collect::<Vec<_>>(),
        ["k-a", "k-b"]
    );
    assert_eq!(rendered.text, "A\n");
    let partial = render("@ai('k')\n@include('ask')\n@end\n", json!({})).unwrap();
    assert_eq!(
        partial.questionnaire.get("k").unwrap().prompt,
        "from a partial"
    );
    let conditional = "@ai('k')\n@if(yes)\n@context()\nc\n@end\n@end\n@prompt()\np\n@end\n@end\n";
    let rendered = render(conditional, json!({})).unwrap();
    assert_eq!(rendered.questionnaire.get("k").unwrap().contexts, ["c"]);
}

#[test]
fn answers_of_other_templates_do_not_break_the_first_pass() {
    let rendered = render(
        "{{ answers.elsewhere.map(x => x.name).join(', ') }}.\n",
        json!({}),
    )
    .unwrap();
    assert_eq!(rendered.text, ".\n");
    assert_eq!(rendered.unanswered, ["elsewhere"]);
    assert_eq!(rendered.provisional.len(), 1);
    let given = json!({ "elsewhere": [{ "name": "x" }] });
    let rendered = render(
        "{{ answers.elsewhere.map(x => x.name).join(', ') }}.\n",
        given,
    )
    .unwrap();
    assert_eq!(rendered.text, "x.\n");
    let error = render("{{ nobody.first.second }}\n", json!({})).unwrap_err();
    assert_eq!(
        error.code(),
        "E_RUNTIME_EXCEPTION",
        "errors without a missing answer stay errors"
    );
}

#[test]
fn mistakes_are_named() {
    let p = "@prompt()\np\n@end\n";
    for (template, code, line, words) in [
        (format!("@ai()\n{p}@end"), "E_AI_KEY_MISSING", 1, "no key"),
        (
            format!("x\n@ai('a')\n@output({{ key: 'b' }})\n@end\n{p}@end"),
            "E_AI_KEY_CONFLICT",
            2,
            "`a` and `b`",
        ),
        (
            "@ai('a')\n@end".to_owned(),
            "E_AI_PROMPT_MISSING",
            1,
            "no @prompt",
        ),
        (
            format!("@ai('a')\nloose text\n{p}@end"),
            "E_AI_STRAY_TEXT",
            1,
            "loose text",
        ),
        (p.to_owned(), "E_ORPHAN_PROMPT_TAG", 1, "inside @ai"),
        (
            "\n@output({ key: 'a' })\n@end".to_owned(),
            "E_ORPHAN_OUTPUT_TAG",
            2,
            "inside @ai",
        ),
        (
            "@example()\n@end".to_owned(),
            "E_ORPHAN_EXAMPLE_TAG",
            1,
            "inside @ai",
        ),
        (
            "@ai('a')\n@ai('b')\n@end\n@end".to_owned(),
            "E_NESTED_AI_TAG",
            2,
            "another @ai",
        ),
        (
            format!("@ai('a')\n{p}@output({{ type: 'slect', from: list }})\n@end\n@end"),
            "E_AI_OUTPUT_INVALID",
            4 + 1,
            "`select`",
        ),
        (
            format!("@ai('a')\n{p}@output({{ typ: 'text' }})\n@end\n@end"),
            "E_AI_OUTPUT_INVALID",
            5,
            "`typ`",
        ),
        (
            format!("@ai('a')\n{p}@output({{ type: 'select' }})\n@end\n@end"),
            "E_AI_OUTPUT_INVALID",
            5,
            "list to choose from",
        ),
        (
            format!("@ai('a')\n{p}@output({{ type: 'text', from: list }})\n@end\n@end"),
            "E_AI_OUTPUT_INVALID",
            5,
            "does not choose",
        ),
        (
            format!("@ai('a')\n{p}@output({{ from: list }})\n@end\n@end"),
            "E_AI_OUTPUT_INVALID",
            5,
            "type",
        ),
        (
            format!("@ai('a')\n{p}@output({{ type: 'select', from: 3 }})\n@end\n@end"),
            "E_AI_OUTPUT_INVALID",
            5,
            "not a list",
        ),
        (
            format!("@ai('a')\n{p}@output({{ schema: {{ type: 3 }} }})\n@end\n@end"),
            "E_AI_OUTPUT_INVALID",
            1,
            "schema",
        ),
        (
            format!("@ai(3)\n{p}@end"),
            "E_AI_OUTPUT_INVALID",
            1,
            "number",
        ),
        (
            format!("@ai('a')\n{p}@end\n@ai('a')\n@prompt()\nother\n@end\n@end"),
            "E_AI_QUESTION_CONFLICT",
            6,
            "main.jig:1 and at main.jig:6",
        ),
        (
            format!("@ai('$request')\n{p}@end"),
            "E_AI_KEY_INVALID",
            1,
            "request id",
        ),
        (format!("@ai\n{p}@end"), "E_UNOPENED_PAREN", 1, "("),
        (
            "@ai('a')\n@prompt\np\n@end\n@end".to_owned(),
            "E_UNOPENED_PAREN",
            2,
            "(",
        ),
        (
            format!("@ai('a')\n{p}{p}@output()\n@end\n@output()\n@end\n@end"),
            "E_AI_OUTPUT_REPEATED",
            10,
            "two @output",
        ),
    ] {
        let error = render(&template, json!({})).unwrap_err();
        let found = (error.code(), error.line());
        assert_eq!(found, (code, line), "{template}\n{}", error.report());
        let said = error.report();
        assert!(said.contains(words), "{template}\n{said}");
    }
}

#[test]
fn words_of_documentation_are_not_tags() {
    let template = "/**\n@example\n@context of use\n@output\n*/\n";
    assert_eq!(render(template, json!({})).unwrap().text, template);
}

#[test]
fn provided_values_are_handed_out() {
    let rendered = render("{{ provide('path', name + '.ts') }}@@x\n", json!({})).unwrap();
    assert_eq!(rendered.text, "@@x\n");
    assert!(
        matches!(rendered.provided.get("path"), Some(expr::Value::String(text)) if &*text == "Ada.ts")
    );
}
