//! Steps with the handler `mcp`: one tool of one server, without a model, over both transports.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::project;
use crate::project::{CliProject, ProgramOutput};

/// A server with a sum that is right and one that lies about its result, in a few lines.
const SERVER: &str = r#"
import json, sys, pathlib
TOOLS = [
    {"name": "add", "inputSchema": {"type": "object", "required": ["a", "b"],
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
     "outputSchema": {"type": "object", "required": ["sum"], "properties": {"sum": {"type": "number"}}}},
    {"name": "lie", "inputSchema": {"type": "object"},
     "outputSchema": {"type": "object", "required": ["sum"], "properties": {"sum": {"type": "number"}}}},
    {"name": "fail", "inputSchema": {"type": "object"}},
]
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "adder", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        with open("calls.txt", "a") as log:
            log.write(json.dumps(params["arguments"]) + "\n")
        name, given = params["name"], params["arguments"]
        if name == "add":
            result = {"content": [], "structuredContent": {"sum": given["a"] + given["b"]}}
        elif name == "lie":
            result = {"content": [], "structuredContent": {"sum": "a lot"}}
        else:
            result = {"content": [{"type": "text", "text": "no scales here"}], "isError": True}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

const ADDER: &str = "[mcp.servers.adder]\ncommand = \"python3\"\nargs = [\"server.py\"]\n";

fn one(config: &Value) -> String {
    format!(
        "graph TD\n A[One]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"
    )
}

fn step(server: &str, tool: &str, arguments: Value) -> Value {
    json!({
        "handler": "mcp",
        "config": { "server": server, "tool": tool, "arguments": arguments },
    })
}

fn adder() -> CliProject {
    CliProject::with(&[("drawloom.toml", ADDER), ("server.py", SERVER)])
}

fn output(ran: &ProgramOutput) -> Value {
    let last = ran.out.lines().last().unwrap_or_default();
    let whole = serde_json::from_str::<Value>(&ran.out);
    let document = whole.or_else(|_| serde_json::from_str(last));
    let document = document.unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err));
    document["output"].clone()
}

#[test]
fn a_step_calls_a_tool_with_values_and_keeps_their_types() {
    let project = adder();
    let sum = step("adder", "add", json!({ "a": "{{input.a}}", "b": 2 }));
    project.write("sum.mmd", &one(&sum));
    let ran = project.run("workflow start sum.mmd --wait --json a=3");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(output(&ran), json!({ "sum": 5 }), "{}", ran.out);
}

#[test]
fn arguments_and_results_that_do_not_fit_are_failures_with_their_place() {
    for (tool, arguments, says, calls) in [
        (
            "add",
            json!({ "a": "x", "b": 1 }),
            "do not fit the tool `add`",
            0,
        ),
        (
            "add",
            json!({ "a": "{{input.gone}}", "b": 1 }),
            "input.gone",
            0,
        ),
        (
            "ad",
            json!({}),
            "has no tool `ad`; it has add, lie, fail",
            0,
        ),
        (
            "lie",
            json!({}),
            "is not what the MCP server `adder` says it is",
            1,
        ),
        ("fail", json!({}), "no scales here", 1),
    ] {
        let project = adder();
        let mut config = step("adder", tool, arguments);
        // Another attempt would do what was done again.
        config["retry"] = json!({ "attempts": 3, "delay": "0s" });
        project.write("one.mmd", &one(&config));
        let ran = project.run("workflow start one.mmd --wait");
        assert_ne!(ran.exit, 0, "{tool}: {}{}", ran.out, ran.err);
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains(says), "{tool}: {told}");
        let log = std::fs::read_to_string(project.path().join("calls.txt"));
        assert_eq!(log.unwrap_or_default().lines().count(), calls, "{tool}");
    }
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    for (config, says) in [
        (step("addr", "add", json!({})), "did you mean `adder`?"),
        (
            step("adder", "{{input.tool}}", json!({})),
            "must be written out",
        ),
        (step("adder", "add", json!([1])), "must be an object"),
        (
            json!({ "handler": "mcp", "config": { "server": "adder" } }),
            "\"tool\"",
        ),
        (
            json!({ "handler": "mcp", "config": { "server": "adder", "tool": "add", "args": {} } }),
            "no setting `args`",
        ),
    ] {
        let project = adder();
        project.write("one.mmd", &one(&config));
        let ran = project.run("workflow check one.mmd");
        assert_eq!(ran.exit, 1, "{config}: {}{}", ran.out, ran.err);
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains(says), "{config}: {told}");
    }
}

#[test]
fn a_project_calls_no_tool_before_its_user_trusts_it() {
    let project = adder();
    let sum = step("adder", "add", json!({ "a": 1, "b": 2 }));
    project.write(".drawloom/workflows/sum.mmd", &one(&sum));
    let mut command = project.command("workflow start sum --wait");
    command.env_remove("DRAWLOOM_TRUST_PROJECTS");
    let ran = ProgramOutput::from(command.output().unwrap());
    assert_ne!(ran.exit, 0, "{}", ran.out);
    assert!(!project.path().join("calls.txt").exists());
    let says = "calls the tool `add` of the MCP server `adder`";
    assert!(ran.err.contains(says), "{}", ran.err);
}

/// `drawloom serve`, until the test ends.
struct ServeProgram {
    child: Child,
    address: String,
}

impl ServeProgram {
    fn start(project: &CliProject) -> ServeProgram {
        let line = "serve --listen 127.0.0.1:0 --log off";
        let mut child = project
            .command(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut first).unwrap();
        let host = first.trim().strip_prefix("http://").unwrap();
        let host = host.split('/').next().unwrap();
        ServeProgram {
            address: format!("http://{host}/mcp"),
            child,
        }
    }
}

impl Drop for ServeProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Our own server at its address is a server as any other, and its second pass is the caller's.
#[test]
fn a_step_calls_our_own_server_at_its_address() {
    let theirs = project();
    theirs.run("users add ada --email ada@example.org --admin");
    let token = theirs.run("tokens add test --user ada --role operator");
    let token = token.out.trim().to_owned();
    let server = ServeProgram::start(&theirs);
    let settings = format!(
        "[mcp.servers.other]\nurl = \"{}\"\nheaders = {{ Authorization = \"Bearer $OTHER_TOKEN\" }}\n",
        server.address
    );
    let arguments = json!({
        "name": "note", "values": { "title": "{{input.title}}" }, "answers": { "summary": "S." },
    });
    let ours = |allowed: &str, token: &str| {
        let ours = CliProject::with(&[("drawloom.toml", &settings)]);
        ours.write(
            "one.mmd",
            &one(&step("other", "run_recipe", arguments.clone())),
        );
        ours.with_variable("DRAWLOOM_WORKFLOWS_HTTP_ALLOW", allowed)
            .with_variable("OTHER_TOKEN", token)
    };
    let line = "workflow start one.mmd --wait --json title=Looms";
    for (project, says) in [
        (ours("", &token), "is not a public address"),
        (ours("127.0.0.1", "dl_wrong"), "check the headers"),
    ] {
        let ran = project.run(line);
        assert_ne!(ran.exit, 0, "{}", ran.out);
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains(says), "{told}");
        assert!(
            !told.contains("dl_wrong") && !told.contains(&token),
            "{told}"
        );
    }
    assert!(!theirs.path().join("note.md").exists());
    let project = ours("127.0.0.1", &token);
    let ran = project.run(line);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(output(&ran)["status"], "done", "{}", ran.out);
    assert_eq!(theirs.read("note.md"), "# Looms\n\nS.\n");
}

#[test]
fn settings_of_servers_that_mix_or_leak_are_refused() {
    for (section, says) in [
        (
            "url = \"https://a.example\"\ncommand = \"x\"",
            "mixes a program and an address",
        ),
        ("url = \"ftp://a.example\"", "must begin with https://"),
        (
            "url = \"https://me:pw@a.example\"",
            "must not have a password",
        ),
        ("url = \"a b\"", "is no URL"),
        (
            "url = \"https://a.example\"\nheaders = { Host = \"b\" }",
            "sets the header `Host` itself",
        ),
        (
            "url = \"https://a.example\"\nheaders = { Mcp-Session-Id = \"b\" }",
            "itself",
        ),
        ("headers = { A = \"b\" }", "needs a `command` or a `url`"),
        (
            "url = \"https://a.example\"\nheader = { A = \"b\" }",
            "did you mean `headers`?",
        ),
    ] {
        let settings = format!("[mcp.servers.s]\n{section}\n");
        let project = CliProject::with(&[("drawloom.toml", &settings)]);
        let ran = project.run("recipe list");
        assert_ne!(ran.exit, 0, "{section}");
        assert!(ran.err.contains(says), "{section}: {}", ran.err);
    }
}
