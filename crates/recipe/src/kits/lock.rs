//! `.drawloom/kits.lock`: where each kit came from, and exactly what came.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workspace::{RelPath, Root};

use super::LOCK_FILE;
use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};

const VERSION: u32 = 1;

/// The lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KitLock {
    version: u32,
    #[serde(default)]
    pub kits: BTreeMap<String, LockedKit>,
}

/// One kit's pin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedKit {
    /// The path or URL the kit was added from.
    pub source: String,
    /// The branch, tag or commit that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<String>,
    /// The commit that was fetched; a kit from a plain directory has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The hash of the kit's files, as [`hash_tree`] computes it.
    pub hash: String,
}

impl Default for KitLock {
    fn default() -> Self {
        Self {
            version: VERSION,
            kits: BTreeMap::new(),
        }
    }
}

impl KitLock {
    /// Reads the lock of a project; it is empty if the project has no lock file.
    pub fn read(root: &Root) -> Result<Self, Error> {
        match root.read_text(&RelPath::parse(LOCK_FILE)?)? {
            Some(text) => Self::parse(&text),
            None => Ok(Self::default()),
        }
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        let lock: KitLock = serde_json::from_str(text).map_err(|error| {
            let place = FileSpan {
                line: u32::try_from(error.line()).unwrap_or(1),
                column: u32::try_from(error.column()).unwrap_or(1),
                width: 1,
            };
            let diagnostic = Diagnostic::new(format!("the lock file cannot be read: {error}"))
                .at(LOCK_FILE, text, place)
                .hint("restore it from version control, or delete it and add the kits again");
            Error::of(RecipeErrorKind::Manifest, vec![diagnostic])
        })?;
        if lock.version != VERSION {
            let message = format!("{LOCK_FILE} has version {}, not {VERSION}", lock.version);
            return Err(
                Error::new(RecipeErrorKind::Unsupported, message).hint("use a newer drawloom")
            );
        }
        Ok(lock)
    }

    /// Writes the lock file: sorted, one kit after the other, ready to be versioned.
    pub fn render(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Hashes the paths, contents and executable bits of all files below a directory.
pub fn hash_tree(root: &Root, dir: &RelPath) -> Result<String, Error> {
    let mut hash = Sha256::new();
    for entry in root.walk_where(dir, |entry| entry.path.file_name() != Some(".git"))? {
        let Some(bytes) = root.read(&entry.path)? else {
            continue;
        };
        let path = entry.path.strip_prefix(dir).unwrap_or_else(RelPath::root);
        // Lengths in front, so that no two trees give the same bytes.
        hash.update((path.as_str().len() as u64).to_le_bytes());
        hash.update(path.as_str());
        hash.update([u8::from(root.is_executable(&entry.path)?)]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    let digest = hash.finalize();
    Ok(format!(
        "sha256:{}",
        digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    ))
}
