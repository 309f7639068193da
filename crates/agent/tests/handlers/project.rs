//! A project, a scripted model and everything handlers are handed; one way to run a task or plan.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent::handlers::{
    self, Bench, Chosen, Models, Order, TaskEvent, TaskFailure, TaskLimits, TaskObserver,
    TaskResult,
};
use agent::plan::{self, MemoryPlan, PlanOutcome};
use agent::task::{self, ModelPreference, Task};
use agent::tools::{CommandSettings, Commands, standard};
use agent::{Cancel, Clock, Error, Event, Journal, Limits, Memory, Observer, Toolset};
use exec::sandbox::Requirement;
use llm::{Client, Endpoint, Format, Model, Provider, Secret};
use serde_json::Value;
use workspace::{Policy, RelPath, Workspace};

use crate::scripted::{Act, Scripted};

pub(crate) struct Ticks(AtomicU64);

impl Clock for Ticks {
    fn now_ms(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Keeps events as JSON, as `--json` would print them.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) events: Vec<Value>,
}

impl Observer for Recorder {
    fn notice(&mut self, event: &Event<'_>) {
        self.events.push(serde_json::to_value(event).unwrap());
    }
}

impl TaskObserver for Recorder {
    fn notice_task(&mut self, event: &TaskEvent<'_>) {
        self.events.push(serde_json::to_value(event).unwrap());
    }
}

impl Recorder {
    pub(crate) fn all(&self, name: &str) -> Vec<&Value> {
        let events = self.events.iter();
        events.filter(|event| event["event"] == name).collect()
    }
}

/// The scripted model, under the name the task prefers.
struct OneModel(Arc<dyn Model>);

impl Models for OneModel {
    fn choose(&self, preference: Option<&ModelPreference>) -> Result<Chosen, Error> {
        let preference = preference.cloned().unwrap_or_default();
        Ok(Chosen {
            model: Arc::clone(&self.0),
            name: preference.model.unwrap_or_else(|| "scripted".to_owned()),
            max_tokens: preference.max_tokens.unwrap_or(1_000),
            temperature: preference.temperature,
        })
    }
}

pub(crate) struct Project {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: Scripted,
    models: OneModel,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) toolset: Toolset,
    pub(crate) limits: Limits,
    pub(crate) task_limits: TaskLimits,
    clock: Ticks,
    pub(crate) cancel: Cancel,
    search_path: OsString,
    pub(crate) journal: Memory,
    pub(crate) plan_journal: MemoryPlan,
    pub(crate) recorder: Recorder,
}

impl Project {
    pub(crate) fn new(format: Format, script: Vec<Act>) -> Project {
        let dir = tempfile::tempdir().unwrap();
        let server = Scripted::start(format, script);
        let models = OneModel(model(&server));
        let limits = workspace::Limits::default();
        let workspace = Workspace::open(dir.path(), Policy::default(), limits).unwrap();
        let workspace = Arc::new(workspace);
        let settings = CommandSettings {
            sandbox: Requirement::None,
            ..CommandSettings::default()
        };
        let toolset = standard(&workspace, Commands::Allowed(settings)).unwrap();
        Project {
            dir,
            server,
            models,
            workspace,
            toolset,
            limits: Limits::default(),
            task_limits: TaskLimits::default(),
            clock: Ticks(AtomicU64::new(1_000)),
            cancel: Cancel::default(),
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            journal: Memory::default(),
            plan_journal: MemoryPlan::default(),
            recorder: Recorder::default(),
        }
    }

    /// With another script, as if the provider had been changed between two runs.
    pub(crate) fn answering(mut self, script: Vec<Act>) -> Project {
        self.server = Scripted::start(self.server.format, script);
        self.models = OneModel(model(&self.server));
        self
    }

    pub(crate) fn with_file(self, path: &str, content: &str) -> Project {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// The file's text, `None` if it is not there.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join(path)).ok()
    }

    pub(crate) async fn run(&mut self, task: &Value) -> Result<TaskResult, TaskFailure> {
        let mut journal = self.journal.clone();
        self.run_with(task, &mut journal).await
    }

    pub(crate) async fn run_with(
        &mut self,
        task: &Value,
        journal: &mut dyn Journal,
    ) -> Result<TaskResult, TaskFailure> {
        let task = read(task);
        let (bench, recorder) = self.bench();
        handlers::run(&bench, Order::new(&task), journal, recorder).await
    }

    /// Runs the plan in `plan.json`.
    pub(crate) async fn run_plan(&mut self) -> PlanOutcome {
        let path = RelPath::parse("plan.json").unwrap();
        let plan = plan::load(&self.workspace, &path).unwrap();
        let mut journal = self.plan_journal.clone();
        let (bench, recorder) = self.bench();
        plan::run(&bench, &plan, &mut journal, recorder)
            .await
            .unwrap()
    }

    fn bench(&mut self) -> (Bench<'_>, &mut Recorder) {
        let bench = Bench {
            models: &self.models,
            workspace: &self.workspace,
            toolset: &self.toolset,
            limits: &self.limits,
            task_limits: &self.task_limits,
            clock: &self.clock,
            cancel: &self.cancel,
            search_path: &self.search_path,
        };
        (bench, &mut self.recorder)
    }

    /// What the model was sent in request `at`, as one text.
    pub(crate) fn sent(&self, at: usize) -> String {
        self.server.sent(at).join("\n")
    }
}

#[track_caller]
pub(crate) fn read(task: &Value) -> Task {
    let text = serde_json::to_string_pretty(task).unwrap();
    task::read(&text, "task.json").unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn model(server: &Scripted) -> Arc<dyn Model> {
    let provider = match server.format {
        Format::Anthropic => Provider::Anthropic,
        Format::OpenAi => Provider::OpenAi,
        Format::Gemini => Provider::Google,
    };
    let mut endpoint = Endpoint::new(provider, Some(Secret::new("key")));
    endpoint.base_url = Some(server.url.clone());
    Arc::new(Client::new(&endpoint, llm::Limits::default()).unwrap())
}
