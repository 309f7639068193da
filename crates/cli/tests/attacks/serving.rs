//! The link that makes its reader the admin of a server: private, out of git, and never written elsewhere.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::victim::{VictimProject, for_every_user};

/// A server, and the lines that it has printed before it serves.
struct Serving {
    child: Child,
    link: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(victim: &VictimProject) -> Serving {
    let line = "serve --listen 127.0.0.1:0 --no-worker --log off";
    let mut command = victim.command("project", line);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut link = String::new();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut link).unwrap();
    Serving { child, link }
}

fn git(victim: &VictimProject, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*"]).args(words);
    let output = git.current_dir(victim.path("project")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_link_is_its_users_own_and_git_leaves_it_out() {
    for_every_user(|victim| {
        git(victim, &["init", "-q"]);
        let serving = serve(victim);
        let file = "project/.drawloom/sign-in-link";
        assert!(serving.link.contains("/claim/"), "{}", serving.link);
        assert_eq!(victim.read(file), serving.link);
        assert_eq!(victim.mode(file), 0o600);
        let shown = git(victim, &["status", "--porcelain", "-uall"]);
        assert!(!shown.contains(".drawloom"), "{shown}");
    });
}

#[test]
fn a_link_in_a_clone_does_not_lead_the_file_elsewhere() {
    for_every_user(|victim| {
        victim.make_dir("elsewhere");
        victim.write("elsewhere/sign-in-link", "theirs\n");
        victim.make_dir("project/.drawloom");
        let link = victim.path("project/.drawloom/sign-in-link");
        std::os::unix::fs::symlink(victim.path("elsewhere/sign-in-link"), link).unwrap();
        let serving = serve(victim);
        assert!(serving.link.contains("/claim/"), "{}", serving.link);
        assert_eq!(victim.read("elsewhere/sign-in-link"), "theirs\n");
        drop(serving);
        std::fs::remove_dir_all(victim.path("project/.drawloom")).unwrap();
        let home = victim.path("project/.drawloom");
        std::os::unix::fs::symlink(victim.path("elsewhere"), home).unwrap();
        let _serving = serve(victim);
        assert_eq!(victim.read("elsewhere/sign-in-link"), "theirs\n");
    });
}

/// A model that works in the project reads neither the link nor the key of callbacks.
#[test]
fn no_model_reads_the_link() {
    use workspace::{AccessPolicy, RelPath};
    let policy = AccessPolicy::default();
    for file in [
        "sign-in-link",
        "callback.key",
        "drawloom.db",
        "drawloom.db-wal",
    ] {
        let path = RelPath::parse(&format!(".drawloom/{file}")).unwrap();
        assert!(policy.check_read(&path).is_err(), "{file}");
    }
}
