//! Recording and replaying, with no answerer the second time.

use std::sync::Arc;

use llm::Provider;
use transport::{AskResolution, RecordMode, TransportMode};

use crate::support::{Case, Memory, Scripted, assert_no_key, word};

#[test]
fn a_recorded_run_is_repeated_offline() {
    let command = || Case::command(&format!("python3 {} fixer", word("tests/data/reply.py")));
    let gone = || Case::command("false");
    let api = || Case::api(Provider::Anthropic, "claude-fixer");
    let unreachable = || {
        let mut case = Case::api(Provider::Anthropic, "claude-fixer");
        case.setup.base_url = Some("http://127.0.0.1:9".into());
        // A key that is not set is no obstacle.
        case.setup.api_key = Some(llm::Secret::new("$NO_SUCH_KEY"));
        case
    };
    type Make<'a> = &'a dyn Fn() -> Case<'static>;
    let pairs: [(Make<'_>, Make<'_>); 2] = [(&command, &gone), (&api, &unreachable)];
    for (first, again) in pairs {
        let tape = Arc::new(Memory::default());
        let mut case = Case {
            taping: RecordMode::Record(tape.clone()),
            ..first()
        };
        case.answered();
        for text in tape.0.lock().unwrap().values() {
            assert_no_key(text);
        }
        let mut case = Case {
            taping: RecordMode::Replay(tape.clone()),
            ..again()
        };
        case.answered();
        let mut case = Case {
            taping: RecordMode::Replay(tape),
            feedback: Some("changed"),
            ..again()
        };
        case.failed("AI_TRANSPORT_FAILED", "there is no recording");
    }
}

#[test]
fn a_replay_repeats_a_persons_answers() {
    let tape = Arc::new(Memory::default());
    let mut person = Scripted::new(&[
        "A card that shows a customer.",
        r#"["name","email"]"#,
        "true",
        "return <Card/>;",
        r#"{"rows": 3}"#,
        "",
    ]);
    let off = |taping| {
        let mut case = Case {
            taping,
            ..Case::default()
        };
        case.setup.mode = TransportMode::Off;
        case
    };
    let first = off(RecordMode::Record(tape.clone())).resolve(Some(&mut person));
    assert!(
        matches!(first, Ok(AskResolution::Resolved(..))),
        "{first:?}"
    );
    off(RecordMode::Replay(tape.clone())).answered();
    let mut stdout = off(RecordMode::Replay(tape));
    stdout.setup.mode = TransportMode::Stdout;
    stdout.answered();
    let mut empty = off(RecordMode::Replay(Arc::new(Memory::default())));
    empty.failed("AI_TRANSPORT_FAILED", "there is no recording");
}
