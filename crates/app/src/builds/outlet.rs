//! Where the work of builds goes: the remote, the forge behind it, and the token for that.
//!
//! Which forge it is follows from the remote's host where that is known, else from the settings. A token
//! is sent to a host that is known, or that the settings name; to nobody else.

use builder::Outlet;
use exec::Cancel;
use vcs::{ForgeKind, Git, Remote, Repository, Secret};

use crate::settings::Forge;
use crate::{Error, Project, Surroundings};

/// Where work goes, and why not further.
pub(super) struct Opened {
    pub(super) outlet: Outlet,
    /// Why no pull request can be opened, if none can.
    pub(super) no_pull: Option<String>,
}

pub(super) fn open(
    forge: &Forge,
    surroundings: &Surroundings,
    repository: Option<&Repository>,
    cancel: &Cancel,
) -> Result<Opened, Error> {
    let mut outlet = Outlet {
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
        return Ok(Opened {
            outlet,
            no_pull: None,
        });
    };
    let no_pull = match way(forge, surroundings, &remote) {
        Way::Open { kind, api, token } => {
            if let Some(project) = remote.project() {
                let opened = kind.open(&api, &project, token.clone(), cancel.clone())?;
                outlet.forge = Some(opened);
            }
            outlet.token = Some(token);
            None
        }
        Way::Closed(why) => Some(why),
    };
    Ok(Opened { outlet, no_pull })
}

/// What stands between a build and its pull request.
#[derive(Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no repository, or git says why there is none.
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

/// How far the work of a build could go. Nobody is asked.
pub fn standing(project: &Project, surroundings: &Surroundings) -> Standing {
    let forge = &project.settings.builder.forge;
    let repository = match Repository::open(&Git::at(project.folder())) {
        Ok(repository) => repository,
        Err(error) => return Standing::NoRepository(error.to_string()),
    };
    if let Err(error) = repository.head_commit() {
        return Standing::NoRepository(error.to_string());
    }
    let remote = match repository.remote(&forge.remote) {
        Ok(Some(remote)) => remote,
        Ok(None) => return Standing::NoRemote(forge.remote.clone()),
        Err(error) => return Standing::NoRepository(error.to_string()),
    };
    let shown = remote.shown();
    match way(forge, surroundings, &remote) {
        Way::Open { kind, api, .. } => Standing::Ready {
            remote: shown,
            kind,
            api,
        },
        Way::Closed(why) => Standing::NoPull { remote: shown, why },
    }
}

/// Whether pull requests can be opened for a remote.
enum Way {
    Open {
        kind: ForgeKind,
        api: String,
        token: Secret,
    },
    Closed(String),
}

fn way(forge: &Forge, surroundings: &Surroundings, remote: &Remote) -> Way {
    let shown = remote.shown();
    let Some(project) = remote.project() else {
        let why = format!("{shown} is not the address of a project on a forge");
        return Way::Closed(why);
    };
    let Some(kind) = kind_of(forge, &project) else {
        let why = format!(
            "{} is not a forge that is known; set `builder.forge.kind` to {} if it is one of them, or \
             `builder.forge.url` to its API",
            project.host,
            ForgeKind::NAMES.join(", ")
        );
        return Way::Closed(why);
    };
    let api = forge.url.clone().unwrap_or_else(|| kind.api(&project));
    let variable = token_variable(forge, kind);
    let token = surroundings.variable(variable);
    match token.map(Secret::new).filter(|token| !token.is_empty()) {
        Some(token) => Way::Open { kind, api, token },
        None => Way::Closed(format!(
            "no pull request can be opened: the variable {variable} with the token is not set"
        )),
    }
}

/// Which forge it is: what the settings say, else what the API's address or the host says.
fn kind_of(forge: &Forge, project: &vcs::Project) -> Option<ForgeKind> {
    let told = forge.url.as_deref().map(ForgeKind::of_api);
    let known = ForgeKind::of_host(&project.host);
    forge.kind.or(told).or(known)
}

/// The variable with the token: the one of the settings, else the one people use for the forge.
fn token_variable(forge: &Forge, kind: ForgeKind) -> &str {
    forge.token_env.as_deref().unwrap_or(kind.token_variable())
}

/// The values of every variable that may hold a token of a forge, to be taken out of what is kept.
pub(super) fn tokens(forge: &Forge, surroundings: &Surroundings) -> Vec<llm::Secret> {
    let kinds = [ForgeKind::GitHub, ForgeKind::GitLab, ForgeKind::Gitea];
    let names = kinds.map(ForgeKind::token_variable).into_iter();
    let names = names.chain(forge.token_env.as_deref());
    let values = names.filter_map(|name| surroundings.variable(name));
    values
        .filter(|value| !value.is_empty())
        .map(llm::Secret::new)
        .collect()
}
