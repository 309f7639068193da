//! What the model is shown before it writes: near files first, within the budget, cuts said.

use builder::{Options, Status};
use serde_json::json;

use crate::scripted::says;
use crate::shop::{Shop, plan, writes};

/// Builds with these context files and returns what the model was told first.
async fn told(files: &[(&str, &str)], context: &[&str], tokens_max: usize) -> String {
    let mut planned = plan(
        "new-resource",
        &[("src/user.ts", "create"), ("src/routes.ts", "modify")],
    );
    planned["contextFiles"] = json!(context);
    let script = vec![
        says(&planned.to_string()),
        writes("src/user.ts", "export const user = 1;"),
        says("Done."),
    ];
    let mut shop = Shop::new(files, script);
    shop.settings.context_max_tokens = tokens_max;
    let job = shop.run(Options::default()).await;
    assert_eq!(job.status(), Status::Completed, "{:?}", job.error);
    shop.told(1)
}

const ROUTES: (&str, &str) = (
    "src/routes.ts",
    "import { db } from './db';\nexport const routes = [db];\n",
);
const DB: (&str, &str) = ("src/db.ts", "export const db = 'the database';\n");
const GENERAL: (&str, &str) = ("docs/history.md", "Long ago.\n");
const SCHEMA: (&str, &str) = ("lib/user.schema.ts", "export const UserSchema = 1;\n");

#[track_caller]
fn in_order(text: &str, words: &[&str]) {
    let mut from = 0;
    for word in words {
        match text[from..].find(word) {
            Some(at) => from += at + word.len(),
            None => panic!("{word} is not in its place in {text}"),
        }
    }
}

#[tokio::test]
async fn nearer_files_come_first_whatever_the_plans_order_is() {
    let files = [ROUTES, DB, GENERAL, SCHEMA];
    let context = ["docs/history.md", "lib/user.schema.ts", "src/db.ts"];
    let told = told(&files, &context, 8_000).await;
    in_order(
        &told,
        &[
            "File `src/routes.ts` (2 lines)",
            "export const routes",
            "File `lib/user.schema.ts`",
            "File `src/db.ts`",
            "File `docs/history.md`",
        ],
    );
}

#[tokio::test]
async fn what_does_not_fit_is_cut_or_left_out_and_said() {
    let long: String = (0..400)
        .map(|n| format!("export const line{n} = {n};\n"))
        .collect();
    let files = [ROUTES, DB, ("src/long.ts", long.as_str()), GENERAL];
    let context = ["src/long.ts", "docs/history.md"];
    let told = told(&files, &context, 600).await;
    in_order(
        &told,
        &[
            "File `src/routes.ts` (2 lines)",
            "File `src/long.ts` (the first ",
            " of 400 lines; cut)",
            "export const line0 = 0;",
            "Not shown for want of room (context_max_tokens = 600)",
            "`docs/history.md`",
        ],
    );
    assert!(!told.contains("line399"), "{told}");
    assert!(told.len() < 600 * 7 / 2 + 1_500, "{}", told.len());
}

#[tokio::test]
async fn a_plan_without_context_gets_the_neighbours() {
    let files = [ROUTES, DB, GENERAL];
    let told = told(&files, &[], 8_000).await;
    in_order(
        &told,
        &["File `src/routes.ts`", "File `src/db.ts`", "the database"],
    );
}

#[tokio::test]
async fn the_projects_own_conventions_are_shown() {
    let files = [ROUTES, DB, ("AGENTS.md", "Names are in English.\n")];
    let told = told(&files, &["src/db.ts"], 8_000).await;
    in_order(
        &told,
        &[
            "# Conventions of the project",
            "AGENTS.md",
            "Names are in English.",
        ],
    );
}
