//! Builds: asked for, planned, decided about, built and published, kept in the project's database.
//!
//! What costs money happens where somebody asks for it: a build whose process died is shown as
//! interrupted, and [`resume`] goes on with it from its last committed turn.

mod outlet;
mod shop;

use std::hash::{BuildHasher as _, RandomState};

use agent::Clock as _;
use builder::decide::{self, Approval};
use builder::review::Review;
use builder::run;
use builder::{BuildObserver, Job, JobId, Jobs as _, Options, Plan, Progress, Status};
use exec::Cancel;
use store::Store;

use crate::ai::Wish;
use crate::tasks::clock::SystemClock;
use crate::tasks::{bench, keeping};
use crate::{Code, Error, Project, Surroundings};
use shop::{Shop, Team};

pub use outlet::{Standing, standing};

/// Where patches are kept, from the project's folder.
pub const PATCHES_DIR: &str = ".drawloom/patches";
/// How the newest build can be called.
pub const LAST: &str = "last";

/// What a build is worked on with.
pub struct Order<'a> {
    pub project: &'a Project,
    pub surroundings: &'a Surroundings,
    pub wish: Wish,
    pub observer: &'a mut dyn BuildObserver,
    pub cancel: Cancel,
}

/// A build that somebody worked on, however far it came.
#[derive(Debug)]
pub struct Done {
    pub job: Job,
    /// What went wrong beside the work, a sentence each.
    pub warnings: Vec<String>,
}

/// A build as it stands.
#[derive(Debug)]
pub struct Shown {
    pub job: Job,
    /// Somebody works on it at this moment.
    pub is_held: bool,
}

impl Shown {
    /// Whether somebody should work on it and nobody does: its process died.
    pub fn is_interrupted(&self) -> bool {
        self.job.status().is_active() && !self.is_held
    }
}

/// Asks for a build and has its plan made.
pub fn plan(order: Order<'_>, prompt: &str, options: Options) -> Result<Done, Error> {
    let now_ms = SystemClock.now_ms();
    let id = JobId::new(now_ms, RandomState::new().hash_one(now_ms));
    plan_as(order, id, prompt, options)
}

/// The same under a name that is not taken.
pub(crate) fn plan_as(
    order: Order<'_>,
    id: JobId,
    prompt: &str,
    options: Options,
) -> Result<Done, Error> {
    let now_ms = SystemClock.now_ms();
    // What cannot be a job is refused before anything is looked for.
    let job = Job::new(id, prompt, options, now_ms)?;
    work(order, Team::Planner, async |shop, observer| {
        shop.require_repository()?;
        shop.store.create(&job).await?;
        let bench = shop.bench();
        Ok(run::plan(&bench, &job.id, observer).await?)
    })
}

/// Approves a plan and builds it.
pub fn approve(order: Order<'_>, id: &JobId, how: Approval) -> Result<Done, Error> {
    // What cannot be approved needs nobody to build it.
    waiting(id, show(order.project, id)?.job.status())?;
    work(order, Team::Builder, async |shop, observer| {
        shop.require_repository()?;
        let bench = shop.bench();
        waiting(id, bench.jobs.get(id).await?.status())?;
        decide::approve_as(&bench, id, how).await?;
        Ok(run::build(&bench, id, observer).await?)
    })
}

/// Says what becomes of work that waits for a review, and goes on: it is published, or changed and
/// held against the checks again.
pub fn review(order: Order<'_>, id: &JobId, review: Review) -> Result<Done, Error> {
    let team = match review.has_comments() {
        true => Team::Builder,
        false => Team::Publisher,
    };
    work(order, team, async |shop, observer| {
        shop.require_repository()?;
        let bench = shop.bench();
        decide::review(&bench, id, review).await?;
        Ok(run::build(&bench, id, observer).await?)
    })
}

/// Asks for more in the branch and the conversation of a build that has come to its end, and has it
/// planned.
pub fn follow_up(order: Order<'_>, id: &JobId, prompt: &str) -> Result<Done, Error> {
    work(order, Team::Planner, async |shop, observer| {
        shop.require_repository()?;
        let bench = shop.bench();
        decide::follow_up(&bench, id, prompt).await?;
        Ok(run::plan(&bench, id, observer).await?)
    })
}

/// Goes on with a build: where its process left it, or at the step that failed. One that waits for
/// a decision or has come to its end is returned as it is.
pub fn resume(order: Order<'_>, id: &JobId) -> Result<Done, Error> {
    let job = show(order.project, id)?.job;
    let at = match (job.status(), &job.error) {
        (Status::Failed, Some(failure)) => failure.step,
        (status, _) => status,
    };
    let team = match at {
        Status::Queued | Status::Planning => Team::Planner,
        Status::Publishing => Team::Publisher,
        _ if !at.is_active() => Team::Nobody,
        _ => Team::Builder,
    };
    work(order, team, async |shop, observer| {
        let bench = shop.bench();
        if job.status() == Status::Failed {
            shop.require_repository()?;
            decide::retry(&bench, id).await?;
        }
        Ok(run::resume(&bench, id, observer).await?)
    })
}

/// Publishes what a build made, again or for the first time.
pub fn publish(order: Order<'_>, id: &JobId) -> Result<Done, Error> {
    work(order, Team::Publisher, async |shop, observer| {
        shop.require_repository()?;
        let bench = shop.bench();
        let job = bench.jobs.get(id).await?;
        // Left there by a process that died: the decision was made already.
        if job.status() != Status::Publishing {
            decide::publish(&bench, id).await?;
        }
        Ok(run::build(&bench, id, observer).await?)
    })
}

/// Ends a build without building it.
pub fn reject(order: Order<'_>, id: &JobId) -> Result<Done, Error> {
    work(order, Team::Nobody, async |shop, _| {
        Ok(decide::reject(&shop.bench(), id).await?)
    })
}

/// Ends a build wherever it is.
pub fn cancel(order: Order<'_>, id: &JobId) -> Result<Done, Error> {
    work(order, Team::Nobody, async |shop, _| {
        Ok(decide::cancel(&shop.bench(), id).await?)
    })
}

/// Puts an edited plan, as text, in the place of the one that waits.
pub fn edit(order: Order<'_>, id: &JobId, text: &str) -> Result<Done, Error> {
    let plan: Plan = builder::plan::read(text).map_err(|problems| {
        let message = format!("the plan cannot be read:\n{problems}");
        Error::new(Code::BuildPlan, message)
            .hint("`drawloom schema build-plan` prints what a plan looks like")
    })?;
    work(order, Team::Nobody, async |shop, _| {
        Ok(decide::edit(&shop.bench(), id, plan).await?)
    })
}

/// The build as it stands.
pub fn show(project: &Project, id: &JobId) -> Result<Shown, Error> {
    look(project, async |store| {
        let job = store.get(id).await?;
        shown(store, job).await
    })?
    .ok_or_else(|| builder::unknown(id).into())
}

/// What happened to a build, the oldest first.
pub fn progress(project: &Project, id: &JobId) -> Result<Vec<Progress>, Error> {
    let told = look(project, async |store| Ok(store.progress(id).await?))?;
    Ok(told.unwrap_or_default())
}

/// The newest builds, of this status or of any.
pub fn list(project: &Project, status: Option<Status>, count: usize) -> Result<Vec<Shown>, Error> {
    let listed = look(project, async |store| {
        let mut listed = Vec::new();
        for job in store.list(status, None, count).await? {
            listed.push(shown(store, job).await?);
        }
        Ok(listed)
    })?;
    Ok(listed.unwrap_or_default())
}

/// Files with uncommitted changes, which a build does not see unless it is told to; none where there
/// is no repository.
pub fn uncommitted(project: &Project) -> Result<Vec<String>, Error> {
    let Ok(repository) = vcs::Repository::open(&vcs::Git::at(project.folder())) else {
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
/// The most builds among which a short name is looked for.
const NAMED_MAX: usize = 10_000;

/// The build that a person means: its id, the beginning or the end of it that no other has, or `last`.
pub fn find(project: &Project, text: &str) -> Result<JobId, Error> {
    if text == LAST {
        let newest = list(project, None, 1)?.into_iter().next();
        return newest.map(|shown| shown.job.id).ok_or_else(|| {
            Error::new(Code::NotFound, "there is no build here yet")
                .hint("`drawloom build \"…\"` begins one")
        });
    }
    let given = JobId::parse(text)?;
    if text.len() < PIECE_CHARS_MIN {
        return Ok(given);
    }
    let ids = look(project, async |store| {
        let jobs = store.list(None, None, NAMED_MAX).await?;
        Ok(jobs.into_iter().map(|job| job.id).collect::<Vec<_>>())
    })?;
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
            Err(Error::new(Code::NotFound, message).hint("write more of its id"))
        }
    }
}

/// Refuses a build whose plan waits for nobody. One that failed could go on from its step as well,
/// but nobody looked at a plan then.
fn waiting(id: &JobId, status: Status) -> Result<(), Error> {
    if status == Status::PlanReady {
        return Ok(());
    }
    let message = format!("the build `{id}` is `{status}`, and no plan of it waits");
    let hint = format!("`drawloom builds show {id}` says how it stands");
    Err(Error::new(Code::Conflict, message).hint(hint))
}

/// Works on a build with what it takes, and says what went wrong beside the work.
fn work(
    order: Order<'_>,
    team: Team,
    act: impl AsyncFnOnce(&Shop<'_>, &mut dyn BuildObserver) -> Result<Job, Error>,
) -> Result<Done, Error> {
    let Order {
        project,
        surroundings,
        wish,
        observer,
        cancel,
    } = order;
    let models = shop::models(project, surroundings, &wish, team)?;
    bench::runtime()?.block_on(async {
        let shop = Shop::open(project, surroundings, models, cancel).await?;
        let came = act(&shop, observer).await;
        let warnings = match &came {
            Ok(job) => shop.warnings(job),
            Err(_) => Vec::new(),
        };
        shop.close().await;
        let job = came?;
        Ok(Done { job, warnings })
    })
}

/// Looks into the database, if there is one.
fn look<T>(
    project: &Project,
    act: impl AsyncFnOnce(&Store) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    if !keeping::exists(project) {
        return Ok(None);
    }
    bench::runtime()?.block_on(async {
        let store = keeping::open(project, Vec::new()).await?;
        let came = act(&store).await;
        // What was read is read, whatever becomes of the connection.
        let _ = store.close().await;
        came.map(Some)
    })
}

async fn shown(store: &Store, job: Job) -> Result<Shown, Error> {
    let is_held = store.is_build_held(&job.id).await?;
    Ok(Shown { job, is_held })
}
