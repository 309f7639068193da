//! Diagrams as people draw them in a Mermaid editor: what runs, what is refused, what is remarked on.

use crate::{block, found, problems, steps};

/// Checks what a person sees: the steps, and the codes of the problems.
fn check(source: &str, expected_steps: &str, expected: &str) {
    assert_eq!(problems(source), expected, "{source}");
    if !expected_steps.is_empty() {
        assert_eq!(steps(source), expected_steps, "{source}");
    }
}

#[test]
fn conditions_are_written_in_every_style() {
    check(
        "flowchart LR
    A[Score it] --> B{Good enough}
    B -->|output.score >= 80| C[Approve]
    B -->|output.score < 80| D[Reject]",
        "A:task B:decision C:task D:task",
        "",
    );
    check(
        "flowchart LR
    A[Score it] --> B{Good enough}
    B -- \"output.score >= 80\" --> C[Approve]
    B -- output.ok --> E[Other]
    B -- else --> D[Reject]
    B -. \"output.maybe\" .-> F(Ask)
    B == \"output.sure\" ==> G[Go]",
        "A:task B:decision C:task E:task D:task F:taskm G:task",
        "",
    );
}

const IS_CONDITION: &str = "the label of a branch is its condition";

#[test]
fn other_labels_are_not_mistaken_for_conditions() {
    for (label, expected, hint) in [
        ("yes", "3 unknown-reference", IS_CONDITION),
        ("No", "3 unknown-reference", IS_CONDITION),
        ("score > 5", "3 unknown-reference", "Write `output.score`"),
        ("needs work", "3 expression", IS_CONDITION),
        ("output.a and output.b", "3 expression", IS_CONDITION),
        ("output.a = 5", "3 expression", "write `===`"),
        (
            "output.a === '=' && (output.b = 1)",
            "3 expression",
            "write `===`",
        ),
        ("true", "3 expression", IS_CONDITION),
        ("false", "3 expression", IS_CONDITION),
        ("1 > 0", "3 expression", IS_CONDITION),
        ("output.a >= 5 && output.b.some(x => x != '=')", "", ""),
    ] {
        let source = format!(
            "flowchart TD\n A[Go] --> Q{{which}}\n Q -->|\"{label}\"| B[b]\n Q -->|default| C[c]"
        );
        check(&source, "", expected);
        let hints = found(&source)
            .into_iter()
            .filter_map(|problem| problem.hint);
        let hints: String = hints.collect();
        assert!(hints.contains(hint), "{label}: {hints}");
    }
    // Without a decision, nothing would be decided.
    check(
        "flowchart TD\n A[Go] -->|if output.ok| B[b]",
        "",
        "2 branch",
    );
    check(
        "flowchart TD\n A[Go] -->|when it is done| B[b]",
        "A:task B:task",
        "",
    );
    check(
        "flowchart TD\n A[Go] --> Q{which}\n Q --> B[b]\n Q --> C[c]",
        "",
        "2 branch",
    );
}

#[test]
fn starts_and_ends_that_do_nothing_are_explained() {
    let source = "flowchart TD\n S([Start]) --> A[Work] --> E((End))";
    check(source, "", "2 ambiguous-step, 2 ambiguous-step");
    let hint = found(source)[0].hint.clone().unwrap();
    assert!(hint.contains("\"handler\": \"no_op\""), "{hint}");
    let none = "{ \"stepType\": \"task\", \"handler\": \"no_op\" }";
    let mended = format!(
        "{source}\n{}",
        block(&format!("%% @S: {none}\n%% @E: {none}"))
    );
    check(&mended, "S:task A:task E:task", "");
}

#[test]
fn edges_to_a_subgraph_lead_to_its_first_steps_and_edges_from_it_come_from_its_last() {
    check(
        "flowchart TD
    A[List files] --> B[[Each: file]]
    B --> body
    subgraph body [For each file]
      C[Lint] --> D[Test]
    end
    body --> J[Join results] --> Z[Report]",
        "A:task B:foreach C:task@B D:task@B J:join Z:task",
        "",
    );
    check(
        "flowchart TD
    A[List files] --> B[[Each: file]]
    subgraph body [For each file]
      B --> C[Lint] --> D[Test]
    end
    D --> J[Join results]",
        "A:task B:foreach C:task@B D:task@B J:join",
        "",
    );
    // Both branches of a decision inside lead on, and so do the steps of a subgraph inside.
    check(
        "flowchart TD
    A[List] --> C[[Each: x]] --> body --> J[Join]
    subgraph body
      Q{big?} -->|output.n > 5| B[Large]
      Q -->|default| inner
      subgraph inner
        D[Small] --> E[Smaller]
      end
    end",
        "A:task C:foreach J:join Q:decision@C B:task@C D:task@C E:task@C",
        "",
    );
    for (edges, expected) in [
        // Everything inside leads to something inside.
        (
            "A[x] --> S\n subgraph S\n B[b] --> Q{?} -->|output.a| B\n Q -->|default| B\n end",
            "2 branch",
        ),
        (
            "A[x] --> B\n S -->|onError| X[x]\n subgraph S\n B[b]\n end",
            "3 branch",
        ),
        (
            "A[x] --> Q{?} -->|output.a| S\n Q -->|default| C[c]\n subgraph S\n B[b]\n D[d]\n end",
            "2 branch",
        ),
    ] {
        check(&format!("flowchart TD\n {edges}"), "", expected);
    }
}

#[test]
fn a_join_awaits_what_it_can() {
    let each = "A[List] --> C[[Each: x]] --> B[Do] --> D[Check] --> J[Join all] --> Z[End]";
    let fork = "A[Plan] --> B[Back] & C[Front]\n B --> J[Join]\n C --> J\n J --> Z[End]";
    let inner = "A[List] --> C[[Each: x]] --> B[Do] --> D[d] & E[e]\n D --> J[Join]\n E --> J\n J --> K[Join all] --> Z[End]";
    let joined = "A:task C:foreach B:task@C D:task@C J:join Z:task";
    let forked = "A:task B:task C:task J:join Z:task";
    for (diagram, config, expected_steps, expected) in [
        (each, "{}", joined, ""),
        (each, "{ \"awaitStepId\": \"C\" }", joined, ""),
        (
            each,
            "{ \"awaitTag\": \"foreach:{{parentId}}\" }",
            joined,
            "",
        ),
        (
            each,
            "{ \"awaitTag\": \"foreach:{{ parentId }}\", \"awaitStepId\": \"C\" }",
            joined,
            "",
        ),
        (each, "{ \"awaitTag\": \"foreach:C\" }", joined, ""),
        // A step inside is awaited in every item.
        (each, "{ \"awaitStepId\": \"B\" }", joined, ""),
        (each, "{ \"awaitStepId\": \"D\" }", joined, ""),
        (each, "{ \"awaitStepId\": \"A\" }", "", "4 scope"),
        (each, "{ \"awaitStepId\": \"Z\" }", "", "4 scope"),
        (each, "{ \"awaitStepId\": \"J\" }", "", "4 scope"),
        (each, "{ \"awaitStepId\": \"Q\" }", "", "4 unknown-step"),
        (each, "{ \"awaitTag\": \"foreach:B\" }", "", "4 setting"),
        (each, "{ \"awaitTag\": \"each\" }", "", "4 setting"),
        (
            each,
            "{ \"awaitTag\": \"foreach:C\", \"awaitStepId\": \"D\" }",
            "",
            "4 scope",
        ),
        (fork, "{}", forked, ""),
        (fork, "{ \"awaitStepId\": \"A\" }", forked, ""),
        (fork, "{ \"awaitStepId\": \"B\" }", "", "7 scope"),
        (
            fork,
            "{ \"awaitTag\": \"foreach:{{parentId}}\" }",
            "",
            "7 scope",
        ),
        (
            inner,
            "{ \"awaitStepId\": \"B\" }",
            "A:task C:foreach B:task@C D:task@C E:task@C J:join@C K:join Z:task",
            "",
        ),
        (inner, "{}", "", "3 scope, 5 ambiguous-step"),
    ] {
        let source = format!(
            "flowchart TD\n {diagram}\n{}",
            block(&format!("%% @J: {config}"))
        );
        check(&source, expected_steps, expected);
    }
}

#[test]
fn what_would_surprise_is_remarked_on() {
    // Paths that meet: once for each.
    check(
        "flowchart TD\n A[Plan] --> B[Back] & C[Front]\n B & C --> D[Joint review] --> E[Release]",
        "",
        "3 repeated?",
    );
    check(
        "flowchart TD\n A[Plan] --> B[Back] & D[Release]\n B --> D",
        "",
        "2 repeated?",
    );
    for fine in [
        "A[Plan] --> B[Back] & C[Front]\n B & C --> D[Join] --> E[Release]",
        "A[Plan] --> Q{?}\n Q -->|output.a| B[b]\n Q -->|default| C[c]\n B & C --> D[Release]",
        "A[Plan] --> B[Back]\n A -->|onError| C[Mend]\n B & C --> D[Release]",
        "A[Plan] --> B[Back] & C[Log]\n B --> Q{?}\n Q -->|output.a| A\n Q -->|default| D[Release]",
    ] {
        check(&format!("flowchart TD\n {fine}"), "", "");
    }
    // A remark in a box is a step.
    check(
        "flowchart TD\n A[Go] --> B[b]\n N[Nobody leads here]",
        "",
        "3 alone?",
    );
    check("flowchart TD\n A[Only one]", "A:task", "");
    check(
        "flowchart TD\n A[One] --> C[c]\n B[Another start] --> C",
        "A:task C:task B:task",
        "2 repeated?",
    );
}

#[test]
fn ways_back_need_a_way_out() {
    for (edges, expected) in [
        (
            "A[Write] --> B(Review) --> C{ok?}\n C -->|output.ok| D[Publish]\n C -->|!output.ok| A",
            "",
        ),
        (
            "A[List] --> C[[Each: x]] --> B[Do] --> Q{ok?}\n Q -->|output.ok| J[Join]\n Q -->|default| B\n J --> R{good?}\n R -->|output.counts.failed === 0| Z[End]\n R -->|default| A",
            "",
        ),
        ("A[Try] --> A", "2 endless-cycle"),
        ("A[Try] --> B[Again]\n B -->|retry| A", "3 endless-cycle"),
        (
            "A[List] --> C[[Each: x]] --> B[Do] --> B",
            "2 endless-cycle",
        ),
    ] {
        check(&format!("flowchart TD\n {edges}"), "", expected);
    }
}
