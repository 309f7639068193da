//! Two passes: questions, documents, answers, rounds.

use crate::check::{Case, recipe, steps};
use recipe::{AskMissing, RecipeErrorKind, RecipeRunMode};
use serde_json::json;

fn asking() -> Case {
    recipe("name: it\nvariables:\n  model: { type: string, position: 0, default: Customer }\nsteps:\n  - name: page\n    template: page\n  - name: list\n    template: list\n  - name: after\n    command: touch ran\n")
        .template(
            "page.jig",
            "---\nto: page.ts\n---\n@context()\nReact 19.\n@end\nstart\n  @ai()\n    @context()\n      {{ model }} has id, name\n    @end\n    @prompt()\n      Which fields of {{ model }}?\n    @end\n    @output({ key: 'mainFields', type: 'json' })\n      A list.\n      @example()\n      [\"name\"]\n      @end\n    @end\n  @end\nend\n",
        )
        .template(
            "list.jig",
            "---\nto: list.ts\n---\n@each(f in answers.mainFields)\n- {{ f }}\n@end\n",
        )
}

#[test]
fn the_first_pass_asks_and_touches_nothing() {
    let ran = asking().run();
    ran.is_untouched();
    let needed = ran.needed();
    assert_eq!(
        needed.questionnaire.keys().collect::<Vec<_>>(),
        ["mainFields"]
    );
    for part in [
        "## Context",
        "React 19.",
        "Customer has id, name",
        "### `mainFields`",
        "Which fields of Customer?",
        "`model` = `\"Customer\"`",
        "drawloom run it --answers answers.json",
    ] {
        assert!(
            needed.document.contains(part),
            "{part}:\n{}",
            needed.document
        );
    }
    let question = &needed.json["questions"][0];
    assert_eq!(question["key"], "mainFields");
    assert_eq!(
        question["source"]["file"],
        ".drawloom/recipes/it/templates/page.jig"
    );
    assert_eq!(question["source"]["line"], 8);
    assert_eq!(
        needed.json["command"],
        "drawloom run it --answers answers.json"
    );
}

#[test]
fn the_second_pass_puts_typed_answers_everywhere() {
    let ran = asking()
        .answers(json!({ "mainFields": ["name", "email"] }))
        .run();
    assert_eq!(ran.text("list.ts"), "- name\n- email\n");
    let page = ran.text("page.ts");
    assert!(page.contains("name") && page.contains("email"), "{page}");
    assert!(
        page.starts_with("start\n") && page.ends_with("end\n"),
        "{page}"
    );
    assert!(ran.exists("ran"));
}

#[test]
fn a_request_id_catches_stale_answers() {
    let id = asking().run().needed().json["request"]
        .as_str()
        .unwrap()
        .to_owned();
    let fresh = asking()
        .answers(json!({ "$request": id, "mainFields": ["a"] }))
        .run();
    fresh.done();
    let stale = asking()
        .args("Invoice")
        .answers(json!({ "$request": id, "mainFields": ["a"] }))
        .run();
    assert_eq!(stale.failed().kind(), RecipeErrorKind::Answers);
    assert!(
        stale.failed().to_string().contains("$request"),
        "{}",
        stale.failed()
    );
}

fn two_rounds() -> Case {
    steps("  - template: [a, b]\n")
        .template(
            "a.jig",
            "---\nto: a\n---\n@ai('kind')\n@prompt()\nWhich kind?\n@end\n@output({ type: 'select', from: ['x', 'y'] })\n@end\n@end\n@ai('name')\n@prompt()\nWhich name?\n@end\n@end\n",
        )
        .template(
            "b.jig",
            "---\nto: b\n---\n@ai('detail')\n@prompt()\nDetail of {{ answers.kind }}?\n@end\n@end\n",
        )
}

#[test]
fn questions_that_depend_on_answers_come_in_later_rounds() {
    let keys = |answers| {
        let ran = two_rounds().answers(answers).run();
        let keys = ran
            .needed()
            .questionnaire
            .keys()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        ran.is_untouched();
        keys
    };
    assert_eq!(keys(json!({})), ["kind", "name"]);
    assert_eq!(keys(json!({ "kind": "x" })), ["name"]);
    assert_eq!(keys(json!({ "kind": "x", "name": "n" })), ["detail"]);
    let ran = two_rounds()
        .answers(json!({ "kind": "x", "name": "n", "detail": "d" }))
        .run();
    ran.assert_files(&[("b", "d\n")]);
}

#[test]
fn an_id_stays_valid_through_partial_answers_and_later_rounds() {
    let first = two_rounds().run().needed().json["request"].clone();
    let partial = two_rounds()
        .answers(json!({ "$request": first, "kind": "x" }))
        .run();
    assert_eq!(partial.needed().json["request"], first);
    assert!(partial.needed().document.contains(first.as_str().unwrap()));
    let both = json!({ "$request": first, "kind": "x", "name": "n" });
    let second = two_rounds().answers(both).run().needed().json["request"].clone();
    assert_ne!(second, first);
    for id in [&first, &second] {
        let answers = json!({ "$request": id, "kind": "x", "name": "n", "detail": "d" });
        two_rounds().answers(answers).run().done();
    }
}

#[test]
fn wrong_answers_are_all_reported_and_nothing_is_written() {
    let ran = two_rounds()
        .answers(json!({ "kind": "z", "name": 7 }))
        .run();
    let error = ran.failed();
    assert_eq!(error.kind(), RecipeErrorKind::Answers);
    let text = error.to_string();
    assert!(text.contains("`kind`") && text.contains("\"z\""), "{text}");
    let ran = two_rounds()
        .answers(json!({ "kind": "x", "name": "n", "detial": "d" }))
        .run();
    let text = ran.failed().to_string();
    assert!(
        text.contains("`detial`") && text.contains("Did you mean `detail`?"),
        "{text}"
    );
}

#[test]
fn the_same_question_is_asked_once_and_different_ones_are_refused() {
    let ai = |prompt: &str| format!("@ai('k')\n@prompt()\n{prompt}\n@end\n@end\n");
    let same = steps("  - template: [a, b]\n")
        .template("a.jig", &ai("What?"))
        .template("b.jig", &ai("What?"))
        .answers(json!({ "k": "v" }))
        .run();
    same.assert_files(&[("a", "v\n"), ("b", "v\n")]);
    let different = steps("  - template: [a, b]\n")
        .template("a.jig", &ai("What?"))
        .template("b.jig", &ai("Who?"))
        .run();
    let text = different.failed().to_string();
    assert!(
        text.contains("a.jig:1") && text.contains("b.jig:1"),
        "{text}"
    );
}

#[test]
fn answers_decide_conditions_lists_and_paths_of_later_steps() {
    let case = || {
        steps(
            "  - name: ask\n    template: ask\n\
             \x20 - name: each\n    template: one\n    forEach: names\n    when: wanted\n",
        )
        .template(
            "ask.jig",
            "---\nto: ask\n---\n@ai('names')\n@prompt()\nNames?\n@end\n@output({ type: 'list' })\n@end\n@end\n@ai('wanted')\n@prompt()\nWanted?\n@end\n@output({ type: 'boolean' })\n@end\n@end\n",
        )
        .template("one.jig", "---\nto: out/{{ item }}\n---\n{{ item }}\n")
    };
    case().run().needed();
    let ran = case()
        .answers(json!({ "names": ["a", "b"], "wanted": true }))
        .run();
    ran.assert_files(&[("out/a", "a\n"), ("out/b", "b\n")]);
    let ran = case()
        .answers(json!({ "names": ["a"], "wanted": false }))
        .run();
    assert!(!ran.exists("out"));
}

#[test]
fn an_optional_question_may_be_left_out_once_it_was_seen() {
    let case = || {
        steps("  - template: a\n").template(
            "a.jig",
            "@ai('note')\n@prompt()\nA note?\n@end\n@output({ required: false })\n@end\n@end\nend\n",
        )
    };
    assert_eq!(case().run().needed().questionnaire.len(), 1);
    let ran = case().answers(json!({})).run();
    assert!(ran.text("a").ends_with("end\n"));
    let ran = case().answers(json!({ "note": "hi" })).run();
    assert!(ran.text("a").contains("hi"));
}

#[test]
fn reading_an_answer_without_a_question_is_an_error() {
    let ran = steps("  - template: a\n")
        .template(
            "a.jig",
            "@ai('name')\n@prompt()\nName?\n@end\n@end\n{{ answers.nmae }}\n",
        )
        .answers(json!({ "name": "x" }))
        .run();
    let text = ran.failed().to_string();
    assert!(
        text.contains("answers.nmae") && text.contains("`name`"),
        "{text}"
    );
}

#[test]
fn missing_values_can_be_asked_in_the_same_document() {
    let case = || {
        recipe("name: it\nvariables:\n  port: { type: number, required: true, min: 1, prompt: Which port?, suggestion: 80 }\n  host: { type: string, required: true }\nsteps:\n  - template: [a, b]\n")
            .template("a.jig", "---\nto: a\n---\n@ai('motto')\n@prompt()\nA motto?\n@end\n@end\n")
            .template("b.jig", "---\nto: b\n---\n@ai('about')\n@prompt()\nAbout {{ host }}?\n@end\n@end\n{{ port + 1 }}\n")
            .with(|request| request.ask_missing = AskMissing::Document)
    };
    let ran = case().run();
    let keys: Vec<_> = ran
        .needed()
        .questionnaire
        .keys()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        keys,
        ["port", "host", "motto"],
        "what depends on a missing value waits"
    );
    let first = json!({ "port": 80, "host": "h", "motto": "m" });
    let ran = case().answers(first).run();
    assert_eq!(
        ran.needed().questionnaire.keys().collect::<Vec<_>>(),
        ["about"]
    );
    let all = json!({ "port": 80, "host": "h", "motto": "m", "about": "x" });
    let ran = case().answers(all).run();
    ran.assert_files(&[("b", "x\n81\n")]);
    let wrong = case().answers(json!({ "port": "80", "host": "h" })).run();
    assert!(wrong.failed().to_string().contains("`port`"));
    let wrong = case()
        .answers(json!({ "port": 0, "host": "h", "motto": "m" }))
        .run();
    assert!(
        wrong.failed().to_string().contains("at least 1"),
        "{}",
        wrong.failed()
    );
}

#[test]
fn an_answers_file_may_always_carry_values_of_variables() {
    let case = || {
        recipe("name: it\nvariables:\n  name: { type: string, required: true }\n  color: { values: [red, blue], default: red }\nsteps:\n  - template: a\n")
            .template("a.jig", "{{ name }} {{ color }}\n")
    };
    let ran = case()
        .answers(json!({ "name": "n", "color": "blue" }))
        .run();
    ran.assert_files(&[("a", "n blue\n")]);
    let ran = case()
        .args("--name given")
        .answers(json!({ "name": "n" }))
        .run();
    ran.assert_files(&[("a", "given red\n")]);
    let ran = case()
        .answers(json!({ "name": "n", "color": "green" }))
        .run();
    assert!(
        ran.failed()
            .to_string()
            .contains("must be one of: red, blue")
    );
}

#[test]
fn a_dry_run_still_needs_answers_and_then_shows() {
    let ran = asking()
        .with(|request| request.mode = RecipeRunMode::DryRun)
        .run();
    ran.needed();
    let ran = asking()
        .with(|request| request.mode = RecipeRunMode::DryRun)
        .answers(json!({ "mainFields": ["x"] }))
        .run();
    ran.is_untouched();
    assert_eq!(ran.shown().files.len(), 2);
}

#[test]
fn the_document_can_be_replaced() {
    let ran = asking()
        .with(|request| {
            request.prompt_template =
                Some("{{ entries.length }} for {{ originalCommand }}\n".to_owned());
        })
        .run();
    assert_eq!(
        ran.needed().document,
        "1 for drawloom run it --answers answers.json\n"
    );
}

#[test]
fn a_file_that_exists_already_asks_nothing() {
    let ran = steps("  - template: a\n")
        .template(
            "a.jig",
            "---\nto: a\nunless_exists: true\n---\n@ai('k')\n@prompt()\nWhat?\n@end\n@end\n",
        )
        .file("a", "mine\n")
        .run();
    ran.assert_files(&[("a", "mine\n")]);
    assert_eq!(ran.statuses(), "skipped a");
}

#[test]
fn a_prompts_default_counts_when_a_document_is_asked() {
    let ran = recipe("name: it\nsteps:\n  - variable: color\n    promptType: text\n    default: red\n  - template: a\n")
        .template("a.jig", "{{ color }}\n")
        .with(|request| request.ask_missing = AskMissing::Document)
        .run();
    ran.assert_files(&[("a", "red\n")]);
}
