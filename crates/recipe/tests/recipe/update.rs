//! A newer recipe merged into what an older one made.

use std::path::Path;

use crate::check::{Case, Person, Ran, recipe, write};
use recipe::{
    RecipeRunMode, RecipeRunRequest, SettledConflict, UpdateOutcome, UpdateReport, load, update,
};
use serde_json::json;
use workspace::{RelPath, Root};

const MANIFEST: &str = "name: it\nvariables:\n  name: { type: string, position: 0 }\nsteps:\n  - template: files\n  - command: touch ran-{{ name }}\n";

fn first() -> Case {
    recipe(MANIFEST)
        .file(
            ".drawloom/recipes/it/files/{{ name }}.txt.jig",
            "head\n\none\ntwo\nthree\n\ntail {{ name }}\n",
        )
        .file(
            ".drawloom/recipes/it/files/{{ name }}.asked.jig",
            "@ai('k')\n@prompt()\nWhat?\n@end\n@end\n",
        )
        .answers(json!({ "k": "answer" }))
        .args("a")
}

fn updated(
    ran: &Ran,
    change: impl FnOnce(&mut RecipeRunRequest),
) -> Result<UpdateOutcome, recipe::Error> {
    let root = Root::open(ran.path()).unwrap();
    let recipe = load(&root, &ran.path().join(".drawloom/recipes/it"))?;
    let mut request = RecipeRunRequest::default();
    change(&mut request);
    update(&recipe, &root, &request, &mut Person::default())
}

#[track_caller]
fn report(outcome: UpdateOutcome) -> UpdateReport {
    match outcome {
        UpdateOutcome::Done(report) | UpdateOutcome::Shown(report) => report,
        UpdateOutcome::AnswersNeeded(needed) => panic!("{}", needed.document),
    }
}

fn statuses(report: &UpdateReport) -> String {
    let statuses = report.files.iter().map(|file| {
        let status = serde_json::to_value(file.status).unwrap();
        format!("{} {}", status.as_str().unwrap(), file.path)
    });
    statuses.collect::<Vec<_>>().join(", ")
}

fn newer(dir: &Path) {
    let text = "head\n\none\ntwo\nTHREE\n\ntail {{ name }}\nmore\n";
    write(dir, ".drawloom/recipes/it/files/{{ name }}.txt.jig", text);
}

#[test]
fn edits_and_the_newer_template_go_together() {
    let ran = first().run();
    ran.done();
    newer(ran.path());
    write(ran.path(), "a.txt", "HEAD\n\none\ntwo\nthree\n\ntail a\n");
    let before = ran.text("a.txt");
    let shown = report(updated(&ran, |request| request.mode = RecipeRunMode::DryRun).unwrap());
    assert_eq!(statuses(&shown), "unchanged a.asked, merged a.txt");
    assert!(
        shown.files[1].diff.contains("+THREE"),
        "{}",
        shown.files[1].diff
    );
    assert_eq!(ran.text("a.txt"), before);
    let done = report(updated(&ran, |_| {}).unwrap());
    assert_eq!(statuses(&done), "unchanged a.asked, merged a.txt");
    assert_eq!(
        ran.text("a.txt"),
        "HEAD\n\none\ntwo\nTHREE\n\ntail a\nmore\n"
    );
    assert_eq!(done.commands_not_run, ["touch ran-a"]);
    let again = report(updated(&ran, |_| {}).unwrap());
    assert_eq!(statuses(&again), "unchanged a.asked, unchanged a.txt");
}

#[test]
fn an_unedited_file_is_replaced_and_a_deleted_one_stays_deleted() {
    let ran = first().run();
    newer(ran.path());
    std::fs::remove_file(ran.path().join("a.asked")).unwrap();
    write(
        ran.path(),
        ".drawloom/recipes/it/files/new.txt.jig",
        "new\n",
    );
    let done = report(updated(&ran, |_| {}).unwrap());
    assert_eq!(
        statuses(&done),
        "created new.txt, deleted-by-user a.asked, updated a.txt"
    );
    assert!(!ran.exists("a.asked"));
    assert_eq!(ran.text("new.txt"), "new\n");
}

#[test]
fn lines_changed_by_both_get_marks() {
    let ran = first().run();
    newer(ran.path());
    write(ran.path(), "a.txt", "head\n\none\ntwo\nmine\n\ntail a\n");
    let done = report(updated(&ran, |_| {}).unwrap());
    assert_eq!(done.conflicts, 1);
    let text = ran.text("a.txt");
    assert!(
        text.contains("<<<<<<< your file\nmine\n") && text.contains("THREE\n>>>>>>>"),
        "{text}"
    );
    assert!(text.ends_with("tail a\nmore\n"), "{text}");
}

#[test]
fn conflicts_that_a_person_has_settled_are_written_as_they_say() {
    let settled = |marked: &str| SettledConflict {
        path: RelPath::parse("a.txt").unwrap(),
        marked: marked.to_owned(),
        text: "head\n\none\ntwo\nboth\n\ntail a\nmore\n".to_owned(),
    };
    let ran = first().run();
    newer(ran.path());
    write(ran.path(), "a.txt", "head\n\none\ntwo\nmine\n\ntail a\n");
    let shown = report(updated(&ran, |request| request.mode = RecipeRunMode::DryRun).unwrap());
    let marked = shown
        .files
        .iter()
        .find_map(|file| file.marked.clone())
        .unwrap();
    assert!(marked.contains("<<<<<<< your file\nmine\n"), "{marked}");
    // Another text was settled: the marks stay.
    let dry = |request: &mut RecipeRunRequest, one: SettledConflict| {
        request.mode = RecipeRunMode::DryRun;
        request.resolutions = vec![one];
    };
    let stale = report(updated(&ran, |request| dry(request, settled("other"))).unwrap());
    assert_eq!(stale.conflicts, 1);
    // A form sends lines that end with CR LF.
    let sent = settled(&marked.replace('\n', "\r\n"));
    let done = report(updated(&ran, |request| request.resolutions = vec![sent.clone()]).unwrap());
    assert_eq!(
        (done.conflicts, statuses(&done).as_str()),
        (0, "unchanged a.asked, merged a.txt")
    );
    assert_eq!(ran.text("a.txt"), settled("").text);
}

/// Who may run recipes on a server may not add what runs by itself.
#[test]
fn conflicts_in_a_file_that_runs_by_itself_are_not_settled_elsewhere() {
    let file = ".drawloom/recipes/it/files/conftest.py.jig";
    let case = recipe("name: it\nsteps:\n  - template: files\n").file(file, "one\ntwo\n");
    let ran = case.run();
    ran.done();
    write(ran.path(), file, "one\nTWO\n");
    write(ran.path(), "conftest.py", "one\nmine\n");
    let shown = report(updated(&ran, |request| request.mode = RecipeRunMode::DryRun).unwrap());
    let settled = SettledConflict {
        path: RelPath::parse("conftest.py").unwrap(),
        marked: shown.files[0].marked.clone().unwrap(),
        text: "import os; os.system('id')\n".to_owned(),
    };
    let done = report(updated(&ran, |request| request.resolutions = vec![settled]).unwrap());
    assert_eq!(done.conflicts, 1);
    let text = ran.text("conftest.py");
    assert!(
        text.contains("<<<<<<< your file\nmine\n") && !text.contains("os.system"),
        "{text}"
    );
}

#[test]
fn every_set_of_values_is_updated() {
    let ran = first().run();
    let ran = first().args("b").run_in(ran.into_dir());
    ran.done();
    newer(ran.path());
    std::fs::remove_file(
        ran.path()
            .join(".drawloom/recipes/it/files/{{ name }}.asked.jig"),
    )
    .unwrap();
    let done = report(updated(&ran, |_| {}).unwrap());
    assert_eq!(
        statuses(&done),
        "updated a.txt, no-longer-generated a.asked, updated b.txt, no-longer-generated b.asked"
    );
    assert!(
        ran.exists("a.asked"),
        "what is no longer generated is left alone"
    );
}

#[test]
fn new_questions_are_asked_and_old_answers_kept() {
    let ran = first().run();
    let both = "@ai('k')\n@prompt()\nWhat?\n@end\n@end\n@ai('n')\n@prompt()\nNew?\n@end\n@end\n";
    write(
        ran.path(),
        ".drawloom/recipes/it/files/{{ name }}.asked.jig",
        both,
    );
    let UpdateOutcome::AnswersNeeded(needed) = updated(&ran, |_| {}).unwrap() else {
        panic!()
    };
    assert_eq!(needed.questionnaire.keys().collect::<Vec<_>>(), ["n"]);
    let answers = prompt::Answers::read("{\"n\": \"now\"}", "a.json").unwrap();
    let done = report(updated(&ran, |request| request.answers = Some(answers)).unwrap());
    assert_eq!(statuses(&done), "updated a.asked, unchanged a.txt");
    assert!(ran.text("a.asked").contains("answer") && ran.text("a.asked").contains("now"));
}

#[test]
fn a_recipe_that_made_nothing_cannot_be_updated() {
    let ran = first().run();
    std::fs::remove_dir_all(ran.path().join(".drawloom/generated")).unwrap();
    let error = updated(&ran, |_| {}).unwrap_err();
    assert!(
        error.to_string().contains("run the recipe first"),
        "{error}"
    );
}
