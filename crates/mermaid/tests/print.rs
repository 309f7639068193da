//! A diagram prints as text that reads back as the same diagram.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and reads its own fixtures"
)]

use std::path::Path;

use mermaid::{
    ArrowHeads, Diagram, DiagramEdge, DiagramNode, EdgeArrow, FlowDirection, LineStroke, NodeShape,
    Subgraph, TextKind, TextLabel,
};
use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use proptest::{prop_assert_eq, sample};
use serde_json::Value;

#[test]
fn every_recorded_source_survives_printing() {
    let mut wrong = Vec::new();
    let mut accepted = 0;
    for file in ["mermaid.jsonl", "probes.jsonl", "deviations.jsonl"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(file);
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let source = case["source"].as_str().unwrap();
            let Ok(document) = mermaid::parse(source) else {
                continue;
            };
            accepted += 1;
            assert_eq!(document.source(), source);
            if let Err(reason) = survives(document.diagram()) {
                wrong.push(format!("{source:?}\n{reason}"));
            }
        }
    }
    assert!(accepted > 5000, "only {accepted} sources were accepted");
    assert!(
        wrong.is_empty(),
        "{} of {accepted}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn awkward_sources_survive_printing() {
    for source in [
        "graph TD\nclassDef x background:#bbb,\t\np",
        "graph TD;A_classDef_node--:B[x];y\nz-->B",
        "graph TD\nB-->%%[x]",
        "graph TD\naccDescr { x\nA",
        "graph TD\nA e1@--> B\nsubgraph s\ne1@{ animate: true }\nend",
        "graph TD\ncall@{ shape: hex } x--x B",
        "graph TD\nA@{ \"   b\" }-.->@-->B",
        "graph TD\nA -- ( style a:b --> #C\nD --> #call@{ }",
        "graph TD\nsubgraph a\nend\nsubgraph b\nsubgraph a\nend\nX\nend",
        "graph TD\nA@{\n  a:\n    - x: 1\n      y: [2]\n    -\n      - z: 3\n    - w\n  b: 2\n}",
        "graph TD\nA@{\n  a:\n    - - - x: 1\n}",
        "graph TD\nA@{\n  x:\n    style: \"a:#b;;;\"\n    \"classDef style :#a;;;\":\n      - \"style :#a;;;\"\n}",
        "graph TD\nA[\"x\n y style a:#1;;@{\n\"]@{\n  x:\n    y: z\n}",
        "graph TD\nA[\"style a:#1;;@{\n style b:#2;;\"] --> B",
        "graph TD\nA[\"classDef :#1;;x\u{2029}y;\"] --> B",
        "graph TD\nclick A \"classDef style:#a;;;b\"",
        "graph TD\nsubgraph \"style a:#b;;\nx;\"[t]\nend",
        "graph TD\nclick A click;B",
        "graph TD\nA B@--> B\nB@{ }.B@--> B",
        "graph TD\nA call@--> call;\ncall@{ } --> B",
        "graph TD\nA;style A fill:x# y;style A fill:z;w x",
        "graph TD\nA;style A fill:x# y;style A fill:z;w",
        "graph TD\naccDescr: the last call\nB",
        "graph TD\nA\nstyle A fill:#a,href;;;B",
        "graph TD\nsubgraph a\nsubgraph b\nsubgraph a\nend\nend\nend",
        "graph TD\nsubgraph a\nsubgraph b[B]\nsubgraph a[A]\nx\nend\ndirection LR\ny\nend\nend",
        "graph TD\nsubgraph a\nend\nsubgraph b\nend\nsubgraph a\nsubgraph b\nend\nend",
        "graph TD\nsubgraph a\nsubgraph b\nsubgraph c\nsubgraph a\nend\nend\nend\nend",
        "graph TD\nsubgraph click\n s1>\"x\"] \n  end\nA --> B",
        "graph TD\nsubgraph a\"b\"[T]\nA\nend",
        "graph TD\nA[x]@{ icon: y, label: \"\\u0041\" }",
        "graph TD\nA@{ icon: y, label: A, labelType: text }",
        "graph TD\nA@{ label: '@{' }",
        "graph TD\nA@{\n  a: !!map\n  b: 1\n}",
    ] {
        let document = mermaid::parse(source).unwrap_or_else(|e| panic!("{}", e.report("source")));
        assert_eq!(survives(document.diagram()), Ok(()), "{source}");
    }
}

/// As deep as the reader goes, and no deeper.
#[test]
fn deep_data_survives_printing() {
    let mut accepted = 0;
    for depth in 1..110 {
        let mut data = String::new();
        for at in 1..=depth {
            data.push_str(&" ".repeat(at));
            data.push_str("a:\n");
        }
        let source = format!("graph TD\nA@{{\n{data}{}b: 1\n}}", " ".repeat(depth + 1));
        let Ok(document) = mermaid::parse(&source) else {
            continue;
        };
        accepted = depth;
        assert_eq!(survives(document.diagram()), Ok(()), "{source}");
    }
    assert_eq!(accepted, 98);
}

/// YAML lets `key: value` have a key of 1 024 characters at most, as it is written.
#[test]
fn keys_that_are_longer_when_escaped_survive_printing() {
    let key = "a\tb".repeat(300);
    for source in [
        format!("graph TD\nA@{{ \"{key}\" }}"),
        format!("graph TD\nA@{{ \"{key}\": [1, x], b: 2 }}-->B"),
        format!("graph TD\nA@{{\n  \"{key}\":\n    \"{key}\":\n      x: 1\n    y: 2\n  z: 3\n}}"),
    ] {
        let document = mermaid::parse(&source).unwrap_or_else(|e| panic!("{}", e.report("source")));
        assert_eq!(survives(document.diagram()), Ok(()), "{source}");
    }
}

proptest! {
    #[test]
    fn any_diagram_survives_printing(diagram in diagrams()) {
        prop_assert_eq!(survives(&diagram), Ok(()));
    }
}

fn survives(diagram: &Diagram) -> Result<(), String> {
    let printed = diagram.to_string();
    let again =
        mermaid::parse(&printed).map_err(|e| format!("{printed}\n{}", e.report("printed")))?;
    if again.diagram() != diagram {
        return Err(format!("{printed}\n{:?}\n{diagram:?}", again.diagram()));
    }
    Ok(())
}

fn diagrams() -> impl Strategy<Value = Diagram> {
    let nodes = prop::collection::vec((labels(), shapes(), any::<bool>()), 1..8);
    let edges = prop::collection::vec(
        (
            any::<sample::Index>(),
            any::<sample::Index>(),
            labels(),
            arrows(),
            any::<bool>(),
        ),
        0..8,
    );
    let groups = prop::collection::vec((labels(), any::<sample::Index>(), directions()), 0..5);
    (nodes, edges, groups, directions()).prop_map(|(nodes, edges, groups, direction)| {
        let ids = ["A", "b1", "ending", "call", "été", "x.y", "o", "styled:1"].map(str::to_owned);
        let mut diagram = Diagram {
            direction: direction.unwrap_or_default(),
            ..Diagram::default()
        };
        for (at, (label, shape, styled)) in nodes.into_iter().enumerate() {
            let id = ids[at].clone();
            let label = if shape == NodeShape::DEFAULT {
                TextLabel {
                    text: id.clone(),
                    kind: TextKind::Text,
                }
            } else {
                label
            };
            let classes = if styled {
                vec!["hot".to_owned(), "new".to_owned()]
            } else {
                Vec::new()
            };
            diagram.nodes.push(DiagramNode {
                id,
                label,
                shape,
                classes,
                data: serde_json::Map::new(),
            });
        }
        for (at, (from, to, label, arrow, named)) in edges.into_iter().enumerate() {
            let from = from.get(&diagram.nodes).id.clone();
            let to = to.get(&diagram.nodes).id.clone();
            let id = named.then(|| format!("e{at}"));
            let label = if label.text.is_empty() {
                TextLabel::default()
            } else {
                label
            };
            diagram.edges.push(DiagramEdge {
                from,
                to,
                label,
                arrow,
                id,
            });
        }
        group(&mut diagram, groups);
        diagram
    })
}

/// Puts each node into a subgraph, and each subgraph into another or none; they may hold each other.
fn group(diagram: &mut Diagram, groups: Vec<(TextLabel, sample::Index, Option<FlowDirection>)>) {
    let count = groups.len();
    for (at, (title, _, direction)) in groups.iter().enumerate() {
        diagram.subgraphs.push(Subgraph {
            id: format!("s {at}"),
            title: title.clone(),
            nodes: Vec::new(),
            direction: *direction,
        });
    }
    for (at, (_, around, _)) in groups.iter().enumerate() {
        let around = around.index(count + 1);
        let id = diagram.subgraphs[at].id.clone();
        if let (true, Some(around)) = (around != at, diagram.subgraphs.get_mut(around)) {
            around.nodes.push(id);
        }
        if let Some(node) = diagram.nodes.get(at) {
            let id = node.id.clone();
            diagram.subgraphs[at].nodes.push(id);
        }
    }
}

fn labels() -> impl Strategy<Value = TextLabel> {
    let kinds = prop_oneof![sample::select(vec![
        TextKind::Text,
        TextKind::String,
        TextKind::Markdown
    ]),];
    let texts = prop_oneof![
        "[ -~é漢\n]{0,16}",
        sample::select(vec![
            "output.score >= 80",
            "say \"hi\"",
            "#quot;",
            "&amp;",
            "a <b",
            "x=",
            "%% no",
            "}  \n y",
            "style a:#1;",
            "direction TB",
            "end",
            "~~~",
            "/x/",
            "\\",
            "`code`",
            "<a href=\"x\">y</a>",
        ])
        .prop_map(str::to_owned),
    ];
    (texts, kinds).prop_map(|(text, kind)| TextLabel { text, kind })
}

fn shapes() -> impl Strategy<Value = NodeShape> {
    let names = vec![
        "diam",
        "rounded",
        "stadium",
        "cyl",
        "trapezoid",
        "odd",
        "hexagon",
        "doublecircle",
    ];
    prop_oneof![
        sample::select(names).prop_map(|name| NodeShape::named(name).unwrap()),
        proptest::strategy::Just(NodeShape::DEFAULT),
    ]
}

fn arrows() -> impl Strategy<Value = EdgeArrow> {
    let heads = vec![
        ArrowHeads::Open,
        ArrowHeads::Point,
        ArrowHeads::Cross,
        ArrowHeads::Circle,
        ArrowHeads::DoublePoint,
        ArrowHeads::DoubleCross,
        ArrowHeads::DoubleCircle,
    ];
    let strokes = vec![
        LineStroke::Normal,
        LineStroke::Thick,
        LineStroke::Dotted,
        LineStroke::Invisible,
    ];
    (sample::select(heads), sample::select(strokes), 1..=10_usize).prop_map(
        |(heads, stroke, length)| {
            let heads = if stroke == LineStroke::Invisible {
                ArrowHeads::Open
            } else {
                heads
            };
            EdgeArrow {
                heads,
                stroke,
                length,
            }
        },
    )
}

fn directions() -> impl Strategy<Value = Option<FlowDirection>> {
    use FlowDirection::{BottomTop, LeftRight, RightLeft, TopBottom};
    sample::select(vec![
        None,
        Some(TopBottom),
        Some(BottomTop),
        Some(LeftRight),
        Some(RightLeft),
    ])
}
