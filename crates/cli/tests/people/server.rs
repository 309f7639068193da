//! The same on a server: what is kept in a file by default is kept there when the settings, the
//! environment or a flag say so.

use serde_json::Value;

use crate::cluster::{Cluster, Flush};
use crate::project::CliProject;
use crate::{added, agents, attempts, document, done, schedules, users};

/// A server with an empty database.
struct PeopleServer {
    _runtime: tokio::runtime::Runtime,
    _cluster: Cluster,
    address: String,
}

impl PeopleServer {
    fn start() -> PeopleServer {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let cluster = runtime.block_on(Cluster::start(Flush::No));
        let address = runtime.block_on(cluster.database("shared"));
        PeopleServer {
            _runtime: runtime,
            _cluster: cluster,
            address,
        }
    }

    /// A project whose settings name the server.
    fn project(&self) -> CliProject {
        let settings = format!("[workflows]\ndatabase = \"{}\"\n", self.address);
        CliProject::with(&[("drawloom.toml", &settings)])
    }
}

/// No file was made beside the server's database.
#[track_caller]
fn keeps_no_file(project: &CliProject) {
    let place = project.path().join(".drawloom/drawloom.db");
    assert!(!place.exists(), "a file was made");
}

#[test]
fn people_are_added_listed_and_edited() {
    let server = PeopleServer::start();
    let project = server.project();
    users::check_people(&project);
    keeps_no_file(&project);
}

#[test]
fn wrong_uses_say_what_to_do_and_change_nothing() {
    let server = PeopleServer::start();
    users::check_wrong_uses(&server.project());
}

#[test]
fn workflows_know_agents_that_were_added_and_are_active() {
    let server = PeopleServer::start();
    let project = server.project();
    agents::check_known(&project);
    keeps_no_file(&project);
}

#[test]
fn schedules_are_added_shown_switched_and_removed() {
    let server = PeopleServer::start();
    schedules::check_added(&schedules::prepared(server.project()));
}

#[test]
fn a_due_time_has_one_run_however_many_fire() {
    let server = PeopleServer::start();
    schedules::check_fired_once(&schedules::prepared(server.project()));
}

#[test]
fn a_worker_begins_what_is_due_and_does_it() {
    let server = PeopleServer::start();
    schedules::check_worked(&schedules::prepared(server.project()));
}

#[test]
fn every_attempt_is_shown_with_who_and_why() {
    let server = PeopleServer::start();
    let project = server.project();
    let settings = project.read("drawloom.toml");
    project.write(
        "drawloom.toml",
        &format!("{settings}\n{}", attempts::SETTINGS),
    );
    attempts::check_attempts(&project);
}

#[test]
fn who_was_added_on_one_machine_is_known_on_another() {
    let server = PeopleServer::start();
    let (here, there) = (server.project(), CliProject::empty());
    done(&here, "agents add writer --prompt 'You write.'");
    let line = format!("agents list --json --database '{}'", server.address);
    let by_flag = document(&there, &line);
    let by_variable = there
        .command("agents list --json")
        .env("DRAWLOOM_DATABASE_URL", &server.address)
        .output()
        .unwrap();
    let by_variable: Value = serde_json::from_slice(&by_variable.stdout).unwrap();
    for listed in [by_flag, by_variable] {
        assert_eq!(listed["agents"][0]["agentPrompt"], "You write.");
    }
    keeps_no_file(&there);
}

#[test]
fn tasks_and_versions_are_kept_there() {
    let server = PeopleServer::start();
    let project = server.project();
    added::check_server(&project);
    keeps_no_file(&project);
}
