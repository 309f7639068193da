//! Full-text search over runs, tasks with their prompts, replies and comments, and workflows.
//!
//! SQLite finds words by FTS5, PostgreSQL by a GIN index over a `tsvector`. Both get the same
//! words, which [`words_of`] makes, so that both find the same documents. A search finds documents
//! that have all of its words, or words that begin with them; the newest come first.
//!
//! The transaction that stores a reply, details, a comment or a saved version also indexes it. Runs
//! are indexed by the next search, because starting runs must stay fast: a search first indexes the
//! runs that are new since the last one.

use std::str::FromStr;

use flow::engine::RunRow;
use flow::{RunId, TaskId};

use crate::details::{TaskComment, TaskDetails};
use crate::error::{Error, Result};
use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows, row_limit};
use crate::users::invalid;

/// The longest text that is indexed of one document, in bytes.
pub(crate) const SEARCH_BODY_BYTES_MAX: usize = 8 << 10;
/// The most words of a search; further ones are left out.
pub(crate) const SEARCH_WORDS_MAX: usize = 12;
/// The most documents that PostgreSQL sorts; of more, some older ones may be left out.
pub(crate) const SEARCH_MATCHES_MAX: usize = 10_000;
/// The longest word, in characters.
const WORD_CHARS_MAX: usize = 64;
/// Limits the runs that are indexed at a time, and the times a search does it.
const NEW_RUNS_MAX: usize = 500;
const NEW_RUNS_TIMES: usize = 4;
/// Limits how much later than others a run may be committed, in milliseconds.
const LATE_MS_MAX: u64 = 60_000;
/// Limits the characters shown of a document.
const EXCERPT_CHARS: usize = 160;
/// Limits the characters shown before the word that was found.
const EXCERPT_LEAD_CHARS: usize = 40;
/// Begins a word that every document of a kind has, so that a kind is found by the index.
const KIND_WORD: &str = "drawloomkind";

/// The source of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentKind {
    /// The name, tags and input of a run.
    Run,
    /// The title, summary and prompt of a task.
    Task,
    /// The prompt and the reply of an attempt.
    Reply,
    /// A comment on a task.
    Comment,
    /// The newest text of a named workflow.
    Workflow,
}

impl DocumentKind {
    /// All of them.
    pub const ALL: [DocumentKind; 5] = [
        DocumentKind::Run,
        DocumentKind::Task,
        DocumentKind::Reply,
        DocumentKind::Comment,
        DocumentKind::Workflow,
    ];

    /// Returns the word in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            DocumentKind::Run => "run",
            DocumentKind::Task => "task",
            DocumentKind::Reply => "reply",
            DocumentKind::Comment => "comment",
            DocumentKind::Workflow => "workflow",
        }
    }
}

impl FromStr for DocumentKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<DocumentKind> {
        let mut all = DocumentKind::ALL.into_iter();
        let found = all.find(|kind| kind.as_str() == text);
        found.ok_or_else(|| {
            let words = DocumentKind::ALL.map(DocumentKind::as_str).join(", ");
            invalid(format!(
                "`{text}` cannot be searched; choose one of {words}."
            ))
        })
    }
}

/// A text to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchDocument {
    pub(crate) kind: DocumentKind,
    pub(crate) name: String,
    pub(crate) run: Option<RunId>,
    pub(crate) task: Option<TaskId>,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) at_ms: u64,
}

impl SearchDocument {
    /// Makes the document of a task's details.
    pub(crate) fn of_task(details: &TaskDetails, now_ms: u64) -> SearchDocument {
        let TaskDetails { task, title, .. } = details;
        let title = match title.is_empty() {
            true => task.step.as_str(),
            false => title,
        };
        SearchDocument {
            kind: DocumentKind::Task,
            name: task.to_string(),
            run: Some(task.run.clone()),
            task: Some(task.clone()),
            title: title.to_owned(),
            body: [
                details.summary.as_str(),
                details.extra_prompt.as_str(),
                &details.tags.join(" "),
            ]
            .join("\n"),
            at_ms: now_ms,
        }
    }

    /// Makes the document of a comment.
    pub(crate) fn of_comment(comment: &TaskComment) -> SearchDocument {
        SearchDocument {
            kind: DocumentKind::Comment,
            name: comment.id.to_string(),
            run: Some(comment.task.run.clone()),
            task: Some(comment.task.clone()),
            title: format!("Comment by {}", comment.author),
            body: comment.body.clone(),
            at_ms: comment.created_ms,
        }
    }
}

/// A search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The words, as the user typed them.
    pub text: String,
    /// Only documents of these kinds; empty means of any.
    pub kinds: Vec<DocumentKind>,
    /// Only documents behind this [`SearchHit::number`] of the page before.
    pub after: Option<u64>,
}

/// A document that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// Its place in the list, which is the cursor of the next page.
    pub number: u64,
    /// The source of the document.
    pub kind: DocumentKind,
    /// The id of the run or task, or the name of the workflow.
    pub name: String,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// One line that names it.
    pub title: String,
    /// The text around the first word that was found.
    pub excerpt: String,
    /// The time of the document, in milliseconds since 1970.
    pub at_ms: u64,
}

/// The documents of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPage {
    /// The newest first.
    pub hits: Vec<SearchHit>,
    /// Tells whether runs are left that are not indexed yet: search again.
    pub is_behind: bool,
}

/// The port for full-text search.
pub trait SearchIndex: Send + Sync {
    /// Finds documents that have all words of a query, the newest first.
    fn search<'a>(&'a self, query: &'a SearchQuery, max: usize) -> DatabaseFuture<'a, SearchPage>;
}

pub(crate) const PUT_DOCUMENT: &str = "INSERT INTO search_documents (kind, name, run, task, title, body, words, at_ms) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (kind, name) DO UPDATE SET \
     title = excluded.title, body = excluded.body, words = excluded.words, at_ms = excluded.at_ms \
     RETURNING number";
const FORGET: &str = "DELETE FROM search_documents WHERE kind = $1 AND name = $2 RETURNING number";
pub(crate) const FIND_SQLITE: &str = "SELECT number, kind, name, run, task, title, body, at_ms FROM search_words \
     JOIN search_documents ON search_documents.number = search_words.rowid \
     WHERE search_words MATCH $1 AND search_words.rowid < $2 \
     ORDER BY search_words.rowid DESC LIMIT $3";
pub(crate) const FIND_POSTGRES: &str = "WITH matches AS MATERIALIZED (SELECT number \
     FROM search_documents WHERE to_tsvector('simple', words) @@ to_tsquery('simple', $1) \
     AND number < $2 LIMIT $4) \
     SELECT number, kind, name, run, task, title, body, at_ms FROM search_documents \
     WHERE number IN (SELECT number FROM matches ORDER BY number DESC LIMIT $3) ORDER BY number DESC";
pub(crate) const LAST_RUN: &str =
    "SELECT coalesce(max(at_ms), 0) AS at_ms FROM search_documents WHERE kind = 'run'";
pub(crate) const NEW_RUNS: &str = "SELECT body, input FROM workflow_runs AS runs \
     WHERE created_ms >= $1 AND NOT EXISTS (SELECT 1 FROM search_documents AS known \
     WHERE known.kind = 'run' AND known.name = runs.id) ORDER BY created_ms, id LIMIT $2";

impl<T: SharedTables> SearchIndex for T {
    fn search<'a>(&'a self, query: &'a SearchQuery, max: usize) -> DatabaseFuture<'a, SearchPage> {
        Box::pin(async move {
            let words = query_words(&query.text);
            if words.is_empty() {
                return Ok(SearchPage::default());
            }
            let is_behind = index_runs(self).await?;
            let before = query.after.unwrap_or(i64::MAX as u64);
            let statement = self.dialect().pick(FIND_SQLITE, FIND_POSTGRES);
            let is_sqlite = statement.sql == FIND_SQLITE;
            let statement = statement
                .with(match is_sqlite {
                    true => sqlite_match(&words, &query.kinds),
                    false => postgres_match(&words, &query.kinds),
                })
                .with(before)
                .with(row_limit(max));
            let statement = match is_sqlite {
                true => statement,
                false => statement.with(row_limit(SEARCH_MATCHES_MAX)),
            };
            let rows = self.look(statement).await?;
            let hits = read_rows(self, "a document", &rows, |row| read_hit(row, &words))?;
            Ok(SearchPage { hits, is_behind })
        })
    }
}

/// Indexes some runs that are new; returns whether more are left.
async fn index_runs(tables: &impl SharedTables) -> Result<bool> {
    for _ in 0..NEW_RUNS_TIMES {
        let last = tables.look(TableStatement::new(LAST_RUN)).await?;
        let last = read_rows(tables, "a time", &last, |row| row.count("at_ms"))?.pop();
        let since = last.unwrap_or(0).saturating_sub(LATE_MS_MAX);
        let statement = TableStatement::new(NEW_RUNS)
            .with(since)
            .with(row_limit(NEW_RUNS_MAX));
        let rows = tables.look(statement).await?;
        let documents = read_rows(tables, "a run", &rows, read_run)?;
        let count = documents.len();
        let statements = documents.iter().map(|document| put(tables, document));
        let statements: Vec<TableStatement> = statements.collect();
        if !statements.is_empty() {
            // Each gives a row, so that all of them are kept.
            let _ = tables.change_together(statements).await?;
        }
        if count < NEW_RUNS_MAX {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read_run(row: &TableRow) -> ColumnRead<SearchDocument> {
    let run: RunRow =
        serde_json::from_str(&row.text("body")?).map_err(|cause| cause.to_string())?;
    let input = row.maybe_text("input")?.unwrap_or_default();
    Ok(SearchDocument {
        kind: DocumentKind::Run,
        name: run.id.to_string(),
        title: run.name.clone().unwrap_or_else(|| run.id.to_string()),
        body: format!("{} {} {input}", run.id, run.tags.join(" ")),
        task: None,
        at_ms: run.created_ms,
        run: Some(run.id),
    })
}

/// Makes the statement that indexes a document.
pub(crate) fn put(tables: &impl SharedTables, document: &SearchDocument) -> TableStatement {
    let title = bounded(&tables.scrubbed(&document.title));
    let body = bounded(&tables.scrubbed(&document.body));
    TableStatement::optional(PUT_DOCUMENT)
        .with(document.kind.as_str())
        .with(document.name.as_str())
        .with(document.run.as_ref().map(RunId::to_string))
        .with(document.task.as_ref().map(TaskId::to_string))
        .with(title.as_str())
        .with(body.as_str())
        .with(words_of(document.kind, &title, &body))
        .with(document.at_ms)
}

/// Makes the statement that removes a document.
pub(crate) fn forget(kind: DocumentKind, name: &str) -> TableStatement {
    TableStatement::optional(FORGET)
        .with(kind.as_str())
        .with(name)
}

/// The beginning of a text, without characters that PostgreSQL cannot keep.
pub(crate) fn bounded(text: &str) -> String {
    let mut end = text.len().min(SEARCH_BODY_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace('\0', " ")
}

/// The words of a document, as both engines index them.
pub(crate) fn words_of(kind: DocumentKind, title: &str, body: &str) -> String {
    let mut all = vec![kind_word(kind)];
    all.extend(words(title));
    all.extend(words(body));
    all.join(" ")
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().take(WORD_CHARS_MAX).collect::<String>())
        .map(|word| word.to_lowercase())
}

fn query_words(text: &str) -> Vec<String> {
    words(text).take(SEARCH_WORDS_MAX).collect()
}

fn sqlite_match(words: &[String], kinds: &[DocumentKind]) -> String {
    let mut terms: Vec<String> = words.iter().map(|word| format!("\"{word}\"*")).collect();
    let kinds = kinds.iter().map(|kind| kind_word(*kind));
    let kinds: Vec<String> = kinds.collect();
    if !kinds.is_empty() {
        terms.push(format!("({})", kinds.join(" OR ")));
    }
    terms.join(" AND ")
}

fn postgres_match(words: &[String], kinds: &[DocumentKind]) -> String {
    let mut terms: Vec<String> = words.iter().map(|word| format!("'{word}':*")).collect();
    let kinds = kinds.iter().map(|kind| kind_word(*kind));
    let kinds: Vec<String> = kinds.collect();
    if !kinds.is_empty() {
        terms.push(format!("({})", kinds.join(" | ")));
    }
    terms.join(" & ")
}

fn kind_word(kind: DocumentKind) -> String {
    format!("{KIND_WORD}{}", kind.as_str())
}

fn read_hit(row: &TableRow, words: &[String]) -> ColumnRead<SearchHit> {
    let task = row.maybe_text("task")?;
    let task = task.map(|task| task.parse::<TaskId>());
    Ok(SearchHit {
        number: row.count("number")?,
        kind: row.parsed("kind")?,
        name: row.text("name")?,
        run: row.maybe_text("run")?.map(RunId::new),
        task: task.transpose().map_err(|cause| cause.to_string())?,
        title: row.text("title")?,
        excerpt: excerpt(&row.text("body")?, words),
        at_ms: row.count("at_ms")?,
    })
}

/// Cuts the text around the first word that was found, on one line.
fn excerpt(body: &str, words: &[String]) -> String {
    let line: Vec<char> = body
        .split_whitespace()
        .flat_map(|word| word.chars().chain([' ']))
        .collect();
    let small: Vec<char> = line
        .iter()
        .map(|c| c.to_lowercase().next().unwrap_or(*c))
        .collect();
    let found = words.iter().filter_map(|word| {
        let word: Vec<char> = word.chars().collect();
        small.windows(word.len()).position(|part| part == word)
    });
    let from = found.min().unwrap_or(0).saturating_sub(EXCERPT_LEAD_CHARS);
    let cut: String = line.iter().skip(from).take(EXCERPT_CHARS).collect();
    let (before, after) = (from > 0, line.len() > from + EXCERPT_CHARS);
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", dots(before), cut.trim(), dots(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_the_first_word_that_was_found() {
        let long = format!("{} needle {}", "hay ".repeat(100), "straw ".repeat(100));
        let cut = excerpt(&long, &["needle".to_owned()]);
        assert!(cut.starts_with('…') && cut.ends_with('…'), "{cut}");
        assert!(cut.contains("needle straw"), "{cut}");
        assert_eq!(excerpt("a\n  Ä b", &["ä".to_owned()]), "a Ä b");
        assert_eq!(excerpt("", &["x".to_owned()]), "");
    }

    #[test]
    fn words_are_the_same_for_both_engines() {
        let made = words_of(
            DocumentKind::Run,
            "Fix: src/main.rs",
            "PR-42 \"Ünï_x\" it's",
        );
        assert_eq!(made, "drawloomkindrun fix src main rs pr 42 ünï x it s");
        assert_eq!(query_words("  ' OR 1=1 -- "), ["or", "1", "1"]);
    }
}
