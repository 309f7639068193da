//! Questions of every kind: tasks that wait for a person, builds, and recipes that ask something.
//!
//! A question is named by its kind and its place: `task:RUN/STEP`, `build:JOB`, `recipe:NAME/ID`. Each has
//! the schema of its answer, and one way of answering fits them all.

use app::{Permission, UseCases};
use axum::http::Method;
use builder::review::BuildReview;
use builder::{JobId, JobStatus};
use flow::engine::{EngineCommand, TaskAnswer, TaskRow};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::{TaskCursor, TaskFilter};

use super::{builder as builds, cut, encoded, page, recipes, tasks};
use crate::cursor;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// The most builds of each kind that are listed as questions.
const BUILDS_MAX: usize = 100;
/// The kinds of questions.
pub(crate) const KINDS: [&str; 3] = ["task", "build", "recipe"];

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::new(
            Method::GET,
            "/questions",
            RouteAccess::Needs(Permission::Look),
            "Lists what waits for an answer, with the schema of the answer.",
            |asked| Box::pin(list(asked)),
        )
        .query(&[
            ("kind", "task, build or recipe"),
            ("limit", "how many tasks, at most page_items_max"),
            ("cursor", "nextCursor of the page before"),
        ])
        .answers(200, &["items", "nextCursor"])
        .items(&["question", "kind", "schema", "answer"]),
        ApiRoute::new(
            Method::POST,
            "/questions/{question}/answer",
            RouteAccess::Needs(Permission::AnswerTasks),
            "Answers a question of any kind.",
            |asked| Box::pin(answer(asked)),
        )
        .body(schema::<QuestionAnswer>)
        .answers(200, &["question", "kind"]),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuestionAnswer {
    /// The answer, as the `schema` of the question has it.
    answer: Value,
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let kind = asked.query("kind");
    if let Some(word) = kind.filter(|word| !KINDS.contains(word)) {
        let message = format!("there are no questions of the kind `{word}`");
        return Err(
            ApiProblem::new(ProblemCode::BadRequest, message).at("/query/kind", KINDS.join(", "))
        );
    }
    let wants = |one: &str| kind.is_none_or(|kind| kind == one);
    let max = cursor::page_items(&asked)?;
    let after: Option<TaskCursor> = match cursor::read::<String>(&asked)? {
        Some(text) => Some(text.parse().map_err(|error: store::Error| {
            ApiProblem::new(ProblemCode::Invalid, error.to_string())
                .at("/query/cursor", "take `nextCursor` of an answer as it is")
        })?),
        None => None,
    };
    let use_cases = asked.use_cases()?;
    let mut items = Vec::new();
    // Builds and recipes are few: they come with the first page.
    if after.is_none() && wants("build") {
        items.extend(builds_that_wait(&use_cases).await?);
    }
    if after.is_none() && wants("recipe") {
        let waiting = recipes::waiting(&asked)?.into_iter();
        items.extend(waiting.map(|(name, id, questions)| of_recipe(&name, &id, &questions)));
    }
    let mut next = None;
    if wants("task") {
        let filter = TaskFilter {
            is_waiting: true,
            ..TaskFilter::default()
        };
        let listed = use_cases
            .tasks_after(&filter, after.as_ref(), max + 1)
            .await?;
        let (rows, behind) = cut(listed, max, |entry| entry.cursor.to_string());
        next = behind;
        for entry in rows {
            items.push(of_task(&use_cases, &entry.task).await?);
        }
    }
    Ok(page(&asked, items, next))
}

async fn of_task(use_cases: &UseCases, row: &TaskRow) -> Result<Value, ApiProblem> {
    let mut question = tasks::document(row);
    let schema = tasks::output_schema(use_cases, row).await?;
    question["kind"] = json!("task");
    question["question"] = json!(format!("task:{}", row.id));
    question["prompt"] = json!(use_cases.prompt(row).await?);
    question["outputSchema"] = schema.clone();
    question["schema"] = schema;
    question["answer"] = json!(format!(
        "/api/v1/tasks/{}/answer",
        encoded(&row.id.to_string())
    ));
    Ok(question)
}

fn of_recipe(name: &str, id: &str, questions: &Value) -> Value {
    let run = format!("/api/v1/recipes/{}/runs/{id}", encoded(name));
    json!({
        "kind": "recipe", "question": format!("recipe:{name}/{id}"), "id": id, "recipe": name,
        "prompt": questions["title"], "questions": questions["questions"],
        "schema": questions["schema"], "answer": format!("{run}/answers"),
    })
}

async fn builds_that_wait(use_cases: &UseCases) -> Result<Vec<Value>, ApiProblem> {
    let mut items = Vec::new();
    for status in [JobStatus::PlanReady, JobStatus::ReviewReady] {
        for shown in use_cases.builds(Some(status), BUILDS_MAX).await? {
            let id = shown.job.id.as_str();
            let (act, schema) = match status {
                JobStatus::PlanReady => ("approve", of_plan()),
                _ => ("review", builds::review_schema()),
            };
            items.push(json!({
                "kind": "build", "question": format!("build:{id}"), "id": id,
                "status": status.as_str(), "prompt": shown.job.request(), "plan": shown.job.plan,
                "schema": schema, "answer": format!("/api/v1/builder/jobs/{id}/{act}"),
            }));
        }
    }
    Ok(items)
}

/// The schema of an answer about a plan.
fn of_plan() -> Value {
    json!({
        "type": "object",
        "required": ["approved"],
        "additionalProperties": false,
        "properties": {
            "approved": { "type": "boolean" },
            "plan": { "description": "The plan in place of the one that waits." },
        },
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanVerdict {
    approved: bool,
    #[serde(default)]
    plan: Option<Value>,
}

async fn answer(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let QuestionAnswer { answer } = asked.body()?;
    let question = asked.path("question").to_owned();
    let Some((kind, place)) = question.split_once(':') else {
        return Err(unknown(&question));
    };
    let mut answered = match kind {
        "task" => answer_task(&asked, place, answer).await?,
        "build" => answer_build(&asked, place, answer).await?,
        "recipe" => {
            let (name, id) = place.rsplit_once('/').ok_or_else(|| unknown(&question))?;
            let answers: Map<String, Value> = fitting(answer)?;
            recipes::take_answers(&asked, (name, id), answers).await?
        }
        _ => return Err(unknown(&question)),
    };
    answered["kind"] = json!(kind);
    answered["question"] = json!(question);
    Ok(ApiReply::json(answered))
}

async fn answer_task(asked: &ApiRequest, task: &str, output: Value) -> Result<Value, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(task).await?;
    let command = EngineCommand::Answer {
        task: row.id.clone(),
        by: use_cases.person(),
        answer: TaskAnswer::Done { output },
    };
    use_cases.execute(command).await?;
    Ok(tasks::document(&use_cases.task(&row.id.to_string()).await?))
}

async fn answer_build(asked: &ApiRequest, job: &str, answer: Value) -> Result<Value, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let (shown, _) = use_cases.build(job).await?;
    let id: JobId = shown.job.id.clone();
    let status = if shown.job.status() == JobStatus::ReviewReady {
        let review: BuildReview = fitting(answer)?;
        use_cases.review_build(&id, review).await?
    } else {
        let verdict: PlanVerdict = fitting(answer)?;
        if verdict.approved {
            let plan = verdict.plan.map(|plan| plan.to_string());
            use_cases.approve_build(&id, plan).await?
        } else {
            use_cases.reject_build(&id).await?
        }
    };
    builds::go_on(asked.state(), use_cases, id.clone());
    Ok(json!({ "jobId": id.as_str(), "status": status.as_str() }))
}

/// Reads an answer as what its question takes.
fn fitting<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, ApiProblem> {
    serde_json::from_value(answer).map_err(|cause| {
        let message = format!("the answer does not fit: {cause}");
        ApiProblem::new(ProblemCode::Invalid, message.clone())
            .at("/answer", message)
            .hint("`schema` of the question says what it takes")
    })
}

fn unknown(question: &str) -> ApiProblem {
    let message = format!("there is no question `{question}`");
    ApiProblem::new(ProblemCode::NotFound, message)
        .hint("GET /api/v1/questions lists them: task:RUN/STEP, build:JOB or recipe:NAME/ID")
}
