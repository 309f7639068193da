//! Saved views in either database.

use serde_json::Value;

use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows};
use crate::users::{Slug, UserStore, no_user};
use crate::views::{
    NewView, SavedView, ViewId, ViewStore, ViewedList, unchanged, view_taken, written,
};

macro_rules! columns {
    () => {
        "id, owner, name, list, filter, is_shared, revision, created_ms, updated_ms"
    };
}

const FIND: &str = concat!("SELECT ", columns!(), " FROM views WHERE id = $1");
const SEEN: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM views WHERE list = $1 AND (owner = $2 OR is_shared) ORDER BY name, owner"
);
const ADD: &str = concat!(
    "INSERT INTO views (owner, name, list, filter, is_shared, revision, created_ms, updated_ms) \
     SELECT $1, $2, $3, $4, $5, 1, $6, $6 WHERE EXISTS (SELECT 1 FROM users WHERE slug = $1) \
     ON CONFLICT DO NOTHING RETURNING ",
    columns!()
);
// If another transaction takes the name at the same moment, this one fails; the next try sees it.
const EDIT: &str = concat!(
    "UPDATE views SET name = $1, filter = $2, is_shared = $3, revision = revision + 1, \
     updated_ms = $4 WHERE id = $5 AND owner = $6 AND revision = $7 AND NOT EXISTS \
     (SELECT 1 FROM views AS other WHERE other.owner = $6 AND other.name = $1 AND other.id <> $5) \
     RETURNING ",
    columns!()
);
const REMOVE: &str =
    "DELETE FROM views WHERE id = $1 AND owner = $2 AND revision = $3 RETURNING id";

impl<T: SharedTables + UserStore> ViewStore for T {
    fn add_view<'a>(&'a self, view: &'a NewView) -> DatabaseFuture<'a, SavedView> {
        Box::pin(async move {
            let filter = written(&view.name, &view.filter)?;
            let name = self.scrubbed(&view.name);
            let statement = TableStatement::new(ADD)
                .with(view.owner.as_str())
                .with(name.as_str())
                .with(view.list.as_str())
                .with(self.scrubbed(&filter))
                .with(view.is_shared)
                .with(self.time_ms());
            let rows = self.change_rows(statement).await?;
            match read_rows(self, "a view", &rows, read)?.pop() {
                Some(added) => Ok(added),
                None if self.user(&view.owner).await?.is_none() => Err(no_user(&view.owner)),
                None => Err(view_taken(&view.owner, &name)),
            }
        })
    }

    fn view(&self, id: ViewId) -> DatabaseFuture<'_, Option<SavedView>> {
        Box::pin(async move {
            let rows = self.look(TableStatement::new(FIND).with(id.0)).await?;
            Ok(read_rows(self, "a view", &rows, read)?.pop())
        })
    }

    fn views<'a>(&'a self, user: &'a Slug, list: ViewedList) -> DatabaseFuture<'a, Vec<SavedView>> {
        Box::pin(async move {
            let statement = TableStatement::new(SEEN)
                .with(list.as_str())
                .with(user.as_str());
            let rows = self.look(statement).await?;
            read_rows(self, "a view", &rows, read)
        })
    }

    fn edit_view<'a>(&'a self, view: &'a SavedView) -> DatabaseFuture<'a, SavedView> {
        Box::pin(async move {
            let filter = written(&view.name, &view.filter)?;
            let statement = TableStatement::new(EDIT)
                .with(self.scrubbed(&view.name))
                .with(self.scrubbed(&filter))
                .with(view.is_shared)
                .with(self.time_ms())
                .with(view.id.0)
                .with(view.owner.as_str())
                .with(view.revision);
            let rows = self.change_rows(statement).await?;
            match read_rows(self, "a view", &rows, read)?.pop() {
                Some(edited) => Ok(edited),
                None => Err(unchanged(view, self.view(view.id).await?)),
            }
        })
    }

    fn remove_view<'a>(&'a self, view: &'a SavedView) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let statement = TableStatement::new(REMOVE)
                .with(view.id.0)
                .with(view.owner.as_str())
                .with(view.revision);
            match self.change_rows(statement).await?.is_empty() {
                false => Ok(()),
                true => Err(unchanged(view, self.view(view.id).await?)),
            }
        })
    }
}

fn read(row: &TableRow) -> ColumnRead<SavedView> {
    Ok(SavedView {
        id: ViewId(row.integer("id")?),
        owner: row.parsed("owner")?,
        name: row.text("name")?,
        list: row.parsed("list")?,
        filter: serde_json::from_str::<Value>(&row.text("filter")?).map_err(|e| e.to_string())?,
        is_shared: row.flag("is_shared")?,
        revision: row.count("revision")?,
        created_ms: row.count("created_ms")?,
        updated_ms: row.count("updated_ms")?,
    })
}
