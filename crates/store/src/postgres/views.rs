//! Saved views in PostgreSQL.

use serde_json::Value;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::connection::BoundValues;
use super::{PostgresDatabase, count, integer};
use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::users::{Slug, UserStore as _, no_user};
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
const REMOVE: &str = concat!(
    "DELETE FROM views WHERE id = $1 AND owner = $2 AND revision = $3 RETURNING ",
    columns!()
);

impl ViewStore for PostgresDatabase {
    fn add_view<'a>(&'a self, view: &'a NewView) -> DatabaseFuture<'a, SavedView> {
        Box::pin(async move {
            let filter = written(&view.name, &view.filter)?;
            let name = self.clean(&view.name);
            let values = BoundValues::of(view.owner.as_str())
                .and(&name)
                .and(view.list.as_str())
                .and(self.clean(&filter))
                .and(view.is_shared)
                .and(integer(self.now_ms()));
            match self.change_views(ADD, values).await?.pop() {
                Some(added) => Ok(added),
                None if self.user(&view.owner).await?.is_none() => Err(no_user(&view.owner)),
                None => Err(view_taken(&view.owner, &name)),
            }
        })
    }

    fn view(&self, id: ViewId) -> DatabaseFuture<'_, Option<SavedView>> {
        Box::pin(async move {
            let rows = self.read(FIND, BoundValues::of(id.0)).await?;
            Ok(self.views_of(&rows)?.pop())
        })
    }

    fn views<'a>(&'a self, user: &'a Slug, list: ViewedList) -> DatabaseFuture<'a, Vec<SavedView>> {
        Box::pin(async move {
            let values = BoundValues::of(list.as_str()).and(user.as_str());
            let rows = self.read(SEEN, values).await?;
            self.views_of(&rows)
        })
    }

    fn edit_view<'a>(&'a self, view: &'a SavedView) -> DatabaseFuture<'a, SavedView> {
        Box::pin(async move {
            let filter = written(&view.name, &view.filter)?;
            let values = BoundValues::of(self.clean(&view.name))
                .and(self.clean(&filter))
                .and(view.is_shared)
                .and(integer(self.now_ms()))
                .and(view.id.0)
                .and(view.owner.as_str())
                .and(integer(view.revision));
            match self.change_views(EDIT, values).await?.pop() {
                Some(edited) => Ok(edited),
                None => Err(unchanged(view, self.view(view.id).await?)),
            }
        })
    }

    fn remove_view<'a>(&'a self, view: &'a SavedView) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let values = BoundValues::of(view.id.0)
                .and(view.owner.as_str())
                .and(integer(view.revision));
            match self.change_views(REMOVE, values).await?.pop() {
                Some(_) => Ok(()),
                None => Err(unchanged(view, self.view(view.id).await?)),
            }
        })
    }
}

impl PostgresDatabase {
    async fn change_views(&self, sql: &'static str, values: BoundValues) -> Result<Vec<SavedView>> {
        let rows = self.change(sql, values).await?;
        self.views_of(&rows)
    }

    fn views_of(&self, rows: &[PgRow]) -> Result<Vec<SavedView>> {
        let read = rows
            .iter()
            .map(|row| read(row).map_err(|why| self.unreadable("a view", &why)));
        read.collect()
    }
}

fn read(row: &PgRow) -> std::result::Result<SavedView, String> {
    let text = |name: &str| row.try_get::<String, _>(name).map_err(|e| e.to_string());
    let number = |name: &str| row.try_get::<i64, _>(name).map_err(|e| e.to_string());
    let is_shared = row.try_get::<bool, _>("is_shared");
    Ok(SavedView {
        id: ViewId(number("id")?),
        owner: text("owner")?.parse().map_err(|e| format!("{e}"))?,
        name: text("name")?,
        list: text("list")?.parse().map_err(|e| format!("{e}"))?,
        filter: serde_json::from_str::<Value>(&text("filter")?).map_err(|e| e.to_string())?,
        is_shared: is_shared.map_err(|e| e.to_string())?,
        revision: count(number("revision")?),
        created_ms: count(number("created_ms")?),
        updated_ms: count(number("updated_ms")?),
    })
}
