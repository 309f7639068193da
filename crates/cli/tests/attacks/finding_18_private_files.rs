//! Findings 17 and 18: stored files were readable for every user by a wide umask, and a link in a clone
//! led it out of the project.

use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::victim::{VictimProject, for_every_user};

const ANSWERS: &str = "[ai]\nmode = 'command'\ncommand = \"printf '{\\\"a\\\": \\\"yes\\\"}'\"\n";

/// Runs with a umask that takes nothing away.
fn run_widely(victim: &VictimProject, line: &str) -> String {
    let plain = victim.command("project", line);
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 000; exec \"$0\" \"$@\""])
        .arg(plain.get_program());
    command
        .args(plain.get_args())
        .current_dir(victim.path("project"))
        .env_clear();
    command.envs(
        plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command.uid(victim.uid()).gid(victim.uid());
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn stored_files_are_private_whatever_the_umask() {
    for_every_user(|victim| {
        victim.write("project/drawloom.toml", ANSWERS);
        victim.write(
            "project/.drawloom/recipes/x/recipe.yml",
            "name: x\nsteps:\n  - template: x\n  - command: 'false'\n",
        );
        victim.write(
            "project/.drawloom/recipes/x/templates/x.jig",
            "---\nto: x.txt\n---\n@ai('a')\n@prompt()\nWhat?\n@end\n@end\n",
        );
        let told = run_widely(victim, "run x --trust --record tape");
        let mut found = 0;
        for folder in ["project/.drawloom/answers", "project/tape"] {
            for file in std::fs::read_dir(victim.path(folder))
                .unwrap_or_else(|_| panic!("{folder}: {told}"))
            {
                let file = file.unwrap().path();
                let relative = file.strip_prefix(victim.path("")).unwrap();
                assert_eq!(
                    victim.mode(relative.to_str().unwrap()),
                    0o600,
                    "{relative:?}"
                );
                found += 1;
            }
            assert_eq!(victim.mode(folder), 0o700, "{folder}");
        }
        assert!(found >= 2, "{told}");
    });
}

/// A run that is killed leaves its journal and the originals behind; they are its owner's.
#[test]
fn a_change_that_was_interrupted_is_its_owners() {
    for_every_user(|victim| {
        victim.write(
            "project/.drawloom/recipes/x/recipe.yml",
            "name: x\nsteps:\n  - template: x\n",
        );
        victim.write(
            "project/.drawloom/recipes/x/templates/x.jig",
            "---\nto: x.txt\nforce: true\n---\nnew\n",
        );
        victim.write("project/x.txt", "old\n");
        // A folder of an earlier version, which every user could read and write.
        victim.make_dir("project/.drawloom/apply");
        victim.set_mode("project/.drawloom/apply", 0o777);
        victim.write("project/.drawloom/apply/lock", "");
        let held = std::fs::File::open(victim.path("project/.drawloom/apply/lock")).unwrap();
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let mut waits = victim.command("project", "run x --trust").spawn().unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while victim.mode("project/.drawloom/apply") != 0o700 {
            assert!(
                std::time::Instant::now() < until,
                "it stays as wide as it was"
            );
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        drop(held);
        assert!(waits.wait().unwrap().success());
        assert_eq!(victim.read("project/x.txt"), "new\n");
    });
}

#[test]
fn a_link_in_the_clone_leads_nothing_out() {
    for_every_user(|victim| {
        victim.make_dir("outside");
        victim.make_dir("project/.drawloom");
        for name in ["answers", "ledger", "patches"] {
            symlink(
                victim.path("outside"),
                victim.path("project/.drawloom").join(name),
            )
            .unwrap();
        }
        victim.write("project/drawloom.toml", ANSWERS);
        victim.write(
            "project/r/recipe.yml",
            "name: r\nsteps:\n  - template: x\n  - command: 'false'\n",
        );
        victim.write(
            "project/r/templates/x.jig",
            "---\nto: x.txt\n---\n@ai('a')\n@prompt()\nWhat?\n@end\n@end\n",
        );
        victim.run("project", "run ./r --trust");
        let left: Vec<_> = std::fs::read_dir(victim.path("outside")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    });
}
