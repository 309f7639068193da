//! One file per command; the doc comment of its arguments is its help.

pub(crate) mod agents;
pub(crate) mod ai;
pub(crate) mod build;
pub(crate) mod builds;
pub(crate) mod completions;
pub(crate) mod cost;
pub(crate) mod database;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod impact;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod init;
pub(crate) mod kit;
pub(crate) mod man;
pub(crate) mod notices;
pub(crate) mod plan;
pub(crate) mod recipe;
mod records;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schedules;
pub(crate) mod schema;
pub(crate) mod task;
pub(crate) mod tasks;
pub(crate) mod template;
pub(crate) mod trust;
pub(crate) mod update;
pub(crate) mod users;
pub(crate) mod worker;
pub(crate) mod workflow;

use crate::arguments::{Cli, Command};
use crate::exit::{Exit, Trouble};
use crate::session::Session;

pub(crate) fn run(cli: Cli) -> Result<Exit, Trouble> {
    let session = Session::start(&cli.global)?;
    match cli.command {
        Command::Run(run) => run.run(&session),
        Command::Update(update) => update.run(&session),
        Command::Recipe(recipe) => recipe.run(&session),
        Command::Template(template) => template.run(&session),
        Command::Ai(ai) => ai.run(&session),
        Command::Cost(cost) => cost.run(&session),
        Command::Task(task) => task.run(&session),
        Command::Plan(plan) => plan.run(&session),
        Command::Build(build) => build.run(&session),
        Command::Builds(builds) => builds.run(&session),
        Command::Workflow(workflow) => workflow.run(&session),
        Command::Runs(runs) => runs.run(&session),
        Command::Tasks(tasks) => tasks.run(&session),
        Command::Worker(worker) => worker.run(&session),
        Command::Notices(notices) => notices.run(&session),
        Command::Database(database) => database.run(&session),
        Command::Users(users) => users.run(&session),
        Command::Agents(agents) => agents.run(&session),
        Command::Schedules(schedules) => schedules.run(&session),
        Command::Schema(schema) => schema.run(),
        Command::Kit(kit) => kit.run(&session),
        Command::Import(import) => import.run(&session),
        Command::Index(index) => index.run(&session),
        Command::Impact(impact) => impact.run(&session),
        Command::Init(init) => init.run(&session),
        Command::Demo(demo) => demo.run(),
        Command::Doctor(doctor) => doctor.run(&session),
        Command::Trust(trust) => trust.run(&session),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    }
}
