//! One suite over the port of builds: whatever keeps jobs has to keep them like this.

use builder::{
    BuildErrorKind, BuildJob, BuildProgress, ConversationKind, EVENT, JobFile, JobId, JobStatus,
    JobStore, MemoryJobs, Options,
};

use sqlx::Connection as _;
use store::{StreamContent, StreamFilter, StreamPosition};

use crate::cluster::{Cluster, Flush};
use crate::place::{Database, Place, on_both};
use crate::support::turn;

fn job(number: u64) -> BuildJob {
    let id = JobId::new(number, number);
    BuildJob::new(id, "say something better", Options::default(), number).unwrap()
}

fn progress(job: &BuildJob, message: &str) -> BuildProgress {
    BuildProgress {
        event: EVENT.to_owned(),
        job_id: job.id.clone(),
        status: job.status(),
        message: message.to_owned(),
        detail: Some("a.txt".to_owned()),
        at_ms: 7,
    }
}

/// Jobs are stored, listed, and changed only by a caller that knows their present revision.
async fn check_jobs(jobs: &dyn JobStore) {
    let (first, second) = (job(1), job(2));
    for job in [&first, &second] {
        assert_eq!(
            jobs.get(&job.id).await.unwrap_err().kind(),
            BuildErrorKind::NotFound
        );
        jobs.create(job).await.unwrap();
        assert_eq!(jobs.get(&job.id).await.unwrap(), *job);
        assert_eq!(
            jobs.create(job).await.unwrap_err().kind(),
            BuildErrorKind::Conflict
        );
    }
    let change = first.change(JobStatus::Planning, 5, |_| {}).unwrap();
    jobs.compare_and_set(&change).await.unwrap();
    let late = jobs.compare_and_set(&change).await.unwrap_err();
    assert_eq!(late.kind(), BuildErrorKind::Conflict);
    assert!(late.to_string().contains("`planning` now"), "{late}");
    assert_eq!(jobs.get(&first.id).await.unwrap(), *change.job());
    let nobodys = job(3).change(JobStatus::Planning, 5, |_| {}).unwrap();
    let error = jobs.compare_and_set(&nobodys).await.unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::NotFound);

    let listed = async |status, after, count| {
        let listed = jobs.list(status, after, count).await.unwrap();
        listed.into_iter().map(|job| job.id).collect::<Vec<_>>()
    };
    let (one, two) = (&first.id, &second.id);
    for (status, after, count, expected) in [
        (None, None, 9, vec![two, one]),
        (None, None, 1, vec![two]),
        (None, Some(two.clone()), usize::MAX, vec![one]),
        (Some(JobStatus::Planning), None, 9, vec![one]),
        (Some(JobStatus::Failed), None, 9, Vec::new()),
    ] {
        let listed = listed(status, after, count).await;
        assert_eq!(listed.iter().collect::<Vec<_>>(), expected);
    }
}

/// Events and conversations belong to their job.
async fn check_story(jobs: &dyn JobStore) {
    let (first, second) = (job(11), job(12));
    for job in [&first, &second] {
        jobs.create(job).await.unwrap();
        let told = [progress(job, "One."), progress(job, "Two.")];
        for one in &told {
            jobs.note(one).await.unwrap();
        }
        assert_eq!(jobs.progress(&job.id).await.unwrap(), told);
    }
    let mut plan = jobs
        .conversation(&first.id, ConversationKind::Plan)
        .await
        .unwrap();
    plan.commit(&turn(1)).await.unwrap();
    drop(plan);
    for (id, talk, turns) in [
        (&first.id, ConversationKind::Plan, 1),
        (&first.id, ConversationKind::Build, 0),
        (&second.id, ConversationKind::Plan, 0),
    ] {
        let mut journal = jobs.conversation(id, talk).await.unwrap();
        assert_eq!(journal.load().await.unwrap().turns.len(), turns, "{talk:?}");
    }
}

/// A job is worked on by one at a time.
async fn check_hold(jobs: &dyn JobStore, others: &dyn JobStore) {
    let job = job(21);
    jobs.create(&job).await.unwrap();
    let hold = jobs.hold(&job.id).await.unwrap();
    let error = others.hold(&job.id).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Held);
    // Deciding about it is possible all the same.
    let change = job.change(JobStatus::Cancelled, 5, |_| {}).unwrap();
    others.compare_and_set(&change).await.unwrap();
    drop(hold);
    others.hold(&job.id).await.unwrap();
}

on_both!(
    jobs_are_kept_like_this,
    what_was_kept_of_a_job_is_there_when_the_database_is_opened_again,
    of_two_changes_at_once_one_is_kept,
    every_change_is_in_the_stream,
);

#[tokio::test]
async fn jobs_are_kept_in_memory_as_in_a_database() {
    let memory = MemoryJobs::default();
    check_jobs(&memory).await;
    check_story(&memory).await;
    check_files(&memory).await;
    check_hold(&memory, &memory.clone()).await;
}

async fn jobs_are_kept_like_this(place: &Place) {
    let store = place.open().await;
    check_jobs(&*store).await;
    check_story(&*store).await;
    check_files(&*store).await;
    check_hold(&*store, &*place.open().await).await;
}

/// Files of a job are replaced one by one, and removed together.
async fn check_files(jobs: &dyn JobStore) {
    let (first, second) = (job(31), job(32));
    let file = |path: &str, content: Option<&[u8]>| JobFile {
        path: path.to_owned(),
        content: content.map(<[u8]>::to_vec),
        is_executable: content.is_some(),
    };
    for job in [&first, &second] {
        jobs.create(job).await.unwrap();
        let files = [file("a", Some(b"\0\xff")), file("b", None)];
        jobs.keep_files(&job.id, &files).await.unwrap();
        let later = [file("b", Some(b""))];
        jobs.keep_files(&job.id, &later).await.unwrap();
        let expected = [file("a", Some(b"\0\xff")), file("b", Some(b""))];
        assert_eq!(jobs.files(&job.id).await.unwrap(), expected);
    }
    jobs.forget_files(&first.id).await.unwrap();
    jobs.forget_files(&first.id).await.unwrap();
    assert_eq!(jobs.files(&first.id).await.unwrap(), []);
    assert_eq!(jobs.files(&second.id).await.unwrap().len(), 2);
    // A cancelled job's work is still to be saved, a rejected one's is not.
    for (job, to, left) in [
        (&second, JobStatus::Cancelled, 2),
        (&first, JobStatus::Rejected, 0),
    ] {
        jobs.keep_files(&job.id, &[file("a", None), file("b", None)])
            .await
            .unwrap();
        let mut now = jobs.get(&job.id).await.unwrap();
        if to == JobStatus::Rejected {
            for step in [JobStatus::Planning, JobStatus::PlanReady] {
                let change = now.change(step, 5, |_| {}).unwrap();
                jobs.compare_and_set(&change).await.unwrap();
                now = change.into_job();
            }
        }
        let change = now.change(to, 6, |_| {}).unwrap();
        jobs.compare_and_set(&change).await.unwrap();
        assert_eq!(jobs.files(&job.id).await.unwrap().len(), left, "{to}");
    }
}

async fn every_change_is_in_the_stream(place: &Place) {
    let store = place.open().await;
    let job = job(1);
    store.create(&job).await.unwrap();
    let change = job.change(JobStatus::Planning, 5, |_| {}).unwrap();
    store.compare_and_set(&change).await.unwrap();
    assert!(store.compare_and_set(&change).await.is_err());
    // A zero is no jsonb, and must not be lost either.
    store.note(&progress(&job, "One \0.")).await.unwrap();
    assert_eq!(
        told(&*store, &job.id).await,
        ["added queued", "edited planning", "progress One \0."]
    );
}

/// The changes of a build in the order of the stream.
async fn told(store: &dyn Database, id: &JobId) -> Vec<String> {
    let filter = StreamFilter {
        build: Some(id.to_string()),
        ..StreamFilter::default()
    };
    let page = store.events_after(StreamPosition::START, &filter, 100);
    let events = page.await.unwrap().events.into_iter();
    let told = events.map(|event| match event.content {
        StreamContent::Changed { about, .. } => {
            let word = about["status"].as_str();
            let word = word.or_else(|| about["progress"]["message"].as_str());
            format!("{} {}", about["change"].as_str().unwrap(), word.unwrap())
        }
        other => panic!("{other:?}"),
    });
    told.collect()
}

/// A transaction that began first and ends last: its event comes last, and only then is it told.
#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_build_come_in_the_order_in_which_they_were_committed() {
    let cluster = Cluster::start(Flush::No).await;
    let place = Place::server(&cluster, "order").await;
    let store = place.open().await;
    let job = job(1);
    store.create(&job).await.unwrap();
    let mut early = cluster.connect("order").await.unwrap();
    for sql in ["BEGIN", "SELECT pg_current_xact_id()"] {
        sqlx::query(sql).execute(&mut early).await.unwrap();
    }
    store.note(&progress(&job, "Two.")).await.unwrap();
    assert_eq!(told(&*store, &job.id).await, ["added queued"]);
    let body = serde_json::to_string(&progress(&job, "One.")).unwrap();
    sqlx::query("INSERT INTO build_progress (build, body) VALUES ($1, $2)")
        .bind(job.id.as_str())
        .bind(body)
        .execute(&mut early)
        .await
        .unwrap();
    sqlx::query("COMMIT").execute(&mut early).await.unwrap();
    early.close().await.unwrap();
    assert_eq!(
        told(&*store, &job.id).await,
        ["added queued", "progress Two.", "progress One."]
    );
}

async fn what_was_kept_of_a_job_is_there_when_the_database_is_opened_again(place: &Place) {
    let store = place.open().await;
    let job = job(1);
    store.create(&job).await.unwrap();
    let change = job.change(JobStatus::Planning, 5, |_| {}).unwrap();
    store.compare_and_set(&change).await.unwrap();
    store.note(&progress(&job, "One.")).await.unwrap();
    drop(store);

    let store = place.open().await;
    assert_eq!(store.get(&job.id).await.unwrap(), *change.job());
    assert_eq!(store.progress(&job.id).await.unwrap().len(), 1);
    assert!(!store.is_build_held(&job.id).await.unwrap());
    let hold = store.hold(&job.id).await.unwrap();
    assert!(store.is_build_held(&job.id).await.unwrap());
    drop(hold);
}

async fn of_two_changes_at_once_one_is_kept(place: &Place) {
    let stores = [place.open().await, place.open().await];
    let job = job(1);
    stores[0].create(&job).await.unwrap();
    let changes = [5, 6].map(|at_ms| job.change(JobStatus::Planning, at_ms, |_| {}).unwrap());
    let (one, other) = tokio::join!(
        stores[0].compare_and_set(&changes[0]),
        stores[1].compare_and_set(&changes[1]),
    );
    assert_ne!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
}
