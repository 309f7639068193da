//! Branches of ours: names that git accepts whatever the text, and what is in their way.

use proptest::prelude::{ProptestConfig, any, proptest};
use vcs::{Branch, ErrorKind, Purpose};

use crate::fixture::{Stage, git, git_command};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_a_branch_that_git_accepts(job in any::<String>(), text in any::<String>()) {
        for purpose in [Purpose::Finished, Purpose::Draft] {
            let branch = Branch::of_job(purpose, &job, &text);
            let here = std::env::temp_dir();
            let checked = git_command(&here, &["check-ref-format", "--branch", branch.as_str()]);
            assert!({ checked }.output().unwrap().status.success(), "{branch}");
            assert!(Branch::parse(branch.as_str()).is_ok(), "{branch}");
            assert!(branch.as_str().len() <= 8 + 64 + 1 + 40, "{branch}");
        }
    }

    #[test]
    fn what_is_a_branch_here_is_one_for_git(name in "[-a-c./@{~ \\\\:*lock]{0,8}") {
        let here = std::env::temp_dir();
        // `-1` and `@{-1}` are questions to git, which are no names to us either.
        if let Ok(branch) = Branch::parse(&name) {
            let checked = git_command(&here, &["check-ref-format", "--branch", branch.as_str()]);
            assert!({ checked }.output().unwrap().status.success(), "{branch}");
        }
    }
}

#[test]
fn a_branch_is_made_once_and_numbered_when_taken() {
    let stage = Stage::clean();
    let project = stage.project();
    let repository = stage.repository();
    let head = stage.head();
    let wanted = Branch::of_job(Purpose::Finished, "j1", "add it");
    let make = |commit| repository.make_branch(&wanted, commit).unwrap().to_string();
    assert_eq!(make(&head), "builder/j1-add-it");
    assert_eq!(make(&head), "builder/j1-add-it", "the same commit is fine");
    let first = vcs::Commit::parse(&git(&project, &["rev-parse", "HEAD~1"])).unwrap();
    assert_eq!(make(&first), "builder/j1-add-it-2");
    assert_eq!(make(&first), "builder/j1-add-it-2");
    let tip = git(&project, &["rev-parse", "builder/j1-add-it"]);
    assert_eq!(tip, head.as_str(), "the first one is where it was");
}

#[test]
fn a_branch_with_the_name_of_a_folder_is_in_the_way() {
    let stage = Stage::clean();
    git(&stage.project(), &["branch", "builder"]);
    let wanted = Branch::of_job(Purpose::Finished, "j1", "add it");
    let repository = stage.repository();
    let error = repository.make_branch(&wanted, &stage.head()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BranchTaken, "{error}");
    assert!(error.to_string().contains("rename"), "{error}");
}
