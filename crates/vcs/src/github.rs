//! GitHub, here and in enterprises: pull requests, drafts and labels, by its REST interface.

use exec::CommandCancel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::forge::{Forge, ForgeFuture, ForgeKind};
use crate::http::{ForgeClient, ForgeLimits, ForgeReply, ForgeRequest, OnceOutcome};
use crate::{
    BranchName, Error, ForgeProject, ForgeToken, NewPullRequest, PublishOutcome, PullReadiness,
    PullRequest, VcsErrorKind,
};

/// The label on pull requests that a person has to repair.
pub const MANUAL_FIX_LABEL: &str = "needs-manual-fix";
/// The label on pull requests of which no check could judge the work.
pub const NOT_JUDGED_LABEL: &str = "checks-not-judged";
/// The title prefix of a draft in a repository that does not support drafts.
pub(crate) const DRAFT_PREFIX: &str = "[draft] ";

/// The colour and description of labels that are created.
const LABEL_COLOR: &str = "d93f0b";
const LABEL_DESCRIPTION: &str = "Generated code that does not pass its checks yet";

/// One project on GitHub.
pub struct GitHub {
    http: ForgeClient,
    owner: String,
    repository: String,
}

impl GitHub {
    /// A project by way of the API at `base`: `https://api.github.com`, or
    /// `https://HOST/api/v3` of an enterprise. See `ForgeProject::github_api`.
    pub fn new(
        base: &str,
        project: &ForgeProject,
        token: ForgeToken,
        limits: ForgeLimits,
    ) -> Result<Self, Error> {
        Ok(Self {
            http: ForgeClient::new(base, token, limits)?,
            owner: project.owner.clone(),
            repository: project.repository.clone(),
        })
    }

    /// Sets the switch that stops running requests.
    #[must_use]
    pub fn cancel(mut self, cancel: CommandCancel) -> Self {
        self.http.set_cancel(cancel);
        self
    }

    /// Opens a pull request, or updates the open one of the same branch: publishing twice is the
    /// same as publishing once.
    pub async fn publish(&self, new: &NewPullRequest) -> Result<PublishOutcome, Error> {
        let mut notes = Vec::new();
        let (pull, was_there) = match self.find_open(&new.head).await? {
            Some(pull) => {
                let prefix = match (new.readiness, pull.draft) {
                    (PullReadiness::Draft, false) => DRAFT_PREFIX,
                    _ => "",
                };
                if (new.readiness, pull.draft) == (PullReadiness::Ready, true) {
                    let url = &pull.url;
                    notes.push(format!("{url} is a draft still; mark it as ready there."));
                }
                let update = self.update((pull.number, prefix), new, &mut notes);
                (update.await?, true)
            }
            None => self.create(new, &mut notes).await?,
        };
        for label in &new.labels {
            if let Err(error) = self.label(pull.number, label).await {
                if error.kind() == VcsErrorKind::Cancelled {
                    return Err(error);
                }
                notes.push(format!("The label `{label}` was not put on it: {error}."));
            }
        }
        Ok(PublishOutcome {
            pull,
            was_there,
            notes,
        })
    }

    /// The open pull request of a branch of this repository, if there is one.
    pub async fn find_open(&self, head: &BranchName) -> Result<Option<PullRequest>, Error> {
        let mut request = self.request(Method::GET, "pulls");
        request.query = vec![
            ("state", "open".to_owned()),
            ("head", format!("{}:{head}", self.owner)),
            ("per_page", "30".to_owned()),
        ];
        let reply = self.http.call(&request).await?;
        let reply = self.expect(reply, "listing pull requests")?;
        let list = reply.body.as_array();
        let list = list.ok_or_else(|| self.not_understood("list of pull requests"))?;
        // Some servers ignore the filter and list all.
        let found = list.iter().find(|pull| self.is_of(pull, head));
        found.map(|pull| self.read_pull(pull)).transpose()
    }

    /// Returns the branch that pull requests go to by default.
    pub async fn default_branch(&self) -> Result<BranchName, Error> {
        let reply = self.http.call(&self.request(Method::GET, "")).await?;
        let reply = self.expect(reply, "reading the repository")?;
        let name = reply.body.get("default_branch").and_then(Value::as_str);
        BranchName::parse(name.ok_or_else(|| self.not_understood("repository"))?)
    }

    /// Puts a label on a pull request, and creates the label if the repository does not have it.
    pub async fn label(&self, number: u64, label: &str) -> Result<(), Error> {
        let path = format!("issues/{number}/labels");
        let mut request = self.request(Method::POST, &path);
        request.body = Some(json!({ "labels": [label] }));
        let mut reply = self.http.call(&request).await?;
        // GitHub creates missing labels by itself; other servers answer with an error.
        if matches!(reply.status, 404 | 422) {
            self.make_label(label).await?;
            reply = self.http.call(&request).await?;
        }
        self.expect(reply, "labelling").map(drop)
    }

    async fn make_label(&self, label: &str) -> Result<(), Error> {
        let mut request = self.request(Method::POST, "labels");
        request.body = Some(json!({
            "name": label,
            "color": LABEL_COLOR,
            "description": LABEL_DESCRIPTION,
        }));
        let reply = self.http.call(&request).await?;
        if reply.status == 422 && self.http.words(&reply).contains("already_exists") {
            return Ok(());
        }
        self.expect(reply, "making a label").map(drop)
    }

    /// Updates title and body, and takes off labels that are no longer true.
    async fn update(
        &self,
        (number, prefix): (u64, &str),
        new: &NewPullRequest,
        notes: &mut Vec<String>,
    ) -> Result<PullRequest, Error> {
        let mut request = self.request(Method::PATCH, &format!("pulls/{number}"));
        request.body = Some(json!({
            "title": new.title_after(prefix),
            "body": new.bounded_body(),
        }));
        let reply = self.http.call(&request).await?;
        let reply = self.expect(reply, "updating the pull request")?;
        for label in new.stale_labels(&reply.body) {
            if let Err(error) = self.unlabel(number, label.name).await {
                notes.push(format!(
                    "The label `{}` is still on it: {error}.",
                    label.name
                ));
            }
        }
        self.read_pull(&reply.body)
    }

    async fn unlabel(&self, number: u64, label: &str) -> Result<(), Error> {
        let path = format!("issues/{number}/labels/{label}");
        let reply = self.http.call(&self.request(Method::DELETE, &path)).await?;
        match reply.status {
            // Another person has taken it off.
            404 => Ok(()),
            _ => self.expect(reply, "taking off a label").map(drop),
        }
    }

    /// Opens a pull request; returns an existing one if there is one after all.
    async fn create(
        &self,
        new: &NewPullRequest,
        notes: &mut Vec<String>,
    ) -> Result<(PullRequest, bool), Error> {
        let mut draft = new.readiness == PullReadiness::Draft;
        let mut prefix = "";
        let mut number = 0;
        loop {
            let request = self.opening(new, prefix, draft);
            let reply = match self.http.call_once(&request).await? {
                OnceOutcome::Answered(reply) => reply,
                OnceOutcome::Unsure(unsure) => {
                    number += 1;
                    if let Ok(Some(pull)) = self.find_open(&new.head).await {
                        return Ok((pull, false));
                    }
                    if number >= self.http.attempts_max() {
                        return Err(unsure);
                    }
                    self.http.pause(number).await?;
                    continue;
                }
            };
            let words = self.http.words(&reply).to_ascii_lowercase();
            if reply.status == 422 && draft && words.contains("draft") {
                (draft, prefix) = (false, DRAFT_PREFIX);
                notes.push(
                    "The repository does not allow drafts; it is an ordinary pull request marked \
                     as [draft]."
                        .to_owned(),
                );
                continue;
            }
            if reply.status == 422
                && words.contains("already exists")
                && let Some(pull) = self.find_open(&new.head).await?
            {
                let pull = self.update((pull.number, prefix), new, notes).await?;
                return Ok((pull, true));
            }
            let reply = self.expect(reply, "opening the pull request")?;
            return Ok((self.read_pull(&reply.body)?, false));
        }
    }

    fn opening(&self, new: &NewPullRequest, prefix: &str, draft: bool) -> ForgeRequest {
        let mut request = self.request(Method::POST, "pulls");
        request.body = Some(json!({
            "title": new.title_after(prefix),
            "body": new.bounded_body(),
            "head": new.head.as_str(),
            "base": new.base.as_str(),
            "draft": draft,
            "maintainer_can_modify": true,
        }));
        request
    }

    fn request(&self, method: Method, path: &str) -> ForgeRequest {
        let path = format!("repos/{}/{}/{path}", self.owner, self.repository);
        ForgeRequest {
            method,
            path: path.trim_end_matches('/').to_owned(),
            query: Vec::new(),
            body: None,
        }
    }

    fn is_of(&self, pull: &Value, head: &BranchName) -> bool {
        let text = |pointer: &str| pull.pointer(pointer).and_then(Value::as_str);
        let label = format!("{}:{head}", self.owner);
        let theirs = text("/head/label").unwrap_or(&label);
        text("/head/ref") == Some(head.as_str())
            && text("/state").is_none_or(|state| state == "open")
            && theirs.eq_ignore_ascii_case(&label)
    }

    fn read_pull(&self, pull: &Value) -> Result<PullRequest, Error> {
        let number = pull.get("number").and_then(Value::as_u64);
        let url = pull.get("html_url").and_then(Value::as_str);
        let (Some(number), Some(url)) = (number, url) else {
            return Err(self.not_understood("pull request"));
        };
        Ok(PullRequest {
            number,
            url: url.to_owned(),
            draft: pull.get("draft").and_then(Value::as_bool) == Some(true),
        })
    }

    fn expect(&self, reply: ForgeReply, what: &str) -> Result<ForgeReply, Error> {
        let name = format!("{}/{}", self.owner, self.repository);
        let (kind, advice) = match reply.status {
            200..300 => return Ok(reply),
            401 => (
                VcsErrorKind::Unauthorized,
                "the token is wrong or has expired; set a new one in GITHUB_TOKEN".to_owned(),
            ),
            403 => (
                VcsErrorKind::Unauthorized,
                format!(
                    "the token may not do this in {name}; give it the right to write pull requests \
                     and contents (and authorise it for the organisation)"
                ),
            ),
            404 => (
                VcsErrorKind::NotFound,
                format!("there is no {name}, or the token may not see it; check both"),
            ),
            410 | 451 => (
                VcsErrorKind::Refused,
                format!("{name} does not have this any more"),
            ),
            422 => (
                VcsErrorKind::Refused,
                "check that the branch has been pushed, has commits that its base has not, and \
                 that the base exists"
                    .to_owned(),
            ),
            _ => (
                VcsErrorKind::Failed,
                "check the forge's base URL, and try again".to_owned(),
            ),
        };
        let message = format!(
            "{what} at {} failed with status {}, {}: {advice}",
            self.http.host(),
            reply.status,
            self.http.words(&reply)
        );
        Err(Error::new(kind, message))
    }

    fn not_understood(&self, what: &str) -> Error {
        let message = format!(
            "the {what} that {} answered cannot be understood; check the forge's base URL",
            self.http.host()
        );
        Error::new(VcsErrorKind::BadAnswer, message)
    }
}

impl Forge for GitHub {
    fn kind(&self) -> ForgeKind {
        ForgeKind::GitHub
    }

    fn publish<'a>(&'a self, new: &'a NewPullRequest) -> ForgeFuture<'a, PublishOutcome> {
        Box::pin(GitHub::publish(self, new))
    }

    fn default_branch(&self) -> ForgeFuture<'_, BranchName> {
        Box::pin(GitHub::default_branch(self))
    }
}
