//! Acts on many runs at once: the caller names a filter and the count that was seen.

use flow::RunId;
use flow::engine::{EngineCommand, RunRow};
use store::RunFilter;

use super::UseCases;
use super::access::Permission;
use crate::{AppErrorCode, Error};

/// The most runs that one act changes.
pub const BULK_RUNS_MAX: usize = 1_000;

/// Something that is done to every run of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkAct {
    Cancel,
    Pause,
    Resume,
    /// Only runs that have ended.
    Delete,
}

/// An act on the runs of a filter.
#[derive(Clone, Debug)]
pub struct BulkRequest {
    pub act: BulkAct,
    pub filter: RunFilter,
    /// How many runs the caller has seen. Nothing is done if there are more or fewer now.
    pub count: usize,
    pub reason: String,
}

/// The result of an act on many runs.
#[derive(Clone, Debug, Default)]
pub struct BulkReport {
    pub done: Vec<RunId>,
    /// Runs that it was not possible for, and why.
    pub failed: Vec<(RunId, String)>,
}

impl UseCases {
    /// Does something to every run of a filter.
    ///
    /// # Errors
    ///
    /// When the number of runs is not the one that the caller has seen: then nothing is done.
    pub async fn act_on_runs(&self, request: &BulkRequest) -> Result<BulkReport, Error> {
        self.permit(permission_for(request.act))?;
        let now = self.count_runs(&request.filter, BULK_RUNS_MAX + 1).await?;
        if now > BULK_RUNS_MAX {
            let message = format!("more than BULK_RUNS_MAX = {BULK_RUNS_MAX} runs fit the filter");
            return Err(
                Error::new(AppErrorCode::Limit, message).hint("narrow it, and do it in parts")
            );
        }
        if now != request.count {
            let message = format!("{now} runs fit the filter now, and not {}", request.count);
            return Err(Error::new(AppErrorCode::Conflict, message)
                .hint("look at them again, and send the new count"));
        }
        let runs = self.runs(&request.filter, BULK_RUNS_MAX).await?;
        Ok(self.act_on(request.act, runs, &request.reason).await)
    }

    /// Does something to runs that the caller has chosen one by one.
    pub async fn act_on_named_runs(
        &self,
        act: BulkAct,
        ids: &[RunId],
        reason: &str,
    ) -> Result<BulkReport, Error> {
        self.permit(permission_for(act))?;
        if ids.len() > BULK_RUNS_MAX {
            let message = format!(
                "{} runs are more than BULK_RUNS_MAX = {BULK_RUNS_MAX}",
                ids.len()
            );
            return Err(Error::new(AppErrorCode::Limit, message).hint("do it in parts"));
        }
        let mut runs = Vec::new();
        for id in ids {
            runs.extend(self.run(id).await?);
        }
        Ok(self.act_on(act, runs, reason).await)
    }

    async fn act_on(&self, act: BulkAct, runs: Vec<RunRow>, reason: &str) -> BulkReport {
        let mut report = BulkReport::default();
        for run in runs {
            match self.act_on_run(act, &run, reason).await {
                Ok(()) => report.done.push(run.id),
                Err(error) => report.failed.push((run.id, error.to_string())),
            }
        }
        report
    }

    async fn act_on_run(&self, act: BulkAct, run: &RunRow, reason: &str) -> Result<(), Error> {
        let (id, reason) = (run.id.clone(), reason.to_owned());
        match act {
            BulkAct::Cancel => {
                self.execute(EngineCommand::Cancel { run: id, reason })
                    .await
            }
            BulkAct::Pause => self.execute(EngineCommand::Pause { run: id, reason }).await,
            BulkAct::Resume => self.execute(EngineCommand::Resume { run: id }).await,
            BulkAct::Delete if !run.status.is_terminal() => {
                Err(Error::new(AppErrorCode::Conflict, "the run has not ended"))
            }
            BulkAct::Delete => self.delete_runs(&[id]).await.map(drop),
        }
    }
}

fn permission_for(act: BulkAct) -> Permission {
    match act {
        BulkAct::Delete => Permission::DeleteRuns,
        _ => Permission::ControlRuns,
    }
}
