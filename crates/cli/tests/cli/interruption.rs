//! Killed at any moment of an apply, the project is as before or as after, never between.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::project::ExpectedText::Anything;
use crate::project::{CliProject, ExpectedRun, check};

const FILES: usize = 300;

const RECIPE: &str = "\
name: many
variables:
  text: { type: string, required: true, position: 0 }
  items: { type: array, required: true }
steps:
  - name: file
    template: file.jig
    forEach: items
";

const FILE: &str = "---\nto: \"out/{{ item }}.txt\"\nforce: true\n---\n{{ text }} {{ item }}\n";

fn generated(project: &CliProject) -> BTreeMap<PathBuf, Vec<u8>> {
    project
        .tree()
        .into_iter()
        .filter(|(path, _)| path.starts_with("out"))
        .collect()
}

#[test]
fn a_kill_at_any_moment_leaves_before_or_after() {
    let project = CliProject::with(&[
        (".drawloom/recipes/many/recipe.yml", RECIPE),
        (".drawloom/recipes/many/file.jig", FILE),
    ]);
    let items: Vec<String> = (0..FILES).map(|number| format!("f{number:03}")).collect();
    let items = items.join(",");
    let line = |text: &str| format!("run many {text} --items {items} --force");
    let done = || ExpectedRun {
        exit: 0,
        out: Anything,
        err: Anything,
    };
    check(&project, &line("old"), done());
    let old = generated(&project);
    assert_eq!(old.len(), FILES);
    check(&project, &line("new"), done());
    let new = generated(&project);
    check(&project, &line("old"), done());

    let mut seen_new = 0;
    for wait_us in (0..40).map(|step| step * 1500) {
        let mut command = project.command(&line("new"));
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(wait_us));
        // SIGKILL: nothing of ours runs after it.
        child.kill().unwrap();
        child.wait().unwrap();
        check(&project, "recipe list", done());
        let now = generated(&project);
        if now == new {
            seen_new += 1;
            check(&project, &line("old"), done());
        } else {
            assert!(
                now == old,
                "killed after {wait_us} µs: neither before nor after"
            );
        }
    }
    println!("{seen_new} of 40 kills came after the commit point");
}
