//! The port behind which turns are kept, and the journal that keeps them in memory.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use llm::ToolResult;
use llm::budget::Entry;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::reply::Reply;
use crate::tool::Deed;

/// Something being stored or read. Boxed, so that journals can be kept as `dyn Journal`.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Keeps the turns of one conversation.
///
/// What a call has returned `Ok` for survives the death of the process. Errors should have the
/// kind [`crate::Kind::Journal`]; they end the run, because what cannot be kept must not be done.
pub trait Journal: Send {
    /// Everything kept so far, in order.
    fn load(&mut self) -> Stored<'_, History>;

    /// Keeps a note about the turn under way, beside the turns.
    fn note<'a>(&'a mut self, note: &'a Note) -> Stored<'a, ()>;

    /// Keeps a turn and drops the notes about it (all but [`Note::Charged`]), in one step.
    fn commit<'a>(&'a mut self, turn: &'a Turn) -> Stored<'a, ()>;
}

/// A turn of the conversation: what was asked, answered and done, and what it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// What was asked and answered.
    pub reply: Reply,
    /// One result for each tool call of the answer, in their order.
    pub results: Vec<ToolResult>,
    /// What the tools read, wrote and ran.
    pub deeds: Vec<Deed>,
    /// When it was committed, in milliseconds since 1970.
    pub at_ms: u64,
    /// How long the turn took, the model and the tools together.
    pub duration_ms: u64,
}

/// A fact about a turn under way, written before or right after something that cannot be undone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// The model replied with tool calls; none of them is made yet.
    Replied {
        /// The reply.
        reply: Box<Reply>,
    },
    /// A call that changes something begins.
    Begun {
        /// The turn it belongs to.
        turn: u32,
        /// Its place among the calls of the reply, from 0.
        call: u32,
    },
    /// A call that changes something has ended, and more calls follow. The end of the last one is
    /// kept with the turn.
    Ended {
        /// The turn it belongs to.
        turn: u32,
        /// Its place among the calls of the reply, from 0.
        call: u32,
        /// What it gave.
        result: ToolResult,
        /// What it did.
        deeds: Vec<Deed>,
    },
    /// Calls that were billed and led to no turn. Stays when the turn is committed.
    Charged {
        /// The turn that was to be.
        turn: u32,
        /// What it was for.
        phase: String,
        /// The calls.
        calls: Vec<Entry>,
    },
}

impl Note {
    /// The turn it is about.
    pub fn turn(&self) -> u32 {
        match self {
            Note::Replied { reply } => reply.turn,
            Note::Begun { turn, .. } | Note::Ended { turn, .. } | Note::Charged { turn, .. } => {
                *turn
            }
        }
    }

    /// Whether it is still of use when its turn is committed.
    pub fn outlives_turn(&self) -> bool {
        matches!(self, Note::Charged { .. })
    }
}

/// What a journal keeps of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The committed turns, in order.
    pub turns: Vec<Turn>,
    /// What is left of turns under way, in order, and all [`Note::Charged`].
    pub notes: Vec<Note>,
}

/// A journal in memory. Clones share it, as if they were the same file.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Mutex<History>>);

impl Memory {
    /// What is kept now.
    pub fn history(&self) -> History {
        self.with(|history| history.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut History) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Journal for Memory {
    fn load(&mut self) -> Stored<'_, History> {
        let history = self.history();
        Box::pin(std::future::ready(Ok(history)))
    }

    fn note<'a>(&'a mut self, note: &'a Note) -> Stored<'a, ()> {
        self.with(|history| history.notes.push(note.clone()));
        Box::pin(std::future::ready(Ok(())))
    }

    fn commit<'a>(&'a mut self, turn: &'a Turn) -> Stored<'a, ()> {
        self.with(|history| {
            let number = turn.reply.turn;
            let stays = |note: &Note| note.outlives_turn() || note.turn() != number;
            history.notes.retain(stays);
            history.turns.push(turn.clone());
        });
        Box::pin(std::future::ready(Ok(())))
    }
}
