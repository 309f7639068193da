//! Texts to workflows: what steps are, what is wrong with a text and where, and edits that touch
//! nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a test fails by panicking, and its tables are long"
)]

use std::collections::{BTreeMap, BTreeSet};

use flow::{Code, Severity, StepId, Surroundings, parse};
use serde_json::json;

const SEED: &str = include_str!("pr-review.mmd");

fn block(lines: &str) -> String {
    format!("%% === WORKFLOW_CONFIG ===\n{lines}\n%% === END_CONFIG ===\n")
}

/// Every step as `id:type`, with `m` where a person does it and the foreach steps around it.
fn steps(source: &str) -> String {
    let workflow = parse(source).unwrap_or_else(|e| panic!("{}", e.report("w", source)));
    let shown = workflow.steps().iter().map(|step| {
        let manual = if step.execution == flow::Execution::Manual {
            "m"
        } else {
            ""
        };
        let scope: Vec<&str> = step.scope.iter().map(StepId::as_str).collect();
        let scope = if scope.is_empty() {
            String::new()
        } else {
            format!("@{}", scope.join("@"))
        };
        format!("{}:{}{manual}{scope}", step.id, step.step_type.name())
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn found(source: &str) -> Vec<flow::Problem> {
    match parse(source) {
        Ok(workflow) => flow::check(&workflow, &Surroundings::default()),
        Err(error) => error.problems().to_vec(),
    }
}

/// The problems of a text as `line code`, whoever finds them.
fn problems(source: &str) -> String {
    let found = found(source);
    let shown = found.iter().map(|problem| {
        let mark = if problem.severity == Severity::Warning {
            "?"
        } else {
            ""
        };
        format!("{} {}{mark}", problem.line, problem.code.name())
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_workflow_of_the_seed_reads_as_it_is_meant() {
    assert_eq!(
        steps(SEED),
        "A:task B:task C:foreach D:join E:decision F:task G:taskm H:task I:task J:decision K:task"
    );
    let workflow = parse(SEED).unwrap();
    assert_eq!(workflow.starts(), [StepId::new("A")]);
    let join = workflow.step(&"D".into()).unwrap();
    assert_eq!(join.awaits, Some("C".into()));
    // The only thing to say about it: `input` is what the run was given, not the step before.
    assert_eq!(problems(SEED), "");
}

#[test]
fn a_step_is_what_its_config_its_shape_or_its_label_says() {
    for (source, expected) in [
        (
            "graph TD\n A[x] --> B(y) --> C{z}\n C --> D[w]",
            "A:task B:taskm C:decision D:task",
        ),
        ("graph TD\n A", "A:task"),
        (
            "graph TD\n A[x] --> B[[Each: y]] --> C[z] --> D[[Join: w]]",
            "A:task B:foreach C:task@B D:join",
        ),
        (
            "graph TD\n A[x] --> B[[each: y]] --> D[Join it]",
            "A:task B:foreach D:join",
        ),
        ("graph TD\n A[x] --> B[[Run: y]]", "A:task B:subflow"),
        (
            "graph TD\n A@{ shape: diam, label: \"x\" } --> B@{ shape: rounded, label: \"y\" }",
            "A:decision B:taskm",
        ),
        ("graph TD\n A[x] ~~~ B[y]", "A:task B:task"),
        (
            "graph TD\n A[x] --> B[[Each: y]]\n B --> C[[Each: z]] --> D[q] --> E[Join] --> F[Join]",
            "A:task B:foreach C:foreach@B D:task@B@C E:join@B F:join",
        ),
        (
            "flowchart LR\n subgraph S\n A[x] --> B[y]\n end",
            "A:task B:task",
        ),
    ] {
        assert_eq!(steps(source), expected, "{source}");
    }
    for (config, expected) in [
        ("{\"stepType\": \"decision\"}", "A:decision B:task"),
        ("{\"execution\": \"manual\"}", "A:taskm B:task"),
        ("{\"type\": \"manual\"}", "A:taskm B:task"),
        (
            "{\"stepType\": \"task\", \"type\": \"manual\", \"execution\": \"manual\"}",
            "A:taskm B:task",
        ),
    ] {
        let source = format!(
            "graph TD\n A[x] --> B[y]\n{}",
            block(&format!("%% @A: {config}"))
        );
        assert_eq!(steps(&source), expected, "{config}");
    }
}

#[test]
fn what_leaves_a_meaning_open_is_refused_with_its_line() {
    for (source, expected) in [
        ("graph TD\n A[x", "2 diagram"),
        ("graph TD\n A[[x]]", "2 ambiguous-step"),
        ("graph TD\n A{{x}}", "2 ambiguous-step"),
        ("graph TD\n A([Start]) --> B[x]", "2 ambiguous-step"),
        ("graph TD\n A[x] --> B[Join hands]", "2 ambiguous-step"),
        ("graph TD\n A[x]\n%%\n", "3 ambiguous-step"),
        (
            "graph TD\n A[x]\n%% === WORKFLOW_CONFIG ===\n%% @A: {}",
            "3 config",
        ),
        ("graph TD\n A[x]\n%% === END_CONFIG ===", "3 config"),
        (
            "graph TD\n A[x]\n%% === WORKFLOW_CONFIG ===\n%% what\n%% === END_CONFIG ===",
            "4 config",
        ),
        (
            "graph TD\n A[x]\n%% === WORKFLOW_CONFIG ===\n%% @A: {\n%%   \"prompt\": oops\n%% }\n%% === END_CONFIG ===",
            "5 config",
        ),
        (
            "graph TD\n A[x]\n%% === WORKFLOW_CONFIG ===\n%% @A: {\n%%   \"promt\": \"x\"\n%% }\n%% === END_CONFIG ===",
            "5 config",
        ),
        (
            "graph TD\n A[x]\n%% === WORKFLOW_CONFIG ===\n%% @A: {}\n%% @A: {}\n%% === END_CONFIG ===",
            "5 duplicate-config",
        ),
        (
            "graph TD\n A[x]\n%% === WORKFLOW_CONFIG ===\n%% @B: {}\n%% === END_CONFIG ===",
            "4 unknown-step",
        ),
        (
            "graph TD\n A[x]\n%% === WORKFLOW_CONFIG ===\n%% @A: {\"type\": \"manual\", \"execution\": \"automated\"}\n%% === END_CONFIG ===",
            "4 setting",
        ),
        ("graph TD\n A[x] <--> B[y]", "2 branch"),
        (
            "graph TD\n subgraph S\n B[y]\n end\n A[x] --> S",
            "5 branch",
        ),
        ("graph TD\n A[x] -->|\"output.a\"| B[y]", "2 branch"),
        ("graph TD\n D{x} --> B[y]\n D -->|default| C[z]", "2 branch"),
        ("graph TD\n A[x] --> B[[Each: y]] --> C[z] --> A", "2 scope"),
        (
            "graph TD\n A[x] --> B[[Each: y]] --> C[z]\n A --> C",
            "2 scope",
        ),
        (
            "graph TD\n A[x] --> B[[Each: y]] --> C[z] --> D[p] & E[q]\n D --> J[Join]\n E --> J",
            "3 scope",
        ),
        (
            "graph TD\n A[x] --> B[[Each: y]] --> Q{z}\n Q -->|\"output.a\"| J[Join]\n Q -->|default| K[Join]",
            "2 scope",
        ),
    ] {
        assert_eq!(problems(source), expected, "{source}");
    }
}

#[test]
fn several_blocks_anywhere_are_one() {
    let source = format!(
        "{}graph TD\n A[x] --> B(y)\n{}",
        block("%% @A: { \"prompt\": \"a\" }"),
        block("%% @B: {\n%% \n%%   \"prompt\": \"b: {{output}}\"\n%% }")
    );
    // A block may not stand before the header for Mermaid's sake only if it is no comment.
    let workflow = parse(&source).unwrap();
    let prompts: Vec<_> = workflow
        .steps()
        .iter()
        .map(|s| s.config.prompt.clone())
        .collect();
    assert_eq!(
        prompts,
        [Some("a".to_owned()), Some("b: {{output}}".to_owned())]
    );
}

#[test]
fn branches_in_the_config_agree_with_the_edges_or_fill_them_in() {
    let diagram = |edges: &str, config: &str| {
        format!(
            "graph TD\n A[x] --> D{{q}}\n {edges}\n{}",
            block(&format!("%% @D: {config}"))
        )
    };
    let branches = "{\"branches\": [{\"condition\": \"output.a\", \"targetStepId\": \"B\"}, {\"condition\": null, \"targetStepId\": \"C\"}]}";
    for (edges, config, expected) in [
        ("D --> B[b]\n D --> C[c]", branches, ""),
        (
            "D -->|\"output.a\"| B[b]\n D -->|default| C[c]",
            branches,
            "",
        ),
        (
            "D -->|\"output.b\"| B[b]\n D -->|default| C[c]",
            branches,
            "3 branch",
        ),
        ("D -->|\"output.a\"| B[b]", branches, "5 branch"),
        (
            "D -->|\"output.a\"| B[b]\n D --> C[c]",
            "{\"defaultBranch\": \"C\"}",
            "",
        ),
        (
            "D -->|\"output.a\"| B[b]\n D -->|\"output.b\"| C[c]",
            "{\"defaultBranch\": \"C\"}",
            "4 branch",
        ),
    ] {
        assert_eq!(
            problems(&diagram(edges, config)),
            expected,
            "{edges} {config}"
        );
    }
}

#[test]
fn the_check_finds_what_a_clear_text_gets_wrong() {
    for (source, expected) in [
        (
            "graph TD\n A[x] --> B[y]\n C[z] --> D[q] --> E{w}\n E -->|\"output.a\"| D\n E -->|default| F[v]",
            "",
        ),
        (
            "graph TD\n A[x]\n B[y] --> C[z] --> B",
            "3 unreachable, 3 unreachable, 3 endless-cycle",
        ),
        ("graph TD\n A[x] --> B[y] --> A", "2 endless-cycle"),
        (
            "graph TD\n A[x] --> D{y}\n D -->|default| A",
            "3 endless-cycle",
        ),
        (
            "graph TD\n A[x] --> D{y}\n D -->|\"output.a\"| E{z}\n D -->|default| C[c]\n E -->|\"output.b\"| D\n E -->|default| C",
            "5 endless-cycle",
        ),
        (
            "graph TD\n A[x] --> D{y}\n D -->|\"output.a\"| B[b]",
            "2 no-default?",
        ),
        (
            "graph TD\n A[x] --> D{y}\n D -->|\"output.a\"| B[b]\n D -->|\"!output.a\"| C[c]",
            "",
        ),
        (
            "graph TD\n A[x] --> D{y}\n D -->|\"output.n >= 5\"| B[b]\n D -->|\"output.n < 5\"| C[c]",
            "",
        ),
        ("graph TD\n A[x] --> D{y}", "2 branch"),
        (
            "graph TD\n A[x] --> D{y}\n D -->|Yes| B[b]\n D -->|default| C[c]",
            "3 unknown-reference",
        ),
        (
            "graph TD\n A[x] --> D{y}\n D -->|\"output.a >=\"| B[b]\n D -->|default| C[c]",
            "3 expression",
        ),
        (
            "graph TD\n A[x] --> D{y}\n D -->|\"steps.C.output.a\"| B[b]\n D -->|default| C[c]",
            "3 unknown-reference?",
        ),
        (
            "graph TD\n A[x] --> D{y}\n D -->|\"Math.max(output.a, 1) > 2\"| B[b]\n D -->|default| C[c]",
            "",
        ),
    ] {
        assert_eq!(problems(source), expected, "{source}");
    }
    for (config, expected) in [
        (
            "{\"prompt\": \"{{input.a}} {{run.id}} {{agent.id}} {{steps.A.output}} {{output.x}}\"}",
            "",
        ),
        (
            "{\"prompt\": \"{{steps.B.output}}\"}",
            "4 unknown-reference?",
        ),
        (
            "{\"prompt\": \"{{steps.X.output}}\"}",
            "4 unknown-reference?",
        ),
        ("{\"prompt\": \"{{item}}\"}", "4 unknown-reference?"),
        ("{\"prompt\": \"{{index}}\"}", "4 unknown-reference?"),
        ("{\"prompt\": \"{{a +}}\"}", "4 expression"),
        ("{\"prompt\": \"{{output\"}", "4 expression"),
        (
            "{\"config\": {\"url\": [\"{{nobody}}\"]}}",
            "4 unknown-reference?",
        ),
        ("{\"itemsPath\": \"output\"}", "4 setting"),
        ("{\"maxVisits\": 0}", "4 setting"),
        ("{\"confidence\": 2}", "4 setting"),
        ("{\"outputSchema\": {\"type\": \"nonsense\"}}", "4 setting"),
        (
            "{\"stepType\": \"foreach\", \"maxItems\": 10001}",
            "4 setting",
        ),
        (
            "{\"stepType\": \"join\", \"minCount\": 1, \"minSuccessPercent\": 5}",
            "4 setting",
        ),
        ("{\"stepType\": \"join\", \"awaitTag\": \"x\"}", "4 setting"),
        ("{\"stepType\": \"subflow\", \"maxDepth\": 21}", "4 setting"),
    ] {
        let source = format!(
            "graph TD\n A[x] --> B[y]\n{}",
            block(&format!("%% @B: {config}"))
        );
        assert_eq!(problems(&source), expected, "{config}");
    }
}

/// The problems with what is around a workflow, as `line:column code hint`.
fn around(source: &str, agents: &[&str], people: Option<&[&str]>, workflows: &[&str]) -> String {
    let workflow = parse(source).unwrap_or_else(|e| panic!("{}", e.report("w", source)));
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let known = workflows.iter().map(|name| (name.to_string(), &workflow));
    let around = Surroundings {
        agents: Some(names(agents)),
        people: people.map(names),
        workflows: Some(known.collect()),
        name: Some("main".to_owned()),
    };
    let shown = flow::check(&workflow, &around).into_iter().map(|problem| {
        let mark = if problem.severity == Severity::Warning {
            "?"
        } else {
            ""
        };
        format!(
            "{}:{} {}{mark} {}",
            problem.line,
            problem.column,
            problem.code.name(),
            problem.hint.unwrap_or_default()
        )
    });
    shown.collect::<Vec<_>>().join(", ").trim_end().to_owned()
}

#[test]
fn agents_and_subflows_must_be_known() {
    let source = format!(
        "graph TD\n A[x] --> S[[Run: deploy]]\n{}",
        block("%% @A: { \"defaultAssigneeId\": \"reviewr\" }")
    );
    assert_eq!(around(&source, &["reviewr"], None, &["deploy"]), "");
    assert_eq!(
        around(&source, &["reviewer"], None, &["deploy"]),
        "4:31 unknown-agent did you mean `reviewer`?"
    );
    assert_eq!(
        around(&source, &["reviewr"], None, &[]),
        "2:11 unknown-subflow"
    );
    assert_eq!(
        around(&source, &["reviewr"], None, &["deploi"]),
        "2:11 unknown-subflow did you mean `deploi`?"
    );
    // A person does not do what is automated.
    assert_eq!(
        around(&source, &[], Some(&["reviewr"]), &["deploy"]),
        "4:31 unknown-agent? draw it `(…)` or set `execution` to \"manual\", if a person does it"
    );
}

#[test]
fn people_whom_nobody_knows_are_named() {
    let source = format!(
        "graph TD\n A(x) --> B[y]\n{}",
        block(
            "%% @A: { \"defaultAssigneeId\": \"anna\" }\n%% @B: { \"fallbackAssigneeId\": \"bob\" }"
        )
    );
    assert_eq!(around(&source, &[], None, &[]), "");
    assert_eq!(around(&source, &[], Some(&["anna", "bob"]), &[]), "");
    assert_eq!(around(&source, &["bob"], Some(&["anna"]), &[]), "");
    assert_eq!(
        around(&source, &[], Some(&["ann", "bob"]), &[]),
        "4:31 unknown-person? did you mean `ann`?"
    );
    assert_eq!(
        around(&source, &[], Some(&["anna", "zoe"]), &[]),
        "5:32 unknown-person? add a user of this name, or whoever looks for their tasks finds none"
    );
}

#[test]
fn workflows_that_run_each_other_need_a_depth() {
    let run = |name: &str, config: &str| {
        let text = format!(
            "graph TD\n A[x] --> S[[Run: {name}]]\n{}",
            block(&format!("%% @S: {config}"))
        );
        parse(&text).unwrap()
    };
    for (one, two, expected) in [
        (run("two", "{}"), run("one", "{}"), vec![Code::Recursion]),
        (run("two", "{\"maxDepth\": 3}"), run("one", "{}"), vec![]),
        (run("two", "{}"), run("one", "{\"maxDepth\": 3}"), vec![]),
        (run("one", "{}"), run("one", "{}"), vec![Code::Recursion]),
        (run("two", "{}"), run("two", "{\"maxDepth\": 2}"), vec![]),
    ] {
        let workflows = BTreeMap::from([("one".to_owned(), &one), ("two".to_owned(), &two)]);
        let around = Surroundings {
            agents: Some(BTreeSet::new()),
            people: None,
            workflows: Some(workflows),
            name: Some("one".to_owned()),
        };
        let codes: Vec<Code> = flow::check(&one, &around).iter().map(|p| p.code).collect();
        assert_eq!(codes, expected);
    }
}

#[test]
fn an_edit_changes_the_lines_of_its_step_and_no_other() {
    let workflow = parse(SEED).unwrap();
    let edited = workflow
        .with_config(
            &"E".into(),
            Some("{\n  \"stepType\": \"decision\",\n\n  \"description\": \"x\"\n}"),
        )
        .unwrap();
    let expected = SEED.replace(
        "%% @E: { \"stepType\": \"decision\" }",
        "%% @E: {\n%%   \"stepType\": \"decision\",\n%% \n%%   \"description\": \"x\"\n%% }",
    );
    assert_eq!(edited.source(), expected);
    let value = json!({ "stepType": "decision" });
    assert_eq!(
        edited
            .with_config_value(&"E".into(), &value)
            .unwrap()
            .source(),
        SEED
    );
    let prompt = json!({ "execution": "manual", "prompt": "a\n\"b\" %% {{output}}" });
    let manual = workflow.with_config_value(&"K".into(), &prompt).unwrap();
    let step = manual.step(&"K".into()).unwrap();
    assert_eq!(
        step.config.prompt.as_deref(),
        Some("a\n\"b\" %% {{output}}")
    );
    let (before, after) = (SEED.lines().count(), manual.source().lines().count());
    assert_eq!(before - 1, after);
    // No config at all, and one where there was none.
    let gone = workflow.with_config(&"J".into(), None).unwrap();
    assert_eq!(
        gone.source(),
        SEED.replace("%% @J: { \"stepType\": \"decision\" }\n", "")
    );
    let bare = parse("graph TD\n A[x]").unwrap();
    let added = bare
        .with_config_value(&"A".into(), &json!({ "prompt": "p" }))
        .unwrap();
    assert_eq!(
        added.source(),
        "graph TD\n A[x]\n\n%% === WORKFLOW_CONFIG ===\n%% @A: { \"prompt\": \"p\" }\n%% === END_CONFIG ===\n"
    );
    assert_ne!(added.hash(), bare.hash());
}

#[test]
fn problems_are_reported_with_their_place_and_a_caret() {
    let source = "graph TD\n A[x] --> D{y}\n D -->|\"output.a && Yes\"| B[b]\n D -->|default| C[c]";
    assert_eq!(
        found(source)[0].report("w.mmd", source),
        "w.mmd:3:21: error[unknown-reference]: `Yes` at `D` is no name that a run knows.
  |
3 |  D -->|\"output.a && Yes\"| B[b]
  |                     ^^^
  = hint: a step before gave it? Write `output.Yes`
"
    );
}

/// What every problem is about: its code and the text under its caret.
fn carets(source: &str) -> String {
    let shown = found(source).into_iter().map(|problem| {
        let line = source.lines().nth(problem.line - 1).unwrap_or("");
        let under = line.chars().skip(problem.column - 1).take(problem.width);
        let under: String = under.collect();
        format!("{} {} <{under}>", problem.line, problem.code.name())
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn a_caret_stands_under_what_is_wrong() {
    for (source, expected) in [
        ("graph TD\n A[x", "2 diagram <[>"),
        ("graph TD\n A[x] --> B[[y]]", "2 ambiguous-step <B[[y]]>"),
        ("graph TD\n A[x] <-->|z| B[y]", "2 branch <<-->|z|>"),
        ("graph TD\n A[x] -->|output.a| B[y]", "2 branch <output.a>"),
        (
            "graph TD\n A[x] -- output.a --> B[y]",
            "2 branch <output.a>",
        ),
        (
            "graph TD\n A[x] --> B[y] -->|back| A",
            "2 endless-cycle <back>",
        ),
        ("graph TD\n A[x] --> B[y] --> A", "2 endless-cycle <-->>"),
        (
            "graph TD\n Ä[ä] --> D{y}\n  D -->|\"output.ß >\"| B[b]\n  D -->|default| C[c]",
            "3 expression <output.ß >>",
        ),
        (
            "graph TD\n A[x] --> D{y}\n D -->|\"output.a === #quot;b#quot; && nope\"| B[b]\n D -->|default| C[c]",
            "3 unknown-reference <\"output.a === #quot;b#quot; && nope\">",
        ),
    ] {
        assert_eq!(carets(source), expected, "{source}");
    }
    for (config, expected) in [
        ("%% @B: { \"promt\": 1 }", "4 config <\"promt\">"),
        ("%% @B: {\n%%   \"prompt\": oops\n%% }", "5 config <oops>"),
        (
            "%% @B: {\n%%   \"prompt\": \"a\"\n%%   \"tags\": []\n%% }",
            "6 config <\"tags\">",
        ),
        (
            "%% @B: {\n%%   \"maxVisits\": \"two\"\n%% }",
            "5 config <\"two\">",
        ),
        (
            "%% @B: { \"timeout\": \"5 weeks\" }",
            "4 config <\"5 weeks\">",
        ),
        (
            "%% @B: { \"handler\": \"comand\" }",
            "4 config <\"comand\">",
        ),
        ("%% @B: { \"prompt\": \"a\"", "4 config <\"a\">"),
        ("%% @X: { \"prompt\": \"a\" }", "4 unknown-step <@X>"),
        ("%% @B: {}\n%%   @B: {}", "5 duplicate-config <@B>"),
        ("%% what", "4 config <%% what>"),
        ("%% @B: { \"maxVisits\": 0 }", "4 setting <\"maxVisits\">"),
        (
            "%% @B: { \"retry\": { \"attempts\": 0 } }",
            "4 setting <\"attempts\">",
        ),
        (
            "%% @B: {\n%%   \"itemsPath\": \"output\"\n%% }",
            "5 setting <\"itemsPath\">",
        ),
        ("%% @B: { \"onError\": \"Q\" }", "4 unknown-step <\"Q\">"),
        (
            "%% @B: { \"prompt\": \"\\u00e4\\n\\\"{{output}} {{ steps.Q.output }}\" }",
            "4 unknown-reference <steps.Q.output>",
        ),
        (
            "%% @B: { \"prompt\": \"ä {{ a + }}\" }",
            "4 expression < a + >",
        ),
        ("%% @B: { \"prompt\": \"x {{output\" }", "4 expression <{{>"),
        (
            "%% @B: { \"handler\": \"http\", \"config\": {\n%%     \"headers\": { \"a\": [\"{{output}}\", \"{{who}}\"] } } }",
            "5 unknown-reference <who>",
        ),
    ] {
        let source = format!("graph TD\n A[x] --> B[y]\n{}", block(config));
        assert_eq!(carets(&source), expected, "{config}");
    }
    // Lines may end as they do elsewhere.
    let source = "graph TD\r\n A[x] --> B[y]\r\n%% === WORKFLOW_CONFIG ===\r\n%% @B: {\r\n%%   \"prompt\": \"{{nope}}\"\r\n%% }\r\n%% === END_CONFIG ===\r\n";
    assert_eq!(carets(source), "5 unknown-reference <nope>");
}

#[test]
fn a_setting_that_is_misspelt_is_named_and_so_is_the_one_that_was_meant() {
    for (config, expected) in [
        (
            "{ \"promt\": 1 }",
            "The config of `B` cannot be read: unknown field `promt`. did you mean `prompt`?",
        ),
        (
            "{ \"handler\": \"comand\" }",
            "The config of `B` cannot be read: unknown variant `comand`. did you mean `command`?",
        ),
        (
            "{ \"policy\": \"most\" }",
            "The config of `B` cannot be read: unknown variant `most`. it is one of all, any, quorum, allTerminal",
        ),
        (
            "{ \"prompt\": \"a\"",
            "The config of `B` cannot be read: it ends before it is complete. ",
        ),
    ] {
        let source = format!(
            "graph TD\n A[x] --> B[y]\n{}",
            block(&format!("%% @B: {config}"))
        );
        let problem = &found(&source)[0];
        let hint = problem.hint.clone().unwrap_or_default();
        assert_eq!(format!("{} {hint}", problem.message), expected);
    }
}

#[test]
fn large_and_hostile_texts_have_limits() {
    let many: String = (0..2_001).map(|n| format!(" a{n}[x]\n")).collect();
    assert_eq!(problems(&format!("graph TD\n{many}")), "1 limit");
    let deep: String = (0..9)
        .map(|n| format!(" e{n}[[Each: x]] --> e{}[[Each: x]]\n", n + 1))
        .collect();
    assert!(problems(&format!("graph TD\n A[x] --> e0\n{deep}")).contains("limit"));
    let nested = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let source = format!(
        "graph TD\n A[x]\n{}",
        block(&format!("%% @A: {{\"outputSchema\": {nested}}}"))
    );
    assert_eq!(problems(&source), "4 config");
}
