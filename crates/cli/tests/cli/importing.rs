//! `import hygen`: generators of hygen become a kit that runs.

use serde_json::Value;

use crate::project::ExpectedText::{Anything, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

const TEMPLATE: &str = "\
---
to: src/<%= name %>.txt
---
Hello <%= h.changeCase.pascal(name) %>
<% if (locals.loud) { -%>
LOUD
<% } -%>
";

#[test]
fn generators_become_recipes_that_run() {
    let project = CliProject::with(&[("_templates/greeting/new/hello.ejs.t", TEMPLATE)]);
    let says = ["added hygen", "drawloom run hygen/greeting/new"];
    check(
        &project,
        "import hygen",
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Has(&says),
        },
    );
    let expect = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Has(&["src/ada-lovelace.txt"]),
    };
    check(
        &project,
        "run hygen/greeting/new --name ada-lovelace",
        expect,
    );
    assert_eq!(project.read("src/ada-lovelace.txt"), "Hello AdaLovelace\n");
    let again = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["hygen", "--force"]),
    };
    check(&project, "import hygen", again);
    let ran = check(
        &project,
        "import hygen --as ours --json",
        ExpectedRun {
            exit: 0,
            out: Anything,
            err: Nothing,
        },
    );
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["name"], "ours");
    assert_eq!(document["recipes"][0], "ours/greeting/new");
}

#[test]
fn a_folder_without_generators_is_an_error() {
    let project = CliProject::with(&[("empty/readme.txt", "hello")]);
    let missing = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["there is no folder _templates"]),
    };
    check(&project, "import hygen", missing);
    let empty = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["no generators"]),
    };
    check(&project, "import hygen empty", empty);
}
