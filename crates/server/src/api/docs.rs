//! `/api/docs`: the description of the API as a page of our own, with nothing from elsewhere.

use axum::http::Method;
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use crate::openapi;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess};

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::new(
            Method::GET,
            "//api/docs",
            RouteAccess::Everybody,
            "Shows this description as a page.",
            |asked| Box::pin(show(asked)),
        )
        .media("text/html"),
    ]
}

async fn show(_: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let page = page(&openapi::document()).into_string();
    Ok(ApiReply::text("text/html; charset=utf-8", page))
}

fn page(document: &Value) -> Markup {
    let paths = document["paths"].as_object();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Drawloom API" }
            }
            body {
                main {
                    h1 { "Drawloom API" }
                    p {
                        "The same as a document: "
                        a href="/api/v1/openapi.json" { "/api/v1/openapi.json" }
                        " (OpenAPI 3.2). Send " code { "Authorization: Bearer dl_…" } "."
                    }
                    h2 { "Routes" }
                    @for (path, operations) in paths.into_iter().flatten() {
                        @for (method, operation) in operations.as_object().into_iter().flatten() {
                            (route((path, method), operation))
                        }
                    }
                    h2 { "Problems" }
                    dl {
                        @for code in ProblemCode::ALL {
                            @let (name, status, title) = code.about();
                            dt id=(name) { code { (name) } " " (status) }
                            dd { (title) "." }
                        }
                    }
                }
            }
        }
    }
}

fn route((path, method): (&str, &str), operation: &Value) -> Markup {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let least = text(&operation["x-least-role"]);
    let parameters = operation["parameters"].as_array();
    let body =
        operation["requestBody"]["content"]["application/json"]["schema"]["properties"].as_object();
    let responses = operation["responses"].as_object();
    let statuses: Vec<&str> = responses
        .into_iter()
        .flatten()
        .map(|(code, _)| code.as_str())
        .collect();
    html! {
        section id=(text(&operation["operationId"])) {
            h3 { code { (method.to_uppercase()) " " (path) } }
            p { (text(&operation["summary"])) }
            @if !least.is_empty() { p { "Least role: " (least) } }
            @if parameters.is_some() || body.is_some() {
                ul {
                    @for parameter in parameters.into_iter().flatten() {
                        li {
                            code { (text(&parameter["name"])) } " in " (text(&parameter["in"])) " "
                            (text(&parameter["description"]))
                        }
                    }
                    @for (name, schema) in body.into_iter().flatten() {
                        li { code { (name) } " in the body " (text(&schema["description"])) }
                    }
                }
            }
            p { "Statuses: " (statuses.join(", ")) }
        }
    }
}
