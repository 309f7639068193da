//! Trust is in what was shown in one folder: no other name, folder or moment takes it over.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags};

use crate::victim::{VictimProject, for_every_user};

fn recipe(command: &str) -> String {
    format!("name: x\nsteps:\n  - command: {command}\n")
}

const RECIPE: &str = ".drawloom/recipes/x/recipe.yml";

/// A project that is trusted as it is, and one that is not, with a command each.
fn prepare(victim: &VictimProject) {
    victim.write(&format!("project/{RECIPE}"), &recipe("touch good.txt"));
    victim.write(&format!("hostile/{RECIPE}"), &recipe("touch evil.txt"));
    victim.check("project", "trust", 0, &["touch good.txt"]);
    victim.check("project", "run x", 0, &[]);
}

#[track_caller]
fn refused(victim: &VictimProject, folder: &str, line: &str) {
    victim.check(folder, line, 1, &["E_UNTRUSTED"]);
    for folder in ["hostile", "project", "other", "link", "PROJECT"] {
        assert!(!victim.exists(&format!("{folder}/evil.txt")), "{line}");
    }
}

#[test]
fn another_folder_is_not_trusted_by_its_name() {
    for_every_user(|victim| {
        prepare(victim);
        symlink(victim.path("hostile"), victim.path("link")).unwrap();
        for folder in [
            "hostile",
            "link",
            "project/../hostile",
            "project/.drawloom/../../hostile",
        ] {
            let place = victim.path(folder);
            let line = format!("--cwd {} run x", place.display());
            refused(victim, "home", &line);
        }
        // The trusted one stays itself, whatever it is called by.
        symlink(victim.path("project"), victim.path("same")).unwrap();
        for folder in ["project/.", "project//", "same", "hostile/../project"] {
            let line = format!("--cwd {} run x", victim.path(folder).display());
            victim.check("home", &line, 0, &[]);
        }
        // Another spelling of the name is another folder.
        std::fs::rename(victim.path("hostile"), victim.path("PROJECT")).unwrap();
        refused(victim, "PROJECT", "run x");
        // A link that is turned around between two commands.
        std::fs::remove_file(victim.path("same")).unwrap();
        symlink(victim.path("PROJECT"), victim.path("same")).unwrap();
        let line = format!("--cwd {} run x", victim.path("same").display());
        refused(victim, "home", &line);
        // A folder that takes the place of the trusted one, and the trusted one under another name.
        std::fs::rename(victim.path("project"), victim.path("other")).unwrap();
        std::fs::rename(victim.path("PROJECT"), victim.path("project")).unwrap();
        refused(victim, "project", "run x");
        victim.check("other", "run x", 1, &["E_UNTRUSTED"]);
    });
}

#[test]
fn a_folder_that_was_made_here_is_not_the_one_that_takes_its_place() {
    for_every_user(|victim| {
        victim.check("project", "init", 0, &[]);
        victim.write(&format!("project/{RECIPE}"), &recipe("touch good.txt"));
        victim.check("project", "run x", 0, &[]);
        victim.write(&format!("hostile/{RECIPE}"), &recipe("touch evil.txt"));
        std::fs::remove_dir_all(victim.path("project")).unwrap();
        std::fs::rename(victim.path("hostile"), victim.path("project")).unwrap();
        refused(victim, "project", "run x");
        // Made anew at the same place it may even get the same number on the disk.
        std::fs::remove_dir_all(victim.path("project")).unwrap();
        victim.write(&format!("project/{RECIPE}"), &recipe("touch evil.txt"));
        refused(victim, "project", "run x");
    });
}

/// Number of commands that are run while what they read is exchanged.
const TRIES: usize = 40;

/// Runs the recipe that was checked, however fast a recipe is exchanged for another one.
#[test]
fn a_recipe_that_is_exchanged_meanwhile_runs_as_it_was_checked() {
    for_every_user(|victim| {
        prepare(victim);
        let folder = "project/.drawloom/recipes";
        victim.write(&format!("{folder}/y/recipe.yml"), &recipe("touch evil.txt"));
        let (one, other) = (
            victim.path(&format!("{folder}/x/recipe.yml")),
            victim.path(&format!("{folder}/y/recipe.yml")),
        );
        let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
        let mut ran = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE)
                        .unwrap();
                    swaps.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
            });
            for _ in 0..TRIES {
                let done = victim.run("project", "run x");
                ran += usize::from(done.exit == 0);
                let is_known = done.exit == 0 || done.err.contains("E_UNTRUSTED");
                let has_escaped = victim.exists("project/evil.txt");
                if !is_known || has_escaped {
                    stop.store(true, Ordering::Relaxed);
                    panic!("{has_escaped}: {}{}", done.out, done.err);
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        let swaps = swaps.load(Ordering::Relaxed);
        assert!(swaps > TRIES, "only {swaps} exchanges");
    });
}
