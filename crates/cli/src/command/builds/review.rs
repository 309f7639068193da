//! `drawloom builds review`: a person looks at the work of a build, hunk by hunk, before it is pushed.

use app::builds;
use builder::review::{Hunk, HunkDecision, HunkRemark, Review, hunks};
use builder::{Job, Status};
use clap::Args;
use dialoguer::Input;
use dialoguer::theme::ColorfulTheme;
use serde_json::json;
use workspace::RelPath;

use crate::building::{Which, report, watched};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;
use crate::working::Hands;
use crate::{diff, interrupt};

/// Look at the work of a build before it is pushed: accept, reject or comment hunk by hunk
///
/// For a build that was begun with `--review`, or at a terminal. What you accept is published. What you
/// reject is taken out, and a comment goes back to the model; then the checks are run again, and the
/// build waits for you once more. Without a terminal say it with the options; without any of them the
/// hunks are listed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds review last
  drawloom builds review last --accept
  drawloom builds review last --reject src/login.ts:2 --comment \"use the limiter of src/limit.ts\"
  drawloom builds review last --json | jq '.hunks[].path'")]
pub(crate) struct ReviewWork {
    #[command(flatten)]
    which: Which,
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
    hands: Hands,
    /// Print every event as one line of JSON, the result last; without a decision, the hunks
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl ReviewWork {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let form = Form::from(self.json);
        let id = self.which.find(&project)?;
        let job = builds::show(&project, &id)?.job;
        if job.status() != Status::ReviewReady {
            let message = format!(
                "the build {id} is `{}` and waits for no review",
                job.status()
            );
            return Err(Trouble::failed("E_CONFLICT", message)
                .hint("`drawloom build --review` stops before anything is pushed"));
        }
        let review = match self.said()? {
            Some(review) => Some(review),
            None if form == Form::Text && output::has_person() => at_terminal(&job)?,
            None => {
                list(&job, form)?;
                return Ok(Exit::Done);
            }
        };
        let Some(review) = review else {
            output::say(format!("the build {id} waits on; nothing was pushed"));
            return Ok(Exit::Done);
        };
        let done = watched(session, &project, (&self.hands, form), |order| {
            builds::review(order, &id, review)
        })?;
        report(&done, form)
    }

    /// What the options say; `None` if they say nothing.
    fn said(&self) -> Result<Option<Review>, Trouble> {
        if !self.accept && self.reject.is_empty() && self.comment.is_none() {
            return Ok(None);
        }
        let remarks = self.reject.iter().map(|text| rejected(text));
        Ok(Some(Review {
            remarks: remarks.collect::<Result<_, _>>()?,
            comment: self.comment.clone(),
        }))
    }
}

/// `src/a.ts`, or `src/a.ts:2` for its second hunk.
fn rejected(text: &str) -> Result<HunkRemark, Trouble> {
    let numbered = text.rsplit_once(':').and_then(|(path, number)| {
        let number: usize = number.parse().ok()?;
        Some((path, number))
    });
    let (path, number) = match numbered {
        Some((path, number)) => (path, Some(number)),
        None => (text, None),
    };
    let path = RelPath::parse(path)
        .map_err(|error| Trouble::usage(format!("`--reject {text}`: {error}")))?;
    Ok(HunkRemark {
        path,
        number,
        decision: HunkDecision::Reject,
    })
}

fn list(job: &Job, form: Form) -> Result<(), Trouble> {
    let hunks = hunks(&job.result.diffs);
    match form {
        Form::Json => output::json(&json!({ "id": job.id, "hunks": hunks })),
        Form::Text => {
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
pub(crate) fn at_terminal(job: &Job) -> Result<Option<Review>, Trouble> {
    interrupt::watch();
    let mut review = Review::default();
    let hunks = hunks(&job.result.diffs);
    for hunk in &hunks {
        output::say(shown(hunk));
        let decision = match ask(hunk) {
            Answer::Accept => HunkDecision::Accept,
            Answer::Reject => HunkDecision::Reject,
            Answer::Comment(text) => HunkDecision::Comment { text },
            Answer::AcceptRest => break,
            Answer::Later => return Ok(None),
        };
        review.remarks.push(HunkRemark {
            path: hunk.path.clone(),
            number: Some(hunk.number),
            decision,
        });
    }
    Ok(Some(review))
}

enum Answer {
    Accept,
    Reject,
    Comment(String),
    AcceptRest,
    Later,
}

/// Asks until one of the letters is typed: an Enter alone decides nothing.
fn ask(hunk: &Hunk) -> Answer {
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
            return Answer::Later;
        };
        match word.trim() {
            "a" | "accept" => return Answer::Accept,
            "r" | "reject" => return Answer::Reject,
            "all" => return Answer::AcceptRest,
            "l" | "later" | "q" => return Answer::Later,
            "c" | "comment" => match typed("What should the model change?") {
                Ok(text) if !text.trim().is_empty() => return Answer::Comment(text),
                Ok(_) => {}
                Err(_) => return Answer::Later,
            },
            _ => {}
        }
    }
}

/// A hunk with its place, coloured as a diff.
fn shown(hunk: &Hunk) -> String {
    let path = output::harmless(hunk.path.as_str());
    let place = format!("{path}, {} of {}", hunk.number, hunk.count);
    format!("\n{place}\n{}", diff::colored(&hunk.text))
}
