//! Users and agents. Agents are users with a prompt; each kind has routes of its own.

use app::people::{Slug, User, UserFilter, UserKind, UserRole};
use app::{AddTaskRequest, Permission};
use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::encoded;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// The fields of a user that are always there.
const FIELDS: &[&str] = &[
    "slug",
    "displayName",
    "role",
    "isActive",
    "isAgent",
    "revision",
];

#[expect(
    clippy::too_many_lines,
    reason = "one table of routes: splitting it would hide gaps"
)]
pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    let manages = RouteAccess::Needs(Permission::ManagePeople);
    vec![
        ApiRoute::new(Method::GET, "/users", looks, "Lists the people.", |asked| {
            Box::pin(list(asked, UserFilter::People))
        })
        .answers(200, &["items"])
        .items(FIELDS),
        ApiRoute::new(Method::POST, "/users", manages, "Adds a person.", |asked| {
            Box::pin(add_person(asked))
        })
        .body(schema::<NewPerson>)
        .answers(201, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/users/{slug}",
            looks,
            "Returns a person.",
            |asked| Box::pin(show(asked, UserFilter::People)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::PATCH,
            "/users/{slug}",
            manages,
            "Edits a person.",
            |asked| Box::pin(edit_person(asked)),
        )
        .body(schema::<PersonEdit>)
        .needs_match()
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/users/{slug}/sessions",
            RouteAccess::Needs(Permission::ManageAccess),
            "Lists the sessions of a person; one's own are at /sessions.",
            |asked| Box::pin(sessions(asked)),
        )
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::DELETE,
            "/users/{slug}/sessions",
            RouteAccess::Needs(Permission::ManageAccess),
            "Ends all sessions of a person.",
            |asked| Box::pin(end_sessions(asked)),
        ),
        ApiRoute::new(
            Method::GET,
            "/agents",
            looks,
            "Lists the agents.",
            |asked| Box::pin(list(asked, UserFilter::Agents)),
        )
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::POST,
            "/agents",
            manages,
            "Adds an agent.",
            |asked| Box::pin(add_agent(asked)),
        )
        .body(schema::<NewAgent>)
        .answers(201, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/agents/{slug}",
            looks,
            "Returns an agent by its id.",
            |asked| Box::pin(show(asked, UserFilter::Agents)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::PATCH,
            "/agents/{slug}",
            manages,
            "Edits an agent.",
            |asked| Box::pin(edit_agent(asked)),
        )
        .body(schema::<AgentEdit>)
        .needs_match()
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/agents/{slug}/test",
            RouteAccess::Needs(Permission::ManageTasks),
            "Tries an agent's prompt: adds a task for it, and shows the prompt that it gets.",
            |asked| Box::pin(test(asked)),
        )
        .body(schema::<AgentTest>)
        .answers(201, &["task", "layers"]),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewPerson {
    slug: String,
    email: String,
    #[serde(default)]
    display_name: Option<String>,
    /// admin, operator, reviewer or viewer
    #[serde(default)]
    role: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewAgent {
    slug: String,
    agent_prompt: String,
    #[serde(default)]
    display_name: Option<String>,
    /// admin, operator, reviewer or viewer
    #[serde(default)]
    role: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PersonEdit {
    #[serde(default)]
    email: Option<String>,
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    is_active: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct AgentEdit {
    #[serde(default)]
    agent_prompt: Option<String>,
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    is_active: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentTest {
    /// The text for the agent.
    text: String,
}

/// The fields that can be changed for both kinds.
struct UserEdit {
    nature: Option<UserKind>,
    display_name: Option<String>,
    role: Option<String>,
    is_active: Option<bool>,
}

async fn list(asked: ApiRequest, who: UserFilter) -> Result<ApiReply, ApiProblem> {
    let users = asked.use_cases()?.users(who).await?;
    let items: Vec<Value> = users.iter().map(|user| document(&asked, user)).collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn show(asked: ApiRequest, who: UserFilter) -> Result<ApiReply, ApiProblem> {
    let user = asked.use_cases()?.user(&slug_of(&asked)?, who).await;
    // A user of the other kind is not here.
    let user = user.map_err(|error| match ApiProblem::from(error) {
        problem if problem.code == ProblemCode::Invalid => {
            ApiProblem::new(ProblemCode::NotFound, problem.detail())
        }
        problem => problem,
    })?;
    Ok(ApiReply::json(document(&asked, &user)).etag(user.revision))
}

async fn add_person(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let new: NewPerson = asked.body()?;
    let nature = UserKind::Person { email: new.email };
    add(&asked, (&new.slug, nature), (new.display_name, new.role)).await
}

async fn add_agent(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let new: NewAgent = asked.body()?;
    let nature = UserKind::Agent {
        prompt: new.agent_prompt,
    };
    add(&asked, (&new.slug, nature), (new.display_name, new.role)).await
}

async fn add(
    asked: &ApiRequest,
    (slug, nature): (&str, UserKind),
    (display_name, role): (Option<String>, Option<String>),
) -> Result<ApiReply, ApiProblem> {
    let read: Slug = slug.parse().map_err(|error| invalid("/slug", &error))?;
    let user = User {
        display_name: display_name.unwrap_or_else(|| read.to_string()),
        slug: read,
        role: role
            .as_deref()
            .map(role_of)
            .transpose()?
            .unwrap_or(UserRole::Operator),
        is_active: true,
        nature,
        revision: 0,
        created_ms: 0,
        updated_ms: 0,
    };
    let added = asked.use_cases()?.add_user(&user).await?;
    let kind = match added.is_agent() {
        true => "agents",
        false => "users",
    };
    let location = format!("/api/v1/{kind}/{}", added.slug);
    Ok(ApiReply::created(document(asked, &added), &location).etag(added.revision))
}

async fn edit_person(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let edit: PersonEdit = asked.body()?;
    let revision = asked.if_match_revision()?;
    let edit = UserEdit {
        nature: edit.email.map(|email| UserKind::Person { email }),
        display_name: edit.display_name,
        role: edit.role,
        is_active: edit.is_active,
    };
    change(&asked, (UserFilter::People, revision), edit).await
}

async fn edit_agent(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let edit: AgentEdit = asked.body()?;
    let revision = asked.if_match_revision()?;
    let edit = UserEdit {
        nature: edit.agent_prompt.map(|prompt| UserKind::Agent { prompt }),
        display_name: edit.display_name,
        role: edit.role,
        is_active: edit.is_active,
    };
    change(&asked, (UserFilter::Agents, revision), edit).await
}

async fn change(
    asked: &ApiRequest,
    (who, revision): (UserFilter, u64),
    edit: UserEdit,
) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let mut user = use_cases.user(&slug_of(asked)?, who).await?;
    if user.revision != revision {
        return Err(stale(&user));
    }
    user.nature = edit.nature.unwrap_or(user.nature);
    user.display_name = edit.display_name.unwrap_or(user.display_name);
    user.role = edit
        .role
        .as_deref()
        .map(role_of)
        .transpose()?
        .unwrap_or(user.role);
    user.is_active = edit.is_active.unwrap_or(user.is_active);
    let edited = use_cases.edit_user(&user).await?;
    Ok(ApiReply::json(document(asked, &edited)).etag(edited.revision))
}

async fn sessions(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let listed = asked.use_cases()?.sessions(Some(&slug_of(&asked)?)).await?;
    let items: Vec<Value> = listed.iter().map(super::session::document).collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn end_sessions(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    for session in use_cases.sessions(Some(&slug_of(&asked)?)).await? {
        use_cases.end_session(session.id).await?;
    }
    Ok(ApiReply::nothing())
}

async fn test(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let AgentTest { text } = asked.body()?;
    let slug = slug_of(&asked)?;
    let use_cases = asked.use_cases()?;
    if text.trim().is_empty() {
        let message = "an agent is told something";
        return Err(ApiProblem::new(ProblemCode::Invalid, message).at("/text", message));
    }
    let agents = use_cases.users(UserFilter::Agents).await?;
    let agent = agents.iter().find(|agent| agent.slug == slug);
    let Some(agent) = agent.filter(|agent| agent.is_active) else {
        let message = format!("there is no active agent `{slug}`");
        return Err(ApiProblem::new(ProblemCode::NotFound, message));
    };
    let wish = AddTaskRequest {
        title: format!("A try of {slug}"),
        summary: text,
        assignee: Some(slug.to_string()),
        ..AddTaskRequest::default()
    };
    let added = use_cases.add_task(wish).await?;
    let name = added.task.to_string();
    let row = use_cases.task(&name).await?;
    let shown = json!({
        "task": name, "agentPrompt": agent.agent_prompt(),
        "layers": use_cases.layers(&row).await?.layers,
    });
    let location = format!("/api/v1/tasks/{}", encoded(&name));
    Ok(ApiReply::created(shown, &location))
}

fn slug_of(asked: &ApiRequest) -> Result<Slug, ApiProblem> {
    asked.path_as("slug")
}

fn role_of(text: &str) -> Result<UserRole, ApiProblem> {
    text.parse().map_err(|error| invalid("/role", &error))
}

fn invalid(pointer: &str, error: &store::Error) -> ApiProblem {
    ApiProblem::new(ProblemCode::Invalid, error.to_string()).at(pointer, error.to_string())
}

fn stale(user: &User) -> ApiProblem {
    let message = format!("`{}` was edited meanwhile", user.slug);
    ApiProblem::new(ProblemCode::Stale, message).hint("GET it again and edit what is there now")
}

/// A user as programs see them. Addresses are for admins and for the person.
fn document(asked: &ApiRequest, user: &User) -> Value {
    let sees_address = asked.identity.as_ref().is_some_and(|identity| {
        Permission::ManagePeople.is_allowed(identity.actor.role())
            || identity.actor.name() == user.slug.as_str()
    });
    json!({
        "slug": user.slug.as_str(),
        "displayName": user.display_name,
        "email": user.email().filter(|_| sees_address),
        "role": user.role.as_str(),
        "isActive": user.is_active,
        "isAgent": user.is_agent(),
        "agentPrompt": user.agent_prompt(),
        "revision": user.revision,
        "createdMs": user.created_ms,
        "updatedMs": user.updated_ms,
    })
}
