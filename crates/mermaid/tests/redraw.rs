//! Drawing on a diagram changes what was drawn, and nothing else of the text.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and reads its own fixtures"
)]

use mermaid::{Diagram, DiagramDocument, NewNode, parse};

fn read(source: &str) -> DiagramDocument {
    parse(source).unwrap_or_else(|error| panic!("{source}\n{}", error.report("x.mmd")))
}

fn node(id: &str, label: &str, shape: &'static str) -> NewNode {
    NewNode {
        id: id.to_owned(),
        label: label.to_owned(),
        shape,
    }
}

#[test]
fn each_act_edits_its_own_line() {
    const TEXT: &str = "graph TD\n    A[One] --> B(Two)\n    B -->|\"x > 1\"| C\n\n%% kept\n";
    let document = read(TEXT);
    let check = |edited: Result<DiagramDocument, mermaid::Error>, expected: &str| {
        assert_eq!(edited.unwrap().source(), expected);
    };
    check(
        document.with_node_added(&node("D", "New step", "square"), Some("C")),
        "graph TD\n    A[One] --> B(Two)\n    B -->|\"x > 1\"| C\n    C --> D[New step]\n\n%% kept\n",
    );
    check(
        document.with_node_added(&node("D", "say \"hi\"", "round"), None),
        "graph TD\n    A[One] --> B(Two)\n    B -->|\"x > 1\"| C\n    D(\"say #quot;hi#quot;\")\n\n%% kept\n",
    );
    check(
        document.with_node_inserted(1, &node("D", "Ask", "diamond")),
        "graph TD\n    A[One] --> B(Two)\n    B -->|\"x > 1\"| D{Ask} --> C\n\n%% kept\n",
    );
    check(
        document.with_edge_added("C", "A", "output.ok == true"),
        "graph TD\n    A[One] --> B(Two)\n    B -->|\"x > 1\"| C\n    C -->|\"output.ok == true\"| A\n\n%% kept\n",
    );
    check(
        document.without_edge(1),
        "graph TD\n    A[One] --> B(Two)\n    C\n\n%% kept\n",
    );
    check(
        document.without_node("B"),
        "graph TD\n    A[One]\n    C\n\n%% kept\n",
    );
    check(
        document.with_node_shape("A", "round"),
        "graph TD\n    A(One) --> B(Two)\n    B -->|\"x > 1\"| C\n\n%% kept\n",
    );
}

#[test]
fn a_node_in_the_middle_leaves_its_way_behind() {
    let check = |text: &str, expected: &str| {
        assert_eq!(read(text).without_node("X").unwrap().source(), expected);
    };
    check("graph TD\n A --> X[x] --> B\n", "graph TD\n A --> B\n");
    check(
        "graph TD\n D -->|\"a\"| X\n X --> B[b]\n style X fill:#f00\n",
        "graph TD\n D -->|\"a\"| B\n B[b]\n",
    );
    check("graph TD\n A & X --> B\n", "graph TD\n A --> B\n");
    check("graph TD\n A --> X; X --> X\n", "graph TD\n A; \n");
}

#[test]
fn edges_that_are_drawn_together_are_taken_apart() {
    let document = read("graph TD\n  A[a] & B --> C & D{d}\n");
    assert_eq!(
        document.without_edge(1).unwrap().source(),
        "graph TD\n  A[a] --> C\n  B --> C\n  B --> D{d}\n"
    );
    let inserted = document.with_node_inserted(0, &node("E", "New", "square"));
    assert_eq!(
        inserted.unwrap().source(),
        "graph TD\n  A[a] --> E[New] --> C\n  A --> D{d}\n  B --> C\n  B --> D\n"
    );
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, max: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % max as u64) as usize
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// A flowchart as people write them: chains, `&`, labels, subgraphs, comments, odd layout.
fn some_text(dice: &mut Dice) -> String {
    let mut text = String::from(dice.of(&[
        "graph TD\n",
        "flowchart LR\n%% top\n",
        "---\ntitle: t\n---\ngraph TB\n",
    ]));
    let mut open = 0;
    for line in 0..1 + dice.below(7) {
        let indent = dice.of(&["", "  ", "    ", "\t"]);
        match dice.below(10) {
            0 => text.push_str(&format!("{indent}%% note {line} \"A --> B\"\n\n")),
            1 => {
                text.push_str(&format!("{indent}subgraph G{line} [Group]\n"));
                open += 1;
            }
            2 if open > 0 => {
                text.push_str(&format!("{indent}end\n"));
                open -= 1;
            }
            3 => text.push_str(&format!("{indent}style A fill:#fff\n")),
            _ => {
                text.push_str(indent);
                for part in 0..1 + dice.below(4) {
                    if part > 0 {
                        text.push_str(dice.of(&[
                            " --> ",
                            "-->",
                            " -->|yes| ",
                            " -- no --> ",
                            " -.-> ",
                            " ==> ",
                            "  -->|\"a > 1\"|  ",
                        ]));
                    }
                    for member in 0..1 + dice.below(5) / 4 {
                        if member > 0 {
                            text.push_str(" & ");
                        }
                        text.push_str(dice.of(&["A", "B", "C", "D", "E", "long_id"]));
                        text.push_str(dice.of(&[
                            "",
                            "",
                            "",
                            "[Fetch it]",
                            "(\"Ask #quot;it#quot;\")",
                            "{Gate}",
                            "[[Each: x]]",
                            ":::hot",
                        ]));
                    }
                }
                text.push_str(dice.of(&["\n", ";\n", " ; A\n", "   \n", "\r\n"]));
            }
        }
    }
    for _ in 0..open {
        text.push_str("end\n");
    }
    text.push_str(dice.of(&["", "%% last", "\n\n"]));
    text
}

type Facts = (Vec<(String, String)>, Vec<(String, String, String)>);

fn facts(diagram: &Diagram) -> Facts {
    let mut nodes: Vec<_> = diagram
        .nodes
        .iter()
        .map(|node| (node.id.clone(), node.label.text.clone()))
        .collect();
    let mut edges: Vec<_> = diagram
        .edges
        .iter()
        .map(|edge| (edge.from.clone(), edge.to.clone(), edge.label.text.clone()))
        .collect();
    nodes.sort();
    edges.sort();
    (nodes, edges)
}

/// Applies one act by chance; returns the result and what it has to mean.
fn act(
    document: &DiagramDocument,
    dice: &mut Dice,
) -> Option<(Result<DiagramDocument, mermaid::Error>, Facts, bool)> {
    let diagram = document.diagram();
    let (mut nodes, mut edges) = facts(diagram);
    let new = node("New1", "A [new] \"one\"", "square");
    let some_node = diagram
        .nodes
        .get(dice.below(diagram.nodes.len().max(1)))?
        .id
        .clone();
    let number = dice.below(diagram.edges.len().max(1));
    let edge = diagram
        .edges
        .get(number)
        .map(|edge| (edge.from.clone(), edge.to.clone(), edge.label.text.clone()));
    let pair = ("New1".to_owned(), new.label.clone());
    let (result, is_added) = match (dice.below(6), edge) {
        (0, _) => {
            nodes.push(pair);
            edges.push((some_node.clone(), "New1".to_owned(), String::new()));
            (document.with_node_added(&new, Some(&some_node)), true)
        }
        (1, _) => {
            let other = diagram.nodes.first()?.id.clone();
            edges.push((some_node.clone(), other.clone(), "x \"y\" | z".to_owned()));
            (
                document.with_edge_added(&some_node, &other, "x \"y\" | z"),
                true,
            )
        }
        (2, Some(edge)) => {
            let at = edges.iter().position(|one| *one == edge)?;
            edges.remove(at);
            (document.without_edge(number), false)
        }
        (3, Some(edge)) => {
            let at = edges.iter().position(|one| *one == edge)?;
            edges[at].1 = "New1".to_owned();
            edges.push(("New1".to_owned(), edge.1, String::new()));
            nodes.push(pair);
            (document.with_node_inserted(number, &new), false)
        }
        (4, _) => {
            let shaped = document.with_node_shape(&some_node, "diamond");
            (shaped, false)
        }
        _ => {
            let result = document.without_node(&some_node);
            if let Ok(edited) = &result {
                // Where edges are led on is shown by the cases above; here: the others stay.
                assert!(edited.diagram().node(&some_node).is_none());
                let (_, after) = facts(edited.diagram());
                for edge in edges
                    .iter()
                    .filter(|edge| edge.0 != some_node && edge.1 != some_node)
                {
                    assert!(
                        after.contains(edge),
                        "{}\n{}",
                        document.source(),
                        edited.source()
                    );
                }
                nodes.retain(|(id, _)| *id != some_node);
                return Some((result, (nodes, after), false));
            }
            (result, false)
        }
    };
    nodes.sort();
    edges.sort();
    Some((result, (nodes, edges), is_added))
}

#[test]
fn any_act_on_any_text_means_what_was_drawn_and_keeps_the_rest() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut done, mut refused) = (0, 0);
    for _ in 0..6_000 {
        let text = some_text(&mut dice);
        let Ok(document) = parse(&text) else { continue };
        let Some((result, meant, is_added)) = act(&document, &mut dice) else {
            continue;
        };
        let Ok(edited) = result else {
            refused += 1;
            continue;
        };
        done += 1;
        assert_eq!(
            facts(edited.diagram()),
            meant,
            "{text}\n---\n{}",
            edited.source()
        );
        let comments = |document: &DiagramDocument| -> Vec<String> {
            document
                .comments()
                .iter()
                .map(|comment| comment.text.clone())
                .collect()
        };
        assert_eq!(comments(&edited), comments(&document), "{text}");
        if is_added {
            let at = text
                .bytes()
                .zip(edited.source().bytes())
                .take_while(|(a, b)| a == b)
                .count();
            let added = edited.source().len() - text.len();
            let kept = format!(
                "{}{}",
                &edited.source()[..at],
                &edited.source()[at + added..]
            );
            assert_eq!(kept, text);
        }
    }
    assert!(done > 2_000, "{done} acts were done");
    assert!(
        refused * 10 < done,
        "{refused} of {} acts were refused",
        done + refused
    );
}
