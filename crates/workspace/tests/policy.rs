//! The policy's refusals and permissions, by name, list and plan.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests say what must hold"
)]

use workspace::{
    AccessPolicy, GrantedAction, PathAccess, PolicySettings, RelPath, WorkspaceErrorKind,
    WriteGrant, WriteScope,
};

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// The codes of the rules against reading and writing `target`, `-` for none.
fn verdict(policy: &AccessPolicy, target: &str) -> String {
    let target = path(target);
    let code = |result: Result<(), workspace::Denial>| {
        result.map_or_else(|denial| denial.rule().code(), |()| "-")
    };
    let read = code(policy.check_read(&target));
    let write = code(policy.check_write(&target));
    format!("{read} {write}")
}

#[track_caller]
fn check(policy: &AccessPolicy, cases: &[(&str, &str)]) {
    for (target, expected) in cases {
        assert_eq!(verdict(policy, target), *expected, "{target:?}");
    }
}

#[test]
fn built_in_rules_by_name() {
    check(
        &AccessPolicy::default(),
        &[
            ("src/main.rs", "- -"),
            ("README.md", "- -"),
            ("package.json", "- -"),
            (".gitignore", "- -"),
            (".github/ISSUE_TEMPLATE/bug.md", "- -"),
            ("environment.ts", "- -"),
            ("src/env.ts", "- -"),
            ("id_rsa.pub", "- -"),
            ("certs/ca.crt", "- -"),
            ("monkey.ts", "- -"),
            ("src/secrets.rs", "- -"),
            ("distance.js", "- -"),
            ("src/keys/mod.rs", "- -"),
            (".drawloom/recipes/x/recipe.yml", "- own"),
            ("drawloom.toml", "own own"),
            (".drawloom/drawloom.db", "own own"),
            (".drawloom/drawloom.db-wal", "own own"),
            (".drawloom/apply/journal", "own own"),
            (".env", "environment environment"),
            (".env.local", "environment environment"),
            (".env.production", "environment environment"),
            (".envrc", "environment environment"),
            ("deploy/prod.env", "environment environment"),
            (".env.example", "- -"),
            (".env.sample", "- -"),
            (".env.production.example", "- -"),
            ("example.env", "- -"),
            (".git", "git git"),
            (".git/config", "git git"),
            ("vendor/lib/.git/config", "git git"),
            (".ssh/config", "credential credential"),
            ("home/.aws/credentials", "credential credential"),
            ("id_rsa", "credential credential"),
            ("deploy/id_ed25519", "credential credential"),
            ("server.pem", "credential credential"),
            ("tls/server.key", "credential credential"),
            (".npmrc", "credential credential"),
            (".netrc", "credential credential"),
            (".docker/config.json", "credential credential"),
            (".docker/Dockerfile", "- -"),
            (".config/gh/hosts.yml", "credential credential"),
            ("terraform.tfstate", "credential credential"),
            ("node_modules/x/index.js", "dependency dependency"),
            ("packages/a/node_modules", "dependency dependency"),
            (".venv/bin/python", "dependency dependency"),
            ("target/debug/x", "build_output build_output"),
            ("web/dist/app.js", "build_output build_output"),
            ("package-lock.json", "- lock_file"),
            ("Cargo.lock", "- lock_file"),
            ("go.sum", "- lock_file"),
            (".github/workflows/ci.yml", "- automation"),
            (".gitlab-ci.yml", "- automation"),
            ("Jenkinsfile", "- automation"),
            (".husky/pre-commit", "- automation"),
        ],
    );
}

#[test]
fn a_rule_holds_under_every_spelling() {
    check(
        &AccessPolicy::default(),
        &[
            (".ENV", "environment environment"),
            (".Env.Local", "environment environment"),
            (".env.", "environment environment"),
            (".env ", "environment environment"),
            (".env::$DATA", "environment environment"),
            (".e\u{200b}nv", "environment environment"),
            (
                "\u{ff0e}\u{ff45}\u{ff4e}\u{ff56}",
                "environment environment",
            ),
            ("ENV~1", "environment environment"),
            (".env~", "environment environment"),
            ("#.env#", "environment environment"),
            (".#.env", "environment environment"),
            (".Git/config", "git git"),
            (".g\u{131}t/config", "git git"),
            ("GIT~1/config", "git git"),
            (".\u{17f}\u{17f}h/config", "credential credential"),
            (".\u{df}h/config", "credential credential"),
            ("ID_RSA", "credential credential"),
            ("id_rsa.bak", "credential credential"),
            ("SERVER.PEM", "credential credential"),
            ("server.p\u{ff45}m", "credential credential"),
            ("Node_Modules/x", "dependency dependency"),
            ("node_modules./x", "dependency dependency"),
            ("node\u{ff3f}modules/x", "dependency dependency"),
            ("NODE_M~1/x", "dependency dependency"),
            ("PACKAGE-LOCK.JSON", "- lock_file"),
            ("cargo.lock", "- lock_file"),
            (".GitHub/Workflows/ci.yml", "- automation"),
            (".DrawLoom/x", "- own"),
            ("DRAWLOOM.TOML", "own own"),
        ],
    );
}

fn settings(
    (read_deny, read_allow): (&[&str], &[&str]),
    (write_deny, write_allow): (&[&str], &[&str]),
) -> PolicySettings {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    PolicySettings {
        read_deny: owned(read_deny),
        read_allow: owned(read_allow),
        write_deny: owned(write_deny),
        write_allow: owned(write_allow),
        ..PolicySettings::default()
    }
}

#[test]
fn the_projects_list_refuses_in_any_case_and_everything_below() {
    let lists = settings(
        (&["secrets", "/top", "docs/**/*.draft", "caf\u{e9}"], &[]),
        (&["migrations/", "*.sql"], &[]),
    );
    check(
        &AccessPolicy::new(&lists).unwrap(),
        &[
            ("secrets", "listed listed"),
            ("a/secrets/b/c", "listed listed"),
            ("a/SECRETS/b", "listed listed"),
            ("top/x", "listed listed"),
            ("a/top/x", "- -"),
            ("docs/a/b.draft", "listed listed"),
            ("docs/a/b.draft2", "- -"),
            ("x/cafe\u{301}/y", "listed listed"),
            ("x/CAF\u{c9}/y", "listed listed"),
            ("db/migrations/1.rb", "- listed"),
            ("a/b.sql", "- listed"),
            ("a/B.SQL", "- listed"),
            ("src/main.rs", "- -"),
        ],
    );
}

#[test]
fn an_exception_lifts_only_what_it_names() {
    let lists = settings(
        (
            &[],
            &[
                "tests/fixtures/*.pem",
                "src/**",
                "packages/ui/dist/**",
                "node_modules/left-pad/index.js",
            ],
        ),
        (
            &[],
            &[
                ".github/workflows/docs.yml",
                ".env.test",
                ".git/**",
                ".drawloom/**",
                "**",
            ],
        ),
    );
    check(
        &AccessPolicy::new(&lists).unwrap(),
        &[
            ("tests/fixtures/a.pem", "- credential"),
            ("tests/fixtures/A.PEM", "credential credential"),
            ("tests/a.pem", "credential credential"),
            ("src/.env", "environment environment"),
            ("src/a.pem", "credential credential"),
            ("packages/ui/dist", "- build_output"),
            ("packages/ui/dist/app.js", "- build_output"),
            ("packages/ui/dist/node_modules/x", "dependency build_output"),
            ("packages/ui/dist/.env", "environment build_output"),
            ("packages/api/dist/app.js", "build_output build_output"),
            ("node_modules/left-pad/index.js", "- dependency"),
            ("node_modules/left-pad/other.js", "dependency dependency"),
            (".github/workflows/docs.yml", "- -"),
            (".github/workflows/ci.yml", "- automation"),
            (".env.test", "- -"),
            ("sub/.env.test", "- -"),
            (".env", "environment environment"),
            (".git/config", "git git"),
            (".drawloom/x", "- own"),
            ("package-lock.json", "- lock_file"),
        ],
    );
}

#[test]
fn a_list_wins_over_an_exception() {
    let lists = settings((&["*.pem"], &["a.pem"]), (&["b.txt"], &["b.txt"]));
    check(
        &AccessPolicy::new(&lists).unwrap(),
        &[("a.pem", "listed listed"), ("b.txt", "- listed")],
    );
}

#[test]
fn an_unusable_pattern_is_named() {
    let error = AccessPolicy::new(&settings((&["a[z"], &[]), (&[], &[]))).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::InvalidPath);
    let message = error.to_string();
    assert!(
        message.contains("read_deny") && message.contains("a[z"),
        "{message}"
    );
}

#[test]
fn the_plan_is_the_permission_and_widens_nothing() {
    let mut grant = WriteGrant::new()
        .with(path("src/new.rs"), GrantedAction::Create)
        .with(path("src/old.rs"), GrantedAction::Modify)
        .with(path(".env"), GrantedAction::Create);
    grant.permit_rename(path("a/from.rs"), path("b/to.rs"));
    let policy = AccessPolicy::default().with_writes(WriteScope::Planned(grant.clone()));
    let code = |target: &str, action| {
        let verdict = policy.check_action(&path(target), action);
        verdict.map_or_else(|denial| denial.rule().code(), |()| "-")
    };
    for (target, action, expected) in [
        ("src/new.rs", GrantedAction::Create, "-"),
        ("src/new.rs", GrantedAction::Modify, "other_action"),
        ("src/new.rs", GrantedAction::Delete, "other_action"),
        ("src/old.rs", GrantedAction::Modify, "-"),
        ("src/old.rs", GrantedAction::Create, "other_action"),
        ("src/OLD.rs", GrantedAction::Modify, "outside_plan"),
        ("src/other.rs", GrantedAction::Create, "outside_plan"),
        ("a/from.rs", GrantedAction::Delete, "-"),
        ("a/from.rs", GrantedAction::Modify, "other_action"),
        ("b/to.rs", GrantedAction::Create, "-"),
        (".env", GrantedAction::Create, "environment"),
    ] {
        assert_eq!(code(target, action), expected, "{action:?} {target}");
    }
    assert!(policy.check_create_dir(&path("b")).is_ok());
    assert!(policy.check_create_dir(&path("c")).is_err());
    let refused = AccessPolicy::default().denials(&grant);
    let refused: Vec<&str> = refused
        .iter()
        .map(|denial| denial.path().as_str())
        .collect();
    assert_eq!(refused, [".env"]);
    let nothing = AccessPolicy::default().with_writes(WriteScope::Nothing);
    let denial = nothing
        .check_action(&path("x"), GrantedAction::Create)
        .unwrap_err();
    assert_eq!(denial.rule().code(), "read_only_job");
}

#[test]
fn a_denial_names_the_rule_the_reason_and_the_next_step() {
    let denial = AccessPolicy::default()
        .check_read(&path("app/.env.local"))
        .unwrap_err();
    assert_eq!(denial.access(), PathAccess::Read);
    assert_eq!(
        denial.to_string(),
        "`app/.env.local` may not be read: `.env.local` holds settings that are secret \
         (rule `environment`); read `.env.example`, or list the file under `read_allow` in the project's policy"
    );
    let json = serde_json::to_value(&denial).unwrap();
    assert_eq!(
        json,
        serde_json::json!({"path": "app/.env.local", "access": "read", "rule": "environment"})
    );
    let denial = AccessPolicy::default()
        .check_write(&path("yarn.lock"))
        .unwrap_err();
    assert!(
        denial.to_string().contains("run the package manager"),
        "{denial}"
    );
}
