//! Each tool through the loop: its answer, and the files afterwards.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use agent::tools::{CommandAccess, CommandSettings, standard};
use llm::WireFormat;
use serde_json::{Value, json};
use workspace::{
    AccessPolicy, GrantedAction, PolicySettings, RelPath, Workspace, WriteGrant, WriteScope,
};

use crate::agent_fixture::{TestAgent, toolset};
use crate::scripted::{calls, says};

/// Calls one tool; its answer, and whether it failed.
async fn call(stage: &mut TestAgent, tool: &str, arguments: Value) -> (Value, bool) {
    let fresh = TestAgent::new(
        WireFormat::OpenAi,
        vec![calls(&[(tool, arguments)]), says("Done.")],
    );
    (stage.server, stage.model) = (fresh.server, fresh.model);
    stage.journal = agent::MemoryJournal::default();
    stage
        .run()
        .await
        .unwrap_or_else(|stopped| panic!("{stopped}"));
    let turn = stage.journal.history().turns.remove(0);
    let result = &turn.results[0];
    let failed = result.outcome == llm::ToolOutcome::Failed;
    (serde_json::from_str(&result.content).unwrap(), failed)
}

fn stage() -> TestAgent {
    TestAgent::new(WireFormat::OpenAi, vec![says("-")])
        .with_file("a.txt", "one\ntwo\nthree\n")
        .with_file("src/b.rs", "fn main() {\n    run();\n}\n")
        .with_file("dos.txt", "one\r\ntwo\r\n")
        .with_file(".env", "KEY=1\n")
}

#[track_caller]
fn check(answer: (Value, bool), expected: Value) {
    assert_eq!(answer, (expected, false));
}

#[track_caller]
fn check_failed(answer: (Value, bool), sentence: &str) -> Value {
    let (value, failed) = answer;
    let said = value["error"].as_str().unwrap_or_default();
    assert!(failed && said.contains(sentence), "{value}");
    value
}

#[tokio::test]
async fn reading_gives_numbered_lines_clamped_to_the_file() {
    let mut stage = stage();
    let whole = json!({"path": "a.txt", "start_line": 1, "end_line": 3, "total_lines": 3,
        "content": "1 | one\n2 | two\n3 | three\n"});
    check(
        call(&mut stage, "read_file", json!({"path": "./a.txt"})).await,
        whole,
    );
    for (start, end, content) in [
        (2, 2, "2 | two\n"),
        (2, 99, "2 | two\n3 | three\n"),
        (99, 99, "3 | three\n"),
        (3, 1, ""),
    ] {
        let wanted = json!({"path": "a.txt", "start_line": start, "end_line": end});
        let (value, _) = call(&mut stage, "read_file", wanted).await;
        assert_eq!(value["content"], content, "{start} {end}");
    }
    std::fs::write(stage.dir.path().join("empty"), "").unwrap();
    let empty =
        json!({"path": "empty", "start_line": 1, "end_line": 0, "total_lines": 0, "content": ""});
    check(
        call(&mut stage, "read_file", json!({"path": "empty"})).await,
        empty,
    );
    std::fs::write(stage.dir.path().join("binary"), b"\xff\xfe\x00").unwrap();
    check_failed(
        call(&mut stage, "read_file", json!({"path": "binary"})).await,
        "is not UTF-8 text",
    );
    check_failed(
        call(&mut stage, "read_file", json!({"path": "nowhere"})).await,
        "does not exist",
    );
    check_failed(
        call(&mut stage, "read_file", json!({"path": "src"})).await,
        "is a directory",
    );
}

#[tokio::test]
async fn writing_makes_directories_ends_the_last_line_and_keeps_permissions() {
    let mut stage = stage();
    let script = stage.dir.path().join("run.sh");
    std::fs::write(&script, "old\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    check(
        call(
            &mut stage,
            "write_file",
            json!({"path": "x/y/z.txt", "content": "a\nb"}),
        )
        .await,
        json!({"path": "x/y/z.txt", "change": "created", "lines": 2, "bytes": 4}),
    );
    check(
        call(
            &mut stage,
            "write_file",
            json!({"path": "run.sh", "content": "new"}),
        )
        .await,
        json!({"path": "run.sh", "change": "modified", "lines": 1, "bytes": 4}),
    );
    check(
        call(
            &mut stage,
            "write_file",
            json!({"path": "run.sh", "content": "new\n"}),
        )
        .await,
        json!({"path": "run.sh", "change": "unchanged", "lines": 1, "bytes": 4}),
    );
    assert_eq!(stage.file("x/y/z.txt").as_deref(), Some("a\nb\n"));
    assert_eq!(
        std::fs::metadata(&script).unwrap().permissions().mode() & 0o777,
        0o755
    );
    check_failed(
        call(
            &mut stage,
            "write_file",
            json!({"path": "src", "content": "x"}),
        )
        .await,
        "directory",
    );
}

#[tokio::test]
async fn edits_are_made_all_or_none_and_a_miss_shows_the_nearest_lines() {
    let mut stage = stage();
    let edits = json!([{"old": "one\n", "new": "1\n"}, {"old": "three", "new": "3"}]);
    check(
        call(
            &mut stage,
            "modify_file",
            json!({"path": "a.txt", "edits": edits}),
        )
        .await,
        json!({"path": "a.txt", "change": "modified", "edits": [{"edit": 1, "line": 1}, {"edit": 2, "line": 3}]}),
    );
    assert_eq!(stage.file("a.txt").as_deref(), Some("1\ntwo\n3\n"));
    let edits = json!([{"old": "two", "new": "2"}, {"old": "  run( );", "new": "x"}]);
    let missed = call(
        &mut stage,
        "modify_file",
        json!({"path": "a.txt", "edits": edits}),
    )
    .await;
    check_failed(missed, "Edit 2 of 2: `old` is not in `a.txt`");
    assert_eq!(
        stage.file("a.txt").as_deref(),
        Some("1\ntwo\n3\n"),
        "nothing of it"
    );
    let edits = json!([{"old": "  run();\n}", "new": "x"}, {"old": "\tnothing", "new": ""}]);
    let missed = call(
        &mut stage,
        "modify_file",
        json!({"path": "src/b.rs", "edits": [{"old": "\trun();\n}", "new": "x"}]}),
    )
    .await;
    let value = check_failed(missed, "Nothing was written.");
    assert_eq!(value["nearest"]["start_line"], 2);
    assert_eq!(
        value["nearest"]["differs"][0],
        "line 2: the file is indented by 4 space(s), you have 1 tab(s)"
    );
    check_failed(
        call(
            &mut stage,
            "modify_file",
            json!({"path": "src/b.rs", "edits": edits}),
        )
        .await,
        "Edit 2 of 2",
    );
}

#[tokio::test]
async fn an_edit_must_fit_once_and_speaks_the_files_line_ends() {
    let mut stage = stage();
    let edits = json!([{"old": "\n", "new": ""}]);
    check_failed(
        call(
            &mut stage,
            "modify_file",
            json!({"path": "a.txt", "edits": edits}),
        )
        .await,
        "is in `a.txt` 3 times (lines 1, 2, 3)",
    );
    let edits = json!([{"old": "one\ntwo", "new": "1\n2"}]);
    call(
        &mut stage,
        "modify_file",
        json!({"path": "dos.txt", "edits": edits}),
    )
    .await;
    assert_eq!(stage.file("dos.txt").as_deref(), Some("1\r\n2\r\n"));
    call(
        &mut stage,
        "modify_file",
        json!({"path": "a.txt", "content": "all new"}),
    )
    .await;
    assert_eq!(stage.file("a.txt").as_deref(), Some("all new\n"));
    check_failed(
        call(&mut stage, "modify_file", json!({"path": "a.txt"})).await,
        "either `edits` or `content`",
    );
    check_failed(
        call(
            &mut stage,
            "modify_file",
            json!({"path": "no", "content": ""}),
        )
        .await,
        "Use `write_file`",
    );
}

#[tokio::test]
async fn lines_are_inserted_where_they_are_wanted() {
    for (path, line, content, expected) in [
        ("a.txt", 2, "x", "one\nx\ntwo\nthree\n"),
        ("a.txt", 1, "x\ny\n", "x\ny\none\ntwo\nthree\n"),
        ("a.txt", 4, "x", "one\ntwo\nthree\nx\n"),
        ("a.txt", 0, "x", "one\ntwo\nthree\nx\n"),
        ("dos.txt", 2, "x\ny", "one\r\nx\r\ny\r\ntwo\r\n"),
    ] {
        let mut stage = stage();
        let wanted = json!({"path": path, "line": line, "content": content});
        let (value, failed) = call(&mut stage, "insert_content", wanted).await;
        assert!(!failed, "{value}");
        assert_eq!(stage.file(path).as_deref(), Some(expected), "{line}");
    }
    let mut stage = stage();
    let wanted = json!({"path": "a.txt", "line": 9, "content": "x"});
    check_failed(
        call(&mut stage, "insert_content", wanted).await,
        "has 3 lines, so `line` is at most 4",
    );
}

#[tokio::test]
async fn a_patch_over_many_files_is_written_whole() {
    let mut stage = stage();
    let diff = "*** Begin Patch\n*** Add File: new/n.txt\n+new\n*** Update File: a.txt\n*** Move to: moved.txt\n\
                @@\n one\n-two\n+2\n three\n*** Delete File: dos.txt\n*** Update File: src/b.rs\n@@ fn main() {\n-    run();\n+    stop();\n*** End Patch";
    let (value, failed) = call(&mut stage, "apply_diff", json!({"diff": diff})).await;
    assert!(!failed, "{value}");
    assert_eq!(
        value,
        json!({"files": [
            {"path": "new/n.txt", "change": "created"},
            {"path": "a.txt", "change": "moved", "moved_to": "moved.txt", "hunks": [{"hunk": 1, "line": 1, "matched": "exact"}]},
            {"path": "dos.txt", "change": "deleted"},
            {"path": "src/b.rs", "change": "modified", "hunks": [{"hunk": 1, "line": 2, "matched": "exact"}]},
        ]})
    );
    assert_eq!(stage.file("new/n.txt").as_deref(), Some("new\n"));
    assert_eq!(stage.file("moved.txt").as_deref(), Some("one\n2\nthree\n"));
    assert_eq!((stage.file("a.txt"), stage.file("dos.txt")), (None, None));
    assert_eq!(
        stage.file("src/b.rs").as_deref(),
        Some("fn main() {\n    stop();\n}\n")
    );
    assert_eq!(stage.recorder.all("did").len(), 5);
}

#[tokio::test]
async fn a_patch_with_one_bad_part_writes_nothing() {
    for (bad, sentence) in [
        (
            "*** Update File: src/b.rs\n@@\n-    walk();\n+    x\n",
            "Hunk 1 of 1",
        ),
        ("*** Add File: dos.txt\n+x\n", "exists already"),
        ("*** Delete File: nowhere\n", "does not exist"),
        ("*** Add File: .env.local\n+x\n", ".env.local"),
        ("*** Add File: ../out\n+x\n", "`..`"),
        (
            "*** Update File: src/b.rs\n*** Move to: dos.txt\n",
            "exists already",
        ),
    ] {
        let mut stage = stage();
        let diff =
            format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n{bad}*** End Patch");
        check_failed(
            call(&mut stage, "apply_diff", json!({"diff": diff})).await,
            sentence,
        );
        assert_eq!(
            stage.file("a.txt").as_deref(),
            Some("one\ntwo\nthree\n"),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn the_path_of_a_diff_may_be_given_beside_it() {
    let mut stage = stage();
    let bare = json!({"path": "a.txt", "diff": "@@ -2 +2 @@\n-two\n+2\n"});
    let (value, failed) = call(&mut stage, "apply_diff", bare).await;
    assert!(!failed, "{value}");
    let other =
        json!({"path": "a.txt", "diff": "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+1\n"});
    call(&mut stage, "apply_diff", other).await;
    assert_eq!(stage.file("a.txt").as_deref(), Some("1\n2\nthree\n"));
    check_failed(
        call(
            &mut stage,
            "apply_diff",
            json!({"diff": "@@ -2 +2 @@\n-two\n+2\n"}),
        )
        .await,
        "does not say which file it is for",
    );
}

#[tokio::test]
async fn searching_finds_lines_with_context_and_no_secrets() {
    let mut stage = stage();
    let (value, _) = call(
        &mut stage,
        "search_files",
        json!({"pattern": "t(wo|hree)|KEY", "context": 1, "glob": "*.txt"}),
    )
    .await;
    assert_eq!(value["matches"], 3);
    assert_eq!(
        value["files"][0],
        json!({"path": "a.txt", "lines": "1- one\n2: two\n3: three"})
    );
    let (value, _) = call(&mut stage, "search_files", json!({"pattern": "KEY"})).await;
    assert_eq!(value["files"], json!([]));
    let (value, _) = call(
        &mut stage,
        "search_files",
        json!({"pattern": "o", "max_results": 1}),
    )
    .await;
    assert!(
        value["more"].as_str().unwrap().contains("max_results = 1"),
        "{value}"
    );
    check_failed(
        call(&mut stage, "search_files", json!({"pattern": "("})).await,
        "(",
    );
}

#[tokio::test]
async fn listing_names_what_is_there_and_what_may_not_be_read() {
    let mut stage = stage();
    let (value, failed) = call(&mut stage, "list_files", json!({})).await;
    assert!(!failed, "{value}");
    assert_eq!(
        value["entries"],
        json!([".env", "a.txt", "dos.txt", "src/"])
    );
    assert_eq!(value["not_readable"][0]["path"], ".env");
    let (value, _) = call(&mut stage, "list_files", json!({"recursive": true})).await;
    assert_eq!(
        value["entries"],
        json!(["a.txt", "dos.txt", "src/", "src/b.rs"])
    );
    let (value, _) = call(&mut stage, "list_files", json!({"max_depth": 1})).await;
    assert_eq!(value["entries"], json!(["a.txt", "dos.txt", "src/"]));
    check_failed(
        call(&mut stage, "list_files", json!({"path": "nowhere"})).await,
        "does not exist",
    );
}

#[tokio::test]
async fn commands_run_where_they_are_told_to_and_end_in_time() {
    let mut stage = stage();
    let (value, _) = call(
        &mut stage,
        "execute_command",
        json!({"command": "ls", "cwd": "src"}),
    )
    .await;
    assert_eq!(value["stdout"], "b.rs\n");
    let (value, _) = call(
        &mut stage,
        "execute_command",
        json!({"command": "sleep 60", "timeout": 1}),
    )
    .await;
    assert_eq!(
        (&value["timed_out"], &value["exit_code"]),
        (&json!(true), &Value::Null)
    );
    check_failed(
        call(
            &mut stage,
            "execute_command",
            json!({"command": "ls", "cwd": "../"}),
        )
        .await,
        "`..`",
    );
    check_failed(
        call(
            &mut stage,
            "execute_command",
            json!({"command": "ls", "cwd": "nowhere"}),
        )
        .await,
        "no directory",
    );
    let (value, _) = call(
        &mut stage,
        "execute_command",
        json!({"command": "no-such-program"}),
    )
    .await;
    assert_eq!(value["exit_code"], 127);
}

#[tokio::test]
async fn words_of_argv_reach_the_program_as_they_are() {
    let mut stage = stage();
    let hostile = "$(touch evil); `touch evil` '\"";
    let argv = json!({"argv": ["printf", "%s", hostile]});
    let (value, failed) = call(&mut stage, "execute_command", argv).await;
    assert!(!failed, "{value}");
    assert_eq!(value["stdout"], hostile);
    assert_eq!(stage.file("evil"), None);
    for wrong in [
        json!({}),
        json!({"command": "ls", "argv": ["ls"]}),
        json!({"argv": ["a\0b"]}),
    ] {
        let (value, failed) = call(&mut stage, "execute_command", wrong.clone()).await;
        assert!(failed, "{wrong}: {value}");
    }
}

#[tokio::test]
async fn a_command_in_its_sandbox_sees_no_secrets_and_writes_only_here() {
    let mut stage = stage();
    let workspace = Workspace::open(
        stage.dir.path(),
        AccessPolicy::default(),
        workspace::Limits::default(),
    )
    .unwrap();
    let commands = CommandAccess::Allowed(CommandSettings::default());
    stage.toolset = standard(&Arc::new(workspace), commands).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let command = format!(
        "cat .env; echo x > here; echo x > {}/there; cat a.txt",
        outside.path().display()
    );
    let (value, failed) = call(&mut stage, "execute_command", json!({"command": command})).await;
    assert!(!failed, "{value}");
    assert_eq!(value["stdout"], "one\ntwo\nthree\n", "{value}");
    assert_eq!(stage.file("here").as_deref(), Some("x\n"));
    assert!(!outside.path().join("there").exists());
}

/// What commands can do about the files of a project, one after the other.
async fn after_commands(
    stage: &mut TestAgent,
    settings: &PolicySettings,
    commands: &[&str],
) -> Value {
    let policy = AccessPolicy::new(settings).unwrap();
    let limits = workspace::Limits::default();
    let workspace = Workspace::open(stage.dir.path(), policy, limits).unwrap();
    let allowed = CommandAccess::Allowed(CommandSettings::default());
    stage.toolset = standard(&Arc::new(workspace), allowed).unwrap();
    let mut last = Value::Null;
    for command in commands {
        (last, _) = call(stage, "execute_command", json!({"command": command})).await;
    }
    last
}

#[tokio::test]
async fn a_secret_cannot_be_copied_to_an_unprotected_path() {
    let settings = PolicySettings {
        read_deny: vec!["plans/next.md".to_owned()],
        ..PolicySettings::default()
    };
    for first in [
        "mkdir dist && mv conf dist/ && mv plans dist/",
        "mv conf 'a\\b'; mv plans done",
        // A caller who knows the names in it can still enter.
        "chmod 0311 conf plans",
        "rm -f drawloom.toml; echo > drawloom.toml",
    ] {
        let mut stage = stage()
            .with_file("conf/.env", "s3cr3t")
            .with_file("plans/next.md", "s3cr3t")
            .with_file("drawloom.toml", "[ai]\napi_key = \"s3cr3t\"\n");
        let second =
            "cat conf/.env plans/next.md */*/.env */.env */*/next.md */next.md drawloom.toml";
        let seen = after_commands(&mut stage, &settings, &[first, second]).await;
        assert!(!seen.to_string().contains("s3cr3t"), "{first}: {seen}");
    }
}

#[tokio::test]
async fn a_secret_is_hidden_under_all_its_names() {
    let mut stage = stage()
        .with_file("conf/.env", "s3cr3t")
        .with_file("odd\\name/.env", "s3cr3t");
    let dir = stage.dir.path();
    std::fs::hard_link(dir.join("conf/.env"), dir.join("notes.txt")).unwrap();
    std::os::unix::fs::symlink("conf/.env", dir.join("link")).unwrap();
    let command = "cat conf/.env notes.txt link odd*/.env";
    let seen = after_commands(&mut stage, &PolicySettings::default(), &[command]).await;
    assert!(!seen.to_string().contains("s3cr3t"), "{seen}");
}

#[tokio::test]
async fn what_runs_by_itself_is_not_changed_by_a_command() {
    let held = [
        ".github/workflows/ci.yml",
        ".husky/pre-commit",
        "vendor/lib/.git/hooks/post-checkout",
        "vendor/lib/.git/config",
        "infra/main.tf",
        "inner/drawloom.toml",
        "drawloom.toml",
    ];
    let settings = PolicySettings {
        write_deny: vec!["infra/**".to_owned()],
        ..PolicySettings::default()
    };
    let mut stage = stage().with_file("yarn.lock", "held");
    for path in held {
        stage = stage.with_file(path, "held");
    }
    let attack: Vec<String> = held
        .iter()
        .map(|path| {
            format!("echo x > {path}; rm -f {path}; mv a.txt {path}; mv $(dirname {path}) y")
        })
        .collect();
    let package_manager = "echo new > yarn.lock; mkdir -p .github/x && echo > .github/x/y";
    let seen = after_commands(
        &mut stage,
        &settings,
        &[&attack.join("; "), package_manager],
    )
    .await;
    for path in held {
        assert_eq!(stage.file(path).as_deref(), Some("held"), "{path}: {seen}");
    }
    assert_eq!(stage.file("yarn.lock").as_deref(), Some("new\n"));
}

#[tokio::test]
async fn no_settings_are_planted_in_a_project_without_them() {
    let mut stage = stage().with_file(".drawloom/x", "");
    let attack = "echo '[mcp.servers.x]' > drawloom.toml; mkdir .drawloom/apply; ls -a .drawloom";
    let seen = after_commands(&mut stage, &PolicySettings::default(), &[attack]).await;
    assert_eq!(stage.file("drawloom.toml"), None, "{seen}");
    assert!(!stage.dir.path().join(".drawloom/apply").exists());
}

#[tokio::test]
async fn an_approved_plan_is_the_permission_to_write() {
    let mut stage = stage();
    let path = |text: &str| RelPath::parse(text).unwrap();
    let grant = WriteGrant::new()
        .with(path("a.txt"), GrantedAction::Modify)
        .with(path("n.txt"), GrantedAction::Create);
    let policy = AccessPolicy::default().with_writes(WriteScope::Planned(grant));
    stage.toolset = toolset(stage.dir.path(), policy);
    check_failed(
        call(
            &mut stage,
            "write_file",
            json!({"path": "other.txt", "content": "x"}),
        )
        .await,
        "plan",
    );
    let (value, failed) = call(
        &mut stage,
        "write_file",
        json!({"path": "n.txt", "content": "x"}),
    )
    .await;
    assert!(!failed, "{value}");
    let diff = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Delete File: dos.txt\n*** End Patch";
    check_failed(
        call(&mut stage, "apply_diff", json!({"diff": diff})).await,
        "plan",
    );
    assert_eq!(
        stage.file("a.txt").as_deref(),
        Some("one\ntwo\nthree\n"),
        "all or nothing"
    );
}
