//! Named workflows and their versions.
//!
//! The text is the only truth: a version is a name, a number from 1, the hash of a text, and who
//! saved it, when and why. Saving names the version that the author started from, so that of two
//! authors with the same start the second one gets a conflict. Texts are stored by their hash
//! beside those of runs, and stay when a name is removed.

use std::str::FromStr;

use flow::TextHash;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::DatabaseFuture;
use crate::search::{self, DocumentKind, SearchDocument};
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows, row_limit};
use crate::users::{check_line, invalid, limited};

/// The longest name of a workflow.
pub const WORKFLOW_NAME_CHARS_MAX: usize = 200;
/// The longest message of a version.
pub(crate) const VERSION_MESSAGE_CHARS_MAX: usize = 2_000;
/// The longest text of a workflow, in bytes.
pub(crate) const WORKFLOW_TEXT_BYTES_MAX: usize = 4 << 20;

/// The way a version was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionOrigin {
    /// A person or an agent saved it: on a page, by the API or by a tool.
    Saved,
    /// A file of a project was the source.
    File(String),
    /// `workflow push` stored it.
    Pushed,
    /// An import from another format stored it.
    Imported,
}

impl VersionOrigin {
    fn write(&self) -> String {
        match self {
            VersionOrigin::Saved => "saved".to_owned(),
            VersionOrigin::File(path) => format!("file:{path}"),
            VersionOrigin::Pushed => "pushed".to_owned(),
            VersionOrigin::Imported => "imported".to_owned(),
        }
    }
}

impl FromStr for VersionOrigin {
    type Err = Error;

    fn from_str(text: &str) -> Result<VersionOrigin> {
        match (text, text.strip_prefix("file:")) {
            (_, Some(path)) => Ok(VersionOrigin::File(path.to_owned())),
            ("saved", _) => Ok(VersionOrigin::Saved),
            ("pushed", _) => Ok(VersionOrigin::Pushed),
            ("imported", _) => Ok(VersionOrigin::Imported),
            _ => Err(invalid(format!("`{text}` is no origin of a version."))),
        }
    }
}

/// A version to save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewVersion {
    /// The workflow's name.
    pub name: String,
    /// The number of the version that the author started from; 0 for a new workflow.
    pub expected: u64,
    /// The text.
    pub source: String,
    /// The author's slug, or `operator`.
    pub author: String,
    /// A line that says why.
    pub message: String,
    /// The way it is stored.
    pub origin: VersionOrigin,
}

/// A stored version, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowVersion {
    /// The workflow's name.
    pub name: String,
    /// Its number, from 1 and without gaps.
    pub number: u64,
    /// The hash of its text, by which runs are pinned to it.
    pub hash: TextHash,
    /// The author's slug.
    pub author: String,
    /// The time of saving, in milliseconds since 1970.
    pub created_ms: u64,
    /// The line that says why.
    pub message: String,
    /// The way it was stored.
    pub origin: VersionOrigin,
}

/// The port to the named workflows.
pub trait WorkflowVersions: Send + Sync {
    /// Saves a version if [`NewVersion::expected`] is the newest one's number; a text that the newest
    /// version has already makes no new one. [`DatabaseErrorKind::Conflict`] names the number that is there now.
    fn save_version<'a>(&'a self, version: &'a NewVersion) -> DatabaseFuture<'a, WorkflowVersion>;

    /// Returns the newest version of every workflow whose name comes behind `after`, by name.
    fn named_workflows<'a>(
        &'a self,
        after: Option<&'a str>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<WorkflowVersion>>;

    /// Returns the versions of a workflow, the newest first, from before the number `before`.
    fn versions<'a>(
        &'a self,
        name: &'a str,
        before: Option<u64>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<WorkflowVersion>>;

    /// Returns one version of a workflow with its text; the newest one if no number is given.
    fn version<'a>(
        &'a self,
        name: &'a str,
        number: Option<u64>,
    ) -> DatabaseFuture<'a, Option<(WorkflowVersion, String)>>;

    /// Returns the names and versions that a text has, for a run that is pinned to it.
    fn versions_of_text<'a>(
        &'a self,
        hash: &'a TextHash,
    ) -> DatabaseFuture<'a, Vec<WorkflowVersion>>;

    /// Removes a name with its versions if `expected` is the newest number. Texts and runs stay.
    fn remove_workflow<'a>(&'a self, name: &'a str, expected: u64) -> DatabaseFuture<'a, ()>;
}

macro_rules! columns {
    () => {
        "name, number, hash, author, created_ms, message, origin"
    };
}

const KEEP_TEXT: &str = "INSERT INTO workflow_texts (hash, source, created_ms) VALUES ($1, $2, $3) \
     ON CONFLICT (hash) DO NOTHING RETURNING hash";
const SAVE: &str = concat!(
    "INSERT INTO workflow_versions (name, number, hash, author, created_ms, message, origin) \
     SELECT $1, $2 + 1, $3, $4, $5, $6, $7 WHERE $2 = (SELECT coalesce(max(number), 0) \
     FROM workflow_versions WHERE name = $1) ON CONFLICT (name, number) DO NOTHING RETURNING ",
    columns!()
);
const NAME_TEXT: &str =
    "INSERT INTO workflow_names (hash, name) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING hash";
pub(crate) const NAMED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM workflow_versions AS newest WHERE name > $1 AND NOT EXISTS (SELECT 1 \
     FROM workflow_versions AS later WHERE later.name = newest.name AND later.number > newest.number) \
     ORDER BY name LIMIT $2"
);
pub(crate) const VERSIONS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM workflow_versions WHERE name = $1 AND number < $2 ORDER BY number DESC LIMIT $3"
);
const ONE: &str = "SELECT version.name, version.number, version.hash, version.author, \
     version.created_ms, version.message, version.origin, texts.source \
     FROM workflow_versions AS version JOIN workflow_texts AS texts ON texts.hash = version.hash \
     WHERE version.name = $1 AND version.number = $2";
pub(crate) const OF_TEXT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM workflow_versions WHERE hash = $1 ORDER BY name, number"
);
const REMOVE: &str = "DELETE FROM workflow_versions WHERE name = $1 AND $2 = \
     (SELECT max(number) FROM workflow_versions AS newest WHERE newest.name = $1) RETURNING number";

impl<T: SharedTables> WorkflowVersions for T {
    fn save_version<'a>(&'a self, version: &'a NewVersion) -> DatabaseFuture<'a, WorkflowVersion> {
        Box::pin(async move {
            check_version(version)?;
            let hash = TextHash::of(&version.source);
            let newest = self.versions(&version.name, None, 1).await?.pop();
            if let Some(newest) = newest.filter(|newest| newest.number == version.expected)
                && newest.hash == hash
            {
                return Ok(newest);
            }
            let now_ms = self.time_ms();
            let document = SearchDocument {
                kind: DocumentKind::Workflow,
                name: version.name.clone(),
                run: None,
                task: None,
                title: version.name.clone(),
                body: version.source.clone(),
                at_ms: now_ms,
            };
            let saved = self.change_together(vec![
                search::put(self, &document),
                TableStatement::optional(KEEP_TEXT)
                    .with(hash.as_str())
                    .with(version.source.as_str())
                    .with(now_ms),
                TableStatement::optional(NAME_TEXT)
                    .with(hash.as_str())
                    .with(version.name.as_str()),
                TableStatement::new(SAVE)
                    .with(version.name.as_str())
                    .with(version.expected)
                    .with(hash.as_str())
                    .with(version.author.as_str())
                    .with(now_ms)
                    .with(self.scrubbed(&version.message))
                    .with(version.origin.write()),
            ]);
            let saved = saved.await?.map(|mut rows| rows.pop().unwrap_or_default());
            let saved = saved.unwrap_or_default();
            match read_rows(self, "a version", &saved, read_version)?.pop() {
                Some(saved) => Ok(saved),
                None => Err(stale_version(self, &version.name, version.expected).await?),
            }
        })
    }

    fn named_workflows<'a>(
        &'a self,
        after: Option<&'a str>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<WorkflowVersion>> {
        Box::pin(async move {
            let statement = TableStatement::new(NAMED)
                .with(after.unwrap_or(""))
                .with(row_limit(max));
            let rows = self.look(statement).await?;
            read_rows(self, "a version", &rows, read_version)
        })
    }

    fn versions<'a>(
        &'a self,
        name: &'a str,
        before: Option<u64>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<WorkflowVersion>> {
        Box::pin(async move {
            let statement = TableStatement::new(VERSIONS)
                .with(name)
                .with(before.unwrap_or(u64::MAX))
                .with(row_limit(max));
            let rows = self.look(statement).await?;
            read_rows(self, "a version", &rows, read_version)
        })
    }

    fn version<'a>(
        &'a self,
        name: &'a str,
        number: Option<u64>,
    ) -> DatabaseFuture<'a, Option<(WorkflowVersion, String)>> {
        Box::pin(async move {
            let number = match number {
                Some(number) => number,
                None => match self.versions(name, None, 1).await?.pop() {
                    Some(newest) => newest.number,
                    None => return Ok(None),
                },
            };
            let statement = TableStatement::new(ONE).with(name).with(number);
            let rows = self.look(statement).await?;
            let read = |row: &TableRow| Ok((read_version(row)?, row.text("source")?));
            Ok(read_rows(self, "a version", &rows, read)?.pop())
        })
    }

    fn versions_of_text<'a>(
        &'a self,
        hash: &'a TextHash,
    ) -> DatabaseFuture<'a, Vec<WorkflowVersion>> {
        Box::pin(async move {
            let statement = TableStatement::new(OF_TEXT).with(hash.as_str());
            let rows = self.look(statement).await?;
            read_rows(self, "a version", &rows, read_version)
        })
    }

    fn remove_workflow<'a>(&'a self, name: &'a str, expected: u64) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let removed = self.change_together(vec![
                TableStatement::new(REMOVE).with(name).with(expected),
                search::forget(DocumentKind::Workflow, name),
            ]);
            match removed.await? {
                Ok(_) => Ok(()),
                Err(_) => Err(stale_version(self, name, expected).await?),
            }
        })
    }
}

/// Explains why the version that was expected is not the newest.
async fn stale_version(
    versions: &impl WorkflowVersions,
    name: &str,
    expected: u64,
) -> Result<Error> {
    let newest = versions.versions(name, None, 1).await?.pop();
    Ok(match newest {
        None => Error::new(
            DatabaseErrorKind::Missing,
            format!("There is no workflow `{name}`."),
        ),
        Some(newest) => Error::new(
            DatabaseErrorKind::Conflict,
            format!(
                "The workflow `{name}` has version {} by {} now, and version {expected} was \
                 expected. Look at the difference and save again.",
                newest.number, newest.author
            ),
        ),
    })
}

/// Refuses a version that cannot be stored. It may still be a workflow that does not run.
fn check_version(version: &NewVersion) -> Result<()> {
    let limit = ("WORKFLOW_NAME_CHARS_MAX", WORKFLOW_NAME_CHARS_MAX);
    check_line("the workflow's name", &version.name, limit)?;
    check_line("the author", &version.author, limit)?;
    limited(
        "the message",
        version.message.chars().count(),
        ("VERSION_MESSAGE_CHARS_MAX", VERSION_MESSAGE_CHARS_MAX),
    )?;
    limited(
        "the workflow's text",
        version.source.len(),
        ("WORKFLOW_TEXT_BYTES_MAX", WORKFLOW_TEXT_BYTES_MAX),
    )?;
    // PostgreSQL stores no text with a zero byte.
    match version.source.contains('\0') || version.message.contains('\0') {
        true => Err(invalid(
            "the workflow's text or message has a NUL in it.".to_owned(),
        )),
        false => Ok(()),
    }
}

fn read_version(row: &TableRow) -> ColumnRead<WorkflowVersion> {
    Ok(WorkflowVersion {
        name: row.text("name")?,
        number: row.count("number")?,
        hash: TextHash::new(row.text("hash")?),
        author: row.text("author")?,
        created_ms: row.count("created_ms")?,
        message: row.text("message")?,
        origin: row.parsed("origin")?,
    })
}
