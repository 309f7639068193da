//! Programs that stay, well-behaved and not.

use std::time::{Duration, Instant};

use prompt::Questionnaire;
use transport::{AskResolution, NOISE_LINES_MAX};

use crate::support::{Case, assert_answers, questions, word};

/// The tests' own subprocess, told how to behave.
fn peer(what: &str) -> Case<'static> {
    let mut case = Case::stdio(&format!("python3 {} {what}", word("tests/data/peer.py")));
    case.setup.timeout = Duration::from_secs(5);
    case
}

#[test]
fn one_process_answers_request_after_request_and_is_told_goodbye() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let path = log.path().to_str().unwrap();
    let mut case = peer(&format!("good {path}"));
    let asked = questions();
    let all = case
        .resolve_all(None, &[&asked, &Questionnaire::new(), &asked])
        .unwrap();
    for at in [0, 2] {
        let AskResolution::Resolved(answers, _) = &all[at] else {
            panic!("{all:?}")
        };
        assert_answers(answers);
    }
    case.watcher.saw("Progress(\"thinking\")");
    case.watcher.saw("Log(\"on stderr\")");
    let heard = std::fs::read_to_string(path).unwrap();
    assert_eq!(heard, "hello ask 1 accepted 1 ask 2 accepted 2 bye ");
}

#[test]
fn the_questions_come_whole() {
    peer("inspect").answered();
}

#[test]
fn invalid_answers_are_sent_back_with_the_problem() {
    let mut case = peer("corrected");
    case.answered();
    assert_eq!(case.watcher.count("Correcting"), 2);
    let error = peer("stubborn").failed("AI_ANSWER_INVALID", "do not fit");
    assert!(error.said().unwrap().contains("`fields`"), "{error}");
    peer("no-object").failed("AI_TRANSPORT_FAILED", "could not be read");
}

#[test]
fn noise_is_tolerated_up_to_a_limit() {
    peer("noise 50").answered();
    let too_much = format!("noise {}", NOISE_LINES_MAX + 1);
    peer(&too_much).failed("AI_TRANSPORT_FAILED", "NOISE_LINES_MAX (1000)");
}

#[test]
fn a_process_that_dies_is_quoted() {
    let error = peer("die").failed(
        "AI_TRANSPORT_FAILED",
        "exited with code 7 before it answered",
    );
    assert!(
        error
            .said()
            .unwrap()
            .contains("last words, key [key removed]"),
        "{error}"
    );
    Case::stdio("true").failed(
        "AI_TRANSPORT_FAILED",
        "exited with code 0 before it answered",
    );
    Case::stdio("no-such-program-here").failed("AI_TRANSPORT_FAILED", "was not found");
}

#[test]
fn silence_has_an_end_and_progress_is_not_silence() {
    let mut case = peer("silent");
    case.setup.timeout = Duration::from_millis(600);
    let began = Instant::now();
    case.failed("AI_TRANSPORT_FAILED", "silent for 600 ms (`ai.timeout_ms`)");
    assert!(began.elapsed() < Duration::from_secs(4));
    let mut case = peer("slow");
    // Three waits of two seconds: longer than this, and none of them alone.
    case.setup.timeout = Duration::from_secs(5);
    case.answered();
}

#[test]
fn it_may_say_that_it_cannot_and_is_told_goodbye_all_the_same() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let path = log.path().to_str().unwrap();
    let mut case = peer(&format!("error {path}"));
    let error = case.failed("AI_RATE_LIMITED", "could not answer: try tomorrow. Correct");
    assert!(!error.is_cancelled());
    assert_eq!(std::fs::read_to_string(path).unwrap(), "hello ask 1 bye ");
    peer("other-protocol").failed("AI_TRANSPORT_FAILED", "version 9 of the protocol, not 1");
}

#[test]
fn lines_have_a_longest() {
    let mut case = peer("long");
    case.setup.output_bytes_max = 100_000;
    case.failed(
        "AI_TRANSPORT_FAILED",
        "`ai.output_bytes_max` (100000 bytes)",
    );
    let resolved = peer("long").resolve(None);
    assert!(matches!(resolved, Ok(AskResolution::Resolved(..))));
}

#[test]
fn the_examples_answer() {
    let python = word("../../examples/stdio/answer.py");
    let answers = word("tests/data/answers.json");
    Case::stdio(&format!("python3 {python} {answers}")).answered();
    // Without a file the example fills in what fits by itself.
    let mut case = Case::stdio(&format!("python3 {python}"));
    let resolved = case.resolve(None);
    assert!(
        matches!(resolved, Ok(AskResolution::Resolved(..))),
        "{resolved:?}"
    );
}
