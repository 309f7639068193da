//! Conversations with the model about a job: opened, continued, and counted.

use agent::handlers::ChosenModel;
use agent::{
    AgentClock, AgentEvent, AgentObserver, Conversation, ConversationConfig, FileChangeKind,
    ToolAction, TurnHistory, TurnJournal,
};
use agent::{AgentTools, ConversationTotals, Limits};
use llm::SystemBlock;
use workspace::Workspace;

use crate::active_job::{ActiveJob, StageHalt, watched};
use crate::job::JobId;
use crate::kept_files::{FilingJournal, WorktreeFiles};
use crate::progress::{BuildObserver, BuildProgress, EVENT};
use crate::status::JobStatus;
use crate::store::ConversationKind;

/// A conversation with the model of the job.
pub(crate) struct ModelConversation {
    pub(crate) conversation: Conversation,
    chosen: ChosenModel,
    which: ConversationKind,
    /// The worktree whose files are stored with the turns, where another machine may go on.
    pub(crate) files: Option<WorktreeFiles>,
    /// The phases in which the model was asked already.
    phases: Vec<String>,
    /// Number of messages sent to the model over the whole conversation.
    pub(crate) said: u32,
}

/// Opens a conversation of the job about a tree, and loads its earlier messages.
pub(crate) async fn open(
    site: &mut ActiveJob<'_>,
    which: ConversationKind,
    system: Vec<SystemBlock>,
    tree: &Workspace,
) -> Result<ModelConversation, StageHalt> {
    let chosen = match site.bench.authors.choose(tree.path()) {
        Ok(chosen) => chosen,
        Err(error) => return Err(site.stopped(&error).await),
    };
    let history = history(site, which).await?;
    let phases = phases(&history);
    let asked = history
        .turns
        .iter()
        .filter(|turn| !turn.reply.asked.is_empty());
    let said = u32::try_from(asked.count()).unwrap_or(u32::MAX);
    let setting = ConversationConfig {
        model: chosen.name.clone(),
        system,
        max_tokens: chosen.max_tokens,
        temperature: chosen.temperature,
    };
    Ok(ModelConversation {
        conversation: Conversation::open(setting, history),
        chosen,
        which,
        files: None,
        phases,
        said,
    })
}

impl ModelConversation {
    /// Returns true if the model was asked in this phase before.
    pub(crate) fn has_begun(&self, phase: &str) -> bool {
        self.phases.iter().any(|begun| begun == phase)
    }

    /// Adds a message, to be answered by the next [`ask`].
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.conversation.say(text);
        self.said += 1;
    }
}

/// Runs the loop until the model is done; returns its last message.
pub(crate) async fn ask(
    site: &mut ActiveJob<'_>,
    talking: &mut ModelConversation,
    toolset: &AgentTools,
    phase: &str,
) -> Result<String, StageHalt> {
    let limits = site.bench.limits;
    ask_within(site, talking, (toolset, limits), phase).await
}

/// Works like [`ask`], within the caller's own limits.
pub(crate) async fn ask_within(
    site: &mut ActiveJob<'_>,
    talking: &mut ModelConversation,
    (toolset, limits): (&AgentTools, &Limits),
    phase: &str,
) -> Result<String, StageHalt> {
    let (bench, id, cancel) = (site.bench, site.job.id.clone(), site.cancel.clone());
    let mut journal = bench.jobs.conversation(&id, talking.which).await?;
    if let Some(files) = talking.files.clone() {
        journal = Box::new(FilingJournal {
            journal,
            jobs: bench.jobs,
            id: &id,
            files,
        });
    }
    let job = agent::LoopConfig {
        model: &*talking.chosen.model,
        toolset,
        limits,
        clock: bench.clock,
        cancel: &cancel,
        phase,
    };
    let mut watching = ProgressObserver {
        observer: site.observer,
        id: &id,
        status: site.job.status(),
        clock: bench.clock,
    };
    let conversation = &mut talking.conversation;
    let run = agent::run(&job, conversation, journal.as_mut(), &mut watching);
    let ended = watched(bench, &id, &cancel, run).await;
    match ended {
        Ok(finished) => Ok(finished.text),
        Err(stopped) => Err(site.stopped(&stopped.error).await),
    }
}

/// Loads the stored messages of a conversation.
pub(crate) async fn history(
    site: &ActiveJob<'_>,
    which: ConversationKind,
) -> Result<TurnHistory, StageHalt> {
    let journal = site.bench.jobs.conversation(&site.job.id, which).await;
    let mut journal: Box<dyn TurnJournal + '_> = journal?;
    let loaded = journal.load().await;
    loaded.map_err(|error| {
        let error = crate::Error::new(crate::BuildErrorKind::Store, error.to_string());
        StageHalt::Broken(error)
    })
}

/// Sums up the usage of both conversations of the job so far.
pub(crate) async fn totals(site: &ActiveJob<'_>) -> Result<Vec<ConversationTotals>, StageHalt> {
    let mut totals = Vec::new();
    for which in [ConversationKind::Plan, ConversationKind::Build] {
        let past = past(history(site, which).await?);
        totals.push(past.totals().clone());
    }
    Ok(totals)
}

/// A conversation for reading only, not to be continued.
pub(crate) fn past(history: TurnHistory) -> Conversation {
    let setting = ConversationConfig {
        model: String::new(),
        system: Vec::new(),
        max_tokens: 0,
        temperature: None,
    };
    Conversation::open(setting, history)
}

fn phases(history: &TurnHistory) -> Vec<String> {
    let turns = history.turns.iter().map(|turn| turn.reply.phase.clone());
    let notes = history.notes.iter().filter_map(|note| match note {
        agent::TurnNote::Replied { reply } => Some(reply.phase.clone()),
        _ => None,
    });
    let mut phases: Vec<String> = turns.chain(notes).collect();
    phases.dedup();
    phases
}

/// Passes the loop's events on, and reports changed files as progress.
struct ProgressObserver<'o> {
    observer: &'o mut dyn BuildObserver,
    id: &'o JobId,
    status: JobStatus,
    clock: &'o dyn AgentClock,
}

impl AgentObserver for ProgressObserver<'_> {
    fn wants_stream(&self) -> bool {
        self.observer.wants_stream()
    }

    fn notice(&mut self, event: &AgentEvent<'_>) {
        self.observer.notice(event);
        let AgentEvent::Did { deed, .. } = event else {
            return;
        };
        let (message, detail) = match deed {
            ToolAction::Read { path, .. } => ("Reading", path.to_string()),
            ToolAction::Wrote { path, change, .. } => {
                let word = match change {
                    FileChangeKind::Created => "Creating",
                    FileChangeKind::Modified => "Modifying",
                    FileChangeKind::Deleted => "Deleting",
                };
                (word, path.to_string())
            }
            ToolAction::Ran { command, .. } => ("Running", command.clone()),
            ToolAction::Listed { .. } | ToolAction::Searched { .. } | ToolAction::Called { .. } => {
                return;
            }
        };
        self.observer.notice_progress(&BuildProgress {
            event: EVENT.to_owned(),
            job_id: self.id.clone(),
            status: self.status,
            message: message.to_owned(),
            detail: Some(detail),
            at_ms: self.clock.now_ms(),
        });
    }
}
