//! The tables, brought up to date one step after the other; never back.

use std::borrow::Cow;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnection;

use super::fault::Fault;
use crate::error::{Error, Kind, Result};

const STEPS: [(i64, &str, &str); 6] = [
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
];

/// Beside tables of other programs, which may be counted in a table of the usual name.
const TABLE: &str = "drawloom_migrations";

/// One process at a time: the driver has PostgreSQL lock for it.
pub(super) async fn run(connection: &mut PgConnection, fault: &Fault) -> Result<()> {
    let migrator = migrator();
    let current = is_current(connection, &migrator).await;
    if current.map_err(|cause| fault.of(&cause))? {
        return Ok(());
    }
    let migrated = migrator.run_direct(None, connection, false).await;
    migrated.map_err(|cause| explain(cause, fault))
}

/// Nothing to do is the usual case, and needs neither a lock nor the right to make tables.
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
    Error::new(Kind::Newer, message)
}

fn explain(cause: MigrateError, fault: &Fault) -> Error {
    let place = &fault.place;
    match cause {
        MigrateError::VersionMissing(version) => newer(place, version),
        MigrateError::VersionMismatch(version) => Error::new(
            Kind::Newer,
            format!(
                "{place} was written by another build of drawloom: its tables of version {version} \
                 differ. Use that build, or another database."
            ),
        ),
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => fault.of(&cause),
        other => fault.corrupt(&other.to_string()),
    }
}
