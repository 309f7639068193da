//! A project, a scripted model and everything handlers are handed; one way to run a task or plan.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent::handlers::{
    self, ChosenModel, HandlerContext, ModelChooser, TaskEvent, TaskFailure, TaskInput, TaskLimits,
    TaskObserver, TaskResult,
};
use agent::plan::{self, MemoryPlan, PlanOutcome};
use agent::task::{self, ModelPreference, Task};
use agent::tools::{CommandAccess, CommandSettings, standard};
use agent::{
    AgentClock, AgentEvent, AgentObserver, AgentTools, CommandCancel, Error, Limits, MemoryJournal,
    TurnJournal,
};
use exec::sandbox::SandboxRequirement;
use llm::{Model, Provider, ProviderClient, ProviderEndpoint, Secret, WireFormat};
use serde_json::Value;
use workspace::{AccessPolicy, RelPath, Workspace};

use crate::scripted::{ScriptedModel, ServerAct};

pub(crate) struct TickingClock(AtomicU64);

impl AgentClock for TickingClock {
    fn now_ms(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Keeps events as JSON, as `--json` would print them.
#[derive(Default)]
pub(crate) struct TaskRecorder {
    pub(crate) events: Vec<Value>,
}

impl AgentObserver for TaskRecorder {
    fn notice(&mut self, event: &AgentEvent<'_>) {
        self.events.push(serde_json::to_value(event).unwrap());
    }
}

impl TaskObserver for TaskRecorder {
    fn notice_task(&mut self, event: &TaskEvent<'_>) {
        self.events.push(serde_json::to_value(event).unwrap());
    }
}

impl TaskRecorder {
    pub(crate) fn all(&self, name: &str) -> Vec<&Value> {
        let events = self.events.iter();
        events.filter(|event| event["event"] == name).collect()
    }
}

/// The scripted model, under the name the task prefers.
struct SingleModel(Arc<dyn Model>);

impl ModelChooser for SingleModel {
    fn choose(&self, preference: Option<&ModelPreference>) -> Result<ChosenModel, Error> {
        let preference = preference.cloned().unwrap_or_default();
        Ok(ChosenModel {
            model: Arc::clone(&self.0),
            name: preference.model.unwrap_or_else(|| "scripted".to_owned()),
            max_tokens: preference.max_tokens.unwrap_or(1_000),
            temperature: preference.temperature,
        })
    }
}

pub(crate) struct TaskProject {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: ScriptedModel,
    models: SingleModel,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) toolset: AgentTools,
    pub(crate) limits: Limits,
    pub(crate) task_limits: TaskLimits,
    clock: TickingClock,
    pub(crate) cancel: CommandCancel,
    search_path: OsString,
    pub(crate) journal: MemoryJournal,
    pub(crate) plan_journal: MemoryPlan,
    pub(crate) recorder: TaskRecorder,
}

impl TaskProject {
    pub(crate) fn new(format: WireFormat, script: Vec<ServerAct>) -> TaskProject {
        let dir = tempfile::tempdir().unwrap();
        let server = ScriptedModel::start(format, script);
        let models = SingleModel(model(&server));
        let limits = workspace::Limits::default();
        let workspace = Workspace::open(dir.path(), AccessPolicy::default(), limits).unwrap();
        let workspace = Arc::new(workspace);
        let settings = CommandSettings {
            sandbox: SandboxRequirement::None,
            ..CommandSettings::default()
        };
        let toolset = standard(&workspace, CommandAccess::Allowed(settings)).unwrap();
        TaskProject {
            dir,
            server,
            models,
            workspace,
            toolset,
            limits: Limits::default(),
            task_limits: TaskLimits::default(),
            clock: TickingClock(AtomicU64::new(1_000)),
            cancel: CommandCancel::default(),
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            journal: MemoryJournal::default(),
            plan_journal: MemoryPlan::default(),
            recorder: TaskRecorder::default(),
        }
    }

    /// With another script, as if the provider had been changed between two runs.
    pub(crate) fn answering(mut self, script: Vec<ServerAct>) -> TaskProject {
        self.server = ScriptedModel::start(self.server.format, script);
        self.models = SingleModel(model(&self.server));
        self
    }

    pub(crate) fn with_file(self, path: &str, content: &str) -> TaskProject {
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
        journal: &mut dyn TurnJournal,
    ) -> Result<TaskResult, TaskFailure> {
        let task = read(task);
        let (bench, recorder) = self.bench();
        handlers::run(&bench, TaskInput::new(&task), journal, recorder).await
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

    fn bench(&mut self) -> (HandlerContext<'_>, &mut TaskRecorder) {
        let bench = HandlerContext {
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

fn model(server: &ScriptedModel) -> Arc<dyn Model> {
    let provider = match server.format {
        WireFormat::Anthropic => Provider::Anthropic,
        WireFormat::OpenAi => Provider::OpenAi,
        WireFormat::Gemini => Provider::Google,
    };
    let mut endpoint = ProviderEndpoint::new(provider, Some(Secret::new("key")));
    endpoint.base_url = Some(server.url.clone());
    Arc::new(ProviderClient::new(&endpoint, llm::Limits::default()).unwrap())
}
