//! The remotes of a repository, and the forge project that each belongs to.

use crate::address::without_credentials;
use crate::{Error, VcsErrorKind};

/// A remote of a repository. Its address may contain a password and is shown only redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct GitRemote {
    name: String,
    address: String,
}

impl GitRemote {
    pub(crate) fn new(name: &str, address: &str) -> Self {
        Self {
            name: name.to_owned(),
            address: address.to_owned(),
        }
    }

    /// The name in this repository, such as `origin`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address without user and password.
    #[must_use]
    pub fn shown(&self) -> String {
        without_credentials(&self.address)
    }

    /// Scheme, host and port of an address over HTTPS, or over HTTP on this machine: a token may be
    /// sent there.
    pub(crate) fn https_origin(&self) -> Option<String> {
        let (scheme, rest) = self.address.split_once("://")?;
        let authority = rest.split('/').next()?;
        let host = authority.rsplit('@').next()?;
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let is_here = matches!(name, "127.0.0.1" | "localhost" | "[::1]");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        let allowed = scheme == "https" || (scheme == "http" && is_here);
        (allowed && !host.is_empty() && host.chars().all(is_plain))
            .then(|| format!("{scheme}://{host}"))
    }

    /// Returns the project on its forge, if the address looks like one.
    #[must_use]
    pub fn project(&self) -> Option<ForgeProject> {
        ForgeProject::of_address(&self.address)
    }
}

impl std::fmt::Debug for GitRemote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Remote({}, {})", self.name, self.shown())
    }
}

/// A project on a forge: `owner/repository` at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeProject {
    /// The host in lower case, with its port if that is the one of its pages.
    pub host: String,
    /// The user, organisation, or group with its groups.
    pub owner: String,
    /// The repository, without `.git`.
    pub repository: String,
}

impl ForgeProject {
    /// Parses an address as git writes it: `https://…`, `ssh://…`, `user@host:owner/repository`.
    /// Returns `None` for a path or another kind of address.
    #[must_use]
    pub(crate) fn of_address(address: &str) -> Option<Self> {
        let address = address.trim();
        let (authority, path, is_web) = match address.split_once("://") {
            Some((scheme, rest)) => {
                let is_web = match scheme.to_ascii_lowercase().as_str() {
                    "http" | "https" => true,
                    "ssh" | "git" | "git+ssh" | "ssh+git" => false,
                    _ => return None,
                };
                let (authority, path) = rest.split_once('/')?;
                (authority, path, is_web)
            }
            None => {
                let (authority, path) = split_scp(address)?;
                (authority, path, false)
            }
        };
        let host = host_of(authority, is_web)?;
        let (owner, repository) = owner_and_repository(path)?;
        Some(Self {
            host,
            owner,
            repository,
        })
    }

    /// Reads `owner/repository` at a host.
    pub fn new(host: &str, name: &str) -> Result<Self, Error> {
        Self::of_address(&format!("https://{host}/{name}")).ok_or_else(|| {
            let message =
                format!("{name:?} at {host:?} is not a project; write it as `owner/repository`");
            Error::new(VcsErrorKind::BadAddress, message)
        })
    }

    /// `owner/repository`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.owner, self.repository)
    }

    /// Returns the address of GitHub's API, if the host is known to be GitHub's. No token is sent
    /// to any other host unless the user names its API.
    #[must_use]
    pub(crate) fn github_api(&self) -> Option<String> {
        if self.host == "github.com" {
            return Some("https://api.github.com".to_owned());
        }
        self.host
            .ends_with(".ghe.com")
            .then(|| format!("https://api.{}", self.host))
    }

    /// The address of the API if the host is a GitHub Enterprise server, which only the user knows.
    #[must_use]
    pub(crate) fn enterprise_api(&self) -> String {
        self.github_api()
            .unwrap_or_else(|| format!("https://{}/api/v3", self.host))
    }
}

/// `user@host:path`: a colon before any slash, and not the drive of a path.
fn split_scp(address: &str) -> Option<(&str, &str)> {
    let after_host = match address.find('[') {
        Some(open) if !address[..open].contains(['/', ':']) => address.find(']')? + 1,
        _ => 0,
    };
    let colon = after_host + address[after_host..].find(':')?;
    let (authority, path) = (&address[..colon], &address[colon + 1..]);
    let is_helper = path.starts_with(':');
    let is_drive = authority.len() == 1;
    (!authority.contains('/') && !is_helper && !is_drive).then_some((authority, path))
}

/// Returns the host of `[user[:password]@]host[:port]`. The port of SSH says nothing about the web
/// server's.
fn host_of(authority: &str, keep_port: bool) -> Option<String> {
    let host = authority.rsplit('@').next()?.to_ascii_lowercase();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host.as_str(), ""),
    };
    let is_well_formed = |c: char| c.is_ascii_alphanumeric() || ".-_[]:".contains(c);
    if name.is_empty() || !name.chars().all(is_well_formed) {
        return None;
    }
    if !port.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let name = match name {
        "www.github.com" | "ssh.github.com" => "github.com",
        name => name,
    };
    Some(if keep_port && !port.is_empty() {
        format!("{name}:{port}")
    } else {
        name.to_owned()
    })
}

fn owner_and_repository(path: &str) -> Option<(String, String)> {
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (owner, repository) = path.rsplit_once('/')?;
    let is_name = |part: &str| {
        let forbidden = |c: char| c.is_control() || c.is_whitespace() || "?#%\\:~".contains(c);
        !part.is_empty() && part != "." && part != ".." && !part.contains(forbidden)
    };
    let all_names = path.split('/').all(is_name);
    all_names.then(|| (owner.to_owned(), repository.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Option<(&str, &str, &str)>) {
        let found = ForgeProject::of_address(address);
        let found = found
            .as_ref()
            .map(|p| (p.host.as_str(), p.owner.as_str(), p.repository.as_str()));
        assert_eq!(found, expected, "{address}");
    }

    #[test]
    fn every_spelling_of_an_address_names_the_project() {
        let hello = Some(("github.com", "octo", "hello"));
        for address in [
            "https://github.com/octo/hello.git",
            "https://github.com/octo/hello",
            "https://github.com/octo/hello/",
            "https://www.GitHub.com/octo/hello.git/",
            "http://github.com/octo/hello",
            "https://me:secret@github.com/octo/hello.git",
            "https://x-access-token:p@ss@github.com/octo/hello.git",
            "git@github.com:octo/hello.git",
            "git@github.com:/octo/hello",
            "github.com:octo/hello.git",
            "ssh://git@github.com/octo/hello.git",
            "ssh://git@github.com:22/octo/hello.git",
            "ssh://git@ssh.github.com:443/octo/hello.git",
            "git+ssh://git@github.com/octo/hello",
            "git://github.com/octo/hello.git",
            "  https://github.com/octo/hello\n",
        ] {
            check(address, hello);
        }
        check(
            "https://github.com/octo/my.repo.git",
            Some(("github.com", "octo", "my.repo")),
        );
        check(
            "https://github.com/octo/git.git.git",
            Some(("github.com", "octo", "git.git")),
        );
        check(
            "https://ghe.example.com:8443/team/app.git",
            Some(("ghe.example.com:8443", "team", "app")),
        );
        check(
            "ssh://git@ghe.example.com:2222/team/app.git",
            Some(("ghe.example.com", "team", "app")),
        );
        check(
            "git@gitlab.com:group/sub/app.git",
            Some(("gitlab.com", "group/sub", "app")),
        );
        check("http://[::1]:8080/o/r", Some(("[::1]:8080", "o", "r")));
        check("git@[::1]:o/r", Some(("[::1]", "o", "r")));
    }

    #[test]
    fn an_address_without_a_project_is_refused() {
        for address in [
            "",
            "/srv/git/hello.git",
            "../hello",
            "./a:b/c",
            "file:///srv/o/hello.git",
            "C:/o/hello",
            "ext::sh -c evil",
            "https://github.com",
            "https://github.com/octo",
            "https://github.com//hello",
            "https://github.com/octo/../hello",
            "https://github.com/octo/hello?x=1",
            "https:///octo/hello",
            "https://exa mple/octo/hello",
            "https://host:port/octo/hello",
            "git@host:~me/hello",
        ] {
            check(address, None);
        }
    }

    #[test]
    fn a_token_goes_to_github_or_where_the_user_says() {
        for (host, api, enterprise) in [
            (
                "github.com",
                Some("https://api.github.com"),
                "https://api.github.com",
            ),
            (
                "acme.ghe.com",
                Some("https://api.acme.ghe.com"),
                "https://api.acme.ghe.com",
            ),
            ("ghe.example.com", None, "https://ghe.example.com/api/v3"),
            (
                "ghe.example.com:8443",
                None,
                "https://ghe.example.com:8443/api/v3",
            ),
            (
                "github.com.evil.org",
                None,
                "https://github.com.evil.org/api/v3",
            ),
            ("notghe.com", None, "https://notghe.com/api/v3"),
        ] {
            let project = ForgeProject::new(host, "o/r").unwrap();
            assert_eq!(project.github_api().as_deref(), api, "{host}");
            assert_eq!(project.enterprise_api(), enterprise);
        }
        let error = ForgeProject::new("github.com", "hello").unwrap_err();
        assert!(error.to_string().contains("owner/repository"), "{error}");
    }

    #[test]
    fn a_remote_does_not_show_its_password() {
        let remote = GitRemote::new("origin", "https://me:secret@host/o/r.git");
        assert_eq!(remote.shown(), "https://***@host/o/r.git");
        assert!(!format!("{remote:?}").contains("secret"));
    }
}
