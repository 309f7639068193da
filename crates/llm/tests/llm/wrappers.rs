//! Retry, fallback, budget, record and replay, around clients that talk to scripted servers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use llm::budget::{
    Meter, MeteredModel, SpendBudget, SpendEntry, SpendGuard, SpendLimit, SpendLog, SpentTotal,
};
use llm::price::{PriceList, TokenRates};
use llm::record::{RecordingModel, ReplayModel, Tape, name};
use llm::retry::{RetryLimits, RetryingModel};
use llm::router::ModelRouter;
use llm::{AiErrorCode, CallCost, Model, ModelRequest, Provider, Secret};

use crate::scripted::{ProviderAct, ScriptedProvider, hello, json, reply, stream, stream_cut};
use crate::support::{KEY, ModelWatcher, StreamMode, ask, assert_no_key, client};

const QUICK: RetryLimits = RetryLimits {
    attempts_max: 4,
    first_wait_ms: 20,
    wait_ms_max: 300,
    total_ms_max: 2_000,
};

fn retrying(server: &ScriptedProvider, limits: RetryLimits) -> RetryingModel<llm::ProviderClient> {
    RetryingModel::new(client(Provider::Anthropic, &server.url), limits)
}

fn failing(status: u16, headers: &[(&str, &str)]) -> Vec<ProviderAct> {
    reply(
        status,
        headers,
        r#"{"error":{"type":"x","message":"not now"}}"#,
    )
}

fn good() -> Vec<ProviderAct> {
    json(hello(Provider::Anthropic).0)
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_said() {
    let server = ScriptedProvider::start(vec![
        failing(529, &[]),
        failing(500, &[]),
        vec![ProviderAct::Break],
        good(),
    ]);
    let mut watcher = ModelWatcher::new(StreamMode::Whole);
    let response = ask(
        &retrying(&server, QUICK),
        &ModelRequest::ask("m", "q"),
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
    let server = ScriptedProvider::start(vec![
        stream_cut(streamed, streamed.find("lo.").unwrap()),
        stream(streamed),
    ]);
    let mut watcher = ModelWatcher::new(StreamMode::Streamed);
    let response = ask(
        &retrying(&server, QUICK),
        &ModelRequest::ask("m", "q"),
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
    let server = ScriptedProvider::start(vec![failing(429, &[("retry-after-ms", "250")]), good()]);
    let began = Instant::now();
    let mut watcher = ModelWatcher::new(StreamMode::Whole);
    ask(
        &retrying(&server, QUICK),
        &ModelRequest::ask("m", "q"),
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
async fn check_given_up(
    answers: Vec<Vec<ProviderAct>>,
    limits: RetryLimits,
    calls: usize,
    said: &str,
) {
    let server = ScriptedProvider::start(answers);
    let began = Instant::now();
    let error = ask(
        &retrying(&server, limits),
        &ModelRequest::ask("m", "q"),
        &mut ModelWatcher::new(StreamMode::Whole),
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

fn routed(first: &ScriptedProvider, second: &ScriptedProvider) -> ModelRouter {
    let model = |server: &ScriptedProvider, provider| -> Arc<dyn Model> {
        Arc::new(client(provider, &server.url))
    };
    let fallback = ("other".to_owned(), model(second, Provider::OpenAi));
    ModelRouter::new(
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
        vec![ProviderAct::Break],
        json("{}"),
    ] {
        let first = ScriptedProvider::start(vec![answer]);
        let second = ScriptedProvider::start(vec![json(hello(Provider::OpenAi).0)]);
        let mut watcher = ModelWatcher::new(StreamMode::Whole);
        let response = ask(
            &routed(&first, &second),
            &ModelRequest::ask("x", "q"),
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
        let first = ScriptedProvider::start(vec![failing(status, &[])]);
        let second = ScriptedProvider::start(vec![json(hello(Provider::OpenAi).0)]);
        ask(
            &routed(&first, &second),
            &ModelRequest::ask("x", "q"),
            &mut ModelWatcher::new(StreamMode::Whole),
        )
        .await
        .unwrap_err();
        assert!(second.received().is_empty());
    }
    let (first, second) = (
        ScriptedProvider::start(vec![failing(500, &[])]),
        ScriptedProvider::start(vec![failing(529, &[])]),
    );
    let error = ask(
        &routed(&first, &second),
        &ModelRequest::ask("x", "q"),
        &mut ModelWatcher::new(StreamMode::Whole),
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

fn prices() -> PriceList {
    let rates = TokenRates {
        input: 1_000.0,
        output: 10_000.0,
        cache_read: None,
        cache_write: None,
    };
    PriceList::new(
        UNIX_EPOCH + Duration::from_secs(1_794_000_000),
        BTreeMap::from([("m".to_owned(), rates)]),
    )
}

fn metered(server: &ScriptedProvider, meter: &Arc<Meter>) -> MeteredModel<llm::ProviderClient> {
    let client = client(Provider::Anthropic, &server.url);
    MeteredModel::new(
        client,
        Arc::clone(meter),
        Provider::Anthropic,
        Some(server.url.clone()),
    )
}

fn short(model: &str) -> ModelRequest {
    let mut request = ModelRequest::ask(model, "q");
    request.max_tokens = 10;
    request
}

// tidy: allow long-function, because it is one story from call to call
#[expect(clippy::too_many_lines, reason = "it is one story from call to call")]
#[tokio::test]
async fn calls_are_counted_for_the_run_and_the_day() {
    let streamed = hello(Provider::Anthropic).1;
    let cut = stream_cut(streamed, streamed.find("lo.").unwrap());
    let unreported =
        json(r#"{"content":[{"type":"text","text":"1234567"}],"stop_reason":"end_turn"}"#);
    let server = ScriptedProvider::start(vec![good(), cut, unreported]);
    let before = SpentTotal {
        calls: 5,
        tokens: 100,
        micro_usd: 7,
        unpriced_calls: 0,
    };
    let meter = Arc::new(Meter::new(SpendBudget::default(), prices(), before));
    let model = metered(&server, &meter);
    ask(
        &model,
        &short("m"),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap();
    // 3 tokens in at 1 000 and 2 out at 10 000 dollars per million.
    assert_eq!(
        meter.run(),
        SpentTotal {
            calls: 1,
            tokens: 5,
            micro_usd: 23_000,
            unpriced_calls: 0
        }
    );
    assert_eq!(
        meter.day(),
        SpentTotal {
            calls: 6,
            tokens: 105,
            micro_usd: 23_007,
            unpriced_calls: 0
        }
    );
    // The cut one had been read by the model and had begun to be answered.
    ask(
        &model,
        &short("m"),
        &mut ModelWatcher::new(StreamMode::Streamed),
    )
    .await
    .unwrap_err();
    assert_eq!(
        meter.run(),
        SpentTotal {
            calls: 2,
            tokens: 9,
            micro_usd: 36_000,
            unpriced_calls: 0
        }
    );
    // Nothing reported: tokens by size, and the price unknown rather than nothing.
    ask(
        &model,
        &short("m"),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap();
    assert_eq!(
        meter.run(),
        SpentTotal {
            calls: 3,
            tokens: 12,
            micro_usd: 36_000,
            unpriced_calls: 1
        }
    );
    assert_eq!(meter.run().cost(), CallCost::Unknown);
    let entries = meter.take_entries();
    assert_eq!(entries.len(), 3);
    assert_eq!(
        (entries[0].model.as_str(), entries[0].cost),
        ("m", CallCost::Known(23_000))
    );
    assert!(meter.take_entries().is_empty());
}

#[tokio::test]
async fn a_bill_from_the_provider_beats_the_list() {
    let body = r#"{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":10,"completion_tokens":10,"cost":0.00125}}"#;
    let server = ScriptedProvider::start(vec![json(body)]);
    let meter = Arc::new(Meter::new(
        SpendBudget::default(),
        prices(),
        SpentTotal::default(),
    ));
    let model = MeteredModel::new(
        client(Provider::OpenRouter, &server.url),
        Arc::clone(&meter),
        Provider::OpenRouter,
        None,
    );
    ask(
        &model,
        &short("m"),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap();
    assert_eq!(meter.run().cost(), CallCost::Known(1_250));
}

/// The budget refuses the call, nothing is sent, and the message says this.
async fn check_refused(budget: SpendBudget, day: SpentTotal, model: &str, said: &str) {
    let server = ScriptedProvider::start(vec![good()]);
    let meter = Arc::new(Meter::new(budget, prices(), day));
    let error = ask(
        &metered(&server, &meter),
        &short(model),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap_err();
    assert_eq!(error.code, AiErrorCode::BudgetExceeded);
    assert!(error.to_string().contains(said), "{error}");
    assert!(
        server.received().is_empty(),
        "it is checked before the call"
    );
}

#[tokio::test]
async fn the_budget_is_kept_before_each_call() {
    let limit = |tokens_max, micro_usd_max| SpendLimit {
        tokens_max,
        micro_usd_max,
    };
    let run = |limit| SpendBudget {
        run: limit,
        day: SpendLimit::default(),
    };
    let day = |limit| SpendBudget {
        run: SpendLimit::default(),
        day: limit,
    };
    let spent = SpentTotal {
        calls: 1,
        tokens: 990,
        micro_usd: 900_000,
        unpriced_calls: 0,
    };
    let none = SpentTotal::default();
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
    let server = ScriptedProvider::start(vec![good()]);
    let meter = Arc::new(Meter::new(run(limit(Some(20), None)), prices(), none));
    let model = metered(&server, &meter);
    ask(
        &model,
        &short("m"),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap();
    ask(
        &model,
        &short("m"),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap();
    let error = ask(
        &model,
        &short("m"),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap_err();
    assert!(error.to_string().contains("10 tokens are spent"), "{error}");
    assert_eq!(server.received().len(), 2);
}

/// Pays for so many calls, and notes what each was expected to cost and has cost.
#[derive(Debug)]
struct TestGuard {
    calls_max: usize,
    seen: Mutex<Vec<(&'static str, CallCost)>>,
}

impl SpendGuard for TestGuard {
    fn allow(&self, expected: CallCost) -> Result<(), llm::Error> {
        let mut seen = self.seen.lock().unwrap();
        seen.push(("allow", expected));
        let paid = seen.iter().filter(|(what, _)| *what == "pay").count();
        match paid < self.calls_max {
            true => Ok(()),
            false => Err(llm::Error::new(
                AiErrorCode::BudgetExceeded,
                "all is spent",
                "Wait.",
            )),
        }
    }

    fn pay(&self, entry: &SpendEntry) {
        self.seen.lock().unwrap().push(("pay", entry.cost));
    }
}

#[tokio::test]
async fn a_purse_is_asked_before_each_call_and_told_after_it() {
    let server = ScriptedProvider::start(vec![good()]);
    let purse = Arc::new(TestGuard {
        calls_max: 1,
        seen: Mutex::default(),
    });
    let meter = Meter::new(SpendBudget::default(), prices(), SpentTotal::default());
    let meter = Arc::new(meter.with_purse(Some(Arc::<TestGuard>::clone(&purse))));
    let model = metered(&server, &meter);
    ask(
        &model,
        &short("m"),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap();
    let error = ask(
        &model,
        &short("mystery"),
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap_err();
    assert_eq!(error.code, AiErrorCode::BudgetExceeded);
    assert_eq!(
        server.received().len(),
        1,
        "nothing is sent that is not paid"
    );
    let seen = purse.seen.lock().unwrap();
    let words: Vec<&str> = seen.iter().map(|(what, _)| *what).collect();
    assert_eq!(words, ["allow", "pay", "allow"]);
    assert_ne!(seen[0].1, CallCost::Unknown);
    assert_eq!(
        seen[2].1,
        CallCost::Unknown,
        "a price that nobody knows is said to be so"
    );
}

#[derive(Clone, Default)]
struct MemoryTape(Arc<Mutex<HashMap<String, String>>>);

impl Tape for MemoryTape {
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
    let server = ScriptedProvider::start(vec![good(), json(&second), json(&echo)]);
    let tape = MemoryTape::default();
    let record = RecordingModel::new(
        client(Provider::Anthropic, &server.url),
        tape.clone(),
        vec![Secret::new(KEY)],
    );
    let (plain, telling) = (
        ModelRequest::ask("m", "q"),
        ModelRequest::ask("m", format!("my key is {KEY}")),
    );
    let mut answers = Vec::new();
    for _ in 0..2 {
        answers.push(
            ask(&record, &plain, &mut ModelWatcher::new(StreamMode::Whole))
                .await
                .unwrap(),
        );
    }
    let mut silent = llm::NoModelObserver;
    record.respond(&telling, &mut silent).await.unwrap();
    for text in tape.0.lock().unwrap().values() {
        assert_no_key(text);
    }

    let replay = ReplayModel::new(tape.clone());
    let mut watcher = ModelWatcher::new(StreamMode::Streamed);
    // The third time is one more than was recorded: the last answer is repeated.
    for expected in [&answers[0], &answers[1], &answers[1]] {
        assert_eq!(&ask(&replay, &plain, &mut watcher).await.unwrap(), expected);
    }
    assert_eq!(watcher.seen, ["text Hello.", "text Again.", "text Again."]);
    assert!(
        ask(&replay, &telling, &mut ModelWatcher::new(StreamMode::Whole))
            .await
            .unwrap()
            .text()
            .contains("[key removed]")
    );
    assert_eq!(server.received().len(), 3);

    let error = ask(
        &replay,
        &ModelRequest::ask("m", "something else"),
        &mut ModelWatcher::new(StreamMode::Whole),
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
    let error = ask(
        &ReplayModel::new(tape),
        &plain,
        &mut ModelWatcher::new(StreamMode::Whole),
    )
    .await
    .unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[test]
fn a_recording_is_found_by_what_was_asked_and_nothing_else() {
    let with = |schema: &str| {
        let mut request = ModelRequest::ask("m", "q");
        let schema = serde_json::from_str(schema).unwrap();
        request.output = llm::ResponseFormat::Json {
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
        name(&ModelRequest::ask("m", "q")).unwrap(),
        name(&ModelRequest::ask("n", "q")).unwrap()
    );
    // Recordings are kept with projects: the name must not change by accident.
    let pinned = name(&ModelRequest::ask("m", "q")).unwrap();
    assert_eq!(
        pinned,
        "d0741e86c63eb55bd03f0cc4a89646bca682a56be35872cb12c25eca7647b825"
    );
}

/// A ledger that others write to as well.
struct SharedLog(Arc<Mutex<Result<SpentTotal, String>>>);

impl SpendLog for SharedLog {
    fn day(&self) -> Result<SpentTotal, String> {
        self.0.lock().unwrap().clone()
    }

    fn book(&self, entry: &SpendEntry) {
        if let Ok(spent) = &mut *self.0.lock().unwrap() {
            spent.add(entry.usage.total(), entry.cost);
        }
    }
}

#[tokio::test]
async fn the_day_is_read_from_the_ledger_before_each_call() {
    let server = ScriptedProvider::start(vec![good()]);
    let ledger = Arc::new(Mutex::new(Ok(SpentTotal::default())));
    let budget = SpendBudget {
        day: SpendLimit {
            tokens_max: Some(10_000),
            ..SpendLimit::default()
        },
        ..SpendBudget::default()
    };
    let meter = Meter::new(budget, prices(), SpentTotal::default())
        .with_ledger(Box::new(SharedLog(Arc::clone(&ledger))));
    let client = client(Provider::Anthropic, &server.url);
    let model = MeteredModel::new(client, Arc::new(meter), Provider::Anthropic, None);
    let request = ModelRequest::ask("m", "q");
    let mut watcher = ModelWatcher::new(StreamMode::Whole);
    ask(&model, &request, &mut watcher).await.unwrap();
    assert_eq!(ledger.lock().unwrap().as_ref().unwrap().calls, 1);
    // Another process spends.
    *ledger.lock().unwrap() = Ok(SpentTotal {
        tokens: 9_999,
        ..SpentTotal::default()
    });
    let error = ask(&model, &request, &mut watcher).await.unwrap_err();
    assert_eq!(error.code, AiErrorCode::BudgetExceeded);
    assert!(
        error.to_string().contains("9999 tokens are spent"),
        "{error}"
    );
    // What cannot be read is not taken for nothing.
    *ledger.lock().unwrap() = Err("the ledger is a folder".into());
    let error = ask(&model, &request, &mut watcher).await.unwrap_err();
    assert_eq!(error.code, AiErrorCode::BudgetExceeded);
    assert!(
        error.to_string().contains("the ledger is a folder"),
        "{error}"
    );
    assert_eq!(server.received().len(), 1);
}
