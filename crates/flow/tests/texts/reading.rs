//! The types of steps, and texts that are refused because they are ambiguous.

use flow::{StepId, Workflow, parse};

use crate::{SEED, block, problems, steps};

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

/// A workflow with every setting there is.
fn with_everything() -> Workflow {
    let source = format!(
        "graph TD\n A[List] --> F[[Each: x]] --> B[Do] --> J[Join] --> D{{q}}\n D --> S[[Run: other]]\n D --> Z[End]\n{}",
        block(
            "%% @A: { \"stepType\": \"task\", \"execution\": \"automated\", \"type\": \"automated\", \"prompt\": \"p\", \"defaultAssigneeId\": \"ann\", \"fallbackAssigneeId\": \"bob\", \"hitlPhase\": \"h\", \"description\": \"d\", \"outputSchema\": {\"type\": \"object\"}, \"retry\": {\"attempts\": 2, \"delay\": \"1s\", \"maxDelay\": \"2s\"}, \"timeout\": \"1m\", \"maxVisits\": 7, \"budget\": {\"tokens\": 5, \"money\": 0.5}, \"handler\": \"http\", \"awaitCallback\": true, \"confidence\": 0.5, \"failFast\": true, \"tags\": [\"t\"], \"config\": {\"url\": \"u\"} }
%% @F: { \"itemsPath\": \"output.x\", \"itemVariable\": \"x\", \"maxItems\": 3, \"maxConcurrency\": 2 }
%% @J: { \"awaitTag\": \"foreach:{{parentId}}\", \"awaitStepId\": \"F\", \"policy\": \"quorum\", \"minSuccessPercent\": 50, \"timeout\": 5, \"onTimeout\": \"continue\" }
%% @D: { \"branches\": [{\"condition\": \"output.a\", \"targetStepId\": \"S\"}], \"defaultBranch\": \"Z\" }
%% @S: { \"subflowId\": \"child\", \"inputMapping\": {\"a\": \"output\"}, \"maxDepth\": 4, \"onError\": \"Z\" }"
        )
    );
    parse(&source).unwrap_or_else(|e| panic!("{}", e.report("w", &source)))
}

#[test]
fn every_setting_of_a_task_is_read() {
    let workflow = with_everything();
    let step = |id: &str| workflow.step(&id.into()).unwrap();
    let a = &step("A").config;
    assert_eq!(
        [
            &a.prompt,
            &a.default_assignee_id,
            &a.fallback_assignee_id,
            &a.hitl_phase,
            &a.description
        ]
        .map(|text| text.as_deref().unwrap_or_default()),
        ["p", "ann", "bob", "h", "d"]
    );
    let retry = step("A").retry();
    assert_eq!(
        (retry.attempts, retry.delay.ms, retry.max_delay.ms),
        (2, 1_000, 2_000)
    );
    assert_eq!(a.timeout.map(|timeout| timeout.ms), Some(60_000));
    assert_eq!(
        (step("A").visits_max(), step("A").handler()),
        (7, flow::StepHandler::Http)
    );
    let budget = a.budget.unwrap();
    assert_eq!((budget.tokens, budget.money), (Some(5), Some(0.5)));
    assert_eq!(
        (a.await_callback, a.confidence, a.fail_fast),
        (Some(true), Some(0.5), Some(true))
    );
    assert!(a.output_schema.is_some() && a.config.is_some() && a.tags.is_some());
}

#[test]
fn every_setting_of_a_foreach_and_of_a_join_is_read() {
    let workflow = with_everything();
    let step = |id: &str| workflow.step(&id.into()).unwrap();
    let each = step("F");
    assert_eq!(
        (each.item_variable(), each.items_max(), each.concurrency()),
        ("x", 3, 2)
    );
    assert_eq!(each.config.items_path.as_deref(), Some("output.x"));
    let join = &step("J").config;
    assert_eq!(join.policy, Some(flow::JoinPolicy::Quorum));
    assert_eq!(
        (join.min_success_percent, join.min_count),
        (Some(50.0), None)
    );
    assert_eq!(join.timeout.map(|timeout| timeout.ms), Some(5_000));
    assert_eq!(join.on_timeout, Some(flow::OnTimeout::Continue));
}

#[test]
fn every_setting_of_a_decision_and_of_a_subflow_is_read() {
    let workflow = with_everything();
    let step = |id: &str| workflow.step(&id.into()).unwrap();
    let whens: Vec<String> = workflow
        .edges()
        .iter()
        .map(|edge| format!("{}>{} {:?}", edge.from, edge.to, edge.when))
        .collect();
    assert!(
        whens.contains(&"D>S Condition(\"output.a\")".to_owned()),
        "{whens:?}"
    );
    assert!(whens.contains(&"D>Z Default".to_owned()), "{whens:?}");
    assert!(whens.contains(&"S>Z OnError".to_owned()), "{whens:?}");
    let subflow = step("S");
    assert_eq!((subflow.subflow(), subflow.depth_max()), ("child", 4));
    assert_eq!(
        subflow.config.input_mapping.as_ref().unwrap()["a"],
        "output"
    );
}

#[test]
fn every_handler_is_known() {
    for handler in [
        "ai_interaction",
        "code_generation",
        "planning",
        "validation",
        "no_op",
        "recipe",
        "build",
        "command",
        "http",
        "task",
    ] {
        let source = format!(
            "graph TD\n A[x]\n{}",
            block(&format!("%% @A: {{ \"handler\": \"{handler}\" }}"))
        );
        assert!(parse(&source).is_ok(), "{handler}");
    }
}
