//! `ai` steps: questions of the recipe itself, their context, their guardrails, their answers.

use crate::check::{Case, Person, Ran, recipe, steps, write};
use recipe::{
    FileStatus, RecipeErrorKind, RecipeRunMode, RecipeRunRequest, UpdateOutcome, load, update,
    validate,
};
use serde_json::{Value, json};
use workspace::Root;

const TYPES: &str = "export interface Customer { id: string }\n";

fn card() -> Case {
    steps(
        "  - name: customer card\n    tool: ai\n    prompt: Write a card for {{ 'Customer' }}.\n    to: src/card.ts\n",
    )
}

fn keys(ran: &Ran) -> Vec<String> {
    let needed = ran.needed();
    ran.is_untouched();
    needed.questionnaire.keys().map(str::to_owned).collect()
}

/// The one question of a case that is not answered.
#[track_caller]
fn question(case: Case) -> prompt::Question {
    let ran = case.run();
    ran.is_untouched();
    let mut questions = ran.needed().questionnaire.questions();
    let question = questions.next().unwrap().clone();
    assert_eq!(questions.count(), 0);
    question
}

/// The answers are refused, the message says all of this, and nothing is written.
#[track_caller]
fn refused(case: Case, parts: &[&str]) {
    let ran = case.run();
    let error = ran.failed();
    let report = error.report();
    for part in parts {
        assert!(report.contains(part), "{part} is not in\n{report}");
    }
}

#[test]
fn a_step_is_a_question_in_the_document_and_its_answer_a_file() {
    let ran = card().run();
    assert_eq!(keys(&ran), ["customerCard"]);
    let needed = ran.needed();
    let asked = &needed.json["questions"][0];
    assert_eq!(asked["prompt"], "Write a card for Customer.");
    assert_eq!(asked["language"], "typescript");
    assert_eq!(
        asked["source"],
        json!({ "file": ".drawloom/recipes/it/recipe.yml", "line": 3 })
    );
    assert_eq!(asked["guardrails"]["syntax"], "typescript");
    assert!(
        needed
            .document
            .contains("- The answer as a whole is valid TypeScript.")
    );
    let ran = card()
        .answers(json!({ "customerCard": "```ts\nexport const a: number = 1;\n```" }))
        .run();
    ran.assert_files(&[("src/card.ts", "export const a: number = 1;\n")]);
    assert_eq!(ran.done().steps[0].tool, "ai");
}

#[test]
fn a_dry_run_shows_the_file_and_writes_nothing() {
    let ran = card()
        .answers(json!({ "customerCard": "let a = 1" }))
        .with(|request| request.mode = RecipeRunMode::DryRun)
        .run();
    let plan = ran.shown();
    assert_eq!(plan.files[0].status, FileStatus::Created);
    assert!(
        plan.files[0].diff.contains("+let a = 1"),
        "{}",
        plan.files[0].diff
    );
    assert_eq!(
        (plan.steps[0].name.as_str(), plan.steps[0].tool),
        ("customer card", "ai")
    );
    ran.is_untouched();
}

#[test]
fn a_broken_guardrail_is_a_wrong_answer_with_line_and_column() {
    refused(
        card().answers(json!({ "customerCard": "const a = 1;\nlet = ;" })),
        &[
            "recipe.yml:3:",
            "the answer `customerCard` is not valid TypeScript: line 2, column 7: ",
            "in `let = ;`",
        ],
    );
    let guarded = |guardrails: &str| {
        steps(&format!(
            "  - name: a\n    prompt: Write it.\n    to: a.tsx\n    guardrails: {guardrails}\n"
        ))
    };
    for (guardrails, answer, says) in [
        (
            "{ allowedImports: [react] }",
            "import 'vue'",
            "imports `vue` at line 1, column 8, but only `react`",
        ),
        (
            "{ blockedImports: [vue] }",
            "import 'vue'",
            "and `vue` is blocked",
        ),
        (
            "{ maxLength: 5 }",
            "let a = 1",
            "is too long: 9 characters exceed `maxLength` (5)",
        ),
        (
            "{ maxOutputLength: 5 }",
            "let a = 1",
            "exceed `maxLength` (5)",
        ),
        ("{ minLength: 20 }", "let a = 1", "is too short"),
        (
            "{ validateSyntax: python }",
            "let a = 1",
            "is not valid Python",
        ),
        ("{}", " \n", "is empty. Answer it."),
    ] {
        refused(
            guarded(guardrails).answers(json!({ "a": answer })),
            &["the answer `a`", says],
        );
    }
    for (guardrails, answer) in [
        (
            "{ allowedImports: [react] }",
            "import 'react'; import './x'",
        ),
        ("{ syntax: false }", "not code at all ("),
        ("{ minLength: 0 }", ""),
    ] {
        guarded(guardrails)
            .answers(json!({ "a": answer }))
            .run()
            .done();
    }
}

#[test]
fn the_kind_of_answer_follows_the_target_unless_the_step_says_it() {
    let kind = |keys: &str| {
        let case = steps(&format!("  - name: a\n    prompt: What?\n{keys}"));
        question(case).kind.name()
    };
    for (keys, expected) in [
        ("", "text"),
        ("    to: a.md\n", "text"),
        ("    to: a.rs\n", "code"),
        ("    to: a.json\n", "json"),
        ("    to: a.json\n    type: code\n", "code"),
        ("    type: boolean\n", "boolean"),
        ("    type: select\n    from: [x, y]\n", "select"),
        ("    output: { type: list, key: b }\n", "list"),
        ("    schema: { type: object }\n", "json"),
        ("    guardrails: { syntax: python }\n", "code"),
        ("    language: sql\n", "code"),
    ] {
        assert_eq!(kind(keys), expected, "{keys}");
    }
}

#[test]
fn data_becomes_a_file_as_it_would_be_written() {
    let ran = steps("  - name: a\n    prompt: What?\n    to: a.json\n    schema: { type: object, required: [x] }\n")
        .answers(json!({ "a": { "x": [1, true], "b": {} } }))
        .run();
    ran.assert_files(&[(
        "a.json",
        "{\n  \"x\": [\n    1,\n    true\n  ],\n  \"b\": {}\n}\n",
    )]);
    let wrong = |answer: Value| {
        steps("  - name: a\n    prompt: What?\n    to: a.json\n    schema: { type: object, required: [x] }\n")
            .answers(json!({ "a": answer }))
    };
    refused(
        steps("  - name: a\n    prompt: What?\n    type: text\n    schema: { pattern: '^# ' }\n")
            .answers(json!({ "a": "no title" })),
        &["the answer `a` does not match its schema"],
    );
    refused(wrong(json!({})), &["does not match its schema"]);
    refused(wrong(json!("Here: {}")), &["the answer `a`"]);
}

#[test]
fn an_answer_goes_to_variables_and_later_steps() {
    let case = || {
        steps(
            "  - name: ask\n    prompt: Names?\n    type: list\n    exports: { names: result.value, first: 'result.value[0]' }\n\
             \x20 - name: one\n    template: one\n    forEach: names\n\
             \x20 - name: other\n    prompt: More about {{ first }}?\n    output: { type: variable, variable: more }\n\
             \x20 - name: last\n    template: last\n",
        )
        .template("one.jig", "---\nto: out/{{ item }}\n---\n{{ item }}\n")
        .template("last.jig", "---\nto: last\n---\n{{ first }}: {{ more }} {{ answers.more }}\n")
    };
    assert_eq!(keys(&case().run()), ["ask"]);
    let first = json!({ "ask": ["a", "b"] });
    let ran = case().answers(first.clone()).run();
    assert_eq!(keys(&ran), ["more"]);
    let asked = ran
        .needed()
        .questionnaire
        .get("more")
        .unwrap()
        .prompt
        .clone();
    assert_eq!(asked, "More about a?");
    let ran = case()
        .answers(json!({ "ask": ["a", "b"], "more": "m" }))
        .run();
    ran.assert_files(&[("out/a", "a\n"), ("out/b", "b\n"), ("last", "a: m m\n")]);
}

#[test]
fn steps_that_depend_on_each_other_come_in_rounds_and_independent_ones_together() {
    let case = || {
        steps(
            "  - name: a\n    prompt: A?\n\
             \x20 - name: b\n    prompt: B of {{ answers.a }}?\n\
             \x20 - name: c\n    prompt: C?\n    to: 'c-{{ b }}.txt'\n\
             \x20 - name: d\n    prompt: D?\n    when: a === 'yes'\n\
             \x20 - name: e\n    template: e\n",
        )
        .template(
            "e.jig",
            "---\nto: e\n---\n@ai('e')\n@prompt()\nE of {{ a }}?\n@end\n@end\n",
        )
    };
    assert_eq!(keys(&case().run()), ["a"]);
    assert_eq!(
        keys(&case().answers(json!({ "a": "yes" })).run()),
        ["b", "d", "e"]
    );
    let some = json!({ "a": "yes", "b": "x", "d": "y" });
    assert_eq!(keys(&case().answers(some).run()), ["e"]);
    let more = json!({ "a": "no", "b": "x", "e": "z" });
    assert_eq!(keys(&case().answers(more).run()), ["c"]);
    let all = json!({ "a": "no", "b": "x", "e": "z", "c": "text" });
    let ran = case().answers(all).run();
    ran.assert_files(&[("c-x.txt", "text\n"), ("e", "z\n")]);
}

#[test]
fn for_each_asks_once_for_every_item() {
    let case = |key: &str| {
        steps(&format!(
            "  - name: doc\n    forEach: [Cat, Dog]\n    prompt: About {{{{ item }}}}?\n    to: '{{{{ item }}}}.md'\n{key}    exports: {{ texts: result.text }}\n\
             \x20 - template: all\n"
        ))
        .template("all.jig", "---\nto: all\n---\n{{ texts.join(' ') }}\n")
    };
    assert_eq!(keys(&case("").run()), ["doc-Cat", "doc-Dog"]);
    let own = "    key: '{{ index }}/{{ item }}'\n";
    assert_eq!(keys(&case(own).run()), ["0/Cat", "1/Dog"]);
    let ran = case("")
        .answers(json!({ "doc-Cat": "c", "doc-Dog": "d" }))
        .run();
    ran.assert_files(&[("Cat.md", "c\n"), ("Dog.md", "d\n"), ("all", "c d\n")]);
    assert_eq!(
        keys(&case("").answers(json!({ "doc-Cat": "c" })).run()),
        ["doc-Dog"]
    );
}

#[test]
fn an_answer_is_injected_at_the_same_anchors_as_a_template() {
    let case = |keys: &str| {
        steps(&format!("  - name: add\n    prompt: Which line?\n{keys}"))
            .file("a.ts", "one\n// here\ntwo\n")
    };
    for (keys, expected) in [
        (
            "    to: a.ts\n    inject: true\n    after: // here\n",
            "one\n// here\nnew\ntwo\n",
        ),
        (
            "    to: a.ts\n    inject: true\n    before: // here\n",
            "one\nnew\n// here\ntwo\n",
        ),
        (
            "    to: a.ts\n    inject: true\n    atLine: 1\n",
            "one\nnew\n// here\ntwo\n",
        ),
        (
            "    output: { type: inject, injectInto: a.ts, at: end }\n",
            "one\n// here\ntwo\nnew\n",
        ),
        (
            "    output: { injectInto: a.ts, at: start }\n",
            "new\none\n// here\ntwo\n",
        ),
    ] {
        let ran = case(keys).answers(json!({ "add": "```\nnew\n```" })).run();
        ran.assert_files(&[("a.ts", expected)]);
        let again = case(keys)
            .answers(json!({ "add": "new" }))
            .run_in(ran.into_dir());
        again.assert_files(&[("a.ts", expected)]);
    }
    // A fragment is no program: nothing checks it unless the step says so.
    assert_eq!(
        question(case("    to: a.ts\n    inject: true\n    append: true\n"))
            .guardrails
            .syntax,
        None
    );
    refused(
        case("    to: a.ts\n    inject: true\n    after: nowhere\n").answers(json!({ "add": "x" })),
        &["recipe.yml:7:", "has no line that matches `nowhere`"],
    );
    refused(
        case("    to: b.ts\n    inject: true\n    append: true\n").answers(json!({ "add": "x" })),
        &["there is no `b.ts` to inject into"],
    );
}

#[test]
fn files_that_are_there_are_handled_as_always() {
    let unless = || {
        steps("  - name: a\n    prompt: What?\n    to: a.txt\n    unlessExists: true\n")
            .file("a.txt", "mine\n")
    };
    let ran = unless().run();
    ran.assert_files(&[("a.txt", "mine\n")]);
    assert_eq!(ran.statuses(), "skipped a.txt");
    let plain = |keys: &str| {
        steps(&format!(
            "  - name: a\n    prompt: What?\n    to: a.txt\n{keys}"
        ))
        .file("a.txt", "mine\n")
        .answers(json!({ "a": "new" }))
    };
    let ran = plain("").run();
    assert!(
        matches!(&ran.outcome, Ok(recipe::RecipeRunOutcome::Conflicts(found)) if found.len() == 1)
    );
    ran.is_untouched();
    plain("    force: true\n")
        .run()
        .assert_files(&[("a.txt", "new\n")]);
    let same = plain("").file("a.txt", "new\n").run();
    assert_eq!(same.statuses(), "unchanged a.txt");
    refused(
        steps("  - name: a\n    prompt: What?\n    to: ../out.txt\n").answers(json!({ "a": "x" })),
        &["recipe.yml:5:"],
    );
}

#[test]
fn an_optional_question_may_be_left_out() {
    let ran = steps("  - name: a\n    prompt: What?\n    to: a.txt\n    required: false\n  - name: b\n    prompt: And?\n    to: b.txt\n")
        .answers(json!({ "b": "x" }))
        .run();
    ran.done();
    assert_eq!(ran.statuses(), "skipped a.txt, created b.txt");
}

fn with_context(context: &str) -> Case {
    steps(&format!(
        "  - name: a\n    prompt: What?\n    context: {context}\n"
    ))
    .file("src/a.ts", TYPES)
    .file("src/b.ts", "export const b = 1;\n")
    .file("README.md", "# It\n")
}

#[test]
fn context_is_text_and_files_in_a_settled_order() {
    let contexts = |context: &str| question(with_context(context)).contexts;
    assert_eq!(contexts("Use {{ 1 + 1 }} spaces."), ["Use 2 spaces."]);
    assert_eq!(contexts("[one, two]"), ["one", "two"]);
    let found = contexts("{ text: Mind this., files: [README.md, 'src/*.ts', src/a.ts] }");
    assert_eq!(
        found,
        [
            "Mind this.".to_owned(),
            "File `README.md`:\n\n```md\n# It\n```".to_owned(),
            format!("File `src/a.ts`:\n\n```ts\n{TYPES}```"),
            "File `src/b.ts`:\n\n```ts\nexport const b = 1;\n```".to_owned(),
        ]
    );
    assert_eq!(
        contexts("{ files: ['lib/**'] }"),
        ["No file matches `lib/**`."]
    );
    let ran = with_context("{ projectConfig: true }")
        .file("package.json", "{}\n")
        .run();
    assert!(ran.needed().document.contains("File `package.json`"));
}

#[test]
fn a_file_that_an_earlier_step_makes_is_context_and_is_waited_for() {
    let case = || {
        steps(
            "  - template: types\n\
             \x20 - name: late\n    prompt: Body?\n    to: src/late.ts\n\
             \x20 - name: use\n    prompt: Use them.\n    context: { files: ['src/*.ts'] }\n\
             \x20 - name: apart\n    prompt: Alone.\n",
        )
        .template(
            "types.jig",
            "---\nto: src/types.ts\n---\nexport type T = 1;\n",
        )
    };
    assert_eq!(keys(&case().run()), ["late", "apart"]);
    let ran = case()
        .answers(json!({ "late": "let l = 1;", "apart": "x" }))
        .run();
    assert_eq!(keys(&ran), ["use"]);
    let contexts = &ran.needed().questionnaire.get("use").unwrap().contexts;
    assert_eq!(
        contexts,
        &[
            "File `src/late.ts`:\n\n```ts\nlet l = 1;\n```",
            "File `src/types.ts`:\n\n```ts\nexport type T = 1;\n```",
        ]
    );
}

#[test]
fn context_over_its_budget_is_cut_and_says_so() {
    let long = "line of text\n".repeat(100);
    let case = |context: &str| {
        steps(&format!(
            "  - name: a\n    prompt: What?\n    context: {context}\n"
        ))
        .file("a.txt", &long)
        .file("b.txt", &long)
        .file("c.txt", "short\n")
    };
    // 1300 bytes are about 372 tokens.
    let contexts = question(case("{ files: ['*.txt'], maxTokens: 500 }")).contexts;
    assert_eq!(contexts.len(), 3, "{contexts:#?}");
    assert!(contexts[0].starts_with("File `a.txt`:"));
    assert!(
        contexts[1]
            .starts_with("File `b.txt`, cut to fit: the first 34 of 100 lines, 442 of 1300 bytes:"),
        "{}",
        contexts[1]
    );
    assert_eq!(
        contexts[2],
        "Left out, because the context is limited to 500 tokens: `c.txt` (about 2 tokens)."
    );
    let exact = question(case("{ files: ['*.txt'], maxContextTokens: 746 }")).contexts;
    assert!(
        exact.iter().all(|text| !text.contains("cut to fit")),
        "{exact:#?}"
    );
    let one_line =
        case("{ files: [long.md, c.txt], maxTokens: 100 }").file("long.md", &"x".repeat(900));
    let contexts = question(one_line).contexts;
    assert_eq!(
        contexts,
        [
            "File `c.txt`:\n\n```txt\nshort\n```",
            "Left out, because the context is limited to 100 tokens: `long.md` (about 258 tokens).",
        ]
    );
    refused(
        case("{ files: ['*.txt'], maxTokens: 500, overflow: error }"),
        &[
            "recipe.yml:5:",
            "about 746 tokens in 3 files, more than `maxTokens` = 500",
        ],
    );
    refused(
        case("{ text: 'a long enough text', maxTokens: 2 }"),
        &["own text is about 6 tokens, more than `maxTokens` = 2"],
    );
}

#[test]
fn files_that_cannot_be_context_are_refused_by_name_and_left_out_of_patterns() {
    for (file, says) in [
        (".env", "`.env` may not be read"),
        ("keys/server.pem", "may not be read"),
        (".git/config", "may not be read"),
        ("src/c.ts", "`src/c.ts` does not exist"),
        ("src", "`src`"),
        ("../outside.txt", "outside"),
        ("bin.dat", "`bin.dat` is not text"),
    ] {
        let case = with_context(&format!("{{ files: ['{file}'] }}"))
            .file(".env", "KEY=hunter2\n")
            .file("keys/server.pem", "hunter2\n")
            .file(".git/config", "hunter2\n")
            .file("bin.dat", "a\0b");
        refused(case, &["recipe.yml:5:", says]);
    }
    refused(
        with_context("{ files: [src/aa.ts] }"),
        &["did you mean `src/a.ts`?"],
    );
    let ran = with_context("{ files: ['**'] }")
        .file(".env", "KEY=hunter2\n")
        .file("server.key", "hunter2\n")
        .file("ignored.txt", "hunter2\n")
        .file(".gitignore", "ignored.txt\n")
        .file("node_modules/x/index.js", "hunter2\n")
        .file("bin.dat", "a\0b")
        .run();
    let document = &ran.needed().document;
    assert!(!document.contains("hunter2"), "{document}");
    assert!(
        document.contains("Left out: `bin.dat` is not text."),
        "{document}"
    );
    assert!(document.contains("File `src/a.ts`"), "{document}");
    assert!(
        !document.contains(".drawloom/recipes/it/recipe.yml`:"),
        "{document}"
    );
}

#[test]
fn the_projects_policy_says_what_else_may_and_may_not_be_context() {
    let case = |files: &str| {
        with_context(&format!("{{ files: {files} }}"))
            .file("notes/plain.md", "plain\n")
            .file("notes/payroll.md", "hunter2\n")
            .file("node_modules/api.ts", "export const vendored = 1;\n")
            .with(|request| {
                request.policy.read_deny = vec!["payroll.md".to_owned()];
                request.policy.read_allow = vec!["node_modules/api.ts".to_owned()];
            })
    };
    refused(
        case("[notes/payroll.md]"),
        &[
            "recipe.yml:5:",
            "`notes/payroll.md` may not be read",
            "`read_deny` under `[agent.policy]`",
        ],
    );
    let document = &case("['notes/*.md', node_modules/api.ts]")
        .run()
        .needed()
        .document
        .clone();
    assert!(document.contains("File `notes/plain.md`"), "{document}");
    assert!(document.contains("vendored = 1"), "{document}");
    assert!(!document.contains("hunter2"), "{document}");
    refused(
        case("[node_modules/api.ts]").with(|request| request.policy.read_allow.clear()),
        &["`node_modules/api.ts` may not be read", "`read_allow`"],
    );
}

#[cfg(unix)]
#[test]
fn a_link_is_no_way_to_what_may_not_be_read() {
    let dir = with_context("{ files: [notes.txt] }")
        .file(".env", "KEY=hunter2\n")
        .run()
        .into_dir();
    std::os::unix::fs::symlink(".env", dir.path().join("notes.txt")).unwrap();
    let ran = with_context("{ files: [notes.txt] }").run_in(dir);
    let report = ran.outcome.unwrap_err().report();
    assert!(
        report.contains("`notes.txt` may not be read") && !report.contains("hunter2"),
        "{report}"
    );
}

#[test]
fn a_prompt_and_a_schema_may_be_files_of_the_recipe() {
    let case = || {
        steps("  - name: a\n    tool: ai\n    promptFile: ask\n    schemaFile: a.schema.json\n    type: json\n")
            .template("ask.jig", "Which {{ 'colour' }}?\n@if(true)\nReally.\n@end\n")
            .file(".drawloom/recipes/it/a.schema.json", "{ \"type\": \"string\" }")
    };
    let asked = question(case());
    assert_eq!(asked.prompt, "Which colour?\nReally.");
    assert_eq!(asked.schema, Some(json!({ "type": "string" })));
    refused(
        case().answers(json!({ "a": 1 })),
        &["does not match its schema"],
    );
    refused(
        steps("  - name: a\n    tool: ai\n    promptFile: aks\n").template("ask.jig", "x"),
        &["recipe.yml:5:", "there is no file `aks`", "did you mean"],
    );
    refused(
        steps("  - name: a\n    tool: ai\n    promptFile: ask\n")
            .template("ask.jig", "---\nto: x\n---\nx"),
        &["cannot have `to`"],
    );
}

#[test]
fn examples_rules_and_retries_are_in_the_document() {
    let asked = question(steps(
        "  - name: a\n    prompt: What?\n    format: One line.\n    retries: 3\n    examples:\n      - plain\n      - { label: Short, input: 'in', output: out }\n    guardrails: { maxLength: 90 }\n",
    ));
    assert_eq!(
        asked.examples,
        ["plain", "Short\n\nInput:\n\nin\n\nOutput:\n\nout"]
    );
    assert_eq!(asked.format, "One line.\n\n- It has at most 90 characters.");
    assert_eq!(asked.retries, Some(3));
    let other = question(steps(
        "  - name: a\n    prompt: What?\n    guardrails: { retryOnFailure: 2 }\n",
    ));
    assert_eq!(other.retries, Some(2));
    assert_eq!(
        question(steps("  - name: a\n    prompt: What?\n")).retries,
        None
    );
}

#[test]
fn stale_answers_are_refused_when_the_context_has_changed() {
    let case = || with_context("{ files: [src/a.ts] }");
    let id = case().run().needed().json["request"].clone();
    case()
        .answers(json!({ "$request": id, "a": "x" }))
        .run()
        .done();
    refused(
        case()
            .file("src/a.ts", "changed\n")
            .answers(json!({ "$request": id, "a": "x" })),
        &["$request"],
    );
}

#[test]
fn an_update_uses_the_recorded_answers_and_asks_what_is_new() {
    let ran = card()
        .answers(json!({ "customerCard": "let a = 1;" }))
        .run();
    ran.done();
    let updated = |ran: &Ran| {
        let root = Root::open(ran.path()).unwrap();
        let recipe = load(&root, &ran.path().join(".drawloom/recipes/it")).unwrap();
        update(
            &recipe,
            &root,
            &RecipeRunRequest::default(),
            &mut Person::default(),
        )
        .unwrap()
    };
    let manifest = |more: &str| {
        format!(
            "name: it\nsteps:\n  - name: customer card\n    tool: ai\n    prompt: Write a better card.\n    to: src/{more}\n"
        )
    };
    let path = ".drawloom/recipes/it/recipe.yml";
    write(ran.path(), path, &manifest("other.ts\n"));
    let UpdateOutcome::Done(report) = updated(&ran) else {
        panic!()
    };
    let created = report
        .files
        .iter()
        .find(|file| file.path.as_str() == "src/other.ts");
    assert!(created.is_some(), "{report:?}");
    assert_eq!(ran.text("src/other.ts"), "let a = 1;\n");
    // An old answer that breaks a new rule is no answer.
    write(
        ran.path(),
        path,
        &manifest("other.ts\n    guardrails: { minLength: 50 }\n"),
    );
    assert!(matches!(updated(&ran), UpdateOutcome::AnswersNeeded(_)));
}

#[test]
fn sub_recipes_and_groups_ask_in_the_same_document() {
    let ran = recipe(
        "name: it\nsteps:\n  - sequence:\n      - name: a\n        prompt: A?\n  - recipe: sub\n",
    )
    .file(
        ".drawloom/recipes/sub/recipe.yml",
        "name: sub\nsteps:\n  - name: b\n    prompt: B?\n    to: b.txt\n",
    )
    .run();
    assert_eq!(keys(&ran), ["a", "b"]);
}

#[test]
fn validation_finds_what_is_wrong_without_running() {
    let check = |steps_text: &str, says: &[&str]| {
        let ran = steps(steps_text).template("t.jig", "{{ broken").run();
        let root = Root::open(ran.path()).unwrap();
        let found = validate(&ran.path().join(".drawloom/recipes/it"), &root);
        let report = found.err().map(|error| error.report()).unwrap_or_default();
        for part in says {
            assert!(report.contains(part), "{part} is not in\n{report}");
        }
        assert_eq!(says.is_empty(), report.is_empty(), "{report}");
    };
    check(
        "  - name: a\n    prompt: What is {{ name }}?\n    to: '{{ name }}.ts'\n",
        &[],
    );
    check(
        "  - name: a\n    prompt: What is {{ name?\n",
        &["recipe.yml:4:"],
    );
    check(
        "  - name: a\n    tool: ai\n    promptFile: nowhere\n",
        &["there is no template `nowhere`"],
    );
    check(
        "  - name: a\n    tool: ai\n    promptFile: t\n",
        &["t.jig:1"],
    );
    check(
        "  - name: a\n    prompt: x\n    schema: { type: 7 }\n",
        &["not a usable JSON Schema"],
    );
    check(
        "  - name: a\n    prompt: x\n    schemaFile: s.json\n",
        &["no file `s.json`"],
    );
    check(
        "  - name: a\n    prompt: x\n    key: '{{ a b }}'\n",
        &["recipe.yml:5:"],
    );
}

#[test]
fn limits_are_named() {
    refused(
        steps("  - name: a\n    prompt: x\n    retries: 11\n"),
        &["`retries` is more than RETRIES_MAX = 10"],
    );
    refused(
        steps("  - name: a\n    prompt: x\n    context: { files: ['*'], maxTokens: 2000000 }\n"),
        &["CONTEXT_TOKENS_MAX = 1000000"],
    );
    let mut many = with_context("{ files: ['many/*'] }");
    for index in 0..1001 {
        many = many.file(&format!("many/{index}.txt"), "x");
    }
    assert_eq!(many.run().failed().kind(), RecipeErrorKind::Limit);
}

/// The first fenced block with this word behind the fence, after a heading of the reference.
fn documented(heading: &str, info: &str) -> String {
    let docs = include_str!("../../../../docs/recipes.md");
    let (_, section) = docs.split_once(heading).unwrap();
    let (_, block) = section.split_once(&format!("\n```{info}\n")).unwrap();
    block.split_once("```\n").unwrap().0.to_owned()
}

#[test]
fn the_example_of_the_reference_does_what_it_says() {
    let of = |info: &str| documented("### The `ai` step\n", info);
    let case = || {
        recipe(&of("yaml .drawloom/recipes/card/recipe.yml"))
            .args("User")
            .file(
                "src/models/user.ts",
                "export interface User { name: string }\n",
            )
    };
    let answers: Value = serde_json::from_str(&of("json answers.json")).unwrap();
    assert_eq!(keys(&case().run()), ["fields"]);
    let first = json!({ "fields": answers["fields"] });
    assert_eq!(keys(&case().answers(first).run()), ["card"]);
    let ran = case().answers(answers.clone()).run();
    let card = format!("{}\n", answers["card"].as_str().unwrap());
    ran.assert_files(&[("src/components/UserCard.tsx", &card)]);
}
