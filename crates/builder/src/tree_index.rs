//! The index of a project: for the planner, for context (neighbours), and for the review (impact).

use index::{IndexCache, IndexFocus, SourceIndex};
use workspace::{RelPath, Workspace};

use crate::active_job::StageHalt;

/// The most import steps an impact is followed.
const IMPACT_DEPTH_MAX: u32 = 16;

/// Tokens of the index that the search for near files takes into account.
const NEAREST_TOKENS: usize = 1_000;

/// The index of one tree.
pub(crate) struct TreeIndex(SourceIndex);

/// Files and tests that a change may affect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AffectedFiles {
    pub(crate) files: Vec<RelPath>,
    pub(crate) tests: Vec<RelPath>,
}

impl TreeIndex {
    /// Indexes this tree. A worktree is new, so no cache would fit it.
    pub(crate) fn draw(tree: &Workspace) -> Result<TreeIndex, StageHalt> {
        Ok(TreeIndex(SourceIndex::build(tree, &IndexCache::none())?))
    }

    /// The index for a request, within a budget.
    pub(crate) fn index(&self, tokens_max: usize, request: &str) -> String {
        self.0.render(Some(tokens_max), &IndexFocus::on(request))
    }

    /// Files that import this one or are imported by it.
    pub(crate) fn neighbours(&self, path: &RelPath) -> Vec<RelPath> {
        let near = self.0.neighbours(path);
        near.imports
            .into_iter()
            .chain(near.importers)
            .cloned()
            .collect()
    }

    /// Returns the files nearest to these that fit the budget, best first: importers, imports,
    /// siblings, and files about the same words. Leaves these themselves out.
    pub(crate) fn nearest(
        &self,
        paths: &[RelPath],
        count: usize,
        fits: impl Fn(&RelPath) -> bool,
    ) -> Vec<RelPath> {
        let names: Vec<&str> = paths.iter().map(RelPath::as_str).collect();
        let focus = IndexFocus {
            paths: paths.to_vec(),
            ..IndexFocus::on(&names.join(" "))
        };
        let near = paths.iter().flat_map(|path| self.neighbours(path));
        let files = self.0.files().iter().map(|file| &file.path);
        let beside = files.filter(|file| {
            let mut folders = paths.iter().map(RelPath::parent);
            folders.any(|folder| folder == file.parent())
        });
        let chosen = self.0.select(Some(NEAREST_TOKENS), &focus);
        let ranked = chosen.shown.iter().map(|(file, _)| &file.path);
        let mut nearest: Vec<RelPath> = Vec::new();
        for path in near.chain(beside.chain(ranked).cloned()) {
            let is_new = !paths.contains(&path) && !nearest.contains(&path);
            if nearest.len() < count && is_new && fits(&path) {
                nearest.push(path);
            }
        }
        nearest
    }

    /// Files that import one of these, directly or through others.
    pub(crate) fn impact(&self, paths: &[RelPath]) -> AffectedFiles {
        let impact = self.0.impact(paths, IMPACT_DEPTH_MAX);
        AffectedFiles {
            files: impact.files.into_iter().map(|file| file.path).collect(),
            tests: impact.tests.into_iter().map(|file| file.path).collect(),
        }
    }
}
