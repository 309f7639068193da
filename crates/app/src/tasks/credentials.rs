//! Lists the places of a user's keys and passwords, which commands of a model do not see unless the
//! settings show them.

use std::path::{Path, PathBuf};

/// Below the home of a user, each group with the reason. Those that do not exist are passed over by
/// the sandbox.
const AT_HOME: &[(&str, &[&str])] = &[
    (
        "Keys for other machines, and to sign and decrypt",
        &[
            ".ssh",
            ".gnupg",
            ".password-store",
            ".config/sops",
            ".config/age",
            ".age",
            "age/keys.txt",
            ".local/share/keyrings",
            ".local/share/kwalletd",
            "Library/Keychains",
            ".pki",
            ".vnc",
        ],
    ),
    (
        "Accounts of clouds and hosting",
        &[
            ".aws",
            ".azure",
            ".kube",
            ".config/gcloud",
            ".config/doctl",
            ".oci",
            ".databrickscfg",
            ".fly",
            ".config/fly",
            ".config/stripe",
            ".config/netlify",
            ".netlify",
            ".vercel",
            ".config/vercel",
            ".local/share/com.vercel.cli",
            ".config/heroku",
            ".config/linode-cli",
            ".config/hcloud",
            ".config/scw",
            ".config/wrangler",
            ".wrangler",
            ".config/.wrangler",
            ".railway",
            ".supabase",
            ".config/digitalocean",
            ".terraformrc",
            ".terraform.d/credentials.tfrc.json",
            ".config/pulumi",
            ".pulumi/credentials.json",
            ".vault-token",
            ".s3cfg",
            ".boto",
            ".config/rclone",
            ".config/b2",
            ".config/op",
            ".config/1Password",
            ".config/Bitwarden CLI",
            ".config/keybase",
        ],
    ),
    (
        "Accounts of forges and of git",
        &[
            ".config/gh",
            ".config/glab-cli",
            ".config/hub",
            ".config/tea",
            ".config/git/credentials",
            ".git-credentials",
            ".netrc",
            "_netrc",
        ],
    ),
    (
        "Accounts of package registries and containers",
        &[
            ".docker/config.json",
            ".config/containers/auth.json",
            ".npmrc",
            ".yarnrc.yml",
            ".pypirc",
            ".config/pypoetry/auth.toml",
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
            ".huggingface/token",
            ".cache/huggingface/token",
            ".kaggle/kaggle.json",
            ".config/configstore",
        ],
    ),
    (
        "Accounts of models",
        &[
            ".claude/.credentials.json",
            ".claude.json",
            ".codex/auth.json",
            ".gemini/oauth_creds.json",
            ".config/openai",
            ".config/anthropic",
            ".config/github-copilot",
            ".local/share/opencode/auth.json",
        ],
    ),
    (
        "Passwords of databases and mail",
        &[
            ".pgpass",
            ".my.cnf",
            ".mylogin.cnf",
            ".config/mysql",
            ".dbshell",
            ".rediscli_auth",
            ".msmtprc",
            ".mutt",
            ".config/neomutt",
        ],
    ),
    (
        "Browsers and chats: passwords and sessions",
        &[
            ".mozilla",
            ".thunderbird",
            ".config/google-chrome",
            ".config/chromium",
            ".config/BraveSoftware",
            ".config/microsoft-edge",
            ".config/vivaldi",
            ".config/opera",
            "snap/firefox",
            "snap/chromium",
            ".var/app",
            ".config/Slack",
            ".config/discord",
            ".config/Signal",
            "Library/Application Support/Google/Chrome",
            "Library/Application Support/Firefox",
        ],
    ),
    (
        "Wallets",
        &[
            ".bitcoin",
            ".ethereum",
            ".electrum",
            ".monero",
            ".config/solana",
            ".config/Exodus",
            ".config/Ledger Live",
        ],
    ),
    (
        "What was typed, in which passwords often are",
        &[
            ".bash_history",
            ".zsh_history",
            ".local/share/fish/fish_history",
            ".local/share/atuin",
            ".psql_history",
            ".mysql_history",
            ".sqlite_history",
            ".rediscli_history",
            ".python_history",
            ".node_repl_history",
            ".irb_history",
            ".lesshst",
            ".viminfo",
        ],
    ),
    (
        "Variables of programs and sessions",
        &[".env", ".envrc", ".config/environment.d", ".config/direnv"],
    ),
];

/// Of the system, which an administrator could read.
const IN_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/lib/kubelet",
    "/var/lib/docker",
    "/var/lib/sss/secrets",
    "/var/spool/cron",
    "/run/secrets",
    "/run/credentials",
];

/// Variables that name such a file, or several with `:` between them.
const NAMED_BY: &[&str] = &[
    "AWS_SHARED_CREDENTIALS_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "NETRC",
    "PGPASSFILE",
];

/// Returns the places of a user with these variables, without those that are shown.
pub(super) fn places(variable: impl Fn(&str) -> Option<String>, shown: &[PathBuf]) -> Vec<PathBuf> {
    places_in(&homes(&variable, exec::home_of_user()), variable, shown)
}

fn places_in(
    homes: &[PathBuf],
    variable: impl Fn(&str) -> Option<String>,
    shown: &[PathBuf],
) -> Vec<PathBuf> {
    let at_home = homes.iter().flat_map(|home| {
        let places = AT_HOME.iter().flat_map(|(_, places)| *places);
        places.map(move |place| home.join(place))
    });
    let named = NAMED_BY.iter().filter_map(|name| variable(name));
    let named = named.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
    let cargo = variable("CARGO_HOME").into_iter().flat_map(|home| {
        ["credentials", "credentials.toml"].map(|name| Path::new(&home).join(name))
    });
    let shown = expanded(&variable, shown);
    let in_system = IN_SYSTEM.iter().map(PathBuf::from);
    at_home
        .chain(named)
        .chain(cargo)
        .chain(in_system)
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
    let home = homes(variable, exec::home_of_user()).into_iter().next();
    let expand = |path: &PathBuf| match (path.strip_prefix("~"), &home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.clone(),
    };
    paths.iter().map(expand).collect()
}

/// Returns the home folders: the one in `HOME`, and the one the system knows.
fn homes(variable: impl Fn(&str) -> Option<String>, by_system: Option<PathBuf>) -> Vec<PathBuf> {
    let mut homes = vec![];
    homes.extend(variable("HOME").map(PathBuf::from));
    homes.extend(by_system);
    homes.retain(|home| home.is_absolute());
    homes.dedup();
    homes
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
        let places = places_in(
            &homes(variable, Some("/home/listed".into())),
            variable,
            &shown,
        );
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
                "/home/me/.local/share/fish/fish_history",
                "/home/me/.config/microsoft-edge/Default/Login Data",
                "/home/me/.oci/config",
                "/home/listed/.ssh/id_ed25519",
                "/opt/cargo/credentials.toml",
                "/k/two",
                "/etc/shadow",
                "/etc/ssh/ssh_host_ed25519_key",
            ],
            &[
                "/home/me/.npmrc",
                "/home/me/.config/gh/hosts.yml",
                "/home/me/.gitconfig",
                "/home/me/.cargo/registry",
                "/opt/cargo/config.toml",
                "/dev/null",
                "/etc/ssl/certs/ca-certificates.crt",
                "/etc/passwd",
            ],
        );
    }

    #[test]
    fn without_a_variable_the_home_is_the_one_the_system_knows() {
        let hidden = &["/home/listed/.ssh/id_ed25519", "/home/listed/.netrc"];
        check(
            &[("NETRC", "netrc")],
            &[],
            hidden,
            &["netrc", "/.ssh", ".ssh"],
        );
    }
}
