//! Search over runs, tasks, workflows and recipes.
//!
//! Runs, tasks and saved workflows are found by the database. Recipes and workflows that are only files
//! are found by their names and descriptions.

use store::{DocumentKind, SearchHit, SearchQuery};

use super::UseCases;
use super::access::Permission;
use crate::people::explained;
use crate::{Error, recipes};

/// The most results of one page.
pub const SEARCH_PAGE_MAX: usize = 100;
/// The most recipes, and the most workflows, that are found by their files.
const FILES_MAX: usize = 20;

/// A search that is wanted.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    /// The words, as they were typed.
    pub text: String,
    /// Only results of this kind.
    pub kind: Option<ResultKind>,
    /// [`SearchResults::next`] of the page before.
    pub after: Option<u64>,
    /// At most [`SEARCH_PAGE_MAX`].
    pub max: usize,
}

/// Something that can be searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    Run,
    Task,
    Workflow,
    Recipe,
}

impl ResultKind {
    /// All of them.
    pub const ALL: [ResultKind; 4] = [
        ResultKind::Run,
        ResultKind::Task,
        ResultKind::Workflow,
        ResultKind::Recipe,
    ];

    /// Returns the word on the command line and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            ResultKind::Run => "run",
            ResultKind::Task => "task",
            ResultKind::Workflow => "workflow",
            ResultKind::Recipe => "recipe",
        }
    }

    /// Returns the kind of this word.
    pub fn read(word: &str) -> Option<ResultKind> {
        ResultKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }

    /// The documents of the database that belong to it.
    fn documents(self) -> &'static [DocumentKind] {
        match self {
            ResultKind::Run => &[DocumentKind::Run],
            ResultKind::Task => &[
                DocumentKind::Task,
                DocumentKind::Reply,
                DocumentKind::Comment,
            ],
            ResultKind::Workflow => &[DocumentKind::Workflow],
            ResultKind::Recipe => &[],
        }
    }
}

/// A page of results.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// Recipes and workflows by name on the first page, then documents, the newest first.
    pub results: Vec<SearchResult>,
    /// Leads to the next page; nothing behind the last one.
    pub next: Option<u64>,
    /// Tells whether older runs are still being indexed: search again.
    pub is_behind: bool,
}

/// Something that was found.
#[derive(Clone, Debug)]
pub struct SearchResult {
    pub kind: ResultKind,
    /// The id of the run or task, or the name of the workflow or recipe.
    pub name: String,
    /// One line that names it.
    pub title: String,
    /// The text around the first word that was found.
    pub excerpt: String,
    /// The time of the document, in milliseconds since 1970; nothing for a file.
    pub at_ms: Option<u64>,
}

impl UseCases {
    /// Finds runs, tasks, workflows and recipes that have all words of a text, or words that begin with
    /// them.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchResults, Error> {
        self.permit(Permission::Look)?;
        let max = request.max.clamp(1, SEARCH_PAGE_MAX);
        let mut found = match request.after {
            None => self.find_files(request)?,
            Some(_) => Vec::new(),
        };
        let kinds = request.kind.map_or(&[][..], ResultKind::documents);
        if request.kind == Some(ResultKind::Recipe) {
            return Ok(SearchResults {
                results: found,
                ..SearchResults::default()
            });
        }
        let query = SearchQuery {
            text: request.text.clone(),
            kinds: kinds.to_vec(),
            after: request.after,
        };
        let page = self.app().ports().search(&query, max).await;
        let page = page.map_err(explained)?;
        let next = page.hits.last().filter(|_| page.hits.len() == max);
        let next = next.map(|hit| hit.number);
        let is_new = |hit: &SearchHit, found: &[SearchResult]| {
            let kind = kind_of(hit.kind);
            !found
                .iter()
                .any(|one| one.kind == kind && one.name == name_of(hit))
        };
        for hit in page.hits {
            if is_new(&hit, &found) {
                found.push(result_of(hit));
            }
        }
        Ok(SearchResults {
            results: found,
            next,
            is_behind: page.is_behind,
        })
    }

    /// Finds recipes and workflow files whose names or descriptions have all words.
    fn find_files(&self, request: &SearchRequest) -> Result<Vec<SearchResult>, Error> {
        let words: Vec<String> = request
            .text
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let fits = |text: &str| {
            let text = text.to_lowercase();
            !words.is_empty() && words.iter().all(|word| text.contains(word.as_str()))
        };
        let is_wanted = |kind| request.kind.is_none_or(|wanted| wanted == kind);
        let mut found = Vec::new();
        let file = |kind, name: &str, excerpt: &str| SearchResult {
            kind,
            name: name.to_owned(),
            title: name.to_owned(),
            excerpt: excerpt.to_owned(),
            at_ms: None,
        };
        if is_wanted(ResultKind::Recipe) {
            let catalog = recipes::catalog(self.project())?;
            let recipes = catalog.all().filter_map(|listing| {
                let about = listing.description.as_deref().unwrap_or_default();
                let fits = fits(&format!("{} {about}", listing.id));
                fits.then(|| file(ResultKind::Recipe, &listing.id, about))
            });
            found.extend(recipes.take(FILES_MAX));
        }
        if is_wanted(ResultKind::Workflow) {
            let names = crate::workflows::names(self.project())?;
            let names = names.iter().filter(|name| fits(name));
            let files = names.map(|name| file(ResultKind::Workflow, name, ""));
            found.extend(files.take(FILES_MAX));
        }
        Ok(found)
    }
}

fn kind_of(kind: DocumentKind) -> ResultKind {
    match kind {
        DocumentKind::Run => ResultKind::Run,
        DocumentKind::Task | DocumentKind::Reply | DocumentKind::Comment => ResultKind::Task,
        DocumentKind::Workflow => ResultKind::Workflow,
    }
}

fn name_of(hit: &SearchHit) -> String {
    match &hit.task {
        Some(task) => task.to_string(),
        None => hit.name.clone(),
    }
}

fn result_of(hit: SearchHit) -> SearchResult {
    SearchResult {
        kind: kind_of(hit.kind),
        name: name_of(&hit),
        title: hit.title,
        excerpt: hit.excerpt,
        at_ms: Some(hit.at_ms),
    }
}
