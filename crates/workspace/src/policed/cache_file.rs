//! The project's cache folder: files that may be lost at any time, readable by their owner only.

use super::Workspace;
use crate::{ChangeSet, Durability, Error, RelPath};

/// The folder, inside the project.
const FOLDER: &str = ".drawloom/cache";
/// Keeps git from adding the cache.
const IGNORE_FILE: &str = ".drawloom/cache/.gitignore";

impl Workspace {
    /// Reads a file of the cache folder. Returns `None` if it does not exist or is larger than
    /// `bytes_max`.
    pub fn read_cache_file(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, Error> {
        self.root.read_at_most(&path_of(name)?, bytes_max)
    }

    /// Writes a file of the cache folder whole or not at all. The policy is not asked: the folder
    /// is the program's own, and no name leads out of it.
    pub fn write_cache_file(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let path = path_of(name)?;
        // The cache quotes the project's code: the folder is its owner's.
        self.root.enter_private(&path)?;
        let mut changes = ChangeSet::new();
        changes.write(path, bytes);
        let ignore_file = RelPath::parse(IGNORE_FILE)?;
        if self.root.kind(&ignore_file)?.is_none() {
            changes.write(ignore_file, "*\n");
        }
        self.root.apply_surviving(&changes, Durability::Kill)?;
        Ok(())
    }
}

fn path_of(name: &str) -> Result<RelPath, Error> {
    RelPath::parse(&format!("{FOLDER}/{name}"))
}
