//! Gitea and Forgejo: pull requests, drafts by their title, and labels, by their REST interface (v1).

use exec::CommandCancel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::forge::{Forge, ForgeFuture, ForgeKind, ForgeService, OpenedPull};
use crate::http::{ForgeClient, ForgeLimits, ForgeRequest};
use crate::{
    BranchName, Error, ForgeProject, ForgeToken, NewPullRequest, PublishOutcome, PullReadiness,
    PullRequest, VcsErrorKind,
};

/// The title prefix that marks a draft for Gitea and Forgejo.
const DRAFT_PREFIX: &str = "WIP: ";
/// The colour and description of labels that are created.
const LABEL_COLOR: &str = "#d93f0b";
const LABEL_DESCRIPTION: &str = "Generated code that a person has to look at";
/// Entries on one page of a list; servers allow no more by default.
const PAGE_ENTRIES: usize = 50;
/// The most pages that are read.
const PAGES_MAX: usize = 10;

/// One project on Gitea or Forgejo.
pub struct Gitea {
    service: ForgeService,
    owner: String,
    repository: String,
}

impl Gitea {
    /// A project by way of the API at `base`: `https://HOST/api/v1`.
    pub fn new(
        base: &str,
        project: &ForgeProject,
        token: ForgeToken,
        limits: ForgeLimits,
    ) -> Result<Self, Error> {
        Ok(Self {
            service: ForgeService {
                http: ForgeClient::new(base, token, limits)?.accepting("application/json"),
                kind: ForgeKind::Gitea,
                name: project.name(),
            },
            owner: project.owner.clone(),
            repository: project.repository.clone(),
        })
    }

    /// Sets the switch that stops running requests.
    #[must_use]
    pub fn cancel(mut self, cancel: CommandCancel) -> Self {
        self.service.http.set_cancel(cancel);
        self
    }

    async fn publish_now(&self, new: &NewPullRequest) -> Result<PublishOutcome, Error> {
        let mut notes = Vec::new();
        let (pull, was_there) = match self.find_open(&new.head).await? {
            Some(pull) => (self.update(pull.number, new, &mut notes).await?, true),
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

    async fn find_open(&self, head: &BranchName) -> Result<Option<PullRequest>, Error> {
        let query = vec![("state", "open".to_owned())];
        let ours = format!("{}/{}", self.owner, self.repository);
        let found = self
            .find("pulls", query, |pull| {
                let text = |pointer: &str| pull.pointer(pointer).and_then(Value::as_str);
                let from = text("/head/repo/full_name").unwrap_or(&ours);
                text("/head/ref") == Some(head.as_str()) && from.eq_ignore_ascii_case(&ours)
            })
            .await?;
        found.map(|pull| self.read(&pull)).transpose()
    }

    /// The first entry of a list that fits, page by page.
    async fn find(
        &self,
        path: &str,
        query: Vec<(&'static str, String)>,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, Error> {
        for page in 1..=PAGES_MAX {
            let mut request = self.request(Method::GET, path, None);
            request.query.clone_from(&query);
            request.query.push(("limit", PAGE_ENTRIES.to_string()));
            request.query.push(("page", page.to_string()));
            let list = self
                .service
                .ask(&request, &format!("listing {path}"))
                .await?;
            let entries = list.as_array();
            let entries = entries.ok_or_else(|| self.service.not_understood(path))?;
            if let Some(found) = entries.iter().find(|entry| fits(entry)) {
                return Ok(Some(found.clone()));
            }
            if entries.len() < PAGE_ENTRIES {
                break;
            }
        }
        Ok(None)
    }

    async fn create(
        &self,
        new: &NewPullRequest,
        notes: &mut Vec<String>,
    ) -> Result<(PullRequest, bool), Error> {
        let body = json!({
            "title": title(new),
            "body": new.bounded_body(),
            "head": new.head.as_str(),
            "base": new.base.as_str(),
        });
        let request = self.request(Method::POST, "pulls", Some(body));
        let find =
            || -> ForgeFuture<'_, Option<PullRequest>> { Box::pin(self.find_open(&new.head)) };
        let reply = match self.service.open_once(&request, find).await? {
            OpenedPull::Found(pull) => return Ok((pull, false)),
            OpenedPull::Answered(reply) => reply,
        };
        if reply.status == 409
            && let Some(pull) = self.find_open(&new.head).await?
        {
            return Ok((self.update(pull.number, new, notes).await?, true));
        }
        let reply = self.service.expect(reply, "opening the pull request")?;
        Ok((self.read(&reply.body)?, false))
    }

    /// Updates title and body, and takes off labels that are no longer true.
    async fn update(
        &self,
        number: u64,
        new: &NewPullRequest,
        notes: &mut Vec<String>,
    ) -> Result<PullRequest, Error> {
        let body = json!({"title": title(new), "body": new.bounded_body()});
        let request = self.request(Method::PATCH, &format!("pulls/{number}"), Some(body));
        let found = self
            .service
            .ask(&request, "updating the pull request")
            .await?;
        for label in new.stale_labels(&found) {
            let Some(id) = label.id else { continue };
            let path = format!("issues/{number}/labels/{id}");
            let request = self.request(Method::DELETE, &path, None);
            if let Err(error) = self.service.ask(&request, "taking off a label").await {
                notes.push(format!(
                    "The label `{}` is still on it: {error}.",
                    label.name
                ));
            }
        }
        self.read(&found)
    }

    /// Puts a label on a pull request, and creates the label if the repository does not have it.
    async fn label(&self, number: u64, label: &str) -> Result<(), Error> {
        let named = |entry: &Value| entry.get("name").and_then(Value::as_str) == Some(label);
        let found = match self.find("labels", Vec::new(), named).await? {
            Some(found) => found,
            None => {
                let body = json!({
                    "name": label,
                    "color": LABEL_COLOR,
                    "description": LABEL_DESCRIPTION,
                });
                let request = self.request(Method::POST, "labels", Some(body));
                self.service.ask(&request, "making a label").await?
            }
        };
        let id = found.get("id").and_then(Value::as_u64);
        let id = id.ok_or_else(|| self.service.not_understood("label"))?;
        let path = format!("issues/{number}/labels");
        let request = self.request(Method::POST, &path, Some(json!({ "labels": [id] })));
        self.service.ask(&request, "labelling").await.map(drop)
    }

    fn read(&self, pull: &Value) -> Result<PullRequest, Error> {
        let number = pull.get("number").and_then(Value::as_u64);
        let url = pull.get("html_url").and_then(Value::as_str);
        let (Some(number), Some(url)) = (number, url) else {
            return Err(self.service.not_understood("pull request"));
        };
        let title = pull
            .get("title")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let flag = pull.get("draft").and_then(Value::as_bool);
        Ok(PullRequest {
            number,
            url: url.to_owned(),
            draft: flag.unwrap_or_else(|| title.starts_with(DRAFT_PREFIX)),
        })
    }

    fn request(&self, method: Method, path: &str, body: Option<Value>) -> ForgeRequest {
        let path = format!("repos/{}/{}/{path}", self.owner, self.repository);
        ForgeService::request(method, path.trim_end_matches('/').to_owned(), body)
    }
}

fn title(new: &NewPullRequest) -> String {
    new.title_after(match new.readiness {
        PullReadiness::Draft => DRAFT_PREFIX,
        PullReadiness::Ready => "",
    })
}

impl Forge for Gitea {
    fn kind(&self) -> ForgeKind {
        ForgeKind::Gitea
    }

    fn publish<'a>(&'a self, new: &'a NewPullRequest) -> ForgeFuture<'a, PublishOutcome> {
        Box::pin(self.publish_now(new))
    }

    fn default_branch(&self) -> ForgeFuture<'_, BranchName> {
        Box::pin(async {
            let request = self.request(Method::GET, "", None);
            let project = self.service.ask(&request, "reading the repository").await?;
            self.service.read_default(&project)
        })
    }
}
