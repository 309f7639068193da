//! Migrations: brings the tables up to date step by step, and never back.

use std::borrow::Cow;
use std::path::Path;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, SqlSafeStr as _};

use super::errors::SqliteErrorContext;
use crate::error::{DatabaseErrorKind, Error, Result};

/// `DRWL`: distinguishes our files from other programs' SQLite files.
const APPLICATION_ID: i32 = 0x4452_574c;

pub(super) const STEPS: [(i64, &str, &str); 11] = [
    (1, "agent", include_str!("migrations/0001_agent.sql")),
    (2, "builds", include_str!("migrations/0002_builds.sql")),
    (
        3,
        "workflows",
        include_str!("migrations/0003_workflows.sql"),
    ),
    (4, "people", include_str!("migrations/0004_people.sql")),
    (5, "access", include_str!("migrations/0005_access.sql")),
    (6, "looking", include_str!("migrations/0006_looking.sql")),
    (7, "calls", include_str!("migrations/0007_calls.sql")),
    (8, "limits", include_str!("migrations/0008_limits.sql")),
    (9, "server", include_str!("migrations/0009_server.sql")),
    (10, "reading", include_str!("migrations/0010_reading.sql")),
    (
        11,
        "run files",
        include_str!("migrations/0011_run_files.sql"),
    ),
];

pub(super) async fn run(
    connection: &mut SqliteConnection,
    fault: &SqliteErrorContext<'_>,
) -> Result<()> {
    let failed = |cause: sqlx::Error| fault.of(&cause);
    refuse_strange_parts(connection, fault).await?;
    if is_current(connection).await.map_err(failed)? {
        return Ok(());
    }
    // Lets one process migrate at a time: the driver takes no lock on SQLite for this.
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(failed)?;
    is_ours(&mut transaction, fault).await?;
    let migrated = migrator().run_direct(None, &mut *transaction, false).await;
    migrated.map_err(|cause| explain(cause, fault))?;
    for setting in [
        format!("PRAGMA application_id = {APPLICATION_ID}"),
        format!("PRAGMA user_version = {}", latest()),
    ] {
        sqlx::query(AssertSqlSafe(setting))
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

/// Checks first whether there is anything to do: usually there is not, and the check needs no lock.
async fn is_current(connection: &mut SqliteConnection) -> std::result::Result<bool, sqlx::Error> {
    let application: i32 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut *connection)
        .await?;
    let version: i64 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(&mut *connection)
        .await?;
    Ok(application == APPLICATION_ID && version == latest())
}

/// Refuses a database that another program made.
async fn is_ours(connection: &mut SqliteConnection, fault: &SqliteErrorContext<'_>) -> Result<()> {
    let failed = |cause: sqlx::Error| fault.of(&cause);
    let application: i32 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    if application == APPLICATION_ID || (application == 0 && tables == 0) {
        return Ok(());
    }
    Err(fault.corrupt("it holds tables of another program"))
}

/// Refuses a database with views or triggers that no migration made. A file that came with a clone or
/// from elsewhere could have them, and reading a table would run what they say, for ever if they like.
async fn refuse_strange_parts(
    connection: &mut SqliteConnection,
    fault: &SqliteErrorContext<'_>,
) -> Result<()> {
    let parts: Vec<(String, Option<String>)> =
        sqlx::query_as("SELECT name, sql FROM sqlite_schema WHERE type NOT IN ('table', 'index')")
            .fetch_all(&mut *connection)
            .await
            .map_err(|cause| fault.of(&cause))?;
    let is_known = |sql: &Option<String>| {
        let sql = sql.as_deref().unwrap_or_default();
        STEPS.iter().any(|(.., step)| step.contains(sql))
    };
    match parts.iter().find(|(_, sql)| !is_known(sql)) {
        None => Ok(()),
        Some((name, _)) => Err(fault.corrupt(&format!("`{name}` is no part of its tables"))),
    }
}

/// Refuses a file that is no database of ours, or one that a newer drawloom wrote.
pub(super) async fn require_ours(
    connection: &mut SqliteConnection,
    fault: &SqliteErrorContext<'_>,
) -> Result<()> {
    let failed = |cause: sqlx::Error| fault.of(&cause);
    let application: i32 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let version: i64 = sqlx::query_scalar("PRAGMA user_version")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    match (application == APPLICATION_ID, version > latest()) {
        (false, _) => Err(fault.corrupt("it holds no tables of drawloom")),
        (true, true) => Err(newer(fault.place, version)),
        (true, false) => refuse_strange_parts(connection, fault).await,
    }
}

pub(super) fn latest() -> i64 {
    STEPS
        .iter()
        .map(|(version, ..)| *version)
        .max()
        .unwrap_or(0)
}

fn migrator() -> Migrator {
    let steps = STEPS.map(|(version, name, sql)| {
        let kind = MigrationType::Simple;
        Migration::new(
            version,
            Cow::Borrowed(name),
            kind,
            sql.into_sql_str(),
            false,
        )
    });
    Migrator::with_migrations(steps.to_vec())
}

pub(super) fn newer(place: &Path, version: i64) -> Error {
    let message = format!(
        "{} was written by a newer drawloom: it has tables of version {version}, and this one knows \
         them up to {}. Update drawloom.",
        place.display(),
        latest()
    );
    Error::new(DatabaseErrorKind::Newer, message)
}

fn explain(cause: MigrateError, fault: &SqliteErrorContext<'_>) -> Error {
    let place = fault.place.display();
    match cause {
        MigrateError::VersionMissing(version) => newer(fault.place, version),
        MigrateError::VersionMismatch(version) => Error::new(
            DatabaseErrorKind::Newer,
            format!(
                "{place} was written by another build of drawloom: its tables of version {version} \
                 differ. Use that build, or move the file away to begin a new one."
            ),
        ),
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => fault.of(&cause),
        other => fault.corrupt(&other.to_string()),
    }
}
