//! What models cost, written down by every process and added up.

use serde_json::Value;

use crate::test_project::{TestProject, mock};

const PRICED: &str = "[ai.prices.\"claude-sonnet-4-5\"]\ninput = 3\noutput = 15\n";

fn priced(more: &str) -> TestProject {
    let shop = TestProject::api("anthropic", "claude-sonnet-4-5", mock());
    let settings = shop.project.read("drawloom.toml");
    shop.project
        .write("drawloom.toml", &format!("{settings}{more}{PRICED}"));
    shop
}

fn cost(shop: &TestProject, line: &str) -> Value {
    let ran = shop.run(&format!("cost --json {line}"));
    assert_eq!(ran.exit, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn every_call_is_a_line_and_a_torn_one_is_passed_over() {
    let shop = priced("");
    assert!(shop.run("cost").err.contains("no model was asked"));
    let ran = shop.generates("run card Customer");
    // 2 × (1000 × 3 + 200 × 15) / 1 000 000.
    assert!(ran.err.contains("$0.0120"), "{}", ran.err);
    let path = shop.only_file(".drawloom/ledger");
    let text = shop.project.read(&path);
    assert_eq!(text.lines().count(), 2);
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    for (key, value) in [
        ("purpose", "answer"),
        ("provider", "anthropic"),
        ("counted", "by_provider"),
    ] {
        assert_eq!(line[key], value);
    }
    assert_eq!(line["micro_usd"], 6000);
    for bucket in ["input", "output", "cache_read", "cache_write", "reasoning"] {
        assert!(line[bucket].is_u64(), "{bucket}: {line}");
    }

    shop.project
        .write(&path, &format!("{text}{{\"time\": \"2026"));
    shop.run("ai ask 'Name three colours.'");
    let sums = cost(&shop, "--by purpose");
    assert_eq!(sums["unreadable_lines"], 1);
    assert_eq!(sums["total"]["calls"], 3);
    assert_eq!(sums["sums"][0]["purpose"], "answer");
    assert_eq!(sums["sums"][1]["purpose"], "ask");
    assert_eq!(sums["total"]["micro_usd"], 18_000);

    let ran = shop.run("cost --by model");
    assert!(
        ran.out.contains("anthropic/claude-sonnet-4-5"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("$0.0180"), "{}", ran.out);
    assert!(
        ran.err.contains("1 line of the ledger could not be read"),
        "{}",
        ran.err
    );
}

#[test]
fn days_are_chosen_and_named() {
    let shop = priced("");
    shop.generates("run card Customer");
    let today = shop.only_file(".drawloom/ledger");
    let old = shop.project.read(&today);
    shop.project
        .write(".drawloom/ledger/2020-01-02.jsonl", &old);
    assert_eq!(cost(&shop, "")["total"]["calls"], 4);
    assert_eq!(cost(&shop, "--since today")["total"]["calls"], 2);
    assert_eq!(cost(&shop, "--since 2w")["total"]["calls"], 2);
    assert_eq!(cost(&shop, "--since 2020-01-02")["total"]["calls"], 4);
    assert_eq!(cost(&shop, "--since 2020-01-03")["total"]["calls"], 2);
    assert_eq!(cost(&shop, "")["sums"][0]["day"], "2020-01-02");
    let ran = shop.run("cost --since soon");
    assert_eq!(ran.exit, 64);
    assert!(
        ran.err.contains("`soon` is not a day") && ran.err.contains("hint:"),
        "{}",
        ran.err
    );
}

#[test]
fn an_unknown_price_is_unknown_and_not_nothing() {
    let shop = TestProject::api("compatible", "anything", &format!("{}/v1", mock()));
    let ran = shop.generates("run card Customer");
    assert!(ran.err.contains("cost unknown"), "{}", ran.err);
    let sums = cost(&shop, "");
    assert_eq!(sums["total"]["micro_usd"], Value::Null);
    assert_eq!(sums["total"]["unpriced_calls"], 2);
    assert!(shop.run("cost").out.contains("unknown"));
}

#[test]
fn processes_share_the_budget_of_the_day() {
    // Each run takes 2 calls of 1200 tokens; a third run does not fit any more.
    let shop = priced("[ai.budget]\nday_tokens_max = 10500\n");
    let children: Vec<_> = ["One", "Two"]
        .iter()
        .map(|name| {
            let mut command = shop.command(&format!("run card {name} --skip-existing"));
            command
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let done = child.wait_with_output().unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    assert_eq!(cost(&shop, "")["total"]["calls"], 4);
    let ran = shop.run("run card Three --skip-existing");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let ran = shop.run("run card Four --skip-existing");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    assert!(ran.err.contains("AI_BUDGET_EXCEEDED"), "{}", ran.err);
    assert!(
        ran.err
            .contains("ai.budget.day_tokens_max = 10500: 7200 tokens are spent"),
        "{}",
        ran.err
    );
    assert_eq!(cost(&shop, "")["total"]["calls"], 6, "nobody was asked");
}

#[test]
fn a_ledger_that_cannot_be_written_is_said_and_stops_no_run() {
    let shop = priced("");
    shop.project
        .write(".drawloom/ledger", "a file, and no folder\n");
    let ran = shop.generates("run card Customer");
    assert!(
        ran.err
            .contains("warning: the call could not be written into .drawloom/ledger"),
        "{}",
        ran.err
    );
}
