//! The built-in rules, as data: which names are refused for reading, and which for writing besides.
//!
//! A rule is about a name, wherever it stands in a path: what is inside a
//! refused directory is refused with it. Names are compared folded, so they
//! stand here in lower case.

use super::Rule;
use crate::fold;

/// How a rule recognises a name.
enum Shape {
    /// Exactly these names, their editors' copies and their short forms.
    Names(&'static [&'static str]),
    /// Names that end so.
    Endings(&'static [&'static str]),
    /// Names below one another; the last may end in `*` for whatever follows.
    Paths(&'static [&'static [&'static str]]),
    /// `.env`, `.env.*`, `.envrc`, `prod.env`; but not `.env.example`.
    Environment,
}

/// Refused for reading, and so for writing.
static READ: &[(Rule, Shape)] = &[
    (Rule::Git, Shape::Names(&[".git"])),
    (Rule::Environment, Shape::Environment),
    (
        Rule::Credential,
        Shape::Names(&[
            ".ssh",
            ".aws",
            ".gnupg",
            ".azure",
            ".kube",
            ".gcloud",
            ".password-store",
            ".terraform.d",
            "id_rsa",
            "id_dsa",
            "id_ecdsa",
            "id_ecdsa_sk",
            "id_ed25519",
            "id_ed25519_sk",
            ".npmrc",
            ".pypirc",
            ".netrc",
            "_netrc",
            ".pgpass",
            ".my.cnf",
            ".git-credentials",
            ".htpasswd",
            ".dockercfg",
            ".dockerconfigjson",
            ".vault-token",
            ".vault_pass",
            ".vault_password",
            ".s3cfg",
            ".boto",
            "auth.json",
            "credentials",
            "credentials.json",
            "credentials.yml",
            "credentials.yaml",
            "credentials.toml",
            "secrets.json",
            "secrets.yml",
            "secrets.yaml",
            "secrets.toml",
            "service-account.json",
            "service_account.json",
            "client_secret.json",
            "client_secrets.json",
            "terraform.tfstate",
        ]),
    ),
    (
        Rule::Credential,
        Shape::Endings(&[
            ".pem",
            ".key",
            ".p12",
            ".pfx",
            ".p8",
            ".pkcs12",
            ".jks",
            ".keystore",
            ".kdbx",
            ".ppk",
            ".ovpn",
            ".tfstate",
            ".tfstate.backup",
        ]),
    ),
    (
        Rule::Credential,
        Shape::Paths(&[
            &[".docker", "config.json"],
            &[".config", "gcloud"],
            &[".config", "gh"],
            &[".m2", "settings.xml"],
            &[".bundle", "config"],
        ]),
    ),
    (
        Rule::Dependency,
        Shape::Names(&[
            "node_modules",
            "bower_components",
            "jspm_packages",
            ".pnpm-store",
            ".venv",
            "venv",
            "site-packages",
            ".bundle",
            ".gradle",
            ".cargo-home",
            ".dart_tool",
        ]),
    ),
    (
        Rule::Dependency,
        Shape::Paths(&[&[".yarn", "cache"], &[".yarn", "unplugged"]]),
    ),
    (
        Rule::BuildOutput,
        Shape::Names(&[
            "target",
            "dist",
            "__pycache__",
            ".tox",
            ".nox",
            ".mypy_cache",
            ".pytest_cache",
            ".ruff_cache",
            ".next",
            ".nuxt",
            ".svelte-kit",
            ".turbo",
            ".parcel-cache",
            ".angular",
            ".terraform",
            ".nyc_output",
        ]),
    ),
    (
        Rule::Own,
        Shape::Paths(&[&[".drawloom", "apply"], &[".drawloom", "drawloom.db*"]]),
    ),
    // It may hold the key of a provider.
    (Rule::Own, Shape::Names(&["drawloom.toml"])),
];

/// Refused for writing only.
static WRITE: &[(Rule, Shape)] = &[
    (Rule::Own, Shape::Names(&[".drawloom"])),
    (
        Rule::LockFile,
        Shape::Names(&[
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "bun.lock",
            "bun.lockb",
            "deno.lock",
            "cargo.lock",
            "poetry.lock",
            "pipfile.lock",
            "uv.lock",
            "pdm.lock",
            "gemfile.lock",
            "composer.lock",
            "go.sum",
            "mix.lock",
            "pubspec.lock",
            "podfile.lock",
            "cartfile.resolved",
            "package.resolved",
            "packages.lock.json",
            "gradle.lockfile",
            "flake.lock",
            "conan.lock",
            ".terraform.lock.hcl",
        ]),
    ),
    (
        Rule::Automation,
        Shape::Names(&[
            ".gitlab-ci.yml",
            ".gitlab-ci.yaml",
            ".circleci",
            ".travis.yml",
            "azure-pipelines.yml",
            "azure-pipelines.yaml",
            "bitbucket-pipelines.yml",
            "jenkinsfile",
            ".drone.yml",
            ".woodpecker",
            ".woodpecker.yml",
            ".buildkite",
            ".teamcity",
            ".semaphore",
            ".cirrus.yml",
            "appveyor.yml",
            ".appveyor.yml",
            "cloudbuild.yaml",
            "cloudbuild.yml",
            "buildspec.yml",
            "codefresh.yml",
            ".ci",
            ".husky",
            ".githooks",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            ".lefthook.yml",
            ".gitmodules",
        ]),
    ),
    (
        Rule::Automation,
        Shape::Paths(&[
            &[".github", "workflows"],
            &[".github", "actions"],
            &[".github", "dependabot.yml"],
            &[".gitlab", "ci"],
            &[".forgejo", "workflows"],
            &[".gitea", "workflows"],
            &[".vscode", "tasks.json"],
        ]),
    ),
];

/// The rule against reading the last of these folded names, the ones above it given.
pub(super) fn against_reading(names: &[&str]) -> Option<&'static Rule> {
    find(READ, names)
}

/// The rule against writing it that is no rule against reading it.
pub(super) fn against_writing(names: &[&str]) -> Option<&'static Rule> {
    find(WRITE, names)
}

fn find(table: &'static [(Rule, Shape)], names: &[&str]) -> Option<&'static Rule> {
    let name = names.last()?;
    let original = fold::original(name);
    table
        .iter()
        .find(|(_, shape)| shape.matches(names, name, original))
        .map(|(rule, _)| rule)
}

impl Shape {
    fn matches(&self, names: &[&str], name: &str, original: &str) -> bool {
        match self {
            Self::Names(list) => {
                let is_known = |name: &str| list.contains(&name);
                is_known(name)
                    || (original.len() < name.len() && is_known(original))
                    || (name.contains('~')
                        && list.iter().any(|known| fold::is_short_name_of(name, known)))
            }
            Self::Endings(list) => list
                .iter()
                .any(|ending| name.ends_with(ending) || original.ends_with(ending)),
            Self::Paths(list) => list.iter().any(|path| ends_in(names, path)),
            Self::Environment => {
                is_environment(name)
                    || is_environment(original)
                    || fold::is_short_name_of(name, ".env")
            }
        }
    }
}

fn ends_in(names: &[&str], path: &[&str]) -> bool {
    let Some(above) = names.len().checked_sub(path.len()) else {
        return false;
    };
    names[above..]
        .iter()
        .zip(path)
        .all(|(name, known)| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == known,
        })
}

fn is_environment(name: &str) -> bool {
    let example = [".example", ".sample"];
    if name.starts_with(".env") {
        return !example.iter().any(|ending| name.ends_with(ending));
    }
    match name.strip_suffix(".env") {
        Some(stem) => !matches!(stem, "example" | "sample"),
        None => false,
    }
}
