//! Ctrl-C ends every wait soon, and says that it did.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use llm::Provider;

use crate::support::{Case, word};

#[track_caller]
fn check(mut case: Case<'_>) {
    case.setup.timeout = Duration::from_secs(60);
    let cancel = case.cancel.clone();
    let pressed = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        cancel.cancel();
    });
    let began = Instant::now();
    let error = case.failed("AI_TRANSPORT_FAILED", "was cancelled");
    assert!(error.is_cancelled());
    assert!(began.elapsed() < Duration::from_secs(5));
    pressed.join().unwrap();
}

#[test]
fn every_wait_can_be_cancelled() {
    check(Case::command("sleep 60"));
    let peer = word("tests/data/peer.py");
    check(Case::stdio(&format!("python3 {peer} silent")));
    // It accepts and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut case = Case::api(Provider::OpenAi, "gpt-good");
    case.setup.base_url = Some(format!("http://{}/v1", listener.local_addr().unwrap()));
    check(case);
}
