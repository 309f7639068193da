//! Finding 4: `drawloom.toml` was obeyed from any author, and from the folders above as well.

use crate::victim::{ATTACKER, VictimProject, for_every_user, is_root};

const COMMAND: &str = "[ai]\nmode = 'command'\ncommand = \"sh -c 'id > ran.txt; echo hi'\"\n";

/// Asks in `folder`; the command of the settings must not have run.
#[track_caller]
fn ask(victim: &VictimProject, folder: &str, says: &[&str]) {
    let ran = victim.run(folder, "ai ask hello");
    for place in ["", "project", folder] {
        let place = format!("{place}/ran.txt");
        let place = place.trim_start_matches('/');
        assert!(!victim.exists(place), "{place}: {}", ran.err);
    }
    for piece in says {
        assert!(ran.err.contains(piece), "{piece}: {}", ran.err);
    }
}

#[test]
fn settings_above_in_a_world_writable_folder_are_ignored() {
    for_every_user(|victim| {
        victim.write("shared/drawloom.toml", COMMAND);
        victim.make_dir("shared/work");
        victim.set_mode("shared", 0o777);
        ask(
            victim,
            "shared/work",
            &["is not read", "every user may write", "chmod o-w"],
        );
        // The folder itself is worse: its `.drawloom` would be written to.
        ask(
            victim,
            "shared",
            &["E_OWNER", "chmod o-w", "DRAWLOOM_TRUST_PROJECTS"],
        );
    });
}

#[test]
fn settings_of_another_user_are_passed_over() {
    // Giving a file away takes root.
    if !is_root() {
        return;
    }
    for_every_user(|victim| {
        victim.write("shared/drawloom.toml", COMMAND);
        victim.make_dir("shared/work");
        victim.give_to_attacker("shared/drawloom.toml");
        let uid = format!("uid {ATTACKER}");
        ask(
            victim,
            "shared/work",
            &["is not read", "belongs to another user", &uid],
        );
        ask(victim, "shared", &["E_OWNER", &uid, "chown"]);
        victim.check("shared", "doctor", 1, &["is not read", &uid]);
    });
}

#[test]
fn a_folder_of_another_user_is_passed_over() {
    if !is_root() {
        return;
    }
    for_every_user(|victim| {
        victim.write(
            "shared/.drawloom/recipes/x/recipe.yml",
            "name: x\nsteps: []\n",
        );
        victim.give_to_attacker("shared/.drawloom/recipes");
        ask(victim, "shared", &["E_OWNER", "chown"]);
        victim.check("shared", "run x", 1, &["E_OWNER"]);
    });
}

#[test]
fn the_user_can_say_that_a_folder_is_fine() {
    for_every_user(|victim| {
        victim.write("shared/drawloom.toml", "[run]\non_conflict = 'skip'\n");
        victim.set_mode("shared", 0o777);
        victim.check("shared", "recipe list", 1, &["E_OWNER"]);
        let folder = victim.path("shared");
        let mut command = victim.command("shared", "recipe list");
        command.env("DRAWLOOM_TRUST_PROJECTS", &folder);
        assert!(command.output().unwrap().status.success());
        let listed = format!("[trust]\nprojects = ['{}']\n", folder.display());
        victim.write("home/.config/drawloom/config.toml", &listed);
        victim.check("shared", "recipe list", 0, &[]);
    });
}

#[test]
fn the_users_own_file_has_to_be_the_users_own() {
    for_every_user(|victim| {
        victim.write("home/.config/drawloom/config.toml", "[run]\ntrust = true\n");
        victim.set_mode("home/.config/drawloom/config.toml", 0o666);
        victim.check("project", "recipe list", 1, &["E_OWNER", "config.toml"]);
    });
}

#[test]
fn a_project_cannot_give_itself_permission() {
    for_every_user(|victim| {
        for settings in ["[run]\ntrust = true\n", "[trust]\nprojects = ['/']\n"] {
            victim.write("project/drawloom.toml", settings);
            let says = [
                "E_SETTINGS",
                "drawloom.toml:2:1",
                "~/.config/drawloom/config.toml",
            ];
            victim.check("project", "recipe list", 1, &says);
        }
    });
}
