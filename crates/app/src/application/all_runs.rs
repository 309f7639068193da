//! Runs of every kind in one list: workflows, tasks, plans, builds, and what recipes wrote.
//!
//! A plain run of a recipe opens no database: its record is the file of what it generated, so the list
//! has one row for each recipe, with the time of the last run that wrote something.

use flow::TextHash;
use flow::engine::{RunRow, RunStatus};
use recipe::RECORDS_DIR;
use store::{RunFilter, RunState};
use workspace::{RelPath, fs};

use super::UseCases;
use super::access::Permission;
use super::added_tasks::built_in_texts;
use crate::run_target::TargetKind;
use crate::tasks::file_run::kind_of_run;
use crate::{Error, tasks};

/// Number of runs of a kind that are counted besides those that are listed.
pub const RUNS_COUNTED_MAX: usize = 1_000;

/// The kinds of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedKind {
    /// A thing that `drawloom run` runs.
    Target(TargetKind),
    Build,
}

impl ListedKind {
    /// All kinds, in the order in which messages name them.
    pub const ALL: [ListedKind; 5] = [
        ListedKind::Target(TargetKind::Recipe),
        ListedKind::Target(TargetKind::Workflow),
        ListedKind::Target(TargetKind::Task),
        ListedKind::Target(TargetKind::Plan),
        ListedKind::Build,
    ];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ListedKind::Target(kind) => kind.as_str(),
            ListedKind::Build => "build",
        }
    }
}

/// The runs to list.
#[derive(Clone, Debug, Default)]
pub struct RunListRequest {
    /// Only runs of this kind.
    pub kind: Option<ListedKind>,
    /// Only such runs. A workflow's name, a tag and `is_top` are of runs of the engine alone.
    pub filter: RunFilter,
    pub max: usize,
}

/// A run of any kind.
#[derive(Clone, Debug)]
pub struct ListedRun {
    pub kind: ListedKind,
    /// The name by which `runs show` or `builds show` finds it; the others go by their files.
    pub id: Option<String>,
    pub name: String,
    /// The word for its status.
    pub status: String,
    pub reason: Option<String>,
    /// In milliseconds since 1970.
    pub created_ms: u64,
    pub ended_ms: Option<u64>,
    /// The row of a run of the engine.
    pub row: Option<RunRow>,
}

/// A page of runs, the newest first.
#[derive(Clone, Debug, Default)]
pub struct RunListPage {
    pub runs: Vec<ListedRun>,
    /// The number of further runs, counted up to [`RUNS_COUNTED_MAX`].
    pub more: usize,
}

impl UseCases {
    /// Lists runs of every kind, the newest first.
    pub async fn all_runs(&self, request: &RunListRequest) -> Result<RunListPage, Error> {
        self.permit(Permission::Look)?;
        let (mut runs, mut all) = self.engine_runs(request).await?;
        if is_of_engine(&request.filter) {
            return Ok(RunListPage {
                more: all.saturating_sub(runs.len()),
                runs,
            });
        }
        let most = request.max.saturating_add(RUNS_COUNTED_MAX);
        let mut others = Vec::new();
        if wants_any(request, &[TargetKind::Task, TargetKind::Plan]) {
            others.extend(self.agent_runs(most).await?);
        }
        if request.kind.is_none_or(|kind| kind == ListedKind::Build) {
            others.extend(self.listed_builds(most).await?);
        }
        if wants_any(request, &[TargetKind::Recipe]) {
            others.extend(self.recipe_runs()?);
        }
        others.retain(|run| is_wanted(run, request));
        all += others.len();
        runs.extend(others);
        runs.sort_by_key(|run| std::cmp::Reverse(run.created_ms));
        runs.truncate(request.max);
        Ok(RunListPage {
            more: all.saturating_sub(runs.len()).min(RUNS_COUNTED_MAX),
            runs,
        })
    }

    /// Returns the runs of the engine, and how many there are.
    async fn engine_runs(
        &self,
        request: &RunListRequest,
    ) -> Result<(Vec<ListedRun>, usize), Error> {
        if !wants_any(
            request,
            &[TargetKind::Workflow, TargetKind::Task, TargetKind::Plan],
        ) {
            return Ok((Vec::new(), 0));
        }
        let texts = built_in_texts();
        let most = request.max.saturating_add(RUNS_COUNTED_MAX);
        // Tasks without a diagram are told from other runs by their texts.
        let read = match request.kind {
            Some(_) => most,
            None => request.max,
        };
        let rows = self.runs(&request.filter, read).await?;
        let mut listed = Vec::new();
        for row in rows {
            let kind = kind_of(&row, &texts);
            if request.kind.is_none_or(|wanted| wanted == kind) {
                listed.push(self.listed(row, kind).await?);
            }
        }
        let all = match (request.kind, listed.len() < request.max) {
            (Some(_), _) | (None, true) => listed.len(),
            (None, false) => self.count_runs(&request.filter, most).await?,
        };
        listed.truncate(request.max);
        Ok((listed, all))
    }

    async fn listed(&self, row: RunRow, kind: ListedKind) -> Result<ListedRun, Error> {
        Ok(ListedRun {
            kind,
            id: Some(row.id.to_string()),
            name: self.run_name(&row).await?,
            status: row.status.name().to_owned(),
            reason: row.reason.clone(),
            created_ms: row.created_ms,
            ended_ms: row.ended_ms,
            row: Some(row),
        })
    }

    /// Returns the name of a run: its workflow's title or file name. Runs of older versions go by the
    /// title, or by their first step.
    pub async fn run_name(&self, run: &RunRow) -> Result<String, Error> {
        if let Some(name) = &run.name {
            return Ok(name.clone());
        }
        let workflow = self.workflow(run).await?;
        let first = workflow.steps().first().map(|step| step.name.as_str());
        Ok(workflow.name().or(first).unwrap_or_default().to_owned())
    }

    /// Returns the runs of task and plan files that older versions have kept.
    async fn agent_runs(&self, max: usize) -> Result<Vec<ListedRun>, Error> {
        let records = tasks::recent(self.project(), self.app().surroundings(), max).await?;
        let records = records.into_iter();
        let runs = records.map(|(record, is_held)| {
            let status = match record.state {
                RunState::Done => RunStatus::Completed,
                RunState::Failed => RunStatus::Failed,
                RunState::Running if is_held => RunStatus::Running,
                RunState::Running | RunState::Stopped => RunStatus::Paused,
            };
            let kind = match record.kind {
                store::RunKind::Plan => TargetKind::Plan,
                _ => TargetKind::Task,
            };
            let resume = "an older drawloom began it and would have to continue it".to_owned();
            ListedRun {
                kind: ListedKind::Target(kind),
                id: None,
                name: record.name,
                status: status.name().to_owned(),
                reason: (status == RunStatus::Paused).then_some(resume),
                created_ms: record.created_ms,
                ended_ms: None,
                row: None,
            }
        });
        Ok(runs.collect())
    }

    async fn listed_builds(&self, max: usize) -> Result<Vec<ListedRun>, Error> {
        let builds = self.builds(None, max).await?.into_iter();
        let runs = builds.map(|build| ListedRun {
            kind: ListedKind::Build,
            id: Some(build.job.id.to_string()),
            name: build.job.request().to_owned(),
            status: match build.is_interrupted() {
                true => "interrupted".to_owned(),
                false => build.job.status().to_string(),
            },
            reason: None,
            created_ms: build.job.created_ms,
            ended_ms: None,
            row: None,
        });
        Ok(runs.collect())
    }

    /// Returns the recipes that have written something, by their records.
    fn recipe_runs(&self) -> Result<Vec<ListedRun>, Error> {
        let project = self.project();
        let folder = RelPath::parse(RECORDS_DIR)?;
        if !fs::exists(&project.folder().join(RECORDS_DIR)) {
            return Ok(Vec::new());
        }
        let files = project.root.walk(&folder)?.into_iter();
        let runs = files.filter_map(|entry| {
            let inside = entry.path.strip_prefix(&folder)?;
            let name = inside.as_str().strip_suffix(".json")?.to_owned();
            let changed = fs::changed_ns(&project.folder().join(entry.path.as_path()))?;
            let at_ms = u64::try_from(changed / 1_000_000).ok()?;
            Some(ListedRun {
                kind: ListedKind::Target(TargetKind::Recipe),
                id: None,
                name,
                status: RunStatus::Completed.name().to_owned(),
                reason: None,
                created_ms: at_ms,
                ended_ms: Some(at_ms),
                row: None,
            })
        });
        Ok(runs.collect())
    }
}

fn wants_any(request: &RunListRequest, kinds: &[TargetKind]) -> bool {
    request
        .kind
        .is_none_or(|wanted| kinds.iter().any(|kind| ListedKind::Target(*kind) == wanted))
}

/// True if only runs of the engine have what the filter asks for.
fn is_of_engine(filter: &RunFilter) -> bool {
    filter.workflow.is_some() || filter.tag.is_some() || filter.is_top
}

fn is_wanted(run: &ListedRun, request: &RunListRequest) -> bool {
    let filter = &request.filter;
    request.kind.is_none_or(|kind| kind == run.kind)
        && filter
            .status
            .is_none_or(|status| status.name() == run.status)
        && filter.since_ms.is_none_or(|since| run.created_ms >= since)
        && filter
            .before_ms
            .is_none_or(|before| run.created_ms < before)
}

fn kind_of(row: &RunRow, built_in: &[TextHash]) -> ListedKind {
    let of_file = kind_of_run(row);
    ListedKind::Target(match built_in.contains(&row.workflow) {
        true => TargetKind::Task,
        false => of_file.unwrap_or(TargetKind::Workflow),
    })
}
