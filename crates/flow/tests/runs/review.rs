//! The pull-request review of the seed, from its start to each of its ends.

use crate::script::check;

#[test]
fn the_review_of_a_pull_request_comes_to_each_of_its_ends() {
    let source = include_str!("../pr-review.mmd");
    let begin = "done A {\"title\": \"t\"}\n done B {\"files\": [{\"path\": \"a.rs\"}, {\"path\": \"b.rs\"}]}
        done C[0]/C {\"score\": 90}\n done C[1]/C {\"score\": 70}\n";
    let done = "A:completed B:completed C:completed D:completed";
    let items = "C[0]/C:completed C[1]/C:completed";
    check(
        source,
        &format!("{begin} done D {{\"score\": 85}}\n expect decided E>F\n done F 1\n done I 1"),
        &format!("{done} F:completed I:completed {items} run:completed"),
    );
    check(
        source,
        &format!(
            "{begin} done D {{\"score\": 50}}\n answer G \"approve\"\n done I 1\n expect decided E>G"
        ),
        &format!("{done} G:completed I:completed {items} run:completed"),
    );
    check(
        source,
        &format!(
            "{begin} done D {{\"score\": 10}}\n done H {{}}\n done K 1\n expect decided E>H J>K"
        ),
        &format!("{done} H:completed K:completed {items} run:completed"),
    );
    check(
        source,
        &format!(
            "{begin} done D {{\"score\": 10}}\n done H {{\"shouldRetry\": true}}\n done A~2 {{}}\n done B~2 {{\"files\": []}}
             done D~2 {{\"score\": 99}}\n done F 1\n done I 1\n expect decided E>H J>A E>F"
        ),
        &format!(
            "A:completed A~2:completed B:completed B~2:completed C:completed C~2:completed D:completed
             D~2:completed F:completed H:completed I:completed {items} run:completed"
        ),
    );
}
