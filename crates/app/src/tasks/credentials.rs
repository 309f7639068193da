//! Where a user's keys and passwords are kept: what commands of a model do not see unless shown.

use std::path::{Path, PathBuf};

/// Below the home of a user. Those that do not exist are passed over by the sandbox.
const AT_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".password-store",
    ".aws",
    ".azure",
    ".kube",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/sops",
    ".config/rclone",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".mozilla",
    ".thunderbird",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    "Library/Keychains",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    ".hex/hex.config",
    ".terraformrc",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".python_history",
    ".node_repl_history",
];

/// Variables that name such a file, or several with `:` between them.
const NAMED_BY: &[&str] = &[
    "AWS_SHARED_CREDENTIALS_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "NETRC",
    "PGPASSFILE",
];

/// The places of a user with these variables, without those that are shown.
pub(super) fn places(variable: impl Fn(&str) -> Option<String>, shown: &[PathBuf]) -> Vec<PathBuf> {
    let at_home = home(&variable).into_iter().flat_map(|home| {
        let places = AT_HOME.iter();
        places.map(move |place| home.join(place))
    });
    let named = NAMED_BY.iter().filter_map(|name| variable(name));
    let named = named.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
    let cargo = variable("CARGO_HOME").into_iter().flat_map(|home| {
        ["credentials", "credentials.toml"].map(|name| Path::new(&home).join(name))
    });
    let shown = expanded(&variable, shown);
    at_home
        .chain(named)
        .chain(cargo)
        // A device, such as /dev/null, keeps nothing.
        .filter(|place| place.is_absolute() && !place.starts_with("/dev"))
        .filter(|place| !shown.iter().any(|shown| place.starts_with(shown)))
        .collect()
}

/// Paths of the settings, in which `~` is the user's home.
pub(super) fn expanded(
    variable: impl Fn(&str) -> Option<String>,
    paths: &[PathBuf],
) -> Vec<PathBuf> {
    let home = home(variable);
    let expand = |path: &PathBuf| match (path.strip_prefix("~"), &home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.clone(),
    };
    paths.iter().map(expand).collect()
}

fn home(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = variable("HOME").filter(|home| !home.is_empty());
    home.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], shown: &[&str], hidden: &[&str], open: &[&str]) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let shown: Vec<PathBuf> = shown.iter().map(PathBuf::from).collect();
        let places = places(variable, &shown);
        let covers = |path: &&str| {
            places
                .iter()
                .any(|place| Path::new(path).starts_with(place))
        };
        assert!(hidden.iter().all(covers), "{places:?}");
        assert!(!open.iter().any(covers), "{places:?}");
    }

    #[test]
    fn keys_and_passwords_of_the_user_are_hidden() {
        check(
            &[
                ("HOME", "/home/me"),
                ("CARGO_HOME", "/opt/cargo"),
                ("KUBECONFIG", "/k/one:/k/two"),
                ("NETRC", "/dev/null"),
            ],
            &["~/.npmrc", "/home/me/.config/gh"],
            &[
                "/home/me/.ssh/id_ed25519",
                "/home/me/.aws/credentials",
                "/home/me/.netrc",
                "/opt/cargo/credentials.toml",
                "/k/two",
            ],
            &[
                "/home/me/.npmrc",
                "/home/me/.config/gh/hosts.yml",
                "/home/me/.gitconfig",
                "/home/me/.cargo/registry",
                "/opt/cargo/config.toml",
                "/dev/null",
            ],
        );
    }

    #[test]
    fn without_a_home_nothing_relative_is_hidden() {
        check(&[("NETRC", "netrc")], &[], &[], &["netrc", "/.ssh", ".ssh"]);
    }
}
