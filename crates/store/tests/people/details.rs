//! Details and comments of tasks: edited one after the other, found by tag and parent, gone with the run.

use flow::TaskId;
use flow::engine::{EngineCommand, RunStart};
use serde_json::json;
use store::{DatabaseErrorKind, TaskDetails, TaskUrgency};

use crate::place::{Place, on_both};

on_both!(
    details_are_kept_and_edited_by_revision,
    tasks_are_found_by_tag_and_parent,
    comments_belong_to_their_task_and_author,
    details_and_comments_leave_with_their_run,
    what_cannot_be_kept_is_refused,
);

fn task(name: &str) -> TaskId {
    name.parse().unwrap()
}

fn details(name: &str) -> TaskDetails {
    TaskDetails {
        title: format!("The task {name}"),
        tags: vec!["docs".to_owned(), "ä b".to_owned()],
        ..TaskDetails::of(&task(name))
    }
}

async fn details_are_kept_and_edited_by_revision(place: &Place) {
    let store = place.open().await;
    let whole = TaskDetails {
        summary: "Two\nlines, sk-secret-1".to_owned(),
        extra_prompt: "Be brief.".to_owned(),
        additional_info: json!({ "url": "https://x.org", "n": [1, null] }),
        urgency: TaskUrgency::Critical,
        due_ms: Some(1_900_000_000_000),
        parent: Some(task("r0/A[2]/B~3")),
        created_by: "ada".to_owned(),
        ..details("r1/A")
    };
    let kept = store.keep_details(&whole).await.unwrap();
    assert_eq!(kept.revision, 1);
    assert_eq!(kept.summary, "Two\nlines, [key removed]");
    let expected = TaskDetails {
        summary: kept.summary.clone(),
        revision: 1,
        created_ms: kept.created_ms,
        updated_ms: kept.updated_ms,
        ..whole.clone()
    };
    assert_eq!(kept, expected);
    let again = store.keep_details(&whole).await.unwrap_err();
    assert_eq!(again.kind(), DatabaseErrorKind::Conflict, "{again}");
    let edit = TaskDetails {
        tags: vec!["later".to_owned()],
        due_ms: None,
        ..kept.clone()
    };
    let edited = store.keep_details(&edit).await.unwrap();
    assert_eq!((edited.revision, edited.due_ms), (2, None));
    let stale = store.keep_details(&edit).await.unwrap_err();
    assert_eq!(stale.kind(), DatabaseErrorKind::Conflict, "{stale}");
    assert_eq!(store.details(&task("r1/A")).await.unwrap(), Some(edited));
    assert!(
        store
            .details_with_tag("docs", None, 9)
            .await
            .unwrap()
            .is_empty()
    );
    let missing = TaskDetails {
        revision: 4,
        ..details("r1/B")
    };
    let missing = store.keep_details(&missing).await.unwrap_err();
    assert_eq!(missing.kind(), DatabaseErrorKind::Missing, "{missing}");
}

async fn tasks_are_found_by_tag_and_parent(place: &Place) {
    let store = place.open().await;
    for name in ["r1/A", "r2/A", "r2/B"] {
        let child = TaskDetails {
            parent: Some(task("r0/P")),
            ..details(name)
        };
        store.keep_details(&child).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    let names = |found: Vec<TaskDetails>| -> Vec<String> {
        found.iter().map(|one| one.task.to_string()).collect()
    };
    let tagged = names(store.details_with_tag("ä b", None, 2).await.unwrap());
    assert_eq!(tagged, ["r1/A", "r2/A"]);
    let next = store
        .details_with_tag("ä b", Some(&task("r2/A")), 2)
        .await
        .unwrap();
    assert_eq!(names(next), ["r2/B"]);
    let children = store.children(&task("r0/P"), 9).await.unwrap();
    assert_eq!(names(children), ["r1/A", "r2/A", "r2/B"]);
    let of_run = store.details_of_run(&"r2".into(), 9).await.unwrap();
    assert_eq!(names(of_run), ["r2/A", "r2/B"]);
}

async fn comments_belong_to_their_task_and_author(place: &Place) {
    let store = place.open().await;
    let a = task("r1/A");
    let first = store
        .add_comment(&a, "ada", "One sk-secret-1")
        .await
        .unwrap();
    assert_eq!(first.body, "One [key removed]");
    let second = store.add_comment(&a, "bob", "Two").await.unwrap();
    store
        .add_comment(&task("r1/B"), "ada", "Other")
        .await
        .unwrap();
    assert_eq!(
        store.comments(&a, None, 9).await.unwrap(),
        [first.clone(), second.clone()]
    );
    assert_eq!(
        store.comments(&a, Some(first.id), 9).await.unwrap(),
        std::slice::from_ref(&second)
    );
    let other = store
        .edit_comment(second.id, "ada", "Mine")
        .await
        .unwrap_err();
    assert_eq!(other.kind(), DatabaseErrorKind::Missing, "{other}");
    let edited = store.edit_comment(second.id, "bob", "Three").await.unwrap();
    assert!(edited.edited_ms.is_some());
    store.remove_comment(first.id).await.unwrap();
    assert_eq!(
        store.remove_comment(first.id).await.unwrap_err().kind(),
        DatabaseErrorKind::Missing
    );
    assert_eq!(store.comments(&a, None, 9).await.unwrap(), [edited]);
}

async fn details_and_comments_leave_with_their_run(place: &Place) {
    let store = place.open().await;
    let workflows = place.workflows().await;
    let hash = workflows
        .keep_workflow("graph TD\n    A[Work]\n")
        .await
        .unwrap();
    for run in ["r1", "r2"] {
        let start = RunStart::new(run, json!({}));
        workflows.start(&hash, start).await.unwrap().unwrap();
        let name = format!("{run}/A");
        store.keep_details(&details(&name)).await.unwrap();
        store.add_comment(&task(&name), "ada", "x").await.unwrap();
    }
    let cancel = EngineCommand::Cancel {
        run: "r1".into(),
        reason: "no".to_owned(),
    };
    workflows.execute(cancel).await.unwrap().unwrap();
    workflows.delete_runs(&["r1".into()]).await.unwrap();
    assert_eq!(store.details(&task("r1/A")).await.unwrap(), None);
    assert!(
        store
            .comments(&task("r1/A"), None, 9)
            .await
            .unwrap()
            .is_empty()
    );
    let tagged = store.details_with_tag("docs", None, 9).await.unwrap();
    assert_eq!(tagged.len(), 1);
    assert_eq!(tagged[0].task, task("r2/A"));
    assert_eq!(
        store.comments(&task("r2/A"), None, 9).await.unwrap().len(),
        1
    );
}

async fn what_cannot_be_kept_is_refused(place: &Place) {
    let store = place.open().await;
    let good = details("r1/A");
    for wrong in [
        TaskDetails {
            title: "x".repeat(301),
            ..good.clone()
        },
        TaskDetails {
            title: "a\nb".to_owned(),
            ..good.clone()
        },
        TaskDetails {
            summary: "a\0".to_owned(),
            ..good.clone()
        },
        TaskDetails {
            tags: vec![String::new()],
            ..good.clone()
        },
        TaskDetails {
            tags: vec!["x".to_owned(); 51],
            ..good.clone()
        },
        TaskDetails {
            parent: Some(good.task.clone()),
            ..good.clone()
        },
        TaskDetails {
            extra_prompt: "x".repeat(300 << 10),
            ..good.clone()
        },
    ] {
        let refused = store.keep_details(&wrong).await.unwrap_err();
        assert_eq!(refused.kind(), DatabaseErrorKind::Invalid, "{refused}");
    }
    for body in ["", " \n", "a\0b"] {
        let refused = store
            .add_comment(&good.task, "ada", body)
            .await
            .unwrap_err();
        assert_eq!(refused.kind(), DatabaseErrorKind::Invalid, "{refused}");
    }
    assert!("soon".parse::<TaskUrgency>().is_err());
}
