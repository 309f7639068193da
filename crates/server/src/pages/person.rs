//! One person or agent: edited, tried out, signed out.

use app::Permission;
use maud::{Markup, html};
use store::{SessionId, Slug, User, UserFilter, UserKind, UserRole, WebSession};

use super::frame::{NavPage, page};
use super::parts::{line, state, text_block, when};
use super::people::invalid;
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

async fn found(visit: &PageVisit) -> Result<User, ApiProblem> {
    let slug = visit.path("slug");
    let unknown = || ApiProblem::new(ProblemCode::NotFound, format!("there is no user `{slug}`"));
    let slug: Slug = slug.parse().map_err(|_| unknown())?;
    Ok(visit.use_cases.user(&slug, UserFilter::Everybody).await?)
}

/// Shows a person or an agent.
pub(super) async fn show(visit: PageVisit) -> PageResult {
    let user = found(&visit).await?;
    let is_own = visit.use_cases.own_slug().as_ref() == Some(&user.slug);
    let may_edit = visit.may(Permission::ManagePeople);
    let sees_sessions = !user.is_agent() && (is_own || visit.may(Permission::ManageAccess));
    let sessions = match sees_sessions {
        true => visit.use_cases.sessions(Some(&user.slug)).await?,
        false => Vec::new(),
    };
    let what = match (&user.nature, user.is_active) {
        (_, false) => "is deactivated",
        (UserKind::Agent { .. }, true) => "is an agent",
        (UserKind::Person { .. }, true) => "takes part",
    };
    let title = format!("{} {what}", user.display_name);
    let body = html! {
        div class="head" { div {
            p class="small muted" { a href="/people" { "People" } " / " code { (user.slug.as_str()) } }
            h1 dir="auto" { (title) }
            p class="small muted" { (user.role.as_str()) " · since " (when(user.created_ms, visit.now_ms)) }
        } }
        div class="split split-run" {
            div {
                @if may_edit { (edit_form(&user)) } @else { (about(&visit, &user)) }
            }
            div {
                @if user.is_agent() && user.is_active && visit.may(Permission::ManageTasks) { (trial(&user)) }
                section class="card" {
                    h2 { "Work" }
                    ul class="plain" {
                        li { a href={ "/tasks?assignee=" (encoded(user.slug.as_str())) } { "Open tasks" } }
                        li { a href="/costs?by=person" { "What it has cost" } }
                    }
                }
                @if sees_sessions { (session_card(&visit, &user, &sessions)) }
            }
        }
    };
    Ok(page(&visit, NavPage::People, &title, &body).await)
}

/// The profile as others see it. Addresses of people are shown to themselves and to admins only.
fn about(visit: &PageVisit, user: &User) -> Markup {
    let is_own = visit.use_cases.own_slug().as_ref() == Some(&user.slug);
    let sees_address = is_own || visit.may(Permission::ManagePeople);
    html! {
        section class="card" {
            @match &user.nature {
                UserKind::Person { email } => { h2 { "About" } p { @if sees_address { (email) } @else { "A person." } } },
                UserKind::Agent { prompt } => { h2 { "Its prompt" } (text_block(prompt)) },
            }
        }
    }
}

fn edit_form(user: &User) -> Markup {
    html! {
        section class="card" {
            h2 { "Edit" }
            form method="post" action={ "/people/" (encoded(user.slug.as_str())) } {
                input type="hidden" name="revision" value=(user.revision);
                div class="field" { label for="display" { "Name for people" } input id="display" name="display" required value=(user.display_name); }
                div class="field" { label for="role" { "Role" } select id="role" name="role" { @for role in UserRole::ALL { option value=(role.as_str()) selected[role == user.role] { (role.as_str()) } } } }
                @match &user.nature {
                    UserKind::Person { email } => div class="field" { label for="email" { "E-mail address" } input id="email" name="email" type="email" required value=(email); },
                    UserKind::Agent { prompt } => div class="field" {
                        label for="prompt" { "Prompt" }
                        textarea id="prompt" name="prompt" rows="8" dir="auto" required { "\n" (prompt) }
                        div class="hint" { "It comes before the prompt of every step that names this agent. The model is the step's, or the one that is set up for workflows." }
                    },
                }
                div class="actions" {
                    button class="primary" name="act" value="edit" { "Keep the changes" }
                    @if user.is_active { button class="quiet" name="act" value="deactivate" { "Deactivate" } } @else { button name="act" value="activate" { "Activate" } }
                }
            }
        }
    }
}

/// A box to try an agent: a task of its own, with its conversation on the task's page.
fn trial(user: &User) -> Markup {
    html! {
        section class="card" {
            h2 { "Try it" }
            form method="post" action="/tasks/new" {
                input type="hidden" name="assignee" value=(user.slug.as_str());
                input type="hidden" name="title" value={ "A try of " (user.slug.as_str()) };
                div class="field" { label for="try" { "Say something to it" } textarea id="try" name="summary" rows="4" dir="auto" required {} }
                button { "Ask it" }
                p class="hint" { "It becomes a task: its page shows what is sent, what comes back and what it costs." }
            }
        }
    }
}

fn session_card(visit: &PageVisit, user: &User, sessions: &[WebSession]) -> Markup {
    html! {
        section class="card" {
            h2 { "Signed in at" }
            @if sessions.is_empty() { p class="muted" { "Nowhere." } }
            ul class="plain" {
                @for session in sessions {
                    li {
                        form class="inline" method="post" action={ "/people/" (encoded(user.slug.as_str())) } {
                            input type="hidden" name="session" value=(session.id.0);
                            span dir="auto" title=(session.user_agent) { (browser(&session.user_agent)) } " " span class="small muted" { (session.address) " · last " (when(session.seen_ms, visit.now_ms)) } " "
                            button class="quiet" name="act" value="sign-out" { "Sign out" }
                        }
                    }
                }
            }
            @if sessions.len() > 1 { p class="small" { (state("hold", "several places")) " Sign out those that you do not know." } }
            p class="hint" { "A forgotten password: " code { "drawloom users reset-password " (user.slug.as_str()) } " prints a link." }
        }
    }
}

/// A browser and its system, as people call them.
fn browser(agent: &str) -> String {
    let known = |names: &[(&str, &'static str)]| {
        let found = names.iter().find(|(mark, _)| agent.contains(mark));
        found.map(|(_, name)| *name)
    };
    let program = known(&[
        ("Firefox/", "Firefox"),
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = known(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (program, system) {
        (Some(program), Some(system)) => format!("{program} on {system}"),
        _ => line(agent),
    }
}

/// Edits, activates or deactivates; ends a session.
pub(super) async fn act(visit: PageVisit) -> PageResult {
    let mut user = found(&visit).await?;
    let name = user.slug.as_str().to_owned();
    let back = format!("/people/{}", encoded(&name));
    let form = &visit.form;
    match form.get("act").unwrap_or_default() {
        "sign-out" => {
            let id = form.required("session")?;
            let number = id.parse().map_err(|_| {
                ApiProblem::new(ProblemCode::NotFound, format!("there is no session `{id}`"))
            })?;
            visit.use_cases.end_session(SessionId(number)).await?;
            visit
                .done(("sessions.end", &name), &back, "signed-out")
                .await
        }
        "activate" | "deactivate" => {
            let is_active = form.get("act") == Some("activate");
            user.is_active = is_active;
            visit.use_cases.edit_user(&user).await?;
            let said = if is_active {
                "activated"
            } else {
                "deactivated"
            };
            visit.done(("users.edit", &name), &back, said).await
        }
        _ => {
            let seen = form.text("revision").and_then(|text| text.parse().ok());
            user.revision = seen.unwrap_or(user.revision);
            user.display_name = form.required("display")?.to_owned();
            user.role = form.required("role")?.parse().map_err(invalid)?;
            user.nature = match user.nature {
                UserKind::Agent { .. } => UserKind::Agent {
                    prompt: form.required("prompt")?.to_owned(),
                },
                UserKind::Person { .. } => UserKind::Person {
                    email: form.required("email")?.to_owned(),
                },
            };
            visit.use_cases.edit_user(&user).await?;
            visit.done(("users.edit", &name), &back, "edited").await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_called_by_their_names() {
        for (agent, words) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Safari/537.36",
                "Chrome on Linux",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1",
                "Safari on iPhone",
            ),
            ("curl/8.9", "curl/8.9"),
        ] {
            assert_eq!(browser(agent), words);
        }
    }
}
