//! A build job: what was asked for, how it stands, and what came of it so far.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Kind};
use crate::plan::Plan;
use crate::result::BuildResult;
use crate::review::Review;
use crate::status::{Status, Transition};
use crate::task_type::TaskType;
use crate::validation::{Check, Report};

/// The fewest characters of a prompt: less is no task.
pub const PROMPT_CHARS_MIN: usize = 10;
/// The most characters of a prompt; a long stack trace fits.
pub const PROMPT_CHARS_MAX: usize = 20_000;
/// The longest id.
const ID_BYTES_MAX: usize = 40;

/// The name of a job: lower-case letters, digits and `-`, fit for branches and file names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(String);

impl JobId {
    /// A new id. Those made later sort later; `salt` tells apart those made in one millisecond
    /// and on different machines.
    pub fn new(now_ms: u64, salt: u64) -> JobId {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let digits = |value: u64, count: u32| {
            (0..count)
                .rev()
                .map(move |at| char::from(DIGITS[(value >> (5 * at) & 31) as usize]))
        };
        JobId(digits(now_ms, 9).chain(digits(salt, 4)).collect())
    }

    /// Reads an id as people write it.
    pub fn parse(text: &str) -> Result<JobId, Error> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_id = !text.is_empty() && text.len() <= ID_BYTES_MAX && text.chars().all(fits);
        if is_id && !text.starts_with('-') && !text.ends_with('-') {
            return Ok(JobId(text.to_owned()));
        }
        Err(Error::new(
            Kind::NotFound,
            format!(
                "{text:?} is not the id of a build: up to {ID_BYTES_MAX} lower-case letters, digits \
                 and hyphens; `drawloom builds list` shows them"
            ),
        ))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for JobId {
    type Error = Error;

    fn try_from(text: String) -> Result<JobId, Error> {
        JobId::parse(&text)
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> String {
        id.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What may be said about a job when it is asked for. Unknown keys are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Options {
    /// Everything up to the review, and nothing published.
    pub dry_run: bool,
    /// What kind of work it is; the planner tells when nobody else does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// How far the result goes out.
    pub publish: Publish,
    /// Which state of the project the build starts from.
    pub start: StartFrom,
    /// Whether the plan is approved unseen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approve_unseen: bool,
    /// Whether work that no check could judge may be called complete.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_unjudged: bool,
    /// Whether a person looks at the work before anything is pushed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
}

/// How far a result goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Publish {
    /// A pull request where there is a forge, a pushed branch where there is a remote, else a
    /// local branch.
    #[default]
    PullRequest,
    /// A local branch and a patch file.
    Local,
}

/// Which state of the project a build starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartFrom {
    /// The commit that is checked out.
    #[default]
    LastCommit,
    /// The files of the checkout as they are, by way of a commit that no branch has.
    WorkingTree,
}

/// The commit a job starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Base {
    /// Its full name.
    pub commit: String,
    /// The branch a pull request goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// Why a job failed, and at which step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of thing went wrong.
    pub code: FailureCode,
    /// A sentence or two: what happened, and what to do next.
    pub message: String,
    /// How the job stood.
    pub step: Status,
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The provider is down, or refused the request.
    Provider,
    /// The model refused, or had nothing to say.
    Refused,
    /// A limit of the loop was hit, time among them.
    Limit,
    /// A budget of money or tokens was hit.
    Budget,
    /// No usable plan came, also after the model was told why.
    PlanInvalid,
    /// The model changed nothing.
    NothingGenerated,
    /// The policy refused something that the plan needs.
    Policy,
    /// The worktree, the branch or the commit could not be made.
    Git,
    /// The push was refused or did not arrive.
    Push,
    /// The forge refused the pull request or is down.
    Forge,
    /// A command or a check could not be run: no sandbox, no shell, no room on the disk.
    Checks,
    /// Files could not be read or written.
    Files,
}

/// What has to be known to go on, and is nobody's result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Work {
    /// What the last round of checks found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// How many errors each round of checks found, the first one first.
    pub errors_by_round: Vec<usize>,
    /// What the model said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// The commit that holds the work while a person looks at it; no branch has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// What a person said about the work and has not been done yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// How often a person looked at it and wanted something changed.
    pub review_rounds: u32,
    /// How many repairs there were when a person last asked for something: the next ones count
    /// from there.
    pub repairs_before: u32,
}

/// Where a build that goes on after its end began, and what it goes on with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Continued {
    /// The commit that checks are compared with: nothing of the build is in it.
    pub origin: Base,
    /// The branch that goes on.
    pub branch: String,
}

/// A job, whole. Its JSON is what is kept and what is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// The sentence it began with.
    pub prompt: String,
    /// What was asked for after its end, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<String>,
    /// Where it began, if it goes on after its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<Continued>,
    /// What else was said.
    pub options: Options,
    /// How it stands. Changed by [`Job::change`] alone.
    status: Status,
    /// Counts the changes; a store compares it.
    revision: u64,
    /// The commit it starts from, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
    /// The plan, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The checks that will be run, shown with the plan.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// What came of it so far.
    #[serde(default)]
    pub result: BuildResult,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What has to be known to go on.
    #[serde(default)]
    pub work: Work,
    /// When it was asked for, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was last changed.
    pub updated_ms: u64,
}

impl Job {
    /// A job that nobody has begun. A prompt that is none is refused.
    pub fn new(
        id: JobId,
        prompt: impl Into<String>,
        options: Options,
        now_ms: u64,
    ) -> Result<Job, Error> {
        let prompt = checked_prompt(&prompt.into())?;
        Ok(Job {
            id,
            prompt,
            follow_ups: Vec::new(),
            continues: None,
            options,
            status: Status::Queued,
            revision: 0,
            base: None,
            plan: None,
            checks: Vec::new(),
            result: BuildResult::default(),
            error: None,
            work: Work::default(),
            created_ms: now_ms,
            updated_ms: now_ms,
        })
    }

    /// What is asked for now: the last follow-up, else the sentence it began with.
    pub fn request(&self) -> &str {
        self.follow_ups.last().unwrap_or(&self.prompt)
    }

    /// The name of a phase of the conversation: each follow-up has phases of its own.
    pub(crate) fn phase(&self, name: &str) -> String {
        match self.follow_ups.len() {
            0 => name.to_owned(),
            count => format!("{name}-{}", count + 1),
        }
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        self.status
    }

    /// How often it was changed.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The task type: what the user said, else what the plan says.
    pub fn task_type(&self) -> Option<TaskType> {
        let planned = self.plan.as_ref().map(|plan| plan.task_type);
        self.options.task_type.or(planned)
    }

    /// This job after a step of the table. A store keeps it only if the job still stands as it
    /// does here.
    pub fn change(
        &self,
        to: Status,
        now_ms: u64,
        edit: impl FnOnce(&mut Job),
    ) -> Result<Change, Error> {
        let transition = Transition::new(self.status, to)?;
        Ok(self.changed(transition, now_ms, edit))
    }

    /// This job with more known, and standing where it stands.
    pub fn amend(&self, now_ms: u64, edit: impl FnOnce(&mut Job)) -> Change {
        self.changed(Transition::none(self.status), now_ms, edit)
    }

    fn changed(&self, transition: Transition, now_ms: u64, edit: impl FnOnce(&mut Job)) -> Change {
        let mut job = self.clone();
        edit(&mut job);
        job.status = transition.to();
        job.revision = self.revision + 1;
        job.updated_ms = now_ms;
        Change {
            transition,
            revision: self.revision,
            job,
        }
    }
}

/// A sentence that can be a request, without the space around it.
pub(crate) fn checked_prompt(prompt: &str) -> Result<String, Error> {
    let prompt = prompt.trim().to_owned();
    let characters = prompt.chars().count();
    let wrong = if characters < PROMPT_CHARS_MIN {
        Some(("at least", PROMPT_CHARS_MIN, "PROMPT_CHARS_MIN"))
    } else if characters > PROMPT_CHARS_MAX {
        Some(("at most", PROMPT_CHARS_MAX, "PROMPT_CHARS_MAX"))
    } else {
        None
    };
    match wrong {
        None => Ok(prompt),
        Some((bound, limit, name)) => {
            let message = format!(
                "the request has {characters} characters and must have {bound} {limit} ({name}); say \
                 in a sentence or two what to build"
            );
            Err(Error::new(Kind::Invalid, message))
        }
    }
}

/// A change of a job that the table permits. Made by [`Job::change`] and [`Job::amend`] alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    transition: Transition,
    revision: u64,
    job: Job,
}

impl Change {
    /// The step: how the job has to stand, and how it stands afterwards.
    pub fn transition(&self) -> Transition {
        self.transition
    }

    /// The revision the job has to have.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The job afterwards.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The same, taken out.
    pub fn into_job(self) -> Job {
        self.job
    }
}

#[cfg(test)]
mod tests {
    use super::{Job, JobId, Options, PROMPT_CHARS_MAX};
    use crate::status::Status;

    fn job(prompt: &str) -> Result<Job, crate::Error> {
        Job::new(JobId::new(1, 2), prompt, Options::default(), 1)
    }

    #[test]
    fn a_prompt_that_is_too_short_or_too_long_names_its_limit() {
        let error = job("fix it").unwrap_err().to_string();
        assert!(error.contains("at least 10 (PROMPT_CHARS_MIN)"), "{error}");
        let error = job(&"x".repeat(PROMPT_CHARS_MAX + 1)).unwrap_err();
        assert!(error.to_string().contains("PROMPT_CHARS_MAX"), "{error}");
        assert!(job("add rate limiting to login").is_ok());
    }

    #[test]
    fn ids_sort_by_time_and_fit_into_branch_names() {
        let ids = [
            JobId::new(1, 9),
            JobId::new(2, 0),
            JobId::new(u64::MAX >> 20, 1),
        ];
        assert!(ids.is_sorted(), "{ids:?}");
        for id in &ids {
            assert_eq!(&JobId::parse(id.as_str()).unwrap(), id);
        }
        for bad in ["", "-a", "a-", "A", "a/b", "..", "a b"] {
            assert!(JobId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn options_refuse_what_they_do_not_know() {
        let read = |json: &str| serde_json::from_str::<Options>(json);
        assert_eq!(read("{}").unwrap(), Options::default());
        let given = read(r#"{"dryRun": true, "taskType": "test-gen", "publish": "local"}"#);
        assert!(given.unwrap().dry_run);
        assert!(read(r#"{"taskType": "feature"}"#).is_err());
        assert!(read(r#"{"targetTag": "x"}"#).is_err());
    }

    #[test]
    fn a_job_is_read_as_it_is_written() {
        let job = job("add rate limiting to login").unwrap();
        let json = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<Job>(&json).unwrap(), job);
        let bad = json.replace("\"queued\"", "\"waiting\"");
        assert!(serde_json::from_str::<Job>(&bad).is_err());
    }

    #[test]
    fn a_change_counts_and_keeps_to_the_table() {
        let job = job("add rate limiting to login").unwrap();
        let change = job.change(Status::Planning, 5, |_| {}).unwrap();
        assert_eq!(change.revision(), 0);
        assert_eq!(change.job().revision(), 1);
        assert_eq!(change.job().updated_ms, 5);
        assert!(job.change(Status::Completed, 5, |_| {}).is_err());
    }
}
