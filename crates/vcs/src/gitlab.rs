//! GitLab: merge requests, drafts by their title, and labels, by its REST interface (v4).

use exec::CommandCancel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::forge::{Forge, ForgeFuture, ForgeKind, ForgeService, OpenedPull};
use crate::http::{ForgeClient, ForgeLimits, ForgeRequest};
use crate::{
    BranchName, Error, ForgeProject, ForgeToken, NewPullRequest, PublishOutcome, PullReadiness,
    PullRequest,
};

/// The title prefix that marks a draft for GitLab.
const DRAFT_PREFIX: &str = "Draft: ";

/// One project on GitLab.
pub struct GitLab {
    service: ForgeService,
    /// `projects/group%2Fsub%2Fapp`.
    project: String,
}

impl GitLab {
    /// A project by way of the API at `base`: `https://HOST/api/v4`.
    pub fn new(
        base: &str,
        project: &ForgeProject,
        token: ForgeToken,
        limits: ForgeLimits,
    ) -> Result<Self, Error> {
        let name = project.name();
        let service = ForgeService {
            http: ForgeClient::new(base, token, limits)?.accepting("application/json"),
            kind: ForgeKind::GitLab,
            name: name.clone(),
        };
        // The path of a project is one segment; its names need no other encoding.
        let project = format!("projects/{}", name.replace('/', "%2F"));
        Ok(Self { service, project })
    }

    /// Sets the switch that stops running requests.
    #[must_use]
    pub fn cancel(mut self, cancel: CommandCancel) -> Self {
        self.service.http.set_cancel(cancel);
        self
    }

    async fn publish_now(&self, new: &NewPullRequest) -> Result<PublishOutcome, Error> {
        let (pull, was_there) = match self.find_open(&new.head).await? {
            Some(pull) => (self.update(pull.number, new).await?, true),
            None => self.create(new).await?,
        };
        Ok(PublishOutcome {
            pull,
            was_there,
            notes: Vec::new(),
        })
    }

    async fn find_open(&self, head: &BranchName) -> Result<Option<PullRequest>, Error> {
        let mut request = self.request(Method::GET, "/merge_requests", None);
        request.query = vec![
            ("state", "opened".to_owned()),
            ("source_branch", head.to_string()),
        ];
        let list = self.service.ask(&request, "listing merge requests").await?;
        let list = list.as_array();
        let list = list.ok_or_else(|| self.service.not_understood("list of merge requests"))?;
        // A request from a fork has the same branch name and another source project.
        let is_ours = |found: &&Value| {
            found.get("source_branch").and_then(Value::as_str) == Some(head.as_str())
                && found.get("source_project_id") == found.get("target_project_id")
        };
        list.iter()
            .find(is_ours)
            .map(|found| self.read(found))
            .transpose()
    }

    async fn create(&self, new: &NewPullRequest) -> Result<(PullRequest, bool), Error> {
        let body = json!({
            "source_branch": new.head.as_str(),
            "target_branch": new.base.as_str(),
            "title": title(new),
            "description": new.bounded_body(),
            // GitLab creates missing labels.
            "labels": new.labels.join(","),
            "remove_source_branch": true,
        });
        let request = self.request(Method::POST, "/merge_requests", Some(body));
        let find =
            || -> ForgeFuture<'_, Option<PullRequest>> { Box::pin(self.find_open(&new.head)) };
        let reply = match self.service.open_once(&request, find).await? {
            OpenedPull::Found(pull) => return Ok((pull, false)),
            OpenedPull::Answered(reply) => reply,
        };
        if reply.status == 409
            && let Some(pull) = self.find_open(&new.head).await?
        {
            return Ok((self.update(pull.number, new).await?, true));
        }
        let reply = self.service.expect(reply, "opening the merge request")?;
        Ok((self.read(&reply.body)?, false))
    }

    /// Updates title, body and labels; the title carries the draft state. GitLab ignores labels to
    /// remove that are not there.
    async fn update(&self, number: u64, new: &NewPullRequest) -> Result<PullRequest, Error> {
        let body = json!({
            "title": title(new),
            "description": new.bounded_body(),
            "add_labels": new.labels.join(","),
            "remove_labels": new.unwanted_labels().collect::<Vec<_>>().join(","),
        });
        let request = self.request(
            Method::PUT,
            &format!("/merge_requests/{number}"),
            Some(body),
        );
        let found = self
            .service
            .ask(&request, "updating the merge request")
            .await?;
        self.read(&found)
    }

    fn read(&self, found: &Value) -> Result<PullRequest, Error> {
        let number = found.get("iid").and_then(Value::as_u64);
        let url = found.get("web_url").and_then(Value::as_str);
        let (Some(number), Some(url)) = (number, url) else {
            return Err(self.service.not_understood("merge request"));
        };
        let flag = |name: &str| found.get(name).and_then(Value::as_bool) == Some(true);
        Ok(PullRequest {
            number,
            url: url.to_owned(),
            draft: flag("draft") || flag("work_in_progress"),
        })
    }

    fn request(&self, method: Method, path: &str, body: Option<Value>) -> ForgeRequest {
        ForgeService::request(method, format!("{}{path}", self.project), body)
    }
}

fn title(new: &NewPullRequest) -> String {
    new.title_after(match new.readiness {
        PullReadiness::Draft => DRAFT_PREFIX,
        PullReadiness::Ready => "",
    })
}

impl Forge for GitLab {
    fn kind(&self) -> ForgeKind {
        ForgeKind::GitLab
    }

    fn publish<'a>(&'a self, new: &'a NewPullRequest) -> ForgeFuture<'a, PublishOutcome> {
        Box::pin(self.publish_now(new))
    }

    fn default_branch(&self) -> ForgeFuture<'_, BranchName> {
        Box::pin(async {
            let request = self.request(Method::GET, "", None);
            let project = self.service.ask(&request, "reading the project").await?;
            self.service.read_default(&project)
        })
    }
}
