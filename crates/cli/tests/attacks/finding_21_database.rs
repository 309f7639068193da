//! Finding 21: PostgreSQL was reached in clear text without a word, and a password on the command line
//! was taken without one.

use std::net::TcpListener;

use crate::victim::{ATTACKER, ORDINARY, for_every_user, is_root};

#[test]
fn a_password_on_the_command_line_is_warned_of() {
    for_every_user(|victim| {
        let line = "runs list --database postgres://me:canary@127.0.0.1:9/x";
        let ran = victim.check("project", line, 1, &["DRAWLOOM_DATABASE_URL"]);
        assert!(!ran.err.contains("canary"), "{}", ran.err);
    });
}

#[test]
fn doctor_knows_the_variable_of_the_database() {
    for_every_user(|victim| {
        let mut command = victim.command("project", "doctor");
        let output = command
            .env("DRAWLOOM_DATABASE_URL", "sqlite:x.db")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!said.contains("is no setting"), "{said}");
    });
}

#[test]
fn a_database_that_a_clone_names_is_not_asked_before_it_is_trusted() {
    for_every_user(|victim| {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let place = server.local_addr().unwrap();
        let settings = format!("[workflows]\ndatabase = 'postgres://{place}/x'\n");
        victim.write("project/drawloom.toml", &settings);
        let says = ["E_UNTRUSTED", "workflows.database"];
        victim.check("project", "runs list", 1, &says);
        assert!(server.accept().is_err(), "the server was asked");
    });
}

/// Where a group shares a checkout, the database belongs to the user of the first run, and its permissions
/// cannot be changed by the others.
#[test]
fn a_database_of_another_user_can_be_looked_at_where_its_group_may() {
    for_every_user(|victim| {
        if !is_root() || victim.uid() != ORDINARY {
            return;
        }
        victim.write("project/w.mmd", "graph TD\n A(Look)\n");
        victim.check("project", "workflow start w.mmd", 0, &[]);
        for name in ["drawloom.db", "drawloom.db-wal", "drawloom.db-shm"] {
            let path = format!("project/.drawloom/{name}");
            if victim.exists(&path) {
                victim.set_mode(&path, 0o660);
                std::os::unix::fs::chown(victim.path(&path), Some(ATTACKER), None).unwrap();
            }
        }
        victim.check("project", "runs list", 0, &["running"]);
        victim.check("project", "tasks list", 0, &["A"]);
    });
}
