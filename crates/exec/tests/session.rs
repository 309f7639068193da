//! Commands that stay, well-behaved and not.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests build their own fixtures"
)]

use std::time::{Duration, Instant};

use exec::{
    CommandCancel, CommandSession, CommandStatus, ExecErrorKind, Invocation, OutputStream,
    SessionEvent, shell,
};

const SOON: Duration = Duration::from_secs(5);

#[track_caller]
fn hear(session: &mut CommandSession, expected: SessionEvent) {
    assert_eq!(session.hear(SOON).unwrap(), expected);
}

fn line(text: &str) -> SessionEvent {
    SessionEvent::Line(OutputStream::Stdout, text.to_owned())
}

#[test]
fn lines_go_in_and_come_out() {
    let mut session = CommandSession::start(&Invocation::new("cat")).unwrap();
    session.say("one");
    hear(&mut session, line("one"));
    session.say("zwei ä\r");
    hear(&mut session, line("zwei ä"));
    assert_eq!(
        session.hear(Duration::from_millis(50)).unwrap(),
        SessionEvent::Nothing
    );
    assert_eq!(session.close(SOON).unwrap(), CommandStatus::Exited(0));
}

#[test]
fn output_before_the_end_is_returned_before_the_end() {
    let script = "echo out; echo err >&2; printf half; exit 3";
    let mut session = CommandSession::start(&shell(script)).unwrap();
    let mut heard = Vec::new();
    loop {
        match session.hear(SOON).unwrap() {
            SessionEvent::Ended(status) => {
                assert_eq!(status, CommandStatus::Exited(3));
                break;
            }
            SessionEvent::Line(stream, text) => heard.push((stream, text)),
            other => panic!("{other:?}"),
        }
    }
    for (stream, text) in [
        (OutputStream::Stdout, "out"),
        (OutputStream::Stderr, "err"),
        (OutputStream::Stdout, "half"),
    ] {
        assert!(heard.contains(&(stream, text.to_owned())), "{heard:?}");
    }
    // A second read still returns the end, and further input is dropped.
    session.say("hello?");
    hear(&mut session, SessionEvent::Ended(CommandStatus::Exited(3)));
}

#[test]
fn much_goes_through_in_both_directions_at_once() {
    let mut session =
        CommandSession::start(&Invocation::new("cat").output_bytes_max(16 << 20)).unwrap();
    let long = "x".repeat(8 << 20);
    session.say(&long);
    hear(&mut session, line(&long));
}

#[test]
fn a_line_over_the_limit_is_dropped_and_the_next_one_heard() {
    let mut session = CommandSession::start(&Invocation::new("cat").output_bytes_max(100)).unwrap();
    session.say(&"x".repeat(200_000));
    session.say("short");
    hear(&mut session, SessionEvent::Overlong(OutputStream::Stdout));
    hear(&mut session, line("short"));
}

#[test]
fn one_that_does_not_want_to_end_is_ended() {
    let began = Instant::now();
    let session = CommandSession::start(&shell("trap '' TERM; while :; do sleep 1; done")).unwrap();
    assert_eq!(
        session.close(Duration::from_millis(100)).unwrap(),
        CommandStatus::TimedOut
    );
    assert!(began.elapsed() < Duration::from_secs(8));
}

#[test]
fn nothing_is_left_behind() {
    let mut session = CommandSession::start(&shell("sleep 1000 & echo $!; cat")).unwrap();
    let SessionEvent::Line(_, grandchild) = session.hear(SOON).unwrap() else {
        panic!("it says its number");
    };
    drop(session);
    let began = Instant::now();
    let alive = || {
        std::path::Path::new(&format!("/proc/{grandchild}/cmdline")).exists()
            && std::fs::read(format!("/proc/{grandchild}/cmdline"))
                .is_ok_and(|line| !line.is_empty())
    };
    while alive() {
        assert!(began.elapsed() < SOON, "{grandchild} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn cancelling_is_heard() {
    let cancel = CommandCancel::default();
    let mut session =
        CommandSession::start(&Invocation::new("cat").cancel(cancel.clone())).unwrap();
    cancel.cancel();
    hear(&mut session, SessionEvent::Cancelled);
}

#[test]
fn a_failed_start_gives_the_reason() {
    let missing = CommandSession::start(&Invocation::new("no-such-program-here"));
    let Err(error) = missing else {
        panic!("it starts")
    };
    assert_eq!(error.kind(), ExecErrorKind::ProgramNotFound);
}
