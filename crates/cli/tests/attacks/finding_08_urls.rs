//! Finding 8 and workflows B16: a value left its part of the URL, and passwords in URLs were printed.

use serde_json::json;

use crate::listener::{ALLOW, calling, fine, listen};
use crate::project::CliProject;

#[test]
fn a_value_stays_in_its_part_of_the_url() {
    let (address, sent) = listen(fine);
    let project = CliProject::empty().with_variable(ALLOW, address.to_string());
    project.write("drawloom.toml", "");
    let config =
        json!({ "url": format!("http://{address}/v1/{{{{input.v}}}}/x?q={{{{input.v}}}}&r=1") });
    project.write("h.mmd", &calling(&config));
    for (value, line) in [
        (
            "../admin?x=1",
            "GET /v1/..%2Fadmin%3Fx%3D1/x?q=..%2Fadmin%3Fx%3D1&r=1 ",
        ),
        (
            "a b/../c?&\"x",
            "GET /v1/a%20b%2F..%2Fc%3F%26%22x/x?q=a%20b%2F..%2Fc%3F%26%22x&r=1 ",
        ),
        (
            "a\r\nHost: evil",
            "GET /v1/a%0D%0AHost%3A%20evil/x?q=a%0D%0AHost%3A%20evil&r=1 ",
        ),
    ] {
        let mut command = project.command("workflow start h.mmd --wait --input");
        let output = command
            .arg(json!({ "v": value }).to_string())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let head = sent.lock().unwrap().pop().unwrap();
        assert!(head.starts_with(line), "{head}");
    }
    let mut command = project.command("workflow start h.mmd --wait --input");
    let output = command
        .arg(json!({ "v": ".." }).to_string())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("path segment"));
    assert!(sent.lock().unwrap().is_empty());
}

#[test]
fn a_value_chooses_no_host_unless_it_is_the_whole_url() {
    let project = CliProject::empty();
    project.write("drawloom.toml", "");
    for url in [
        "http://{{input.h}}/",
        "http://a.example:{{input.h}}/",
        "{{input.h}}/x",
        "http://a.example/{{secrets.X}}",
    ] {
        project.write("h.mmd", &calling(&json!({ "url": url })));
        let ran = project.run("workflow check h.mmd");
        assert_eq!(ran.exit, 1, "{url}");
        assert!(ran.err.contains("url"), "{}", ran.err);
    }
    let (address, sent) = listen(fine);
    let project = CliProject::empty().with_variable(ALLOW, address.to_string());
    project.write("h.mmd", &calling(&json!({ "url": "{{input.url}}" })));
    let ran = project.run(&format!(
        "workflow start h.mmd --wait url=http://{address}/a?b"
    ));
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(sent.lock().unwrap()[0].starts_with("GET /a?b "));
    let ran = project.run("workflow start h.mmd --wait url=file:///etc/passwd");
    assert_eq!(ran.exit, 1);
    assert!(ran.err.contains("not http or https"), "{}", ran.err);
}

#[test]
fn a_password_in_a_url_is_never_printed() {
    let project = CliProject::empty().with_variable(ALLOW, "127.0.0.1");
    project.write("drawloom.toml", "");
    for url in [
        "http://user:CANARY-PW@127.0.0.1:1/x",
        "http://user:CANARY-PW@127.0.0.2:1/x",
    ] {
        project.write("h.mmd", &calling(&json!({ "url": "{{input.url}}" })));
        let ran = project.run(&format!("workflow start h.mmd --wait url={url}"));
        assert_eq!(ran.exit, 1);
        assert!(ran.err.contains("127.0.0."), "{}", ran.err);
        assert!(!ran.err.contains("CANARY-PW"), "{}", ran.err);
        assert!(!ran.out.contains("CANARY-PW"), "{}", ran.out);
    }
}
