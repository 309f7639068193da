//! `drawloom build`: from a sentence to a reviewed branch, with a person in between.

use app::Project;
use app::builds::{self, Done};
use builder::decide::Approval;
use builder::review::Review;
use builder::{JobId, Options, Publish, StartFrom, Status, TaskType};
use clap::{Args, ValueEnum};
use dialoguer::Select;
use dialoguer::theme::ColorfulTheme;

use crate::building::{decided, report, watched};
use crate::command::builds::{edit, review};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;
use crate::working::Hands;
use crate::{input, interrupt, sheet};

/// Have something built: planned, approved, written, checked, and put on a branch
///
/// A model makes a plan of your sentence: which files become what. You approve it, edit it or drop
/// it; `--yes` approves it unseen. Then the files are written in a git worktree of their own, with
/// the plan as the permission to write, and held against the project's checks; what fails in new
/// ways goes back to the model, twice at most. The result is a branch, a patch, and a pull request
/// where there is a forge: a draft one if checks still fail. Your checkout is never touched.
///
/// Without a terminal and without `--yes` the command ends when the plan is ready, with exit code 0,
/// and says how to go on. A build that failed, or whose checks fail, ends with 1; one that no check
/// could judge is a draft and ends with 3. Everything is kept in .drawloom/drawloom.db: a build that was
/// interrupted or failed goes on with `--resume`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom build \"add rate limiting to login\"
  drawloom build \"the total is wrong for empty carts\" --type bugfix --yes
  drawloom build - --plan-only < issue.md
  drawloom build --resume last
  drawloom build --follow-up last \"also limit password resets\"
  drawloom build \"explain the cache\" --yes --json | jq 'select(.event == \"result\")'")]
pub(crate) struct Build {
    /// What is to be built, in a sentence or a few; `-` reads it from stdin
    #[arg(value_name = "SENTENCE", required_unless_present = "resume")]
    prompt: Option<String>,
    /// Go on in the branch and the conversation of a build that is complete or a draft: its id, or
    /// `last`
    #[arg(long, value_name = "ID", conflicts_with_all = ["resume", "kind", "dry_run", "no_pr",
        "uncommitted", "allow_unjudged"])]
    follow_up: Option<String>,
    /// Go on with a build that was interrupted or failed: its id, or `last`
    #[arg(long, value_name = "ID", conflicts_with_all = ["prompt", "kind", "dry_run", "no_pr", "uncommitted",
        "allow_unjudged"])]
    resume: Option<String>,
    /// What kind of work it is; the plan says if you do not: new-resource, refactor, bugfix,
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
    hands: Hands,
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

/// What a person wants done about a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Approve,
    Edit,
    Reject,
    Later,
}

impl Build {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let mut done = self.begin(session, &project)?;
        loop {
            let id = done.job.id.clone();
            if done.job.status() == Status::ReviewReady {
                match self.reviewed(&done)? {
                    None => break,
                    Some(review) => {
                        let how = (&self.hands, self.form());
                        done = watched(session, &project, how, |order| {
                            builds::review(order, &id, review)
                        })?;
                    }
                }
                continue;
            }
            if done.job.status() != Status::PlanReady {
                break;
            }
            match self.choice(&done) {
                Choice::Later => break,
                Choice::Edit => edit::in_editor(session, &project, &mut done)?,
                Choice::Reject => {
                    done = decided(session, &project, self.form(), |order| {
                        builds::reject(order, &id)
                    })?;
                }
                Choice::Approve => {
                    let how = (&self.hands, self.form());
                    let approval = Approval {
                        review: self.review || self.has_reviewer(),
                        ..Approval::default()
                    };
                    done = watched(session, &project, how, |order| {
                        builds::approve(order, &id, approval)
                    })?;
                }
            }
        }
        report(&done, self.form())
    }

    /// Whether a person sits there who can look at the work.
    fn has_reviewer(&self) -> bool {
        !self.yes && self.form() == Form::Text && output::has_person()
    }

    /// What the person at the terminal says about the work; `None` if there is none, or they would
    /// rather decide later.
    fn reviewed(&self, done: &Done) -> Result<Option<Review>, Trouble> {
        if !self.has_reviewer() {
            return Ok(None);
        }
        output::say(format!("\n{}", sheet::whole(&done.job)));
        review::at_terminal(&done.job)
    }

    fn form(&self) -> Form {
        Form::from(self.json)
    }

    /// A new build up to its plan, or the one that is gone on with.
    fn begin(&self, session: &Session, project: &Project) -> Result<Done, Trouble> {
        let how = (&self.hands, self.form());
        if let Some(text) = &self.resume {
            let id: JobId = builds::find(project, text)?;
            return watched(session, project, how, |order| builds::resume(order, &id));
        }
        let prompt = match self.prompt.as_deref() {
            Some("-") => input::file_text(session, "-".as_ref())?,
            prompt => prompt.unwrap_or_default().to_owned(),
        };
        if let Some(text) = &self.follow_up {
            let id: JobId = builds::find(project, text)?;
            return watched(session, project, how, |order| {
                builds::follow_up(order, &id, &prompt)
            });
        }
        let Some(start) = self.start(project)? else {
            return Err(Trouble::failed("E_CANCELLED", "nothing was begun"));
        };
        let options = Options {
            dry_run: self.dry_run,
            start,
            approve_unseen: self.yes,
            task_type: self.kind.map(TaskType::from),
            publish: match self.no_pr {
                true => Publish::Local,
                false => Publish::PullRequest,
            },
            allow_unjudged: self.allow_unjudged,
            review: self.review,
        };
        self.say_interrupted(project)?;
        watched(session, project, how, |order| {
            builds::plan(order, &prompt, options)
        })
    }

    /// Which state of the project the build starts from. Whoever has uncommitted changes is told, and
    /// asked at a terminal; `None` if they would rather stop.
    fn start(&self, project: &Project) -> Result<Option<StartFrom>, Trouble> {
        if self.uncommitted {
            return Ok(Some(StartFrom::WorkingTree));
        }
        let changed = builds::uncommitted(project)?;
        if changed.is_empty() || self.form() == Form::Json {
            return Ok(Some(StartFrom::LastCommit));
        }
        output::say(format!(
            "note: uncommitted changes are not part of this build: {}",
            sheet::named(changed.iter().map(String::as_str))
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
    fn say_interrupted(&self, project: &Project) -> Result<(), Trouble> {
        let newest = builds::list(project, None, 1)?.into_iter().next();
        if let Some(shown) = newest.filter(|shown| shown.is_interrupted())
            && self.form() == Form::Text
        {
            output::say(format!(
                "note: the build {} was interrupted; `drawloom build --resume {}` goes on with it",
                shown.job.id, shown.job.id
            ));
        }
        Ok(())
    }

    fn choice(&self, done: &Done) -> Choice {
        // A build that was begun with `--yes` is gone on with in the same way.
        if self.yes || (done.job.options.approve_unseen && !self.plan_only) {
            return Choice::Approve;
        }
        let is_asked = !self.plan_only && self.form() == Form::Text && output::has_person();
        if !is_asked {
            return Choice::Later;
        }
        output::say(format!("\n{}", sheet::whole(&done.job)));
        ask()
    }
}

/// Asks the person at the terminal about the plan above.
fn ask() -> Choice {
    interrupt::watch();
    let choices = [
        ("Approve it and build", Choice::Approve),
        ("Edit it first", Choice::Edit),
        ("Reject it", Choice::Reject),
        ("Decide later", Choice::Later),
    ];
    let theme = ColorfulTheme::default();
    // No entry is chosen beforehand: a stray Enter, or the one after a `y`, must not approve.
    let chosen = Select::with_theme(&theme)
        .with_prompt("What about this plan? (arrow keys, then Enter)")
        .items(choices.map(|(words, _)| words))
        .interact_opt();
    match chosen {
        Ok(Some(at)) => choices.get(at).map_or(Choice::Later, |(_, choice)| *choice),
        Err(dialoguer::Error::IO(cause)) if cause.kind() == std::io::ErrorKind::Interrupted => {
            interrupt::leave()
        }
        // Whoever left without an answer has not decided.
        Ok(None) | Err(_) => Choice::Later,
    }
}
