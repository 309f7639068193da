//! The program that `cargo xtask bench agent` runs: turns of the loop against a server that answers at once.
//!
//! `turns MEMORY DISK` takes two folders for the database. In the first, a flush costs nothing, and a
//! turn is what the loop does; in the second, it is also what the disk needs. Prints one JSON object of
//! medians over the turns of a round, in milliseconds.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a developers' tool is its own door to the clock and the terminal"
)]

mod clocks;
mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use agent::{
    AgentTools, CallContext, CallEffect, CommandCancel, Conversation, ConversationConfig, Limits,
    LoopConfig, Tool, ToolFuture, ToolOutput, TurnHistory,
};
use anyhow::{Context, Result};
use llm::budget::{Meter, MeteredModel, SpendBudget, SpendLimit, SpentTotal};
use llm::price::PriceList;
use llm::retry::{RetryLimits, RetryingModel};
use llm::{Provider, ProviderClient, ProviderEndpoint, Secret, SystemBlock};
use serde_json::{Map, Value, json};
use store::{AgentRuns as _, NewRun, Options, RunKind, SqliteDatabase};

use clocks::{Timed, Wall, Watch, median};
use server::Server;

const CONVERSATION_BYTES: usize = 1 << 20;
const MESSAGE_BYTES: usize = 4 << 10;
/// Turns before the first that counts: they make the conversation, of as many messages as a long run
/// has. What counts is their number as well as their size.
const GROWING: u32 = (CONVERSATION_BYTES / MESSAGE_BYTES) as u32;
/// Turns that count; few, so that the conversation is about as long for the last as for the first.
const TURNS: u32 = 40;

/// The formats take turns. What else the machine does only adds to a round, so the quietest counts.
const ROUNDS: u32 = 5;

const FORMATS: [(&str, Provider); 3] = [
    ("openai", Provider::Compatible),
    ("anthropic", Provider::Anthropic),
    ("gemini", Provider::Google),
];

fn main() -> Result<()> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [memory, disk] = folders.as_slice() else {
        anyhow::bail!("usage: turns MEMORY DISK");
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut rounds: [Vec<Figures>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (figures, (_, provider)) in rounds.iter_mut().zip(FORMATS) {
            figures.push(runtime.block_on(measure(provider, memory))?);
        }
    }
    let mut formats = Map::new();
    for (mut figures, (name, provider)) in rounds.into_iter().zip(FORMATS) {
        let flushed = runtime.block_on(measure(provider, disk))?;
        figures.sort_by(|a, b| a.turn_ms.total_cmp(&b.turn_ms));
        let turns: Vec<_> = figures.iter().map(|round| rounded(round.turn_ms)).collect();
        let quietest = figures.into_iter().next().context("no round was run")?;
        let format = json!({
            "request_bytes": quietest.request_bytes,
            "bare_exchange_ms": rounded(quietest.bare_ms),
            "turn_ms": rounded(quietest.turn_ms),
            "turn_ms_of_rounds": turns,
            "journal_ms": rounded(quietest.journal_ms),
            "turn_on_disk_ms": rounded(flushed.turn_ms),
            "journal_on_disk_ms": rounded(flushed.journal_ms),
            "flushes_on_disk_ms": rounded(flushed.journal_ms - quietest.journal_ms),
        });
        formats.insert(name.to_owned(), format);
    }
    println!("{}", Value::Object(formats));
    Ok(())
}

fn rounded(ms: f64) -> f64 {
    (ms * 1_000.0).round() / 1_000.0
}

/// The medians of one round.
struct Figures {
    request_bytes: usize,
    /// The same bytes there and back, with nothing around them.
    bare_ms: f64,
    turn_ms: f64,
    /// The share of the journal in the turn.
    journal_ms: f64,
}

async fn measure(provider: Provider, folder: &Path) -> Result<Figures> {
    let server = Server::start()?;
    let model = model(provider, &server)?;
    let mut toolset = AgentTools::new();
    toolset.add(Arc::new(Nothing::new()))?;
    let limits = Limits {
        turns_max: GROWING + TURNS,
        identical_calls_max: u32::MAX,
        ..Limits::default()
    };
    let setting = ConversationConfig {
        model: "scripted".to_owned(),
        system: vec![SystemBlock::stable("You call a tool that does nothing.")],
        max_tokens: 1_000,
        temperature: None,
    };
    let mut conversation = Conversation::open(setting, TurnHistory::default());
    conversation.say("Call it again and again.");
    let job = LoopConfig {
        model: &model,
        toolset: &toolset,
        limits: &limits,
        clock: &Wall,
        cancel: &CommandCancel::default(),
        phase: "bench",
    };
    let scratch = tempfile::tempdir_in(folder)?;
    let run = begin(scratch.path()).await?;
    let mut journal = Timed::new(run.conversation("bench").await?);
    let mut watch = Watch::default();
    let ended = agent::run(&job, &mut conversation, &mut journal, &mut watch).await;
    let stopped = ended.err().context("the run was to end by its limit")?;
    anyhow::ensure!(
        watch.turns.len() as u32 == GROWING + TURNS,
        "the run ended early: {}",
        stopped.error
    );
    let counted = GROWING as usize..;
    Ok(Figures {
        request_bytes: server.last_bytes(),
        bare_ms: median(&server.exchanges(TURNS)?),
        turn_ms: median(&watch.turns[counted.clone()]),
        journal_ms: median(&journal.turns[counted]),
    })
}

/// As `app` puts a model together.
fn model(
    provider: Provider,
    server: &Server,
) -> Result<RetryingModel<MeteredModel<ProviderClient>>> {
    let mut endpoint = ProviderEndpoint::new(provider, Some(Secret::new("none")));
    endpoint.base_url = Some(format!("http://{}", server.address));
    let client = ProviderClient::new(&endpoint, llm::Limits::default())?;
    let run = SpendLimit {
        tokens_max: Some(u64::MAX),
        micro_usd_max: None,
    };
    let budget = SpendBudget {
        run,
        ..SpendBudget::default()
    };
    let prices = PriceList::new(SystemTime::now(), BTreeMap::new());
    let meter = Arc::new(Meter::new(budget, prices, SpentTotal::default()));
    let metered = MeteredModel::new(client, meter, provider, endpoint.base_url);
    Ok(RetryingModel::new(metered, RetryLimits::default()))
}

async fn begin(folder: &Path) -> Result<store::LockedRun> {
    let options = Options {
        clock: Arc::new(Wall),
        scrub: None,
        bytes_max: None,
        pid: std::process::id(),
    };
    let store = SqliteDatabase::open(&folder.join("bench.db"), options).await?;
    let new = NewRun {
        kind: RunKind::Task,
        name: "bench.yml".to_owned(),
        digest: String::new(),
    };
    Ok(store.begin(&new).await?)
}

/// Gives the same lines whenever it is called, and counts as one that changes something: the journal
/// then keeps the most.
struct Nothing(llm::ToolDeclaration);

impl Nothing {
    fn new() -> Nothing {
        Nothing(llm::ToolDeclaration {
            name: "nothing".to_owned(),
            description: "Does nothing.".to_owned(),
            schema: json!({"type": "object"}),
        })
    }
}

impl Tool for Nothing {
    fn declaration(&self) -> &llm::ToolDeclaration {
        &self.0
    }

    fn effect(&self) -> CallEffect {
        CallEffect::Changes
    }

    fn call<'a>(&'a self, _given: CallContext<'a>) -> ToolFuture<'a> {
        // A result goes into the conversation as JSON, quotes and line ends escaped.
        let line = "fn main() { println!(\"{}\", 1); }\n";
        let lines = line.repeat(MESSAGE_BYTES / (line.len() + 3));
        Box::pin(std::future::ready(Ok(ToolOutput::new(Value::from(lines)))))
    }
}
