//! Branches made by this program: names that git accepts for any text, and obstacles to making
//! them.

use proptest::prelude::{ProptestConfig, any, proptest};
use vcs::{BranchName, BranchPurpose, VcsErrorKind};

use crate::fixture::{TestRepository, git, git_command};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_a_branch_that_git_accepts(job in any::<String>(), text in any::<String>()) {
        for purpose in [BranchPurpose::Finished, BranchPurpose::Draft] {
            let branch = BranchName::of_job(purpose, &job, &text);
            let here = std::env::temp_dir();
            let checked = git_command(&here, &["check-ref-format", "--branch", branch.as_str()]);
            assert!({ checked }.output().unwrap().status.success(), "{branch}");
            assert!(BranchName::parse(branch.as_str()).is_ok(), "{branch}");
            assert!(branch.as_str().len() <= 8 + 64 + 1 + 40, "{branch}");
        }
    }

    #[test]
    fn a_valid_branch_name_here_is_valid_for_git(name in "[-a-c./@{~ \\\\:*lock]{0,8}") {
        let here = std::env::temp_dir();
        // `-1` and `@{-1}` are questions to git, which are no names to us either.
        if let Ok(branch) = BranchName::parse(&name) {
            let checked = git_command(&here, &["check-ref-format", "--branch", branch.as_str()]);
            assert!({ checked }.output().unwrap().status.success(), "{branch}");
        }
    }
}

#[test]
fn a_branch_is_made_once_and_numbered_when_taken() {
    let stage = TestRepository::clean();
    let project = stage.project();
    let repository = stage.repository();
    let head = stage.head();
    let wanted = BranchName::of_job(BranchPurpose::Finished, "j1", "add it");
    let make = |commit| repository.make_branch(&wanted, commit).unwrap().to_string();
    assert_eq!(make(&head), "builder/j1-add-it");
    assert_eq!(make(&head), "builder/j1-add-it", "the same commit is fine");
    let first = vcs::CommitId::parse(&git(&project, &["rev-parse", "HEAD~1"])).unwrap();
    assert_eq!(make(&first), "builder/j1-add-it-2");
    assert_eq!(make(&first), "builder/j1-add-it-2");
    let tip = git(&project, &["rev-parse", "builder/j1-add-it"]);
    assert_eq!(tip, head.as_str(), "the first one is where it was");
}

#[test]
fn a_branch_with_the_name_of_a_folder_is_in_the_way() {
    let stage = TestRepository::clean();
    git(&stage.project(), &["branch", "builder"]);
    let wanted = BranchName::of_job(BranchPurpose::Finished, "j1", "add it");
    let repository = stage.repository();
    let error = repository.make_branch(&wanted, &stage.head()).unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::BranchTaken, "{error}");
    assert!(error.to_string().contains("rename"), "{error}");
}
