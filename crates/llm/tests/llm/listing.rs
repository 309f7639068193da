//! What a provider offers, asked over the wire.

use llm::models::list;
use llm::{AiErrorCode, Provider};

use crate::scripted::{ScriptedProvider, json, reply};
use crate::support::{KEY, LIMITS, assert_no_key, endpoint};

#[tokio::test]
async fn lists_are_read_page_by_page_from_where_each_provider_has_them() {
    for (provider, pages, lines, models) in [
        (
            Provider::Anthropic,
            vec![
                r#"{"data":[{"id":"a"}],"has_more":true,"last_id":"a"}"#,
                r#"{"data":[{"id":"b"}],"has_more":false}"#,
            ],
            vec![
                "GET /v1/models?limit=1000",
                "GET /v1/models?limit=1000&after_id=a",
            ],
            vec!["a", "b"],
        ),
        (
            Provider::OpenAi,
            vec![r#"{"data":[{"id":"a"}]}"#],
            vec!["GET /v1/models"],
            vec!["a"],
        ),
        (
            Provider::Google,
            vec![
                r#"{"models":[{"name":"models/a"}],"nextPageToken":"t"}"#,
                r#"{"models":[{"name":"models/b"}]}"#,
            ],
            vec![
                "GET /v1beta/models?pageSize=1000",
                "GET /v1beta/models?pageSize=1000&pageToken=t",
            ],
            vec!["a", "b"],
        ),
        (
            Provider::Ollama,
            vec![r#"{"models":[{"name":"qwen3:8b"}]}"#],
            vec!["GET /api/tags"],
            vec!["qwen3:8b"],
        ),
    ] {
        let server = ScriptedProvider::start(pages.into_iter().map(json).collect());
        let offers = list(&endpoint(provider, &server.url), LIMITS)
            .await
            .unwrap();
        assert_eq!(
            offers
                .iter()
                .map(|offer| offer.model.as_str())
                .collect::<Vec<_>>(),
            models
        );
        assert_eq!(
            server
                .received()
                .iter()
                .map(|received| received.line.clone())
                .collect::<Vec<_>>(),
            lines
        );
    }
}

#[tokio::test]
async fn a_reply_that_is_no_list_is_an_error() {
    for (acts, code) in [
        (json("<html>"), AiErrorCode::TransportFailed),
        (json("{}"), AiErrorCode::TransportFailed),
        (reply(401, &[], KEY), AiErrorCode::ApiKeyMissing),
        (reply(503, &[], ""), AiErrorCode::ProviderUnavailable),
    ] {
        let server = ScriptedProvider::start(vec![acts]);
        let error = list(&endpoint(Provider::OpenAi, &server.url), LIMITS)
            .await
            .unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert_no_key(&format!("{error} {error:?}"));
    }
}
