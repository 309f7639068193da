//! A repository that is set up for a scripted model, and a forge to publish to.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::model::{FakeProvider, ModelScript, ScriptedFormat, ScriptedLine};
use crate::peer::{Emulator, GitServer, TOKEN};
use crate::project::{CliProject, ProgramOutput};
use crate::task_fixture::{project, result};

pub(crate) const PROMPT: &str = "say something better in the file";
/// Texts in the prompts of the planner and of the builder.
pub(crate) const PLANNING: &str = "You plan one piece of work";
pub(crate) const BUILDING: &str = "carries out one approved plan";

pub(crate) const PLAN: &str = r#"{
  "summary": "The file says something better.",
  "taskType": "refactor",
  "files": [{"path": "a.txt", "action": "modify", "description": "Says it."}],
  "contextFiles": ["README.md"]
}"#;

/// Fails once for each line of `a.txt` that begins with `bad`, as a linter would.
const CHECK: &str = "n=0; f=\nwhile read -r l; do n=$((n+1)); case \"$l\" in bad*) \
                     echo \"a.txt:$n:1: $l\"; f=1;; esac; done < a.txt\ntest -z \"$f\"\n";

/// A repository, its model, and a place for worktrees.
pub(crate) struct BuildFixture {
    pub(crate) project: CliProject,
    pub(crate) model: FakeProvider,
    cache: TempDir,
    token: Option<&'static str>,
}

/// The plan above, and then what the builder says.
pub(crate) fn script(building: Vec<ScriptedLine>) -> ModelScript {
    vec![
        (PLANNING, vec![ScriptedLine::Text(PLAN)]),
        (BUILDING, building),
    ]
}

pub(crate) fn writes(content: &str) -> ScriptedLine {
    ScriptedLine::Calls(vec![(
        "write_file",
        json!({"path": "a.txt", "content": content}),
    )])
}

/// What goes well at once.
pub(crate) fn well() -> ModelScript {
    script(vec![
        writes("better\n"),
        ScriptedLine::Text("It is better now."),
    ])
}

impl BuildFixture {
    /// A repository in which this model works.
    pub(crate) fn new(script: ModelScript) -> BuildFixture {
        BuildFixture::with(script, "")
    }

    /// The same, with more settings.
    pub(crate) fn with(script: ModelScript, settings: &str) -> BuildFixture {
        let model = FakeProvider::start(ScriptedFormat::OpenAi, script);
        let cache = tempfile::tempdir().unwrap();
        let more = format!(
            "[builder]\nfolder = {:?}\n\n[builder.checks]\nlint = \"true\"\n\
             test = \"sh check.sh\"\n\n{settings}",
            cache.path()
        );
        let project = project(ScriptedFormat::OpenAi, &model, &more);
        project.write("a.txt", "start\n");
        project.write("README.md", "# A project\n");
        project.write("check.sh", CHECK);
        project.write(".gitignore", ".drawloom/\ndrawloom.toml\n");
        let yard = BuildFixture {
            project,
            model,
            cache,
            token: None,
        };
        yard.git(&["init", "--quiet", "-b", "main"]);
        yard.git(&["config", "user.name", "A User"]);
        yard.git(&["config", "user.email", "user@example.org"]);
        yard.git(&["add", "--all"]);
        yard.git(&["commit", "--quiet", "-m", "first"]);
        yard
    }

    /// The same model address from now on, answered by another.
    pub(crate) fn change_model(&mut self, script: ModelScript) {
        let model = FakeProvider::start(ScriptedFormat::OpenAi, script);
        let settings = self.project.read("drawloom.toml");
        let settings = settings.replace(&self.model.url, &model.url);
        self.project.write("drawloom.toml", &settings);
        self.model = model;
    }

    pub(crate) fn path(&self) -> &Path {
        self.project.path()
    }

    /// Git as the user runs it.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.path(), args)
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.project.command(line);
        match self.token {
            Some(token) => command.env("GITHUB_TOKEN", token),
            None => command.env_remove("GITHUB_TOKEN"),
        };
        command
    }

    pub(crate) fn run(&self, line: &str) -> ProgramOutput {
        ProgramOutput::from(self.command(line).output().unwrap())
    }

    /// Runs it and checks how it ends; what it says is in the context of failures.
    #[track_caller]
    pub(crate) fn ends(&self, line: &str, exit: i32) -> ProgramOutput {
        let ran = self.run(line);
        let (out, err) = (&ran.out, &ran.err);
        assert_eq!(
            ran.exit, exit,
            "{line}\n--- stdout\n{out}\n--- stderr\n{err}"
        );
        ran
    }

    /// The result of a `--json` run that ends like this.
    #[track_caller]
    pub(crate) fn result(&self, line: &str, exit: i32) -> Value {
        result(&self.ends(line, exit))
    }

    /// The newest build, as it is kept.
    #[track_caller]
    pub(crate) fn last(&self) -> Value {
        let ran = self.ends("builds show last --json", 0);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// What is in a file at a revision.
    pub(crate) fn at(&self, revision: &str, path: &str) -> String {
        self.git(&["show", &format!("{revision}:{path}")])
    }

    /// How many worktrees there are beside the user's checkout, for git and on the disk.
    pub(crate) fn worktrees(&self) -> (usize, usize) {
        let listed = self.git(&["worktree", "list", "--porcelain"]);
        let listed = listed.matches("worktree ").count() - 1;
        let mut there = 0;
        for owner in folders(&self.cache.path().join("builds")) {
            there += folders(&owner.join("worktrees")).len();
        }
        (listed, there)
    }

    /// Every file of the user with its bytes: the checkout, the index, the branches, the stash.
    pub(crate) fn users(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut tree = self.project.tree();
        // What commits and worktrees add, and what is drawloom's own.
        tree.retain(|path, _| {
            let path = path.to_str().unwrap();
            let added = [".git/objects/", ".git/worktrees/", ".drawloom/"];
            let ours = ["/builder/", "/draft/"];
            !added.iter().any(|folder| path.starts_with(folder))
                && !ours.iter().any(|folder| path.contains(folder))
        });
        tree
    }

    /// Starts a command and reads its events until one has all of these pieces in it.
    pub(crate) fn until(&self, line: &str, pieces: &[&str]) -> Child {
        BuildFixture::read_until(self.command(line), pieces)
    }

    /// The folder of worktrees and caches.
    pub(crate) fn cache(&self) -> &Path {
        self.cache.path()
    }

    pub(crate) fn read_until(mut command: Command, pieces: &[&str]) -> Child {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap() == 0 {
                let output = child.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                panic!("{pieces:?} never came:\n{seen}\n{said}");
            }
            seen.push_str(&line);
            if pieces.iter().all(|piece| line.contains(piece)) {
                break;
            }
        }
        // What is not read any more must not stop it.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        child
    }
}

/// The events that say that a build has come to a status.
pub(crate) fn stands(status: &str) -> [String; 2] {
    [
        "builder.progress".to_owned(),
        format!("\"status\":\"{status}\""),
    ]
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

#[track_caller]
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(dir)
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// A real git server and an emulated GitHub, as the `origin` of a repository.
pub(crate) struct TestForge {
    root: TempDir,
    _server: GitServer,
    pub(crate) github: Emulator,
}

impl TestForge {
    pub(crate) fn of(yard: &mut BuildFixture) -> TestForge {
        let root = tempfile::tempdir().unwrap();
        let origin = root.path().join("octo/hello.git");
        let to = origin.to_str().unwrap();
        yard.git(&["clone", "--quiet", "--bare", ".", to]);
        git(&origin, &["config", "http.receivepack", "true"]);
        let server = GitServer::start(root.path(), None);
        let address = format!("http://127.0.0.1:{}/octo/hello.git", server.port);
        yard.git(&["remote", "add", "origin", &address]);
        let github = Emulator::start();
        let settings = yard.project.read("drawloom.toml");
        let forge = format!("\n[builder.forge]\nurl = {:?}\n", github.url);
        yard.project.write("drawloom.toml", &(settings + &forge));
        yard.token = Some(TOKEN);
        TestForge {
            root,
            _server: server,
            github,
        }
    }

    pub(crate) fn origin(&self) -> PathBuf {
        self.root.path().join("octo/hello.git")
    }

    /// The branches that arrived, without `main`.
    pub(crate) fn branches(&self) -> Vec<String> {
        let listed = git(
            &self.origin(),
            &["for-each-ref", "--format=%(refname:short)", "refs/heads"],
        );
        let branches = listed.lines().filter(|name| *name != "main");
        branches.map(str::to_owned).collect()
    }

    /// Lets the remote refuse every push, or no longer.
    pub(crate) fn refuse(&self, words: Option<&str>) {
        match words {
            Some(words) => self.judge(&format!("echo {words:?}\nexit 1\n")),
            None => std::fs::remove_file(self.hook()).unwrap(),
        }
    }

    /// Lets a script judge every push at the remote.
    pub(crate) fn judge(&self, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let hook = self.hook();
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, format!("#!/bin/sh\n{script}")).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn hook(&self) -> PathBuf {
        self.origin().join("hooks/pre-receive")
    }

    pub(crate) fn pulls(&self) -> Vec<Value> {
        let pulls = self.github.ask("pulls?state=all");
        pulls.as_array().unwrap().clone()
    }
}
