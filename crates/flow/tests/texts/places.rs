//! The place of a problem: line, column, caret.

use crate::{block, found};

#[test]
fn problems_are_reported_with_their_place_and_a_caret() {
    let source = "graph TD\n A[x] --> D{y}\n D -->|\"output.a && Nah\"| B[b]\n D -->|default| C[c]";
    assert_eq!(
        found(source)[0].report("w.mmd", source),
        "w.mmd:3:21: error[unknown-reference]: Unknown name `Nah` at `D`.
  |
3 |  D -->|\"output.a && Nah\"| B[b]
  |                     ^^^
  = hint: a step before gave it? Write `output.Nah`
"
    );
}

/// Returns for every problem its code and the text under its caret.
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
fn a_caret_is_under_a_mistake() {
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
}

#[test]
fn a_caret_is_under_a_mistake_in_a_config() {
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
