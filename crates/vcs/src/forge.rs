//! A forge: where pull requests are opened. GitHub, GitLab and Gitea or Forgejo behind one trait.
//!
//! Which one it is follows from the remote's host where that is known, else from the settings. A token
//! goes to a host that is known, or that the user named; nowhere else.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;

use exec::Cancel;
use reqwest::Method;
use serde_json::Value;

use crate::gitea::Gitea;
use crate::gitlab::GitLab;
use crate::http::{ForgeLimits, Http, Once, Reply, Request};
use crate::{Branch, Error, ErrorKind, GitHub, NewPull, Project, Published, Pull, Secret};

/// What a forge was asked for. Boxed, so that forges can be `dyn Forge`.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Opens pull requests for one project. GitLab calls them merge requests.
pub trait Forge: Send + Sync {
    /// Which forge it is.
    fn kind(&self) -> ForgeKind;

    /// Opens a pull request, or brings the open one of the same branch up to date: publishing
    /// twice is publishing once.
    fn publish<'a>(&'a self, new: &'a NewPull) -> Asked<'a, Published>;

    /// The branch that pull requests go to when nobody says otherwise.
    fn default_branch(&self) -> Asked<'_, Branch>;
}

/// The forges that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeKind {
    /// github.com, or GitHub Enterprise.
    GitHub,
    /// gitlab.com, or a server of one's own.
    GitLab,
    /// Gitea and Forgejo, such as codeberg.org.
    Gitea,
}

impl ForgeKind {
    /// All of them, as they are written in the settings.
    pub const NAMES: &[&str] = &["github", "gitlab", "gitea", "forgejo"];

    /// The forge at a host, where the host is known to be one.
    #[must_use]
    pub fn of_host(host: &str) -> Option<Self> {
        match host {
            "github.com" => Some(Self::GitHub),
            "gitlab.com" => Some(Self::GitLab),
            "codeberg.org" | "gitea.com" => Some(Self::Gitea),
            host if host.ends_with(".ghe.com") => Some(Self::GitHub),
            _ => None,
        }
    }

    /// The forge whose API has an address of this shape; GitHub where it says nothing.
    #[must_use]
    pub fn of_api(url: &str) -> Self {
        match url.trim_end_matches('/').rsplit_once("/api/") {
            Some((_, "v4")) => Self::GitLab,
            Some((_, "v1")) => Self::Gitea,
            _ => Self::GitHub,
        }
    }

    /// The address of its API on the project's host.
    #[must_use]
    pub fn api(self, project: &Project) -> String {
        let host = &project.host;
        match self {
            Self::GitHub => project.enterprise_api(),
            Self::GitLab => format!("https://{host}/api/v4"),
            Self::Gitea => format!("https://{host}/api/v1"),
        }
    }

    /// The variable in which people keep its token.
    #[must_use]
    pub fn token_variable(self) -> &'static str {
        match self {
            Self::GitHub => "GITHUB_TOKEN",
            Self::GitLab => "GITLAB_TOKEN",
            Self::Gitea => "GITEA_TOKEN",
        }
    }

    /// A project on the forge, by way of the API at `base`.
    pub fn open(
        self,
        base: &str,
        project: &Project,
        token: Secret,
        cancel: Cancel,
    ) -> Result<Box<dyn Forge>, Error> {
        let limits = ForgeLimits::default();
        Ok(match self {
            Self::GitHub => Box::new(GitHub::new(base, project, token, limits)?.cancel(cancel)),
            Self::GitLab => Box::new(GitLab::new(base, project, token, limits)?.cancel(cancel)),
            Self::Gitea => Box::new(Gitea::new(base, project, token, limits)?.cancel(cancel)),
        })
    }
}

impl fmt::Display for ForgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Gitea => "Gitea",
        })
    }
}

impl FromStr for ForgeKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "github" => Ok(Self::GitHub),
            "gitlab" => Ok(Self::GitLab),
            "gitea" | "forgejo" => Ok(Self::Gitea),
            _ => {
                let names = Self::NAMES.join(", ");
                let message = format!("there is no forge {name:?}; there are {names}");
                Err(Error::new(ErrorKind::BadAddress, message))
            }
        }
    }
}

/// The parts of a forge that are the same whatever it is called.
pub(crate) struct Service {
    pub(crate) http: Http,
    pub(crate) kind: ForgeKind,
    /// `owner/repository`, for messages.
    pub(crate) name: String,
}

/// What became of opening a pull request.
pub(crate) enum Opened {
    /// The forge answered.
    Answered(Reply),
    /// The answer was lost, and the pull request is there.
    Found(Pull),
}

impl Service {
    pub(crate) fn request(method: Method, path: String, body: Option<Value>) -> Request {
        Request {
            method,
            path,
            query: Vec::new(),
            body,
        }
    }

    /// Makes a request that may be made twice, and takes nothing but success.
    pub(crate) async fn ask(&self, request: &Request, what: &str) -> Result<Value, Error> {
        let reply = self.http.call(request).await?;
        self.expect(reply, what).map(|reply| reply.body)
    }

    /// Makes the request that opens a pull request. Where nobody knows whether it was done, `find`
    /// looks for the pull request before it is tried again.
    pub(crate) async fn open_once<'f>(
        &self,
        request: &Request,
        find: impl Fn() -> Asked<'f, Option<Pull>>,
    ) -> Result<Opened, Error> {
        let mut number = 0;
        loop {
            let unsure = match self.http.call_once(request).await? {
                Once::Answered(reply) => return Ok(Opened::Answered(reply)),
                Once::Unsure(unsure) => unsure,
            };
            number += 1;
            if let Ok(Some(pull)) = find().await {
                return Ok(Opened::Found(pull));
            }
            if number >= self.http.attempts_max() {
                return Err(unsure);
            }
            self.http.pause(number).await?;
        }
    }

    /// A reply that is a success, or an error that says what to do.
    pub(crate) fn expect(&self, reply: Reply, what: &str) -> Result<Reply, Error> {
        let (name, variable) = (&self.name, self.kind.token_variable());
        let (kind, advice) = match reply.status {
            200..300 => return Ok(reply),
            401 => (
                ErrorKind::Unauthorized,
                format!("the token is wrong or has expired; set a new one in {variable}"),
            ),
            403 => (
                ErrorKind::Unauthorized,
                format!(
                    "the token may not do this in {name}; give it the right to write the repository \
                     and its pull requests"
                ),
            ),
            404 => (
                ErrorKind::NotFound,
                format!("there is no {name}, or the token may not see it; check both"),
            ),
            400 | 409 | 410 | 422 => (
                ErrorKind::Refused,
                "check that the branch has been pushed, has commits that its base has not, and \
                 that the base exists"
                    .to_owned(),
            ),
            _ => (
                ErrorKind::Failed,
                "check `builder.forge.url`, and try again".to_owned(),
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

    pub(crate) fn not_understood(&self, what: &str) -> Error {
        let message = format!(
            "the {what} that {} answered cannot be understood; is it {}? Check `builder.forge`",
            self.http.host(),
            self.kind
        );
        Error::new(ErrorKind::BadAnswer, message)
    }

    /// The branch named by `default_branch` of a project.
    pub(crate) fn read_default(&self, project: &Value) -> Result<Branch, Error> {
        let name = project.get("default_branch").and_then(Value::as_str);
        Branch::parse(name.ok_or_else(|| self.not_understood("project"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::ForgeKind;
    use crate::Project;

    #[test]
    fn a_forge_is_known_by_its_host_or_by_its_api() {
        for (host, kind) in [
            ("github.com", Some(ForgeKind::GitHub)),
            ("acme.ghe.com", Some(ForgeKind::GitHub)),
            ("gitlab.com", Some(ForgeKind::GitLab)),
            ("codeberg.org", Some(ForgeKind::Gitea)),
            // A name is no proof, and a token would be sent there.
            ("gitlab.example.com", None),
            ("gitlab.com.evil.org", None),
        ] {
            assert_eq!(ForgeKind::of_host(host), kind, "{host}");
        }
        for (url, kind) in [
            ("https://h/api/v4", ForgeKind::GitLab),
            ("https://h/git/api/v1/", ForgeKind::Gitea),
            ("https://h/api/v3", ForgeKind::GitHub),
            ("http://127.0.0.1:4001", ForgeKind::GitHub),
        ] {
            assert_eq!(ForgeKind::of_api(url), kind, "{url}");
        }
        let project = Project::new("git.example.com", "team/sub/app").unwrap();
        assert_eq!(
            ForgeKind::GitLab.api(&project),
            "https://git.example.com/api/v4"
        );
        assert_eq!(
            ForgeKind::Gitea.api(&project),
            "https://git.example.com/api/v1"
        );
        assert_eq!("forgejo".parse::<ForgeKind>().unwrap(), ForgeKind::Gitea);
        assert!("bitbucket".parse::<ForgeKind>().is_err());
    }
}
