//! The publish target of builds: the remote, the forge behind it, and the token for that.
//!
//! The remote's host decides which forge it is if the host is known, else the settings do. A token
//! is sent only to a known host, or to one that the settings name.

use builder::PublishDestination;
use exec::CommandCancel;
use vcs::{ForgeKind, ForgeToken, GitProgram, GitRemote, Repository};

use crate::settings::ForgeSettings;
use crate::{Error, ProcessEnvironment, Project};

/// The publish target, and the reason why it cannot open a pull request.
pub(super) struct PublishAccess {
    pub(super) outlet: PublishDestination,
    /// Reason why no pull request can be opened, if none can.
    pub(super) no_pull: Option<String>,
}

pub(super) fn open(
    forge: &ForgeSettings,
    surroundings: &ProcessEnvironment,
    repository: Option<&Repository>,
    cancel: &CommandCancel,
) -> Result<PublishAccess, Error> {
    let mut outlet = PublishDestination {
        remote: forge.remote.clone(),
        token: None,
        forge: None,
        base: forge.base.clone(),
    };
    let remote = match repository {
        Some(repository) => repository.remote(&forge.remote)?,
        None => None,
    };
    let Some(remote) = remote else {
        return Ok(PublishAccess {
            outlet,
            no_pull: None,
        });
    };
    let no_pull = match way(forge, surroundings, &remote) {
        PullRequestAccess::Open { kind, api, token } => {
            if let Some(project) = remote.project() {
                let opened = kind.open(&api, &project, token.clone(), cancel.clone())?;
                outlet.forge = Some(opened);
            }
            outlet.token = Some(token);
            None
        }
        PullRequestAccess::Closed(why) => Some(why),
    };
    Ok(PublishAccess { outlet, no_pull })
}

/// The steps to a pull request that are possible for a build.
#[derive(Debug, PartialEq, Eq)]
pub enum PublishReadiness {
    /// There is no repository; the sentence comes from git.
    NoRepository(String),
    /// There is no remote of the name in the settings.
    NoRemote(String),
    /// A branch can be pushed to this address; why no pull request can be opened.
    NoPull { remote: String, why: String },
    /// Pull requests are opened at this address, by way of this API.
    Ready {
        remote: String,
        kind: ForgeKind,
        api: String,
    },
}

/// Finds out how far a build could be published. Sends no request.
pub fn standing(project: &Project, surroundings: &ProcessEnvironment) -> PublishReadiness {
    let forge = &project.settings.builder.forge;
    let repository = match Repository::open(&GitProgram::at(project.folder())) {
        Ok(repository) => repository,
        Err(error) => return PublishReadiness::NoRepository(error.to_string()),
    };
    if let Err(error) = repository.head_commit() {
        return PublishReadiness::NoRepository(error.to_string());
    }
    let remote = match repository.remote(&forge.remote) {
        Ok(Some(remote)) => remote,
        Ok(None) => return PublishReadiness::NoRemote(forge.remote.clone()),
        Err(error) => return PublishReadiness::NoRepository(error.to_string()),
    };
    let shown = remote.shown();
    match way(forge, surroundings, &remote) {
        PullRequestAccess::Open { kind, api, .. } => PublishReadiness::Ready {
            remote: shown,
            kind,
            api,
        },
        PullRequestAccess::Closed(why) => PublishReadiness::NoPull { remote: shown, why },
    }
}

/// The way to open pull requests for a remote, or the reason why there is no way.
enum PullRequestAccess {
    Open {
        kind: ForgeKind,
        api: String,
        token: ForgeToken,
    },
    Closed(String),
}

fn way(
    forge: &ForgeSettings,
    surroundings: &ProcessEnvironment,
    remote: &GitRemote,
) -> PullRequestAccess {
    let shown = remote.shown();
    let Some(project) = remote.project() else {
        let why = format!("{shown} is not the address of a project on a forge");
        return PullRequestAccess::Closed(why);
    };
    let Some(kind) = kind_of(forge, &project) else {
        let why = format!(
            "{} is not a forge that is known; set `builder.forge.kind` to {} if it is one of them, or \
             `builder.forge.url` to its API",
            project.host,
            ForgeKind::NAMES.join(", ")
        );
        return PullRequestAccess::Closed(why);
    };
    let api = forge.url.clone().unwrap_or_else(|| kind.api(&project));
    let variable = token_variable(forge, kind);
    let token = surroundings.variable(variable);
    match token.map(ForgeToken::new).filter(|token| !token.is_empty()) {
        Some(token) => PullRequestAccess::Open { kind, api, token },
        None => PullRequestAccess::Closed(format!(
            "no pull request can be opened: the variable {variable} with the token is not set"
        )),
    }
}

/// Decides which forge it is: by the settings, else by the API's address or the host.
fn kind_of(forge: &ForgeSettings, project: &vcs::ForgeProject) -> Option<ForgeKind> {
    let told = forge.url.as_deref().map(ForgeKind::of_api);
    let known = ForgeKind::of_host(&project.host);
    forge.kind.or(told).or(known)
}

/// Returns the variable with the token: the one of the settings, else the one people use for the
/// forge.
fn token_variable(forge: &ForgeSettings, kind: ForgeKind) -> &str {
    forge.token_env.as_deref().unwrap_or(kind.token_variable())
}

/// Returns the values of every variable that may hold a token of a forge, so that they can be
/// redacted.
pub(super) fn tokens(forge: &ForgeSettings, surroundings: &ProcessEnvironment) -> Vec<llm::Secret> {
    let kinds = [ForgeKind::GitHub, ForgeKind::GitLab, ForgeKind::Gitea];
    let names = kinds.map(ForgeKind::token_variable).into_iter();
    let names = names.chain(forge.token_env.as_deref());
    let values = names.filter_map(|name| surroundings.variable(name));
    values
        .filter(|value| !value.is_empty())
        .map(llm::Secret::new)
        .collect()
}
