//! A build job: the request, the status, and the results so far.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{BuildErrorKind, Error};
use crate::plan::BuildPlan;
use crate::result::BuildResult;
use crate::review::BuildReview;
use crate::status::{JobStatus, StatusTransition};
use crate::task_type::TaskType;
use crate::validation::{ProjectCheck, ValidationReport};

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
    /// Makes a new id. Later ones sort later; `salt` tells apart ids made in one millisecond and on
    /// different machines.
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
            BuildErrorKind::NotFound,
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

/// Options given with the request. Unknown keys are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Options {
    /// Stops after the review data is made; nothing is published.
    pub dry_run: bool,
    /// The task type; if absent, the planner decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// The place to publish the result.
    pub publish: PublishMode,
    /// The state of the project that the build starts from.
    pub start: StartFrom,
    /// Approves the plan without a person seeing it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approve_unseen: bool,
    /// Calls work complete that no check could judge.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allow_unjudged: bool,
    /// Waits for a person's review before anything is pushed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
}

/// The place to publish a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublishMode {
    /// A pull request if there is a forge, a pushed branch if there is a remote, otherwise a local
    /// branch.
    #[default]
    PullRequest,
    /// A local branch and a patch file.
    Local,
}

/// The state of the project that a build starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartFrom {
    /// The commit that is checked out.
    #[default]
    LastCommit,
    /// The present files of the checkout, through a commit that is on no branch.
    WorkingTree,
}

/// The commit a job starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaseCommit {
    /// Its full name.
    pub commit: String,
    /// The branch a pull request goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// Why a job failed, and at which step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    /// The kind of failure.
    pub code: FailureCode,
    /// A sentence or two: the failure, and the next step for the user.
    pub message: String,
    /// The status of the job when it failed.
    pub step: JobStatus,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The provider is down, or refused the request.
    Provider,
    /// The model refused, or gave no answer.
    Refused,
    /// A limit of the loop was hit, time among them.
    Limit,
    /// A budget of money or tokens was hit.
    Budget,
    /// The model made no usable plan, even after corrections.
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

/// Data needed to resume a job; no part of its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResumeState {
    /// The report of the last round of checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<ValidationReport>,
    /// Number of errors in each round of checks, oldest first.
    pub errors_by_round: Vec<usize>,
    /// The model's last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// The commit with the work during a review; it is on no branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// A person's review that the model has not acted on yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<BuildReview>,
    /// Number of reviews that asked for changes.
    pub review_rounds: u32,
    /// Number of repairs made before a person's last request; the limit counts from there.
    pub repairs_before: u32,
}

/// The origin and the branch of a build that continues after its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinuedBuild {
    /// The commit that checks are compared with: it has nothing of the build.
    pub origin: BaseCommit,
    /// The branch that continues.
    pub branch: String,
}

/// A whole job. Its JSON is stored and shown unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildJob {
    /// Its name.
    pub id: JobId,
    /// The sentence it began with.
    pub prompt: String,
    /// Requests made after the job's end, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<String>,
    /// The build's origin, if the job continues after its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<ContinuedBuild>,
    /// The options given with the request.
    pub options: Options,
    /// Changed only by [`BuildJob::change`].
    status: JobStatus,
    /// Counts the changes; a store compares it.
    revision: u64,
    /// The base commit, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseCommit>,
    /// The plan, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<BuildPlan>,
    /// The checks that will be run, shown with the plan.
    #[serde(default)]
    pub checks: Vec<ProjectCheck>,
    /// The results so far.
    #[serde(default)]
    pub result: BuildResult,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<JobFailure>,
    /// Data needed to resume the job.
    #[serde(default)]
    pub work: ResumeState,
    /// Time of the request, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was last changed.
    pub updated_ms: u64,
}

impl BuildJob {
    /// Creates a queued job. An empty prompt is refused.
    pub fn new(
        id: JobId,
        prompt: impl Into<String>,
        options: Options,
        now_ms: u64,
    ) -> Result<BuildJob, Error> {
        let prompt = checked_prompt(&prompt.into())?;
        Ok(BuildJob {
            id,
            prompt,
            follow_ups: Vec::new(),
            continues: None,
            options,
            status: JobStatus::Queued,
            revision: 0,
            base: None,
            plan: None,
            checks: Vec::new(),
            result: BuildResult::default(),
            error: None,
            work: ResumeState::default(),
            created_ms: now_ms,
            updated_ms: now_ms,
        })
    }

    /// The current request: the last follow-up, or the first prompt.
    pub fn request(&self) -> &str {
        self.follow_ups.last().unwrap_or(&self.prompt)
    }

    /// The name of a phase of the conversation: each follow-up has its own phases.
    pub(crate) fn phase(&self, name: &str) -> String {
        match self.follow_ups.len() {
            0 => name.to_owned(),
            count => format!("{name}-{}", count + 1),
        }
    }

    /// The current status.
    pub fn status(&self) -> JobStatus {
        self.status
    }

    /// Counts the changes of this job.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The task type: the user's choice if given, otherwise the plan's.
    pub fn task_type(&self) -> Option<TaskType> {
        let planned = self.plan.as_ref().map(|plan| plan.task_type);
        self.options.task_type.or(planned)
    }

    /// Returns this job after a transition of the table. A store writes it only if the stored job
    /// still has the status and revision of this one.
    pub fn change(
        &self,
        to: JobStatus,
        now_ms: u64,
        edit: impl FnOnce(&mut BuildJob),
    ) -> Result<JobChange, Error> {
        let transition = StatusTransition::new(self.status, to)?;
        Ok(self.changed(transition, now_ms, edit))
    }

    /// Returns this job after an edit, with the same status.
    pub(crate) fn amend(&self, now_ms: u64, edit: impl FnOnce(&mut BuildJob)) -> JobChange {
        self.changed(StatusTransition::none(self.status), now_ms, edit)
    }

    fn changed(
        &self,
        transition: StatusTransition,
        now_ms: u64,
        edit: impl FnOnce(&mut BuildJob),
    ) -> JobChange {
        let mut job = self.clone();
        edit(&mut job);
        job.status = transition.to();
        job.revision = self.revision + 1;
        job.updated_ms = now_ms;
        JobChange {
            transition,
            revision: self.revision,
            job,
        }
    }
}

/// Checks and trims a prompt.
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
            let plural = if characters == 1 { "" } else { "s" };
            let message = format!(
                "the request has {characters} character{plural} and must have {bound} {limit} ({name}); \
                 say in a sentence or two what to build"
            );
            Err(Error::new(BuildErrorKind::Invalid, message))
        }
    }
}

/// A change of a job that the table permits. Made by [`BuildJob::change`] and `BuildJob::amend` alone.
#[derive(Clone, Debug, PartialEq)]
pub struct JobChange {
    transition: StatusTransition,
    revision: u64,
    job: BuildJob,
}

impl JobChange {
    /// The transition: the status the job must have, and the one it gets.
    pub fn transition(&self) -> StatusTransition {
        self.transition
    }

    /// The revision the job must have.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The job afterwards.
    pub fn job(&self) -> &BuildJob {
        &self.job
    }

    /// Takes the changed job out.
    pub fn into_job(self) -> BuildJob {
        self.job
    }
}

#[cfg(test)]
mod tests {
    use super::{BuildJob, JobId, Options, PROMPT_CHARS_MAX};
    use crate::status::JobStatus;

    fn job(prompt: &str) -> Result<BuildJob, crate::Error> {
        BuildJob::new(JobId::new(1, 2), prompt, Options::default(), 1)
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
        assert_eq!(serde_json::from_str::<BuildJob>(&json).unwrap(), job);
        let bad = json.replace("\"queued\"", "\"waiting\"");
        assert!(serde_json::from_str::<BuildJob>(&bad).is_err());
    }

    #[test]
    fn a_change_counts_and_keeps_to_the_table() {
        let job = job("add rate limiting to login").unwrap();
        let change = job.change(JobStatus::Planning, 5, |_| {}).unwrap();
        assert_eq!(change.revision(), 0);
        assert_eq!(change.job().revision(), 1);
        assert_eq!(change.job().updated_ms, 5);
        assert!(job.change(JobStatus::Completed, 5, |_| {}).is_err());
    }
}
