//! Workflows that go elsewhere and come back.

use crate::weave::{bare, document};

#[test]
fn what_is_exported_can_be_imported() {
    let project = bare();
    project.write("pr.mmd", include_str!("data/pr-review.mmd"));
    let exported = project.run("workflow export pr.mmd");
    let json = document(&exported);
    assert_eq!(json["exportVersion"], "2.0", "{}", exported.err);
    project.write("out.json", &exported.out);
    let shown = project.run("workflow import out.json --name review --dry-run --json");
    assert_eq!(document(&shown)["written"], false);
    assert!(!project.path().join(".drawloom/workflows").exists());
    assert_eq!(
        project.run("workflow import out.json --name review").exit,
        0
    );
    assert_eq!(
        project.read(".drawloom/workflows/review.mmd"),
        include_str!("data/pr-review.mmd")
    );
    assert_eq!(
        project.run("workflow import out.json --name review").exit,
        1
    );
    assert_eq!(project.run("workflow check review").exit, 0);
    let svg = project.run("workflow start review prNumber=1 && true");
    assert_eq!(svg.exit, 64, "words that are no values are refused");
    assert_eq!(project.run("workflow start review prNumber=1").exit, 0);
    let picture = project.run("workflow render --run last");
    assert!(picture.out.starts_with("<svg"), "{}", picture.err);
}
