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
