//! From a sentence to a plan that can be carried out, or to a failure that says why not.

use builder::{FailureCode, JobStatus, Options, TaskType, decide};
use serde_json::json;

use crate::scripted::{ServerAct, says};
use crate::test_builder::{PROMPT, TestBuilder, plan, planned};

#[tokio::test]
async fn the_planner_sees_the_request_and_the_index() {
    let files = [(
        "src/user.ts",
        "export class User {}\nexport const limit = 1;\n",
    )];
    let mut shop = TestBuilder::new(
        &files,
        vec![planned("new-resource", &[("a.txt", "create")])],
    );
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), JobStatus::PlanReady);
    let sent = shop.server.sent(0).join("\n");
    assert!(sent.contains(PROMPT), "{sent}");
    assert!(
        sent.contains("src/user.ts | User, limit | 2 lines"),
        "{sent}"
    );
    let system = shop.server.bodies()[0]["system"].to_string();
    assert!(system.contains("schema-migration"), "{system}");
    assert_eq!(job.result.token_usage.input, 100);
    assert_eq!(shop.worktrees(), 0);
    let progress: Vec<_> = shop
        .recorder
        .progress
        .iter()
        .map(|one| one.event.as_str())
        .collect();
    assert!(progress.iter().all(|event| *event == "builder.progress"));
    assert!(progress.len() >= 3, "{progress:?}");
}

#[tokio::test]
async fn the_users_task_type_wins() {
    let mut shop = TestBuilder::new(&[], vec![planned("refactor", &[("a.txt", "create")])]);
    let options = Options {
        task_type: Some(TaskType::NewResource),
        ..Options::default()
    };
    let job = shop.plan(options).await;
    assert_eq!(job.plan.unwrap().task_type, TaskType::NewResource);
    assert!(shop.told(0).contains("The task type is `new-resource`."));
}

#[tokio::test]
async fn a_plan_with_problems_goes_back_with_all_of_them() {
    let bad = plan(
        "new-resource",
        &[
            ("there.txt", "create"),
            ("gone.txt", "modify"),
            ("new.txt", "delete"),
            (".env", "create"),
            ("node_modules/x.js", "create"),
            ("dup.txt", "create"),
            ("dup.txt", "create"),
            ("src", "modify"),
            ("to.txt", "rename from.txt"),
            ("dup.txt/in.txt", "create"),
        ],
    );
    let script = vec![
        says(&bad.to_string()),
        planned("new-resource", &[("a.txt", "create")]),
    ];
    let mut shop = TestBuilder::new(&[("there.txt", "x\n"), ("src/a.rs", "\n")], script);
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), JobStatus::PlanReady, "{:?}", job.error);
    let told = shop.told(1);
    for words in [
        "`there.txt` exists already",
        "there is no `gone.txt` to modify",
        "there is no `new.txt` to delete",
        "`.env` may not be changed",
        "`node_modules/x.js` may not be changed",
        "`dup.txt` is named twice",
        "`src` is a directory",
        "there is no `from.txt` to rename",
        "`dup.txt/in.txt` cannot be inside `dup.txt`",
    ] {
        assert!(told.contains(words), "{words} is not in {told}");
    }
    assert_eq!(job.result.token_usage.input, 200);
}

#[tokio::test]
async fn a_plan_that_is_too_large_names_the_limit() {
    let files: Vec<(String, &str)> = (0..6).map(|n| (format!("f{n}.txt"), "create")).collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, action)| (path.as_str(), *action))
        .collect();
    let mut shop = TestBuilder::new(&[], vec![planned("new-resource", &files)]);
    shop.settings.plan_files_max = 5;
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Failed);
    let error = job.error.unwrap();
    assert_eq!(error.code, FailureCode::PlanInvalid);
    assert!(
        error.message.contains("plan_files_max (5)"),
        "{}",
        error.message
    );
    assert!(
        error.message.contains("plan_corrections_max = 2"),
        "{}",
        error.message
    );
    assert_eq!(shop.server.asked(), 3);
    assert_eq!(shop.worktrees(), 0);
}

#[tokio::test]
async fn prose_and_silence_are_no_plan() {
    let mut shop = TestBuilder::new(&[], vec![says("I cannot do that.")]);
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.error.unwrap().code, FailureCode::PlanInvalid);
    let mut shop = TestBuilder::new(&[], vec![says("")]);
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.error.unwrap().code, FailureCode::Refused);
}

#[tokio::test]
async fn a_provider_that_is_down_fails_the_job_and_it_can_be_tried_again() {
    let mut shop = TestBuilder::new(&[], vec![ServerAct::Status(500)]);
    let job = shop.plan(Options::default()).await;
    assert_eq!(job.status(), JobStatus::Failed);
    let error = job.error.unwrap();
    assert_eq!(
        (error.code, error.step),
        (FailureCode::Provider, JobStatus::Planning)
    );
    shop.answering(vec![planned("new-resource", &[("a.txt", "create")])]);
    let job = decide::retry(&shop.bench(), &job.id).await.unwrap();
    assert_eq!((job.status(), job.error), (JobStatus::Planning, None));
    let job = shop.go_on(&job.id).await;
    assert_eq!(job.status(), JobStatus::PlanReady);
}

#[tokio::test]
async fn context_that_may_not_be_read_is_left_out_and_said() {
    let mut with_context = plan("new-resource", &[("a.txt", "create")]);
    with_context["contextFiles"] = json!(["ok.txt", ".env", "missing.txt", "ok.txt"]);
    let mut shop = TestBuilder::new(
        &[("ok.txt", "x\n"), (".env", "K=1\n")],
        vec![says(&with_context.to_string())],
    );
    let job = shop.plan(Options::default()).await;
    let context = job.plan.unwrap().context_files;
    assert_eq!(
        context.iter().map(|path| path.as_str()).collect::<Vec<_>>(),
        ["ok.txt"]
    );
    assert_eq!(job.result.notes.len(), 2, "{:?}", job.result.notes);
}

#[tokio::test]
async fn a_directory_without_git_gets_advice() {
    // The folder of builds may itself be inside a repository.
    let dir = tempfile::tempdir().unwrap();
    let shop = TestBuilder::in_folder(dir, &[], vec![says("")]);
    std::fs::remove_dir_all(shop.path(".git")).unwrap();
    let id = shop.new_job(PROMPT, Options::default()).await;
    let error = builder::run::plan(&shop.bench(), &id, &mut agent::NoAgentObserver)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("git init"), "{error}");
}
