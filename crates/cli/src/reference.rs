//! `docs/cli.md`, written from the clap tree and compared with the file in the repository.
//!
//! `DRAWLOOM_BLESS=1 cargo test -p cli reference` writes the file anew.

use std::fmt::Write as _;
use std::path::Path;

use clap::Command;

use crate::arguments::{self, GROUPS};

const FILE: &str = "../../docs/cli.md";

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "the reference lives outside the crate, and blessing is asked for by a variable"
)]
fn the_reference_says_what_the_commands_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let expected = reference();
    if std::env::var_os("DRAWLOOM_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == expected,
        "docs/cli.md is not what the commands say; run `DRAWLOOM_BLESS=1 cargo test -p cli reference`"
    );
}

fn reference() -> String {
    let mut tree = arguments::tree().term_width(90);
    tree.build();
    let mut text = String::from(
        "# Commands\n\n\
         This page is written from the program itself: every section is what `--help` prints. Exit\n\
         codes: 0 done, 1 error, 2 answers needed (and nothing else), 64 wrong usage.\n",
    );
    section(&mut text, &tree, "drawloom");
    for (_, names) in GROUPS {
        for name in names {
            let command = tree.find_subcommand(name).unwrap();
            section(&mut text, command, &format!("drawloom {name}"));
        }
    }
    text.push_str(JSON);
    let settings = app::settings::commented_file();
    write!(text, "\n## `drawloom.toml`\n\n```toml\n{settings}```\n").unwrap();
    text
}

const JSON: &str = "
## What `--json` prints

One document on stdout; stderr has only errors and, with exit code 2, the line about the answers.
Fields may be added, none change meaning.

| Command | Document |
|---|---|
| `run`, done | `{outcome: \"done\", recipe, files: [{path, status}], commands, messages, steps}` |
| `run --dry-run` | `{outcome: \"dry-run\", recipe, files: [{path, status, diff}], commands, conflicts, steps, answers: {path, command}}` |
| `run`, exit code 2 | `{request, contexts, questions: [{key, prompt, …}], schema, answersPath, command}` |
| `update` | `{outcome, recipe, files: [{path, status, diff}], conflicts, commands_not_run}` |
| `ai ask` | `{answer, mode, calls: [{provider, model, usage, micro_usd}]}` |
| `ai models` | `{providers: [{provider, models: [{model, title, context_tokens}]}]}` |
| `cost` | `{since, by, sums: [{day, calls, usage, micro_usd, unpriced_calls}], total}` |
| `build`, `builds approve`, `builds publish` | every event as a line, last `{event: \"result\", …}`: see builder.md |
| `builds list` | `{builds: [{id, status, isInterrupted, taskType, prompt, branch, prUrl}]}` |
| `builds show`, `builds edit`, `builds reject`, `builds cancel` | the build: `{id, status, plan, result, …}` |
| `builds diff` | `{id, diffs: [{path, diff}]}` |
| `workflow parse` | `{direction, nodes: [{id, text, shape}], edges: [{from, to, label, kind, stroke, length}], subgraphs: [{id, title, nodes}]}` |
| `users list`, `agents list` | `{users: [{slug, email, displayName, role, isActive, isAgent, agentPrompt, revision, …}]}`, `{agents: […]}` |
| `schedules list` | `{schedules: [{slug, workflow, cron, timeZone, input, isEnabled, next, nextMs, last: {dueMs, run, error}}]}` |
| `schedules fire` | `{fired: [{slug, dueMs, run, error, wasStarted}]}` |
| `recipe list` | `{recipes: [{id, name, description, path}]}` |
| `recipe info` | `{name, description, variables: {name: {type, required, …}}, steps, examples}` |
| `recipe validate` | `{valid, recipes: [{recipe, valid, error}]}` |
| `kit list` | `{kits: [{name, source, commit, hash, recipes}]}` |
| `kit add` | `{name, source, commit, files, replaced, recipes}` |
| `init` | `{written, kept}` |
| `doctor` | `{ok, version, checks: [{check, state, detail, fix}]}` |

An error is one document on stderr, with the exit code of the command:
`{error: {code, message, file, line, column, excerpt, hint, exit, problems}}`; `problems` lists all of
them when there are several.
";

fn section(text: &mut String, command: &Command, path: &str) {
    let help = command
        .clone()
        .term_width(90)
        .render_long_help()
        .to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    writeln!(
        text,
        "\n## `{path}`\n\n```text\n{}\n```",
        help.join("\n").trim()
    )
    .unwrap();
    if path == "drawloom" {
        return;
    }
    for nested in command.get_subcommands() {
        section(text, nested, &format!("{path} {}", nested.get_name()));
    }
}
