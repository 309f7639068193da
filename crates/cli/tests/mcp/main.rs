//! `drawloom mcp` as a client sees it: real messages on stdin and stdout of the real binary.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../cli/project.rs"]
mod project;

mod client;
mod hostile;
mod published;
mod restarted;
mod shell;
mod steps;
mod tools;

use project::CliProject;

const REVIEW: &str = "\
flowchart TD
  A[Count] --> B(Look at it)
  B --> C[Done]
%% === WORKFLOW_CONFIG ===
%% @A: { \"handler\": \"no_op\" }
%% @B: { \"prompt\": \"Is it good?\" }
%% @C: { \"handler\": \"no_op\" }
%% === END_CONFIG ===
";

const QUESTION_RECIPE: &str = "\
name: note
description: A note with one question
variables:
  title:
    type: string
    required: true
    position: 0
steps:
  - tool: template
    template: note.jig
";

const QUESTION_TEMPLATE: &str = "\
---
to: note.md
---
# {{ title }}

@ai()
  @prompt()
    One sentence about {{ title }}.
  @end
  @output({ key: 'summary', type: 'text' })
    One sentence.
  @end
@end
";

/// A project with a recipe that asks and a workflow that waits for a person.
fn project() -> CliProject {
    CliProject::with(&[
        (".drawloom/recipes/note/recipe.yml", QUESTION_RECIPE),
        (".drawloom/recipes/note/note.jig", QUESTION_TEMPLATE),
        (".drawloom/workflows/review.mmd", REVIEW),
    ])
}
