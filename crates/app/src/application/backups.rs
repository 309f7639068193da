//! Backups of the database.
//!
//! A SQLite file is copied while others write. A database on PostgreSQL is left to `pg_dump`, which copies
//! it while others write, in parallel and into a format that every version after it reads: the error names
//! the command.

use std::path::{Path, PathBuf};

use super::UseCases;
use super::access::Permission;
use crate::people::explained;
use crate::workflows::database::{self, ProjectDatabase};
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};

/// A database that was put back.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// The file that is the database now.
    pub place: PathBuf,
    /// The file that was the database before, where there was one.
    pub before: Option<PathBuf>,
}

impl UseCases {
    /// Writes a snapshot of the database into a new file, and returns its size in bytes.
    pub async fn back_up(&self, to: &Path) -> Result<u64, Error> {
        self.permit(Permission::ManageAccess)?;
        match self.app().database() {
            ProjectDatabase::File(store) => store.back_up(to).await.map_err(explained),
            ProjectDatabase::Server(_) => Err(on_server(&format!(
                "pg_dump --format=custom --file={} \"$DRAWLOOM_DATABASE_URL\"",
                to.display()
            ))),
        }
    }
}

/// Puts a backup in the place of the project's database, which is kept beside it under another name.
pub async fn restore_database(
    project: &Project,
    surroundings: &ProcessEnvironment,
    given: Option<&str>,
    from: &Path,
) -> Result<RestoreReport, Error> {
    database::require_trust(project, surroundings, given)?;
    if database::server_address(project, surroundings, given).is_some() {
        return Err(on_server(&format!(
            "pg_restore --clean --if-exists --dbname=\"$DRAWLOOM_DATABASE_URL\" {}",
            from.display()
        )));
    }
    let place = database::database_place(project, surroundings, given)?;
    let now_ms = surroundings.now_ms as u64;
    let before = store::restore_file(from, &place, now_ms).await;
    Ok(RestoreReport {
        before: before.map_err(explained)?,
        place,
    })
}

fn on_server(command: &str) -> Error {
    Error::new(
        AppErrorCode::Usage,
        "the database is on PostgreSQL, which has tools of its own for this",
    )
    .hint(format!("run `{command}`"))
}
