//! Finding 15: git took the callback key in, and an empty key was accepted.

use std::process::Command;

use crate::victim::{VictimProject, for_every_user};

const WORKFLOW: &str = "graph TD\n    A[Call]\n%% === WORKFLOW_CONFIG ===\n\
                        %% @A: { \"handler\": \"http\", \"awaitCallback\": true, \"retry\": { \"attempts\": 1 }, \
                        \"config\": { \"url\": \"http://127.0.0.1:9/\" } }\n%% === END_CONFIG ===\n";

/// Runs a step that needs a token, and so a key; what it says.
fn call(victim: &VictimProject) -> String {
    victim.write("project/call.mmd", WORKFLOW);
    let ran = victim.run("project", "workflow start call.mmd --wait --trust");
    format!("{}{}", ran.out, ran.err)
}

fn git(victim: &VictimProject, folder: &str, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*"]).args(words);
    let output = git.current_dir(victim.path(folder)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn git_ignores_what_is_private_with_and_without_init() {
    for_every_user(|victim| {
        victim.make_dir("other");
        for folder in ["project", "other"] {
            git(victim, folder, &["init", "-q"]);
        }
        let told = call(victim);
        assert!(victim.exists("project/.drawloom/drawloom.db"), "{told}");
        victim.write("project/.drawloom/callback.key", &"ab".repeat(32));
        let shown = git(victim, "project", &["status", "--porcelain", "-uall"]);
        assert!(!shown.contains(".drawloom"), "{shown}");
        victim.check("other", "init", 0, &[]);
        assert!(
            victim
                .read("other/.gitignore")
                .contains(".drawloom/callback.key")
        );
    });
}

#[test]
fn less_than_a_whole_key_is_an_error() {
    for_every_user(|victim| {
        for key in ["", "ab", &"z".repeat(64)] {
            victim.write("project/.drawloom/callback.key", key);
            victim.set_mode("project/.drawloom/callback.key", 0o600);
            let told = call(victim);
            assert!(told.contains("is no whole key"), "{key:?}: {told}");
            assert_eq!(victim.read("project/.drawloom/callback.key"), key);
        }
        // A whole key that came with a clone: its author can make tokens.
        let known = "ab".repeat(32);
        for mode in [0o644, 0o640, 0o604] {
            victim.write("project/.drawloom/callback.key", &known);
            victim.set_mode("project/.drawloom/callback.key", mode);
            let told = call(victim);
            assert!(told.contains("can be read by others"), "{mode:o}: {told}");
        }
        std::fs::remove_file(victim.path("project/.drawloom/callback.key")).unwrap();
        std::os::unix::fs::symlink("elsewhere", victim.path("project/.drawloom/callback.key"))
            .unwrap();
        let told = call(victim);
        assert!(told.contains("is not a file of its own"), "{told}");
        // A good one is taken over by the database, which is asked from then on.
        std::fs::remove_file(victim.path("project/.drawloom/callback.key")).unwrap();
        victim.write("project/.drawloom/callback.key", &known);
        victim.set_mode("project/.drawloom/callback.key", 0o600);
        assert!(!call(victim).contains("callback.key"));
    });
}
