//! Finding 8: `http` steps reached loopback, private and link-local addresses in any spelling.

use serde_json::json;

use crate::listener::{ALLOW, calling, fine, listen};
use crate::project::CliProject;

#[test]
fn addresses_that_are_not_public_need_an_entry() {
    let (address, sent) = listen(fine);
    let port = address.port();
    let project = CliProject::empty();
    project.write("drawloom.toml", "");
    project.write("h.mmd", &calling(&json!({ "url": "{{input.url}}" })));
    for host in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00::1]",
        "[64:ff9b::7f00:1]",
        "127.0.0.1.",
    ] {
        let ran = project.run(&format!(
            "workflow start h.mmd --wait url=http://{host}:{port}/"
        ));
        assert_eq!(ran.exit, 1, "{host}: {}", ran.out);
        assert!(ran.err.contains("workflows.http"), "{host}: {}", ran.err);
    }
    assert!(sent.lock().unwrap().is_empty());
}

#[test]
fn an_entry_allows_an_address_and_nothing_beside_it() {
    let (address, sent) = listen(fine);
    let (other, other_sent) = listen(fine);
    for entry in [address.to_string(), format!("localhost:{}", address.port())] {
        let project = CliProject::empty().with_variable(ALLOW, entry.clone());
        project.write("h.mmd", &calling(&json!({ "url": "{{input.url}}" })));
        let host = entry.split(':').next().unwrap();
        let ran = project.run(&format!(
            "workflow start h.mmd --wait url=http://{host}:{}/",
            address.port()
        ));
        assert_eq!(ran.exit, 0, "{entry}: {}", ran.err);
        let ran = project.run(&format!(
            "workflow start h.mmd --wait url=http://{host}:{}/",
            other.port()
        ));
        assert_eq!(ran.exit, 1, "{entry}");
    }
    assert_eq!(sent.lock().unwrap().len(), 2);
    assert!(other_sent.lock().unwrap().is_empty());
    let project = CliProject::empty().with_variable(ALLOW, "http://x");
    project.write("h.mmd", &calling(&json!({ "url": "{{input.url}}" })));
    let ran = project.run("workflow start h.mmd --wait url=http://127.0.0.1/");
    assert!(ran.err.contains("`http://x`"), "{}", ran.err);
}

#[test]
fn a_project_cannot_allow_addresses_to_itself() {
    let project = CliProject::empty();
    project.write(
        "drawloom.toml",
        "[workflows.http]\nallow = [\"127.0.0.1\"]\n",
    );
    project.write("h.mmd", &calling(&json!({ "url": "http://127.0.0.1/" })));
    let ran = project.run("workflow start h.mmd --wait");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("is not a project's to set"), "{}", ran.err);
}
