//! One file per command; the doc comment of its arguments is its help.

pub(crate) mod agents;
pub(crate) mod ai;
pub(crate) mod backup;
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
pub(crate) mod mcp;
pub(crate) mod notices;
pub(crate) mod plan;
pub(crate) mod recipe;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schedules;
pub(crate) mod schema;
pub(crate) mod serve;
mod stored_records;
pub(crate) mod task;
pub(crate) mod tasks;
pub(crate) mod template;
pub(crate) mod tokens;
pub(crate) mod trust;
pub(crate) mod update;
pub(crate) mod users;
pub(crate) mod worker;
pub(crate) mod workflow;

use crate::arguments::{CliArgs, CliCommand};
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;

pub(crate) fn run(cli: CliArgs) -> Result<CliExit, CliError> {
    let session = CliSession::start(&cli.global)?;
    match cli.command {
        CliCommand::Run(run) => run.run(&session),
        CliCommand::Update(update) => update.run(&session),
        CliCommand::Recipe(recipe) => recipe.run(&session),
        CliCommand::Template(template) => template.run(&session),
        CliCommand::Ai(ai) => ai.run(&session),
        CliCommand::Cost(cost) => cost.run(&session),
        CliCommand::Task(task) => task.run(&session),
        CliCommand::Plan(plan) => plan.run(&session),
        CliCommand::Build(build) => build.run(&session),
        CliCommand::Builds(builds) => builds.run(&session),
        CliCommand::Workflow(workflow) => workflow.run(&session),
        CliCommand::Runs(runs) => runs.run(&session),
        CliCommand::Tasks(tasks) => tasks.run(&session),
        CliCommand::Worker(worker) => worker.run(&session),
        CliCommand::Notices(notices) => notices.run(&session),
        CliCommand::Database(database) => database.run(&session),
        CliCommand::Backup(backup) => backup.run(&session),
        CliCommand::Restore(restore) => restore.run(&session),
        CliCommand::Users(users) => users.run(&session),
        CliCommand::Agents(agents) => agents.run(&session),
        CliCommand::Schedules(schedules) => schedules.run(&session),
        CliCommand::Serve(serve) => serve.run(&session),
        CliCommand::Tokens(tokens) => tokens.run(&session),
        CliCommand::Schema(schema) => schema.run(),
        CliCommand::Kit(kit) => kit.run(&session),
        CliCommand::Import(import) => import.run(&session),
        CliCommand::Index(index) => index.run(&session),
        CliCommand::Impact(impact) => impact.run(&session),
        CliCommand::Init(init) => init.run(&session),
        CliCommand::Demo(demo) => demo.run(),
        CliCommand::Mcp(mcp) => mcp.run(&session),
        CliCommand::Doctor(doctor) => doctor.run(&session),
        CliCommand::Trust(trust) => trust.run(&session),
        CliCommand::Completions(completions) => completions.run(),
        CliCommand::Man(man) => man.run(),
    }
}
