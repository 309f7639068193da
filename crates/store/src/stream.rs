//! The one stream of events: every change of every run, and of builds, tasks, users, schedules and
//! workflows, in one order that a reader can follow without missing or repeating anything.
//!
//! A reader remembers a [`StreamPosition`] and asks for the events behind it. The order is the
//! order of committed transactions: on SQLite there is one writer at a time; on PostgreSQL a row
//! counts when no transaction that began to write before it is still in progress, so that nothing
//! appears later before a position that a reader has passed. Events of one run keep the order of
//! their numbers.
//!
//! Retention deletes old parts of the stream. A reader whose position is not in the stream any
//! more, or comes from a database that was replaced by a backup, is told to start over
//! ([`StreamPage::must_resync`]).

use std::fmt;
use std::str::FromStr;

use flow::engine::{EventKind, RunEvent};
use flow::{RunId, TaskId};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows};
use crate::users::invalid;
use crate::workflows::event_pages;

/// Limits the rows of the stream that one call reads; each holds up to 32 events.
pub(crate) const STREAM_SCAN_ROWS_MAX: usize = 1_000;

/// The number of rows that retention leaves in the stream.
pub const STREAM_ROWS_KEPT: u64 = 1_000_000;

/// The bits of a position that distinguish the events of one row.
const INDEX_BITS: u32 = 6;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;

/// A place between two events of the stream. Its text is what `id:` of a server-sent event carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamPosition {
    major: u64,
    minor: u64,
}

impl StreamPosition {
    /// The place before all events.
    pub const START: StreamPosition = StreamPosition { major: 0, minor: 0 };

    pub(crate) fn before_row(major: u64, number: u64) -> StreamPosition {
        StreamPosition {
            major,
            minor: number << INDEX_BITS,
        }
    }

    pub(crate) fn behind_row(major: u64, number: u64) -> StreamPosition {
        StreamPosition {
            major,
            minor: number << INDEX_BITS | INDEX_MASK,
        }
    }

    /// Returns the row of the position: the transaction or position, and the number in it.
    pub(crate) fn row(self) -> (u64, u64) {
        (self.major, self.minor >> INDEX_BITS)
    }
}

impl fmt::Display for StreamPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for StreamPosition {
    type Err = Error;

    fn from_str(text: &str) -> Result<StreamPosition> {
        let parts = text.split_once('.');
        let read = parts.and_then(|(major, minor)| {
            let fits = |part: &str| part.len() <= 19 && part.bytes().all(|b| b.is_ascii_digit());
            let number = |part: &str| part.parse().ok().filter(|_| fits(part));
            Some(StreamPosition {
                major: number(major)?,
                minor: number(minor)?,
            })
        });
        read.ok_or_else(|| {
            let text: String = text.chars().take(40).collect();
            invalid(format!(
                "`{text}` is no position of the stream: it looks like 17.65. Leave it out to begin now."
            ))
        })
    }
}

/// Selects the events of a reader: those that match one of the given names. No name means all
/// events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamFilter {
    /// Events of this run and of its tasks.
    pub run: Option<RunId>,
    /// Events of this task.
    pub task: Option<TaskId>,
    /// Changes and progress of this build.
    pub build: Option<String>,
}

/// The kind of thing that changed, where it is not a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangedKind {
    /// A build; the subject is its id.
    Build,
    /// Details or comments of a task; the subject is the task.
    Task,
    /// A user; the subject is the slug.
    User,
    /// A schedule; the subject is the slug.
    Schedule,
    /// A named workflow; the subject is the name.
    Workflow,
}

impl ChangedKind {
    /// Returns the word in the database and in events.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangedKind::Build => "build",
            ChangedKind::Task => "task",
            ChangedKind::User => "user",
            ChangedKind::Schedule => "schedule",
            ChangedKind::Workflow => "workflow",
        }
    }

    fn read(text: &str) -> Option<ChangedKind> {
        let all = [
            ChangedKind::Build,
            ChangedKind::Task,
            ChangedKind::User,
            ChangedKind::Schedule,
            ChangedKind::Workflow,
        ];
        all.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The content of one event of the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamContent {
    /// An event of a run, with its run and its number there.
    Run(Box<RunEvent>),
    /// Another change. `about` is JSON with `change` (`added`, `edited`, `removed`, `commented`,
    /// `progress`), `at_ms`, and further fields such as `status`.
    Changed {
        /// The kind of thing.
        kind: ChangedKind,
        /// Its name.
        subject: String,
        /// The change.
        about: Value,
    },
}

/// One event of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    /// The position right behind this event: a reader that remembers it continues with the next
    /// event.
    pub position: StreamPosition,
    /// The content.
    pub content: StreamContent,
}

/// The result of one reading of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamPage {
    /// The events that fit the filter, in order.
    pub events: Vec<StreamEvent>,
    /// The position to continue from. It also moves past events that the filter excludes.
    pub next: StreamPosition,
    /// The place behind all events that are final at this moment.
    pub head: StreamPosition,
    /// The reader's position is not in the stream any more: events may be missing between it and
    /// this page. A reader tells its own readers to start over, and continues from
    /// [`StreamPage::head`].
    pub must_resync: bool,
}

/// Waits for news of the stream, on a connection of its own. One for a process is enough.
pub trait StreamWatch: Send {
    /// Returns as soon as there may be new events, within about 50 ms. It may return without news; the
    /// first call returns at once, so that a reader looks before it waits.
    fn changed(&mut self) -> DatabaseFuture<'_, ()>;
}

/// The port to the stream.
pub trait EventStream: Send + Sync {
    /// Returns up to `max` events behind a position.
    fn events_after<'a>(
        &'a self,
        position: StreamPosition,
        filter: &'a StreamFilter,
        max: usize,
    ) -> DatabaseFuture<'a, StreamPage>;

    /// Returns the place behind all events that are final at this moment: a reader that wants only what
    /// happens from now on begins here.
    fn stream_head(&self) -> DatabaseFuture<'_, StreamPosition>;

    /// Returns the place before the oldest event that is still there.
    fn stream_oldest(&self) -> DatabaseFuture<'_, StreamPosition>;

    /// Opens a watch that waits for news.
    fn watch_stream(&self) -> DatabaseFuture<'_, Box<dyn StreamWatch>>;

    /// Returns the stored position of a named reader; the start if it has none.
    fn reader_position<'a>(&'a self, reader: &'a str) -> DatabaseFuture<'a, StreamPosition>;

    /// Stores the position of a named reader, such as the dispatcher of webhooks.
    fn keep_reader_position<'a>(
        &'a self,
        reader: &'a str,
        position: StreamPosition,
    ) -> DatabaseFuture<'a, ()>;

    /// Deletes all but the newest rows; returns how many rows it deleted.
    fn trim_stream(&self, rows_kept: u64) -> DatabaseFuture<'_, usize>;
}

/// The statements that differ between the engines.
pub(crate) trait StreamTables: SharedTables {
    /// Rows `major`, `number`, `kind`, `subject`, `body`. Values: major, number, how many.
    const SCAN: &'static str;
    /// The last row that is final: `major`, `number`.
    const HEAD: &'static str;
    /// The first row: `major`, `number`.
    const OLDEST: &'static str;
    /// Removes all but so many rows.
    const TRIM: &'static str;

    fn open_watch(&self) -> DatabaseFuture<'_, Box<dyn StreamWatch>>;
}

const READER: &str = "SELECT major, minor FROM stream_readers WHERE name = $1";
const KEEP_READER: &str = "INSERT INTO stream_readers (name, major, minor) VALUES ($1, $2, $3) \
     ON CONFLICT (name) DO UPDATE SET major = excluded.major, minor = excluded.minor RETURNING name";

impl<T: StreamTables> EventStream for T {
    fn events_after<'a>(
        &'a self,
        position: StreamPosition,
        filter: &'a StreamFilter,
        max: usize,
    ) -> DatabaseFuture<'a, StreamPage> {
        Box::pin(async move {
            // Reads the head first: events that arrive in between are not behind it.
            let head = self.stream_head().await?;
            let oldest = self.stream_oldest().await?;
            let is_lost = position < oldest || position > head;
            let must_resync = position != StreamPosition::START && is_lost;
            let from = match must_resync {
                true => oldest,
                false => position,
            };
            let (major, number) = from.row();
            let statement = TableStatement::new(T::SCAN)
                .with(major)
                .with(number)
                .with(scan_rows(filter, max));
            let rows = self.look(statement).await?;
            let rows = read_rows(self, "the stream", &rows, read_row)?;
            let reading = StreamReading { from, filter, max };
            let (events, next) = reading
                .take(&rows)
                .map_err(|why| self.unreadable_row("a page of events", &why))?;
            Ok(StreamPage {
                events,
                next,
                head: head.max(next),
                must_resync,
            })
        })
    }

    fn stream_head(&self) -> DatabaseFuture<'_, StreamPosition> {
        Box::pin(async move {
            let rows = self.look(TableStatement::new(T::HEAD)).await?;
            let read = |row: &TableRow| {
                Ok(StreamPosition::behind_row(
                    row.count("major")?,
                    row.count("number")?,
                ))
            };
            Ok(read_rows(self, "the stream", &rows, read)?
                .pop()
                .unwrap_or_default())
        })
    }

    fn stream_oldest(&self) -> DatabaseFuture<'_, StreamPosition> {
        Box::pin(async move {
            let rows = self.look(TableStatement::new(T::OLDEST)).await?;
            let read = |row: &TableRow| {
                Ok(StreamPosition::before_row(
                    row.count("major")?,
                    row.count("number")?,
                ))
            };
            Ok(read_rows(self, "the stream", &rows, read)?
                .pop()
                .unwrap_or_default())
        })
    }

    fn watch_stream(&self) -> DatabaseFuture<'_, Box<dyn StreamWatch>> {
        self.open_watch()
    }

    fn reader_position<'a>(&'a self, reader: &'a str) -> DatabaseFuture<'a, StreamPosition> {
        Box::pin(async move {
            let rows = self.look(TableStatement::new(READER).with(reader)).await?;
            let read = |row: &TableRow| {
                Ok(StreamPosition {
                    major: row.count("major")?,
                    minor: row.count("minor")?,
                })
            };
            Ok(read_rows(self, "a reader", &rows, read)?
                .pop()
                .unwrap_or_default())
        })
    }

    fn keep_reader_position<'a>(
        &'a self,
        reader: &'a str,
        position: StreamPosition,
    ) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let statement = TableStatement::new(KEEP_READER)
                .with(reader)
                .with(position.major)
                .with(position.minor);
            self.change_rows(statement).await?;
            Ok(())
        })
    }

    fn trim_stream(&self, rows_kept: u64) -> DatabaseFuture<'_, usize> {
        Box::pin(async move {
            let statement = TableStatement::optional(T::TRIM).with(rows_kept);
            Ok(self.change_rows(statement).await?.len())
        })
    }
}

/// Returns how many rows to read: without a filter no more than events, with a filter up to the
/// limit.
fn scan_rows(filter: &StreamFilter, max: usize) -> i64 {
    let rows = match *filter == StreamFilter::default() {
        // The reader may have seen all events of the first row.
        true => max.saturating_add(1).min(STREAM_SCAN_ROWS_MAX),
        false => STREAM_SCAN_ROWS_MAX,
    };
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// A row of the stream.
struct StreamRow {
    major: u64,
    number: u64,
    kind: String,
    subject: String,
    /// `None` if the run is deleted.
    body: Option<String>,
}

fn read_row(row: &TableRow) -> ColumnRead<StreamRow> {
    Ok(StreamRow {
        major: row.count("major")?,
        number: row.count("number")?,
        kind: row.text("kind")?,
        subject: row.text("subject")?,
        body: row.maybe_text("body")?,
    })
}

/// One reading in progress.
struct StreamReading<'a> {
    from: StreamPosition,
    filter: &'a StreamFilter,
    max: usize,
}

impl StreamReading<'_> {
    fn take(&self, rows: &[StreamRow]) -> ColumnRead<(Vec<StreamEvent>, StreamPosition)> {
        let mut events = Vec::new();
        let mut next = self.from;
        for row in rows {
            for (content, index) in contents(row)?.into_iter().zip(1..) {
                let position = StreamPosition {
                    major: row.major,
                    minor: row.number << INDEX_BITS | index,
                };
                if position <= self.from {
                    continue;
                }
                if events.len() == self.max {
                    return Ok((events, next));
                }
                next = position;
                if self.filter.fits(&content) {
                    events.push(StreamEvent { position, content });
                }
            }
            next = next.max(StreamPosition::behind_row(row.major, row.number));
        }
        Ok((events, next))
    }
}

fn contents(row: &StreamRow) -> ColumnRead<Vec<StreamContent>> {
    let Some(body) = &row.body else {
        return Ok(Vec::new());
    };
    if row.kind == "run" {
        let events = event_pages::events(&row.subject, body).map_err(|cause| cause.to_string())?;
        let contents = events.into_iter().map(Box::new).map(StreamContent::Run);
        return Ok(contents.collect());
    }
    // Skips a kind that a newer version has added.
    let Some(kind) = ChangedKind::read(&row.kind) else {
        return Ok(Vec::new());
    };
    Ok(vec![StreamContent::Changed {
        kind,
        subject: row.subject.clone(),
        about: serde_json::from_str(body).map_err(|cause| cause.to_string())?,
    }])
}

impl StreamFilter {
    fn fits(&self, content: &StreamContent) -> bool {
        if *self == StreamFilter::default() {
            return true;
        }
        match content {
            StreamContent::Run(event) => {
                let task = self.task.as_ref();
                self.run.as_ref() == Some(&event.run)
                    || task.is_some_and(|task| task_of(&event.what) == Some(task))
            }
            StreamContent::Changed { kind, subject, .. } => match kind {
                ChangedKind::Build => self.build.as_ref() == Some(subject),
                ChangedKind::Task => {
                    let task: Option<TaskId> = subject.parse().ok();
                    task.is_some_and(|task| {
                        self.run.as_ref() == Some(&task.run) || self.task.as_ref() == Some(&task)
                    })
                }
                _ => false,
            },
        }
    }
}

/// Returns the task that an event of a run is about.
pub(crate) fn task_of(what: &EventKind) -> Option<&TaskId> {
    match what {
        EventKind::TaskCreated { task, .. }
        | EventKind::TaskMoved { task, .. }
        | EventKind::Assigned { task, .. }
        | EventKind::RunReopened { task } => Some(task),
        EventKind::GroupOpened { group, .. }
        | EventKind::ItemStarted { group, .. }
        | EventKind::ItemEnded { group, .. }
        | EventKind::ItemReopened { group, .. }
        | EventKind::GroupClosed { group }
        | EventKind::GroupReopened { group }
        | EventKind::GroupContinued { group, .. } => Some(group),
        EventKind::Arrived { join, .. } | EventKind::CameLate { join, .. } => Some(join),
        EventKind::Decided { after, .. } => after.as_ref(),
        EventKind::Signalled { task, .. } | EventKind::Warned { task, .. } => task.as_ref(),
        EventKind::RunStarted { parent, .. } => parent.as_ref(),
        EventKind::RunPaused { .. }
        | EventKind::RunResumed
        | EventKind::RunEnded { .. }
        | EventKind::RunQueued { .. }
        | EventKind::RunAdmitted
        | EventKind::RunMoved { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_are_written() {
        let behind = StreamPosition::behind_row(17, 3);
        assert_eq!(
            behind.to_string().parse::<StreamPosition>().unwrap(),
            behind
        );
        assert!(StreamPosition::before_row(17, 3) < behind);
        assert!(behind < StreamPosition::before_row(17, 4));
        assert!(behind < StreamPosition::before_row(18, 0));
        for wrong in [
            "",
            "17",
            "17.",
            ".3",
            "-1.2",
            "17.3.4",
            "+1.2",
            "99999999999999999999.1",
        ] {
            assert!(wrong.parse::<StreamPosition>().is_err(), "{wrong}");
        }
    }
}
