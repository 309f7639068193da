//! Saved views: named filters of the lists of runs and tasks.

use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{NewView, SavedView, Slug, ViewId, ViewedList};

use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// The fields of a view that are always there.
const FIELDS: &[&str] = &[
    "id", "owner", "name", "list", "filter", "isShared", "revision",
];

pub(crate) fn routes() -> Vec<ApiRoute> {
    let own = RouteAccess::SignedIn;
    vec![
        ApiRoute::new(
            Method::GET,
            "/views",
            own,
            "Lists one's own views and those that others share.",
            |asked| Box::pin(list(asked)),
        )
        .query(&[("list", "runs or tasks; both if left out")])
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::POST,
            "/views",
            own,
            "Saves a view of one's own.",
            |asked| Box::pin(add(asked)),
        )
        .body(schema::<ViewBody>)
        .answers(201, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/views/{view}",
            own,
            "Returns a view of one's own.",
            |asked| Box::pin(show(asked)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::PATCH,
            "/views/{view}",
            own,
            "Edits a view of one's own.",
            |asked| Box::pin(edit(asked)),
        )
        .body(schema::<ViewEdit>)
        .needs_match()
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::DELETE,
            "/views/{view}",
            own,
            "Removes a view of one's own.",
            |asked| Box::pin(remove(asked)),
        )
        .needs_match(),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ViewBody {
    name: String,
    /// runs or tasks
    list: String,
    /// The parameters of the list, by name.
    filter: serde_json::Map<String, Value>,
    #[serde(default)]
    is_shared: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ViewEdit {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    filter: Option<serde_json::Map<String, Value>>,
    #[serde(default)]
    is_shared: Option<bool>,
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let owner = owner(&asked)?;
    let lists = match asked.query_as::<ViewedList>("list", "runs or tasks")? {
        Some(list) => vec![list],
        None => ViewedList::ALL.to_vec(),
    };
    let mut items: Vec<Value> = Vec::new();
    for list in lists {
        let views = asked.state().app().views().views(&owner, list).await;
        items.extend(views.map_err(refused)?.iter().map(document));
    }
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn add(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let new: ViewBody = asked.body()?;
    let list: ViewedList = new.list.parse().map_err(|error: store::Error| {
        ApiProblem::new(ProblemCode::Invalid, error.to_string()).at("/list", error.to_string())
    })?;
    let view = NewView {
        owner: owner(&asked)?,
        name: new.name,
        list,
        filter: Value::Object(new.filter),
        is_shared: new.is_shared,
    };
    let added = asked.state().app().views().add_view(&view).await;
    let added = added.map_err(refused)?;
    let location = format!("/api/v1/views/{}", added.id);
    Ok(ApiReply::created(document(&added), &location).etag(added.revision))
}

async fn show(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let view = own_view(&asked).await?;
    Ok(ApiReply::json(document(&view)).etag(view.revision))
}

async fn edit(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let edit: ViewEdit = asked.body()?;
    let revision = asked.if_match_revision()?;
    let mut view = own_view(&asked).await?;
    if view.revision != revision {
        let message = format!("the view `{}` was edited meanwhile", view.name);
        return Err(ApiProblem::new(ProblemCode::Stale, message).hint("read it again"));
    }
    view.name = edit.name.unwrap_or(view.name);
    view.filter = edit.filter.map_or(view.filter, Value::Object);
    view.is_shared = edit.is_shared.unwrap_or(view.is_shared);
    let edited = asked.state().app().views().edit_view(&view).await;
    let edited = edited.map_err(refused)?;
    Ok(ApiReply::json(document(&edited)).etag(edited.revision))
}

async fn remove(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let view = own_view(&asked).await?;
    asked.require_revision(view.revision)?;
    let removed = asked.state().app().views().remove_view(&view).await;
    removed.map_err(refused)?;
    Ok(ApiReply::nothing())
}

/// The user whose views these are.
fn owner(asked: &ApiRequest) -> Result<Slug, ApiProblem> {
    asked
        .use_cases()?
        .own_slug()
        .ok_or_else(|| ApiProblem::new(ProblemCode::Forbidden, "views belong to users who sign in"))
}

/// The view of the path; that of another is not here.
async fn own_view(asked: &ApiRequest) -> Result<SavedView, ApiProblem> {
    let id = ViewId(asked.path_as("view")?);
    let owner = owner(asked)?;
    let found = asked
        .state()
        .app()
        .views()
        .view(id)
        .await
        .map_err(refused)?;
    found
        .filter(|view| view.owner == owner)
        .ok_or_else(|| ApiProblem::new(ProblemCode::NotFound, format!("you have no view {id}")))
}

fn refused(error: store::Error) -> ApiProblem {
    match error.kind() {
        store::DatabaseErrorKind::Invalid => {
            ApiProblem::new(ProblemCode::Invalid, error.to_string())
        }
        store::DatabaseErrorKind::Conflict => {
            ApiProblem::new(ProblemCode::Conflict, error.to_string())
        }
        _ => app::Error::from(error).into(),
    }
}

fn document(view: &SavedView) -> Value {
    json!({
        "id": view.id.0,
        "owner": view.owner.as_str(),
        "name": view.name,
        "list": view.list.as_str(),
        "filter": view.filter,
        "isShared": view.is_shared,
        "revision": view.revision,
        "createdMs": view.created_ms,
        "updatedMs": view.updated_ms,
    })
}
