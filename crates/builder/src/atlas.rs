//! The map of a project: its index for the planner, neighbours for context, impact for review.

use workspace::index::{Cache, Focus, Index};
use workspace::{RelPath, Workspace};

use crate::site::Halt;

/// How far an impact is followed.
const IMPACT_DEPTH_MAX: u32 = 16;

/// How much of the index the search for near files takes into account, in tokens.
const NEAREST_TOKENS: usize = 1_000;

/// The map of one tree.
pub(crate) struct Atlas(Index);

/// Who may be affected by a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Impact {
    pub(crate) files: Vec<RelPath>,
    pub(crate) tests: Vec<RelPath>,
}

impl Atlas {
    /// Draws the map of this tree. A worktree is new, so nothing known from before would fit it.
    pub(crate) fn draw(tree: &Workspace) -> Result<Atlas, Halt> {
        Ok(Atlas(Index::build(tree, &Cache::none())?))
    }

    /// The index for a request, within a budget.
    pub(crate) fn index(&self, tokens_max: usize, request: &str) -> String {
        self.0.render(Some(tokens_max), &Focus::on(request))
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

    /// The files nearest to these that fit, best first, without these: those that import or are imported,
    /// those beside them, and those that matter most for what they are about.
    pub(crate) fn nearest(
        &self,
        paths: &[RelPath],
        count: usize,
        fits: impl Fn(&RelPath) -> bool,
    ) -> Vec<RelPath> {
        let names: Vec<&str> = paths.iter().map(RelPath::as_str).collect();
        let focus = Focus {
            paths: paths.to_vec(),
            ..Focus::on(&names.join(" "))
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
    pub(crate) fn impact(&self, paths: &[RelPath]) -> Impact {
        let impact = self.0.impact(paths, IMPACT_DEPTH_MAX);
        Impact {
            files: impact.files.into_iter().map(|file| file.path).collect(),
            tests: impact.tests.into_iter().map(|file| file.path).collect(),
        }
    }
}
