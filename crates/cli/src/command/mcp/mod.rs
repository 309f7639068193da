//! `drawloom mcp`: lets an agent use this project through the Model Context Protocol.

mod install;

use std::sync::Arc;
use std::time::Duration;

use ::mcp::{DrawloomServer, ToolSet, serve_stdio};
use app::people::UserRole;
use app::worker::{NoWatcher, StopCondition, WorkerOptions};
use app::workflows::worker_name;
use app::{Actor, CommandCancel, UseCases};
use clap::{Args, Subcommand};

use crate::ai_args::AiArgs;
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::session::CliSession;

/// Time a worker has to hand its tasks back when the client has gone.
const STOP_MAX: Duration = Duration::from_secs(5);

/// Let an agent use this project through MCP
///
/// Speaks the Model Context Protocol on stdin and stdout until the client closes them, and works on the
/// runs that the agent starts. `drawloom mcp install CLIENT` prints the settings of a client. The agent
/// may run recipes and start workflows and builds; it never answers for a person.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_long_help = "\
Examples:
  drawloom mcp install claude-code
  drawloom mcp install cursor --write
  drawloom mcp --tools generate,runs,look")]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    /// The sets of tools: generate, runs, author, build, look [default: from the settings]
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    tools: Vec<ToolSet>,
    /// The name of the agent, as tasks are assigned to it
    #[arg(long, value_name = "NAME", default_value = "agent")]
    agent: String,
    #[command(flatten)]
    answering: AiArgs,
    #[command(flatten)]
    keeping: DatabaseArgs,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    Install(install::McpInstallArgs),
}

impl McpArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        if let Some(McpCommand::Install(install)) = &self.command {
            return install.run(session);
        }
        let terminal = self.keeping.open(session, self.answering.wish())?;
        let agent = Actor::Agent {
            name: self.agent.clone(),
            role: UserRole::Operator,
        };
        let sets = match self.tools.as_slice() {
            // The settings know no other words.
            [] => {
                let words = &terminal.project().settings.mcp_tools;
                words.iter().filter_map(|word| word.parse().ok()).collect()
            }
            given => given.to_vec(),
        };
        let server = DrawloomServer::new(terminal.app().acting(agent), &sets);
        let worker = self.worker(session, &terminal);
        let served = session.wait(async {
            let cancel = CommandCancel::default();
            let working = tokio::spawn(work(Arc::new((*terminal).clone()), worker, cancel.clone()));
            let served = serve_stdio(server).await;
            cancel.cancel();
            // Tasks that it could not hand back go to others when its leases end.
            let _ = tokio::time::timeout(STOP_MAX, working).await;
            served
        });
        match served {
            Ok(()) => Ok(CliExit::Done),
            Err(message) => Err(CliError::failed("E_MCP", message)
                .hint("`drawloom mcp` is started by an MCP client: see `drawloom mcp install`")),
        }
    }

    fn worker(&self, session: &CliSession, use_cases: &UseCases) -> WorkerOptions {
        let settings = &use_cases.project().settings.workflows;
        WorkerOptions {
            name: worker_name(&session.surroundings),
            concurrency: settings.concurrency,
            lease: Duration::from_secs(settings.lease_seconds),
            assignees: Vec::new(),
            until: StopCondition::Stopped,
        }
    }
}

/// Works on runs in the background; a failure is no reason to leave the client.
async fn work(use_cases: Arc<UseCases>, order: WorkerOptions, cancel: CommandCancel) {
    let _ = use_cases.work(&order, &mut NoWatcher, &cancel).await;
}
