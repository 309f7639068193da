//! The read side: the inbox, pages of tasks, parts of a run, costs and full-text search.

use flow::engine::{
    AttemptReport, EngineCommand, RunStart, SpentAmount, StepAddress as RunPlace, TaskAnswer,
};
use flow::{ClaimRequest, ItemPath, RunId, TaskId, TaskSelection, WorkflowStore};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use store::{CostDays, CostKind, InboxOwners, NewVersion, SearchQuery, TaskCursor, TaskDetails};
use store::{DocumentKind, TaskEntry, TaskFilter, VersionOrigin};

use crate::cluster::{Cluster, Flush};
use crate::place::{Database, Place, now_ms, on_both};

on_both!(
    an_inbox_has_the_tasks_of_its_owners,
    a_page_of_tasks_goes_on_behind_its_cursor,
    parts_of_a_run_are_found_by_name,
    costs_are_added_up_in_the_transaction_that_ends_an_attempt,
    words_are_found_wherever_people_wrote_them,
    a_search_takes_in_runs_that_are_new,
    texts_leave_with_their_run_and_costs_stay,
);

const ASK: &str = "graph TD\n    A(Look)\n";
const WORK: &str = "graph TD\n    A[Work]\n";
const EACH: &str = "graph TD
    F[[Each: Do]] --> J[Join all]
%% === WORKFLOW_CONFIG ===
%% @F: { \"stepType\": \"foreach\", \"itemsPath\": \"input.files\", \"itemVariable\": \"file\", \"prompt\": \"Do {{file}}.\" }
%% @J: { \"stepType\": \"join\" }
%% === END_CONFIG ===
";

fn task(name: &str) -> TaskId {
    name.parse().unwrap()
}

async fn begin(store: &dyn WorkflowStore, source: &str, start: RunStart) {
    let hash = store.keep_workflow(source).await.unwrap();
    store.start(&hash, start).await.unwrap().unwrap();
}

async fn ask(store: &dyn WorkflowStore, run: &str, assignee: Option<&str>) {
    let start = RunStart {
        assignee: assignee.map(str::to_owned),
        name: Some("ask".to_owned()),
        ..RunStart::new(run, json!({}))
    };
    begin(store, ASK, start).await;
}

fn names(entries: &[TaskEntry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| entry.task.id.to_string())
        .collect()
}

fn of(assignees: &[&str], is_unassigned: bool) -> InboxOwners {
    InboxOwners::Of {
        assignees: assignees.iter().map(|name| (*name).to_owned()).collect(),
        is_unassigned,
    }
}

async fn check_inbox(database: &dyn Database, owners: InboxOwners, expected: &[&str]) {
    let listed = database.inbox(&owners, None, 9).await.unwrap();
    assert_eq!(names(&listed), expected, "{owners:?}");
    let counted = database.count_inbox(&owners, 9).await.unwrap();
    assert_eq!(counted, expected.len(), "{owners:?}");
}

async fn an_inbox_has_the_tasks_of_its_owners(place: &Place) {
    let store = place.workflows().await;
    for (run, assignee) in [
        ("r1", Some("ann")),
        ("r2", None),
        ("r3", Some("bob")),
        ("r4", Some("ann")),
        ("r5", Some("bot")),
    ] {
        ask(&*store, run, assignee).await;
    }
    // Neither work for a worker nor answered tasks are in an inbox.
    begin(&*store, WORK, RunStart::new("r6", json!({}))).await;
    let answer = EngineCommand::Answer {
        task: task("r4/A"),
        by: "ann".to_owned(),
        answer: TaskAnswer::Done { output: json!(1) },
    };
    store.execute(answer).await.unwrap().unwrap();
    let database = place.open().await;
    check_inbox(&*database, of(&["ann"], false), &["r1/A"]).await;
    check_inbox(
        &*database,
        of(&["ann", "bot"], true),
        &["r1/A", "r2/A", "r5/A"],
    )
    .await;
    check_inbox(&*database, of(&[], true), &["r2/A"]).await;
    check_inbox(&*database, of(&["eve"], false), &[]).await;
    let all = ["r1/A", "r2/A", "r3/A", "r5/A"];
    check_inbox(&*database, InboxOwners::Everybody, &all).await;
    let first = database.inbox(&of(&["ann", "bob"], true), None, 2).await;
    let first = first.unwrap();
    assert_eq!(names(&first), ["r1/A", "r2/A"]);
    let after = Some(&first[1].cursor);
    let rest = database.inbox(&of(&["ann", "bob"], true), after, 2).await;
    assert_eq!(names(&rest.unwrap()), ["r3/A"]);
}

async fn a_page_of_tasks_goes_on_behind_its_cursor(place: &Place) {
    let store = place.workflows().await;
    for number in 0..5 {
        ask(&*store, &format!("r{number}"), None).await;
    }
    let files = json!({ "files": [1, 2, 3] });
    begin(&*store, EACH, RunStart::new("each", files)).await;
    let cancel = EngineCommand::Cancel {
        run: RunId::new("r3"),
        reason: "no".to_owned(),
    };
    store.execute(cancel).await.unwrap().unwrap();
    let database = place.open().await;
    let of_each = store
        .tasks(Some(&RunId::new("each")), TaskSelection::All, 99)
        .await;
    let of_each = of_each.unwrap().len();
    let all = TaskFilter::default();
    for (filter, count) in [
        (all.clone(), 4 + of_each),
        (
            TaskFilter {
                has_ended: true,
                ..all.clone()
            },
            5 + of_each,
        ),
        (
            TaskFilter {
                run: Some(RunId::new("each")),
                has_ended: true,
                ..all.clone()
            },
            of_each,
        ),
        (
            TaskFilter {
                is_waiting: true,
                ..all.clone()
            },
            4,
        ),
        (
            TaskFilter {
                has_ended: true,
                status: Some(flow::engine::TaskStatus::Cancelled),
                ..all
            },
            1,
        ),
    ] {
        let whole = database.tasks_after(&filter, None, 99).await.unwrap();
        assert_eq!(whole.len(), count, "{filter:?}: {:?}", names(&whole));
        let mut paged: Vec<TaskEntry> = Vec::new();
        loop {
            // As a door hands it out and takes it back.
            let after = paged.last().map(|entry| entry.cursor.to_string());
            let after = after.map(|text| text.parse::<TaskCursor>().unwrap());
            let page = database.tasks_after(&filter, after.as_ref(), 2).await;
            let page = page.unwrap();
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(names(&paged), names(&whole), "{filter:?}");
    }
    assert!("7".parse::<TaskCursor>().is_err());
}

async fn parts_of_a_run_are_found_by_name(place: &Place) {
    let store = place.workflows().await;
    let files = json!({ "files": ["a", "b", "c"] });
    begin(&*store, EACH, RunStart::new("each", files)).await;
    ask(&*store, "other", None).await;
    let database = place.open().await;
    let foreach = task("each/F");
    let spot = |path: &ItemPath, step: &str| RunPlace {
        run: RunId::new("each"),
        path: path.clone(),
        step: step.into(),
    };
    let inside = foreach.path.item(&foreach, 1);
    let tasks = store
        .tasks(Some(&foreach.run), TaskSelection::All, 99)
        .await
        .unwrap();
    let of_item = tasks.iter().find(|row| row.id.path == inside).unwrap();
    let places = [
        spot(&ItemPath::default(), "F"),
        of_item.id.place(),
        spot(&inside, "X"),
    ];
    let visits = database.newest_visits(&places).await.unwrap();
    let visits: Vec<String> = visits.iter().map(|row| row.id.to_string()).collect();
    assert_eq!(visits, ["each/F".to_owned(), of_item.id.to_string()]);
    let groups = database.groups(&[foreach.clone(), task("each/X")]).await;
    let groups = groups.unwrap();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].total, 3);
    let items = database.items(&foreach, Some(0), 1).await.unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!((items[0].index, &items[0].value), (1, &json!("b")));
    let ids = [RunId::new("other"), RunId::new("none"), RunId::new("each")];
    let mut runs = database.runs_of(&ids).await.unwrap();
    runs.sort_by_key(|run| run.id.to_string());
    let runs: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(runs, ["each", "other"]);
}

/// An attempt that ends and was paid for.
async fn pay(store: &dyn WorkflowStore, run: &str, (tokens, micros): (u64, u64)) {
    let claim = ClaimRequest {
        worker: "w".to_owned(),
        max: 1,
        lease_ms: 60_000,
        assignees: Vec::new(),
        runs: vec![RunId::new(run)],
        rates: Vec::new(),
    };
    let claimed = store.claim(claim).await.unwrap().remove(0);
    let report = EngineCommand::Report {
        task: claimed.task.id,
        fence: claimed.task.fence,
        report: AttemptReport {
            spent: SpentAmount { tokens, micros },
            ..AttemptReport::completed(json!(1))
        },
    };
    store.execute(report).await.unwrap().unwrap();
}

async fn costs_are_added_up_in_the_transaction_that_ends_an_attempt(place: &Place) {
    let store = place.workflows().await;
    for (run, name, assignee) in [
        ("r1", "one", Some("bot")),
        ("r2", "one", None),
        ("r3", "two", Some("bot")),
    ] {
        let start = RunStart {
            name: Some(name.to_owned()),
            assignee: assignee.map(str::to_owned),
            ..RunStart::new(run, json!({}))
        };
        begin(&*store, WORK, start).await;
    }
    pay(&*store, "r1", (10, 500)).await;
    pay(&*store, "r2", (20, 100)).await;
    pay(&*store, "r3", (30, 2_000)).await;
    let database = place.open().await;
    let today = now_ms() / 86_400_000;
    let days = CostDays {
        first: today - 1,
        last: today,
    };
    for (kind, expected) in [
        (CostKind::Day, vec![("", 3, 60, 2_600)]),
        (
            CostKind::Run,
            vec![("r3", 1, 30, 2_000), ("r1", 1, 10, 500), ("r2", 1, 20, 100)],
        ),
        (
            CostKind::Workflow,
            vec![("two", 1, 30, 2_000), ("one", 2, 30, 600)],
        ),
        (
            CostKind::Step,
            vec![("two/A", 1, 30, 2_000), ("one/A", 2, 30, 600)],
        ),
        (CostKind::Model, vec![("other", 3, 60, 2_600)]),
        (
            CostKind::Person,
            vec![("bot", 2, 40, 2_500), ("nobody", 1, 20, 100)],
        ),
    ] {
        let sums = database.cost_sums(kind, days, 9).await.unwrap();
        let sums = sums
            .iter()
            .map(|sum| (sum.name.as_str(), sum.attempts, sum.tokens, sum.micros));
        assert_eq!(sums.collect::<Vec<_>>(), expected, "{kind:?}");
    }
    let total = database.cost_total(days).await.unwrap();
    assert_eq!((total.attempts, total.micros), (3, 2_600));
    let first = database.cost_sums(CostKind::Run, days, 1).await.unwrap();
    let rest = database.run_costs_after(days, &first[0], 9).await.unwrap();
    assert_eq!(rest.len(), 2);
    let before = CostDays {
        first: 0,
        last: today - 2,
    };
    assert_eq!(database.cost_total(before).await.unwrap().attempts, 0);
}

/// The documents that a search finds, by their names.
async fn check_search(database: &dyn Database, text: &str, expected: &[&str]) {
    let query = SearchQuery {
        text: text.to_owned(),
        ..SearchQuery::default()
    };
    let page = database.search(&query, 9).await.unwrap();
    let mut found: Vec<&str> = page.hits.iter().map(|hit| hit.name.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{text}");
}

async fn words_are_found_wherever_people_wrote_them(place: &Place) {
    let store = place.workflows().await;
    let database = place.open().await;
    ask(&*store, "r1", None).await;
    let details = TaskDetails {
        title: "Umbau der Straße".to_owned(),
        summary: "Look at src/main.rs and sk-secret-1".to_owned(),
        tags: vec!["urgent".to_owned()],
        ..TaskDetails::of(&task("r1/A"))
    };
    let kept = database.keep_details(&details).await.unwrap();
    let of = task("r1/A");
    let comment = database.add_comment(&of, "ann", "Please use a lighthouse.");
    let comment = comment.await.unwrap();
    let said = json!({
        "status": "SUCCESS", "summary": "The harbour is closed.", "output": 1,
        "next_action": "COMPLETE",
    });
    let answer = EngineCommand::Answer {
        task: task("r1/A"),
        by: "ann".to_owned(),
        answer: TaskAnswer::Done { output: said },
    };
    store.execute(answer).await.unwrap().unwrap();
    let version = NewVersion {
        name: "release".to_owned(),
        expected: 0,
        source: "graph TD\n    A[Publish the pumpkin]\n".to_owned(),
        author: "ann".to_owned(),
        message: String::new(),
        origin: VersionOrigin::Saved,
    };
    database.save_version(&version).await.unwrap();
    let number = comment.id.to_string();
    for (text, expected) in [
        ("umbau STRASSE", vec![]),
        ("UMBAU straße", vec!["r1/A"]),
        ("main.rs", vec!["r1/A"]),
        ("urg", vec!["r1/A"]),
        ("light", vec![number.as_str()]),
        ("pumpkin", vec!["release"]),
        ("pumpkin lighthouse", vec![]),
        ("secret", vec![]),
        ("' \" * ( : & !", vec![]),
        ("", vec![]),
    ] {
        check_search(&*database, text, &expected).await;
    }
    let harbour = SearchQuery {
        text: "harbour".to_owned(),
        kinds: vec![DocumentKind::Reply, DocumentKind::Run],
        after: None,
    };
    let found = database.search(&harbour, 9).await.unwrap().hits;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].task, Some(task("r1/A")));
    assert!(found[0].excerpt.contains("harbour"), "{}", found[0].excerpt);
    let edit = TaskDetails {
        title: "Neubau".to_owned(),
        ..kept
    };
    database.keep_details(&edit).await.unwrap();
    check_search(&*database, "umbau", &[]).await;
    check_search(&*database, "neubau", &["r1/A"]).await;
    database.remove_comment(comment.id).await.unwrap();
    check_search(&*database, "lighthouse", &[]).await;
    database.remove_workflow("release", 1).await.unwrap();
    check_search(&*database, "pumpkin", &[]).await;
}

async fn a_search_takes_in_runs_that_are_new(place: &Place) {
    let store = place.workflows().await;
    let database = place.open().await;
    let start = |id: &str, city: &str| RunStart {
        name: Some("Deliver".to_owned()),
        tags: vec!["night shift".to_owned()],
        ..RunStart::new(id, json!({ "city": city }))
    };
    begin(&*store, WORK, start("r1", "Lisbon")).await;
    check_search(&*database, "lisbon", &["r1"]).await;
    begin(&*store, WORK, start("r2", "Porto")).await;
    check_search(&*database, "deliver shift", &["r1", "r2"]).await;
    check_search(&*database, "porto", &["r2"]).await;
    let query = SearchQuery {
        text: "deliver".to_owned(),
        ..SearchQuery::default()
    };
    let first = database.search(&query, 1).await.unwrap().hits;
    assert_eq!(first[0].name, "r2", "the newest comes first");
    let next = SearchQuery {
        after: Some(first[0].number),
        ..query
    };
    let next = database.search(&next, 9).await.unwrap().hits;
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].name, "r1");
}

async fn texts_leave_with_their_run_and_costs_stay(place: &Place) {
    let store = place.workflows().await;
    let database = place.open().await;
    begin(
        &*store,
        WORK,
        RunStart::new("gone", json!({ "word": "zebra" })),
    )
    .await;
    pay(&*store, "gone", (1, 7)).await;
    check_search(&*database, "zebra", &["gone"]).await;
    store.delete_runs(&[RunId::new("gone")]).await.unwrap();
    check_search(&*database, "zebra", &[]).await;
    let today = now_ms() / 86_400_000;
    let days = CostDays {
        first: today - 1,
        last: today,
    };
    assert_eq!(database.cost_total(days).await.unwrap().micros, 7);
}

/// With many rows and figures about them, no question reads a table from begin to end.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_answers_from_indexes() {
    let cluster = Cluster::start(Flush::No).await;
    let place = Place::server(&cluster, "plans").await;
    let store = place.workflows().await;
    let database = place.open().await;
    begin(
        &*store,
        WORK,
        RunStart::new("r", json!({ "word": "first" })),
    )
    .await;
    pay(&*store, "r", (1, 1)).await;
    ask(&*store, "asks", Some("ann")).await;
    let mut connection: PgConnection = cluster.connect("plans").await.unwrap();
    for sql in [
        "INSERT INTO workflow_runs (id, workflow, status, created_ms, body) \
         SELECT 'x' || n, workflow, status, n, replace(body, '\"r\"', '\"x' || n || '\"') \
         FROM workflow_runs, generate_series(1, 20000) AS n WHERE id = 'r'",
        "INSERT INTO workflow_tasks (id, run, path, place, visit, status, fence, is_active, body) \
         SELECT 'x' || n || '/A', 'x' || n, path, 'x' || n || '/A', visit, status, fence, \
         is_active, body FROM workflow_tasks, generate_series(1, 20000) AS n WHERE run = 'r'",
        "INSERT INTO cost_sums SELECT 'run', n / 100, 'x' || n, 1, 1, n \
         FROM generate_series(1, 20000) AS n",
        "INSERT INTO search_documents (kind, name, run, title, body, words, at_ms) \
         SELECT 'run', 'x' || n, 'x' || n, 't', 'b', 'drawloomkindrun word' || n, n \
         FROM generate_series(1, 20000) AS n",
        "VACUUM ANALYZE",
    ] {
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    }
    let count = "SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_user_tables \
         WHERE relname IN ('workflow_runs', 'workflow_tasks', 'cost_sums', 'search_documents')";
    let read = async |connection: &mut PgConnection| -> i64 {
        // PostgreSQL reports the reads of other connections when they are idle.
        tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
        let clear = sqlx::query("SELECT pg_stat_clear_snapshot()");
        clear.execute(&mut *connection).await.unwrap();
        let counted = sqlx::query_scalar(count).fetch_one(connection);
        counted.await.unwrap()
    };
    let before = read(&mut connection).await;
    let today = now_ms() / 86_400_000;
    let days = CostDays {
        first: today - 30,
        last: today,
    };
    for kind in CostKind::ALL {
        database.cost_sums(kind, days, 20).await.unwrap();
    }
    for owners in [InboxOwners::Everybody, of(&["ann"], true)] {
        let listed = database.inbox(&owners, None, 20).await.unwrap();
        assert_eq!(names(&listed), ["asks/A"]);
    }
    for filter in [
        TaskFilter::default(),
        TaskFilter {
            run: Some(RunId::new("x77")),
            has_ended: true,
            ..TaskFilter::default()
        },
    ] {
        assert_eq!(
            database.tasks_after(&filter, None, 20).await.unwrap().len(),
            1
        );
    }
    database.runs_of(&[RunId::new("x5")]).await.unwrap();
    check_search(&*database, "word19999", &["x19999"]).await;
    let after = read(&mut connection).await;
    connection.close().await.unwrap();
    assert!(after - before < 2_000, "{} rows were read", after - before);
}
