//! The audit log: who did, or tried to do, what to which object, and when.
//!
//! Entries are only ever added. A list is read page by page, the newest first; a cursor is the number
//! of the last entry that was seen.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows, row_limit};
use crate::users::{check_line, invalid};

/// The longest actor, action or object of an entry.
pub(crate) const AUDIT_NAME_CHARS_MAX: usize = 300;

/// The longest detail of an entry; a longer one is cut.
pub const AUDIT_DETAIL_CHARS_MAX: usize = 2_000;

/// The outcome of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditOutcome {
    /// The action succeeded.
    Done,
    /// The actor had no permission.
    Refused,
    /// The actor had permission, and the action failed.
    Failed,
}

impl AuditOutcome {
    const ALL: [AuditOutcome; 3] = [
        AuditOutcome::Done,
        AuditOutcome::Refused,
        AuditOutcome::Failed,
    ];

    /// Returns the word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            AuditOutcome::Done => "done",
            AuditOutcome::Refused => "refused",
            AuditOutcome::Failed => "failed",
        }
    }
}

impl FromStr for AuditOutcome {
    type Err = Error;

    fn from_str(text: &str) -> Result<AuditOutcome> {
        let mut all = AuditOutcome::ALL.into_iter();
        let found = all.find(|outcome| outcome.as_str() == text);
        found.ok_or_else(|| {
            let words = AuditOutcome::ALL.map(AuditOutcome::as_str).join(", ");
            invalid(format!("`{text}` is no outcome; the outcomes are {words}."))
        })
    }
}

/// An entry to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAuditEntry {
    /// The actor: a user's slug, `token:NAME`, or `operator` at the terminal.
    pub actor: String,
    /// The action, as the table of permissions calls it: `runs.start`.
    pub action: String,
    /// The object, such as `run:19a8…`; empty where there is no single one.
    pub object: String,
    /// The outcome.
    pub outcome: AuditOutcome,
    /// One more sentence, without known secrets and cut to [`AUDIT_DETAIL_CHARS_MAX`].
    pub detail: String,
    /// The address that the request came from; empty at the terminal.
    pub address: String,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, which is the cursor of lists.
    pub id: u64,
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The entry.
    pub entry: NewAuditEntry,
}

/// The entries to list. A field that is `None` leaves nothing out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only those of this actor.
    pub actor: Option<String>,
    /// Only those about this object.
    pub object: Option<String>,
    /// Only those of this action.
    pub action: Option<String>,
    /// Only those with this outcome.
    pub outcome: Option<AuditOutcome>,
    /// Only those at this time or later.
    pub since_ms: Option<u64>,
    /// Only those before this time.
    pub before_ms: Option<u64>,
}

/// The port to the audit log.
pub trait AuditLog: Send + Sync {
    /// Adds an entry and returns it with its number and time.
    fn add_audit_entry<'a>(&'a self, entry: &'a NewAuditEntry) -> DatabaseFuture<'a, AuditEntry>;

    /// Returns entries, the newest first, from behind the entry with the number `after`.
    fn audit_entries<'a>(
        &'a self,
        filter: &'a AuditFilter,
        after: Option<u64>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<AuditEntry>>;

    /// Removes entries from before a time; returns how many.
    fn sweep_audit(&self, before_ms: u64) -> DatabaseFuture<'_, usize>;
}

macro_rules! columns {
    () => {
        "id, at_ms, actor, action, object, outcome, detail, address"
    };
}

/// A list by one index; the rest of the filter is applied to its rows.
macro_rules! listed {
    ($key:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM audit_entries WHERE ",
            $key,
            "id < $1 AND ($3 IS NULL OR actor = $3) AND ($4 IS NULL OR object = $4) \
             AND ($5 IS NULL OR action = $5) AND ($6 IS NULL OR outcome = $6) \
             AND at_ms >= $7 AND at_ms < $8 ORDER BY id DESC LIMIT $2"
        )
    };
}

const ADD: &str = concat!(
    "INSERT INTO audit_entries (at_ms, actor, action, object, outcome, detail, address) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ",
    columns!()
);
pub(crate) const NEWEST: &str = listed!("");
pub(crate) const OF_ACTOR: &str = listed!("actor = $3 AND ");
pub(crate) const OF_OBJECT: &str = listed!("object = $4 AND ");
const SWEEP: &str = "DELETE FROM audit_entries WHERE id IN \
     (SELECT id FROM audit_entries WHERE at_ms < $1 ORDER BY id LIMIT 10000) RETURNING id";

impl<T: SharedTables> AuditLog for T {
    fn add_audit_entry<'a>(&'a self, entry: &'a NewAuditEntry) -> DatabaseFuture<'a, AuditEntry> {
        Box::pin(async move {
            let limit = ("AUDIT_NAME_CHARS_MAX", AUDIT_NAME_CHARS_MAX);
            check_line("the actor", &entry.actor, limit)?;
            check_line("the action", &entry.action, limit)?;
            let cut = |text: &str, max: usize| -> String {
                let plain = text.chars().filter(|c| *c != '\0');
                plain.take(max).collect()
            };
            let statement = TableStatement::new(ADD)
                .with(self.time_ms())
                .with(entry.actor.as_str())
                .with(entry.action.as_str())
                .with(cut(&entry.object, AUDIT_NAME_CHARS_MAX))
                .with(entry.outcome.as_str())
                .with(cut(&self.scrubbed(&entry.detail), AUDIT_DETAIL_CHARS_MAX))
                .with(cut(&entry.address, AUDIT_NAME_CHARS_MAX));
            let rows = self.change_rows(statement).await?;
            let added = read_rows(self, "an audit entry", &rows, read_entry)?.pop();
            added.ok_or_else(|| self.unreadable_row("an audit entry", "it was not added"))
        })
    }

    fn audit_entries<'a>(
        &'a self,
        filter: &'a AuditFilter,
        after: Option<u64>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<AuditEntry>> {
        Box::pin(async move {
            let sql = match (&filter.object, &filter.actor) {
                (Some(_), _) => OF_OBJECT,
                (None, Some(_)) => OF_ACTOR,
                (None, None) => NEWEST,
            };
            let statement = TableStatement::new(sql)
                .with(after.unwrap_or(u64::MAX))
                .with(row_limit(max))
                .with(filter.actor.clone())
                .with(filter.object.clone())
                .with(filter.action.clone())
                .with(filter.outcome.map(AuditOutcome::as_str))
                .with(filter.since_ms.unwrap_or(0))
                .with(filter.before_ms.unwrap_or(u64::MAX));
            let rows = self.look(statement).await?;
            read_rows(self, "an audit entry", &rows, read_entry)
        })
    }

    fn sweep_audit(&self, before_ms: u64) -> DatabaseFuture<'_, usize> {
        Box::pin(async move {
            let statement = TableStatement::optional(SWEEP).with(before_ms);
            Ok(self.change_rows(statement).await?.len())
        })
    }
}

fn read_entry(row: &TableRow) -> ColumnRead<AuditEntry> {
    Ok(AuditEntry {
        id: row.count("id")?,
        at_ms: row.count("at_ms")?,
        entry: NewAuditEntry {
            actor: row.text("actor")?,
            action: row.text("action")?,
            object: row.text("object")?,
            outcome: row.parsed("outcome")?,
            detail: row.text("detail")?,
            address: row.text("address")?,
        },
    })
}
