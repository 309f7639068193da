//! Finding 5: a value that begins with `$` became a variable of the worker in a header.

use serde_json::json;

use crate::listener::{ALLOW, calling, fine, listen};
use crate::project::CliProject;

#[test]
fn a_value_names_no_variable() {
    let (address, sent) = listen(fine);
    let project = CliProject::empty().with_variable(ALLOW, address.to_string());
    project.write("drawloom.toml", "");
    let config = json!({ "url": format!("http://{address}/"), "headers": {
        "x-title": "{{input.title}}", "x-own": "$CANARY", "x-mixed": "Bearer {{secrets.CANARY}} {{input.title}}",
        "x-price": "$5",
    } });
    project.write("h.mmd", &calling(&config));
    for title in ["$CANARY", "{{secrets.CANARY}}"] {
        let mut command = project.command("workflow start h.mmd --wait --input");
        let input = json!({ "title": title }).to_string();
        let output = command
            .arg(input)
            .env("CANARY", "CANARY-TOKEN")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let head = sent.lock().unwrap().pop().unwrap();
        assert!(head.contains(&format!("x-title: {title}\r\n")), "{head}");
        assert!(head.contains("x-own: CANARY-TOKEN\r\n"), "{head}");
        assert!(
            head.contains(&format!("x-mixed: Bearer CANARY-TOKEN {title}\r\n")),
            "{head}"
        );
        assert!(head.contains("x-price: $5\r\n"), "{head}");
    }
}

#[test]
fn a_variable_that_is_not_set_stops_the_call() {
    for headers in [
        json!({ "x-key": "$NOT_SET_HERE" }),
        json!({ "x-key": "a {{secrets.NOT_SET_HERE}}" }),
    ] {
        let (address, sent) = listen(fine);
        let project = CliProject::empty().with_variable(ALLOW, address.to_string());
        project.write("drawloom.toml", "");
        let config = json!({ "url": format!("http://{address}/"), "headers": headers });
        project.write("h.mmd", &calling(&config));
        let ran = project.run("workflow start h.mmd --wait");
        assert_eq!(ran.exit, 1);
        assert!(
            ran.err.contains("NOT_SET_HERE") && ran.err.contains("x-key"),
            "{}",
            ran.err
        );
        assert!(sent.lock().unwrap().is_empty());
    }
}

#[test]
fn a_header_that_cannot_be_sent_is_named() {
    let (address, sent) = listen(fine);
    let project = CliProject::empty().with_variable(ALLOW, address.to_string());
    project.write("drawloom.toml", "");
    let config = json!({ "url": format!("http://{address}/"), "headers": { "x-a": "fine", "x-b": "{{input.b}}" } });
    project.write("h.mmd", &calling(&config));
    let mut command = project.command("workflow start h.mmd --wait --input");
    let output = command
        .arg(json!({ "b": "a\r\nx-evil: 1" }).to_string())
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        err.contains("The header `x-b`") && !err.contains("x-a"),
        "{err}"
    );
    assert!(sent.lock().unwrap().is_empty());
}
