//! The output lines of commands, in PostgreSQL.

use flow::{LogLine, LogStream, TaskId};

use super::connection::BoundValues;
use super::workflows::{PostgresRows, limit};
use super::writing::{numbers, strings};
use super::{count, integer};
use crate::error::Result;

const ADD: &str = "INSERT INTO workflow_logs (run, task, attempt, number, at_ms, stream, text) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], \
     $6::text[], $7::text[]) AS new (run, task, attempt, number, at_ms, stream, text) \
     WHERE EXISTS (SELECT 1 FROM workflow_runs WHERE id = new.run) ON CONFLICT DO NOTHING";
const READ: &str = "SELECT attempt, number, at_ms, stream, text FROM workflow_logs \
     WHERE run = $1 AND task = $2 AND (attempt, number) > ($3, $4) \
     ORDER BY attempt, number LIMIT $5";

impl PostgresRows {
    pub(super) async fn add_log(&mut self, lines: &[LogLine]) -> Result<()> {
        // PostgreSQL's text type has no zero byte.
        let texts = lines.iter().map(|line| {
            let text = self.encoder.text(&line.text);
            text.replace('\0', "\u{fffd}")
        });
        let texts: Vec<String> = texts.collect();
        let values = BoundValues::of(strings(lines.iter().map(|line| &line.task.run)))
            .and(strings(lines.iter().map(|line| &line.task)))
            .and(numbers(lines.iter().map(|line| u64::from(line.attempt))))
            .and(numbers(lines.iter().map(|line| line.number)))
            .and(numbers(lines.iter().map(|line| line.at_ms)))
            .and(strings(lines.iter().map(|line| line.stream.name())))
            .and(texts);
        self.line.fetch(ADD, values).await?;
        Ok(())
    }

    pub(super) async fn read_log(
        &mut self,
        task: &TaskId,
        after: (u32, u64),
        max: usize,
    ) -> Result<Vec<LogLine>> {
        let values = BoundValues::of(task.run.as_str())
            .and(task.to_string())
            .and(i64::from(after.0))
            .and(integer(after.1))
            .and(limit(max));
        let rows = self.line.fetch(READ, values).await?;
        let attempts: Vec<i64> = self.line.column(&rows, 0)?;
        let numbers: Vec<i64> = self.line.column(&rows, 1)?;
        let times: Vec<i64> = self.line.column(&rows, 2)?;
        let streams: Vec<String> = self.line.column(&rows, 3)?;
        let texts: Vec<String> = self.line.column(&rows, 4)?;
        let lines = attempts.into_iter().zip(numbers).zip(times);
        let lines = lines.zip(streams.into_iter().zip(texts));
        let lines = lines.map(|(((attempt, number), at_ms), (stream, text))| LogLine {
            task: task.clone(),
            attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
            number: count(number),
            at_ms: count(at_ms),
            stream: LogStream::named(&stream),
            text,
        });
        Ok(lines.collect())
    }
}
