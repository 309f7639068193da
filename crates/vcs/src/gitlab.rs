//! GitLab: merge requests, drafts by their title, and labels, by its REST interface (v4).

use exec::Cancel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::forge::{Asked, Forge, ForgeKind, Opened, Service};
use crate::http::{ForgeLimits, Http, Request};
use crate::{Branch, Error, NewPull, Project, Published, Pull, Readiness, Secret};

/// What stands before the title of a draft: GitLab knows drafts by it.
const DRAFT_PREFIX: &str = "Draft: ";

/// One project on GitLab.
pub struct GitLab {
    service: Service,
    /// `projects/group%2Fsub%2Fapp`.
    project: String,
}

impl GitLab {
    /// A project by way of the API at `base`: `https://HOST/api/v4`.
    pub fn new(
        base: &str,
        project: &Project,
        token: Secret,
        limits: ForgeLimits,
    ) -> Result<Self, Error> {
        let name = project.name();
        let service = Service {
            http: Http::new(base, token, limits)?.accepting("application/json"),
            kind: ForgeKind::GitLab,
            name: name.clone(),
        };
        // The path of a project is one segment; its names have nothing else to be encoded.
        let project = format!("projects/{}", name.replace('/', "%2F"));
        Ok(Self { service, project })
    }

    /// Stops what is under way when this says so.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.service.http.set_cancel(cancel);
        self
    }

    async fn publish_now(&self, new: &NewPull) -> Result<Published, Error> {
        let (pull, was_there) = match self.find_open(&new.head).await? {
            Some(pull) => (self.update(pull.number, new).await?, true),
            None => self.create(new).await?,
        };
        Ok(Published {
            pull,
            was_there,
            notes: Vec::new(),
        })
    }

    async fn find_open(&self, head: &Branch) -> Result<Option<Pull>, Error> {
        let mut request = self.request(Method::GET, "/merge_requests", None);
        request.query = vec![
            ("state", "opened".to_owned()),
            ("source_branch", head.to_string()),
        ];
        let list = self.service.ask(&request, "listing merge requests").await?;
        let list = list.as_array();
        let list = list.ok_or_else(|| self.service.not_understood("list of merge requests"))?;
        // One of a fork has the same branch name and another source project.
        let is_ours = |found: &&Value| {
            found.get("source_branch").and_then(Value::as_str) == Some(head.as_str())
                && found.get("source_project_id") == found.get("target_project_id")
        };
        list.iter()
            .find(is_ours)
            .map(|found| self.read(found))
            .transpose()
    }

    async fn create(&self, new: &NewPull) -> Result<(Pull, bool), Error> {
        let body = json!({
            "source_branch": new.head.as_str(),
            "target_branch": new.base.as_str(),
            "title": title(new),
            "description": new.bounded_body(),
            // Labels that the project has not are made by GitLab.
            "labels": new.labels.join(","),
            "remove_source_branch": true,
        });
        let request = self.request(Method::POST, "/merge_requests", Some(body));
        let find = || -> Asked<'_, Option<Pull>> { Box::pin(self.find_open(&new.head)) };
        let reply = match self.service.open_once(&request, find).await? {
            Opened::Found(pull) => return Ok((pull, false)),
            Opened::Answered(reply) => reply,
        };
        if reply.status == 409
            && let Some(pull) = self.find_open(&new.head).await?
        {
            return Ok((self.update(pull.number, new).await?, true));
        }
        let reply = self.service.expect(reply, "opening the merge request")?;
        Ok((self.read(&reply.body)?, false))
    }

    /// Brings title, body and labels up to date; the title says whether it is a draft.
    async fn update(&self, number: u64, new: &NewPull) -> Result<Pull, Error> {
        let body = json!({
            "title": title(new),
            "description": new.bounded_body(),
            "add_labels": new.labels.join(","),
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

    fn read(&self, found: &Value) -> Result<Pull, Error> {
        let number = found.get("iid").and_then(Value::as_u64);
        let url = found.get("web_url").and_then(Value::as_str);
        let (Some(number), Some(url)) = (number, url) else {
            return Err(self.service.not_understood("merge request"));
        };
        let flag = |name: &str| found.get(name).and_then(Value::as_bool) == Some(true);
        Ok(Pull {
            number,
            url: url.to_owned(),
            draft: flag("draft") || flag("work_in_progress"),
        })
    }

    fn request(&self, method: Method, path: &str, body: Option<Value>) -> Request {
        Service::request(method, format!("{}{path}", self.project), body)
    }
}

fn title(new: &NewPull) -> String {
    new.title_after(match new.readiness {
        Readiness::Draft => DRAFT_PREFIX,
        Readiness::Ready => "",
    })
}

impl Forge for GitLab {
    fn kind(&self) -> ForgeKind {
        ForgeKind::GitLab
    }

    fn publish<'a>(&'a self, new: &'a NewPull) -> Asked<'a, Published> {
        Box::pin(self.publish_now(new))
    }

    fn default_branch(&self) -> Asked<'_, Branch> {
        Box::pin(async {
            let request = self.request(Method::GET, "", None);
            let project = self.service.ask(&request, "reading the project").await?;
            self.service.read_default(&project)
        })
    }
}
