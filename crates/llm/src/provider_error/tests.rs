//! What each vendor's refusals are taken for.

use super::{ProviderError, judge};
use crate::error::{AiErrorCode, FaultSide, RetryAdvice};

/// Status, body, `code again side`, and a part of the message.
type FaultCase = (u16, &'static str, &'static str, &'static str);

const ANTHROPIC: [FaultCase; 8] = [
    (
        401,
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
        "AI_API_KEY_MISSING Pointless Ours",
        "invalid x-api-key",
    ),
    (
        403,
        r#"{"type":"error","error":{"type":"permission_error","message":"no access"}}"#,
        "AI_API_KEY_MISSING Pointless Ours",
        "no access",
    ),
    (
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        "AI_PROVIDER_UNAVAILABLE Worthwhile Provider",
        "Overloaded",
    ),
    (
        400,
        r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 209 tokens > 200 maximum"}}"#,
        "AI_CONTEXT_TOO_LARGE Pointless Ours",
        "209 tokens",
    ),
    (
        413,
        r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        "AI_CONTEXT_TOO_LARGE Pointless Ours",
        "maximum size",
    ),
    (
        400,
        r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
        "AI_PROVIDER_UNAVAILABLE Pointless Provider",
        "credit balance",
    ),
    (
        429,
        r#"{"error":{"type":"rate_limit_error","message":"x","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
        "AI_RATE_LIMITED Pointless Provider",
        "credit or quota",
    ),
    (
        404,
        r#"{"error":{"type":"not_found_error","message":"model: nope"}}"#,
        "AI_PROVIDER_UNAVAILABLE Pointless Provider",
        "model: nope",
    ),
];

const OPENAI_AND_COMPATIBLE: [FaultCase; 9] = [
    (
        401,
        r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        "AI_API_KEY_MISSING Pointless Ours",
        "OPENAI_API_KEY",
    ),
    (
        400,
        r#"{"error":{"message":"Too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        "AI_CONTEXT_TOO_LARGE Pointless Ours",
        "Too long",
    ),
    (
        429,
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#,
        "AI_RATE_LIMITED Pointless Provider",
        "quota",
    ),
    (
        429,
        r#"{"error":{"message":"Rate limit reached","type":"requests"}}"#,
        "AI_RATE_LIMITED Worthwhile Provider",
        "Rate limit reached",
    ),
    (
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        "AI_CONTEXT_TOO_LARGE Pointless Ours",
        "available context",
    ),
    (
        503,
        r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
        "AI_PROVIDER_UNAVAILABLE Worthwhile Provider",
        "Loading model",
    ),
    (
        400,
        r#"{"error":{"message":"bad","type":"invalid_request_error","code":"content_policy_violation"}}"#,
        "AI_GENERATION_FAILED Pointless Ours",
        "filter",
    ),
    (
        404,
        r#"{"error":"model 'x' not found"}"#,
        "AI_PROVIDER_UNAVAILABLE Pointless Provider",
        "model 'x' not found",
    ),
    (
        402,
        r#"{"error":{"message":"Insufficient credits","code":402}}"#,
        "AI_PROVIDER_UNAVAILABLE Pointless Provider",
        "Insufficient credits",
    ),
];

const GOOGLE: [FaultCase; 4] = [
    (
        400,
        r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
        "AI_API_KEY_MISSING Pointless Ours",
        "API key not valid",
    ),
    (
        400,
        r#"[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum","status":"INVALID_ARGUMENT"}}]"#,
        "AI_CONTEXT_TOO_LARGE Pointless Ours",
        "input token count",
    ),
    (
        503,
        r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
        "AI_PROVIDER_UNAVAILABLE Worthwhile Provider",
        "overloaded",
    ),
    // The free tier's daily talk of quota and billing passes with time.
    (
        429,
        r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details","status":"RESOURCE_EXHAUSTED"}}"#,
        "AI_RATE_LIMITED Worthwhile Provider",
        "quota",
    ),
];

const ANYONE: [FaultCase; 4] = [
    (
        502,
        "<html>Bad\n gateway</html>",
        "AI_PROVIDER_UNAVAILABLE Worthwhile Provider",
        "<html>Bad gateway</html>",
    ),
    (
        400,
        r#"{"detail":"no such field"}"#,
        "AI_GENERATION_FAILED Pointless Ours",
        "no such field",
    ),
    (
        301,
        "",
        "AI_PROVIDER_UNAVAILABLE Pointless Ours",
        "base URL",
    ),
    (
        500,
        "",
        "AI_PROVIDER_UNAVAILABLE Worthwhile Provider",
        "cannot answer now (HTTP 500)",
    ),
];

#[track_caller]
fn check(cases: &[FaultCase]) {
    for (status, body, expected, said) in cases {
        let error = judge("openai", "m", Some(*status), &ProviderError::of_text(body));
        let judged = format!("{} {:?} {:?}", error.code, error.again, error.side);
        assert_eq!(judged, *expected, "{status} {body}\n{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.advice.ends_with('.'), "{error}");
    }
}

#[test]
fn each_vendors_refusals_get_the_right_code() {
    check(&ANTHROPIC);
    check(&OPENAI_AND_COMPATIBLE);
    check(&GOOGLE);
    check(&ANYONE);
}

#[test]
fn failures_inside_a_200_are_judged_by_what_they_say() {
    let (worthwhile, pointless) = (RetryAdvice::Worthwhile, RetryAdvice::Pointless);
    for (error, code, again) in [
        (
            r#"{"type":"overloaded_error","message":"x"}"#,
            AiErrorCode::ProviderUnavailable,
            worthwhile,
        ),
        (
            r#"{"type":"rate_limit_error","message":"slow down"}"#,
            AiErrorCode::RateLimited,
            worthwhile,
        ),
        (
            r#"{"code":502,"message":"upstream"}"#,
            AiErrorCode::ProviderUnavailable,
            worthwhile,
        ),
        (
            r#"{"code":400,"message":"no"}"#,
            AiErrorCode::GenerationFailed,
            pointless,
        ),
        (
            r#"{"message":"something"}"#,
            AiErrorCode::GenerationFailed,
            pointless,
        ),
    ] {
        let body = serde_json::from_str(&format!(r#"{{"error":{error}}}"#)).unwrap();
        let judged = judge(
            "openrouter",
            "m",
            None,
            &ProviderError::find(&body).unwrap(),
        );
        assert_eq!((judged.code, judged.again), (code, again), "{error}");
    }
    assert_eq!(
        ProviderError::find(&serde_json::json!({"error": null, "choices": []})),
        None
    );
}

#[test]
fn an_unexplained_failure_inside_a_200_is_the_providers() {
    let complaint = ProviderError {
        message: "something".into(),
        ..ProviderError::default()
    };
    assert_eq!(
        judge("openrouter", "m", None, &complaint).side,
        FaultSide::Provider
    );
}

#[test]
fn googles_wait_is_read_from_the_body() {
    let body = r#"{"error":{"code":429,"message":"q","details":[{"retryDelay":"34.5s"}]}}"#;
    let error = judge("google", "m", Some(429), &ProviderError::of_text(body));
    assert_eq!(error.retry_after.map(|wait| wait.as_millis()), Some(34_500));
}
