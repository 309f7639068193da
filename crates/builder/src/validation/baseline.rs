//! How the checks end on the untouched tree, kept by what tree, check and environment are.
//!
//! One file for each check. What could not be judged is never kept for other builds: the next one
//! may find the program installed. It is kept for the build at hand, which asks again after each
//! repair.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workspace::fs;

use super::checks::Ran;
use super::{Check, Environment};
use crate::job::JobId;

/// Changes when what is kept means something else.
const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    ran: Ran,
}

/// Where the baselines of one build's checks are kept.
pub(crate) struct Baselines<'a> {
    pub(crate) cache: &'a Path,
    pub(crate) job: &'a JobId,
    /// The name of the tree the build starts from.
    pub(crate) tree: &'a str,
    pub(crate) environment: &'a Environment,
}

impl Baselines<'_> {
    /// How this check ends on the untouched tree, if that is known. A broken file is as good as none.
    pub(crate) fn load(&self, check: &Check) -> Option<Ran> {
        let places = [self.shared(check), self.own(check)];
        places.iter().find_map(|place| {
            let text = fs::read_text(place).ok()??;
            let kept: Kept = serde_json::from_str(&text).ok()?;
            (kept.version == VERSION).then_some(kept.ran)
        })
    }

    /// Keeps how this check ended: for every build if it judged something, else for this one.
    pub(crate) fn save(&self, check: &Check, ran: &Ran) -> Result<(), workspace::Error> {
        let place = if ran.is_opaque {
            self.own(check)
        } else {
            self.shared(check)
        };
        let kept = Kept {
            version: VERSION,
            ran: ran.clone(),
        };
        fs::write_atomic(&place, &serde_json::to_vec(&kept).unwrap_or_default())
    }

    fn shared(&self, check: &Check) -> PathBuf {
        self.cache.join(FOLDER).join(self.name(check))
    }

    fn own(&self, check: &Check) -> PathBuf {
        own_folder(self.cache, self.job).join(self.name(check))
    }

    fn name(&self, check: &Check) -> String {
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

/// Forgets what was kept for one build alone.
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
