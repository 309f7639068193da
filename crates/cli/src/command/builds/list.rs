//! `drawloom builds list`: the builds of this project, the newest first.

use app::builds::{self, BuildSnapshot};
use builder::JobStatus;
use clap::Args;
use serde_json::{Value, json};

use crate::agent_progress::shown as line;
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;
use crate::table;

/// Characters of a request that the list shows.
const PROMPT_CHARS_MAX: usize = 48;

/// List the builds of this project, the newest first
///
/// A build that is `interrupted` has lost its process; `drawloom build --resume ID` continues it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds list
  drawloom builds list --status plan_ready
  drawloom builds list --json | jq '.builds[0].id'")]
pub(crate) struct BuildsListArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Only builds with this status, such as plan_ready or failed
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<JobStatus>,
    /// Maximum number to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print the list as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl BuildsListArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let listed = session.wait(builds::list(
            &project,
            &session.surroundings,
            self.status,
            self.limit,
        ))?;
        if self.json {
            let builds: Vec<Value> = listed.iter().map(as_json).collect();
            output::json(&json!({ "builds": builds }))?;
            return Ok(CliExit::Done);
        }
        if listed.is_empty() {
            output::say(match self.status {
                None => "There are no builds here; `drawloom build \"…\"` begins one.".to_owned(),
                Some(status) => format!("No build here is `{status}`."),
            });
        }
        let now_ms = session.surroundings.now_ms as u64;
        let rows: Vec<Vec<String>> = listed.iter().map(|shown| row(shown, now_ms)).collect();
        output::styled(&table::render(&fitting(rows, output::width())))?;
        Ok(CliExit::Done)
    }
}

/// Rows that fit a terminal of this width: the kind of work and where it went give way first, then
/// the end of the sentence. Without a terminal everything is there.
fn fitting(mut rows: Vec<Vec<String>>, width: Option<usize>) -> Vec<Vec<String>> {
    let Some(width) = width else {
        return rows;
    };
    let longest = |rows: &[Vec<String>], column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let whole: usize = (0..COLUMNS).map(|column| longest(&rows, column) + 2).sum();
    if whole <= width {
        return rows;
    }
    for row in &mut rows {
        row.truncate(PROMPT_COLUMN + 1);
        row.remove(KIND_COLUMN);
    }
    let taken: usize = (0..PROMPT_COLUMN - 1)
        .map(|column| longest(&rows, column) + 2)
        .sum();
    let room = width.saturating_sub(taken).max(PROMPT_CHARS_MIN);
    for row in &mut rows {
        if let Some(prompt) = row.last_mut()
            && prompt.chars().count() > room
        {
            *prompt = prompt.chars().take(room - 1).chain(['…']).collect();
        }
    }
    rows
}

/// Number of columns, and the index of two of them.
const COLUMNS: usize = 6;
const KIND_COLUMN: usize = 2;
const PROMPT_COLUMN: usize = 4;
/// Characters of a request shown on the narrowest terminal.
const PROMPT_CHARS_MIN: usize = 12;

fn row(shown: &BuildSnapshot, now_ms: u64) -> Vec<String> {
    let job = &shown.job;
    let result = &job.result;
    let place = result.pr_url.as_ref().or(result.branch.as_ref());
    let prompt: String = line(&job.prompt).chars().take(PROMPT_CHARS_MAX).collect();
    vec![
        job.id.to_string(),
        match shown.is_interrupted() {
            true => format!("{} (interrupted)", job.status()),
            false => job.status().to_string(),
        },
        job.task_type()
            .map_or("-".to_owned(), |kind| kind.to_string()),
        age(now_ms.saturating_sub(job.created_ms)),
        prompt,
        place.map_or(String::new(), |place| line(place)),
    ]
}

fn as_json(shown: &BuildSnapshot) -> Value {
    let job = &shown.job;
    json!({
        "id": job.id,
        "status": job.status(),
        "isInterrupted": shown.is_interrupted(),
        "isHeld": shown.is_held,
        "taskType": job.task_type(),
        "prompt": job.prompt,
        "branch": job.result.branch,
        "prUrl": job.result.pr_url,
        "createdMs": job.created_ms,
        "updatedMs": job.updated_ms,
    })
}

/// Returns the age in the largest unit that fits.
fn age(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Parses a status as it is typed.
fn status(word: &str) -> Result<JobStatus, String> {
    JobStatus::read(word).ok_or_else(|| {
        let all = JobStatus::ALL.map(JobStatus::as_str).join(", ");
        format!("there are: {all}")
    })
}

#[cfg(test)]
mod tests {
    use super::{age, fitting};

    #[test]
    fn a_list_fits_a_terminal_of_80_columns() {
        let row = |status: &str, place: &str| {
            let cells = [
                "1m7hks3ka6jqb",
                status,
                "schema-migration",
                "12 min",
                "say something better in the file and more",
                place,
            ];
            cells.map(str::to_owned).to_vec()
        };
        let rows = vec![
            row("completed_draft", "draft/1m7hks3ka6jqb-say-something"),
            row("completed", ""),
        ];
        assert_eq!(fitting(rows.clone(), None), rows);
        assert_eq!(fitting(rows.clone(), Some(300)), rows);
        let text = crate::table::render(&fitting(rows, Some(80)));
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80 && widest > 60, "{text}");
        assert!(
            text.contains("1m7hks3ka6jqb  completed_draft  12 min  say something"),
            "{text}"
        );
    }

    #[test]
    fn ages_are_told_in_the_largest_unit_that_fits() {
        for (ms, told) in [
            (999, "0 s"),
            (61_000, "1 min"),
            (7_200_000, "2 h"),
            (200_000_000, "2 d"),
        ] {
            assert_eq!(age(ms), told);
        }
    }
}
