//! Recipes in two passes: a run asks for answers, then shows its differences, then writes.
//!
//! A run that waits is kept in the memory of this process, for a day at most: it has written nothing, and
//! the same request makes it again.

use app::{Permission, RecipeOutcome, RecipePass, RecipeRunInput, UseCases};
use app::{RecipeUpdateInput, RecipeUpdateOutcome};
use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::state::ServerState;
use crate::table::{ApiRoute, RouteAccess, schema};

/// The most runs that wait at once; the oldest go first.
const WAITING_MAX: usize = 200;
/// How long a run waits.
const WAIT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// A run of a recipe that waits for answers, or to be applied.
#[derive(Clone)]
pub(crate) struct RecipeRun {
    wish: RecipeRunInput,
    /// True if it merges the former output of the recipe with its output of today.
    is_update: bool,
    /// The user who started it.
    by: String,
    begun_ms: u64,
    /// The open questions, with a schema of the answers; `None` if the run can be applied.
    questions: Option<Value>,
}

pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    let runs = RouteAccess::Needs(Permission::RunRecipes);
    const RUN: &[&str] = &["id", "status"];
    vec![
        ApiRoute::new(
            Method::GET,
            "/recipes",
            looks,
            "Lists recipes that can be run by name.",
            |asked| Box::pin(list(asked)),
        )
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::GET,
            "/recipes/{name}",
            looks,
            "Returns a recipe: its variables as a form.",
            |asked| Box::pin(show(asked)),
        )
        .answers(200, &["name", "variables"]),
        ApiRoute::new(
            Method::POST,
            "/recipes/{name}/runs",
            runs,
            "Begins a run: `answers_needed` with questions, or `ready` with differences.",
            |asked| Box::pin(begin(asked)),
        )
        .optional_body(schema::<NewRecipeRun>)
        .answers(201, RUN),
        ApiRoute::new(
            Method::POST,
            "/recipes/{name}/update",
            runs,
            "Begins a three-way update of what the recipe generated before; it goes on as a run does.",
            |asked| Box::pin(begin_update(asked)),
        )
        .optional_body(schema::<NewRecipeRun>)
        .answers(201, RUN),
        ApiRoute::new(
            Method::GET,
            "/recipes/{name}/runs/{id}",
            looks,
            "Shows how far a run is; nothing is written.",
            |asked| Box::pin(look(asked)),
        )
        .answers(200, RUN),
        ApiRoute::new(
            Method::PUT,
            "/recipes/{name}/runs/{id}/answers",
            runs,
            "Answers the questions of a run.",
            |asked| Box::pin(answer(asked)),
        )
        .body(schema::<AnswersBody>)
        .answers(200, RUN),
        ApiRoute::new(
            Method::POST,
            "/recipes/{name}/runs/{id}/apply",
            runs,
            "Writes the files and runs the commands.",
            |asked| Box::pin(apply(asked)),
        )
        .optional_body(schema::<ApplyBody>)
        .answers(200, RUN),
    ]
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewRecipeRun {
    /// Values of variables, by name.
    #[serde(default)]
    values: Map<String, Value>,
    /// Answers to questions that are known already.
    #[serde(default)]
    answers: Map<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswersBody {
    answers: Map<String, Value>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApplyBody {
    /// Overwrite files that are there and differ.
    #[serde(default)]
    force: bool,
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let catalog = asked.use_cases()?.recipes()?;
    let items: Vec<Value> = catalog
        .all()
        .map(|listing| {
            json!({
                "name": listing.id, "description": listing.description,
                "version": listing.version,
                "problem": listing.problem.as_ref().map(ToString::to_string),
            })
        })
        .collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn show(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let name = asked.path("name");
    let recipe = asked.use_cases()?.recipe(name)?;
    let variables: Vec<Value> = recipe
        .variables()
        .iter()
        .map(|(name, variable)| {
            json!({
                "name": name,
                "type": format!("{:?}", variable.kind).to_lowercase(),
                "isRequired": variable.required,
                "position": variable.position,
                "description": variable.description,
                "default": variable.default.as_ref().map(|default| &default.value),
            })
        })
        .collect();
    Ok(ApiReply::json(json!({
        "name": name,
        "title": recipe.manifest.name,
        "description": recipe.manifest.description,
        "version": recipe.manifest.version,
        "isOutside": recipe.is_outside(),
        "variables": variables,
    })))
}

async fn begin(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    begin_as(asked, false).await
}

async fn begin_update(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    begin_as(asked, true).await
}

async fn begin_as(asked: ApiRequest, is_update: bool) -> Result<ApiReply, ApiProblem> {
    let new: NewRecipeRun = asked.body_or_default()?;
    let use_cases = asked.use_cases()?;
    let wish = RecipeRunInput {
        recipe: asked.path("name").to_owned(),
        values: new.values,
        answers: new.answers,
        is_forced: false,
    };
    let outcome = carry_out(&use_cases, (&wish, is_update), RecipePass::Preview).await?;
    let run = RecipeRun {
        is_update,
        by: use_cases.person(),
        begun_ms: asked.state().app().now_ms(),
        questions: questions_of(&outcome),
        wish,
    };
    let id = keep(asked.state(), None, run);
    let location = format!("/api/v1/recipes/{}/runs/{id}", encoded(asked.path("name")));
    Ok(ApiReply::created(document(&id, &outcome), &location))
}

async fn look(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let (use_cases, run) = find(&asked, (asked.path("name"), asked.path("id")))?;
    // Only those who may run it may have it rendered; others see that it waits.
    let outcome = carry_out(&use_cases, (&run.wish, run.is_update), RecipePass::Preview).await?;
    Ok(ApiReply::json(document(asked.path("id"), &outcome)))
}

async fn answer(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let AnswersBody { answers } = asked.body()?;
    let names = (asked.path("name"), asked.path("id"));
    Ok(ApiReply::json(take_answers(&asked, names, answers).await?))
}

/// Adds answers to a run that waits, and says how far it is then.
pub(super) async fn take_answers(
    asked: &ApiRequest,
    (name, id): (&str, &str),
    answers: Map<String, Value>,
) -> Result<Value, ApiProblem> {
    let (use_cases, mut run) = find(asked, (name, id))?;
    run.wish.answers.extend(answers);
    let outcome = carry_out(&use_cases, (&run.wish, run.is_update), RecipePass::Preview).await?;
    run.questions = questions_of(&outcome);
    keep(asked.state(), Some(id), run);
    Ok(document(id, &outcome))
}

/// Lists the runs of the caller that wait for answers, the oldest first: recipe, id and questions.
pub(super) fn waiting(asked: &ApiRequest) -> Result<Vec<(String, String, Value)>, ApiProblem> {
    let by = asked.use_cases()?.person();
    let now_ms = asked.state().app().now_ms();
    let Ok(runs) = asked.state().shared.recipe_runs.lock() else {
        return Ok(Vec::new());
    };
    let own = runs
        .iter()
        .filter(|(_, run)| run.by == by && run.is_kept(now_ms));
    let open = own.filter_map(|(id, run)| {
        let questions = run.questions.clone()?;
        Some((run.wish.recipe.clone(), id.clone(), questions))
    });
    Ok(open.collect())
}

/// Runs a recipe, or updates what it generated before, as far as a pass goes.
async fn carry_out(
    use_cases: &UseCases,
    (wish, is_update): (&RecipeRunInput, bool),
    pass: RecipePass,
) -> Result<RecipeOutcome, ApiProblem> {
    if !is_update {
        return Ok(use_cases.run_recipe(wish, pass).await?);
    }
    let update = RecipeUpdateInput {
        run: wish.clone(),
        ..RecipeUpdateInput::default()
    };
    let report = |report| serde_json::to_value(report).unwrap_or_default();
    Ok(match use_cases.update_from_recipe(&update, pass).await? {
        RecipeUpdateOutcome::AnswersNeeded(questions) => RecipeOutcome::AnswersNeeded(questions),
        RecipeUpdateOutcome::Shown(shown) => RecipeOutcome::Ready(report(shown)),
        RecipeUpdateOutcome::Done(done) => RecipeOutcome::Done(report(done)),
    })
}

fn questions_of(outcome: &RecipeOutcome) -> Option<Value> {
    match outcome {
        RecipeOutcome::AnswersNeeded(questions) => Some(questions.clone()),
        _ => None,
    }
}

impl RecipeRun {
    /// Returns whether it may still be taken up.
    fn is_kept(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.begun_ms) < WAIT_MS_MAX
    }
}

async fn apply(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let ApplyBody { force } = asked.body_or_default()?;
    let (use_cases, mut run) = find(&asked, (asked.path("name"), asked.path("id")))?;
    run.wish.is_forced = force;
    let id = asked.path("id");
    match carry_out(&use_cases, (&run.wish, run.is_update), RecipePass::Apply).await? {
        RecipeOutcome::Conflicts(paths) => Err(ApiProblem::new(
            ProblemCode::Conflict,
            "files are there and differ; nothing was written",
        )
        .hint("send `{\"force\": true}` to overwrite them")
        .with("paths", json!(paths))),
        RecipeOutcome::AnswersNeeded(questions) => Err(ApiProblem::new(
            ProblemCode::Conflict,
            "questions are open; nothing was written",
        )
        .hint("PUT the answers first")
        .with("questions", questions)),
        outcome => {
            forget(asked.state(), id);
            Ok(ApiReply::json(document(id, &outcome)))
        }
    }
}

fn find(asked: &ApiRequest, (name, id): (&str, &str)) -> Result<(UseCases, RecipeRun), ApiProblem> {
    let use_cases = asked.use_cases()?;
    let now_ms = asked.state().app().now_ms();
    let runs = asked.state().shared.recipe_runs.lock();
    let found = runs.ok().and_then(|runs| runs.get(id).cloned());
    let fits = |run: &RecipeRun| {
        run.wish.recipe == name && run.by == use_cases.person() && run.is_kept(now_ms)
    };
    match found.filter(fits) {
        Some(run) => Ok((use_cases, run)),
        None => Err(
            ApiProblem::new(ProblemCode::NotFound, "there is no such run of yours")
                .hint("begin it again: a run that waits is forgotten after a day or a restart"),
        ),
    }
}

/// Keeps a run under its id, or under a new one.
fn keep(state: &ServerState, id: Option<&str>, run: RecipeRun) -> String {
    let id = id.map_or_else(|| new_id(run.begun_ms), str::to_owned);
    if let Ok(mut runs) = state.shared.recipe_runs.lock() {
        runs.insert(id.clone(), run);
        while runs.len() > WAITING_MAX {
            runs.pop_first();
        }
    }
    id
}

fn forget(state: &ServerState, id: &str) {
    if let Ok(mut runs) = state.shared.recipe_runs.lock() {
        runs.remove(id);
    }
}

/// An id that sorts by time and cannot be guessed.
fn new_id(now_ms: u64) -> String {
    let mut bytes = [0_u8; 8];
    let _ = getrandom::fill(&mut bytes);
    format!("{now_ms:011x}{:016x}", u64::from_be_bytes(bytes))
}

fn document(id: &str, outcome: &RecipeOutcome) -> Value {
    match outcome {
        RecipeOutcome::AnswersNeeded(questions) => {
            json!({ "id": id, "status": "answers_needed", "questions": questions })
        }
        RecipeOutcome::Ready(plan) => json!({ "id": id, "status": "ready", "plan": plan }),
        RecipeOutcome::Conflicts(paths) => {
            json!({ "id": id, "status": "conflicts", "paths": paths })
        }
        RecipeOutcome::Done(report) => json!({ "id": id, "status": "done", "report": report }),
    }
}
