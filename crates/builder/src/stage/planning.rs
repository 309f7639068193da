//! Planning: index, one question, and a valid plan.

use std::sync::Arc;

use agent::{AgentTools, CommandCancel, Limits};
use llm::SystemBlock;
use workspace::{RelPath, Root, Workspace, WriteCounter, WriteScope};

use crate::active_job::{ActiveJob, StageHalt, blocking};
use crate::build_context::BuildContext;
use crate::conversation::{self, ModelConversation};
use crate::error::{BuildErrorKind, Error};
use crate::job::{BuildJob, FailureCode};
use crate::job_repository::{JobRepository, base_of, work_name};
use crate::plan::{self, BuildPlan, PlanProblems};
use crate::prompts;
use crate::prompts::fenced;
use crate::status::JobStatus;
use crate::store::ConversationKind;
use crate::task_type::ChecksToRun;
use crate::tree_index::TreeIndex;
use crate::validation::{self, ProjectCheck};

/// The phase under which planning is counted.
const PHASE: &str = "plan";

/// The result of planning.
pub(crate) struct PlanningResult {
    plan: BuildPlan,
    checks: Vec<ProjectCheck>,
    notes: Vec<String>,
}

/// Records the job's base commit, once and for all.
pub(crate) async fn begin(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
) -> Result<(), StageHalt> {
    let begun = "Reading the project.";
    if site.job.base.is_some() {
        return site.keep(JobStatus::Planning, begun, |_| {}).await;
    }
    let (base, notes) = ground.base(site.bench, &site.job)?;
    site.keep(JobStatus::Planning, begun, |job| {
        job.base = Some(base);
        notes.into_iter().for_each(|note| job.result.note(note));
    })
    .await
}

/// Asks for plans until one is valid.
pub(crate) async fn ask(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
) -> Result<PlanningResult, StageHalt> {
    let tree = tree(site.bench, &site.job, ground).await?;
    let index = index(site, &tree).await?;
    let schema = plan::schema().to_string();
    let system = format!(
        "{}\n{}",
        include_str!("../prompts/planning.md"),
        fenced("json", &schema)
    );
    let mut talking = conversation::open(
        site,
        ConversationKind::Plan,
        vec![SystemBlock::stable(system)],
        &tree,
    )
    .await?;
    let phase = site.job.phase(PHASE);
    if talking.conversation.is_fresh() {
        talking.say(prompts::request(&site.job, &index));
    } else if !talking.has_begun(&phase) {
        talking.say(prompts::follow_up(&site.job, &index));
    }
    site.say("Asking the model for a plan.", None).await?;
    let corrections_max = site.bench.settings.plan_corrections_max;
    let mut corrections = 0;
    loop {
        let answer = answer(site, &mut talking, &tree, &phase).await?;
        match read(site, &answer, &tree) {
            Ok((plan, notes)) => {
                let checks = checks(site.bench, &plan, &tree)?;
                return Ok(PlanningResult {
                    plan,
                    checks,
                    notes,
                });
            }
            Err(problems) if corrections < corrections_max => {
                corrections += 1;
                let count = problems.0.len();
                let text = problems.to_string();
                site.say(
                    &format!("The plan has {count} problem(s); asking the model to correct it."),
                    Some(&text),
                )
                .await?;
                talking.say(prompts::plan_correction(&text));
            }
            Err(problems) => {
                let message = format!(
                    "the model gave no usable plan, even after corrections \
                     (builder.plan_corrections_max = {corrections_max}):\n{problems}"
                );
                return Err(StageHalt::Failed(FailureCode::PlanInvalid, message));
            }
        }
    }
}

/// Asks the planner. It may read files first, for as many turns as the settings allow; then it is
/// told to answer with what it has seen.
async fn answer(
    site: &mut ActiveJob<'_>,
    talking: &mut ModelConversation,
    tree: &Arc<Workspace>,
    phase: &str,
) -> Result<String, StageHalt> {
    let nothing = AgentTools::new();
    let turns_max = site.bench.settings.plan_turns_max;
    if turns_max == 0 {
        return conversation::ask(site, talking, &nothing, phase).await;
    }
    let reading = agent::tools::reading(tree)
        .map_err(|error| StageHalt::Broken(Error::new(BuildErrorKind::Setup, error.to_string())))?;
    let limits = Limits {
        turns_max: turns_max.min(site.bench.limits.turns_max),
        ..site.bench.limits.clone()
    };
    match conversation::ask_within(site, talking, (&reading, &limits), phase).await {
        Err(StageHalt::Failed(FailureCode::Limit, _)) => {
            site.say(
                "The planner has used its turns for reading; asking it for the plan.",
                None,
            )
            .await?;
            talking.say(prompts::PLAN_NOW);
            conversation::ask(site, talking, &nothing, phase).await
        }
        answered => answered,
    }
}

/// Presents the plan to a person.
pub(crate) async fn present(
    site: &mut ActiveJob<'_>,
    planned: PlanningResult,
) -> Result<(), StageHalt> {
    let totals = conversation::totals(site).await?;
    let message = format!(
        "The plan is ready: {} file(s), {} check(s).",
        planned.plan.files.len(),
        planned.checks.len()
    );
    site.keep(JobStatus::PlanReady, &message, |job| {
        job.plan = Some(planned.plan);
        job.checks = planned.checks;
        job.result.spent(&totals);
        for note in planned.notes {
            job.result.note(note);
        }
    })
    .await
}

/// Checks an edited plan against its tree, and returns the project checks it would have to pass.
pub(crate) async fn recheck(
    bench: &BuildContext<'_>,
    job: &BuildJob,
    plan: &BuildPlan,
) -> Result<Vec<ProjectCheck>, Error> {
    let ground = JobRepository::open(bench, &CommandCancel::default())?;
    let checked = async {
        let tree = tree(bench, job, &ground).await?;
        let problems = plan::check(plan, &tree, bench.settings.plan_files_max);
        let checks = checks(bench, plan, &tree)?;
        Ok::<_, StageHalt>((problems, checks))
    };
    let checked = checked.await;
    ground.remove(&job.id)?;
    match checked {
        Ok((Ok(()), checks)) => Ok(checks),
        Ok((Err(problems), _)) => Err(Error::new(
            BuildErrorKind::Plan,
            format!("the plan cannot be carried out:\n{problems}"),
        )),
        Err(StageHalt::Broken(error)) => Err(error),
        Err(StageHalt::Failed(_, message)) => Err(Error::new(BuildErrorKind::Setup, message)),
        Err(StageHalt::Cancelled | StageHalt::Interrupted) => Err(Error::new(
            BuildErrorKind::Interrupted,
            "the plan could not be checked to the end; try again",
        )),
    }
}

/// Opens the tree the plan is for: the job's base commit, without the user's uncommitted edits.
async fn tree(
    bench: &BuildContext<'_>,
    job: &BuildJob,
    ground: &JobRepository,
) -> Result<Arc<Workspace>, StageHalt> {
    let (ground_here, base) = (ground.clone(), base_of(job)?.clone());
    let name = work_name(&job.id);
    let (worktree, _) = blocking(move || ground_here.worktree(&name, &base)).await??;
    let tree = ground.tree(
        bench,
        worktree,
        (WriteScope::Nothing, WriteCounter::default()),
    )?;
    Ok(tree.workspace)
}

async fn index(site: &mut ActiveJob<'_>, tree: &Arc<Workspace>) -> Result<String, StageHalt> {
    let tree = Arc::clone(tree);
    let (prompt, tokens_max) = (
        site.job.prompt.clone(),
        site.bench.settings.index_max_tokens,
    );
    blocking(move || {
        let atlas = TreeIndex::draw(&tree)?;
        Ok(atlas.index(tokens_max, &prompt))
    })
    .await?
}

/// Parses the plan in an answer, or returns all its problems; also returns what was left out of it.
fn read(
    site: &ActiveJob<'_>,
    answer: &str,
    tree: &Workspace,
) -> Result<(BuildPlan, Vec<String>), PlanProblems> {
    let mut plan = plan::read_reply(answer)?;
    if let Some(given) = site.job.options.task_type {
        plan.task_type = given;
    }
    plan::check(&plan, tree, site.bench.settings.plan_files_max)?;
    let mut notes = Vec::new();
    let readable = |path: &RelPath| match tree.kind(path) {
        Ok(Some(workspace::PathKind::File)) => tree.policy().check_read(path).is_ok(),
        _ => false,
    };
    plan.context_files.retain(|path| {
        let keep = readable(path);
        if !keep {
            notes.push(format!(
                "The plan names `{path}` as context, which is not there or may not be read; it was \
                 left out."
            ));
        }
        keep
    });
    let mut seen = std::collections::BTreeSet::new();
    plan.context_files.retain(|path| seen.insert(path.clone()));
    Ok((plan, notes))
}

/// Returns the checks of the settings, otherwise those detected from the project's files.
fn checks(
    bench: &BuildContext<'_>,
    plan: &BuildPlan,
    tree: &Workspace,
) -> Result<Vec<ProjectCheck>, StageHalt> {
    if plan.task_type.rules().checks == ChecksToRun::None {
        return Ok(Vec::new());
    }
    if let Some(checks) = &bench.settings.checks {
        return Ok(checks.clone());
    }
    let touched: Vec<RelPath> = plan.touched().cloned().collect();
    Ok(validation::detect(&Root::open(tree.path())?, &touched))
}
