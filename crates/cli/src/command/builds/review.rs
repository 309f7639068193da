//! `drawloom builds review`: a person looks at the work of a build, hunk by hunk, before it is pushed.

use app::builds;
use builder::review::{BuildReview, HunkDecision, HunkRemark, ReviewHunk, hunks};
use builder::{BuildJob, JobStatus};
use clap::Args;
use dialoguer::Input;
use dialoguer::theme::ColorfulTheme;
use serde_json::json;
use workspace::RelPath;

use crate::agent_args::AgentModeArgs;
use crate::build_run::{BuildIdArgs, report, watched};
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::{diff, interrupt};

/// Review the work of a build before it is pushed: accept, reject or comment hunk by hunk
///
/// For a build that was started with `--review`, or at a terminal. Accepted hunks are published.
/// Rejected hunks are taken out, and comments go back to the model; then the checks run again, and
/// the build waits for another review. Without a terminal, decide with the options; without any of
/// them the hunks are listed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds review last
  drawloom builds review last --accept
  drawloom builds review last --reject src/login.ts:2 --comment \"use the limiter of src/limit.ts\"
  drawloom builds review last --json | jq '.hunks[].path'")]
pub(crate) struct BuildsReviewArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    #[command(flatten)]
    which: BuildIdArgs,
    /// Publish the work as it is
    #[arg(long, conflicts_with_all = ["reject", "comment"])]
    accept: bool,
    /// Take a file, or one hunk of it, out of the work: PATH or PATH:NUMBER
    #[arg(long, value_name = "PATH[:N]")]
    reject: Vec<String>,
    /// Tell the model what to change
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    #[command(flatten)]
    hands: AgentModeArgs,
    /// Print every event as one line of JSON, the result last; without a decision, the hunks
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl BuildsReviewArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let form = OutputFormat::from(self.json);
        let id = self.which.find(session, &project)?;
        let job = session
            .wait(builds::show(&project, &session.surroundings, &id))?
            .job;
        if job.status() != JobStatus::ReviewReady {
            let message = format!(
                "the build {id} is `{}` and waits for no review",
                job.status()
            );
            return Err(CliError::failed("E_CONFLICT", message)
                .hint("`drawloom build --review` stops before anything is pushed"));
        }
        let review = match self.said()? {
            Some(review) => Some(review),
            None if form == OutputFormat::Text && output::has_person() => at_terminal(&job)?,
            None => {
                list(&job, form)?;
                return Ok(CliExit::Done);
            }
        };
        let Some(review) = review else {
            output::say(format!("the build {id} still waits; nothing was pushed"));
            return Ok(CliExit::Done);
        };
        let done = watched(session, &project, (&self.hands, form), async |order| {
            builds::review(order, &id, review).await
        })?;
        report(&done, form)
    }

    /// Returns the review given by options; `None` without any.
    fn said(&self) -> Result<Option<BuildReview>, CliError> {
        if !self.accept && self.reject.is_empty() && self.comment.is_none() {
            return Ok(None);
        }
        let remarks = self.reject.iter().map(|text| rejected(text));
        Ok(Some(BuildReview {
            remarks: remarks.collect::<Result<_, _>>()?,
            comment: self.comment.clone(),
        }))
    }
}

/// Parses `src/a.ts`, or `src/a.ts:2` for its second hunk.
fn rejected(text: &str) -> Result<HunkRemark, CliError> {
    let numbered = text.rsplit_once(':').and_then(|(path, number)| {
        let number: usize = number.parse().ok()?;
        Some((path, number))
    });
    let (path, number) = match numbered {
        Some((path, number)) => (path, Some(number)),
        None => (text, None),
    };
    let path = RelPath::parse(path)
        .map_err(|error| CliError::usage(format!("`--reject {text}`: {error}")))?;
    Ok(HunkRemark {
        path,
        number,
        decision: HunkDecision::Reject,
    })
}

fn list(job: &BuildJob, form: OutputFormat) -> Result<(), CliError> {
    let hunks = hunks(&job.result.diffs);
    match form {
        OutputFormat::Json => output::json(&json!({ "id": job.id, "hunks": hunks })),
        OutputFormat::Text => {
            for hunk in &hunks {
                output::styled(&shown(hunk))?;
            }
            output::say(format!(
                "to publish it:  drawloom builds review {} --accept",
                job.id
            ));
            Ok(())
        }
    }
}

/// Asks the person at the terminal about one hunk after the other; `None` if they would rather decide
/// later.
pub(crate) fn at_terminal(job: &BuildJob) -> Result<Option<BuildReview>, CliError> {
    interrupt::watch();
    let mut review = BuildReview::default();
    let hunks = hunks(&job.result.diffs);
    for hunk in &hunks {
        output::say(shown(hunk));
        let decision = match ask(hunk) {
            HunkAnswer::Accept => HunkDecision::Accept,
            HunkAnswer::Reject => HunkDecision::Reject,
            HunkAnswer::Comment(text) => HunkDecision::Comment { text },
            HunkAnswer::AcceptRest => break,
            HunkAnswer::Later => return Ok(None),
        };
        review.remarks.push(HunkRemark {
            path: hunk.path.clone(),
            number: Some(hunk.number),
            decision,
        });
    }
    Ok(Some(review))
}

enum HunkAnswer {
    Accept,
    Reject,
    Comment(String),
    AcceptRest,
    Later,
}

/// Asks until one of the letters is typed: an Enter alone decides nothing.
fn ask(hunk: &ReviewHunk) -> HunkAnswer {
    let theme = ColorfulTheme::default();
    let typed = |prompt: &str| {
        Input::<String>::with_theme(&theme)
            .with_prompt(prompt)
            .allow_empty(true)
            .interact_text()
    };
    let path = output::harmless(hunk.path.as_str());
    let prompt = format!("{path}: accept, reject, comment, all, later? (a/r/c/all/l)");
    loop {
        let Ok(word) = typed(&prompt) else {
            return HunkAnswer::Later;
        };
        match word.trim() {
            "a" | "accept" => return HunkAnswer::Accept,
            "r" | "reject" => return HunkAnswer::Reject,
            "all" => return HunkAnswer::AcceptRest,
            "l" | "later" | "q" => return HunkAnswer::Later,
            "c" | "comment" => match typed("What should the model change?") {
                Ok(text) if !text.trim().is_empty() => return HunkAnswer::Comment(text),
                Ok(_) => {}
                Err(_) => return HunkAnswer::Later,
            },
            _ => {}
        }
    }
}

/// Shows a hunk with its place, coloured as a diff.
fn shown(hunk: &ReviewHunk) -> String {
    let path = output::harmless(hunk.path.as_str());
    let place = format!("{path}, {} of {}", hunk.number, hunk.count);
    format!("\n{place}\n{}", diff::colored(&hunk.text))
}
