//! `drawloom build`: from a sentence to a reviewed branch, with a person in between.

use app::Project;
use app::builds::{self, BuildOutcome};
use builder::decide::PlanApproval;
use builder::review::BuildReview;
use builder::{JobId, JobStatus, Options, PublishMode, StartFrom, TaskType};
use clap::{Args, ValueEnum};
use dialoguer::Select;
use dialoguer::theme::ColorfulTheme;

use crate::agent_args::AgentModeArgs;
use crate::build_run::{decided, report, watched};
use crate::command::builds::{edit, review};
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::{build_report, input, interrupt};

/// Build a change: plan it, approve it, write it, check it, and put it on a branch
///
/// A model turns your sentence into a plan that lists the files to change. You approve it, edit it
/// or drop it; `--yes` approves it unseen. Then the model writes the files in a separate git
/// worktree, within the limits of the plan, and the project's checks run on them; new failures go
/// back to the model, twice at most. The result is a branch, a patch, and a pull request if there
/// is a forge: a draft one if checks still fail. Your checkout is never touched.
///
/// Without a terminal and without `--yes` the command ends when the plan is ready, with exit code
/// 0, and prints the next command. A build that failed, or whose checks fail, ends with 1; one that
/// no check could judge is a draft and ends with 3. Everything is stored in the database:
/// `--resume` continues a build that was interrupted or failed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom build \"add rate limiting to login\"
  drawloom build \"the total is wrong for empty carts\" --type bugfix --yes
  drawloom build - --plan-only < issue.md
  drawloom build --resume last
  drawloom build --follow-up last \"also limit password resets\"
  drawloom build \"explain the cache\" --yes --json | jq 'select(.event == \"result\")'")]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// The change to build, in a sentence or a few; `-` reads it from stdin
    #[arg(value_name = "SENTENCE", required_unless_present = "resume")]
    prompt: Option<String>,
    /// Continue the branch and the conversation of a build that is complete or a draft: its id, or
    /// `last`
    #[arg(long, value_name = "ID", conflicts_with_all = ["resume", "kind", "dry_run", "no_pr",
        "uncommitted", "allow_unjudged"])]
    follow_up: Option<String>,
    /// Continue a build that was interrupted or failed: its id, or `last`
    #[arg(long, value_name = "ID", conflicts_with_all = ["prompt", "kind", "dry_run", "no_pr", "uncommitted",
        "allow_unjudged"])]
    resume: Option<String>,
    /// The kind of work; the plan decides by default: new-resource, refactor, bugfix,
    /// schema-migration, test-gen or doc-gen
    #[arg(id = "kind", long = "type", value_name = "TYPE", value_enum)]
    #[arg(hide_possible_values = true)]
    kind: Option<TypeFlag>,
    /// Stop when the plan is ready
    #[arg(long, conflicts_with = "yes")]
    plan_only: bool,
    /// Approve the plan unseen
    #[arg(long, short = 'y')]
    yes: bool,
    /// Do everything up to the review, and publish nothing: no branch, no patch, only the result
    #[arg(long)]
    dry_run: bool,
    /// Keep the branch here: no push, no pull request
    #[arg(long)]
    no_pr: bool,
    /// Stop before anything is pushed, and look at the diff hunk by hunk. At a terminal you are asked
    /// in any case, unless there is `--yes`
    #[arg(long)]
    review: bool,
    /// Build from your files as they are, uncommitted changes included, instead of the last commit
    #[arg(long)]
    uncommitted: bool,
    /// Call the work complete although none of its checks could run
    #[arg(long)]
    allow_unjudged: bool,
    #[command(flatten)]
    hands: AgentModeArgs,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TypeFlag {
    NewResource,
    Refactor,
    Bugfix,
    SchemaMigration,
    TestGen,
    DocGen,
}

impl From<TypeFlag> for TaskType {
    fn from(flag: TypeFlag) -> Self {
        match flag {
            TypeFlag::NewResource => TaskType::NewResource,
            TypeFlag::Refactor => TaskType::Refactor,
            TypeFlag::Bugfix => TaskType::Bugfix,
            TypeFlag::SchemaMigration => TaskType::SchemaMigration,
            TypeFlag::TestGen => TaskType::TestGen,
            TypeFlag::DocGen => TaskType::DocGen,
        }
    }
}

/// A person's decision about a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanChoice {
    Approve,
    Edit,
    Reject,
    Later,
}

impl BuildArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let mut done = self.begin(session, &project)?;
        loop {
            let id = done.job.id.clone();
            if done.job.status() == JobStatus::ReviewReady {
                match self.reviewed(&done)? {
                    None => break,
                    Some(review) => {
                        let how = (&self.hands, self.form());
                        done = watched(session, &project, how, async |order| {
                            builds::review(order, &id, review).await
                        })?;
                    }
                }
                continue;
            }
            if done.job.status() != JobStatus::PlanReady {
                break;
            }
            match self.choice(&done) {
                PlanChoice::Later => break,
                PlanChoice::Edit => edit::in_editor(session, &project, &mut done)?,
                PlanChoice::Reject => {
                    done = decided(session, &project, self.form(), async |order| {
                        builds::reject(order, &id).await
                    })?;
                }
                PlanChoice::Approve => {
                    let how = (&self.hands, self.form());
                    let approval = PlanApproval {
                        review: self.review || self.has_reviewer(),
                        ..PlanApproval::default()
                    };
                    done = watched(session, &project, how, async |order| {
                        builds::approve(order, &id, approval).await
                    })?;
                }
            }
        }
        report(&done, self.form())
    }

    /// True if a person is at the terminal who can review the work.
    fn has_reviewer(&self) -> bool {
        !self.yes && self.form() == OutputFormat::Text && output::has_person()
    }

    /// Asks the person at the terminal to review the work; `None` if there is no terminal, or they
    /// postpone the decision.
    fn reviewed(&self, done: &BuildOutcome) -> Result<Option<BuildReview>, CliError> {
        if !self.has_reviewer() {
            return Ok(None);
        }
        output::say(format!("\n{}", build_report::whole(&done.job)));
        review::at_terminal(&done.job)
    }

    fn form(&self) -> OutputFormat {
        OutputFormat::from(self.json)
    }

    /// Runs a new build up to its plan, or continues an earlier one.
    fn begin(&self, session: &CliSession, project: &Project) -> Result<BuildOutcome, CliError> {
        let how = (&self.hands, self.form());
        if let Some(text) = &self.resume {
            let id: JobId = session.wait(builds::find(project, &session.surroundings, text))?;
            return watched(session, project, how, async |order| {
                builds::resume(order, &id).await
            });
        }
        let prompt = match self.prompt.as_deref() {
            Some("-") => input::file_text(session, "-".as_ref())?,
            prompt => prompt.unwrap_or_default().to_owned(),
        };
        if let Some(text) = &self.follow_up {
            let id: JobId = session.wait(builds::find(project, &session.surroundings, text))?;
            return watched(session, project, how, async |order| {
                builds::follow_up(order, &id, &prompt).await
            });
        }
        let Some(start) = self.start(project)? else {
            return Err(CliError::failed("E_CANCELLED", "nothing was begun"));
        };
        let options = Options {
            dry_run: self.dry_run,
            start,
            approve_unseen: self.yes,
            task_type: self.kind.map(TaskType::from),
            publish: match self.no_pr {
                true => PublishMode::Local,
                false => PublishMode::PullRequest,
            },
            allow_unjudged: self.allow_unjudged,
            review: self.review,
        };
        self.say_interrupted(session, project)?;
        watched(session, project, how, async |order| {
            builds::plan(order, &prompt, options).await
        })
    }

    /// Returns the state of the project to start from. A person with uncommitted changes is told,
    /// and asked at a terminal; `None` if they choose to stop.
    fn start(&self, project: &Project) -> Result<Option<StartFrom>, CliError> {
        if self.uncommitted {
            return Ok(Some(StartFrom::WorkingTree));
        }
        let changed = builds::uncommitted(project)?;
        if changed.is_empty() || self.form() == OutputFormat::Json {
            return Ok(Some(StartFrom::LastCommit));
        }
        output::say(format!(
            "note: uncommitted changes are not part of this build: {}",
            build_report::named(changed.iter().map(String::as_str))
        ));
        if self.yes || self.plan_only || !output::has_person() {
            output::say("      `--uncommitted` builds from your files as they are");
            return Ok(Some(StartFrom::LastCommit));
        }
        interrupt::watch();
        let chosen = Select::with_theme(&ColorfulTheme::default())
            .with_prompt("Build from what?")
            .items(["The last commit", "Your files as they are", "Stop"])
            .default(0)
            .interact_opt();
        Ok(match chosen {
            Ok(Some(0)) => Some(StartFrom::LastCommit),
            Ok(Some(1)) => Some(StartFrom::WorkingTree),
            Ok(_) | Err(_) => None,
        })
    }

    /// Says that there is a build to go on with, before another is begun.
    fn say_interrupted(&self, session: &CliSession, project: &Project) -> Result<(), CliError> {
        let newest = session
            .wait(builds::list(project, &session.surroundings, None, 1))?
            .into_iter()
            .next();
        if let Some(shown) = newest.filter(|shown| shown.is_interrupted())
            && self.form() == OutputFormat::Text
        {
            output::say(format!(
                "note: the build {} was interrupted; `drawloom build --resume {}` continues it",
                shown.job.id, shown.job.id
            ));
        }
        Ok(())
    }

    fn choice(&self, done: &BuildOutcome) -> PlanChoice {
        // A build that was begun with `--yes` is gone on with in the same way.
        if self.yes || (done.job.options.approve_unseen && !self.plan_only) {
            return PlanChoice::Approve;
        }
        let is_asked = !self.plan_only && self.form() == OutputFormat::Text && output::has_person();
        if !is_asked {
            return PlanChoice::Later;
        }
        output::say(format!("\n{}", build_report::whole(&done.job)));
        ask()
    }
}

/// Asks the person at the terminal about the plan above.
fn ask() -> PlanChoice {
    interrupt::watch();
    let choices = [
        ("Approve it and build", PlanChoice::Approve),
        ("Edit it first", PlanChoice::Edit),
        ("Reject it", PlanChoice::Reject),
        ("Decide later", PlanChoice::Later),
    ];
    let theme = ColorfulTheme::default();
    // No entry is chosen beforehand: a stray Enter, or the one after a `y`, must not approve.
    let chosen = Select::with_theme(&theme)
        .with_prompt("What about this plan? (arrow keys, then Enter)")
        .items(choices.map(|(words, _)| words))
        .interact_opt();
    match chosen {
        Ok(Some(at)) => choices
            .get(at)
            .map_or(PlanChoice::Later, |(_, choice)| *choice),
        Err(dialoguer::Error::IO(cause)) if cause.kind() == std::io::ErrorKind::Interrupted => {
            interrupt::leave()
        }
        // A person who left without an answer has not decided.
        Ok(None) | Err(_) => PlanChoice::Later,
    }
}
