//! Problems of a workflow that is clear, and of the names it uses.

use std::collections::{BTreeMap, BTreeSet};

use flow::{CheckSurroundings, ProblemSeverity, WorkflowProblemCode, parse};

use crate::{block, problems};

#[test]
fn the_check_finds_what_a_clear_text_gets_wrong() {
    for (source, expected) in [
        (
            "graph TD\n A[x] --> B[y]\n C[z] --> D[q] --> E{w}\n E -->|\"output.a\"| D\n E -->|default| F[v]",
            "",
        ),
        (
            "graph TD\n A[x]\n B[y] --> C[z] --> B",
            "2 alone?, 3 unreachable, 3 unreachable, 3 endless-cycle",
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
}

#[test]
fn the_check_finds_what_a_config_gets_wrong() {
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
    let around = CheckSurroundings {
        agents: Some(names(agents)),
        people: people.map(names),
        workflows: Some(known.collect()),
        name: Some("main".to_owned()),
    };
    let shown = flow::check(&workflow, &around).into_iter().map(|problem| {
        let mark = if problem.severity == ProblemSeverity::Warning {
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
        "2:11 unknown-subflow put it into `.drawloom/workflows`, as NAME.mmd"
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
fn unknown_people_are_named() {
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
        "5:32 unknown-person? add this user with `drawloom users add`, or the task appears in no one's list"
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
        (
            run("two", "{}"),
            run("one", "{}"),
            vec![WorkflowProblemCode::Recursion],
        ),
        (run("two", "{\"maxDepth\": 3}"), run("one", "{}"), vec![]),
        (run("two", "{}"), run("one", "{\"maxDepth\": 3}"), vec![]),
        (
            run("one", "{}"),
            run("one", "{}"),
            vec![WorkflowProblemCode::Recursion],
        ),
        (run("two", "{}"), run("two", "{\"maxDepth\": 2}"), vec![]),
    ] {
        let workflows = BTreeMap::from([("one".to_owned(), &one), ("two".to_owned(), &two)]);
        let around = CheckSurroundings {
            agents: Some(BTreeSet::new()),
            people: None,
            workflows: Some(workflows),
            name: Some("one".to_owned()),
        };
        let codes: Vec<WorkflowProblemCode> =
            flow::check(&one, &around).iter().map(|p| p.code).collect();
        assert_eq!(codes, expected);
    }
}

#[test]
fn edges_that_are_never_or_doubly_taken_are_reported() {
    for (source, expected) in [
        (
            "graph TD\n A[x] --> B[y]\n A -->|onError| C[c]\n A -->|onError| D[d]",
            "4 branch",
        ),
        ("graph TD\n A[x] --> C[c]\n B[y] --> C", "2 repeated?"),
        ("graph TD\n A[x] --> C[Join]\n B[y] --> C", ""),
        ("graph TD\n A[x] --> B[y]\n A --> B", "3 repeated?"),
    ] {
        assert_eq!(problems(source), expected, "{source}");
    }
}

#[test]
fn settings_that_can_do_nothing_are_remarked_on() {
    for (step, config, expected) in [
        (
            "B(y)",
            "{\"retry\": {\"attempts\": 2}, \"handler\": \"no_op\"}",
            "4 setting?, 4 setting?",
        ),
        ("B(y)", "{\"onTimeout\": \"fail\"}", "4 setting?"),
        (
            "B(y)",
            "{\"timeout\": \"1d\", \"onTimeout\": \"fail\", \"remind\": \"1h\", \"escalateTo\": \"ann\"}",
            "",
        ),
        (
            "B[y]",
            "{\"timeout\": \"1d\", \"onTimeout\": \"fail\"}",
            "4 setting?",
        ),
        (
            "B[y]",
            "{\"retry\": {\"on\": [\"exit\", \"reply\"]}}",
            "4 setting?",
        ),
        (
            "B[y]",
            "{\"handler\": \"command\", \"retry\": {\"on\": [\"exit\"]}, \"prompt\": \"x\"}",
            "4 setting?",
        ),
        (
            "B[y]",
            "{\"handler\": \"command\", \"retry\": {\"attempts\": 2}}",
            "",
        ),
        ("B[y]", "{\"retry\": {\"factor\": 0.5}}", "4 setting"),
        ("B[y]", "{\"prompt\": \"{{agent.name}} {{run.id}}\"}", ""),
        (
            "B[y]",
            "{\"prompt\": \"{{agent.slug}} {{run.nope}}\"}",
            "4 unknown-reference?, 4 unknown-reference?",
        ),
        (
            "B[y]",
            "{\"contextFrom\": [\"A\", \"X\"]}",
            "4 unknown-reference?",
        ),
    ] {
        let source = format!(
            "graph TD\n A[x] --> {step}\n{}",
            block(&format!("%% @B: {config}"))
        );
        assert_eq!(problems(&source), expected, "{config}");
    }
}

#[test]
fn every_mistake_of_a_config_is_said_at_once_and_in_words() {
    let source = format!(
        "graph TD\n A[x]\n{}",
        block(
            "%% @A: { \"prompt\": 7, \"tiemout\": \"1s\", \"maxVisits\": \"many\", \"outputSchema\": { \"type\": \"strng\" } }"
        )
    );
    let error = parse(&source).unwrap_err();
    let told: Vec<&str> = error
        .problems()
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(told[1].contains("unknown field `tiemout`"), "{told:#?}");
    assert!(told[3].contains("did you mean \"string\"?"), "{told:#?}");
    let columns: Vec<usize> = error
        .problems()
        .iter()
        .map(|problem| problem.column)
        .collect();
    assert!(
        columns.windows(2).all(|pair| pair[0] < pair[1]),
        "{columns:?}"
    );
    let source = format!(
        "graph TD\n A[x]\n{}",
        block(
            "%% @A: { \"outputSchema\": { \"properties\": { \"s\": { \"type\": \"strng\" } } } }"
        )
    );
    let found = flow::check(&parse(&source).unwrap(), &CheckSurroundings::default());
    assert!(
        found[0].message.contains(
            "/properties/s/type is \"strng\", which is no type; did you mean \"string\"?"
        ),
        "{}",
        found[0].message
    );
}

/// Branches right behind a foreach are joined with its items: the join after that has nothing left, and
/// the advice names the way to join the branches of each item.
#[test]
fn a_join_behind_the_one_that_took_the_items_says_where_a_step_is_missing() {
    let source = "graph TD\n A[a] --> F[[Each: f]] --> B[b] & C[c]\n B --> K[Join bc]\n C --> K\n \
                  K --> J[Join all]\n J --> E[e]\n";
    let error = parse(source).unwrap_err();
    let problem = &error.problems()[0];
    assert!(
        problem.message.starts_with("`J` looks like a join"),
        "{}",
        problem.message
    );
    assert_eq!(
        problem.hint.as_deref(),
        Some(
            "`K` joins the items of `F`; if it is to join the branches of each item, draw a step between \
             `F` and its branches"
        )
    );
}
