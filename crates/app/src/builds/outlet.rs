//! Where the work of builds goes: the remote, the forge behind it, and the token for that.
//!
//! A token is sent to GitHub, or to the API that the settings name; to nobody else.

use builder::Outlet;
use exec::Cancel;
use vcs::{ForgeLimits, Git, GitHub, Remote, Repository, Secret};

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
        github: None,
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
        Way::Open { api, token } => {
            if let Some(project) = remote.project() {
                let limits = ForgeLimits::default();
                let github = GitHub::new(&api, &project, token.clone(), limits)?;
                outlet.github = Some(github.cancel(cancel.clone()));
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
    Ready { remote: String, api: String },
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
        Way::Open { api, .. } => Standing::Ready { remote: shown, api },
        Way::Closed(why) => Standing::NoPull { remote: shown, why },
    }
}

/// Whether pull requests can be opened for a remote.
enum Way {
    Open { api: String, token: Secret },
    Closed(String),
}

fn way(forge: &Forge, surroundings: &Surroundings, remote: &Remote) -> Way {
    let shown = remote.shown();
    let Some(project) = remote.project() else {
        let why = format!("{shown} is not the address of a project on a forge");
        return Way::Closed(why);
    };
    let Some(api) = forge.url.clone().or_else(|| project.github_api()) else {
        let why = format!(
            "{} is not known to be GitHub; set `builder.forge.url` to its API if it is a GitHub \
             Enterprise server",
            project.host
        );
        return Way::Closed(why);
    };
    let token = surroundings.variable(&forge.token_env);
    match token.map(Secret::new).filter(|token| !token.is_empty()) {
        Some(token) => Way::Open { api, token },
        None => Way::Closed(format!(
            "no pull request can be opened: the variable {} with the token is not set",
            forge.token_env
        )),
    }
}
