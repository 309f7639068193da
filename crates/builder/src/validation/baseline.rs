//! How the checks end on the untouched tree, kept by what the tree and the checks are.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workspace::fs;

use super::Check;
use super::checks::Ran;

/// Changes when what is kept means something else.
const VERSION: u32 = 2;

/// How each check ended, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Baseline {
    version: u32,
    pub(crate) checks: Vec<Ran>,
}

impl Baseline {
    pub(crate) fn new(checks: Vec<Ran>) -> Baseline {
        Baseline {
            version: VERSION,
            checks,
        }
    }
}

/// Where baselines are kept.
#[derive(Clone)]
pub(crate) struct Shelf {
    place: PathBuf,
    count: usize,
}

impl Shelf {
    /// The place of the baseline for these checks on the tree of this name.
    pub(crate) fn of(cache: &Path, tree: &str, checks: &[Check]) -> Shelf {
        let mut hasher = Sha256::new();
        hasher.update(tree);
        hasher.update(serde_json::to_vec(checks).unwrap_or_default());
        let digest = hasher.finalize();
        let name: String = digest
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Shelf {
            place: cache.join("baselines").join(format!("{name}.json")),
            count: checks.len(),
        }
    }

    /// What is kept, if it can be read and fits. A file that is broken is as good as none.
    pub(crate) fn load(&self) -> Option<Baseline> {
        let text = fs::read_text(&self.place).ok()??;
        let baseline: Baseline = serde_json::from_str(&text).ok()?;
        (baseline.version == VERSION && baseline.checks.len() == self.count).then_some(baseline)
    }

    /// Keeps it.
    pub(crate) fn save(&self, baseline: &Baseline) -> Result<(), workspace::Error> {
        let text = serde_json::to_vec(baseline).unwrap_or_default();
        fs::write_atomic(&self.place, &text)
    }
}
