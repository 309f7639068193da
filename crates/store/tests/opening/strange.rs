//! A file from elsewhere with parts that run when it is read or written: refused before anything reads it.

use std::time::Duration;

use sqlx::Connection as _;
use store::DatabaseErrorKind;

use crate::database::{Maker, file, open};

/// Parts that a clone, an archive or a backup could bring.
const STRANGE: [&str; 4] = [
    "ALTER TABLE users RENAME TO gone; CREATE VIEW users AS \
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS slug FROM n",
    "CREATE TRIGGER more AFTER INSERT ON users BEGIN UPDATE users SET role = 'admin'; END",
    // The name of ours, with another body.
    "DROP TRIGGER users_added; CREATE TRIGGER users_added AFTER INSERT ON users BEGIN \
     DELETE FROM audit_entries; END",
    "CREATE VIEW unused AS SELECT 1",
];

#[tokio::test]
async fn a_file_with_parts_that_no_migration_made_is_refused() {
    let maker = Maker::files();
    for (at, sql) in STRANGE.into_iter().enumerate() {
        let place = maker.empty(&format!("strange{at}.db")).await;
        drop(open(&place).await.unwrap());
        let mut connection = file(&place).await;
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let limit = Duration::from_secs(20);
        let opened = tokio::time::timeout(limit, open(&place)).await.unwrap();
        let refused = opened.err().unwrap_or_else(|| panic!("{sql} was opened"));
        assert_eq!(refused.kind(), DatabaseErrorKind::Corrupt, "{refused}");
        let other = maker.empty(&format!("restored{at}.db")).await;
        let restoring = store::restore_file(place.as_ref(), other.as_ref(), 1);
        let restored = tokio::time::timeout(limit, restoring).await.unwrap();
        let refused = restored
            .err()
            .unwrap_or_else(|| panic!("{sql} was restored"));
        assert_eq!(refused.kind(), DatabaseErrorKind::Corrupt, "{refused}");
        assert!(!std::path::Path::new(&other).exists());
    }
}
