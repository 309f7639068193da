//! Retry, fallback, budget, record and replay, around clients that talk to scripted servers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use llm::budget::{Budget, Entry, Ledger, Limit, Meter, Metered, Purse, Spent};
use llm::price::{Prices, Rates};
use llm::record::{Record, Replay, Tape, name};
use llm::retry::{Retry, RetryLimits};
use llm::router::Router;
use llm::{Code, Cost, Model, Provider, Request, Secret};

use crate::scripted::{Act, Scripted, hello, json, reply, stream, stream_cut};
use crate::support::{KEY, Mode, Watcher, ask, assert_no_key, client};

const QUICK: RetryLimits = RetryLimits {
    attempts_max: 4,
    first_wait_ms: 20,
    wait_ms_max: 300,
    total_ms_max: 2_000,
};

fn retrying(server: &Scripted, limits: RetryLimits) -> Retry<llm::Client> {
    Retry::new(client(Provider::Anthropic, &server.url), limits)
}

fn failing(status: u16, headers: &[(&str, &str)]) -> Vec<Act> {
    reply(
        status,
        headers,
        r#"{"error":{"type":"x","message":"not now"}}"#,
    )
}

fn good() -> Vec<Act> {
    json(hello(Provider::Anthropic).0)
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_said() {
    let server = Scripted::start(vec![
        failing(529, &[]),
        failing(500, &[]),
        vec![Act::Break],
        good(),
    ]);
    let mut watcher = Watcher::new(Mode::Whole);
    let response = ask(
        &retrying(&server, QUICK),
        &Request::ask("m", "q"),
        &mut watcher,
    )
    .await
    .unwrap();
    assert_eq!(response.text(), "Hello.");
    assert_eq!(server.received().len(), 4);
    let waits: Vec<_> = watcher
        .seen
        .iter()
        .filter(|line| line.starts_with("waiting"))
        .collect();
    assert_eq!(waits.len(), 3);
    assert!(
        waits[0].starts_with("waiting 1/4 ") && waits[0].contains("AI_PROVIDER_UNAVAILABLE"),
        "{waits:?}"
    );
    assert!(waits[2].contains("AI_TRANSPORT_FAILED"), "{waits:?}");
}

#[tokio::test]
async fn a_cut_stream_is_begun_again_and_the_observer_told_so() {
    let streamed = hello(Provider::Anthropic).1;
    let server = Scripted::start(vec![
        stream_cut(streamed, streamed.find("lo.").unwrap()),
        stream(streamed),
    ]);
    let mut watcher = Watcher::new(Mode::Streamed);
    let response = ask(
        &retrying(&server, QUICK),
        &Request::ask("m", "q"),
        &mut watcher,
    )
    .await
    .unwrap();
    assert_eq!(response.text(), "Hello.");
    assert_eq!(watcher.seen.len(), 4);
    assert_eq!(watcher.seen[0], "text Hel");
    assert!(
        watcher.seen[1].starts_with("waiting 1/4"),
        "{:?}",
        watcher.seen
    );
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_kept() {
    let server = Scripted::start(vec![failing(429, &[("retry-after-ms", "250")]), good()]);
    let began = Instant::now();
    let mut watcher = Watcher::new(Mode::Whole);
    ask(
        &retrying(&server, QUICK),
        &Request::ask("m", "q"),
        &mut watcher,
    )
    .await
    .unwrap();
    assert!(began.elapsed() >= Duration::from_millis(250));
    assert!(
        watcher.seen[0].starts_with("waiting 1/4 250 ms AI_RATE_LIMITED"),
        "{:?}",
        watcher.seen
    );
}

/// Fails with these answers; the calls made and the limit in the message are as said.
async fn check_given_up(answers: Vec<Vec<Act>>, limits: RetryLimits, calls: usize, said: &str) {
    let server = Scripted::start(answers);
    let began = Instant::now();
    let error = ask(
        &retrying(&server, limits),
        &Request::ask("m", "q"),
        &mut Watcher::new(Mode::Whole),
    )
    .await;
    let error = error.expect_err(said);
    assert!(began.elapsed() < Duration::from_secs(3), "{said}");
    assert_eq!(server.received().len(), calls, "{error}");
    assert!(error.to_string().contains(said), "{error}");
}

#[tokio::test]
async fn retries_end_and_the_error_names_the_limit() {
    check_given_up(
        vec![failing(503, &[])],
        QUICK,
        4,
        "given up after 4 attempts: limit `attempts_max` = 4",
    )
    .await;
    let long = vec![failing(429, &[("retry-after", "3600")])];
    check_given_up(
        long,
        QUICK,
        1,
        "it asks to wait 3600000 ms, limit `wait_ms_max` = 300",
    )
    .await;
    let little = RetryLimits {
        attempts_max: 100,
        total_ms_max: 100,
        ..QUICK
    };
    let server = vec![failing(429, &[("retry-after-ms", "250")])];
    check_given_up(server, little, 1, "limit `total_ms_max` = 100").await;
    let once = RetryLimits {
        attempts_max: 1,
        ..QUICK
    };
    check_given_up(vec![failing(500, &[])], once, 1, "after 1 attempt:").await;
}

#[tokio::test]
async fn what_cannot_succeed_is_asked_once() {
    for status in [400, 401, 403, 404, 413, 422] {
        check_given_up(vec![failing(status, &[])], QUICK, 1, "not now").await;
    }
    check_given_up(vec![json("{}")], QUICK, 1, "not an answer of its API").await;
    let filter = reply(
        400,
        &[],
        r#"{"error":{"code":"content_filter","message":"no"}}"#,
    );
    check_given_up(vec![filter], QUICK, 1, "filter").await;
    let quota = reply(
        429,
        &[("retry-after", "0")],
        r#"{"error":{"type":"insufficient_quota","message":"pay"}}"#,
    );
    check_given_up(vec![quota], QUICK, 1, "waiting does not help").await;
}

fn routed(first: &Scripted, second: &Scripted) -> Router {
    let model =
        |server: &Scripted, provider| -> Arc<dyn Model> { Arc::new(client(provider, &server.url)) };
    let fallback = ("other".to_owned(), model(second, Provider::OpenAi));
    Router::new(
        ("first".to_owned(), model(first, Provider::Anthropic)),
        vec![fallback],
    )
}

#[tokio::test]
async fn fallbacks_are_asked_when_the_provider_fails() {
    for answer in [
        failing(503, &[]),
        failing(429, &[]),
        failing(404, &[]),
        vec![Act::Break],
        json("{}"),
    ] {
        let first = Scripted::start(vec![answer]);
        let second = Scripted::start(vec![json(hello(Provider::OpenAi).0)]);
        let mut watcher = Watcher::new(Mode::Whole);
        let response = ask(
            &routed(&first, &second),
            &Request::ask("x", "q"),
            &mut watcher,
        )
        .await
        .unwrap();
        assert_eq!(response.provider, Provider::OpenAi);
        assert!(
            watcher.seen[0].starts_with("fallback first -> other: "),
            "{:?}",
            watcher.seen
        );
        assert_eq!(first.received()[0].body["model"], "first");
        assert_eq!(second.received()[0].body["model"], "other");
    }
}

#[tokio::test]
async fn fallbacks_are_not_asked_for_our_own_mistakes() {
    for status in [400, 401, 413] {
        let first = Scripted::start(vec![failing(status, &[])]);
        let second = Scripted::start(vec![json(hello(Provider::OpenAi).0)]);
        ask(
            &routed(&first, &second),
            &Request::ask("x", "q"),
            &mut Watcher::new(Mode::Whole),
        )
        .await
        .unwrap_err();
        assert!(second.received().is_empty());
    }
    let (first, second) = (
        Scripted::start(vec![failing(500, &[])]),
        Scripted::start(vec![failing(529, &[])]),
    );
    let error = ask(
        &routed(&first, &second),
        &Request::ask("x", "q"),
        &mut Watcher::new(Mode::Whole),
    )
    .await;
    assert!(
        error
            .unwrap_err()
            .to_string()
            .starts_with("openai cannot answer now"),
        "the last word"
    );
}

fn prices() -> Prices {
    let rates = Rates {
        input: 1_000.0,
        output: 10_000.0,
        cache_read: None,
        cache_write: None,
    };
    Prices::new(
        UNIX_EPOCH + Duration::from_secs(1_794_000_000),
        BTreeMap::from([("m".to_owned(), rates)]),
    )
}

fn metered(server: &Scripted, meter: &Arc<Meter>) -> Metered<llm::Client> {
    let client = client(Provider::Anthropic, &server.url);
    Metered::new(
        client,
        Arc::clone(meter),
        Provider::Anthropic,
        Some(server.url.clone()),
    )
}

fn short(model: &str) -> Request {
    let mut request = Request::ask(model, "q");
    request.max_tokens = 10;
    request
}

#[tokio::test]
async fn calls_are_counted_for_the_run_and_the_day() {
    let streamed = hello(Provider::Anthropic).1;
    let cut = stream_cut(streamed, streamed.find("lo.").unwrap());
    let unreported =
        json(r#"{"content":[{"type":"text","text":"1234567"}],"stop_reason":"end_turn"}"#);
    let server = Scripted::start(vec![good(), cut, unreported]);
    let before = Spent {
        calls: 5,
        tokens: 100,
        micro_usd: 7,
        unpriced_calls: 0,
    };
    let meter = Arc::new(Meter::new(Budget::default(), prices(), before));
    let model = metered(&server, &meter);
    ask(&model, &short("m"), &mut Watcher::new(Mode::Whole))
        .await
        .unwrap();
    // 3 tokens in at 1 000 and 2 out at 10 000 dollars per million.
    assert_eq!(
        meter.run(),
        Spent {
            calls: 1,
            tokens: 5,
            micro_usd: 23_000,
            unpriced_calls: 0
        }
    );
    assert_eq!(
        meter.day(),
        Spent {
            calls: 6,
            tokens: 105,
            micro_usd: 23_007,
            unpriced_calls: 0
        }
    );
    // The cut one had been read by the model and had begun to be answered.
    ask(&model, &short("m"), &mut Watcher::new(Mode::Streamed))
        .await
        .unwrap_err();
    assert_eq!(
        meter.run(),
        Spent {
            calls: 2,
            tokens: 9,
            micro_usd: 36_000,
            unpriced_calls: 0
        }
    );
    // Nothing reported: tokens by size, and the price unknown rather than nothing.
    ask(&model, &short("m"), &mut Watcher::new(Mode::Whole))
        .await
        .unwrap();
    assert_eq!(
        meter.run(),
        Spent {
            calls: 3,
            tokens: 12,
            micro_usd: 36_000,
            unpriced_calls: 1
        }
    );
    assert_eq!(meter.run().cost(), Cost::Unknown);
    let entries = meter.take_entries();
    assert_eq!(entries.len(), 3);
    assert_eq!(
        (entries[0].model.as_str(), entries[0].cost),
        ("m", Cost::Known(23_000))
    );
    assert!(meter.take_entries().is_empty());
}

#[tokio::test]
async fn a_bill_from_the_provider_beats_the_list() {
    let body = r#"{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":10,"completion_tokens":10,"cost":0.00125}}"#;
    let server = Scripted::start(vec![json(body)]);
    let meter = Arc::new(Meter::new(Budget::default(), prices(), Spent::default()));
    let model = Metered::new(
        client(Provider::OpenRouter, &server.url),
        Arc::clone(&meter),
        Provider::OpenRouter,
        None,
    );
    ask(&model, &short("m"), &mut Watcher::new(Mode::Whole))
        .await
        .unwrap();
    assert_eq!(meter.run().cost(), Cost::Known(1_250));
}

/// The budget refuses the call, nothing is sent, and the message says this.
async fn check_refused(budget: Budget, day: Spent, model: &str, said: &str) {
    let server = Scripted::start(vec![good()]);
    let meter = Arc::new(Meter::new(budget, prices(), day));
    let error = ask(
        &metered(&server, &meter),
        &short(model),
        &mut Watcher::new(Mode::Whole),
    )
    .await
    .unwrap_err();
    assert_eq!(error.code, Code::BudgetExceeded);
    assert!(error.to_string().contains(said), "{error}");
    assert!(
        server.received().is_empty(),
        "it is checked before the call"
    );
}

#[tokio::test]
async fn the_budget_is_kept_before_each_call() {
    let limit = |tokens_max, micro_usd_max| Limit {
        tokens_max,
        micro_usd_max,
    };
    let run = |limit| Budget {
        run: limit,
        day: Limit::default(),
    };
    let day = |limit| Budget {
        run: Limit::default(),
        day: limit,
    };
    let spent = Spent {
        calls: 1,
        tokens: 990,
        micro_usd: 900_000,
        unpriced_calls: 0,
    };
    let none = Spent::default();
    let said = "ai.budget.run_tokens_max = 10: 0 tokens are spent and this call may take 11";
    check_refused(run(limit(Some(10), None)), none, "m", said).await;
    let said = "ai.budget.run_usd_max = $0.1000: $0.0000 is spent and this call may cost $0.1010";
    check_refused(run(limit(None, Some(100_000))), none, "m", said).await;
    check_refused(
        day(limit(Some(1_000), None)),
        spent,
        "m",
        "ai.budget.day_tokens_max = 1000: 990 tokens",
    )
    .await;
    check_refused(
        day(limit(None, Some(1_000_000))),
        spent,
        "m",
        "ai.budget.day_usd_max = $1.0000: $0.9000",
    )
    .await;
    let said = "the price of mystery is not known";
    check_refused(run(limit(None, Some(1_000_000))), none, "mystery", said).await;

    // What fits goes through, until it no longer does.
    let server = Scripted::start(vec![good()]);
    let meter = Arc::new(Meter::new(run(limit(Some(20), None)), prices(), none));
    let model = metered(&server, &meter);
    ask(&model, &short("m"), &mut Watcher::new(Mode::Whole))
        .await
        .unwrap();
    ask(&model, &short("m"), &mut Watcher::new(Mode::Whole))
        .await
        .unwrap();
    let error = ask(&model, &short("m"), &mut Watcher::new(Mode::Whole))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("10 tokens are spent"), "{error}");
    assert_eq!(server.received().len(), 2);
}

/// Pays for so many calls, and notes what each was expected to cost and has cost.
#[derive(Debug)]
struct Allowance {
    calls_max: usize,
    seen: Mutex<Vec<(&'static str, Cost)>>,
}

impl Purse for Allowance {
    fn allow(&self, expected: Cost) -> Result<(), llm::Error> {
        let mut seen = self.seen.lock().unwrap();
        seen.push(("allow", expected));
        let paid = seen.iter().filter(|(what, _)| *what == "pay").count();
        match paid < self.calls_max {
            true => Ok(()),
            false => Err(llm::Error::new(
                Code::BudgetExceeded,
                "all is spent",
                "Wait.",
            )),
        }
    }

    fn pay(&self, entry: &Entry) {
        self.seen.lock().unwrap().push(("pay", entry.cost));
    }
}

#[tokio::test]
async fn a_purse_is_asked_before_each_call_and_told_after_it() {
    let server = Scripted::start(vec![good()]);
    let purse = Arc::new(Allowance {
        calls_max: 1,
        seen: Mutex::default(),
    });
    let meter = Meter::new(Budget::default(), prices(), Spent::default());
    let meter = Arc::new(meter.with_purse(Some(Arc::<Allowance>::clone(&purse))));
    let model = metered(&server, &meter);
    ask(&model, &short("m"), &mut Watcher::new(Mode::Whole))
        .await
        .unwrap();
    let error = ask(&model, &short("mystery"), &mut Watcher::new(Mode::Whole))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::BudgetExceeded);
    assert_eq!(
        server.received().len(),
        1,
        "nothing is sent that is not paid"
    );
    let seen = purse.seen.lock().unwrap();
    let words: Vec<&str> = seen.iter().map(|(what, _)| *what).collect();
    assert_eq!(words, ["allow", "pay", "allow"]);
    assert_ne!(seen[0].1, Cost::Unknown);
    assert_eq!(
        seen[2].1,
        Cost::Unknown,
        "a price that nobody knows is said to be so"
    );
}

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<HashMap<String, String>>>);

impl Tape for Memory {
    fn get(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }

    fn put(&self, name: &str, text: &str) -> Result<(), String> {
        self.0
            .lock()
            .unwrap()
            .insert(name.to_owned(), text.to_owned());
        Ok(())
    }
}

#[tokio::test]
async fn a_recorded_run_is_played_back_without_a_server() {
    let echo = format!(
        r#"{{"content":[{{"type":"text","text":"your key is {KEY}"}}],"stop_reason":"end_turn"}}"#
    );
    let second = hello(Provider::Anthropic).0.replace("Hello.", "Again.");
    let server = Scripted::start(vec![good(), json(&second), json(&echo)]);
    let tape = Memory::default();
    let record = Record::new(
        client(Provider::Anthropic, &server.url),
        tape.clone(),
        vec![Secret::new(KEY)],
    );
    let (plain, telling) = (
        Request::ask("m", "q"),
        Request::ask("m", format!("my key is {KEY}")),
    );
    let mut answers = Vec::new();
    for _ in 0..2 {
        answers.push(
            ask(&record, &plain, &mut Watcher::new(Mode::Whole))
                .await
                .unwrap(),
        );
    }
    let mut silent = llm::Silent;
    record.respond(&telling, &mut silent).await.unwrap();
    for text in tape.0.lock().unwrap().values() {
        assert_no_key(text);
    }

    let replay = Replay::new(tape.clone());
    let mut watcher = Watcher::new(Mode::Streamed);
    // The third time is one more than was recorded: the last answer stands.
    for expected in [&answers[0], &answers[1], &answers[1]] {
        assert_eq!(&ask(&replay, &plain, &mut watcher).await.unwrap(), expected);
    }
    assert_eq!(watcher.seen, ["text Hello.", "text Again.", "text Again."]);
    assert!(
        ask(&replay, &telling, &mut Watcher::new(Mode::Whole))
            .await
            .unwrap()
            .text()
            .contains("[key removed]")
    );
    assert_eq!(server.received().len(), 3);

    let error = ask(
        &replay,
        &Request::ask("m", "something else"),
        &mut Watcher::new(Mode::Whole),
    )
    .await
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no recording of this request to m"),
        "{error}"
    );
    assert!(
        error.to_string().contains("something else") && error.to_string().contains("--record"),
        "{error}"
    );
    tape.put(&name(&plain).unwrap(), "{").unwrap();
    let error = ask(&Replay::new(tape), &plain, &mut Watcher::new(Mode::Whole))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[test]
fn a_recording_is_found_by_what_was_asked_and_nothing_else() {
    let with = |schema: &str| {
        let mut request = Request::ask("m", "q");
        let schema = serde_json::from_str(schema).unwrap();
        request.output = llm::Output::Json {
            name: "a".into(),
            schema,
        };
        name(&request).unwrap()
    };
    assert_eq!(
        with(r#"{"a":1,"b":{"c":2,"d":3}}"#),
        with(r#"{"b":{"d":3,"c":2},"a":1}"#)
    );
    assert_ne!(with(r#"{"a":1}"#), with(r#"{"a":2}"#));
    assert_ne!(
        name(&Request::ask("m", "q")).unwrap(),
        name(&Request::ask("n", "q")).unwrap()
    );
    // Recordings are kept with projects: the name must not change by accident.
    let pinned = name(&Request::ask("m", "q")).unwrap();
    assert_eq!(
        pinned,
        "d0741e86c63eb55bd03f0cc4a89646bca682a56be35872cb12c25eca7647b825"
    );
}

/// A ledger that others write to as well.
struct Shared(Arc<Mutex<Result<Spent, String>>>);

impl Ledger for Shared {
    fn day(&self) -> Result<Spent, String> {
        self.0.lock().unwrap().clone()
    }

    fn book(&self, entry: &Entry) {
        if let Ok(spent) = &mut *self.0.lock().unwrap() {
            spent.add(entry.usage.total(), entry.cost);
        }
    }
}

#[tokio::test]
async fn the_day_is_read_from_the_ledger_before_each_call() {
    let server = Scripted::start(vec![good()]);
    let ledger = Arc::new(Mutex::new(Ok(Spent::default())));
    let budget = Budget {
        day: Limit {
            tokens_max: Some(10_000),
            ..Limit::default()
        },
        ..Budget::default()
    };
    let meter = Meter::new(budget, prices(), Spent::default())
        .with_ledger(Box::new(Shared(Arc::clone(&ledger))));
    let client = client(Provider::Anthropic, &server.url);
    let model = Metered::new(client, Arc::new(meter), Provider::Anthropic, None);
    let request = Request::ask("m", "q");
    let mut watcher = Watcher::new(Mode::Whole);
    ask(&model, &request, &mut watcher).await.unwrap();
    assert_eq!(ledger.lock().unwrap().as_ref().unwrap().calls, 1);
    // Another process spends.
    *ledger.lock().unwrap() = Ok(Spent {
        tokens: 9_999,
        ..Spent::default()
    });
    let error = ask(&model, &request, &mut watcher).await.unwrap_err();
    assert_eq!(error.code, Code::BudgetExceeded);
    assert!(
        error.to_string().contains("9999 tokens are spent"),
        "{error}"
    );
    // What cannot be read is not taken for nothing.
    *ledger.lock().unwrap() = Err("the ledger is a folder".into());
    let error = ask(&model, &request, &mut watcher).await.unwrap_err();
    assert_eq!(error.code, Code::BudgetExceeded);
    assert!(
        error.to_string().contains("the ledger is a folder"),
        "{error}"
    );
    assert_eq!(server.received().len(), 1);
}
