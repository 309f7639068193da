//! Runs from their begin to their end, as data: a workflow, what happens to it, and what becomes of it.

mod script;

use script::check;

#[test]
fn a_chain_runs_step_by_step() {
    check(
        "graph TD\n A[One] --> B[Two] --> C(Three)",
        "done A {\"n\": 1}\n done B 2\n answer C \"yes\"",
        "A:completed B:completed C:completed run:completed",
    );
}
