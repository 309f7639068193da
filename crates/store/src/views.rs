//! Saved views as callers see them, whatever engine keeps them: named filters over a list.
//!
//! What a filter means is known to whoever shows the list; here it is a document. Users see their own
//! views and those that others share; only the owner changes one.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::error::{Error, Kind, Result};
use crate::people::{Slug, check_line, invalid, limited};
use crate::record::Kept;

/// How long the name of a view may be.
pub const VIEW_NAME_CHARS_MAX: usize = 100;
/// How long a filter may be, written as JSON.
pub const VIEW_FILTER_BYTES_MAX: usize = 16 << 10;

/// The number of a view. It stays when the view is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId(pub i64);

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What can be filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Runs of workflows.
    Runs,
    /// Their tasks.
    Tasks,
}

impl List {
    /// Both of them.
    pub const ALL: [List; 2] = [List::Runs, List::Tasks];

    /// The word in the database and in addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            List::Runs => "runs",
            List::Tasks => "tasks",
        }
    }
}

impl FromStr for List {
    type Err = Error;

    fn from_str(text: &str) -> Result<List> {
        let found = List::ALL.into_iter().find(|list| list.as_str() == text);
        found.ok_or_else(|| {
            let words = List::ALL.map(List::as_str).join(" and ");
            invalid(format!(
                "`{text}` is no list with views; those are {words}."
            ))
        })
    }
}

/// A view to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct NewView {
    /// Whose it is.
    pub owner: Slug,
    /// What it is called; one name once for each owner.
    pub name: String,
    /// What it filters.
    pub list: List,
    /// How: a JSON object.
    pub filter: Value,
    /// Whether others see it.
    pub is_shared: bool,
}

/// A view that is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its number.
    pub id: ViewId,
    /// Whose it is; that does not change.
    pub owner: Slug,
    /// What it is called.
    pub name: String,
    /// What it filters; that does not change.
    pub list: List,
    /// How.
    pub filter: Value,
    /// Whether others see it.
    pub is_shared: bool,
    /// How often it was edited; an edit names the one it has seen.
    pub revision: u64,
    /// When it was added, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was edited last.
    pub updated_ms: u64,
}

impl View {
    /// Whether this user may look through it.
    pub fn is_visible_to(&self, user: &Slug) -> bool {
        self.is_shared || self.owner == *user
    }
}

/// The port behind which views are kept.
pub trait Views: Send + Sync {
    /// Adds a view. [`Kind::Missing`] without such an owner, [`Kind::Conflict`] when they have one of
    /// this name.
    fn add_view<'a>(&'a self, view: &'a NewView) -> Kept<'a, View>;

    /// The view of this number, whoever asks: see [`View::is_visible_to`].
    fn view(&self, id: ViewId) -> Kept<'_, Option<View>>;

    /// What a user sees of a list: their own views and the shared ones, by name.
    fn views<'a>(&'a self, user: &'a Slug, list: List) -> Kept<'a, Vec<View>>;

    /// Keeps name, filter and sharing of an edited view, if nobody has edited it since this revision:
    /// otherwise it is a [`Kind::Conflict`], and [`Kind::Missing`] when its owner has no such view.
    fn edit_view<'a>(&'a self, view: &'a View) -> Kept<'a, View>;

    /// Forgets a view of this owner, if it still stands at this revision.
    fn remove_view<'a>(&'a self, view: &'a View) -> Kept<'a, ()>;
}

/// The filter as it is kept. Every way into a database goes through this.
pub(crate) fn written(name: &str, filter: &Value) -> Result<String> {
    let limit = ("VIEW_NAME_CHARS_MAX", VIEW_NAME_CHARS_MAX);
    check_line("the view's name", name, limit)?;
    if !filter.is_object() {
        return Err(invalid("a view's filter is a JSON object.".to_owned()));
    }
    let text = filter.to_string();
    let limit = ("VIEW_FILTER_BYTES_MAX", VIEW_FILTER_BYTES_MAX);
    limited("the view's filter", text.len(), limit)?;
    Ok(text)
}

pub(crate) fn no_view(id: ViewId) -> Error {
    Error::new(Kind::Missing, format!("There is no view {id}."))
}

pub(crate) fn view_taken(owner: &Slug, name: &str) -> Error {
    let message =
        format!("`{owner}` has a view `{name}` already. Edit it, or choose another name.");
    Error::new(Kind::Conflict, message)
}

pub(crate) fn view_edited_meanwhile(name: &str) -> Error {
    let message = format!("The view `{name}` was edited meanwhile. Look at it and do it again.");
    Error::new(Kind::Conflict, message)
}

/// What became of a view that could not be changed, by what is there now.
pub(crate) fn unchanged(view: &View, now: Option<View>) -> Error {
    match now.filter(|now| now.owner == view.owner) {
        None => no_view(view.id),
        Some(now) if now.revision == view.revision => view_taken(&view.owner, &view.name),
        Some(_) => view_edited_meanwhile(&view.name),
    }
}
