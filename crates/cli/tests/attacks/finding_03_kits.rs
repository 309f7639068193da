//! Finding 3: a recipe from outside the project gained commands without `--trust`, in five ways.

use crate::victim::{VictimProject, for_every_user};

/// Puts a recipe outside the project; its one template is `x.jig`.
fn outside(victim: &VictimProject, steps: &str, template: &str) {
    let recipe = format!("name: evil\nsteps:\n{steps}");
    victim.write("evil/recipe.yml", &recipe);
    victim.write("evil/templates/x.jig", template);
}

/// The recipe must be refused with the step's file named, and the project must stay as it was.
#[track_caller]
fn refused(victim: &VictimProject, file: &str) {
    let before = victim.exists(&format!("project/{file}"));
    let path = victim.path("evil");
    let line = format!("run {}", path.display());
    victim.check("project", &line, 1, &["E_UNTRUSTED", "--trust", file]);
    assert_eq!(victim.exists(&format!("project/{file}")), before, "{file}");
    // Looking shows what it would do, and why that needs trust.
    victim.check(
        "project",
        &format!("{line} --dry-run"),
        0,
        &[file, "needs --trust"],
    );
}

#[test]
fn a_patch_cannot_change_the_settings() {
    for_every_user(|victim| {
        outside(
            victim,
            "  - { name: p, file: drawloom.toml, merge: { run: { on_conflict: force } } }\n",
            "",
        );
        refused(victim, "drawloom.toml");
    });
}

#[test]
fn a_forced_file_cannot_replace_a_recipe_of_the_project() {
    for_every_user(|victim| {
        victim.write(
            "project/.drawloom/recipes/hello/recipe.yml",
            "name: hello\nsteps: []\n",
        );
        outside(
            victim,
            "  - template: x\n",
            "---\nto: .drawloom/recipes/hello/recipe.yml\nforce: true\n---\nname: hello\n",
        );
        refused(victim, ".drawloom/recipes/hello/recipe.yml");
        let kept = victim.read("project/.drawloom/recipes/hello/recipe.yml");
        assert_eq!(kept, "name: hello\nsteps: []\n");
    });
}

#[test]
fn a_forced_file_cannot_replace_the_settings() {
    for_every_user(|victim| {
        victim.write("project/drawloom.toml", "");
        outside(
            victim,
            "  - template: x\n",
            "---\nto: drawloom.toml\nforce: true\n---\n[ai]\nmode = 'command'\ncommand = 'id'\n",
        );
        refused(victim, "drawloom.toml");
    });
}

#[test]
fn a_recipe_of_the_project_has_no_more_rights_than_its_caller() {
    for_every_user(|victim| {
        victim.write(
            "project/.drawloom/recipes/own/recipe.yml",
            "name: own\nvariables:\n  name: { type: string, default: you }\n\
             steps:\n  - command: echo hello {{ name }} > ran.txt\n",
        );
        for step in [
            "  - { name: call, recipe: own }\n",
            "  - { name: call, recipe: own, args: { name: 'x; id > ran.txt' } }\n",
        ] {
            outside(victim, step, "");
            let line = format!("run {}", victim.path("evil").display());
            victim.check("project", &line, 1, &["E_UNTRUSTED", "echo hello"]);
            assert!(!victim.exists("project/ran.txt"));
        }
    });
}

#[test]
fn files_that_run_later_need_trust() {
    let files = [
        ".drawloom/kits.lock",
        ".drawloom/generated/x.json",
        ".drawloom/callback.key",
        ".drawloom/workflows/x.mmd",
        ".drawloom/drawloom.db",
        ".envrc",
        ".vscode/tasks.json",
        ".github/workflows/x.yml",
        ".husky/pre-commit",
        ".npmrc",
        ".gitmodules",
    ];
    for_every_user(|victim| {
        for file in files {
            outside(
                victim,
                "  - template: x\n",
                &format!("---\nto: {file}\n---\nx\n"),
            );
            refused(victim, file);
        }
    });
}

#[test]
fn scripts_of_a_package_need_trust() {
    for_every_user(|victim| {
        victim.write("project/package.json", "{ \"name\": \"mine\" }\n");
        outside(
            victim,
            "  - { name: p, file: package.json, merge: { scripts: { postinstall: id } } }\n",
            "",
        );
        refused(victim, "package.json");
        assert!(!victim.read("project/package.json").contains("postinstall"));
    });
}

#[test]
fn a_link_in_the_project_is_no_way_around() {
    for_every_user(|victim| {
        victim.make_dir("project/.github");
        std::os::unix::fs::symlink(".github", victim.path("project/docs")).unwrap();
        outside(
            victim,
            "  - template: x\n",
            "---\nto: docs/workflows/x.yml\n---\nx\n",
        );
        refused(victim, "docs/workflows/x.yml");
    });
}

#[test]
fn force_is_the_persons_word() {
    for_every_user(|victim| {
        victim.write("project/notes.txt", "mine\n");
        outside(
            victim,
            "  - template: x\n",
            "---\nto: notes.txt\nforce: true\n---\ntheirs\n",
        );
        let line = format!("run {}", victim.path("evil").display());
        victim.check("project", &line, 1, &["notes.txt", "--force"]);
        assert_eq!(victim.read("project/notes.txt"), "mine\n");
        victim.check("project", &format!("{line} --force"), 0, &["notes.txt"]);
        assert_eq!(victim.read("project/notes.txt"), "theirs\n");
    });
}

#[test]
fn ordinary_files_need_nothing() {
    for_every_user(|victim| {
        outside(victim, "  - template: x\n", "---\nto: src/new.ts\n---\nx\n");
        let line = format!("run {}", victim.path("evil").display());
        victim.check("project", &line, 0, &["src/new.ts"]);
    });
}
