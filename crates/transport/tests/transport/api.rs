//! Providers: aimock speaks the three wire formats.

use llm::{CallCost, Provider};

use crate::support::{Case, KEY, sent};

const FORMATS: [(Provider, &str); 3] = [
    (Provider::Anthropic, "claude"),
    (Provider::OpenAi, "gpt"),
    (Provider::Google, "gemini"),
];

#[test]
fn one_call_answers_everything_in_every_format() {
    for (provider, family) in FORMATS {
        for whole in [false, true] {
            let mut case = Case::api(provider, &format!("{family}-good"));
            case.watcher.whole = whole;
            let spending = case.answered();
            assert_eq!(spending.entries.len(), 1, "{family}");
            assert_eq!((spending.usage().input, spending.usage().output), (100, 20));
            assert_eq!(case.watcher.count("Spent"), 1);
            // aimock's models are on no price list.
            assert_eq!(spending.cost(), CallCost::Unknown);
            assert!(case.watcher.streamed > 0);
        }
        let bodies = sent(&format!("{family}-good"));
        let body = bodies[0].to_string();
        assert!(
            body.contains("supply answers"),
            "the system prompt is sent: {body}"
        );
        assert!(
            body.contains("drawloom-test"),
            "the document is sent: {body}"
        );
        assert!(
            !body.contains("drawloom run x"),
            "nobody is told to run a command: {body}"
        );
        assert!(!body.contains(KEY), "{body}");
    }
}

#[test]
fn the_schema_of_the_answers_goes_along() {
    Case::api(Provider::OpenAi, "gpt-good").answered();
    let body = sent("gpt-good").remove(0);
    let format = &body["response_format"]["json_schema"];
    assert_eq!(format["name"], "answers", "{body}");
    let keys = format["schema"]["required"].as_array().unwrap();
    assert_eq!(keys.len(), 6, "all keys, and no request id: {body}");
}

#[test]
fn prose_and_fences_around_the_answers_do_not_matter() {
    for (provider, family) in FORMATS {
        let mut case = Case::api(provider, &format!("{family}-noisy"));
        case.answered();
        assert_eq!(case.watcher.count("Correcting"), 0);
    }
}

#[test]
fn one_correction_quotes_the_problem_and_keeps_the_earlier_turn() {
    for (provider, family) in FORMATS {
        let mut case = Case::api(provider, &format!("{family}-fixer"));
        let spending = case.answered();
        assert_eq!(spending.entries.len(), 2, "both calls are paid for");
        assert_eq!(case.watcher.count("Correcting"), 1);
        let bodies = sent(&format!("{family}-fixer"));
        let second = bodies.last().unwrap().to_string();
        assert!(
            second.contains("it is a card"),
            "the earlier reply is kept: {second}"
        );
        assert!(
            second.contains("holds no JSON object"),
            "it is told why: {second}"
        );
    }
}

#[test]
fn a_second_useless_reply_is_the_end() {
    for (provider, family) in FORMATS {
        let model = format!("{family}-prose");
        let error = Case::api(provider, &model).failed("AI_TRANSPORT_FAILED", "could not be read");
        assert_eq!(error.spending().entries.len(), 2, "what it cost is told");
        let model = format!("{family}-wrong");
        let error = Case::api(provider, &model).failed("AI_ANSWER_INVALID", "do not fit");
        assert!(error.said().unwrap().contains("`fields`"), "{error}");
    }
}

#[test]
fn an_answer_that_was_cut_off_is_no_answer_even_if_it_can_be_read() {
    for (provider, family) in FORMATS {
        let model = format!("{family}-cut");
        let error = Case::api(provider, &model).failed("AI_GENERATION_FAILED", "ai.max_tokens");
        assert_eq!(error.spending().entries.len(), 1);
    }
}

#[test]
fn providers_say_why_and_their_words_hold_no_key() {
    for (provider, family) in FORMATS {
        let error = Case::api(provider, &format!("{family}-down"))
            .failed("AI_PROVIDER_UNAVAILABLE", "overloaded");
        assert!(error.to_string().contains("attempts_max"), "{error}");
        let mut case = Case::api(provider, &format!("{family}-badkey"));
        case.setup.api_key = crate::support::literal();
        let error = case.failed("AI_API_KEY_MISSING", "refused the API key");
        assert!(error.to_string().contains("[key removed]"), "{error}");
    }
}

#[test]
fn fallbacks_answer_when_the_provider_fails() {
    for (provider, family) in FORMATS {
        let mut case = Case::api(
            provider,
            &format!("{provider}/{family}-down", provider = provider.name()),
        );
        case.setup.fallbacks = vec![format!("{}/{family}-good", provider.name())];
        case.answered();
        assert_eq!(case.watcher.count("Fallback"), 1, "{:?}", case.watcher.seen);
    }
}

#[test]
fn the_budget_stops_before_the_call() {
    let mut case = Case::api(Provider::OpenAi, "gpt-good");
    case.setup.budget.run.tokens_max = Some(10);
    let error = case.failed("AI_BUDGET_EXCEEDED", "ai.budget.run_tokens_max = 10");
    assert!(error.spending().entries.is_empty());

    let mut case = Case::api(Provider::OpenAi, "gpt-good");
    case.setup.budget.day.tokens_max = Some(100_000);
    case.day.tokens = 99_000;
    case.failed("AI_BUDGET_EXCEEDED", "ai.budget.day_tokens_max");

    let mut case = Case::api(Provider::OpenAi, "gpt-good");
    case.setup.budget.run.micro_usd_max = Some(1_000_000);
    case.failed("AI_BUDGET_EXCEEDED", "price of gpt-good is not known");
    let rates = llm::price::TokenRates {
        input: 1.0,
        output: 5.0,
        cache_read: None,
        cache_write: None,
    };
    case.setup.prices.insert("gpt-good".into(), rates);
    // 100 × 1 + 20 × 5 per million.
    assert_eq!(case.answered().cost(), CallCost::Known(200));
}

#[test]
fn the_request_repeats_problems_of_earlier_answers() {
    let mut case = Case::api(Provider::Anthropic, "claude-good");
    case.feedback = Some("FEEDBACK: the import is blocked");
    case.answered();
    let told = sent("claude-good")
        .iter()
        .any(|body| body.to_string().contains("FEEDBACK: the import"));
    assert!(told);
}
