//! Generating: the worktree, the context, and the loop with the plan as its permission.

use std::sync::Arc;

use agent::AgentTools;
use agent::tools::{CommandAccess, standard};
use llm::SystemBlock;
use workspace::{AccessPolicy, Workspace, WriteScope};

use crate::active_job::{ActiveJob, StageHalt, blocking};
use crate::context;
use crate::conversation::{self, ModelConversation};
use crate::error::{BuildErrorKind, Error};
use crate::job::BuildJob;
use crate::job_repository::{JobRepository, JobWorktree, base_of, git, work_name};
use crate::kept_files::{self, WorktreeFiles};
use crate::plan::BuildPlan;
use crate::prompts;
use crate::stage::validating::WorktreeState;
use crate::store::ConversationKind;
use crate::tree_index::TreeIndex;

/// The phase under which generation is counted.
const PHASE: &str = "generate";

/// The job's worktree, the tools for it, and its state.
pub(crate) struct WorkArea {
    pub(crate) tree: JobWorktree,
    pub(crate) toolset: AgentTools,
    pub(crate) state: WorktreeState,
}

/// Returns the job's plan, which exists once it is approved.
pub(crate) fn plan_of(job: &BuildJob) -> Result<&BuildPlan, Error> {
    job.plan.as_ref().ok_or_else(|| {
        let message = format!("the build `{}` has no plan; start it again", job.id);
        Error::new(BuildErrorKind::Setup, message)
    })
}

/// Opens the job's worktree, with the plan as the permission to write in it. Restores the saved
/// work of an earlier attempt.
pub(crate) async fn worktree(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
) -> Result<WorkArea, StageHalt> {
    let (here, base, name) = (
        ground.clone(),
        base_of(&site.job)?.clone(),
        work_name(&site.job.id),
    );
    let (worktree, is_fresh) = blocking(move || here.worktree(&name, &base)).await??;
    let ledger =
        conversation::past(conversation::history(site, ConversationKind::Build).await?).ledger();
    let plan = plan_of(&site.job)?;
    let writes = WriteScope::Planned(plan.grant());
    let tree = ground.tree(site.bench, worktree, (writes, ledger))?;
    let was_kept = is_fresh && kept_files::restore(site, &tree).await?;
    let has_saved = saved_commit(&site.job).is_some();
    if is_fresh && has_saved && !was_kept {
        bring_back(site, ground, &tree).await?;
    }
    let state = if is_fresh && !was_kept && !has_saved && site.job.continues.is_none() {
        WorktreeState::Untouched
    } else {
        WorktreeState::WorkedIn
    };
    let toolset = toolset(site, &tree)?;
    Ok(WorkArea {
        tree,
        toolset,
        state,
    })
}

/// Lets the model write the files of the plan.
pub(crate) async fn generate(site: &mut ActiveJob<'_>, yard: &WorkArea) -> Result<(), StageHalt> {
    let mut talking = open(site, yard).await?;
    let phase = site.job.phase(PHASE);
    if talking.conversation.is_fresh() || !talking.has_begun(&phase) {
        let prompt = prompt(site, yard).await?;
        talking.say(prompt);
    } else if yard.state == WorktreeState::Untouched
        && !talking.conversation.ledger().touched.is_empty()
    {
        talking.say(prompts::LOST_FILES);
    }
    site.say("The model is writing the files of the plan.", None)
        .await?;
    let last_words = conversation::ask(site, &mut talking, &yard.toolset, &phase).await?;
    site.store(|job| job.work.last_words = Some(last_words))
        .await
}

/// The conversation in which the plan is carried out and repaired.
pub(crate) async fn open(
    site: &mut ActiveJob<'_>,
    yard: &WorkArea,
) -> Result<ModelConversation, StageHalt> {
    let kind = plan_of(&site.job)?.task_type;
    let system = vec![SystemBlock::stable(kind.system_prompt())];
    let mut talking =
        conversation::open(site, ConversationKind::Build, system, &yard.tree.workspace).await?;
    if site.bench.jobs.is_shared() {
        let stored = site.bench.jobs.files(&site.job.id).await?;
        talking.files = Some(WorktreeFiles::of(&yard.tree, &stored));
    }
    Ok(talking)
}

async fn prompt(site: &mut ActiveJob<'_>, yard: &WorkArea) -> Result<String, StageHalt> {
    let plan = plan_of(&site.job)?.clone();
    let tree = Arc::clone(&yard.tree.workspace);
    let tokens_max = site.bench.settings.context_max_tokens;
    let gathered = blocking(move || {
        let atlas = TreeIndex::draw(&tree)?;
        let gathered = context::gather(&plan, &tree, &atlas, tokens_max);
        Ok::<_, StageHalt>((gathered, context::conventions(&tree)))
    })
    .await??;
    let (gathered, conventions) = gathered;
    let message = format!(
        "The context is gathered: {} file(s) whole, {} cut, {} left out.",
        gathered.whole.len(),
        gathered.cut.len(),
        gathered.left_out.len()
    );
    site.say(&message, None).await?;
    let plan = plan_of(&site.job)?;
    let conventions = conventions.unwrap_or_default();
    Ok(prompts::task(&site.job, plan, &conventions, &gathered.text))
}

/// The tools of the job. Commands see neither the secrets of the worktree nor those of the
/// checkout, to which borrowed dependencies lead.
fn toolset(site: &ActiveJob<'_>, tree: &JobWorktree) -> Result<AgentTools, StageHalt> {
    let commands = commands(site)?;
    standard(&tree.workspace, CommandAccess::Allowed(commands)).map_err(setup)
}

/// The surroundings of commands and checks.
pub(crate) fn commands(site: &ActiveJob<'_>) -> Result<agent::tools::CommandSettings, StageHalt> {
    let bench = site.bench;
    let policy = AccessPolicy::new(bench.policy)?;
    let checkout = Workspace::open(bench.project, policy, bench.files)?;
    let mut commands = bench.commands.hiding_secrets_of(&checkout).map_err(setup)?;
    commands.tool_cache = Some(bench.places.tool_cache());
    Ok(commands)
}

/// The commit with the work so far.
fn saved_commit(job: &BuildJob) -> Option<&String> {
    job.work.saved.as_ref().or(job.result.commit.as_ref())
}

/// Copies the commit of an earlier attempt into the fresh worktree.
async fn bring_back(
    site: &mut ActiveJob<'_>,
    ground: &JobRepository,
    tree: &JobWorktree,
) -> Result<(), StageHalt> {
    let mut saved = base_of(&site.job)?.clone();
    saved.commit = saved_commit(&site.job).cloned().unwrap_or(saved.commit);
    let commit = vcs::CommitId::parse(&saved.commit).map_err(git)?;
    let mut job = site.job.clone();
    job.base = Some(saved);
    ground.forget_untouched(&site.job.id)?;
    let attempt = ground.untouched(site.bench, &job)?;
    let mut paths: Vec<_> = plan_of(&site.job)?.touched().cloned().collect();
    // Lock files that follow the plan's manifests are part of the work.
    let changes = ground.repository.changes(tree.worktree.base(), &commit);
    let changed = changes.map_err(git)?;
    paths.extend(
        changed
            .iter()
            .filter_map(|change| tree.project_path(&change.path)),
    );
    paths.sort();
    paths.dedup();
    tree.put_back(&paths, &attempt)?;
    ground.forget_untouched(&site.job.id)?;
    let message = "The saved work of the earlier attempt is back in the worktree.";
    site.say(message, None).await
}

fn setup(error: agent::Error) -> StageHalt {
    StageHalt::Broken(Error::new(BuildErrorKind::Setup, error.to_string()))
}
