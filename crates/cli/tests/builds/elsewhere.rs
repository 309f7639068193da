//! A machine that dies: another one, with the database on a server and a clone, goes on with its builds
//! and its agents' tasks from the last committed turn.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::build_fixture::{BUILDING, BuildFixture, PLAN, PLANNING, PROMPT, git, stands, writes};
use crate::model::{ModelScript, ScriptedLine};
use crate::project::ProgramOutput;
use crate::server::ClusterServer;
use crate::task_fixture::result;

/// A project on one machine, which shares a database and a remote with others.
struct SharedProject {
    yard: BuildFixture,
    address: String,
    remote: TempDir,
}

/// A machine with a clone and nothing else.
struct OtherMachine<'a> {
    shared: &'a SharedProject,
    folder: TempDir,
}

impl SharedProject {
    fn new(server: &ClusterServer, name: &str, script: ModelScript) -> SharedProject {
        let yard = BuildFixture::new(script);
        let remote = tempfile::tempdir().unwrap();
        let bare = remote.path().to_str().unwrap();
        yard.git(&["clone", "--quiet", "--bare", ".", bare]);
        yard.git(&["remote", "add", "origin", bare]);
        SharedProject {
            yard,
            address: server.database(name),
            remote,
        }
    }

    fn start(&self, line: &str) -> Child {
        let mut command = self.yard.command(line);
        command.env("DRAWLOOM_DATABASE_URL", &self.address);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    fn run(&self, line: &str) -> ProgramOutput {
        let mut command = self.yard.command(line);
        command.env("DRAWLOOM_DATABASE_URL", &self.address);
        ProgramOutput::from(command.output().unwrap())
    }

    /// The first machine is gone, with all that was on it.
    fn lose(&self) -> OtherMachine<'_> {
        let settings = self.yard.project.read("drawloom.toml");
        for entry in std::fs::read_dir(self.yard.path()).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => std::fs::remove_dir_all(path).unwrap(),
                false => std::fs::remove_file(path).unwrap(),
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let clone = folder.path().join("clone");
        let remote = self.remote.path().to_str().unwrap();
        git(
            folder.path(),
            &["clone", "--quiet", remote, clone.to_str().unwrap()],
        );
        git(&clone, &["config", "user.name", "Another"]);
        git(&clone, &["config", "user.email", "another@example.org"]);
        let (first, second) = (self.yard.cache(), folder.path().join("cache"));
        let settings = settings.replace(first.to_str().unwrap(), second.to_str().unwrap());
        std::fs::write(clone.join("drawloom.toml"), settings).unwrap();
        OtherMachine {
            shared: self,
            folder,
        }
    }
}

impl OtherMachine<'_> {
    fn clone(&self) -> PathBuf {
        self.folder.path().join("clone")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.shared.yard.command(line);
        command
            .current_dir(self.clone())
            .env("DRAWLOOM_TRUST_PROJECTS", self.clone())
            .env("DRAWLOOM_DATABASE_URL", &self.shared.address);
        command
    }

    #[track_caller]
    fn ends(&self, line: &str, exit: i32) -> ProgramOutput {
        let ran = ProgramOutput::from(self.command(line).output().unwrap());
        assert_eq!(ran.exit, exit, "{line}\n{}\n{}", ran.out, ran.err);
        ran
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "waited for {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn slow() -> ModelScript {
    vec![
        (PLANNING, vec![ScriptedLine::Text(PLAN)]),
        (
            BUILDING,
            vec![
                writes("bad one\n"),
                ScriptedLine::Slowly(300, Box::new(ScriptedLine::Text("Done."))),
                ScriptedLine::Slowly(300, Box::new(writes("good\n"))),
                ScriptedLine::Slowly(300, Box::new(ScriptedLine::Text("Mended."))),
            ],
        ),
    ]
}

#[test]
fn a_build_goes_on_from_another_clone_wherever_its_machine_died() {
    let server = ClusterServer::start();
    for (number, (status, words)) in [
        ("generating", "is writing"),
        ("validating", "Running the check `test`"),
        ("repairing", "is fixing"),
        ("publishing", "on the branch"),
    ]
    .into_iter()
    .enumerate()
    {
        let shared = SharedProject::new(&server, &format!("b{number}"), slow());
        let stands = stands(status);
        let pieces = [stands[0].as_str(), stands[1].as_str(), words];
        let line = format!("build '{PROMPT}' --yes --json");
        let mut command = shared.yard.command(&line);
        command.env("DRAWLOOM_DATABASE_URL", &shared.address);
        let mut child = BuildFixture::read_until(command, &pieces);
        child.kill().unwrap();
        child.wait().unwrap();
        let context = format!("killed while {status} ({words})");
        assert!(
            !shared.yard.path().join(".drawloom/drawloom.db").exists(),
            "{context}: nothing is kept beside the server"
        );

        let other = shared.lose();
        let result = result(&other.ends("build --resume last --json", 0));
        assert_eq!(result["status"], "completed", "{context}: {result}");
        let branch = result["result"]["branch"].as_str().unwrap();
        let file = git(&other.clone(), &["show", &format!("{branch}:a.txt")]);
        assert_eq!(file, "good", "{context}");
        let asked = shared.yard.model.received();
        assert!((5..=6).contains(&asked.len()), "{context}: {}", asked.len());
        let lost = asked
            .iter()
            .any(|asked| asked.to_string().contains("was lost"));
        assert!(!lost, "{context}: the files were put back");
        let listed = other.ends("builds list --json", 0);
        let listed: Value = serde_json::from_str(&listed.out).unwrap();
        assert_eq!(listed["builds"][0]["status"], "completed", "{context}");
    }
}

const TASK_WORDS: &str = "Write two files";

#[test]
fn an_agents_task_goes_on_from_another_clone_with_the_files_it_had_written() {
    let server = ClusterServer::start();
    let write = |path: &str| {
        let call = json!({ "path": path, "content": format!("{path} by the agent\n") });
        ScriptedLine::Calls(vec![("write_file", call)])
    };
    let script = vec![(
        TASK_WORDS,
        vec![
            write("one.txt"),
            ScriptedLine::Slowly(700, Box::new(write("two.txt"))),
            ScriptedLine::Text("Done."),
        ],
    )];
    let shared = SharedProject::new(&server, "tasks", script);
    let config = json!({ "handler": "code_generation", "prompt": TASK_WORDS,
        "retry": { "attempts": 5, "delay": "50ms", "maxDelay": "100ms" } });
    let text = format!(
        "graph TD\n A[Write]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"
    );
    shared.yard.project.write("w.mmd", &text);
    let begun = shared.run("workflow start w.mmd");
    assert_eq!(begun.exit, 0, "{}{}", begun.out, begun.err);
    let mut worker = shared.start("worker --lease 500ms");
    // The second question is under way, so that the first turn is committed.
    wait_until("the second question", || {
        shared.yard.model.received().len() == 2
    });
    worker.kill().unwrap();
    worker.wait().unwrap();

    let other = shared.lose();
    let ran = other.ends("runs resume last --wait --json", 0);
    assert_eq!(result(&ran)["status"], "completed", "{}", ran.out);
    for file in ["one.txt", "two.txt"] {
        let text = std::fs::read_to_string(other.clone().join(file));
        assert_eq!(text.unwrap(), format!("{file} by the agent\n"));
    }
    let asked = shared.yard.model.received();
    let first = asked
        .iter()
        .filter(|asked| !asked.to_string().contains("one.txt by"));
    assert_eq!(
        first.count(),
        1,
        "the committed turn is not asked for again"
    );
}

/// The process that began the plan died with its machine, and no one types `--resume`.
#[test]
fn a_worker_with_another_clone_ends_a_plan_with_the_files_of_all_its_tasks() {
    let server = ClusterServer::start();
    let write = |path: &str| {
        let call = json!({ "path": path, "content": format!("{path} by the agent\n") });
        ScriptedLine::Calls(vec![("write_file", call)])
    };
    let done = || ScriptedLine::Text("Done.");
    let script = vec![
        (
            "Write the second file",
            vec![
                write("two.txt"),
                ScriptedLine::Slowly(700, Box::new(write("three.txt"))),
                done(),
            ],
        ),
        ("Write the first file", vec![write("one.txt"), done()]),
    ];
    let shared = SharedProject::new(&server, "plans", script);
    let settings = shared.yard.project.read("drawloom.toml");
    let settings = format!("{settings}\n[workflows]\nlease_seconds = 1\n");
    shared.yard.project.write("drawloom.toml", &settings);
    let plan = json!({ "tasks": [
        { "subtask_id": "first", "type": "code_generation", "description": "Write the first file" },
        { "subtask_id": "second", "type": "code_generation", "description": "Write the second file",
          "output_artifacts": ["one.txt", "three.txt"], "depends_on": ["first"] },
    ]});
    let plan = plan.to_string();
    shared.yard.project.write("plan.json", &plan);
    let mut begun = shared.start("run plan.json");
    wait_until("the second turn of the second task", || {
        shared.yard.model.received().len() == 4
    });
    begun.kill().unwrap();
    begun.wait().unwrap();

    let other = shared.lose();
    other.ends("worker --until-idle", 0);
    for file in ["one.txt", "two.txt", "three.txt"] {
        let text = std::fs::read_to_string(other.clone().join(file));
        assert_eq!(text.unwrap(), format!("{file} by the agent\n"));
    }
    std::fs::write(other.clone().join("plan.json"), plan).unwrap();
    let asked = shared.yard.model.received().len();
    let ran = other.ends("run plan.json --resume --json", 0);
    assert_eq!(result(&ran)["status"], "completed", "{}", ran.out);
    assert_eq!(
        shared.yard.model.received().len(),
        asked,
        "nothing is done again"
    );
}

#[test]
fn a_database_that_is_named_is_obeyed_by_every_command_of_builds() {
    let server = ClusterServer::start();
    let shared = SharedProject::new(&server, "named", crate::build_fixture::well());
    let address = &shared.address;
    let line = format!("build '{PROMPT}' --plan-only --json --database '{address}'");
    shared.yard.ends(&line, 0);
    assert!(!shared.yard.path().join(".drawloom/drawloom.db").exists());
    let listed = shared.yard.ends("builds list --json", 0);
    assert!(listed.out.contains("\"builds\": []"), "{}", listed.out);
    let shown = format!("builds show last --json --database '{address}'");
    assert!(shared.yard.ends(&shown, 0).out.contains("plan_ready"));
    let gone = "builds list --database postgres://ada@127.0.0.1:9/x";
    let refused = shared.yard.ends(gone, 1);
    assert!(refused.err.contains("cannot be reached"), "{}", refused.err);
    assert!(Path::new(&shared.yard.path().join("a.txt")).exists());
}
