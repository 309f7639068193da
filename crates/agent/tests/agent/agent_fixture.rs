//! A project, a scripted model and everything a run is handed; one `run` for all tests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use agent::tools::{CommandAccess, CommandSettings, standard};
use agent::{
    AgentClock, AgentEvent, AgentObserver, AgentTools, CommandCancel, Conversation,
    ConversationConfig, FinishedRun, Limits, LoopConfig, MemoryJournal, StoppedRun, TurnJournal,
    run,
};
use exec::sandbox::SandboxRequirement;
use llm::budget::{Meter, MeteredModel, SpendBudget, SpentTotal};
use llm::price::PriceList;
use llm::{Model, Provider, ProviderClient, ProviderEndpoint, Secret, SystemBlock, WireFormat};
use serde_json::Value;
use workspace::{AccessPolicy, Workspace};

use crate::scripted::{ScriptedModel, ServerAct};

/// A clock that goes on by so much with every look.
pub(crate) struct StepClock {
    now: AtomicU64,
    step: u64,
}

impl AgentClock for StepClock {
    fn now_ms(&self) -> u64 {
        self.now.fetch_add(self.step, Ordering::Relaxed)
    }
}

/// Keeps events as JSON, as `--json` would print them.
#[derive(Default)]
pub(crate) struct EventRecorder {
    pub(crate) events: Vec<Value>,
    pub(crate) streamed: bool,
}

impl AgentObserver for EventRecorder {
    fn wants_stream(&self) -> bool {
        self.streamed
    }

    fn notice(&mut self, event: &AgentEvent<'_>) {
        self.events.push(serde_json::to_value(event).unwrap());
    }
}

impl EventRecorder {
    pub(crate) fn names(&self) -> Vec<&str> {
        self.events
            .iter()
            .map(|event| event["event"].as_str().unwrap())
            .collect()
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&Value> {
        self.events
            .iter()
            .filter(|event| event["event"] == name)
            .collect()
    }
}

pub(crate) struct TestAgent {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: ScriptedModel,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) toolset: AgentTools,
    pub(crate) limits: Limits,
    pub(crate) clock: StepClock,
    pub(crate) cancel: CommandCancel,
    pub(crate) journal: MemoryJournal,
    pub(crate) recorder: EventRecorder,
    pub(crate) max_tokens: u32,
}

pub(crate) fn provider(format: WireFormat) -> Provider {
    match format {
        WireFormat::Anthropic => Provider::Anthropic,
        WireFormat::OpenAi => Provider::OpenAi,
        WireFormat::Gemini => Provider::Google,
    }
}

impl TestAgent {
    pub(crate) fn new(format: WireFormat, script: Vec<ServerAct>) -> TestAgent {
        TestAgent::budgeted(format, script, SpendBudget::default())
    }

    pub(crate) fn budgeted(
        format: WireFormat,
        script: Vec<ServerAct>,
        budget: SpendBudget,
    ) -> TestAgent {
        let dir = tempfile::tempdir().unwrap();
        let server = ScriptedModel::start(format, script);
        let (model, meter) = model(&server, budget);
        let toolset = toolset(dir.path(), AccessPolicy::default());
        TestAgent {
            dir,
            server,
            model,
            meter,
            toolset,
            limits: Limits::default(),
            clock: StepClock {
                now: AtomicU64::new(1_000),
                step: 1,
            },
            cancel: CommandCancel::default(),
            journal: MemoryJournal::default(),
            recorder: EventRecorder::default(),
            max_tokens: 1_000,
        }
    }

    pub(crate) fn with_file(self, path: &str, content: &str) -> TestAgent {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn with_limits(mut self, limits: Limits) -> TestAgent {
        self.limits = limits;
        self
    }

    pub(crate) fn with_clock_step(mut self, step: u64) -> TestAgent {
        self.clock.step = step;
        self
    }

    /// The file's text, `None` if it is not there.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join(path)).ok()
    }

    /// Says `Do it.` to a new conversation, or goes on with the one in the journal.
    pub(crate) async fn run(&mut self) -> Result<FinishedRun, StoppedRun> {
        let mut conversation = self.conversation().await;
        if conversation.is_fresh() {
            conversation.say("Do it.");
        }
        self.go_on(&mut conversation).await
    }

    pub(crate) async fn conversation(&self) -> Conversation {
        let setting = ConversationConfig {
            model: "scripted".into(),
            system: vec![SystemBlock::stable("You are careful.")],
            max_tokens: self.max_tokens,
            temperature: Some(0.0),
        };
        Conversation::load(setting, &mut self.journal.clone())
            .await
            .unwrap()
    }

    pub(crate) async fn go_on(
        &mut self,
        conversation: &mut Conversation,
    ) -> Result<FinishedRun, StoppedRun> {
        let mut journal = self.journal.clone();
        self.with_journal(conversation, &mut journal).await
    }

    pub(crate) async fn with_journal(
        &mut self,
        conversation: &mut Conversation,
        journal: &mut dyn TurnJournal,
    ) -> Result<FinishedRun, StoppedRun> {
        let job = LoopConfig {
            model: &*self.model,
            toolset: &self.toolset,
            limits: &self.limits,
            clock: &self.clock,
            cancel: &self.cancel,
            phase: "generate",
        };
        run(&job, conversation, journal, &mut self.recorder).await
    }

    /// What the model was sent last, after what it was sent before.
    pub(crate) fn last_sent(&self) -> Vec<String> {
        let asked = self.server.asked();
        let before = match asked {
            0 => panic!("the model was not asked"),
            1 => 0,
            _ => self.server.sent(asked - 2).len(),
        };
        self.server.sent(asked - 1).split_off(before)
    }
}

/// The scripted model, metered, at one dollar per million tokens in and ten out.
pub(crate) fn model(server: &ScriptedModel, budget: SpendBudget) -> (Arc<dyn Model>, Arc<Meter>) {
    let provider = provider(server.format);
    let mut endpoint = ProviderEndpoint::new(provider, Some(Secret::new("key")));
    endpoint.base_url = Some(server.url.clone());
    let client = ProviderClient::new(&endpoint, llm::Limits::default()).unwrap();
    let meter = Arc::new(Meter::new(budget, prices(), SpentTotal::default()));
    let metered = MeteredModel::new(
        client,
        Arc::clone(&meter),
        provider,
        Some(server.url.clone()),
    );
    (Arc::new(metered), meter)
}

fn prices() -> PriceList {
    let rates = serde_json::from_value(serde_json::json!({"input": 1.0, "output": 10.0})).unwrap();
    PriceList::new(
        SystemTime::UNIX_EPOCH,
        BTreeMap::from([("scripted".to_owned(), rates)]),
    )
}

pub(crate) fn toolset(dir: &Path, policy: AccessPolicy) -> AgentTools {
    let workspace = Workspace::open(dir, policy, workspace::Limits::default()).unwrap();
    let settings = CommandSettings {
        sandbox: SandboxRequirement::None,
        ..CommandSettings::default()
    };
    standard(&Arc::new(workspace), CommandAccess::Allowed(settings)).unwrap()
}
