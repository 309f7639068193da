//! Pages for people. They call the same use cases as the API, and work without scripts.

mod asking;
mod assets;
mod builds;
mod changes;
mod compare;
mod editor;
mod form;
mod frame;
mod inbox;
mod layout;
mod overview;
mod panel;
mod parts;
mod people;
mod picture;
mod recipes;
mod run;
mod runs;
mod samples;
mod sign_in;
mod tasks;
mod timeline;
mod trying;
mod visit;
mod welcome;
mod workflows;

use axum::Router;
use axum::response::Redirect;
use axum::routing::{get, post};

use crate::state::ServerState;

/// Returns the pages as a service.
pub(crate) fn router(state: &ServerState) -> Router {
    let pages = Router::new()
        .route("/", get(|| async { Redirect::to("/inbox") }))
        .route("/assets/{folder}/{name}", get(assets::show))
        .merge(work())
        .merge(drawing())
        .merge(around())
        .merge(sign_in::router());
    sign_in::guarded(pages, state).with_state(state.clone())
}

/// Returns the pages about work that waits and runs.
fn work() -> Router<ServerState> {
    Router::new()
        .route("/inbox", get(inbox::show).post(inbox::answer))
        .route("/tasks", get(tasks::list).post(tasks::act))
        .route("/tasks/{*task}", get(tasks::show))
        .route("/runs", get(runs::list))
        .route("/runs/{run}", get(run::show).post(run::act))
        .route("/runs/{run}/compare/{other}", get(compare::show))
        .route("/builds", get(builds::list).post(builds::ask))
        .route("/builds/{build}", get(builds::show).post(builds::act))
        .route("/recipes", get(recipes::list))
        .route("/recipes/{name}", get(recipes::show).post(recipes::run))
}

/// Workflows and the builder.
fn drawing() -> Router<ServerState> {
    Router::new()
        .route("/workflows", get(workflows::list))
        .route("/workflows/{name}", get(workflows::show))
        .route("/workflows/{name}/start", post(workflows::start))
        .route("/workflows/{name}/edit", get(editor::edit))
        .route(
            "/workflows/{name}/versions/{number}",
            get(workflows::version),
        )
        .route("/builder", get(editor::new).post(editor::save))
        .route("/builder/check", post(editor::check))
        .route("/builder/draw", post(editor::draw))
        .route("/builder/try", post(trying::respond))
        .route("/workflows/{name}/changes/{number}", get(changes::show))
        .route("/builder/look", post(editor::look))
}

/// People, costs and what else there is to know.
fn around() -> Router<ServerState> {
    Router::new()
        .route("/welcome", post(welcome::act))
        .route("/people", get(people::list).post(people::add))
        .route("/people/tokens", post(people::add_token))
        .route("/people/tokens/revoke", post(people::revoke_token))
        .route("/costs", get(overview::costs))
        .route("/activity", get(overview::activity))
        .route("/settings", get(overview::settings))
        .route("/settings/schedules", post(overview::switch_schedule))
        .route("/health", get(overview::health))
        .route("/search", get(overview::search))
}
