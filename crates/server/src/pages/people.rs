//! People and agents, and the tokens of the person who looks.

use std::time::Duration;

use app::{Permission, TokenRequest};
use maud::{Markup, html};
use store::{AccessToken, User, UserFilter, UserKind, UserRole};

use super::frame::{NavPage, page};
use super::parts::{copy, count, line, state, text_block, when};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

pub(super) async fn list(visit: PageVisit) -> PageResult {
    respond(&visit, None).await
}

async fn respond(visit: &PageVisit, secret: Option<&str>) -> PageResult {
    let users = visit.use_cases.users(UserFilter::Everybody).await?;
    let agents = users.iter().filter(|user| user.is_agent()).count();
    let own = visit.use_cases.own_slug();
    let tokens = visit.use_cases.tokens(own.as_ref()).await?;
    let title = format!(
        "{} and {} take part",
        count(users.len() - agents, "person", "people"),
        count(agents, "agent", "agents")
    );
    let body = html! {
        div class="head" {
            div { h1 { (title) } }
            @if visit.may(Permission::ManagePeople) { div class="actions" { (add_form()) } }
        }
        @if let Some(secret) = secret {
            section class="card" role="status" { h2 { "Your new token, shown this once " (copy(secret, "the token")) } pre { (secret) } p class="hint" { "Copy it now: it cannot be shown again." } }
        }
        div class="split split-run" {
            div {
                div class="list" data-keys="list" { @for user in &users { (row(visit, user)) } }
                (declared(visit))
            }
            div {
                (token_card(visit, &tokens))
            }
        }
    };
    Ok(page(visit, NavPage::People, &title, &body).await)
}

fn row(visit: &PageVisit, user: &User) -> Markup {
    let is_own = visit.use_cases.own_slug().as_ref() == Some(&user.slug);
    let sees_address = is_own || visit.may(Permission::ManagePeople);
    html! {
        a class="row" href={ "/people/" (encoded(user.slug.as_str())) } {
            strong dir="auto" { (user.display_name) " " span class="mono muted small" { (user.slug.as_str()) } }
            @if user.is_active { span class="small" { (user.role.as_str()) } } @else { (state("idle", "deactivated")) }
            @match &user.nature {
                UserKind::Person { email } => { @if sees_address { span class="small muted" { (email) } } span class="small muted" { "person" } },
                UserKind::Agent { prompt } => { span class="small muted" dir="auto" { (line(prompt)) } span class="small muted" { "agent" } },
            }
        }
    }
}

/// The agents of the settings, which are edited there.
fn declared(visit: &PageVisit) -> Markup {
    let agents = &visit.use_cases.project().settings.workflows.agents;
    html! {
        @if !agents.is_empty() {
            section class="card more" {
                h2 { "Agents in drawloom.toml" }
                @for (name, agent) in agents {
                    details { summary { (line(&agent.display_name)) " " code { (name) } } (text_block(&agent.prompt)) }
                }
            }
        }
    }
}

fn add_form() -> Markup {
    html! {
        details class="pop" {
            summary class="btn primary" { "Add a person or an agent" }
            form class="menu" method="post" action="/people" {
                div class="field" { label for="slug" { "Name in workflows" } input id="slug" name="slug" required pattern="[a-z0-9\\-]+" placeholder="code-reviewer"; }
                div class="field" { label for="display" { "Name for people" } input id="display" name="display" required; }
                div class="field" { label for="role" { "Role" } select id="role" name="role" { @for role in UserRole::ALL { option value=(role.as_str()) selected[role == UserRole::Reviewer] { (role.as_str()) } } } }
                div class="field" { label class="flag" for="is-agent" { input id="is-agent" type="checkbox" name="agent" value="true"; " Is an agent" } div class="hint" { "An agent is a model in a role. It needs a prompt; a person needs an e-mail address." } }
                div class="field of-person" { label for="email" { "E-mail address, of a person" } input id="email" name="email" type="email"; }
                div class="field of-agent" { label for="prompt" { "Prompt, of an agent" } textarea id="prompt" name="prompt" rows="4" {} }
                button { "Add" }
            }
        }
    }
}

fn token_card(visit: &PageVisit, tokens: &[AccessToken]) -> Markup {
    let live = tokens.iter().filter(|token| token.revoked_ms.is_none());
    html! {
        section class="card" {
            h2 { "Your tokens" }
            ul class="plain" {
                @for token in live {
                    li {
                        form class="inline" method="post" action="/people/tokens/revoke" {
                            strong { (token.name) } " " span class="small muted" { (token.role.as_str()) " · made " (when(token.created_ms, visit.now_ms)) @if let Some(used) = token.used_ms { " · used " (when(used, visit.now_ms)) } }
                            input type="hidden" name="token" value=(token.id);
                            " " button class="quiet" { "Revoke" }
                        }
                    }
                }
            }
            form method="post" action="/people/tokens" {
                div class="field" { label for="token-name" { "A new token, for what?" } input id="token-name" name="name" required placeholder="ci"; }
                div class="field" { label for="token-role" { "It may at most do what this role may" } select id="token-role" name="role" { @for role in UserRole::ALL { option value=(role.as_str()) selected[role == UserRole::Viewer] { (role.as_str()) } } } }
                div class="field" { label for="token-days" { "Days until it ends" } input id="token-days" name="days" type="number" min="1" max="3650" value="90"; }
                button { "Make a token" }
            }
        }
    }
}

/// The refusal of a text in a form.
pub(super) fn invalid(cause: store::Error) -> ApiProblem {
    ApiProblem::new(ProblemCode::Invalid, cause.to_string())
}

pub(super) async fn add(visit: PageVisit) -> PageResult {
    let form = &visit.form;
    let user = User {
        slug: form.required("slug")?.parse().map_err(invalid)?,
        display_name: form.required("display")?.to_owned(),
        role: form.required("role")?.parse().map_err(invalid)?,
        is_active: true,
        nature: match form.get("agent") {
            Some(_) => UserKind::Agent {
                prompt: form.required("prompt")?.to_owned(),
            },
            None => UserKind::Person {
                email: form.required("email")?.to_owned(),
            },
        },
        revision: 0,
        created_ms: 0,
        updated_ms: 0,
    };
    let added = visit.use_cases.add_user(&user).await?;
    visit
        .done(("users.add", added.slug.as_str()), "/people", "added")
        .await
}

pub(super) async fn add_token(visit: PageVisit) -> PageResult {
    let form = &visit.form;
    let days = form
        .text("days")
        .and_then(|days| days.parse::<u64>().ok())
        .unwrap_or(90)
        .clamp(1, 3_650);
    let wish = TokenRequest {
        user: visit.use_cases.person().parse().map_err(app::Error::from)?,
        name: form.required("name")?.to_owned(),
        role: form.required("role")?.parse().map_err(invalid)?,
        scopes: Vec::new(),
        life: Some(Duration::from_secs(days * 86_400)),
    };
    let (token, secret) = visit.use_cases.add_token(&wish).await?;
    visit.note(("tokens.add", &token.id.to_string())).await;
    respond(&visit, Some(&secret.reveal())).await
}

pub(super) async fn revoke_token(visit: PageVisit) -> PageResult {
    let id = visit.form.required("token")?.to_owned();
    let number = id.parse().map_err(|_| {
        ApiProblem::new(
            ProblemCode::NotFound,
            format!("`{id}` is no number of a token"),
        )
    })?;
    let token = store::TokenId(number);
    visit.use_cases.revoke_token(token).await?;
    visit
        .done(("tokens.revoke", &id), "/people", "revoked")
        .await
}
