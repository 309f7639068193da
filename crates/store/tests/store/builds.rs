//! One suite over the port of builds: whatever keeps jobs has to keep them like this.

use builder::{
    BuildErrorKind, BuildJob, BuildProgress, ConversationKind, EVENT, JobId, JobStatus, JobStore,
    MemoryJobs, Options,
};

use crate::support::{opened, turn};

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

#[tokio::test]
async fn jobs_are_kept_alike_in_memory_and_in_the_database() {
    let memory = MemoryJobs::default();
    check_jobs(&memory).await;
    check_story(&memory).await;
    check_hold(&memory, &memory.clone()).await;

    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    check_jobs(&store).await;
    check_story(&store).await;
    check_hold(&store, &opened(folder.path()).await).await;
}

#[tokio::test]
async fn what_was_kept_of_a_job_is_there_when_the_database_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = opened(folder.path()).await;
    let job = job(1);
    store.create(&job).await.unwrap();
    let change = job.change(JobStatus::Planning, 5, |_| {}).unwrap();
    store.compare_and_set(&change).await.unwrap();
    store.note(&progress(&job, "One.")).await.unwrap();
    store.close().await.unwrap();

    let store = opened(folder.path()).await;
    assert_eq!(store.get(&job.id).await.unwrap(), *change.job());
    assert_eq!(store.progress(&job.id).await.unwrap().len(), 1);
    assert!(!store.is_build_held(&job.id).await.unwrap());
    let hold = store.hold(&job.id).await.unwrap();
    assert!(store.is_build_held(&job.id).await.unwrap());
    drop(hold);
}

#[tokio::test]
async fn of_two_changes_at_once_one_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [opened(folder.path()).await, opened(folder.path()).await];
    let job = job(1);
    stores[0].create(&job).await.unwrap();
    let changes = [5, 6].map(|at_ms| job.change(JobStatus::Planning, at_ms, |_| {}).unwrap());
    let (one, other) = tokio::join!(
        stores[0].compare_and_set(&changes[0]),
        stores[1].compare_and_set(&changes[1]),
    );
    assert_ne!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
}
