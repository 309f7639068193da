//! Finding 2: a model's answer was a part of the shell's program in recipes.

use serde_json::json;

use crate::project::CliProject;

/// What a model might say to get a command run.
const HOSTILE: [&str; 8] = [
    "x; touch PWNED",
    "$(touch PWNED)",
    "`touch PWNED`",
    "\"; touch PWNED; \"",
    "'; touch PWNED; '",
    "x\ntouch PWNED\ny",
    "-n $(touch PWNED)",
    "a' \"$(touch PWNED)\" && touch PWNED #",
];

const ASK: &str = "name: own\nsteps:\n  - { name: t, tool: ai, prompt: \"title?\", type: text, variable: title }\n";

fn answered(step: &str, answer: &str) -> CliProject {
    let project = CliProject::empty();
    project.write("drawloom.toml", "");
    project.write(".drawloom/recipes/own/recipe.yml", &format!("{ASK}{step}"));
    project.write("ans.json", &json!({ "title": answer }).to_string());
    project
}

#[test]
fn an_answer_is_printed_and_never_run() {
    for step in [
        "  - command: printf '%s' {{ title }} > said\n",
        "  - command: printf '%s' \"{{ title }}\" > said\n",
        "  - command: printf '%s' '{{ title }}' > said\n",
        "  - argv: [sh, -c, 'printf %s \"$1\" > said', sh, '{{ title }}']\n",
        "  - command: printf '%s' \"$T\" > said\n    env: { T: '{{ title }}' }\n",
        "  - command: |\n      @if(title)\n      printf '%s' {{ title }} > said\n      @end\n",
    ] {
        for answer in HOSTILE {
            let project = answered(step, answer);
            let ran = project.run("run own --answers ./ans.json");
            assert_eq!(ran.exit, 0, "{step}{}", ran.err);
            assert_eq!(project.read("said"), answer, "{step}");
            assert!(!project.path().join("PWNED").exists(), "{step}{answer}");
        }
    }
}

#[test]
fn an_answer_in_the_frontmatter_is_data_too() {
    for answer in HOSTILE {
        let project = answered("  - template: t.jig\n", answer);
        project.write(
            ".drawloom/recipes/own/t.jig",
            "---\nsh: printf '%s' \"{{ title }}\" > said\n---\nbody\n",
        );
        let ran = project.run("run own --answers ./ans.json");
        assert_eq!(ran.exit, 0, "{}", ran.err);
        assert_eq!(project.read("said"), answer);
        assert!(!project.path().join("PWNED").exists(), "{answer}");
    }
}

#[test]
fn what_cannot_be_safe_is_refused_before_anything_runs() {
    for (step, says) in [
        ("  - command: '{{ title }}'\n", "name of the program"),
        (
            "  - command: sh -c \"echo {{ title }}\"\n",
            "that `sh` runs",
        ),
        ("  - command: eval {{ title }}\n", "`eval`"),
        (
            "  - command: echo {{ title }} | sh\n",
            "run, by the program behind it",
        ),
        (
            "  - command: \"cat <<E\\n{{ title }}\\nE\\n\"\n",
            "here-document",
        ),
        (
            "  - argv: [python3, -c, 'print({{ title }})']\n",
            "that `python3` runs",
        ),
        ("  - argv: ['{{ title }}']\n", "name of the program"),
        ("  - action: ['{{ title }}']\n", "name of the program"),
    ] {
        let project = answered(&format!("  - command: touch FIRST\n{step}"), "touch PWNED");
        for line in ["recipe validate own", "run own --answers ./ans.json"] {
            let ran = project.run(line);
            assert_eq!(ran.exit, 1, "{line}: {step}{}", ran.out);
            assert!(
                ran.err.contains(says) && ran.err.contains("recipe.yml:5"),
                "{}",
                ran.err
            );
            assert!(ran.err.contains("hint"), "{}", ran.err);
        }
        assert!(!project.path().join("FIRST").exists(), "{step}");
        assert!(!project.path().join("PWNED").exists(), "{step}");
    }
}

#[test]
fn a_package_is_no_option() {
    let project = answered(
        "  - packages: ['{{ title }}']\n    packageManager: npm\n",
        "left --registry=x",
    );
    let ran = project.run("run own --answers ./ans.json");
    assert_eq!(ran.exit, 1);
    assert!(
        ran.err.contains("is an option, not a package"),
        "{}",
        ran.err
    );
}
