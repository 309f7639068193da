//! Reading plan files: every bad one is refused before anything runs, and the order is right.

use std::collections::BTreeMap;

use agent::plan::{self, TaskMark, TaskPlan};
use agent::task::{TaskFileProblems, TaskName};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use serde_json::{Value, json};

use crate::task_project::path;

/// Reads `plans/p.json` of a project with these files.
fn load(files: &[(&str, &str)]) -> Result<TaskPlan, TaskFileProblems> {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let limits = workspace::Limits::default();
    let policy = workspace::AccessPolicy::default();
    let workspace = workspace::Workspace::open(dir.path(), policy, limits).unwrap();
    plan::load(&workspace, &path("plans/p.json"))
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let problems = match load(files) {
        Ok(plan) => panic!("it was read: {plan:?}"),
        Err(problems) => problems.to_string(),
    };
    assert_eq!(problems.lines().collect::<Vec<_>>(), expected);
}

fn ids(plan: &TaskPlan) -> Vec<&str> {
    plan.graph
        .nodes()
        .iter()
        .map(|node| node.id.as_str())
        .collect()
}

#[test]
fn tasks_are_inline_or_in_files_beside_the_plan() {
    let plan = r#"{"goal": "All of it", "tasks": [
        {"subtask_id": "last", "type": "no_op", "depends_on": ["The first", "second"]},
        {"file_path": "tasks/second.json", "subtask_id": "second", "type": "no_op", "name": "Two",
         "depends_on": "first"},
        {"file_path": "../shared/first.json"}]}"#;
    let second = r#"{"subtask_id": "second", "type": "no_op", "name": "Renamed"}"#;
    let first = r#"{"subtask_id": "first", "type": "no_op", "name": "The first"}"#;
    let plan = load(&[
        ("plans/p.json", plan),
        ("plans/tasks/second.json", second),
        ("shared/first.json", first),
    ])
    .unwrap();
    assert_eq!(plan.goal.as_deref(), Some("All of it"));
    assert_eq!(ids(&plan), ["first", "second", "last"]);
    assert_eq!(plan.tasks[1].title(), "Two");
    // Names became ids.
    assert_eq!(plan.tasks[0].depends_on, ["first", "second"]);
    let layers: Vec<_> = plan.graph.nodes().iter().map(|node| node.layer).collect();
    assert_eq!(layers, [0, 1, 2]);
}

#[test]
fn everything_wrong_with_a_plan_is_told_at_once() {
    let plan = r#"{"gaol": "x", "tasks": [
  {"subtask_id": "a", "type": "no_op", "depends_on": ["b", "nobody"]},
  {"subtask_id": "b", "type": "no_op", "depends_on": ["a"]},
  {"subtask_id": "a", "type": "no_op"},
  {"subtask_id": "self", "type": "no_op", "depends_on": ["self"]},
  {"subtask_id": "m", "name": "twin", "type": "no_op"},
  {"subtask_id": "n", "name": "twin", "type": "no_op", "depends_on": ["twin"]},
  {"file_path": "gone.json"},
  {"file_path": "../../outside.json"},
  {"file_path": "/etc/task.json"},
  {"file_path": "bad.json", "subtask_id": "other", "type": "validation"},
  {"file_path": "../.env"},
  "what"
]}"#;
    let bad =
        "{\n  \"subtask_id\": \"bad\", \"type\": \"no_op\",\n  \"depends_on\": [\"selfi\"]\n}";
    check(
        &[
            ("plans/p.json", plan),
            ("plans/bad.json", bad),
            (".env", "KEY=1"),
        ],
        &[
            "plans/p.json:1:2: there is no key `gaol`; did you mean `goal`?",
            "plans/p.json:8:17: tasks[6].file_path: there is no file `plans/gone.json`; paths are seen from the plan's directory",
            "plans/p.json:9:17: tasks[7].file_path: `../../outside.json` leads out of the project",
            "plans/p.json:10:17: tasks[8].file_path: `/etc/task.json` is not a path from the plan's directory; plans name files of their own project",
            "plans/p.json:11:43: tasks[9].subtask_id: `subtask_id` is `other` here and `bad` in the file; make them the same, or leave it out here",
            "plans/p.json:11:60: tasks[9].type: `type` is `validation` here and `no_op` in the file; make them the same, or leave it out here",
            "plans/p.json:12:17: tasks[10].file_path: `.env` may not be read: `.env` holds settings that are secret (rule `environment`); read `.env.example`, or list the file under `read_allow` in the project's policy",
            "plans/p.json:13:3: tasks[11]: this is a text, and an object was expected",
            "plans/p.json:4:18: tasks[2].subtask_id: there are two tasks with the id `a`; the other one is at plans/p.json:2:18",
            "plans/p.json:2:60: tasks[0].depends_on[1]: there is no task `nobody` to depend on; there are: a, b, bad, m, n, self",
            "plans/p.json:7:71: tasks[5].depends_on[0]: 2 tasks are called `twin`; name one of them by its `subtask_id`",
            "plans/bad.json:3:18: depends_on[0]: there is no task `selfi` to depend on; did you mean `self`?",
            "plans/p.json:2:55: tasks[0].depends_on[0]: these tasks wait for each other: `a` → `b` → `a`; remove one of these dependencies",
            "plans/p.json:5:58: tasks[3].depends_on[0]: `self` depends on itself; remove one of these dependencies",
        ],
    );
}

#[test]
fn bad_plan_files() {
    check(
        &[],
        &["plans/p.json:1:1: there is no such file; check the path"],
    );
    check(
        &[("plans/p.json", "")],
        &["plans/p.json:1:1: the file is empty; it has to hold a JSON object"],
    );
    check(
        &[("plans/p.json", "[]")],
        &["plans/p.json:1:1: this is a list, and an object was expected"],
    );
    check(
        &[("plans/p.json", "{}")],
        &[
            "plans/p.json:1:1: `tasks` is missing; list the tasks, each inline or by its `file_path`",
        ],
    );
    check(
        &[("plans/p.json", r#"{"tasks": {}}"#)],
        &[
            "plans/p.json:1:11: tasks: `tasks` has to be a list; list the tasks, each inline or by its `file_path`",
        ],
    );
    check(
        &[("plans/p.json", r#"{"tasks": []}"#)],
        &[
            "plans/p.json:1:11: tasks: the plan has no tasks; list the tasks, each inline or by its `file_path`",
        ],
    );
    check(
        &[(
            "plans/p.json",
            r#"{"natural_language_goal": "x", "plan": []}"#,
        )],
        &[
            "plans/p.json:1:2: there is no key `natural_language_goal`; it is called `goal` here",
            "plans/p.json:1:32: there is no key `plan`; it is called `tasks` here",
            "plans/p.json:1:1: `tasks` is missing; list the tasks, each inline or by its `file_path`",
        ],
    );
    check(
        &[
            ("plans/p.json", r#"{"tasks": [{"file_path": "a.json"}]}"#),
            ("plans/a.json", "{\n\"subtask_id\": \"a\"\n"),
        ],
        &["plans/a.json:1:1: this is not JSON: unterminated object"],
    );
    check(
        &[
            (
                "plans/p.json",
                r#"{"tasks": [{"file_path": "a.json", "instructions": "x"}]}"#,
            ),
            ("plans/a.json", r#"{"subtask_id": "a"}"#),
        ],
        &[
            "plans/p.json:1:36: tasks[0]: there is no key `instructions`; there are: file_path, subtask_id, type, name, depends_on",
            "plans/a.json:1:1: `type` is missing; say what kind of task it is: code_generation, validation, ai_interaction, planning, no_op",
        ],
    );
}

#[test]
fn a_plan_has_a_largest_size() {
    let tasks: Vec<Value> = (0..=plan::PLAN_TASKS_MAX)
        .map(|n| json!({"subtask_id": format!("t{n}"), "type": "no_op"}))
        .collect();
    let problems = load(&[("plans/p.json", &json!({"tasks": tasks}).to_string())]).unwrap_err();
    assert!(
        problems
            .to_string()
            .contains("501 tasks, more than PLAN_TASKS_MAX (500)"),
        "{problems}"
    );
}

fn diamond() -> TaskPlan {
    let plan = r#"{"tasks": [
        {"subtask_id": "setup", "name": "Set up", "type": "no_op"},
        {"subtask_id": "models", "name": "Models & <tables>", "type": "code_generation",
         "instructions": "x", "depends_on": "setup"},
        {"subtask_id": "docs", "type": "ai_interaction", "instructions": "x", "depends_on": "setup"},
        {"subtask_id": "api", "type": "code_generation", "instructions": "x", "depends_on": "models"},
        {"subtask_id": "alone", "type": "no_op"},
        {"subtask_id": "check", "name": "Everything is checked, all of it", "type": "validation",
         "depends_on": ["api", "docs", "models"]}]}"#;
    load(&[("plans/p.json", plan)]).unwrap()
}

#[test]
fn a_plan_is_a_picture_for_the_terminal() {
    let failed = TaskName::parse("models").unwrap();
    let marks = |id: &TaskName| {
        if *id == failed {
            TaskMark::Failed
        } else {
            TaskMark::Open
        }
    };
    insta::assert_snapshot!(diamond().graph.to_text(marks));
}

#[test]
fn a_plan_is_a_picture_for_the_browser() {
    insta::assert_snapshot!(diamond().graph.to_svg());
}

#[test]
fn the_published_schema_of_a_plan() {
    insta::assert_json_snapshot!(plan::schema());
}

#[test]
fn the_schema_takes_what_is_written() {
    let schema = jsonschema::validator_for(&plan::schema()).unwrap();
    let plan = diamond();
    let written: Value = serde_json::from_str(&plan.to_json()).unwrap();
    assert!(schema.is_valid(&written), "{written}");
    let again = load(&[("plans/p.json", &plan.to_json())]).unwrap();
    assert_eq!(again.graph, plan.graph);
    assert!(schema.is_valid(&json!({"tasks": [{"file_path": "a.json", "depends_on": ["b"]}]})));
    for bad in [
        json!({"tasks": []}),
        json!({}),
        json!({"tasks": [{"file_path": "a.json", "nope": 1}]}),
        json!({"tasks": [{"subtask_id": "a"}]}),
    ] {
        assert!(!schema.is_valid(&bad), "{bad}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_order_respects_dependencies_and_is_always_the_same(
        edges in prop::collection::vec((0_usize..30, 0_usize..30), 0..90),
        names in prop::sample::subsequence((0..30).collect::<Vec<usize>>(), 30),
    ) {
        let mut after: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (a, b) in edges {
            // From the later to the earlier in some order: no cycle.
            if a != b {
                after.entry(a.max(b)).or_default().push(format!("t{}", a.min(b)));
            }
        }
        let tasks: Vec<Value> = names.iter().rev().map(|n| json!({
            "subtask_id": format!("t{n}"), "type": "no_op",
            "depends_on": after.get(n).cloned().unwrap_or_default()})).collect();
        let text = json!({"tasks": tasks}).to_string();
        let read = || plan::read(&text, &path("p.json"), &|_| Ok(None)).unwrap();
        let plan = read();
        let order = ids(&plan);
        for (n, deps) in &after {
            let at = |id: &str| order.iter().position(|other| *other == id).unwrap();
            for dep in deps {
                assert!(at(dep) < at(&format!("t{n}")), "{order:?}");
            }
        }
        assert_eq!(read().graph, plan.graph);
        assert_eq!(plan.graph.to_text(|_| TaskMark::Open).lines().count(), 30);
    }

    #[test]
    fn a_cycle_is_found_wherever_it_is(length in 1_usize..10, tail in 0_usize..10) {
        let tasks: Vec<Value> = (0..length + tail).map(|n| {
            let next = if n + 1 == length { 0 } else { n + 1 };
            let after = if n < length { next } else { n - 1 };
            json!({"subtask_id": format!("t{n}"), "type": "no_op", "depends_on": [format!("t{after}")]})
        }).collect();
        let text = json!({"tasks": tasks}).to_string();
        let problems = plan::read(&text, &path("p.json"), &|_| Ok(None)).unwrap_err();
        assert_eq!(problems.iter().count(), 1, "{problems}");
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = plan::read(&text, &path("p.json"), &|_| Ok(None));
    }
}
