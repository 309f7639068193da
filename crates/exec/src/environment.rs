//! The environment variables a child gets, and the ones withheld from it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

/// The variables that a command run for a model may see: paths and locale settings, never a secret.
/// A name that ends in `*` means every name that begins so.
pub const AGENT_VARIABLES: &[&str] = &[
    // The user and the terminal.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TMP",
    "TEMP",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "PAGER",
    "EDITOR",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "HOSTNAME",
    "CI",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "XDG_STATE_HOME",
    // Certificates and time stamps of builds.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "SOURCE_DATE_EPOCH",
    // C and make.
    "CC",
    "CXX",
    "AR",
    "LD",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "CMAKE_PREFIX_PATH",
    // Rust.
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_TERM_COLOR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    // Go.
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "GO111MODULE",
    "GOTOOLCHAIN",
    // Java and its relatives.
    "JAVA_HOME",
    "JDK_HOME",
    "MAVEN_HOME",
    "M2_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "KOTLIN_HOME",
    "SDKMAN_DIR",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    // JavaScript.
    "NODE_ENV",
    "NODE_PATH",
    "NODE_VERSION",
    "NVM_DIR",
    "NVM_BIN",
    "FNM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "COREPACK_HOME",
    "YARN_CACHE_FOLDER",
    "npm_config_cache",
    "npm_config_prefix",
    // Python.
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "POETRY_HOME",
    "UV_CACHE_DIR",
    "PIP_CACHE_DIR",
    // Others.
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_PATH",
    "RBENV_ROOT",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "COMPOSER_HOME",
    "DOTNET_ROOT",
    "DOTNET_CLI_HOME",
    "NUGET_PACKAGES",
    "MIX_HOME",
    "HEX_HOME",
    "STACK_ROOT",
    "GHCUP_INSTALL_BASE_PREFIX",
    "OPAMROOT",
    "OPAM_SWITCH_PREFIX",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "HOMEBREW_PREFIX",
];

/// Parts of the names of secrets, in any case.
pub const SECRET_MARKS: &[&str] = &[
    "KEY",
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
];

/// The environment variables a child gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildEnvironment {
    inherit: InheritedVariables,
    set: BTreeMap<OsString, OsString>,
    remove: BTreeSet<OsString>,
    secrets: SecretVariables,
}

/// The variables a child inherits from this process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum InheritedVariables {
    /// Every variable.
    #[default]
    All,
    /// These variables, where `LC_*` means every name that begins so.
    Only(Vec<String>),
    /// No variables.
    Nothing,
}

/// The treatment of variables named like secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum SecretVariables {
    /// They are variables like others.
    #[default]
    Pass,
    /// Withholds them, except those named in full.
    Withhold { named: BTreeSet<OsString> },
}

impl ChildEnvironment {
    /// The environment of a command run for a model: [`AGENT_VARIABLES`] and `additions` from the
    /// user's settings, where `NAME*` means every name that begins so. A variable named like a
    /// secret ([`SECRET_MARKS`]) is withheld even if a list has it, unless an addition names it in
    /// full. Git neither asks for passwords nor locks files it only reads.
    #[must_use]
    pub fn agent<S: Into<String>>(additions: impl IntoIterator<Item = S>) -> Self {
        let mut names: Vec<String> = AGENT_VARIABLES.iter().map(|name| (*name).into()).collect();
        let known = names.len();
        names.extend(additions.into_iter().map(Into::into));
        let named = names[known..].iter().filter(|name| !name.ends_with('*'));
        Self {
            secrets: SecretVariables::Withhold {
                named: named.map(OsString::from).collect(),
            },
            ..Self::inherit(InheritedVariables::Only(names))
        }
        .set("GIT_TERMINAL_PROMPT", "0")
        .set("GIT_OPTIONAL_LOCKS", "0")
    }

    /// Starts from these variables of this process.
    #[must_use]
    pub fn inherit(inherit: InheritedVariables) -> Self {
        Self {
            inherit,
            ..Self::default()
        }
    }

    /// Gives a variable a value.
    #[must_use]
    pub fn set(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.remove.remove(&name);
        self.set.insert(name, value.into());
        self
    }

    /// Removes a variable, even an inherited one.
    #[must_use]
    pub fn remove(mut self, name: impl Into<OsString>) -> Self {
        let name = name.into();
        self.set.remove(&name);
        self.remove.insert(name);
        self
    }

    /// Removes several variables.
    #[must_use]
    pub fn remove_all(self, names: &[&str]) -> Self {
        names.iter().fold(self, |env, name| env.remove(*name))
    }

    /// Makes the child search programs in this directory first.
    #[must_use]
    pub fn search_first(self, dir: &std::path::Path) -> Self {
        let mut path = dir.as_os_str().to_owned();
        if let Some(rest) = self.value_of("PATH").filter(|rest| !rest.is_empty()) {
            path.push(":");
            path.push(rest);
        }
        self.set("PATH", path)
    }

    /// Puts this environment on a command that would inherit everything.
    pub(crate) fn apply(&self, command: &mut std::process::Command) {
        if self.inherit != InheritedVariables::All {
            command.env_clear();
        }
        if let InheritedVariables::Only(names) = &self.inherit {
            let ours = std::env::vars_os();
            command.envs(ours.filter(|(name, _)| {
                names.iter().any(|allowed| names_it(allowed, name)) && self.may_pass(name)
            }));
        }
        for name in &self.remove {
            command.env_remove(name);
        }
        command.envs(&self.set);
    }

    /// The variables the child will see, with their values.
    #[cfg(target_os = "linux")]
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let ours = std::env::vars_os().filter(|(name, _)| {
            let passes = match &self.inherit {
                InheritedVariables::All => true,
                InheritedVariables::Only(names) => {
                    names.iter().any(|allowed| names_it(allowed, name)) && self.may_pass(name)
                }
                InheritedVariables::Nothing => false,
            };
            passes && !self.remove.contains(name) && !self.set.contains_key(name)
        });
        let set = self.set.iter();
        let set = set.map(|(name, value)| (name.clone(), value.clone()));
        ours.chain(set).collect()
    }

    /// The value the child will see.
    pub(crate) fn value_of(&self, name: &str) -> Option<OsString> {
        let wanted = OsStr::new(name);
        if let Some(value) = self.set.get(wanted) {
            return Some(value.clone());
        }
        let inherited = match &self.inherit {
            InheritedVariables::All => true,
            InheritedVariables::Only(names) => {
                names.iter().any(|allowed| names_it(allowed, wanted)) && self.may_pass(wanted)
            }
            InheritedVariables::Nothing => false,
        };
        (inherited && !self.remove.contains(wanted)).then(|| std::env::var_os(name))?
    }

    fn may_pass(&self, name: &OsStr) -> bool {
        match &self.secrets {
            SecretVariables::Pass => true,
            SecretVariables::Withhold { named } => {
                named.contains(name) || !is_named_like_a_secret(name)
            }
        }
    }
}

fn is_named_like_a_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    SECRET_MARKS.iter().any(|mark| name.contains(mark))
}

fn names_it(allowed: &str, name: &OsStr) -> bool {
    match allowed.strip_suffix('*') {
        Some(beginning) => name.as_encoded_bytes().starts_with(beginning.as_bytes()),
        None => name == allowed,
    }
}
