//! Builds: asked for, planned, decided about, built and published, kept in the project's database.
//!
//! Nothing that costs money starts by itself: a build whose process died is shown as interrupted,
//! and [`resume`] continues it from its last committed turn.

pub(crate) mod deciding;
mod environment;
mod publishing;

use std::hash::{BuildHasher as _, RandomState};

use agent::AgentClock as _;
use builder::decide::{self, PlanApproval};
use builder::review::BuildReview;
use builder::run;
use builder::{BuildJob, BuildObserver, BuildPlan, BuildProgress, JobId, JobStatus, Options};
use exec::CommandCancel;

use crate::ai::AiOverrides;
use crate::tasks::clock::SystemClock;
use crate::tasks::run_archive;
use crate::workflows::database::{self, ProjectDatabase};
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};
use environment::{BuildEnvironment, BuildNeeds};

pub use publishing::{PublishReadiness, standing};

/// Folder of the patches, from the project's folder.
pub const PATCHES_DIR: &str = ".drawloom/patches";
/// Name of the newest build.
pub const LAST: &str = "last";

/// Everything a use case of builds needs.
pub struct BuildRequest<'a> {
    pub project: &'a Project,
    pub surroundings: &'a ProcessEnvironment,
    pub wish: AiOverrides,
    pub observer: &'a mut dyn BuildObserver,
    pub cancel: CommandCancel,
}

/// A build after a use case worked on it, whatever the result.
#[derive(Debug)]
pub struct BuildOutcome {
    pub job: BuildJob,
    /// Problems beside the work, a sentence each.
    pub warnings: Vec<String>,
}

/// The state of a build.
#[derive(Debug)]
pub struct BuildSnapshot {
    pub job: BuildJob,
    /// A process works on it at this moment.
    pub is_held: bool,
}

impl BuildSnapshot {
    /// Returns true if a process should work on it and none does: its process died.
    pub fn is_interrupted(&self) -> bool {
        self.job.status().is_active() && !self.is_held
    }
}

/// Asks for a build and has its plan made.
pub async fn plan(
    order: BuildRequest<'_>,
    prompt: &str,
    options: Options,
) -> Result<BuildOutcome, Error> {
    let now_ms = SystemClock.now_ms();
    let id = JobId::new(now_ms, RandomState::new().hash_one(now_ms));
    plan_as(order, id, prompt, options).await
}

/// Plans a build under an id that is not taken.
pub(crate) async fn plan_as(
    order: BuildRequest<'_>,
    id: JobId,
    prompt: &str,
    options: Options,
) -> Result<BuildOutcome, Error> {
    let now_ms = SystemClock.now_ms();
    // An invalid job is refused before anything is set up.
    let job = BuildJob::new(id, prompt, options, now_ms)?;
    work(order, BuildNeeds::Planner, async |shop, observer| {
        shop.require_repository()?;
        shop.store.jobs().create(&job).await?;
        let bench = shop.bench();
        Ok(run::plan(&bench, &job.id, observer).await?)
    })
    .await
}

/// Asks for a build and keeps it, for [`resume`] to plan it. Refused where no model is set up to plan.
pub(crate) async fn ask(
    order: BuildRequest<'_>,
    id: JobId,
    prompt: &str,
    options: Options,
) -> Result<BuildOutcome, Error> {
    let job = BuildJob::new(id, prompt, options, SystemClock.now_ms())?;
    work(order, BuildNeeds::Planner, async |shop, _| {
        shop.require_repository()?;
        shop.store.jobs().create(&job).await?;
        Ok(job.clone())
    })
    .await
}

/// Approves a plan, for [`resume`] to build it.
pub(crate) async fn accept(
    order: BuildRequest<'_>,
    id: &JobId,
    how: PlanApproval,
) -> Result<BuildOutcome, Error> {
    waiting(
        id,
        show(order.project, order.surroundings, id)
            .await?
            .job
            .status(),
    )?;
    work(order, BuildNeeds::Builder, async |shop, _| {
        shop.require_repository()?;
        let bench = shop.bench();
        waiting(id, bench.jobs.get(id).await?.status())?;
        Ok(decide::approve_as(&bench, id, how).await?)
    })
    .await
}

/// Approves a plan and builds it.
pub async fn approve(
    order: BuildRequest<'_>,
    id: &JobId,
    how: PlanApproval,
) -> Result<BuildOutcome, Error> {
    // A build that cannot be approved is refused before a model is set up.
    waiting(
        id,
        show(order.project, order.surroundings, id)
            .await?
            .job
            .status(),
    )?;
    work(order, BuildNeeds::Builder, async |shop, observer| {
        shop.require_repository()?;
        let bench = shop.bench();
        waiting(id, bench.jobs.get(id).await?.status())?;
        decide::approve_as(&bench, id, how).await?;
        Ok(run::build(&bench, id, observer).await?)
    })
    .await
}

/// Decides about work that waits for a review, and goes on: publishes it, or changes it and runs
/// the checks again.
pub async fn review(
    order: BuildRequest<'_>,
    id: &JobId,
    review: BuildReview,
) -> Result<BuildOutcome, Error> {
    let team = match review.has_comments() {
        true => BuildNeeds::Builder,
        false => BuildNeeds::Publisher,
    };
    work(order, team, async |shop, observer| {
        shop.require_repository()?;
        let bench = shop.bench();
        decide::review(&bench, id, review).await?;
        Ok(run::build(&bench, id, observer).await?)
    })
    .await
}

/// Asks for more in the branch and the conversation of a build that has come to its end, and has it
/// planned.
pub async fn follow_up(
    order: BuildRequest<'_>,
    id: &JobId,
    prompt: &str,
) -> Result<BuildOutcome, Error> {
    work(order, BuildNeeds::Planner, async |shop, observer| {
        shop.require_repository()?;
        let bench = shop.bench();
        decide::follow_up(&bench, id, prompt).await?;
        Ok(run::plan(&bench, id, observer).await?)
    })
    .await
}

/// Continues a build: where its process left it, or at the step that failed. One that waits for a
/// decision or has ended is returned unchanged.
pub async fn resume(order: BuildRequest<'_>, id: &JobId) -> Result<BuildOutcome, Error> {
    let job = show(order.project, order.surroundings, id).await?.job;
    let at = match (job.status(), &job.error) {
        (JobStatus::Failed, Some(failure)) => failure.step,
        (status, _) => status,
    };
    let team = match at {
        JobStatus::Queued | JobStatus::Planning => BuildNeeds::Planner,
        JobStatus::Publishing => BuildNeeds::Publisher,
        _ if !at.is_active() => BuildNeeds::Nobody,
        _ => BuildNeeds::Builder,
    };
    work(order, team, async |shop, observer| {
        let bench = shop.bench();
        if job.status() == JobStatus::Failed {
            shop.require_repository()?;
            decide::retry(&bench, id).await?;
        }
        Ok(run::resume(&bench, id, observer).await?)
    })
    .await
}

/// Publishes what a build made, again or for the first time.
pub async fn publish(order: BuildRequest<'_>, id: &JobId) -> Result<BuildOutcome, Error> {
    work(order, BuildNeeds::Publisher, async |shop, observer| {
        shop.require_repository()?;
        let bench = shop.bench();
        let job = bench.jobs.get(id).await?;
        // Left there by a process that died: the decision was made already.
        if job.status() != JobStatus::Publishing {
            decide::publish(&bench, id).await?;
        }
        Ok(run::build(&bench, id, observer).await?)
    })
    .await
}

/// Ends a build without building it.
pub async fn reject(order: BuildRequest<'_>, id: &JobId) -> Result<BuildOutcome, Error> {
    work(order, BuildNeeds::Nobody, async |shop, _| {
        Ok(decide::reject(&shop.bench(), id).await?)
    })
    .await
}

/// Ends a build in any state.
pub async fn cancel(order: BuildRequest<'_>, id: &JobId) -> Result<BuildOutcome, Error> {
    work(order, BuildNeeds::Nobody, async |shop, _| {
        Ok(decide::cancel(&shop.bench(), id).await?)
    })
    .await
}

/// Puts an edited plan, as text, in the place of the one that waits.
pub async fn edit(order: BuildRequest<'_>, id: &JobId, text: &str) -> Result<BuildOutcome, Error> {
    let plan: BuildPlan = builder::plan::read(text).map_err(|problems| {
        let message = format!("the plan cannot be read:\n{problems}");
        Error::new(AppErrorCode::BuildPlan, message)
            .hint("`drawloom schema build-plan` prints what a plan looks like")
    })?;
    work(order, BuildNeeds::Nobody, async |shop, _| {
        Ok(decide::edit(&shop.bench(), id, plan).await?)
    })
    .await
}

/// Returns the state of a build.
pub async fn show(
    project: &Project,
    surroundings: &ProcessEnvironment,
    id: &JobId,
) -> Result<BuildSnapshot, Error> {
    look(project, surroundings, async |store| {
        let job = store.jobs().get(id).await?;
        shown(store, job).await
    })
    .await?
    .ok_or_else(|| builder::unknown(id).into())
}

/// Returns the progress of a build, the oldest first.
pub async fn progress(
    project: &Project,
    surroundings: &ProcessEnvironment,
    id: &JobId,
) -> Result<Vec<BuildProgress>, Error> {
    let told = look(project, surroundings, async |store| {
        Ok(store.jobs().progress(id).await?)
    })
    .await?;
    Ok(told.unwrap_or_default())
}

/// Lists the newest builds, of this status or of any.
pub async fn list(
    project: &Project,
    surroundings: &ProcessEnvironment,
    status: Option<JobStatus>,
    count: usize,
) -> Result<Vec<BuildSnapshot>, Error> {
    list_after((project, surroundings), status, None, count).await
}

/// Lists builds that are older than `after`, the newest first.
pub(crate) async fn list_after(
    (project, surroundings): (&Project, &ProcessEnvironment),
    status: Option<JobStatus>,
    after: Option<JobId>,
    count: usize,
) -> Result<Vec<BuildSnapshot>, Error> {
    let listed = look(project, surroundings, async |store| {
        let mut listed = Vec::new();
        for job in store.jobs().list(status, after, count).await? {
            listed.push(shown(store, job).await?);
        }
        Ok(listed)
    })
    .await?;
    Ok(listed.unwrap_or_default())
}

/// Lists files with uncommitted changes, which a build does not see unless it is told to; empty
/// without a repository.
pub fn uncommitted(project: &Project) -> Result<Vec<String>, Error> {
    let Ok(repository) = vcs::Repository::open(&vcs::GitProgram::at(project.folder())) else {
        return Ok(Vec::new());
    };
    let changed = builder::uncommitted(&repository, &project.settings.agent.policy)?;
    Ok(changed
        .iter()
        .map(|path| path.display().to_string())
        .collect())
}

/// The fewest characters by which a build can be named.
const PIECE_CHARS_MIN: usize = 4;
/// Number of builds among which a short name is searched.
const NAMED_MAX: usize = 10_000;

/// Finds the build that a person means: by its id, a unique beginning or end of it, or `last`.
pub async fn find(
    project: &Project,
    surroundings: &ProcessEnvironment,
    text: &str,
) -> Result<JobId, Error> {
    if text == LAST {
        let newest = list(project, surroundings, None, 1)
            .await?
            .into_iter()
            .next();
        return newest.map(|shown| shown.job.id).ok_or_else(|| {
            Error::new(AppErrorCode::NotFound, "there is no build here yet")
                .hint("`drawloom build \"…\"` begins one")
        });
    }
    let given = JobId::parse(text)?;
    if text.len() < PIECE_CHARS_MIN {
        return Ok(given);
    }
    let ids = look(project, surroundings, async |store| {
        let jobs = store.jobs().list(None, None, NAMED_MAX).await?;
        Ok(jobs.into_iter().map(|job| job.id).collect::<Vec<_>>())
    })
    .await?;
    let ids = ids.unwrap_or_default();
    if ids.contains(&given) {
        return Ok(given);
    }
    let fits = |id: &&JobId| id.as_str().starts_with(text) || id.as_str().ends_with(text);
    let found: Vec<&JobId> = ids.iter().filter(fits).collect();
    match found.as_slice() {
        [] => Ok(given),
        [one] => Ok((*one).clone()),
        several => {
            let names: Vec<&str> = several.iter().take(5).map(|id| id.as_str()).collect();
            let message = format!(
                "`{text}` may be any of {} builds: {}",
                several.len(),
                names.join(", ")
            );
            Err(Error::new(AppErrorCode::NotFound, message).hint("write more of its id"))
        }
    }
}

/// Refuses a build whose plan does not wait for approval. One that failed could go on from its step
/// as well, but then no person has looked at a plan.
fn waiting(id: &JobId, status: JobStatus) -> Result<(), Error> {
    if status == JobStatus::PlanReady {
        return Ok(());
    }
    let message = format!("the build `{id}` is `{status}`, and no plan of it waits");
    let hint = format!("`drawloom builds show {id}` shows its status");
    Err(Error::new(AppErrorCode::Conflict, message).hint(hint))
}

/// Works on a build in the given environment, and collects the problems beside the work.
async fn work(
    order: BuildRequest<'_>,
    team: BuildNeeds,
    act: impl AsyncFnOnce(&BuildEnvironment<'_>, &mut dyn BuildObserver) -> Result<BuildJob, Error>,
) -> Result<BuildOutcome, Error> {
    let BuildRequest {
        project,
        surroundings,
        wish,
        observer,
        cancel,
    } = order;
    let models = environment::models(project, surroundings, &wish, team)?;
    let shop = BuildEnvironment::open(project, surroundings, models, cancel).await?;
    let came = act(&shop, observer).await;
    let warnings = match &came {
        Ok(job) => shop.warnings(job),
        Err(_) => Vec::new(),
    };
    shop.close().await;
    let job = came?;
    Ok(BuildOutcome { job, warnings })
}

/// Looks into the database, if there is one.
async fn look<T>(
    project: &Project,
    surroundings: &ProcessEnvironment,
    act: impl AsyncFnOnce(&ProjectDatabase) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    if !database::exists(project, surroundings)? {
        return Ok(None);
    }
    let store = run_archive::open(project, surroundings, Vec::new()).await?;
    let came = act(&store).await;
    // A failure to close loses nothing that was read.
    let _ = store.close().await;
    came.map(Some)
}

async fn shown(store: &ProjectDatabase, job: BuildJob) -> Result<BuildSnapshot, Error> {
    let is_held = store.agent_runs().is_build_held(&job.id).await?;
    Ok(BuildSnapshot { job, is_held })
}
