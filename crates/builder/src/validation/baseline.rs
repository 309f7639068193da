//! Caches the results of checks on the untouched tree, by tree, check and environment.
//!
//! One file per check. A check that could not judge is never cached for other builds: the next one
//! may find the program installed. It is cached for the current build, which asks again after each
//! repair.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workspace::fs;

use super::checks::CheckOutcome;
use super::{CheckEnvironment, ProjectCheck};
use crate::job::JobId;

/// Changes with the meaning of the stored data.
const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct CachedBaseline {
    version: u32,
    ran: CheckOutcome,
}

/// The cached baselines of one build's checks.
pub(crate) struct BaselineCache<'a> {
    pub(crate) cache: &'a Path,
    pub(crate) job: &'a JobId,
    /// The name of the tree the build starts from.
    pub(crate) tree: &'a str,
    pub(crate) environment: &'a CheckEnvironment,
}

impl BaselineCache<'_> {
    /// Returns the cached result of this check on the untouched tree. A broken file counts as
    /// missing.
    pub(crate) fn load(&self, check: &ProjectCheck) -> Option<CheckOutcome> {
        let places = [self.shared(check), self.own(check)];
        places.iter().find_map(|place| {
            let text = fs::read_text(place).ok()??;
            let kept: CachedBaseline = serde_json::from_str(&text).ok()?;
            (kept.version == VERSION).then_some(kept.ran)
        })
    }

    /// Stores the result of this check: for all builds if it judged something, otherwise for this
    /// one.
    pub(crate) fn save(
        &self,
        check: &ProjectCheck,
        ran: &CheckOutcome,
    ) -> Result<(), workspace::Error> {
        let place = if ran.is_opaque {
            self.own(check)
        } else {
            self.shared(check)
        };
        let kept = CachedBaseline {
            version: VERSION,
            ran: ran.clone(),
        };
        fs::write_atomic(&place, &serde_json::to_vec(&kept).unwrap_or_default())
    }

    fn shared(&self, check: &ProjectCheck) -> PathBuf {
        self.cache.join(FOLDER).join(self.name(check))
    }

    fn own(&self, check: &ProjectCheck) -> PathBuf {
        own_folder(self.cache, self.job).join(self.name(check))
    }

    fn name(&self, check: &ProjectCheck) -> String {
        let mut hasher = Sha256::new();
        for part in [self.tree, self.environment.as_str()] {
            hasher.update(part.len().to_le_bytes());
            hasher.update(part);
        }
        hasher.update(serde_json::to_vec(check).unwrap_or_default());
        let digest = hasher.finalize();
        let name: String = digest
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{name}.json")
    }
}

/// Deletes the baselines stored for one build alone.
pub(crate) fn forget(cache: &Path, job: &JobId) -> Result<(), workspace::Error> {
    let folder = own_folder(cache, job);
    if fs::is_dir(&folder) {
        fs::remove_tree(&folder)?;
    }
    Ok(())
}

const FOLDER: &str = "baselines";

fn own_folder(cache: &Path, job: &JobId) -> PathBuf {
    cache.join(FOLDER).join("builds").join(job.as_str())
}
