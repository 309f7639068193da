//! Commands: after the files, in order or at once, undone when they fail.

use std::time::Instant;

use crate::check::{Person, recipe, steps};
use recipe::{RecipeErrorKind, RecipeTrust};

#[test]
fn files_are_there_before_commands_run() {
    let ran = steps("  - name: first\n    command: cat a > copy && pwd > where\n    cwd: sub\n    env: { X: '{{ 1 + 1 }}' }\n  - name: second\n    template: a\n  - name: third\n    command: echo $X$Y > env\n    environment: { X: one, Y: two }\n")
        .template("a.jig", "---\nto: sub/a\n---\nhello\n")
        .run();
    ran.done();
    assert_eq!(ran.text("sub/copy"), "hello\n");
    assert_eq!(ran.text("env"), "onetwo\n");
    assert!(ran.text("sub/where").trim().ends_with("/sub"));
    let commands = &ran.done().commands;
    assert_eq!(commands.len(), 2);
    assert!(commands.iter().all(|command| command.succeeded));
}

#[test]
fn sh_gets_the_body_and_may_fail() {
    let ran = steps("  - template: [a, b]\n")
        .template("a.jig", "---\nto: a\nsh: cat > body\n---\nthe body\n")
        .template("b.jig", "---\nsh: exit 3\nsh_ignore_exit: true\n---\n")
        .run();
    ran.done();
    assert_eq!(ran.text("body"), "the body\n");
    assert!(!ran.done().commands[1].succeeded);
}

#[test]
fn a_failed_command_puts_everything_back() {
    let ran = recipe("name: it\nonError: 'It failed: {{ result.errors[0].slice(0, 9) }}'\nsteps:\n  - name: files\n    template: [a, b, c]\n  - name: ok\n    command: echo fine\n  - name: bad\n    command: echo out; echo why >&2; exit 3\n  - name: never\n    command: touch never\n")
        .template("a.jig", "---\nto: deep/er/a\n---\nnew\n")
        .template("b.jig", "---\nto: b\nforce: true\n---\nnew\n")
        .template("c.jig", "---\nto: c\ninject: true\nappend: true\n---\nnew\n")
        .file("b", "old\n")
        .file("c", "old\n")
        .run();
    let error = ran.failed();
    assert_eq!(error.kind(), RecipeErrorKind::Command);
    let text = error.report();
    for part in [
        "step `bad`",
        "exited with code 3",
        "why",
        "All files are as before",
        "`echo fine`",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(error.on_error(), Some("It failed: step `bad"));
    assert_eq!(error.diagnostics()[0].place.unwrap().line, 8);
}

#[test]
fn a_failure_that_may_happen_is_reported_and_the_run_goes_on() {
    let ran = steps("  - name: bad\n    command: exit 1\n    continueOnError: true\n  - name: broken\n    template: none\n    continueOnError: true\n  - name: good\n    command: touch good\n")
        .run();
    ran.done();
    assert!(ran.exists("good"));
    assert!(!ran.done().commands[0].succeeded);
    let steps = serde_json::to_value(&ran.done().steps).unwrap();
    assert_eq!(steps[1]["status"], "failed");
}

#[test]
fn a_command_may_be_tried_again_and_is_not_by_default() {
    let count = "echo x >> tries; test $(wc -l < tries) -ge 2";
    let once = steps(&format!("  - command: {count:?}\n"))
        .file("tries", "")
        .run();
    assert!(once.outcome.is_err());
    assert_eq!(once.text("tries"), "x\n");
    let twice = steps(&format!("  - command: {count:?}\n    retries: 1\n"))
        .file("tries", "")
        .run();
    twice.done();
    assert_eq!(twice.text("tries"), "x\nx\n");
}

#[test]
fn a_command_that_takes_too_long_is_stopped() {
    let begun = Instant::now();
    let ran = steps("  - command: sleep 30\n    timeout: 200ms\n").run();
    assert!(
        ran.failed().to_string().contains("did not end in time"),
        "{}",
        ran.failed()
    );
    assert!(begun.elapsed().as_secs() < 10);
}

/// Each waits for the other, so they only end if they run at the same time.
const MEET: [&str; 2] = [
    "touch one; for i in $(seq 200); do test -e two && exit 0; sleep 0.05; done; exit 1",
    "touch two; for i in $(seq 200); do test -e one && exit 0; sleep 0.05; done; exit 1",
];

#[test]
fn parallel_is_really_parallel() {
    let [one, two] = MEET;
    steps(&format!(
        "  - parallel:\n      - command: {one:?}\n      - command: {two:?}\n"
    ))
    .run()
    .done();
    let marked = format!(
        "  - name: a\n    parallel: true\n    command: {one:?}\n  - name: b\n    parallel: true\n    command: {two:?}\n"
    );
    steps(&marked).run().done();
}

#[test]
fn a_limit_and_a_dependency_make_commands_wait() {
    let [one, two] = MEET.map(|line| line.replace("200", "4"));
    let limited = format!(
        "  - tool: parallel\n    limit: 1\n    steps:\n      - command: {one:?}\n      - command: {two:?}\n"
    );
    assert!(steps(&limited).run().outcome.is_err());
    let waiting = format!(
        "  - name: a\n    parallel: true\n    command: {one:?}\n  - name: b\n    parallel: true\n    dependsOn: [a]\n    command: {two:?}\n"
    );
    assert!(steps(&waiting).run().outcome.is_err());
}

#[test]
fn a_sequence_inside_parallel_keeps_its_order() {
    let ran = steps("  - parallel:\n      - sequence:\n          - command: sleep 0.1; echo 1 >> s\n          - command: echo 2 >> s\n      - command: echo other > o\n")
        .run();
    ran.done();
    assert_eq!(ran.text("s"), "1\n2\n");
    assert_eq!(ran.text("o"), "other\n");
}

#[test]
fn output_is_passed_on_as_it_comes() {
    let ran = steps("  - name: talk\n    command: echo hello\n")
        .person(Person::default())
        .run();
    ran.done();
    let events = ran.host.events.join("\n");
    assert!(
        events.contains("CommandStarted") && events.contains("hello"),
        "{events}"
    );
}

#[test]
fn recipes_from_outside_run_nothing_unless_trusted() {
    let outside = || {
        let mut case = steps("  - template: a\n  - name: shell\n    command: touch ran\n")
            .file(".drawloom/kits/k/kit.yml", "name: k\n")
            .file(".drawloom/kits/k/r/recipe.yml", "name: r\nsteps:\n  - template: a\n  - name: do\n    command: touch ran\n  - name: get\n    packages: [left-pad]\n    packageManager: npm\n    when: 'false'\n")
            .file(".drawloom/kits/k/r/templates/a.jig", "---\nto: a\nsh: touch also\n---\n@ai('k')\n@prompt()\nWhat?\n@end\n@end\n");
        case.recipe = ".drawloom/kits/k/r".to_owned();
        case
    };
    let ran = outside().run();
    let error = ran.failed();
    assert_eq!(error.kind(), RecipeErrorKind::Untrusted);
    let text = error.report();
    for part in ["touch also", "touch ran", "--trust"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let ran = outside()
        .with(|request| request.trust = RecipeTrust::Given)
        .answers(serde_json::json!({ "k": "v" }))
        .run();
    ran.done();
    assert!(ran.exists("ran") && ran.exists("also"));
}

#[test]
fn a_step_that_may_fail_does_not_excuse_another() {
    let ran = steps("  - name: bad\n    command: exit 1\n  - name: soft\n    command: echo x\n    exports: { x: result.stdout }\n    continueOnError: true\n  - template: a\n")
        .template("a.jig", "{{ x }}\n")
        .run();
    assert!(
        ran.failed().to_string().contains("step `bad`"),
        "{}",
        ran.failed()
    );
}

#[test]
fn a_needed_command_that_may_fail_still_gives_its_result() {
    let ran = steps("  - name: soft\n    command: echo out; exit 7\n    exports: { code: result.exitCode }\n    continueOnError: true\n  - template: a\n")
        .template("a.jig", "{{ code }}\n")
        .run();
    ran.assert_files(&[("a", "7\n")]);
}

#[test]
fn a_cancelled_run_leaves_nothing() {
    let cancel = exec::CommandCancel::default();
    cancel.cancel();
    let ran = steps("  - template: a\n  - command: sleep 30\n")
        .template("a.jig", "x\n")
        .with(|request| request.cancel = Some(cancel))
        .run();
    assert!(
        ran.failed().to_string().contains("cancelled"),
        "{}",
        ran.failed()
    );
}
