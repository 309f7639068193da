//! The impact of a change: follows the imports backwards, with the distance, tests apart.

use std::collections::VecDeque;

use super::SourceIndex;
use workspace::RelPath;

/// A file that a change may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImpactedFile {
    /// Its path.
    pub path: RelPath,
    /// Number of imports between it and the change; 1 imports a changed file itself.
    pub depth: u32,
    /// The file it imports by which the change reaches it.
    pub via: RelPath,
}

/// The files that a change may affect, nearest first, then in tree order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeImpact {
    /// Files that are no tests.
    pub files: Vec<ImpactedFile>,
    /// The affected tests, which should be run.
    pub tests: Vec<ImpactedFile>,
}

impl ChangeImpact {
    /// Returns true if no file is affected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.tests.is_empty()
    }
}

impl SourceIndex {
    /// Finds the files that changes to these files may affect, at most `depth_max` imports away.
    /// Ignores paths that are not in the index.
    #[must_use]
    pub fn impact(&self, changed: &[RelPath], depth_max: u32) -> ChangeImpact {
        let mut depths: Vec<Option<(u32, usize)>> = vec![None; self.files.len()];
        let mut pending = VecDeque::new();
        let mut starts: Vec<usize> = changed.iter().filter_map(|it| self.position(it)).collect();
        // If several changes reach a file at the same distance, the first in tree order is
        // reported.
        starts.sort_unstable();
        starts.dedup();
        for start in &starts {
            depths[*start] = Some((0, *start));
            pending.push_back((*start, 0));
        }
        while let Some((position, depth)) = pending.pop_front() {
            if depth >= depth_max {
                continue;
            }
            for importer in self.importers[position].iter().map(|id| *id as usize) {
                if depths[importer].is_none() {
                    depths[importer] = Some((depth + 1, position));
                    pending.push_back((importer, depth + 1));
                }
            }
        }
        let mut impact = ChangeImpact::default();
        for (file, reached) in self.files.iter().zip(depths) {
            let Some((depth @ 1.., via)) = reached else {
                continue;
            };
            let impacted = ImpactedFile {
                path: file.path.clone(),
                depth,
                via: self.files[via].path.clone(),
            };
            match file.is_test {
                true => impact.tests.push(impacted),
                false => impact.files.push(impacted),
            }
        }
        impact.files.sort_by_key(|it| it.depth);
        impact.tests.sort_by_key(|it| it.depth);
        impact
    }
}
