//! Finding 12: a model could write 31 of 58 files that run by themselves and read 24 of 52 that hold
//! secrets, and no check read contents. The lists are held against public ones.

use workspace::{AccessPolicy, Limits, RelPath, Root, Workspace};

const WRITTEN: [&str; 31] = [
    ".vscode/settings.json",
    ".vscode/launch.json",
    ".claude/settings.json",
    ".mcp.json",
    ".cursor/mcp.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    "AGENTS.md",
    ".cargo/config.toml",
    ".devcontainer/devcontainer.json",
    ".idea/workspace.xml",
    ".zed/tasks.json",
    ".gitattributes",
    ".yarnrc.yml",
    "mise.toml",
    ".tool-versions",
    "conftest.py",
    "sitecustomize.py",
    "lefthook.yaml",
    ".lefthook.yaml",
    "lefthook.toml",
    ".gitconfig",
    ".direnv/x",
    ".bazelrc",
    ".mvn/jvm.config",
    "gradle.properties",
    ".pnp.cjs",
    ".yarn/releases/yarn.cjs",
    ".eslintrc.js",
    ".simple-git-hooks.json",
    ".overcommit.yml",
];

const READ: [&str; 24] = [
    "id_rsa_github",
    "terraform.tfvars",
    "prod.auto.tfvars",
    "kubeconfig",
    "kubeconfig.yaml",
    ".yarnrc.yml",
    ".dev.vars",
    "local.settings.json",
    "gcp-key.json",
    "firebase-adminsdk-x.json",
    "app.keytab",
    "secring.gpg",
    "wp-config.php",
    "appsettings.Production.json",
    "application-prod.yml",
    "config/database.yml",
    "vault.yml",
    ".Renviron",
    ".bash_history",
    ".secrets",
    "secrets/db_password",
    "passwords.txt",
    "apikey.txt",
    ".terraformrc",
];

/// What other programs hold back from a model or from a checkout: Claude Code's dangerous files and
/// folders, Codex' protected folders, and what git itself refuses in a tree.
const PROTECTED_BY_OTHERS: [&str; 22] = [
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".zshrc",
    ".zprofile",
    ".profile",
    ".ripgreprc",
    ".mcp.json",
    ".claude.json",
    ".vscode/x",
    ".idea/x",
    ".claude/x",
    ".codex/x",
    ".agents/x",
    ".git/config",
    ".GIT/config",
    ".git./config",
    ".git::$INDEX_ALLOCATION/config",
    "GIT~1/config",
    ".g\u{200c}it/config",
    "sub/.git/hooks/x",
];

/// Names that public scanners (gitleaks' path rules, the signatures of gitrob and its heirs) look for.
const SCANNED: [&str; 62] = [
    "server.p12",
    "server.pfx",
    "server.pem",
    "server.pkcs12",
    "server.jks",
    "client.ovpn",
    "service.cscfg",
    "office.rdp",
    "disk.bek",
    "disk.tpm",
    "disk.fve",
    "passwords.psafe3",
    "x.kdb",
    "x.kdbx",
    "x.agilekeychain",
    "login.keychain",
    "x.kwallet",
    "vpn.tblk",
    "otr.private_key",
    "deploy_rsa",
    "deploy_ed25519",
    "deploy_ecdsa",
    "id_dsa",
    ".ssh/config",
    ".bash_history",
    ".zsh_history",
    ".sh_history",
    ".mysql_history",
    ".psql_history",
    ".irb_history",
    ".pgpass",
    ".netrc",
    "_netrc",
    ".htpasswd",
    "htpasswd",
    ".git-credentials",
    ".npmrc",
    ".dockercfg",
    ".s3cfg",
    ".aws/credentials",
    ".gem/credentials",
    ".tugboat",
    "doctl/config.yaml",
    ".config/hub",
    ".env",
    ".gitconfig",
    "secret_token.rb",
    "config/database.yml",
    "credentials.xml",
    "LocalSettings.php",
    "config.inc.php",
    "proftpdpasswd",
    "robomongo.json",
    "filezilla.xml",
    "recentservers.xml",
    "sftp-config.json",
    "terraform.tfvars",
    ".purple/accounts.xml",
    "jenkins.plugins.publish_over_ssh.BapSshPublisherPlugin.xml",
    "dbeaver/.dbeaver-data-sources.xml",
    "etc/shadow",
    ".bashrc",
];

/// Scanned for elsewhere and not refused here: source code and data that a model works on, which are
/// judged by their content.
const LEFT_TO_CONTENT: [&str; 10] = [
    "settings.py",
    "omniauth.rb",
    "carrierwave.rb",
    "knife.rb",
    "app.log",
    "dump.sql",
    "data.sqlite",
    "journal.txt",
    "nuget.config",
    "capture.pcap",
];

#[track_caller]
fn all_refused(names: &[&str], may: impl Fn(&AccessPolicy, &RelPath) -> bool) {
    let policy = AccessPolicy::default();
    let passed: Vec<&&str> = names
        .iter()
        .filter(|name| may(&policy, &RelPath::parse(name).unwrap()))
        .collect();
    assert!(
        passed.is_empty(),
        "{} of {} pass: {passed:?}",
        passed.len(),
        names.len()
    );
}

fn may_read(policy: &AccessPolicy, path: &RelPath) -> bool {
    policy.check_read(path).is_ok()
}

fn may_write(policy: &AccessPolicy, path: &RelPath) -> bool {
    policy.check_write(path).is_ok()
}

#[test]
fn files_that_run_by_themselves_are_not_written() {
    all_refused(&WRITTEN, may_write);
    all_refused(&PROTECTED_BY_OTHERS, may_write);
}

#[test]
fn files_that_hold_secrets_are_not_read() {
    all_refused(&READ, may_read);
    // Settings of shells and of git are only not written: a model may look at them.
    let is_secret = |name: &&&str| !matches!(**name, ".bashrc" | ".gitconfig");
    let scanned: Vec<&str> = SCANNED.iter().filter(is_secret).copied().collect();
    all_refused(&scanned, may_read);
    all_refused(&SCANNED, may_write);
    let policy = AccessPolicy::default();
    for name in LEFT_TO_CONTENT {
        assert!(may_read(&policy, &RelPath::parse(name).unwrap()), "{name}");
    }
}

#[test]
fn source_code_with_such_words_is_read_and_written() {
    let policy = AccessPolicy::default();
    for name in [
        "src/credentials.rs",
        "src/passwords.py",
        "pkg/kubeconfig.go",
        "src/secrets/vault.rs",
        "app/forgot-password/page.tsx",
        "src/history.ts",
        "id_rsa.pub",
        ".dev.vars.example",
        "terraform.tfvars.example",
        "docs/agents/intro.md",
        "src/token.rs",
        "python_dsa/heap.py",
        "appsettings.json",
        "application.yml",
    ] {
        let path = RelPath::parse(name).unwrap();
        assert!(
            may_read(&policy, &path) && may_write(&policy, &path),
            "{name}"
        );
    }
}

#[test]
fn every_refusal_gives_its_reason() {
    for name in WRITTEN.iter().chain(&READ).chain(&SCANNED) {
        let path = RelPath::parse(name).unwrap();
        let denial = AccessPolicy::default().check_write(&path).unwrap_err();
        assert!(denial.why().starts_with('`'), "{name}: {}", denial.why());
    }
}

#[test]
fn contents_that_are_secrets_are_not_read_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(4);
    let key = format!("-----BEGIN {} KEY-----\n{body}", "PRIVATE");
    let token = format!("token: ghp{}", "_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5");
    let files = [
        ("notes.txt", key.as_str()),
        ("deploy.yml", &token),
        ("src.rs", "fn main() {}"),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let root = Root::open(folder.path()).unwrap();
    let space = Workspace::new(root, AccessPolicy::default(), Limits::default());
    let read = |name: &str| space.read_text(&RelPath::parse(name).unwrap());
    assert!(read("src.rs").is_ok());
    let refused = read("notes.txt").unwrap_err().to_string();
    assert!(refused.contains("it holds a private key"), "{refused}");
    let refused = read("deploy.yml").unwrap_err().to_string();
    assert!(
        refused.contains("a token of GitHub") && !refused.contains("aB3dE5"),
        "{refused}"
    );
}
