//! A forge hosts repositories and pull requests. GitHub, GitLab and Gitea or Forgejo behind one
//! trait.
//!
//! The kind of forge follows from the remote's host if that is a known one, otherwise from the
//! settings. A token goes to a host that is known, or that the user named; nowhere else.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;

use exec::CommandCancel;
use reqwest::Method;
use serde_json::Value;

use crate::gitea::Gitea;
use crate::gitlab::GitLab;
use crate::http::{ForgeClient, ForgeLimits, ForgeReply, ForgeRequest, OnceOutcome};
use crate::{
    BranchName, Error, ForgeProject, ForgeToken, GitHub, NewPullRequest, PublishOutcome,
    PullRequest, VcsErrorKind,
};

/// The answer of a forge. Boxed, so that forges can be `dyn Forge`.
pub type ForgeFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Opens pull requests for one project. GitLab calls them merge requests.
pub trait Forge: Send + Sync {
    /// The kind of forge.
    fn kind(&self) -> ForgeKind;

    /// Opens a pull request, or updates the open one of the same branch: publishing twice is the
    /// same as publishing once.
    fn publish<'a>(&'a self, new: &'a NewPullRequest) -> ForgeFuture<'a, PublishOutcome>;

    /// Returns the branch that pull requests go to by default.
    fn default_branch(&self) -> ForgeFuture<'_, BranchName>;
}

/// The supported forges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeKind {
    /// github.com, or GitHub Enterprise.
    GitHub,
    /// gitlab.com, or a self-hosted server.
    GitLab,
    /// Gitea and Forgejo, such as codeberg.org.
    Gitea,
}

impl ForgeKind {
    /// All names, as the settings spell them.
    pub const NAMES: &[&str] = &["github", "gitlab", "gitea", "forgejo"];

    /// Returns the forge at a host, if the host is a known one.
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

    /// Recognises a forge by the shape of its API address; GitHub by default.
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
    pub fn api(self, project: &ForgeProject) -> String {
        let host = &project.host;
        match self {
            Self::GitHub => project.enterprise_api(),
            Self::GitLab => format!("https://{host}/api/v4"),
            Self::Gitea => format!("https://{host}/api/v1"),
        }
    }

    /// The usual variable for its token.
    #[must_use]
    pub fn token_variable(self) -> &'static str {
        match self {
            Self::GitHub => "GITHUB_TOKEN",
            Self::GitLab => "GITLAB_TOKEN",
            Self::Gitea => "GITEA_TOKEN",
        }
    }

    /// Opens a project on the forge, through the API at `base`.
    pub fn open(
        self,
        base: &str,
        project: &ForgeProject,
        token: ForgeToken,
        cancel: CommandCancel,
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
                Err(Error::new(VcsErrorKind::BadAddress, message))
            }
        }
    }
}

/// The part that all forges share.
pub(crate) struct ForgeService {
    pub(crate) http: ForgeClient,
    pub(crate) kind: ForgeKind,
    /// `owner/repository`, for messages.
    pub(crate) name: String,
}

/// The outcome of opening a pull request.
pub(crate) enum OpenedPull {
    /// The forge answered.
    Answered(ForgeReply),
    /// The answer was lost, and the pull request exists.
    Found(PullRequest),
}

impl ForgeService {
    pub(crate) fn request(method: Method, path: String, body: Option<Value>) -> ForgeRequest {
        ForgeRequest {
            method,
            path,
            query: Vec::new(),
            body,
        }
    }

    /// Sends a request that may be repeated, and accepts only success.
    pub(crate) async fn ask(&self, request: &ForgeRequest, what: &str) -> Result<Value, Error> {
        let reply = self.http.call(request).await?;
        self.expect(reply, what).map(|reply| reply.body)
    }

    /// Sends the request that opens a pull request. If the answer is lost, `find` looks for the
    /// pull request before another attempt.
    pub(crate) async fn open_once<'f>(
        &self,
        request: &ForgeRequest,
        find: impl Fn() -> ForgeFuture<'f, Option<PullRequest>>,
    ) -> Result<OpenedPull, Error> {
        let mut number = 0;
        loop {
            let unsure = match self.http.call_once(request).await? {
                OnceOutcome::Answered(reply) => return Ok(OpenedPull::Answered(reply)),
                OnceOutcome::Unsure(unsure) => unsure,
            };
            number += 1;
            if let Ok(Some(pull)) = find().await {
                return Ok(OpenedPull::Found(pull));
            }
            if number >= self.http.attempts_max() {
                return Err(unsure);
            }
            self.http.pause(number).await?;
        }
    }

    /// Returns a successful reply, or an error that says what to do.
    pub(crate) fn expect(&self, reply: ForgeReply, what: &str) -> Result<ForgeReply, Error> {
        let (name, variable) = (&self.name, self.kind.token_variable());
        let (kind, advice) = match reply.status {
            200..300 => return Ok(reply),
            401 => (
                VcsErrorKind::Unauthorized,
                format!("the token is wrong or has expired; set a new one in {variable}"),
            ),
            403 => (
                VcsErrorKind::Unauthorized,
                format!(
                    "the token may not do this in {name}; give it the right to write the repository \
                     and its pull requests"
                ),
            ),
            404 => (
                VcsErrorKind::NotFound,
                format!("there is no {name}, or the token may not see it; check both"),
            ),
            400 | 409 | 410 | 422 => (
                VcsErrorKind::Refused,
                "check that the branch has been pushed, has commits that its base has not, and \
                 that the base exists"
                    .to_owned(),
            ),
            _ => (
                VcsErrorKind::Failed,
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
        Error::new(VcsErrorKind::BadAnswer, message)
    }

    /// Reads the branch in `default_branch` of a project.
    pub(crate) fn read_default(&self, project: &Value) -> Result<BranchName, Error> {
        let name = project.get("default_branch").and_then(Value::as_str);
        BranchName::parse(name.ok_or_else(|| self.not_understood("project"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::ForgeKind;
    use crate::ForgeProject;

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
        let project = ForgeProject::new("git.example.com", "team/sub/app").unwrap();
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
