//! Talking to the model about a job: conversations opened, gone on with, and counted.

use agent::handlers::Chosen;
use agent::{Clock, Conversation, Deed, Event, FileChange, History, Journal, Observer, Setting};
use agent::{Limits, Toolset, Totals};
use llm::Block;
use workspace::Workspace;

use crate::job::JobId;
use crate::progress::{BuildObserver, EVENT, Progress};
use crate::site::{Halt, Site, watched};
use crate::status::Status;
use crate::store::Talk;

/// A conversation with the model of the job.
pub(crate) struct Talking {
    pub(crate) conversation: Conversation,
    chosen: Chosen,
    which: Talk,
    /// The phases in which something was asked already.
    phases: Vec<String>,
    /// How often something was said to the model, counted over the whole conversation.
    pub(crate) said: u32,
}

/// Opens a conversation of the job about a tree, with what was said in it before.
pub(crate) async fn open(
    site: &mut Site<'_>,
    which: Talk,
    system: Vec<Block>,
    tree: &Workspace,
) -> Result<Talking, Halt> {
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
    let setting = Setting {
        model: chosen.name.clone(),
        system,
        max_tokens: chosen.max_tokens,
        temperature: chosen.temperature,
    };
    Ok(Talking {
        conversation: Conversation::open(setting, history),
        chosen,
        which,
        phases,
        said,
    })
}

impl Talking {
    /// Whether the model was asked in this phase before.
    pub(crate) fn has_begun(&self, phase: &str) -> bool {
        self.phases.iter().any(|begun| begun == phase)
    }

    /// Says something, to be answered by the next [`ask`].
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.conversation.say(text);
        self.said += 1;
    }
}

/// Runs the loop until the model is done; its last words.
pub(crate) async fn ask(
    site: &mut Site<'_>,
    talking: &mut Talking,
    toolset: &Toolset,
    phase: &str,
) -> Result<String, Halt> {
    let limits = site.bench.limits;
    ask_within(site, talking, (toolset, limits), phase).await
}

/// As [`ask`], within limits of the caller's own.
pub(crate) async fn ask_within(
    site: &mut Site<'_>,
    talking: &mut Talking,
    (toolset, limits): (&Toolset, &Limits),
    phase: &str,
) -> Result<String, Halt> {
    let (bench, id, cancel) = (site.bench, site.job.id.clone(), site.cancel.clone());
    let mut journal = bench.jobs.conversation(&id, talking.which).await?;
    let job = agent::Job {
        model: &*talking.chosen.model,
        toolset,
        limits,
        clock: bench.clock,
        cancel: &cancel,
        phase,
    };
    let mut watching = Watching {
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

/// What a conversation of the job has kept.
pub(crate) async fn history(site: &Site<'_>, which: Talk) -> Result<History, Halt> {
    let journal = site.bench.jobs.conversation(&site.job.id, which).await;
    let mut journal: Box<dyn Journal + '_> = journal?;
    let loaded = journal.load().await;
    loaded.map_err(|error| {
        let error = crate::Error::new(crate::Kind::Store, error.to_string());
        Halt::Broken(error)
    })
}

/// What both conversations of the job have used so far.
pub(crate) async fn totals(site: &Site<'_>) -> Result<Vec<Totals>, Halt> {
    let mut totals = Vec::new();
    for which in [Talk::Plan, Talk::Build] {
        let past = past(history(site, which).await?);
        totals.push(past.totals().clone());
    }
    Ok(totals)
}

/// A conversation to look back on, not to go on with.
pub(crate) fn past(history: History) -> Conversation {
    let setting = Setting {
        model: String::new(),
        system: Vec::new(),
        max_tokens: 0,
        temperature: None,
    };
    Conversation::open(setting, history)
}

fn phases(history: &History) -> Vec<String> {
    let turns = history.turns.iter().map(|turn| turn.reply.phase.clone());
    let notes = history.notes.iter().filter_map(|note| match note {
        agent::Note::Replied { reply } => Some(reply.phase.clone()),
        _ => None,
    });
    let mut phases: Vec<String> = turns.chain(notes).collect();
    phases.dedup();
    phases
}

/// Passes the loop's events on, and tells of files as progress.
struct Watching<'o> {
    observer: &'o mut dyn BuildObserver,
    id: &'o JobId,
    status: Status,
    clock: &'o dyn Clock,
}

impl Observer for Watching<'_> {
    fn wants_stream(&self) -> bool {
        self.observer.wants_stream()
    }

    fn notice(&mut self, event: &Event<'_>) {
        self.observer.notice(event);
        let Event::Did { deed, .. } = event else {
            return;
        };
        let (message, detail) = match deed {
            Deed::Read { path, .. } => ("Reading", path.to_string()),
            Deed::Wrote { path, change, .. } => {
                let word = match change {
                    FileChange::Created => "Creating",
                    FileChange::Modified => "Modifying",
                    FileChange::Deleted => "Deleting",
                };
                (word, path.to_string())
            }
            Deed::Ran { command, .. } => ("Running", command.clone()),
            Deed::Listed { .. } | Deed::Searched { .. } | Deed::Called { .. } => return,
        };
        self.observer.notice_progress(&Progress {
            event: EVENT.to_owned(),
            job_id: self.id.clone(),
            status: self.status,
            message: message.to_owned(),
            detail: Some(detail),
            at_ms: self.clock.now_ms(),
        });
    }
}
