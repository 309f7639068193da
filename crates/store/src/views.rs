//! Saved views as callers see them, whatever engine stores them: named filters over a list.
//!
//! The code that shows the list interprets the filter; here it is a document. Users see their own
//! views and those that others share; only the owner changes one.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::DatabaseFuture;
use crate::users::{Slug, check_line, invalid, limited};

/// Limits the length of a view's name.
pub const VIEW_NAME_CHARS_MAX: usize = 100;
/// Limits the length of a filter, written as JSON.
pub const VIEW_FILTER_BYTES_MAX: usize = 16 << 10;

/// The number of a view. It stays when the view is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId(pub i64);

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The list that a view filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewedList {
    /// Runs of workflows.
    Runs,
    /// Their tasks.
    Tasks,
}

impl ViewedList {
    /// Both of them.
    pub const ALL: [ViewedList; 2] = [ViewedList::Runs, ViewedList::Tasks];

    /// Returns the word in the database and in addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            ViewedList::Runs => "runs",
            ViewedList::Tasks => "tasks",
        }
    }
}

impl FromStr for ViewedList {
    type Err = Error;

    fn from_str(text: &str) -> Result<ViewedList> {
        let found = ViewedList::ALL
            .into_iter()
            .find(|list| list.as_str() == text);
        found.ok_or_else(|| {
            let words = ViewedList::ALL.map(ViewedList::as_str).join(" and ");
            invalid(format!(
                "`{text}` is no list with views; those are {words}."
            ))
        })
    }
}

/// A view to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewView {
    /// The owner.
    pub owner: Slug,
    /// The name; unique among the owner's views.
    pub name: String,
    /// The list it filters.
    pub list: ViewedList,
    /// The filter: a JSON object.
    pub filter: Value,
    /// Says that other users see it.
    pub is_shared: bool,
}

/// A stored view.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedView {
    /// Its number.
    pub id: ViewId,
    /// The owner; never changes.
    pub owner: Slug,
    /// The name.
    pub name: String,
    /// The list it filters; never changes.
    pub list: ViewedList,
    /// The filter: a JSON object.
    pub filter: Value,
    /// Says that other users see it.
    pub is_shared: bool,
    /// The number of edits. An edit names the revision it was based on.
    pub revision: u64,
    /// The time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time of the last edit.
    pub updated_ms: u64,
}

impl SavedView {
    /// Tells whether this user may use the view.
    pub fn is_visible_to(&self, user: &Slug) -> bool {
        self.is_shared || self.owner == *user
    }
}

/// The port to the saved views.
pub trait ViewStore: Send + Sync {
    /// Adds a view. [`DatabaseErrorKind::Missing`] without such an owner, [`DatabaseErrorKind::Conflict`] when they have one of
    /// this name.
    fn add_view<'a>(&'a self, view: &'a NewView) -> DatabaseFuture<'a, SavedView>;

    /// Returns the view with this number, for any user: callers check [`SavedView::is_visible_to`].
    fn view(&self, id: ViewId) -> DatabaseFuture<'_, Option<SavedView>>;

    /// Lists the views that a user sees, their own and the shared ones, by name.
    fn views<'a>(&'a self, user: &'a Slug, list: ViewedList) -> DatabaseFuture<'a, Vec<SavedView>>;

    /// Stores the name, filter and sharing of an edited view, if no other edit came after the one
    /// this is based on. Otherwise it is a [`DatabaseErrorKind::Conflict`], and [`DatabaseErrorKind::Missing`] when its owner
    /// has no such view.
    fn edit_view<'a>(&'a self, view: &'a SavedView) -> DatabaseFuture<'a, SavedView>;

    /// Deletes a view of this owner, if it is still at this revision.
    fn remove_view<'a>(&'a self, view: &'a SavedView) -> DatabaseFuture<'a, ()>;
}

/// Returns the filter as it is stored. Every way into a database calls this.
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
    Error::new(
        DatabaseErrorKind::Missing,
        format!("There is no view {id}."),
    )
}

pub(crate) fn view_taken(owner: &Slug, name: &str) -> Error {
    let message =
        format!("`{owner}` has a view `{name}` already. Edit it, or choose another name.");
    Error::new(DatabaseErrorKind::Conflict, message)
}

pub(crate) fn view_edited_meanwhile(name: &str) -> Error {
    let message = format!("The view `{name}` was edited meanwhile. Look at it and do it again.");
    Error::new(DatabaseErrorKind::Conflict, message)
}

/// Explains why a view could not be changed, by its present state.
pub(crate) fn unchanged(view: &SavedView, now: Option<SavedView>) -> Error {
    match now.filter(|now| now.owner == view.owner) {
        None => no_view(view.id),
        Some(now) if now.revision == view.revision => view_taken(&view.owner, &view.name),
        Some(_) => view_edited_meanwhile(&view.name),
    }
}
