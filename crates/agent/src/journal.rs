//! The port that stores turns, and a journal in memory.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use llm::ToolResult;
use llm::budget::SpendEntry;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::reply::ModelReply;
use crate::tool::ToolAction;

/// Something being stored or read. Boxed, so that journals can be kept as `dyn TurnJournal`.
pub type JournalFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Stores the turns of one conversation.
///
/// Once a call has returned `Ok`, its record survives the death of the process. Errors should have
/// the kind [`crate::AgentErrorKind::Journal`]; they end the run, because nothing may be done that cannot be
/// recorded.
pub trait TurnJournal: Send {
    /// Returns everything stored so far, in order.
    fn load(&mut self) -> JournalFuture<'_, TurnHistory>;

    /// Stores a note about the turn under way, next to the turns.
    fn note<'a>(&'a mut self, note: &'a TurnNote) -> JournalFuture<'a, ()>;

    /// Keeps a turn and drops the notes about it (all but [`TurnNote::Charged`]), in one step.
    fn commit<'a>(&'a mut self, turn: &'a ConversationTurn) -> JournalFuture<'a, ()>;
}

/// A turn of the conversation: what was asked, answered and done, and what it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationTurn {
    /// The question and the answer.
    pub reply: ModelReply,
    /// One result for each tool call of the answer, in their order.
    pub results: Vec<ToolResult>,
    /// Files the tools read and wrote, and commands they ran.
    pub deeds: Vec<ToolAction>,
    /// When it was committed, in milliseconds since 1970.
    pub at_ms: u64,
    /// Time the turn took, the model and the tools together.
    pub duration_ms: u64,
}

/// A fact about a turn under way, written before or right after something that cannot be undone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum TurnNote {
    /// The model replied with tool calls; none of them is made yet.
    Replied {
        /// The reply.
        reply: Box<ModelReply>,
    },
    /// A call that changes something begins.
    Begun {
        /// The turn it belongs to.
        turn: u32,
        /// Its place among the calls of the reply, from 0.
        call: u32,
    },
    /// A call that changes something has ended, and more calls follow. The end of the last call is
    /// stored with the turn.
    Ended {
        /// The turn it belongs to.
        turn: u32,
        /// Its place among the calls of the reply, from 0.
        call: u32,
        /// Its result.
        result: ToolResult,
        /// The actions it took.
        deeds: Vec<ToolAction>,
    },
    /// Calls that were billed and led to no turn. Stays when the turn is committed.
    Charged {
        /// The turn that was to be.
        turn: u32,
        /// The phase it was made for.
        phase: String,
        /// The calls.
        calls: Vec<SpendEntry>,
    },
}

impl TurnNote {
    /// Returns the turn it is about.
    pub fn turn(&self) -> u32 {
        match self {
            TurnNote::Replied { reply } => reply.turn,
            TurnNote::Begun { turn, .. }
            | TurnNote::Ended { turn, .. }
            | TurnNote::Charged { turn, .. } => *turn,
        }
    }

    /// True if the note is still of use once its turn is committed.
    pub fn outlives_turn(&self) -> bool {
        matches!(self, TurnNote::Charged { .. })
    }
}

/// The stored turns and notes of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnHistory {
    /// The committed turns, in order.
    pub turns: Vec<ConversationTurn>,
    /// Notes of turns under way, in order, and all [`TurnNote::Charged`].
    pub notes: Vec<TurnNote>,
}

/// A journal in memory. Clones share it, as if they were the same file.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<TurnHistory>>);

impl MemoryJournal {
    /// Returns a copy of everything stored so far.
    pub fn history(&self) -> TurnHistory {
        self.with(|history| history.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut TurnHistory) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TurnJournal for MemoryJournal {
    fn load(&mut self) -> JournalFuture<'_, TurnHistory> {
        let history = self.history();
        Box::pin(std::future::ready(Ok(history)))
    }

    fn note<'a>(&'a mut self, note: &'a TurnNote) -> JournalFuture<'a, ()> {
        self.with(|history| history.notes.push(note.clone()));
        Box::pin(std::future::ready(Ok(())))
    }

    fn commit<'a>(&'a mut self, turn: &'a ConversationTurn) -> JournalFuture<'a, ()> {
        self.with(|history| {
            let number = turn.reply.turn;
            let stays = |note: &TurnNote| note.outlives_turn() || note.turn() != number;
            history.notes.retain(stays);
            history.turns.push(turn.clone());
        });
        Box::pin(std::future::ready(Ok(())))
    }
}
