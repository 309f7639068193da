//! Saved views in SQLite.

use serde_json::Value;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::schedules::ScheduleQuery;
use super::{SqliteDatabase, count, integer};
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
    " FROM views WHERE list = $1 AND (owner = $2 OR is_shared = 1) ORDER BY name, owner"
);
const ADD: &str = concat!(
    "INSERT INTO views (owner, name, list, filter, is_shared, revision, created_ms, updated_ms) \
     SELECT $1, $2, $3, $4, $5, 1, $6, $6 WHERE EXISTS (SELECT 1 FROM users WHERE slug = $1) \
     ON CONFLICT DO NOTHING RETURNING ",
    columns!()
);
const EDIT: &str = concat!(
    "UPDATE OR IGNORE views SET name = $1, filter = $2, is_shared = $3, revision = revision + 1, \
     updated_ms = $4 WHERE id = $5 AND owner = $6 AND revision = $7 RETURNING ",
    columns!()
);
const REMOVE: &str = concat!(
    "DELETE FROM views WHERE id = $1 AND owner = $2 AND revision = $3 RETURNING ",
    columns!()
);

impl ViewStore for SqliteDatabase {
    fn add_view<'a>(&'a self, view: &'a NewView) -> DatabaseFuture<'a, SavedView> {
        Box::pin(async move {
            let filter = written(&view.name, &view.filter)?;
            let name = self.clean(&view.name).into_owned();
            let statement = sqlx::query(ADD)
                .bind(view.owner.as_str())
                .bind(&name)
                .bind(view.list.as_str())
                .bind(self.clean(&filter).into_owned())
                .bind(view.is_shared)
                .bind(self.now_ms());
            match self.read_views(statement).await?.pop() {
                Some(added) => Ok(added),
                None if self.user(&view.owner).await?.is_none() => Err(no_user(&view.owner)),
                None => Err(view_taken(&view.owner, &name)),
            }
        })
    }

    fn view(&self, id: ViewId) -> DatabaseFuture<'_, Option<SavedView>> {
        Box::pin(async move {
            let statement = sqlx::query(FIND).bind(id.0);
            Ok(self.read_views(statement).await?.pop())
        })
    }

    fn views<'a>(&'a self, user: &'a Slug, list: ViewedList) -> DatabaseFuture<'a, Vec<SavedView>> {
        let statement = sqlx::query(SEEN).bind(list.as_str()).bind(user.as_str());
        Box::pin(self.read_views(statement))
    }

    fn edit_view<'a>(&'a self, view: &'a SavedView) -> DatabaseFuture<'a, SavedView> {
        Box::pin(async move {
            let filter = written(&view.name, &view.filter)?;
            let statement = sqlx::query(EDIT)
                .bind(self.clean(&view.name).into_owned())
                .bind(self.clean(&filter).into_owned())
                .bind(view.is_shared)
                .bind(self.now_ms())
                .bind(view.id.0)
                .bind(view.owner.as_str())
                .bind(integer(view.revision));
            match self.read_views(statement).await?.pop() {
                Some(edited) => Ok(edited),
                None => Err(unchanged(view, self.view(view.id).await?)),
            }
        })
    }

    fn remove_view<'a>(&'a self, view: &'a SavedView) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let statement = sqlx::query(REMOVE)
                .bind(view.id.0)
                .bind(view.owner.as_str())
                .bind(integer(view.revision));
            match self.read_views(statement).await?.pop() {
                Some(_) => Ok(()),
                None => Err(unchanged(view, self.view(view.id).await?)),
            }
        })
    }
}

impl SqliteDatabase {
    async fn read_views(&self, statement: ScheduleQuery<'_>) -> Result<Vec<SavedView>> {
        let mut connection = self.inner.connection.lock().await;
        let rows = statement.fetch_all(&mut *connection).await;
        let rows = rows.map_err(|cause| self.fault().of(&cause))?;
        let read = rows.iter().map(|row| {
            read(row).map_err(|why| {
                self.fault()
                    .corrupt(&format!("a view is unreadable: {why}"))
            })
        });
        read.collect()
    }
}

fn read(row: &SqliteRow) -> std::result::Result<SavedView, String> {
    let text = |name: &str| row.try_get::<String, _>(name).map_err(|e| e.to_string());
    let number = |name: &str| row.try_get::<i64, _>(name).map_err(|e| e.to_string());
    Ok(SavedView {
        id: ViewId(number("id")?),
        owner: text("owner")?.parse().map_err(|e| format!("{e}"))?,
        name: text("name")?,
        list: text("list")?.parse().map_err(|e| format!("{e}"))?,
        filter: serde_json::from_str::<Value>(&text("filter")?).map_err(|e| e.to_string())?,
        is_shared: number("is_shared")? != 0,
        revision: count(number("revision")?),
        created_ms: count(number("created_ms")?),
        updated_ms: count(number("updated_ms")?),
    })
}
