//! A project, a scripted model and everything a run is handed; one `run` for all tests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use agent::tools::{CommandSettings, Commands, standard};
use agent::{
    Cancel, Clock, Conversation, Event, Finished, Job, Journal, Limits, Memory, Observer, Setting,
    Stopped, Toolset, run,
};
use exec::sandbox::Requirement;
use llm::budget::{Budget, Meter, Metered, Spent};
use llm::price::Prices;
use llm::{Block, Client, Endpoint, Format, Model, Provider, Secret};
use serde_json::Value;
use workspace::{Policy, Workspace};

use crate::scripted::{Act, Scripted};

/// A clock that goes on by so much with every look.
pub(crate) struct Steps {
    now: AtomicU64,
    step: u64,
}

impl Clock for Steps {
    fn now_ms(&self) -> u64 {
        self.now.fetch_add(self.step, Ordering::Relaxed)
    }
}

/// Keeps events as JSON, as `--json` would print them.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) events: Vec<Value>,
    pub(crate) streamed: bool,
}

impl Observer for Recorder {
    fn wants_stream(&self) -> bool {
        self.streamed
    }

    fn notice(&mut self, event: &Event<'_>) {
        self.events.push(serde_json::to_value(event).unwrap());
    }
}

impl Recorder {
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

pub(crate) struct Stage {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: Scripted,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) toolset: Toolset,
    pub(crate) limits: Limits,
    pub(crate) clock: Steps,
    pub(crate) cancel: Cancel,
    pub(crate) journal: Memory,
    pub(crate) recorder: Recorder,
    pub(crate) max_tokens: u32,
}

pub(crate) fn provider(format: Format) -> Provider {
    match format {
        Format::Anthropic => Provider::Anthropic,
        Format::OpenAi => Provider::OpenAi,
        Format::Gemini => Provider::Google,
    }
}

impl Stage {
    pub(crate) fn new(format: Format, script: Vec<Act>) -> Stage {
        Stage::budgeted(format, script, Budget::default())
    }

    pub(crate) fn budgeted(format: Format, script: Vec<Act>, budget: Budget) -> Stage {
        let dir = tempfile::tempdir().unwrap();
        let server = Scripted::start(format, script);
        let (model, meter) = model(&server, budget);
        let toolset = toolset(dir.path(), Policy::default());
        Stage {
            dir,
            server,
            model,
            meter,
            toolset,
            limits: Limits::default(),
            clock: Steps {
                now: AtomicU64::new(1_000),
                step: 1,
            },
            cancel: Cancel::default(),
            journal: Memory::default(),
            recorder: Recorder::default(),
            max_tokens: 1_000,
        }
    }

    pub(crate) fn with_file(self, path: &str, content: &str) -> Stage {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn with_limits(mut self, limits: Limits) -> Stage {
        self.limits = limits;
        self
    }

    pub(crate) fn with_clock_step(mut self, step: u64) -> Stage {
        self.clock.step = step;
        self
    }

    /// The file's text, `None` if it is not there.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.path().join(path)).ok()
    }

    /// Says `Do it.` to a new conversation, or goes on with the one in the journal.
    pub(crate) async fn run(&mut self) -> Result<Finished, Stopped> {
        let mut conversation = self.conversation().await;
        if conversation.is_fresh() {
            conversation.say("Do it.");
        }
        self.go_on(&mut conversation).await
    }

    pub(crate) async fn conversation(&self) -> Conversation {
        let setting = Setting {
            model: "scripted".into(),
            system: vec![Block::stable("You are careful.")],
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
    ) -> Result<Finished, Stopped> {
        let mut journal = self.journal.clone();
        self.with_journal(conversation, &mut journal).await
    }

    pub(crate) async fn with_journal(
        &mut self,
        conversation: &mut Conversation,
        journal: &mut dyn Journal,
    ) -> Result<Finished, Stopped> {
        let job = Job {
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
pub(crate) fn model(server: &Scripted, budget: Budget) -> (Arc<dyn Model>, Arc<Meter>) {
    let provider = provider(server.format);
    let mut endpoint = Endpoint::new(provider, Some(Secret::new("key")));
    endpoint.base_url = Some(server.url.clone());
    let client = Client::new(&endpoint, llm::Limits::default()).unwrap();
    let meter = Arc::new(Meter::new(budget, prices(), Spent::default()));
    let metered = Metered::new(
        client,
        Arc::clone(&meter),
        provider,
        Some(server.url.clone()),
    );
    (Arc::new(metered), meter)
}

fn prices() -> Prices {
    let rates = serde_json::from_value(serde_json::json!({"input": 1.0, "output": 10.0})).unwrap();
    Prices::new(
        SystemTime::UNIX_EPOCH,
        BTreeMap::from([("scripted".to_owned(), rates)]),
    )
}

pub(crate) fn toolset(dir: &Path, policy: Policy) -> Toolset {
    let workspace = Workspace::open(dir, policy, workspace::Limits::default()).unwrap();
    let settings = CommandSettings {
        sandbox: Requirement::None,
        ..CommandSettings::default()
    };
    standard(&Arc::new(workspace), Commands::Allowed(settings)).unwrap()
}
