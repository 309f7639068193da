//! Planning: index, one question, and a plan that can be carried out.

use std::sync::Arc;

use agent::{Cancel, Limits, Toolset};
use llm::Block;
use workspace::{Ledger, RelPath, Root, Workspace, Writes};

use crate::atlas::Atlas;
use crate::bench::Bench;
use crate::error::{Error, Kind};
use crate::ground::{Ground, base_of, work_name};
use crate::job::{FailureCode, Job};
use crate::plan::{self, Plan, Problems};
use crate::site::{Halt, Site, blocking};
use crate::status::Status;
use crate::store::Talk;
use crate::talk::{self, Talking};
use crate::task_type::Checks;
use crate::validation::{self, Check};
use crate::words;
use crate::words::fenced;

/// The phase under which planning is counted.
const PHASE: &str = "plan";

/// What planning came to.
pub(crate) struct Planned {
    plan: Plan,
    checks: Vec<Check>,
    notes: Vec<String>,
}

/// Notes the commit the job starts from, once and for all.
pub(crate) async fn begin(site: &mut Site<'_>, ground: &Ground) -> Result<(), Halt> {
    let begun = "The project is being looked at.";
    if site.job.base.is_some() {
        return site.keep(Status::Planning, begun, |_| {}).await;
    }
    let (base, notes) = ground.base(site.bench, &site.job)?;
    site.keep(Status::Planning, begun, |job| {
        job.base = Some(base);
        notes.into_iter().for_each(|note| job.result.note(note));
    })
    .await
}

/// Asks for a plan until one can be carried out.
pub(crate) async fn ask(site: &mut Site<'_>, ground: &Ground) -> Result<Planned, Halt> {
    let tree = tree(site.bench, &site.job, ground).await?;
    let index = index(site, &tree).await?;
    let schema = plan::schema().to_string();
    let system = format!(
        "{}\n{}",
        include_str!("../prompts/planning.md"),
        fenced("json", &schema)
    );
    let mut talking = talk::open(site, Talk::Plan, vec![Block::stable(system)], &tree).await?;
    let phase = site.job.phase(PHASE);
    if talking.conversation.is_fresh() {
        talking.say(words::request(&site.job, &index));
    } else if !talking.has_begun(&phase) {
        talking.say(words::follow_up(&site.job, &index));
    }
    site.say("The model is asked for a plan.", None).await?;
    let corrections_max = site.bench.settings.plan_corrections_max;
    let mut corrections = 0;
    loop {
        let answer = answer(site, &mut talking, &tree, &phase).await?;
        match read(site, &answer, &tree) {
            Ok((plan, notes)) => {
                let checks = checks(site.bench, &plan, &tree)?;
                return Ok(Planned {
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
                    &format!("The plan has {count} problem(s); the model is told."),
                    Some(&text),
                )
                .await?;
                talking.say(words::plan_correction(&text));
            }
            Err(problems) => {
                let message = format!(
                    "no usable plan came, also after the model was told why \
                     (builder.plan_corrections_max = {corrections_max}):\n{problems}"
                );
                return Err(Halt::Failed(FailureCode::PlanInvalid, message));
            }
        }
    }
}

/// What the planner answers. It may look into files first, for as many turns as the settings allow;
/// then it is told to answer with what it has seen.
async fn answer(
    site: &mut Site<'_>,
    talking: &mut Talking,
    tree: &Arc<Workspace>,
    phase: &str,
) -> Result<String, Halt> {
    let nothing = Toolset::new();
    let turns_max = site.bench.settings.plan_turns_max;
    if turns_max == 0 {
        return talk::ask(site, talking, &nothing, phase).await;
    }
    let reading = agent::tools::reading(tree)
        .map_err(|error| Halt::Broken(Error::new(Kind::Setup, error.to_string())))?;
    let limits = Limits {
        turns_max: turns_max.min(site.bench.limits.turns_max),
        ..site.bench.limits.clone()
    };
    match talk::ask_within(site, talking, (&reading, &limits), phase).await {
        Err(Halt::Failed(FailureCode::Limit, _)) => {
            site.say(
                "The planner has read enough and is asked for the plan.",
                None,
            )
            .await?;
            talking.say(words::PLAN_NOW);
            talk::ask(site, talking, &nothing, phase).await
        }
        answered => answered,
    }
}

/// Puts the plan before a person.
pub(crate) async fn present(site: &mut Site<'_>, planned: Planned) -> Result<(), Halt> {
    let totals = talk::totals(site).await?;
    let message = format!(
        "The plan is ready: {} file(s), {} check(s).",
        planned.plan.files.len(),
        planned.checks.len()
    );
    site.keep(Status::PlanReady, &message, |job| {
        job.plan = Some(planned.plan);
        job.checks = planned.checks;
        job.result.spent(&totals);
        for note in planned.notes {
            job.result.note(note);
        }
    })
    .await
}

/// Holds an edited plan against the tree it is for; the checks it would be held against.
pub(crate) async fn recheck(
    bench: &Bench<'_>,
    job: &Job,
    plan: &Plan,
) -> Result<Vec<Check>, Error> {
    let ground = Ground::open(bench, &Cancel::default())?;
    let checked = async {
        let tree = tree(bench, job, &ground).await?;
        let problems = plan::check(plan, &tree, bench.settings.plan_files_max);
        let checks = checks(bench, plan, &tree)?;
        Ok::<_, Halt>((problems, checks))
    };
    let checked = checked.await;
    ground.remove(&job.id)?;
    match checked {
        Ok((Ok(()), checks)) => Ok(checks),
        Ok((Err(problems), _)) => Err(Error::new(
            Kind::Plan,
            format!("the plan cannot be carried out:\n{problems}"),
        )),
        Err(Halt::Broken(error)) => Err(error),
        Err(Halt::Failed(_, message)) => Err(Error::new(Kind::Setup, message)),
        Err(Halt::Cancelled | Halt::Interrupted) => Err(Error::new(
            Kind::Interrupted,
            "the plan could not be looked at to the end; try again",
        )),
    }
}

/// The tree the plan is for: the commit the job starts from, and not what the user is editing.
async fn tree(bench: &Bench<'_>, job: &Job, ground: &Ground) -> Result<Arc<Workspace>, Halt> {
    let (ground_here, base) = (ground.clone(), base_of(job)?.clone());
    let name = work_name(&job.id);
    let (worktree, _) = blocking(move || ground_here.worktree(&name, &base)).await??;
    let tree = ground.tree(bench, worktree, (Writes::Nothing, Ledger::default()))?;
    Ok(tree.workspace)
}

async fn index(site: &mut Site<'_>, tree: &Arc<Workspace>) -> Result<String, Halt> {
    let tree = Arc::clone(tree);
    let (prompt, tokens_max) = (
        site.job.prompt.clone(),
        site.bench.settings.index_max_tokens,
    );
    blocking(move || {
        let atlas = Atlas::draw(&tree)?;
        Ok(atlas.index(tokens_max, &prompt))
    })
    .await?
}

/// The plan in an answer, or everything wrong with it; and what was left out of it.
fn read(site: &Site<'_>, answer: &str, tree: &Workspace) -> Result<(Plan, Vec<String>), Problems> {
    let mut plan = plan::read_reply(answer)?;
    if let Some(given) = site.job.options.task_type {
        plan.task_type = given;
    }
    plan::check(&plan, tree, site.bench.settings.plan_files_max)?;
    let mut notes = Vec::new();
    let readable = |path: &RelPath| match tree.kind(path) {
        Ok(Some(workspace::Kind::File)) => tree.policy().check_read(path).is_ok(),
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

/// The checks of the settings, else those that the project's files tell of.
fn checks(bench: &Bench<'_>, plan: &Plan, tree: &Workspace) -> Result<Vec<Check>, Halt> {
    if plan.task_type.rules().checks == Checks::None {
        return Ok(Vec::new());
    }
    if let Some(checks) = &bench.settings.checks {
        return Ok(checks.clone());
    }
    let touched: Vec<RelPath> = plan.touched().cloned().collect();
    Ok(validation::detect(&Root::open(tree.path())?, &touched))
}
