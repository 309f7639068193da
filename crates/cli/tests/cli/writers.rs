//! Many processes at once: every line, every record and every kept answer arrives.

use std::process::{Child, Stdio};

use crate::project::ExpectedText::{Anything, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

/// As many as an agent or a build tool starts at a time, and more.
const PROCESSES: usize = 32;

const RECIPE: &str = "\
name: add
variables:
  name: { type: string, required: true, position: 0 }
steps:
  - template: line.jig
  - file: package.json
    merge: { scripts: { '{{ name }}': 'run {{ name }}' } }
  - template: own.jig
";
const LINE: &str =
    "---\nto: src/index.ts\ninject: true\nappend: true\n---\nexport * from \"./{{ name }}\";\n";
const OWN: &str = "---\nto: \"src/{{ name }}.ts\"\n---\nexport const {{ name }} = 1;\n";

fn project() -> CliProject {
    CliProject::with(&[
        (".drawloom/recipes/add/recipe.yml", RECIPE),
        (".drawloom/recipes/add/line.jig", LINE),
        (".drawloom/recipes/add/own.jig", OWN),
        ("src/index.ts", "// all\n"),
        ("package.json", "{\n  \"scripts\": {}\n}\n"),
    ])
}

fn start(project: &CliProject, line: &str) -> Child {
    let mut command = project.command(line);
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn end_all(children: Vec<Child>, exit: i32) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(exit), "{said}");
    }
}

#[test]
fn injections_patches_and_records_of_many_processes_all_arrive() {
    let project = project();
    let names: Vec<String> = (0..PROCESSES).map(|number| format!("m{number}")).collect();
    let runs = names
        .iter()
        .map(|name| start(&project, &format!("run add {name}")));
    end_all(runs.collect(), 0);
    let index = project.read("src/index.ts");
    let package = project.read("package.json");
    let record = project.read(".drawloom/generated/add.json");
    for name in &names {
        assert!(index.contains(&format!("\"./{name}\"")), "{name}: {index}");
        assert!(
            package.contains(&format!("\"{name}\": ")),
            "{name}: {package}"
        );
        assert!(record.contains(&format!("\"src/{name}.ts\"")), "{name}");
    }
    assert_eq!(index.lines().count(), PROCESSES + 1);
    // Nothing of the waiting is left behind.
    assert!(!project.path().join(".drawloom/apply").exists());
}

#[test]
fn kept_answers_of_many_processes_are_all_kept() {
    let project = CliProject::with(&[
        (
            ".drawloom/recipes/ask/recipe.yml",
            "name: ask\nsteps:\n  - template: ask.jig\n",
        ),
        (
            ".drawloom/recipes/ask/ask.jig",
            "---\nto: a.txt\n---\n@ai('word')\n@prompt()\nA word?\n@end\n@end\n",
        ),
        (
            "drawloom.toml",
            "[ai]\nmode = \"command\"\ncommand = \"echo '{\\\"word\\\":\\\"w\\\"}'\"\n",
        ),
    ]);
    let runs = (0..8).map(|_| start(&project, "run ask --dry-run"));
    end_all(runs.collect(), 0);
    let kept = std::fs::read_dir(project.path().join(".drawloom/answers")).unwrap();
    assert_eq!(kept.count(), 8);
}

#[test]
fn a_command_may_run_drawloom_in_the_same_project() {
    let binary = assert_cmd::cargo::cargo_bin!("drawloom");
    let outer = format!(
        "name: outer\nsteps:\n  - template: o.jig\n  - command: {0} run add a & {0} run add b; wait\n",
        binary.display()
    );
    let project = project();
    project.write(".drawloom/recipes/outer/recipe.yml", &outer);
    project.write(
        ".drawloom/recipes/outer/o.jig",
        "---\nto: outer.txt\n---\nx\n",
    );
    check(
        &project,
        "run outer",
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Has(&["created", "outer.txt"]),
        },
    );
    let index = project.read("src/index.ts");
    assert!(
        index.contains("\"./a\"") && index.contains("\"./b\""),
        "{index}"
    );
}

#[test]
fn a_writer_that_does_not_end_is_named() {
    let project = project();
    project.write(
        ".drawloom/recipes/slow/recipe.yml",
        "name: slow\nsteps:\n  - command: touch begun; sleep 30\n",
    );
    project.write("drawloom.toml", "[run]\nwait_ms_max = 300\n");
    let mut slow = start(&project, "run slow");
    while !project.path().join("begun").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    check(
        &project,
        "run add x",
        ExpectedRun {
            exit: 1,
            out: Nothing,
            err: Has(&[
                "E_LOCKED",
                "`drawloom run slow` (process ",
                "run.wait_ms_max (300 ms)",
            ]),
        },
    );
    slow.kill().unwrap();
    slow.wait().unwrap();
    check(
        &project,
        "run add x",
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Anything,
        },
    );
}
