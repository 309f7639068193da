//! `[mcp.servers]`: the tools of a configured server are the model's, and a broken one is named.

use serde_json::json;

use crate::model::{FakeProvider, ScriptedFormat, ScriptedLine};
use crate::project::{ExpectedRun, ExpectedText, check};
use crate::task_fixture::{events, project};

/// A server with one tool, by the protocol's text alone.
const SERVER: &str = r#"
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "adder", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
        result = {"tools": [{"name": "add", "description": "Adds two numbers.", "inputSchema": schema}]}
    elif method == "tools/call":
        given = message["params"]["arguments"]
        text = "%s: %d" % (os.environ.get("GREETING", "none"), given["a"] + given["b"])
        result = {"content": [{"type": "text", "text": text}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

const TASK: &str = r#"{"subtask_id": "t", "type": "code_generation", "description": "Add."}"#;

#[test]
fn a_models_call_reaches_the_server_and_comes_back() {
    let script = vec![
        ScriptedLine::Calls(vec![("adder__add", json!({"a": 40, "b": 2}))]),
        ScriptedLine::Text("It is 42."),
    ];
    let model = FakeProvider::saying(ScriptedFormat::Anthropic, script);
    let more = "[mcp.servers.adder]\ncommand = \"python3\"\nargs = [\"server.py\"]\n\
                env = { GREETING = \"$WHAT_TO_SAY\" }\n";
    let project = project(ScriptedFormat::Anthropic, &model, more);
    project.write("server.py", SERVER);
    project.write("task.json", TASK);
    let mut command = project.command("task run task.json --json");
    let ran =
        crate::project::ProgramOutput::from(command.env("WHAT_TO_SAY", "sum").output().unwrap());
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    let sent = model.received();
    assert!(sent[0].to_string().contains("Adds two numbers."));
    assert!(sent[1].to_string().contains("sum: 42"), "{}", sent[1]);
    let called = events(&ran);
    assert!(
        called.iter().any(|event| event["deed"]["did"] == "called"),
        "{}",
        ran.out
    );

    // Without the variable the server is not started with half of what it needs.
    let expect = ExpectedRun {
        exit: 1,
        out: ExpectedText::Nothing,
        err: ExpectedText::Has(&["WHAT_TO_SAY, which is not set", "mcp.servers.adder.env"]),
    };
    check(&project, "task run task.json", expect);
}

#[test]
fn a_server_that_does_not_start_is_named_before_anything_is_begun() {
    let model = FakeProvider::saying(ScriptedFormat::Anthropic, vec![ScriptedLine::Text("Done.")]);
    for (command, says) in [
        ("no-such-program-anywhere", "no-such-program-anywhere"),
        ("true", "did not come up"),
    ] {
        let more = format!("[mcp.servers.broken]\ncommand = \"{command}\"\n");
        let project = project(ScriptedFormat::Anthropic, &model, &more);
        project.write("task.json", TASK);
        let expect = ExpectedRun {
            exit: 1,
            out: ExpectedText::Nothing,
            err: ExpectedText::Has(&["the MCP server `broken`", says, "mcp.servers.broken"]),
        };
        check(&project, "task run task.json", expect);
        assert!(!project.path().join(".drawloom/drawloom.db").exists());
    }
    assert!(model.received().is_empty());
}
