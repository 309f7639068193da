//! `--ai-mode command`: a program plans, and works in a copy of the worktree; the plan is its leave.

use crate::build_fixture::{BuildFixture, PLAN, PLANNING, PROMPT, well};

/// A repository in which this program replaces the model. It finds its prompt in
/// `$prompt`, and in `$plan` what it should print when it is asked for a plan.
fn yard(script: &str) -> BuildFixture {
    let yard = BuildFixture::new(well());
    let folder = tempfile::tempdir().unwrap().keep();
    std::fs::write(folder.join("plan.json"), PLAN).unwrap();
    let program = format!(
        "prompt=$(cat)\nplan=$(cat '{}')\ncase \"$prompt\" in *'{PLANNING}'*) planning=1;; esac\n{script}",
        folder.join("plan.json").display()
    );
    let path = folder.join("agent.sh");
    std::fs::write(&path, program).unwrap();
    let settings = yard.project.read("drawloom.toml");
    let ai = format!(
        "[ai]\nmode = \"command\"\ncommand = \"sh '{}'\"\n",
        path.display()
    );
    let rest = settings.split_once("[builder]").unwrap().1;
    yard.project
        .write("drawloom.toml", &format!("{ai}\n[builder]{rest}"));
    yard
}

#[test]
fn a_program_plans_builds_and_mends_from_the_commit() {
    let yard = yard(
        "if [ \"$planning\" ]; then echo x > stray.txt; echo early > a.txt; echo \"$plan\"; exit; fi\n\
         case \"$prompt\" in *'a.txt:1:1: bad'*) word=good;; *) word=bad;; esac\n\
         echo \"$word, after $(head -c 5 a.txt)\" > a.txt\n\
         echo 'not planned' > README.md\necho I did what I could.\n",
    );
    yard.project.write("a.txt", "what the user is writing\n");
    let before = yard.users();
    let result = yard.result(&format!("build '{PROMPT}' --yes --json"), 0);
    assert_eq!(result["status"], "completed", "{result}");
    assert_eq!(result["result"]["repairAttempts"], 1, "{result}");
    let branch = result["result"]["branch"].as_str().unwrap();
    // What it did while planning is gone; then it saw the commit, and then its own work.
    assert_eq!(yard.at(branch, "a.txt"), "good, after bad,");
    assert_eq!(yard.at(branch, "README.md"), "# A project");
    let changed = yard.git(&["diff", "--name-only", "main", branch]);
    assert_eq!(changed, "a.txt");
    assert!(yard.model.received().is_empty(), "a model was asked");
    assert_eq!(yard.users(), before, "the checkout was touched");
    assert_eq!(yard.worktrees(), (0, 0));
}

#[test]
fn a_program_works_in_a_copy_without_git_and_without_our_own_folder() {
    let marks = tempfile::tempdir().unwrap();
    let listing = marks.path().join("listing");
    let yard = yard(&format!(
        "if [ \"$planning\" ]; then echo \"$plan\"; exit; fi\n\
         ls -a > '{}'; echo better > a.txt; echo Done.\n",
        listing.display()
    ));
    yard.result(&format!("build '{PROMPT}' --yes --json"), 0);
    let listed = std::fs::read_to_string(listing).unwrap();
    let names: Vec<&str> = listed.lines().collect();
    assert!(names.contains(&"a.txt"), "{names:?}");
    for name in [".git", ".drawloom"] {
        assert!(!names.contains(&name), "{names:?}");
    }
}

#[test]
fn a_program_that_fails_is_asked_again_when_the_build_goes_on() {
    let marks = tempfile::tempdir().unwrap();
    let yard = yard(&format!(
        "if [ \"$planning\" ]; then echo \"$plan\"; exit; fi\n\
         echo better > a.txt; mkdir '{}/tried' || {{ echo Done.; exit; }}\n\
         echo 'out of credit' >&2; exit 3\n",
        marks.path().display()
    ));
    let ran = yard.ends(&format!("build '{PROMPT}' --yes"), 1);
    for piece in ["E_BUILD_PROVIDER", "out of credit", "--resume"] {
        assert!(ran.err.contains(piece), "{piece:?}: {}", ran.err);
    }
    assert_eq!(yard.last()["status"], "failed");
    let result = yard.result("build --resume last --json", 0);
    assert_eq!(result["status"], "completed", "{result}");
    let branch = result["result"]["branch"].as_str().unwrap();
    assert_eq!(yard.at(branch, "a.txt"), "better");
}

#[test]
fn words_that_are_no_plan_go_back_to_the_program_with_what_is_wrong() {
    let yard = yard(
        "case \"$prompt\" in *'cannot be'*) echo \"$plan\";; *) echo 'I would change a.txt.';; esac\n",
    );
    let result = yard.result(&format!("build '{PROMPT}' --plan-only --json"), 0);
    assert_eq!(result["status"], "plan_ready", "{result}");
    assert_eq!(result["plan"]["files"][0]["path"], "a.txt");
}
