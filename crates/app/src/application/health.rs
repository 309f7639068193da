//! The health of the application's database and disk.

use std::path::Path;

use super::App;
use crate::Error;
use crate::people::explained;
use crate::project::HOME;

/// The health of an application whose database answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppHealth {
    /// `true` if the tables are those that this program knows.
    pub has_current_tables: bool,
    /// The room on the disk of the project; `None` where the system does not say.
    pub free_bytes: Option<u64>,
}

impl App {
    /// The room on the disk of the project, or on that of its database where it is less.
    fn free_bytes(&self) -> Option<u64> {
        let folder = self.project().folder();
        let places = [folder.to_owned(), folder.join(HOME)];
        places.iter().filter_map(|place| free_bytes(place)).min()
    }

    /// Asks the database and the disk how they are.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub async fn health(&self) -> Result<AppHealth, Error> {
        let tables = self.database().has_current_tables().await;
        Ok(AppHealth {
            has_current_tables: tables.map_err(explained)?,
            free_bytes: self.free_bytes(),
        })
    }
}

/// Returns how many bytes may still be written to the disk of a folder; `None` if the system does not
/// say.
fn free_bytes(folder: &Path) -> Option<u64> {
    let room = rustix::fs::statvfs(folder).ok()?;
    Some(room.f_bavail.saturating_mul(room.f_frsize))
}
