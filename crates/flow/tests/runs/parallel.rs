//! Chains and parallel paths: who runs when, and when a run is over.

use crate::script::check;

#[test]
fn several_edges_fan_out_and_a_run_ends_with_the_last_path() {
    check(
        "graph TD\n A[One] --> B[Left] & C[Right]",
        "done A 1\n done B 2",
        "A:completed B:completed C:pending run:running",
    );
    check(
        "graph TD\n A[One] --> B[Left] & C[Right]",
        "done A 1\n done B 2\n done C 3\n expect result 3",
        "A:completed B:completed C:completed run:completed",
    );
}

#[test]
fn a_step_that_two_paths_reach_runs_once_for_each() {
    check(
        "graph TD\n A[One] --> B[Left] & C[Right]\n B --> D[Both]\n C --> D",
        "done A 1\n done B 2\n done C 3\n done D 4\n done D~2 5",
        "A:completed B:completed C:completed D:completed D~2:completed run:completed",
    );
}

#[test]
fn a_chain_runs_step_by_step() {
    check(
        "graph TD\n A[One] --> B[Two] --> C(Three)",
        "done A {\"n\": 1}
         done B 2
         answer C \"yes\"
         expect result \"yes\"
         expect notices task_for_you run_completed",
        "A:completed B:completed C:completed run:completed",
    );
}
