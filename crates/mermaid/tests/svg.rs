//! Pictures: the seed's workflow with statuses, and texts that try to get out of their labels.
#![cfg(feature = "svg")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and reads its own fixtures"
)]

use std::collections::HashMap;
use std::path::Path;

use mermaid::{NodeStatus, SvgError, parse};

const PR_REVIEW: &str = include_str!("pr-review.mmd");

fn draw(name: &str, source: &str, statuses: &[(&str, NodeStatus)]) -> String {
    let statuses = statuses
        .iter()
        .map(|(id, status)| ((*id).to_owned(), *status));
    let statuses: HashMap<String, NodeStatus> = statuses.collect();
    let svg = parse(source).unwrap().to_svg(name, &statuses).unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.svg"));
    std::fs::write(path, &svg).unwrap();
    svg
}

#[test]
fn a_workflow_is_drawn_with_its_statuses() {
    let statuses = [
        ("A", NodeStatus::Done),
        ("B", NodeStatus::Done),
        ("C", NodeStatus::Running),
        ("D", NodeStatus::Waiting),
        ("E", NodeStatus::Pending),
        ("F", NodeStatus::Skipped),
        ("K", NodeStatus::Failed),
    ];
    let svg = draw("pr-review", PR_REVIEW, &statuses);
    for label in [
        "Fetch PR Details",
        "Each: Review File",
        "output.score",
        "Human Review",
        "Retry?",
    ] {
        assert!(svg.contains(label), "{label} is missing");
    }
    for (_, status) in statuses {
        assert!(
            svg.contains(&format!("status-{}", status.name())),
            "{status:?} is missing"
        );
    }
    assert!(!svg.contains("WORKFLOW_CONFIG"));
}

#[test]
fn a_node_without_a_status_keeps_its_colours() {
    let svg = draw(
        "plain",
        "graph LR\nA[x]:::mine --> B\nclassDef mine fill:#123456",
        &[],
    );
    assert!(svg.contains("#123456"));
    assert!(!svg.contains("status-done"));
}

#[test]
fn every_status_works_on_every_bracketed_shape() {
    let source = "graph LR\nA[x] --> B(x) --> C([x]) --> D[[x]] --> E[(x)] --> F((x)) --> G(((x))) --> H{x}\n\
        H --> I{{x}} --> J>x] --> K[/x\\] --> L[\\x/] --> M[/x/] --> N[\\x\\] --> O";
    let ids = [
        "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N",
    ];
    let statuses: Vec<(&str, NodeStatus)> = ids
        .iter()
        .copied()
        .zip(NodeStatus::ALL.into_iter().cycle())
        .collect();
    draw("shapes", source, &statuses);
}

/// The renderer refuses each of these as it is written.
#[test]
fn what_the_renderer_does_not_read_is_drawn_all_the_same() {
    for (source, label) in [
        ("graph LR\nA[user@host] --> B", "user@host"),
        ("graph LR\nA -->|@you| B", "@you"),
        ("graph LR\nA(-round about-) --> B", "round about"),
        ("graph LR\nA[\"$$x^2$$\"] --> B", "x^2"),
        ("graph LR\n/a* --> -b[last one]", "last one"),
        ("graph LR\nsubgraph g [user@host]\nA\nend", "user@host"),
    ] {
        let svg = draw("plain-again", source, &[("A", NodeStatus::Done)]);
        assert!(svg.contains(label), "{label} is missing");
        assert_eq!(
            svg.contains("class=\"node default status-done\""),
            source.contains('A'),
            "{source}"
        );
    }
    let svg = draw(
        "bare-again",
        "graph LR\n/a* --> B",
        &[("/a*", NodeStatus::Failed)],
    );
    assert!(svg.contains("status-failed"));
}

#[test]
fn labels_cannot_bring_in_scripts() {
    let source = "graph LR\nA[\"<script>alert(1)</script><img src=x onerror=alert(2)>\"] --> B[\"#lt;script#gt;alert(3)#lt;/script#gt;\"]\n\
        click A \"javascript:alert(4)\"\nclick B href \"https://example.com\"";
    let svg = draw("hostile", source, &[("A", NodeStatus::Failed)]).to_ascii_lowercase();
    for bad in ["<script", "onerror=", "href=\"javascript:"] {
        assert!(!svg.contains(bad), "{bad} came through");
    }
}

#[test]
fn the_picture_has_room_on_every_side() {
    let svg = draw("room", "graph LR\nA[x]", &[]);
    let view = svg.split_once("viewBox=\"").unwrap().1;
    let view = view.split_once('"').unwrap().0;
    let view: Vec<f64> = view.split(' ').map(|part| part.parse().unwrap()).collect();
    let rect = svg.split_once("<rect class=\"basic").unwrap().1;
    let size = |name: &str| -> f64 {
        let value = rect.split_once(name).unwrap().1.split_once('"').unwrap().0;
        value.parse().unwrap()
    };
    let (x, y, width, height) = (view[0], view[1], size(" width=\""), size(" height=\""));
    assert!(
        (view[2] - width - 32.0).abs() < 1.0,
        "{view:?} around {width}"
    );
    assert!(
        (view[3] - height - 32.0).abs() < 1.0,
        "{view:?} around {height}"
    );
    assert!(x <= 0.0 && y <= 0.0, "{view:?}");
}

#[test]
fn subgraphs_that_hold_each_other_are_read_but_not_drawn() {
    let source = "graph TD\nsubgraph a\nsubgraph b\nsubgraph a\nx\nend\ny --> x\nend\nend";
    let error = parse(source)
        .unwrap()
        .to_svg("cycle", &HashMap::new())
        .unwrap_err();
    assert!(error.to_string().contains("cycle"), "{error}");
}

#[test]
fn a_diagram_too_large_to_draw_says_so() {
    let source = format!("graph TD\n{}", "A --> B\n".repeat(3_000));
    let error = parse(&source)
        .unwrap()
        .to_svg("x", &HashMap::new())
        .unwrap_err();
    assert_eq!(error, SvgError::TooLarge { drawn: 3_002 });
    assert!(error.to_string().contains("DRAWN_MAX = 2000"));
}
