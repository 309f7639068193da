//! The output lines of commands, in SQLite.

use flow::{LogLine, LogStream, TaskId};
use serde_json::json;
use sqlx::Row as _;

use super::rows::{SqliteRows, limit};
use super::{count, integer};
use crate::error::Result;

impl SqliteRows {
    pub(super) async fn add_log(&mut self, lines: &[LogLine]) -> Result<()> {
        let rows: Vec<_> = lines
            .iter()
            .map(|line| {
                let text = self.statements.encoder.text(&line.text);
                let (run, task) = (line.task.run.as_str(), line.task.to_string());
                let stream = line.stream.name();
                json!([
                    run,
                    task,
                    line.attempt,
                    line.number,
                    line.at_ms,
                    stream,
                    text
                ])
            })
            .collect();
        let kept = sqlx::query(
            "INSERT INTO workflow_logs (run, task, attempt, number, at_ms, stream, text) \
             SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, \
             value ->> 6 FROM json_each($1) \
             WHERE EXISTS (SELECT 1 FROM workflow_runs WHERE id = value ->> 0) \
             ON CONFLICT DO NOTHING",
        )
        .bind(json!(rows).to_string())
        .execute(&mut self.connection)
        .await;
        kept.map_err(|cause| self.fault().of(&cause))?;
        Ok(())
    }

    pub(super) async fn read_log(
        &mut self,
        task: &TaskId,
        after: (u32, u64),
        max: usize,
    ) -> Result<Vec<LogLine>> {
        let found = sqlx::query(
            "SELECT attempt, number, at_ms, stream, text FROM workflow_logs \
             WHERE run = $1 AND task = $2 AND (attempt, number) > ($3, $4) \
             ORDER BY attempt, number LIMIT $5",
        )
        .bind(task.run.as_str())
        .bind(task.to_string())
        .bind(i64::from(after.0))
        .bind(integer(after.1))
        .bind(limit(max))
        .fetch_all(&mut self.connection)
        .await;
        let rows = found.map_err(|cause| self.fault().of(&cause))?;
        let lines = rows.iter().map(|row| {
            Ok(LogLine {
                task: task.clone(),
                attempt: u32::try_from(row.try_get::<i64, _>(0)?).unwrap_or(u32::MAX),
                number: count(row.try_get(1)?),
                at_ms: count(row.try_get(2)?),
                stream: LogStream::named(row.try_get(3)?),
                text: row.try_get(4)?,
            })
        });
        let lines: std::result::Result<Vec<LogLine>, sqlx::Error> = lines.collect();
        lines.map_err(|cause| self.fault().of(&cause))
    }
}
