//! A conversation in the database: the journal that the agent's loop writes to, on either engine.

use std::fmt;
use std::sync::Arc;

use agent::{ConversationTurn, JournalFuture, TurnHistory, TurnJournal, TurnNote};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::RunNumber;
use crate::runs::{RunTables, change_held};
use crate::tables::{TableStatement, integer, read_rows};

/// One conversation of a run.
pub struct StoredConversation {
    pub(crate) tables: Arc<dyn RunTables>,
    pub(crate) run: RunNumber,
    pub(crate) id: i64,
}

impl fmt::Debug for StoredConversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredConversation({} of run {})", self.id, self.run)
    }
}

/// One query for both, so that no commit of another connection falls in between.
const READ: &str = "SELECT CAST(0 AS bigint) AS part, number AS place, body FROM turns \
     WHERE conversation = $1 UNION ALL SELECT CAST(1 AS bigint), id, body FROM notes \
     WHERE conversation = $1 ORDER BY part, place";
const ADD_NOTE: &str = "INSERT INTO notes (conversation, turn, outlives_turn, body) \
     VALUES ($1, $2, $3, $4) RETURNING id";
const ADD_TURN: &str = "INSERT INTO turns (conversation, number, body, at_ms) \
     VALUES ($1, $2, $3, $4) ON CONFLICT (conversation, number) DO NOTHING RETURNING number";
const DROP_NOTES: &str =
    "DELETE FROM notes WHERE conversation = $1 AND turn = $2 AND outlives_turn = 0";
const ADD_CALL: &str = "INSERT INTO calls (conversation, turn, phase, provider, model, input, \
     output, cache_read, cache_write, reasoning, micro_usd, at_ms) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id";

impl TurnJournal for StoredConversation {
    fn load(&mut self) -> JournalFuture<'_, TurnHistory> {
        Box::pin(async { Ok(self.read().await?) })
    }

    fn note<'a>(&'a mut self, note: &'a TurnNote) -> JournalFuture<'a, ()> {
        Box::pin(async { Ok(self.keep_note(note).await?) })
    }

    fn commit<'a>(&'a mut self, turn: &'a ConversationTurn) -> JournalFuture<'a, ()> {
        Box::pin(async { Ok(self.keep_turn(turn).await?) })
    }
}

impl StoredConversation {
    pub(crate) async fn read(&self) -> Result<TurnHistory> {
        let rows = self
            .tables
            .look(TableStatement::new(READ).with(self.id))
            .await?;
        let parts = read_rows(&*self.tables, "a turn", &rows, |row| {
            Ok((
                row.integer("part")?,
                row.integer("place")?,
                row.text("body")?,
            ))
        })?;
        let mut history = TurnHistory::default();
        for (part, place, body) in parts {
            if part != 0 {
                history.notes.push(self.parse(&body)?);
                continue;
            }
            history.turns.push(self.parse(&body)?);
            if usize::try_from(place) != Ok(history.turns.len()) {
                return Err(self
                    .tables
                    .unreadable_row("a conversation", "a turn of it is missing"));
            }
        }
        Ok(history)
    }

    async fn keep_note(&self, note: &TurnNote) -> Result<()> {
        let body = self.tables.scrubbed(&body(note)?);
        let mut statements = vec![
            TableStatement::new(ADD_NOTE)
                .with(self.id)
                .with(u64::from(note.turn()))
                .with(i64::from(note.outlives_turn()))
                .with(body),
        ];
        statements.extend(self.calls(BilledEntry::Note(note)));
        // None of them can find nothing.
        let _ = change_held(&*self.tables, self.run, statements).await?;
        Ok(())
    }

    async fn keep_turn(&self, turn: &ConversationTurn) -> Result<()> {
        let body = self.tables.scrubbed(&body(turn)?);
        let number = turn.reply.turn;
        let mut statements = vec![
            TableStatement::new(ADD_TURN)
                .with(self.id)
                .with(u64::from(number))
                .with(body)
                .with(turn.at_ms),
            TableStatement::optional(DROP_NOTES)
                .with(self.id)
                .with(u64::from(number)),
        ];
        statements.extend(self.calls(BilledEntry::Turn(turn)));
        match change_held(&*self.tables, self.run, statements).await? {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new(
                DatabaseErrorKind::Conflict,
                format!(
                    "turn {number} of this conversation is kept already: another process goes on \
                     with it. Nothing was changed."
                ),
            )),
        }
    }

    /// Stores the calls in columns, so that costs can be summed without reading conversations.
    fn calls(&self, billed: BilledEntry<'_>) -> Vec<TableStatement> {
        let (turn, phase, calls, at_ms) = match billed {
            BilledEntry::Turn(turn) => {
                let reply = &turn.reply;
                (reply.turn, &reply.phase, &reply.calls, turn.at_ms)
            }
            BilledEntry::Note(TurnNote::Charged { turn, phase, calls }) => {
                (*turn, phase, calls, self.tables.time_ms())
            }
            BilledEntry::Note(_) => return Vec::new(),
        };
        let add = calls.iter().map(|call| {
            TableStatement::new(ADD_CALL)
                .with(self.id)
                .with(u64::from(turn))
                .with(phase.as_str())
                .with(call.provider.name())
                .with(call.model.as_str())
                .with(call.usage.input)
                .with(call.usage.output)
                .with(call.usage.cache_read)
                .with(call.usage.cache_write)
                .with(call.usage.reasoning)
                .with(call.cost.micro_usd())
                .with(integer(at_ms))
        });
        add.collect()
    }

    fn parse<T: DeserializeOwned>(&self, body: &str) -> Result<T> {
        let read = serde_json::from_str(body);
        read.map_err(|cause: serde_json::Error| {
            self.tables.unreadable_row("a turn", &cause.to_string())
        })
    }
}

fn body(record: &impl Serialize) -> Result<String> {
    serde_json::to_string(record).map_err(|cause| {
        let message = format!("a turn cannot be written as JSON: {cause}. Report this.");
        Error::new(DatabaseErrorKind::Conflict, message)
    })
}

/// The turn or note that model calls were made for.
#[derive(Clone, Copy)]
enum BilledEntry<'a> {
    Turn(&'a ConversationTurn),
    Note(&'a TurnNote),
}
