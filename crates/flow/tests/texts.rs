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

/// The problems of a text as `line code`, whoever finds them.
fn problems(source: &str) -> String {
    let found = match parse(source) {
        Ok(workflow) => flow::check(&workflow, &Surroundings::default()),
        Err(error) => error.problems().to_vec(),
    };
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

#[test]
fn agents_and_subflows_must_be_known() {
    let source = format!(
        "graph TD\n A[x] --> S[[Run: deploy]]\n{}",
        block("%% @A: { \"defaultAssigneeId\": \"reviewr\" }")
    );
    let workflow = parse(&source).unwrap();
    let check = |assignees: &[&str], workflows: &[&str]| {
        let around = Surroundings {
            assignees: Some(assignees.iter().map(ToString::to_string).collect()),
            workflows: Some(
                workflows
                    .iter()
                    .map(|name| (name.to_string(), &workflow))
                    .collect(),
            ),
            name: Some("main".to_owned()),
        };
        let problems = flow::check(&workflow, &around);
        problems
            .iter()
            .map(|p| (p.code, p.hint.clone().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let near = (Code::UnknownAgent, "did you mean `reviewer`?".to_owned());
    assert_eq!(check(&["reviewr"], &["deploy"]), []);
    assert_eq!(check(&["reviewer"], &["deploy"]), [near]);
    assert_eq!(
        check(&["reviewr"], &[]),
        [(Code::UnknownSubflow, String::new())]
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
            assignees: Some(BTreeSet::new()),
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
fn problems_are_reported_with_line_and_hint() {
    let source = "graph TD\n A[x] --> D{y}\n D -->|Yes| B[b]\n D -->|default| C[c]";
    let workflow = parse(source).unwrap();
    let problems = flow::check(&workflow, &Surroundings::default());
    assert_eq!(
        problems[0].report("w.mmd", source),
        "w.mmd:3: error[unknown-reference]: `Yes` at `D` is no name that a run knows.\n  |\n3 |  D -->|Yes| B[b]\n  = hint: a step before gave it? Write `output.Yes`\n"
    );
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
