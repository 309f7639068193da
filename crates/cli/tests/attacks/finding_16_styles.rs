//! Findings 16 and 19: hostile text concealed itself in dry runs and diffs, and `--json` had raw C1
//! and bidi characters.

use crate::project::CliProject;

const HOSTILE: &str =
    "npx prettier . \u{1b}[8m; id > PWN #\u{1b}[0m \u{9b}8m \u{202e}txt \u{1b}[31;41mred";

fn project() -> CliProject {
    let project = CliProject::empty();
    project.write("drawloom.toml", "");
    let command = serde_json::to_string(&format!("echo {HOSTILE}")).unwrap();
    // JSON escapes only C0, and YAML takes no C1.
    let command = command.replace('\u{9b}', "\\u009b");
    project.write(
        ".drawloom/recipes/it/recipe.yml",
        &format!("name: it\nsteps:\n  - command: {command}\n  - template: t.jig\n"),
    );
    project.write(
        ".drawloom/recipes/it/t.jig",
        &format!("---\nto: made.txt\n---\n{HOSTILE}\n"),
    );
    project
}

#[test]
fn a_dry_run_conceals_nothing() {
    let ran = project().run("run it --dry-run --color always");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(
        ran.out
            .contains("# run: echo npx prettier . \u{fffd}[8m; id > PWN"),
        "{:?}",
        ran.out
    );
    for text in [&ran.out, &ran.err] {
        for raw in ["\u{1b}[8m", "\u{9b}", "\u{202e}", "\u{1b}[31;41m"] {
            assert!(!text.contains(raw), "{raw:?} in {text:?}");
        }
    }
}

/// A stranger's text gets no colours of ours either: a coloured word is worth something only if
/// it is Drawloom's own.
#[test]
fn lists_and_descriptions_have_no_styles_of_others() {
    let project = CliProject::empty();
    project.write("drawloom.toml", "");
    project.write(
        ".drawloom/recipes/it/recipe.yml",
        "name: it\ndescription: \"\\e[35mverified\\e[0m\"\nexamples:\n  - title: \"\\e[35mtick\"\n\
         steps:\n  - command: \"echo \\e[35mfine\"\n",
    );
    for line in ["recipe list", "recipe info it", "trust show"] {
        let ran = project.run(&format!("{line} --color always"));
        assert_eq!(ran.exit, 0, "{line}: {}", ran.err);
        assert!(!ran.out.contains("\u{1b}[35m"), "{line}: {:?}", ran.out);
        assert!(ran.out.contains("\u{fffd}[35m"), "{line}: {:?}", ran.out);
    }
}

#[test]
fn a_program_gets_the_diff_as_it_is() {
    let ran = project().run("run it --dry-run --color never");
    assert!(ran.out.contains('\u{202e}'), "{:?}", ran.out);
}

#[test]
fn json_escapes_what_a_terminal_obeys() {
    let ran = project().run("run it --dry-run --json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let raw = |c: char| matches!(c, '\u{80}'..='\u{9f}' | '\u{1b}' | '\u{202a}'..='\u{202e}');
    assert!(!ran.out.contains(raw), "{:?}", ran.out);
    assert!(ran.out.contains(r"\u009b8m \u202e"), "{:?}", ran.out);
    let value: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(value.to_string().contains('\u{202e}'));
}
