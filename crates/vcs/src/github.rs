//! GitHub, here and in enterprises: pull requests, drafts and labels, by its REST interface.

use exec::Cancel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::forge::{Asked, Forge, ForgeKind};
use crate::http::{ForgeLimits, Http, Once, Reply, Request};
use crate::{Branch, Error, ErrorKind, NewPull, Project, Published, Pull, Readiness, Secret};

/// The label on pull requests that a person has to mend.
pub const MANUAL_FIX_LABEL: &str = "needs-manual-fix";
/// The label on pull requests of which no check could judge the work.
pub const NOT_JUDGED_LABEL: &str = "checks-not-judged";
/// What stands before the title where the repository has no drafts.
pub const DRAFT_PREFIX: &str = "[draft] ";

/// The colour of labels that are made, and what they say.
const LABEL_COLOR: &str = "d93f0b";
const LABEL_DESCRIPTION: &str = "Generated code that does not pass its checks yet";

/// One project on GitHub.
pub struct GitHub {
    http: Http,
    owner: String,
    repository: String,
}

impl GitHub {
    /// A project by way of the API at `base`: `https://api.github.com`, or
    /// `https://HOST/api/v3` of an enterprise. See [`Project::github_api`].
    pub fn new(
        base: &str,
        project: &Project,
        token: Secret,
        limits: ForgeLimits,
    ) -> Result<Self, Error> {
        Ok(Self {
            http: Http::new(base, token, limits)?,
            owner: project.owner.clone(),
            repository: project.repository.clone(),
        })
    }

    /// Stops what is under way when this says so.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.http.set_cancel(cancel);
        self
    }

    /// Opens a pull request, or brings the open one of the same branch up to date: publishing
    /// twice is publishing once.
    pub async fn publish(&self, new: &NewPull) -> Result<Published, Error> {
        let mut notes = Vec::new();
        let (pull, was_there) = match self.find_open(&new.head).await? {
            Some(pull) => {
                let prefix = match (new.readiness, pull.draft) {
                    (Readiness::Draft, false) => DRAFT_PREFIX,
                    _ => "",
                };
                if (new.readiness, pull.draft) == (Readiness::Ready, true) {
                    let url = &pull.url;
                    notes.push(format!("{url} is a draft still; mark it as ready there."));
                }
                (self.update(pull.number, new, prefix).await?, true)
            }
            None => self.create(new, &mut notes).await?,
        };
        for label in &new.labels {
            if let Err(error) = self.label(pull.number, label).await {
                if error.kind() == ErrorKind::Cancelled {
                    return Err(error);
                }
                notes.push(format!("The label `{label}` was not put on it: {error}."));
            }
        }
        Ok(Published {
            pull,
            was_there,
            notes,
        })
    }

    /// The open pull request of a branch of this repository, if there is one.
    pub async fn find_open(&self, head: &Branch) -> Result<Option<Pull>, Error> {
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
        // Some servers do not know the question and list all.
        let found = list.iter().find(|pull| self.is_of(pull, head));
        found.map(|pull| self.read_pull(pull)).transpose()
    }

    /// The branch that pull requests go to when nobody says otherwise.
    pub async fn default_branch(&self) -> Result<Branch, Error> {
        let reply = self.http.call(&self.request(Method::GET, "")).await?;
        let reply = self.expect(reply, "reading the repository")?;
        let name = reply.body.get("default_branch").and_then(Value::as_str);
        Branch::parse(name.ok_or_else(|| self.not_understood("repository"))?)
    }

    /// Puts a label on a pull request, and makes the label if the repository has none such.
    pub async fn label(&self, number: u64, label: &str) -> Result<(), Error> {
        let path = format!("issues/{number}/labels");
        let mut request = self.request(Method::POST, &path);
        request.body = Some(json!({ "labels": [label] }));
        let mut reply = self.http.call(&request).await?;
        // GitHub makes missing labels by itself; others say that there is none.
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

    /// Brings title and body up to date.
    async fn update(&self, number: u64, new: &NewPull, prefix: &str) -> Result<Pull, Error> {
        let mut request = self.request(Method::PATCH, &format!("pulls/{number}"));
        request.body = Some(json!({
            "title": new.title_after(prefix),
            "body": new.bounded_body(),
        }));
        let reply = self.http.call(&request).await?;
        let reply = self.expect(reply, "updating the pull request")?;
        self.read_pull(&reply.body)
    }

    /// Opens a pull request; says whether there was one after all.
    async fn create(&self, new: &NewPull, notes: &mut Vec<String>) -> Result<(Pull, bool), Error> {
        let mut draft = new.readiness == Readiness::Draft;
        let mut prefix = "";
        let mut number = 0;
        loop {
            let request = self.opening(new, prefix, draft);
            let reply = match self.http.call_once(&request).await? {
                Once::Answered(reply) => reply,
                Once::Unsure(unsure) => {
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
                return Ok((self.update(pull.number, new, prefix).await?, true));
            }
            let reply = self.expect(reply, "opening the pull request")?;
            return Ok((self.read_pull(&reply.body)?, false));
        }
    }

    fn opening(&self, new: &NewPull, prefix: &str, draft: bool) -> Request {
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

    fn request(&self, method: Method, path: &str) -> Request {
        let path = format!("repos/{}/{}/{path}", self.owner, self.repository);
        Request {
            method,
            path: path.trim_end_matches('/').to_owned(),
            query: Vec::new(),
            body: None,
        }
    }

    fn is_of(&self, pull: &Value, head: &Branch) -> bool {
        let text = |pointer: &str| pull.pointer(pointer).and_then(Value::as_str);
        let label = format!("{}:{head}", self.owner);
        let theirs = text("/head/label").unwrap_or(&label);
        text("/head/ref") == Some(head.as_str())
            && text("/state").is_none_or(|state| state == "open")
            && theirs.eq_ignore_ascii_case(&label)
    }

    fn read_pull(&self, pull: &Value) -> Result<Pull, Error> {
        let number = pull.get("number").and_then(Value::as_u64);
        let url = pull.get("html_url").and_then(Value::as_str);
        let (Some(number), Some(url)) = (number, url) else {
            return Err(self.not_understood("pull request"));
        };
        Ok(Pull {
            number,
            url: url.to_owned(),
            draft: pull.get("draft").and_then(Value::as_bool) == Some(true),
        })
    }

    fn expect(&self, reply: Reply, what: &str) -> Result<Reply, Error> {
        let name = format!("{}/{}", self.owner, self.repository);
        let (kind, advice) = match reply.status {
            200..300 => return Ok(reply),
            401 => (
                ErrorKind::Unauthorized,
                "the token is wrong or has expired; set a new one in GITHUB_TOKEN".to_owned(),
            ),
            403 => (
                ErrorKind::Unauthorized,
                format!(
                    "the token may not do this in {name}; give it the right to write pull requests \
                     and contents (and authorise it for the organisation)"
                ),
            ),
            404 => (
                ErrorKind::NotFound,
                format!("there is no {name}, or the token may not see it; check both"),
            ),
            410 | 451 => (
                ErrorKind::Refused,
                format!("{name} does not have this any more"),
            ),
            422 => (
                ErrorKind::Refused,
                "check that the branch has been pushed, has commits that its base has not, and \
                 that the base exists"
                    .to_owned(),
            ),
            _ => (
                ErrorKind::Failed,
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
        Error::new(ErrorKind::BadAnswer, message)
    }
}

impl Forge for GitHub {
    fn kind(&self) -> ForgeKind {
        ForgeKind::GitHub
    }

    fn publish<'a>(&'a self, new: &'a NewPull) -> Asked<'a, Published> {
        Box::pin(GitHub::publish(self, new))
    }

    fn default_branch(&self) -> Asked<'_, Branch> {
        Box::pin(GitHub::default_branch(self))
    }
}
