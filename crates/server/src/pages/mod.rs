//! Pages for people. They call the same use cases as the API, and work without scripts.

mod answers;
mod asking;
mod assets;
mod build;
mod builds;
mod bulk;
mod changes;
mod compare;
mod costs;
mod diff;
mod editor;
mod form;
mod frame;
mod inbox;
mod items;
mod layout;
mod oidc;
mod overview;
mod panel;
mod parts;
mod people;
mod person;
mod picture;
mod recipe_update;
mod recipes;
mod run;
mod run_acts;
mod runs;
pub(crate) mod samples;
mod search;
mod settings;
mod sign_in;
mod task;
mod tasks;
mod timeline;
mod tree;
mod trying;
mod views;
mod visit;
mod welcome;
mod workflow_list;
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
        .route("/inbox", get(inbox::show).post(answers::answer))
        .route("/tasks", get(tasks::list).post(task::act))
        .route("/tasks/new", post(tasks::add))
        .route(
            "/tasks/bulk",
            get(bulk::preview_tasks).post(bulk::act_on_tasks),
        )
        .route("/tasks/{*task}", get(task::show))
        .route("/runs", get(runs::list))
        .route(
            "/runs/bulk",
            get(bulk::preview_runs).post(bulk::act_on_runs),
        )
        .route("/views", post(views::save))
        .route("/views/remove", post(views::remove))
        .route("/runs/{run}", get(run::show).post(run_acts::act))
        .route("/runs/{run}/compare/{other}", get(compare::show))
        .route("/builds", get(builds::list).post(builds::ask))
        .route("/builds/{build}", get(build::show).post(build::act))
        .route("/recipes", get(recipes::list))
        .route("/recipes/{name}", get(recipes::show).post(recipes::run))
        .route(
            "/recipes/{name}/update",
            get(recipe_update::show).post(recipe_update::act),
        )
}

/// Workflows and the builder.
fn drawing() -> Router<ServerState> {
    Router::new()
        .route(
            "/workflows",
            get(workflow_list::list).post(workflow_list::import),
        )
        .route("/workflows/{name}/export", get(workflow_list::export))
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
        .route("/people/{slug}", get(person::show).post(person::act))
        .route("/people/tokens/revoke", post(people::revoke_token))
        .route("/costs", get(costs::show))
        .route("/activity", get(overview::activity))
        .route("/settings", get(settings::show))
        .route("/settings/schedules", post(settings::switch_schedule))
        .route("/health", get(overview::health))
        .route("/search", get(search::show))
}
