//! `[builder]`: limits, checks in the order in which they are written, and where work goes.

use crate::{check_error, resolve};

#[test]
fn checks_keep_the_order_of_the_file_and_have_the_users_names() {
    let file = "[builder.checks]\nunit = \"npm test\"\nlint = { run = \"eslint .\", cwd = \"web\", \
                timeout_seconds = 30 }\n\"type check\" = \"tsc\"\n";
    let settings = resolve(file, &[]).unwrap();
    let checks = settings.builder.builds.checks.unwrap();
    let told: Vec<String> = checks
        .iter()
        .map(|check| {
            let seconds = check.timeout_seconds;
            format!(
                "{}: {} in {:?} {seconds:?}",
                check.name,
                check.run,
                check.cwd.as_str()
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "unit: npm test in \"\" None",
            "lint: eslint . in \"web\" Some(30)",
            "type check: tsc in \"\" None",
        ]
    );
}

#[test]
fn no_section_means_found_checks_and_an_empty_one_means_none() {
    assert_eq!(resolve("", &[]).unwrap().builder.builds.checks, None);
    let settings = resolve("[builder.checks]\n", &[]).unwrap();
    assert_eq!(settings.builder.builds.checks, Some(Vec::new()));
}

#[test]
fn limits_and_the_forge_come_from_the_file_and_from_variables() {
    let file = "[builder]\ncontext_max_tokens = 100\nrepairs_max = 0\n\n[builder.forge]\n\
                url = \"https://ghe.example.com/api/v3\"\nbase = \"develop\"\n";
    let variables = [
        ("DRAWLOOM_BUILDER_PLAN_FILES_MAX", "7"),
        ("DRAWLOOM_BUILDER_FORGE_REMOTE", "upstream"),
    ];
    let builder = resolve(file, &variables).unwrap().builder;
    assert_eq!(builder.builds.context_max_tokens, 100);
    assert_eq!(builder.builds.repairs_max, 0);
    assert_eq!(builder.builds.plan_files_max, 7);
    assert_eq!(builder.forge.remote, "upstream");
    assert_eq!(builder.forge.base.as_deref(), Some("develop"));
    assert_eq!(builder.forge.token_env, None);
    assert_eq!(builder.forge.kind, None);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    for (file, expected) in [
        (
            "[builder.checks]\ntest = \"\"\n",
            "2:8 builder.checks: `test` must be a command line, or a table with `run`",
        ),
        (
            "[builder.checks]\ntest = { run = 3 }\n",
            "2:16 builder.checks: `test.run` must be a command line",
        ),
        (
            "[builder.checks]\ntest = { run = \"x\", timeout_seconds = 0 }\n",
            "2:39 builder.checks: `test.timeout_seconds` must be a whole number of at least 1",
        ),
        (
            "[builder]\nchecks = \"cargo test\"\n",
            "2:1 `builder.checks` is a section: write it as [builder.checks]",
        ),
    ] {
        check_error(file, &[], expected);
    }
}
