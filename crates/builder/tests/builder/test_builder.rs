//! A git repository, a scripted model and everything builds are handed; one way to run each half.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent::handlers::ChosenModel;
use agent::tools::CommandSettings;
use agent::{AgentClock, AgentEvent, AgentObserver, CommandCancel, Limits};
use builder::validation::ProjectCheck;
use builder::{
    BuildContext, BuildDirectories, BuildJob, BuildObserver, BuildProgress, BuildSettings, JobId,
    JobModels, JobStatus, JobStore, MemoryJobs, Options, PatchFolder, PublishDestination, decide,
    run,
};
use exec::sandbox::SandboxRequirement;
use llm::{Model, Provider, ProviderClient, ProviderEndpoint, Secret, WireFormat};
use serde_json::{Value, json};
use tokio::sync::Notify;
use workspace::{PolicySettings, RelPath};

use crate::mortal::{Death, Mortal};
use crate::scripted::{ScriptedModel, ServerAct, calls, says};

pub(crate) const PROMPT: &str = "add a greeting to the project";

pub(crate) struct Ticks(AtomicU64);

impl AgentClock for Ticks {
    fn now_ms(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Records progress; signals when a job reaches a status with a message.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    pub(crate) progress: Vec<BuildProgress>,
    pub(crate) tools: Vec<Value>,
    pub(crate) bell: Option<(JobStatus, &'static str, Arc<Notify>)>,
}

impl AgentObserver for Recorder {
    fn notice(&mut self, event: &AgentEvent<'_>) {
        if let AgentEvent::ToolFinished { .. } = event {
            self.tools.push(serde_json::to_value(event).unwrap());
        }
    }
}

impl BuildObserver for Recorder {
    fn notice_progress(&mut self, progress: &BuildProgress) {
        self.progress.push(progress.clone());
        if let Some((status, words, bell)) = &self.bell
            && progress.status == *status
            && progress.message.contains(words)
        {
            bell.notify_one();
        }
    }
}

struct OneModel(Arc<dyn Model>);

impl JobModels for OneModel {
    fn choose(&self, _: &Path) -> Result<ChosenModel, agent::Error> {
        Ok(ChosenModel {
            model: Arc::clone(&self.0),
            name: "scripted".to_owned(),
            max_tokens: 4_000,
            temperature: None,
        })
    }
}

pub(crate) struct TestBuilder {
    dir: tempfile::TempDir,
    project: PathBuf,
    pub(crate) server: ScriptedModel,
    models: OneModel,
    pub(crate) jobs: Mortal,
    places: BuildDirectories,
    policy: PolicySettings,
    pub(crate) limits: Limits,
    commands: CommandSettings,
    pub(crate) settings: BuildSettings,
    pub(crate) outlet: PublishDestination,
    clock: Ticks,
    pub(crate) cancel: CommandCancel,
    pub(crate) recorder: Recorder,
}

impl TestBuilder {
    /// A repository with these files, committed, and a model that says this.
    pub(crate) fn new(files: &[(&str, &str)], script: Vec<ServerAct>) -> TestBuilder {
        // Not in `/tmp`, which is another one inside a sandbox.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        TestBuilder::in_folder(dir, files, script)
    }

    pub(crate) fn in_folder(
        dir: tempfile::TempDir,
        files: &[(&str, &str)],
        script: Vec<ServerAct>,
    ) -> TestBuilder {
        let project = dir.path().join("project");
        fs::create_dir(&project).unwrap();
        let place = |name: &str| dir.path().join(name);
        let places = BuildDirectories {
            owner: "tests".to_owned(),
            worktrees: place("worktrees"),
            patches: PatchFolder {
                project: dir.path().to_owned(),
                dir: RelPath::parse("patches").unwrap(),
            },
            cache: place("cache"),
        };
        let server = ScriptedModel::start(WireFormat::Anthropic, script);
        let models = OneModel(model(&server));
        let shop = TestBuilder {
            server,
            models,
            jobs: Mortal::default(),
            places,
            policy: PolicySettings::default(),
            limits: Limits::default(),
            commands: CommandSettings::default(),
            settings: BuildSettings {
                checks: Some(Vec::new()),
                ..BuildSettings::default()
            },
            outlet: PublishDestination::local(),
            clock: Ticks(AtomicU64::new(1_000)),
            cancel: CommandCancel::default(),
            recorder: Recorder::default(),
            dir,
            project,
        };
        shop.git(&["init", "--quiet", "-b", "main"]);
        shop.git(&["config", "user.name", "A User"]);
        shop.git(&["config", "user.email", "user@example.org"]);
        for (path, text) in files {
            shop.write(path, text);
        }
        shop.git(&["add", "--all"]);
        shop.git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
        shop
    }

    /// With one check called `test`.
    pub(crate) fn checking(self, run: &str) -> TestBuilder {
        self.with_checks(&[("test", run)])
    }

    pub(crate) fn with_checks(mut self, checks: &[(&str, &str)]) -> TestBuilder {
        let check = |(name, run): &(&str, &str)| ProjectCheck {
            name: (*name).to_owned(),
            run: (*run).to_owned(),
            cwd: RelPath::root(),
            timeout_seconds: None,
        };
        self.settings.checks = Some(checks.iter().map(check).collect());
        self
    }

    pub(crate) fn detecting(mut self) -> TestBuilder {
        self.settings.checks = None;
        self
    }

    /// In the sandbox that is the default, which all have that say nothing else.
    pub(crate) fn sandboxed(mut self) -> TestBuilder {
        self.commands.sandbox = SandboxRequirement::Auto;
        self
    }

    pub(crate) fn unsandboxed(mut self) -> TestBuilder {
        self.commands.sandbox = SandboxRequirement::None;
        self
    }

    /// With another script, as if the provider had come back.
    pub(crate) fn answering(&mut self, script: Vec<ServerAct>) {
        self.server = ScriptedModel::start(WireFormat::Anthropic, script);
        self.models = OneModel(model(&self.server));
    }

    pub(crate) fn bench(&self) -> BuildContext<'_> {
        BuildContext {
            jobs: &self.jobs,
            authors: &self.models,
            project: &self.project,
            places: &self.places,
            policy: &self.policy,
            files: workspace::Limits::default(),
            limits: &self.limits,
            commands: &self.commands,
            settings: &self.settings,
            outlet: &self.outlet,
            clock: &self.clock,
            cancel: &self.cancel,
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.project.join(path)
    }

    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn make_executable(&self, path: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.project, args)
    }

    /// Returns a file from a branch or commit; `None` if it does not exist there.
    pub(crate) fn at(&self, revision: &str, path: &str) -> Option<String> {
        let output = Command::new("git")
            .current_dir(self.path("."))
            .args(["show", &format!("{revision}:{path}")])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    pub(crate) async fn new_job(&self, prompt: &str, options: Options) -> JobId {
        let salt = self.clock.now_ms();
        let id = JobId::new(1_700_000_000_000, salt);
        let job = BuildJob::new(id.clone(), prompt, options, self.clock.now_ms()).unwrap();
        self.jobs.create(&job).await.unwrap();
        id
    }

    pub(crate) async fn plan(&mut self, options: Options) -> BuildJob {
        let id = self.new_job(PROMPT, options).await;
        let mut recorder = std::mem::take(&mut self.recorder);
        let job = run::plan(&self.bench(), &id, &mut recorder).await.unwrap();
        self.recorder = recorder;
        job
    }

    pub(crate) async fn build(&mut self, id: &JobId) -> BuildJob {
        decide::approve(&self.bench(), id).await.unwrap();
        self.go_on(id).await
    }

    /// Continues a job from any status.
    pub(crate) async fn go_on(&mut self, id: &JobId) -> BuildJob {
        let mut recorder = std::mem::take(&mut self.recorder);
        let job = run::resume(&self.bench(), id, &mut recorder).await.unwrap();
        self.recorder = recorder;
        job
    }

    /// From the sentence to the end.
    pub(crate) async fn run(&mut self, options: Options) -> BuildJob {
        let job = self.plan(options).await;
        assert_eq!(job.status(), JobStatus::PlanReady, "{:?}", job.error);
        self.build(&job.id).await
    }

    /// Runs until a progress message, and then drops everything, as if the process died.
    pub(crate) async fn die_at(&mut self, id: &JobId, at: (JobStatus, &'static str)) {
        let mut recorder = Recorder {
            bell: Some((at.0, at.1, Arc::clone(&self.jobs.bell))),
            ..Recorder::default()
        };
        let died = self.die(id, Death::At(at.0, at.1), &mut recorder).await;
        assert!(died, "it ended before {at:?}: {:#?}", recorder.progress);
    }

    /// Goes on until death, or to the end; says whether it died.
    pub(crate) async fn die(&self, id: &JobId, death: Death, recorder: &mut Recorder) -> bool {
        self.jobs.die(death);
        let bench = self.bench();
        let died = tokio::select! {
            biased;
            () = self.jobs.bell.notified() => true,
            ended = run::resume(&bench, id, recorder) => {
                ended.unwrap();
                false
            }
        };
        self.jobs.die(Death::Never);
        died
    }

    /// Makes the project's remote, and a store that machines share.
    pub(crate) fn shared(mut self) -> TestBuilder {
        let remote = self.beside("remote.git");
        let remote = remote.to_str().unwrap();
        self.git(&["clone", "--quiet", "--bare", ".", remote]);
        self.git(&["remote", "add", "origin", remote]);
        self.outlet.remote = "origin".to_owned();
        self.jobs.inner = MemoryJobs::on_server();
        self
    }

    /// Goes on as another machine, which has the store and a clone of the remote, and nothing else.
    pub(crate) fn move_to(&mut self, machine: &str) {
        let remote = self.beside("remote.git");
        let here = self.beside(&format!("project-{machine}"));
        let (remote, there) = (remote.to_str().unwrap(), here.to_str().unwrap());
        self.git(&["clone", "--quiet", remote, there]);
        // Nothing of the other machine can be reached any more.
        let gone = self.beside(&format!("gone-{machine}"));
        for folder in [&self.project, &self.places.worktrees, &self.places.cache] {
            if folder.exists() {
                fs::create_dir_all(&gone).unwrap();
                fs::rename(folder, gone.join(folder.file_name().unwrap())).unwrap();
            }
        }
        git(&here, &["config", "user.name", "A User"]);
        git(&here, &["config", "user.email", "user@example.org"]);
        self.project = here;
        self.places.worktrees = self.beside(&format!("worktrees-{machine}"));
        self.places.cache = self.beside(&format!("cache-{machine}"));
    }

    /// Number of worktrees that git knows, besides the user's own.
    pub(crate) fn worktrees(&self) -> usize {
        self.git(&["worktree", "list"]).lines().count() - 1
    }

    /// The complete state of the checkout: every file, the index, the branches, the status.
    pub(crate) fn picture(&self) -> String {
        let files = Command::new("sh")
            .current_dir(self.path("."))
            .args([
                "-c",
                "find . -path ./.git -prune -o -type f -print | sort | xargs sha256sum",
            ])
            .output()
            .unwrap();
        let index = fs::read(self.path(".git/index")).unwrap();
        let head = fs::read_to_string(self.path(".git/HEAD")).unwrap();
        let main = self.git(&["rev-parse", "main"]);
        let stash = self.git(&["stash", "list"]);
        let files = String::from_utf8_lossy(&files.stdout).into_owned();
        format!("{files}\n{index:?}\n{head}{main}{stash}")
    }

    pub(crate) fn branches(&self) -> Vec<String> {
        let list = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        list.lines()
            .filter(|name| *name != "main")
            .map(str::to_owned)
            .collect()
    }

    /// The last message to the model, in request `at`.
    pub(crate) fn told(&self, at: usize) -> String {
        let lines = self.server.sent(at);
        lines.last().cloned().unwrap_or_default()
    }
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(dir)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A plan as a model writes it: paths with their actions.
pub(crate) fn plan(kind: &str, files: &[(&str, &str)]) -> Value {
    let files: Vec<Value> = files
        .iter()
        .map(|(path, action)| match action.strip_prefix("rename ") {
            Some(from) => {
                json!({"path": path, "action": "rename", "from": from, "description": "Moves it."})
            }
            None => json!({"path": path, "action": action, "description": "Says it."}),
        })
        .collect();
    json!({"summary": "Greets.", "taskType": kind, "files": files, "contextFiles": []})
}

pub(crate) fn planned(kind: &str, files: &[(&str, &str)]) -> ServerAct {
    says(&plan(kind, files).to_string())
}

pub(crate) fn writes(path: &str, content: &str) -> ServerAct {
    calls(&[("write_file", json!({"path": path, "content": content}))])
}

pub(crate) fn runs(command: &str) -> ServerAct {
    calls(&[("execute_command", json!({"command": command}))])
}

fn model(server: &ScriptedModel) -> Arc<dyn Model> {
    let mut endpoint = ProviderEndpoint::new(Provider::Anthropic, Some(Secret::new("key")));
    endpoint.base_url = Some(server.url.clone());
    Arc::new(ProviderClient::new(&endpoint, llm::Limits::default()).unwrap())
}
