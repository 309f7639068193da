//! Any text, as a flowchart: refused with a place inside the text, or printed and read back alike.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let document = match mermaid::parse(text) {
        Ok(document) => document,
        Err(error) => {
            assert!(!error.problems().is_empty());
            for problem in error.problems() {
                assert!(problem.span.end <= text.len());
                assert!(problem.line <= text.matches('\n').count() + 1);
            }
            assert!(!error.report("fuzz").is_empty());
            return;
        }
    };
    assert_eq!(document.source(), text);
    for statement in document.statements() {
        assert!(text.get(statement.span.start..statement.span.end).is_some());
    }
    let printed = document.diagram().to_string();
    match mermaid::parse(&printed) {
        Ok(again) => assert_eq!(again.diagram(), document.diagram(), "{printed}"),
        Err(error) => panic!("{printed}\n{}", error.report("printed")),
    }
});
