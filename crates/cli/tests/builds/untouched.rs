//! What the user has is the user's: dry runs, dirty checkouts, projects inside a repository.

use crate::build_fixture::{BuildFixture, PROMPT, well};

#[test]
fn a_dry_run_leaves_every_byte_and_says_all_the_same() {
    let yard = BuildFixture::new(well());
    let before = yard.users();
    let refs = yard.git(&["for-each-ref"]);
    let result = yard.result(&format!("build '{PROMPT}' --yes --dry-run --json"), 0);
    assert_eq!(result["status"], "completed");
    assert_eq!(result["options"]["dryRun"], true);
    let came = &result["result"];
    let diff = came["diffs"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("-start\n+better\n"), "{diff}");
    assert_eq!(came["planCoverage"]["generated"][0], "a.txt");
    assert_eq!(came["validationPassed"], true);
    assert!(
        came["branch"].is_null() && came["patchFile"].is_null(),
        "{came}"
    );
    assert_eq!(yard.users(), before);
    assert_eq!(yard.git(&["for-each-ref"]), refs);
    assert_eq!(yard.git(&["status", "--porcelain"]), "");
    assert_eq!(yard.worktrees(), (0, 0));
    let ran = yard.ends("builds publish last", 1);
    assert!(ran.err.contains("no commit to publish"), "{}", ran.err);
}

#[test]
fn a_dirty_checkout_is_left_as_it_is_and_not_built_from() {
    let yard = BuildFixture::new(well());
    yard.project.write("a.txt", "stashed\n");
    yard.git(&["stash", "--quiet"]);
    yard.project.write("a.txt", "what the user is writing\n");
    yard.project.write("staged.txt", "staged\n");
    yard.git(&["add", "staged.txt"]);
    yard.project.write("untracked.txt", "untracked\n");
    std::fs::remove_file(yard.path().join("README.md")).unwrap();
    let status = yard.git(&["status", "--porcelain"]);
    let before = yard.users();
    let result = yard.result(&format!("build '{PROMPT}' --yes --json"), 0);
    let branch = result["result"]["branch"].as_str().unwrap();
    assert_eq!(yard.git(&["diff", "--name-only", "main", branch]), "a.txt");
    assert_eq!(yard.at(branch, "a.txt"), "better");
    assert_eq!(yard.users(), before);
    assert_eq!(yard.git(&["status", "--porcelain"]), status);
    assert_eq!(yard.git(&["stash", "list"]).lines().count(), 1);
    assert_eq!(yard.git(&["branch", "--show-current"]), "main");
}

/// `init` was not run, and the project's own `.gitignore` does not know us.
#[test]
fn git_sees_nothing_of_what_a_build_keeps() {
    let yard = BuildFixture::new(well());
    yard.project.write(".gitignore", "drawloom.toml\n");
    yard.git(&["commit", "--quiet", "-a", "-m", "second"]);
    yard.ends(&format!("build '{PROMPT}' --yes"), 0);
    // Kept later, by other commands.
    for name in ["callback.key", "asked/one", "unfinished/one", "cache/one"] {
        yard.project
            .write(&format!(".drawloom/{name}"), "private\n");
    }
    assert!(yard.path().join(".drawloom/drawloom.db").exists());
    assert_eq!(yard.git(&["status", "--porcelain", "-uall"]), "");
}

#[test]
fn uncommitted_changes_are_said_and_built_from_on_request() {
    let yard = BuildFixture::new(well());
    yard.project.write("a.txt", "edited\n");
    yard.project.write("new.txt", "new\n");
    let before = yard.users();
    let ran = yard.ends(&format!("build '{PROMPT}' --plan-only"), 0);
    for piece in [
        "uncommitted changes are not part of this build: a.txt, new.txt",
        "`--uncommitted` builds from your files as they are",
    ] {
        assert!(ran.err.contains(piece), "{piece:?} is not in {}", ran.err);
    }
    let ran = yard.ends(&format!("build '{PROMPT}' --plan-only --uncommitted"), 0);
    assert!(!ran.err.contains("uncommitted changes"), "{}", ran.err);
    let base = yard.last()["base"]["commit"].as_str().unwrap().to_owned();
    assert_eq!(yard.at(&base, "a.txt"), "edited");
    assert_eq!(yard.at(&base, "new.txt"), "new");
    assert_eq!(yard.users(), before);
}
