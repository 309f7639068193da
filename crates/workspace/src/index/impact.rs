//! Whom a change reaches: the imports followed backwards, with the distance, tests apart.

use std::collections::VecDeque;

use super::Index;
use crate::RelPath;

/// A file that a change may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Impacted {
    /// Where it is.
    pub path: RelPath,
    /// How many imports away the change is; 1 imports a changed file itself.
    pub depth: u32,
    /// The file it imports by which the change reaches it.
    pub via: RelPath,
}

/// What changing some files reaches, the nearest first, then in tree order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impact {
    /// Files that are no tests.
    pub files: Vec<Impacted>,
    /// Tests: what to run.
    pub tests: Vec<Impacted>,
}

impl Impact {
    /// Whether nothing is reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.tests.is_empty()
    }
}

impl Index {
    /// Whom changes to these files reach, at most `depth_max` imports away. Files that are not in
    /// the index reach nobody.
    #[must_use]
    pub fn impact(&self, changed: &[RelPath], depth_max: u32) -> Impact {
        let mut depths: Vec<Option<(u32, usize)>> = vec![None; self.files.len()];
        let mut pending = VecDeque::new();
        let mut starts: Vec<usize> = changed.iter().filter_map(|it| self.position(it)).collect();
        // What is reached by several at the same distance is reported by the first in tree order.
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
        let mut impact = Impact::default();
        for (file, reached) in self.files.iter().zip(depths) {
            let Some((depth @ 1.., via)) = reached else {
                continue;
            };
            let impacted = Impacted {
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
