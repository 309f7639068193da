//! Generating: the worktree, the context, and the loop with the plan as its permission.

use std::sync::Arc;

use agent::Toolset;
use agent::tools::{Commands, standard};
use llm::Block;
use workspace::{Policy, Workspace, Writes};

use crate::atlas::Atlas;
use crate::context;
use crate::error::{Error, Kind};
use crate::ground::{Ground, Tree, base_of, git, work_name};
use crate::job::Job;
use crate::plan::Plan;
use crate::site::{Halt, Site, blocking};
use crate::stage::validating::State;
use crate::store::Talk;
use crate::talk::{self, Talking};
use crate::words;

/// The phase under which generation is counted.
const PHASE: &str = "generate";

/// Where the work is done, and what may be done there.
pub(crate) struct Yard {
    pub(crate) tree: Tree,
    pub(crate) toolset: Toolset,
    pub(crate) state: State,
}

/// The plan of a job, which is there once somebody approved it.
pub(crate) fn plan_of(job: &Job) -> Result<&Plan, Error> {
    job.plan.as_ref().ok_or_else(|| {
        let message = format!("the build `{}` has no plan; start it again", job.id);
        Error::new(Kind::Setup, message)
    })
}

/// The worktree of the job, with the plan as the permission to write in it. What was saved of an
/// earlier attempt is brought back.
pub(crate) async fn worktree(site: &mut Site<'_>, ground: &Ground) -> Result<Yard, Halt> {
    let (here, base, name) = (
        ground.clone(),
        base_of(&site.job)?.clone(),
        work_name(&site.job.id),
    );
    let (worktree, is_fresh) = blocking(move || here.worktree(&name, &base)).await??;
    let ledger = talk::past(talk::history(site, Talk::Build).await?).ledger();
    let plan = plan_of(&site.job)?;
    let writes = Writes::Planned(plan.grant());
    let tree = ground.tree(site.bench, worktree, (writes, ledger))?;
    let has_saved = saved_commit(&site.job).is_some();
    if is_fresh && has_saved {
        bring_back(site, ground, &tree).await?;
    }
    let state = if is_fresh && !has_saved && site.job.continues.is_none() {
        State::Untouched
    } else {
        State::WorkedIn
    };
    let toolset = toolset(site, &tree)?;
    Ok(Yard {
        tree,
        toolset,
        state,
    })
}

/// Lets the model write the files of the plan.
pub(crate) async fn generate(site: &mut Site<'_>, yard: &Yard) -> Result<(), Halt> {
    let mut talking = open(site, yard).await?;
    let phase = site.job.phase(PHASE);
    if talking.conversation.is_fresh() || !talking.has_begun(&phase) {
        let prompt = prompt(site, yard).await?;
        talking.say(prompt);
    } else if yard.state == State::Untouched && !talking.conversation.ledger().touched.is_empty() {
        talking.say(words::LOST_FILES);
    }
    site.say("The model is writing the files of the plan.", None)
        .await?;
    let last_words = talk::ask(site, &mut talking, &yard.toolset, &phase).await?;
    site.store(|job| job.work.last_words = Some(last_words))
        .await
}

/// The conversation in which the plan is carried out and repaired.
pub(crate) async fn open(site: &mut Site<'_>, yard: &Yard) -> Result<Talking, Halt> {
    let kind = plan_of(&site.job)?.task_type;
    let system = vec![Block::stable(kind.system_prompt())];
    talk::open(site, Talk::Build, system, &yard.tree.workspace).await
}

async fn prompt(site: &mut Site<'_>, yard: &Yard) -> Result<String, Halt> {
    let plan = plan_of(&site.job)?.clone();
    let tree = Arc::clone(&yard.tree.workspace);
    let tokens_max = site.bench.settings.context_max_tokens;
    let gathered = blocking(move || {
        let atlas = Atlas::draw(&tree)?;
        let gathered = context::gather(&plan, &tree, &atlas, tokens_max);
        Ok::<_, Halt>((gathered, context::conventions(&tree)))
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
    Ok(words::task(&site.job, plan, &conventions, &gathered.text))
}

/// The tools of the job. Commands see neither the secrets of the worktree nor those of the
/// checkout, to which borrowed dependencies lead.
fn toolset(site: &Site<'_>, tree: &Tree) -> Result<Toolset, Halt> {
    let commands = commands(site)?;
    standard(&tree.workspace, Commands::Allowed(commands)).map_err(setup)
}

/// The surroundings of commands and checks.
pub(crate) fn commands(site: &Site<'_>) -> Result<agent::tools::CommandSettings, Halt> {
    let bench = site.bench;
    let policy = Policy::new(bench.policy)?;
    let checkout = Workspace::open(bench.project, policy, bench.files)?;
    let mut commands = bench.commands.hiding_secrets_of(&checkout).map_err(setup)?;
    commands.writable.push(bench.places.tool_cache());
    Ok(commands)
}

/// The commit that holds what was done so far.
fn saved_commit(job: &Job) -> Option<&String> {
    job.work.saved.as_ref().or(job.result.commit.as_ref())
}

/// Copies what a commit of an earlier attempt has into the fresh worktree.
async fn bring_back(site: &mut Site<'_>, ground: &Ground, tree: &Tree) -> Result<(), Halt> {
    let mut saved = base_of(&site.job)?.clone();
    saved.commit = saved_commit(&site.job).cloned().unwrap_or(saved.commit);
    let commit = vcs::Commit::parse(&saved.commit).map_err(git)?;
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
    let message = "What was saved of the earlier attempt is back in the worktree.";
    site.say(message, None).await
}

fn setup(error: agent::Error) -> Halt {
    Halt::Broken(Error::new(Kind::Setup, error.to_string()))
}
