//! Finding 7 (workflows B1): values between the quotes of a command line were run by the shell.

use serde_json::json;

use crate::project::CliProject;

fn running(config: &serde_json::Value) -> CliProject {
    let project = CliProject::empty();
    project.write("drawloom.toml", "");
    let config = json!({ "handler": "command", "config": config });
    project.write(
        "c.mmd",
        &format!("graph TD\n A[Run]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"),
    );
    project
}

fn start(project: &CliProject, value: &str) -> crate::project::ProgramOutput {
    let input = json!({ "x": value }).to_string();
    let mut command = project.command("workflow start c.mmd --wait --json --input");
    crate::project::ProgramOutput::from(command.arg(input).output().unwrap())
}

#[test]
fn values_in_every_kind_of_quotes_are_printed_and_never_run() {
    for run in [
        json!({ "run": "printf '%s' {{input.x}}" }),
        json!({ "run": "printf '%s' \"{{input.x}}\"" }),
        json!({ "run": "printf '%s' '{{input.x}}'" }),
        json!({ "run": "v={{input.x}}; printf '%s' \"$v\"" }),
        json!({ "argv": ["printf", "%s", "{{input.x}}"] }),
    ] {
        let project = running(&run);
        assert_eq!(project.run("workflow check c.mmd").exit, 0, "{run}");
        for value in [
            "$(touch PWNED)",
            "`touch PWNED`",
            "\"; touch PWNED; \"",
            "'; touch PWNED; '",
            "$(touch PWNED) '\" \\",
        ] {
            let ran = start(&project, value);
            assert_eq!(ran.exit, 0, "{run}: {}{}", ran.out, ran.err);
            let result = ran.out.lines().last().unwrap();
            let result: serde_json::Value = serde_json::from_str(result).unwrap();
            assert_eq!(result["output"]["stdout"], value, "{run}");
            assert!(!project.path().join("PWNED").exists(), "{run}: {value}");
        }
    }
}

#[test]
fn check_refuses_what_cannot_be_safe_with_the_place() {
    for run in [
        json!({ "run": "sh -c 'echo {{input.x}}'" }),
        json!({ "run": "cat <<EOF\n{{input.x}}\nEOF" }),
        json!({ "run": "echo `echo {{input.x}}`" }),
        json!({ "run": "echo $((1 + {{input.x}}))" }),
        json!({ "run": "{{input.x}}" }),
        json!({ "argv": ["bash", "-c", "{{input.x}}"] }),
    ] {
        let project = running(&run);
        let ran = project.run("workflow check c.mmd");
        assert_eq!(ran.exit, 1, "{run}");
        assert!(ran.err.contains("A value is not safe here"), "{}", ran.err);
        assert!(
            ran.err.contains("c.mmd:4:") && ran.err.contains('^'),
            "{}",
            ran.err
        );
        assert_ne!(start(&project, "touch PWNED").exit, 0, "{run}");
        assert!(!project.path().join("PWNED").exists(), "{run}");
    }
}

#[test]
fn values_in_criteria_are_printed_and_never_run() {
    let project = CliProject::empty();
    project.write("drawloom.toml", "[ai]\nmode = \"off\"\n");
    let config = json!({ "handler": "validation", "config": { "validation_criteria": [
        { "run": "test \"{{input.x}}\" = 'a $(touch PWNED) b' && mkdir -p made" },
        "touch PWNED {{input.x}}",
    ] } });
    project.write(
        "c.mmd",
        &format!(
            "graph TD\n A[Run]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"
        ),
    );
    let ran = start(&project, "a $(touch PWNED) b");
    assert!(
        project.path().join("made").exists(),
        "{}{}",
        ran.out,
        ran.err
    );
    assert!(!project.path().join("PWNED").exists());
    let bad = json!({ "handler": "validation", "config": { "validation_criteria": [{ "run": "sh -c {{input.x}}" }] } });
    project.write(
        "c.mmd",
        &format!(
            "graph TD\n A[Run]\n%% === WORKFLOW_CONFIG ===\n%% @A: {bad}\n%% === END_CONFIG ===\n"
        ),
    );
    let ran = project.run("workflow check c.mmd");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("that `sh` runs"), "{}", ran.err);
}
