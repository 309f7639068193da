//! Acts on many runs at once: the caller names a filter and the count that was seen.

use flow::RunId;
use flow::engine::EngineCommand;
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
        self.permit(match request.act {
            BulkAct::Delete => Permission::DeleteRuns,
            _ => Permission::ControlRuns,
        })?;
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
        let mut report = BulkReport::default();
        for run in runs {
            match self.act_on_run(request, &run).await {
                Ok(()) => report.done.push(run.id),
                Err(error) => report.failed.push((run.id, error.to_string())),
            }
        }
        Ok(report)
    }

    async fn act_on_run(
        &self,
        request: &BulkRequest,
        run: &flow::engine::RunRow,
    ) -> Result<(), Error> {
        let (id, reason) = (run.id.clone(), request.reason.clone());
        match request.act {
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
