//! People: added, listed, edited, and every wrong use refused with nothing changed.

use crate::project::CliProject;
use crate::{document, done, refused};

#[test]
fn people_are_added_listed_and_edited() {
    check_people(&CliProject::empty());
}

#[test]
fn wrong_uses_say_what_to_do_and_change_nothing() {
    check_wrong_uses(&CliProject::empty());
}

pub(crate) fn check_people(project: &CliProject) {
    let ran = done(project, "users list");
    assert!(ran.err.contains("There are no users here"), "{}", ran.err);
    let line = "users add ada --email ada@example.org --name 'Ada Lovelace' --role admin --json";
    let ada = document(project, line);
    assert_eq!(ada["slug"], "ada");
    assert_eq!(ada["displayName"], "Ada Lovelace");
    assert_eq!(ada["isAgent"], false);
    assert_eq!(ada["revision"], 1);
    done(project, "users add bob --email bob@example.org");
    done(project, "agents add writer --prompt 'You write.'");
    let listed = done(project, "users list").out;
    let expected = "ada     person  admin     active  ada@example.org  Ada Lovelace\n\
                    bob     person  operator  active  bob@example.org  bob\n\
                    writer  agent   operator  active  -                writer\n";
    assert_eq!(listed, expected);

    let line = "users edit ada --role viewer --inactive --email ada@new.org --json";
    let edited = document(project, line);
    assert_eq!(edited["role"], "viewer");
    assert_eq!(edited["isActive"], false);
    assert_eq!(edited["email"], "ada@new.org");
    assert_eq!(edited["revision"], 2);
    assert_eq!(document(project, "users list --json")["users"][0], edited);
    let again = document(project, "users edit ada --active --json");
    assert_eq!(again["isActive"], true);
}

pub(crate) fn check_wrong_uses(project: &CliProject) {
    done(project, "users add ada --email ada@example.org");
    done(project, "agents add writer --prompt 'You write.'");
    let before = document(project, "users list --json");
    for (line, exit, says) in [
        ("users add Ada --email a@x.org", 64, &["small letters"][..]),
        (
            "users add ada --email b@x.org",
            1,
            &["a user `ada` already"],
        ),
        (
            "users add eve --email ADA@example.org",
            1,
            &["has the address"],
        ),
        ("users add eve --email nowhere", 64, &["no mail address"]),
        ("users add eve", 64, &["--email"]),
        (
            "users add eve --email e@x.org --role king",
            64,
            &["admin, operator"],
        ),
        (
            "users edit eve --inactive",
            1,
            &["no user `eve`", "users list"],
        ),
        ("users edit ada", 64, &["`ada` would not change"]),
        ("users edit ada --active --inactive", 64, &["--inactive"]),
        (
            "users edit ada --name B --if-revision 7",
            1,
            &["edited in the meantime"],
        ),
        (
            "users edit writer --name B",
            64,
            &["is an agent", "drawloom agents"],
        ),
        (
            "agents edit ada --prompt B",
            64,
            &["is a person", "drawloom users"],
        ),
    ] {
        refused(project, line, exit, says);
    }
    assert_eq!(document(project, "users list --json"), before);
}
