//! Finding 8: redirects carried the callback token and keys to other hosts.

use serde_json::json;

use crate::listener::{ALLOW, calling, fine, listen, reply};
use crate::project::CliProject;

#[test]
fn a_redirect_to_another_host_or_port_is_not_followed() {
    let (thief, stolen) = listen(fine);
    for host in ["127.0.0.1", "localhost"] {
        let to = format!("location: http://{host}:{}/steal\r\n", thief.port());
        let (address, sent) = listen(move |_| reply("307 Temporary Redirect", &to, ""));
        let project = CliProject::empty().with_variable(ALLOW, "127.0.0.0/8, localhost");
        project.write("drawloom.toml", "");
        let config = json!({ "url": format!("http://{address}/"), "body": { "a": 1 },
            "headers": { "x-api-key": "$CANARY" } });
        project.write("h.mmd", &calling(&config));
        let mut command = project.command("workflow start h.mmd --wait");
        let output = command.env("CANARY", "CANARY-KEY").output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            err.contains("redirects to other hosts are not followed"),
            "{err}"
        );
        assert!(!err.contains("CANARY-KEY"), "{err}");
        assert_eq!(sent.lock().unwrap().len(), 1);
    }
    assert!(stolen.lock().unwrap().is_empty());
}

#[test]
fn a_redirect_within_the_host_is_followed_and_a_loop_ends() {
    let (address, sent) = listen(|head| match head.starts_with("GET /a ") {
        true => reply("302 Found", "location: /b\r\n", ""),
        false if head.starts_with("GET /b ") => fine(head),
        false => reply("302 Found", "location: /loop\r\n", ""),
    });
    let project = CliProject::empty().with_variable(ALLOW, address.to_string());
    project.write("drawloom.toml", "");
    project.write("h.mmd", &calling(&json!({ "url": "{{input.url}}" })));
    let ran = project.run(&format!(
        "workflow start h.mmd --wait url=http://{address}/a"
    ));
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let ran = project.run(&format!(
        "workflow start h.mmd --wait url=http://{address}/loop"
    ));
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("too many redirects"), "{}", ran.err);
    assert!(sent.lock().unwrap().len() < 12);
}

#[test]
fn a_server_that_repeats_a_secret_does_not_get_it_into_messages() {
    let (address, _) = listen(|head| reply("400 Bad Request", "", &json!(head).to_string()));
    let project = CliProject::empty().with_variable(ALLOW, address.to_string());
    project.write("drawloom.toml", "");
    let config = json!({ "url": format!("http://{address}/"), "headers": { "a": "$CANARY" } });
    project.write("h.mmd", &calling(&config));
    let mut command = project.command("workflow start h.mmd --wait");
    let output = command.env("CANARY", "CANARY-KEY").output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        err.contains("answered 400") && !err.contains("CANARY-KEY"),
        "{err}"
    );
}
