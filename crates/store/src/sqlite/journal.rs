//! A conversation in the database: the journal that the agent's loop writes to.

use agent::{ConversationTurn, JournalFuture, TurnHistory, TurnJournal, TurnNote};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;

use super::{SqliteDatabase, integer};
use crate::error::{DatabaseErrorKind, Error, Result};

/// One conversation of a run.
#[derive(Debug)]
pub struct StoredConversation {
    pub(super) store: SqliteDatabase,
    pub(super) id: i64,
}

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
    pub(super) async fn read(&self) -> Result<TurnHistory> {
        let mut connection = self.store.inner.connection.lock().await;
        // One query for both, so that no commit of another connection falls in between.
        let mut look = connection
            .begin()
            .await
            .map_err(|cause| self.failed(&cause))?;
        let turns: Vec<(i64, String)> = sqlx::query_as(
            "SELECT number, body FROM turns WHERE conversation = $1 ORDER BY number",
        )
        .bind(self.id)
        .fetch_all(&mut *look)
        .await
        .map_err(|cause| self.failed(&cause))?;
        let notes: Vec<String> =
            sqlx::query_scalar("SELECT body FROM notes WHERE conversation = $1 ORDER BY id")
                .bind(self.id)
                .fetch_all(&mut *look)
                .await
                .map_err(|cause| self.failed(&cause))?;
        look.commit().await.map_err(|cause| self.failed(&cause))?;
        drop(connection);
        let in_order = turns
            .iter()
            .zip(1_i64..)
            .all(|((number, _), due)| *number == due);
        if !in_order {
            return Err(self
                .store
                .fault()
                .corrupt("a turn of a conversation is missing"));
        }
        let turns = turns.iter().map(|(_, body)| self.parse(body));
        let notes = notes.iter().map(|body| self.parse(body));
        Ok(TurnHistory {
            turns: turns.collect::<Result<_>>()?,
            notes: notes.collect::<Result<_>>()?,
        })
    }

    async fn keep_note(&self, note: &TurnNote) -> Result<()> {
        let body = self.body(note)?;
        let body = self.store.clean(&body);
        let mut connection = self.store.inner.connection.lock().await;
        let kept = async {
            let mut step = connection.begin_with("BEGIN IMMEDIATE").await?;
            sqlx::query(
                "INSERT INTO notes (conversation, turn, outlives_turn, body) VALUES ($1, $2, $3, $4)",
            )
            .bind(self.id)
            .bind(i64::from(note.turn()))
            .bind(i64::from(note.outlives_turn()))
            .bind(&*body)
            .execute(&mut *step)
            .await?;
            self.book(&mut step, BilledEntry::Note(note)).await?;
            step.commit().await
        };
        kept.await.map_err(|cause| self.failed(&cause))
    }

    async fn keep_turn(&self, turn: &ConversationTurn) -> Result<()> {
        let body = self.body(turn)?;
        let body = self.store.clean(&body);
        let number = turn.reply.turn;
        let mut connection = self.store.inner.connection.lock().await;
        let kept = async {
            let mut step = connection.begin_with("BEGIN IMMEDIATE").await?;
            sqlx::query(
                "INSERT INTO turns (conversation, number, body, at_ms) VALUES ($1, $2, $3, $4)",
            )
            .bind(self.id)
            .bind(i64::from(number))
            .bind(&*body)
            .bind(integer(turn.at_ms))
            .execute(&mut *step)
            .await?;
            sqlx::query(
                "DELETE FROM notes WHERE conversation = $1 AND turn = $2 AND outlives_turn = 0",
            )
            .bind(self.id)
            .bind(i64::from(number))
            .execute(&mut *step)
            .await?;
            self.book(&mut step, BilledEntry::Turn(turn)).await?;
            step.commit().await
        };
        kept.await.map_err(|cause| self.not_kept(&cause, number))
    }

    /// Stores the calls in columns, so that costs can be summed without reading conversations.
    async fn book(
        &self,
        step: &mut SqliteConnection,
        billed: BilledEntry<'_>,
    ) -> std::result::Result<(), sqlx::Error> {
        let (turn, phase, calls, at_ms) = match billed {
            BilledEntry::Turn(turn) => {
                let reply = &turn.reply;
                (reply.turn, &reply.phase, &reply.calls, integer(turn.at_ms))
            }
            BilledEntry::Note(TurnNote::Charged { turn, phase, calls }) => {
                (*turn, phase, calls, self.store.now_ms())
            }
            BilledEntry::Note(_) => return Ok(()),
        };
        for call in calls {
            sqlx::query(
                "INSERT INTO calls (conversation, turn, phase, provider, model, input, output, \
                 cache_read, cache_write, reasoning, micro_usd, at_ms) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            )
            .bind(self.id)
            .bind(i64::from(turn))
            .bind(phase.as_str())
            .bind(call.provider.name())
            .bind(call.model.as_str())
            .bind(integer(call.usage.input))
            .bind(integer(call.usage.output))
            .bind(integer(call.usage.cache_read))
            .bind(integer(call.usage.cache_write))
            .bind(integer(call.usage.reasoning))
            .bind(call.cost.micro_usd().map(integer))
            .bind(at_ms)
            .execute(&mut *step)
            .await?;
        }
        Ok(())
    }

    fn body(&self, record: &impl Serialize) -> Result<String> {
        serde_json::to_string(record).map_err(|cause| {
            let message = format!("a turn cannot be written as JSON: {cause}. Report this.");
            Error::new(DatabaseErrorKind::Conflict, message)
        })
    }

    fn parse<T: DeserializeOwned>(&self, body: &str) -> Result<T> {
        let read = serde_json::from_str(body);
        read.map_err(|cause| {
            self.store
                .fault()
                .corrupt(&format!("a turn is unreadable: {cause}"))
        })
    }

    fn failed(&self, cause: &sqlx::Error) -> Error {
        self.store.fault().of(cause)
    }

    fn not_kept(&self, cause: &sqlx::Error, number: u32) -> Error {
        let twice = cause
            .as_database_error()
            .is_some_and(|error| error.is_unique_violation());
        if twice {
            return Error::new(
                DatabaseErrorKind::Conflict,
                format!(
                    "turn {number} of this conversation is kept already: another process goes on \
                     with it. Nothing was changed."
                ),
            );
        }
        self.failed(cause)
    }
}

/// The turn or note that model calls were made for.
#[derive(Clone, Copy)]
enum BilledEntry<'a> {
    Turn(&'a ConversationTurn),
    Note(&'a TurnNote),
}
