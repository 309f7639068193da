//! Databases of every version there was: their rows survive, can be read, and go on.

use store::DatabaseErrorKind;

use crate::database::{Maker, open};

async fn check_old(maker: &Maker) {
    let new = maker.empty("new").await;
    drop(open(&new).await.unwrap());
    let (latest, schema) = (maker.version(&new).await, schema(maker, &new).await);
    for version in 1..=usize::try_from(latest).unwrap() {
        let place = maker.of_version(version, &format!("v{version}")).await;
        let tables = maker.tables(&place).await;
        let before = maker.rows_in_both(&place, &new, &tables).await;
        let old = maker.of_version(version, &format!("w{version}")).await;
        let opened = open(&place).await.unwrap();
        assert_eq!(maker.version(&place).await, latest, "of {version}");
        let after = maker.rows_in_both(&place, &old, &tables).await;
        assert_eq!(after, before, "of {version}");
        assert_eq!(self::schema(maker, &place).await, schema, "of {version}");
        for (at, part) in opened.parts().iter().enumerate() {
            // The tables that the old version lacked exist now.
            if at >= version {
                opened.fill(*part).await;
            }
            opened.find(*part).await;
        }
    }
}

/// Tables, columns and indexes, however they came to be.
async fn schema(maker: &Maker, place: &str) -> Vec<String> {
    let sql = match maker {
        Maker::Files(_) => {
            "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema \
             WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE '_sqlx_%' ORDER BY 1"
        }
        Maker::Server(_) => {
            "SELECT 'column ' || table_name || ' ' || column_name || ' ' || data_type || ' ' || \
             is_nullable || ' ' || coalesce(collation_name, '') || ' ' || is_identity \
             FROM information_schema.columns WHERE table_schema = 'public' \
             UNION SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' \
             UNION SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) \
             FROM pg_constraint WHERE connamespace = 'public'::regnamespace \
             UNION SELECT relname || ' ' || coalesce(reloptions::text, '') FROM pg_class \
             WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
        }
    };
    maker.texts(place, sql).await
}

async fn check_newer(maker: &Maker) {
    let place = maker.empty("newer").await;
    drop(open(&place).await.unwrap());
    let later = match maker {
        Maker::Files(_) => {
            "INSERT INTO _sqlx_migrations VALUES (99, 'later', 0, 1, x'00', 0) RETURNING 'x'"
        }
        Maker::Server(_) => {
            "INSERT INTO drawloom_migrations (version, description, success, checksum, \
             execution_time) VALUES (99, 'later', true, '', 0) RETURNING 'x'"
        }
    };
    maker.texts(&place, later).await;
    if let Maker::Files(_) = maker {
        maker.texts(&place, "PRAGMA user_version = 99").await;
    }
    let tables = maker.tables(&place).await;
    let Err(error) = open(&place).await else {
        panic!("tables of a newer version are opened");
    };
    assert_eq!(error.kind(), DatabaseErrorKind::Newer, "{error}");
    for piece in ["a newer drawloom", "version 99", "Update drawloom"] {
        assert!(error.to_string().contains(piece), "{error}");
    }
    assert_eq!(maker.tables(&place).await, tables);
}

/// The tables of a version may have been others in a build that was never released.
async fn check_other_build(maker: &Maker) {
    let place = maker.of_version(1, "other").await;
    let other = match maker {
        Maker::Files(_) => "UPDATE _sqlx_migrations SET checksum = x'00' RETURNING 'x'",
        Maker::Server(_) => "UPDATE drawloom_migrations SET checksum = '' RETURNING 'x'",
    };
    maker.texts(&place, other).await;
    let tables = maker.tables(&place).await;
    let Err(error) = open(&place).await else {
        panic!("tables of another build are taken for ours");
    };
    assert_eq!(error.kind(), DatabaseErrorKind::Newer, "{error}");
    assert!(error.to_string().contains("another build"), "{error}");
    assert_eq!(maker.tables(&place).await, tables);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_another_build_are_left_alone() {
    check_other_build(&Maker::files()).await;
    check_other_build(&Maker::server().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_make_tables_works_with_those_there_are() {
    let maker = Maker::server().await;
    let (new, old) = (maker.empty("new").await, maker.of_version(1, "old").await);
    drop(open(&new).await.unwrap());
    maker.texts(&new, "CREATE ROLE worker LOGIN").await;
    for place in [&new, &old] {
        let grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO worker";
        maker.texts(place, grant).await;
    }
    let of_worker = |place: &str| place.replace("drawloom@", "worker@");
    let opened = open(&of_worker(&new)).await.unwrap();
    for part in opened.parts() {
        opened.fill(*part).await;
        opened.find(*part).await;
    }
    let Err(error) = open(&of_worker(&old)).await else {
        panic!("somebody without the right to it has made tables");
    };
    assert_eq!(error.kind(), DatabaseErrorKind::Open, "{error}");
    assert!(error.to_string().contains("permission denied"), "{error}");
    // A process that may migrate does not wait for one that could not.
    drop(open(&old).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_every_version_of_sqlite_survive_and_go_on() {
    check_old(&Maker::files()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_every_version_of_postgres_survive_and_go_on() {
    check_old(&Maker::server().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_version_of_sqlite_is_refused_with_a_sentence() {
    check_newer(&Maker::files()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_version_of_postgres_is_refused_with_a_sentence() {
    check_newer(&Maker::server().await).await;
}
