//! Migrations: brings the tables up to date step by step, and never back.

use std::borrow::Cow;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnection;

use super::errors::PostgresErrorContext;
use crate::error::{DatabaseErrorKind, Error, Result};

const STEPS: [(i64, &str, &str); 10] = [
    (
        1,
        "workflows",
        include_str!("migrations/0001_workflows.sql"),
    ),
    (2, "people", include_str!("migrations/0002_people.sql")),
    (3, "access", include_str!("migrations/0003_access.sql")),
    (
        4,
        "fewer rows",
        include_str!("migrations/0004_fewer_rows.sql"),
    ),
    (5, "looking", include_str!("migrations/0005_looking.sql")),
    (6, "calls", include_str!("migrations/0006_calls.sql")),
    (7, "limits", include_str!("migrations/0007_limits.sql")),
    (8, "server", include_str!("migrations/0008_server.sql")),
    (9, "reading", include_str!("migrations/0009_reading.sql")),
    (10, "agent", include_str!("migrations/0010_agent.sql")),
];

/// Not the usual name, because other programs may keep their migrations in the same database.
const TABLE: &str = "drawloom_migrations";

/// Runs the migrations. One process at a time: the driver takes an advisory lock.
pub(super) async fn run(connection: &mut PgConnection, fault: &PostgresErrorContext) -> Result<()> {
    let migrator = migrator();
    let current = is_current(connection, &migrator).await;
    if current.map_err(|cause| fault.of(&cause))? {
        return Ok(());
    }
    let migrated = migrator.run_direct(None, connection, false).await;
    migrated.map_err(|cause| explain(cause, fault))
}

/// Checks first whether there is anything to do: usually there is not, and the check needs neither
/// a lock nor the permission to create tables.
async fn is_current(
    connection: &mut PgConnection,
    migrator: &Migrator,
) -> std::result::Result<bool, sqlx::Error> {
    let is_there = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(TABLE);
    if !is_there.fetch_one(&mut *connection).await? {
        return Ok(false);
    }
    let applied: Vec<(i64, Vec<u8>, bool)> = sqlx::query_as(
        "SELECT version, checksum, success FROM drawloom_migrations ORDER BY version",
    )
    .fetch_all(connection)
    .await?;
    let known = migrator
        .iter()
        .map(|step| (step.version, step.checksum.to_vec(), true));
    Ok(known.eq(applied))
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
    let mut migrator = Migrator::with_migrations(steps.to_vec());
    migrator.dangerous_set_table_name(TABLE);
    migrator
}

pub(super) fn latest() -> i64 {
    let versions = STEPS.iter().map(|(version, ..)| *version);
    versions.max().unwrap_or(0)
}

pub(super) fn newer(place: &str, version: i64) -> Error {
    let message = format!(
        "{place} was written by a newer drawloom: it has tables of version {version}, and this one \
         knows them up to {}. Update drawloom.",
        latest()
    );
    Error::new(DatabaseErrorKind::Newer, message)
}

fn explain(cause: MigrateError, fault: &PostgresErrorContext) -> Error {
    let place = &fault.place;
    match cause {
        MigrateError::VersionMissing(version) => newer(place, version),
        MigrateError::VersionMismatch(version) => Error::new(
            DatabaseErrorKind::Newer,
            format!(
                "{place} was written by another build of drawloom: its tables of version {version} \
                 differ. Use that build, or another database."
            ),
        ),
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => fault.of(&cause),
        other => fault.corrupt(&other.to_string()),
    }
}
