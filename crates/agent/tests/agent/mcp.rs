//! Tools of MCP servers: a third party's server, and servers that die, hang and lie.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use agent::mcp::{McpConnection, ServerSettings};
use agent::{AgentErrorKind, Error};
use llm::WireFormat;
use serde_json::json;

use crate::agent_fixture::TestAgent;
use crate::scripted::{FORMATS, ServerAct, calls, says};

/// Installs the peer if it is not there; what that says goes to the test's output.
pub(crate) fn installed(peer: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/install.sh");
    let done = Command::new("bash")
        .arg(&script)
        .arg(&folder)
        .arg(peer)
        .status();
    assert!(
        done.unwrap().success(),
        "the test peer {peer} could not be installed; what is missing is said above"
    );
    folder.join(peer)
}

async fn everything() -> McpConnection {
    let folder = installed("everything");
    let program = folder.join("node_modules/.bin/mcp-server-everything");
    let settings = ServerSettings::new(program.to_str().unwrap(), &["stdio"]);
    McpConnection::start("every", &settings, &folder)
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

fn add(stage: &mut TestAgent, server: &McpConnection) {
    for tool in server.tools() {
        stage.toolset.add(tool.clone()).unwrap();
    }
}

#[tokio::test]
async fn the_tools_of_a_third_partys_server_are_called_under_its_name() {
    let server = everything().await;
    assert!(server.left_out().is_empty(), "{:?}", server.left_out());
    for format in FORMATS {
        let script = vec![
            calls(&[
                ("every__echo", json!({"message": "hello"})),
                ("every__get-sum", json!({"a": 2, "b": 3})),
                ("every__echo", json!({"massage": "hello"})),
            ]),
            says("Done."),
        ];
        let mut stage = TestAgent::new(format, script);
        add(&mut stage, &server);
        stage
            .run()
            .await
            .unwrap_or_else(|stopped| panic!("{format:?}: {stopped}"));
        let last = stage.last_sent();
        assert!(
            last.iter()
                .any(|line| line.starts_with("result: ") && line.contains("hello")),
            "{last:?}"
        );
        assert!(
            last.iter()
                .any(|line| line.starts_with("result: ") && line.contains('5')),
            "{last:?}"
        );
        assert!(
            last.iter()
                .any(|line| line.starts_with("failed: ") && line.contains("`message` is missing")),
            "{last:?}"
        );
        let did = &stage.recorder.all("did")[0]["deed"];
        assert_eq!(
            *did,
            json!({"did": "called", "server": "every", "tool": "echo"})
        );
    }
}

/// A server in a few lines of shell: answers the handshake, names tools, then does `then`.
async fn shell_server(
    tools: &str,
    then: &str,
    call_seconds_max: u64,
) -> Result<McpConnection, Error> {
    let script = format!(
        r#"
        read -r line
        echo 'not a message'
        echo '{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}'
        read -r line
        read -r line
        echo '{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}]}}}}'
        {then}
        "#
    );
    let mut settings = ServerSettings::new("/bin/sh", &["-c", &script]);
    settings.limits.start_seconds_max = 5;
    settings.limits.call_seconds_max = call_seconds_max;
    McpConnection::start("s", &settings, Path::new("/")).await
}

const GOOD: &str = r#"{"name":"do it","description":"d","inputSchema":{"type":"object"}}"#;

async fn call(server: &McpConnection, script: Vec<ServerAct>) -> TestAgent {
    let mut stage = TestAgent::new(WireFormat::OpenAi, script);
    add(&mut stage, server);
    stage
        .run()
        .await
        .unwrap_or_else(|stopped| panic!("{stopped}"));
    stage
}

fn script() -> Vec<ServerAct> {
    vec![calls(&[("s__do_it", json!({}))]), says("Done.")]
}

#[tokio::test]
async fn a_server_that_dies_or_hangs_is_told_about_and_the_run_goes_on() {
    let dead = shell_server(GOOD, "read -r line; exit 1", 5).await.unwrap();
    let stage = call(&dead, script()).await;
    let told = stage.last_sent().pop().unwrap();
    assert!(
        told.starts_with("failed: ") && told.contains("has ended"),
        "{told}"
    );

    let began = Instant::now();
    let hanging = shell_server(GOOD, "sleep 60", 1).await.unwrap();
    let stage = call(&hanging, script()).await;
    let told = stage.last_sent().pop().unwrap();
    assert!(
        told.contains("did not answer within 1 s (call_seconds_max)"),
        "{told}"
    );
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_server_that_does_not_start_is_an_error_with_its_name() {
    let check = async |command: &str, args: &[&str], sentence: &str| {
        let mut settings = ServerSettings::new(command, args);
        settings.limits.start_seconds_max = 1;
        let began = Instant::now();
        let Err(error) = McpConnection::start("s", &settings, Path::new("/")).await else {
            panic!("{command} started");
        };
        assert_eq!(error.kind(), AgentErrorKind::Mcp);
        let message = error.to_string();
        assert!(
            message.contains("the MCP server `s`") && message.contains(sentence),
            "{message}"
        );
        assert!(began.elapsed() < Duration::from_secs(10));
    };
    check("no-such-program", &[], "did not start").await;
    check(
        "sleep",
        &["60"],
        "did not answer within start_seconds_max = 1",
    )
    .await;
    check("false", &[], "did not come up").await;
    check(
        "yes",
        &["noise"],
        "did not answer within start_seconds_max = 1",
    )
    .await;
}

#[tokio::test]
async fn tools_with_an_invalid_schema_are_left_out_and_the_others_stay() {
    let tools = format!(
        r#"{GOOD},{GOOD},{{"name":"a","inputSchema":{{"type":"array"}}}},{{"name":"b","inputSchema":{{"type":"object","properties":{{"x":{{"type":"frog"}}}}}}}}"#
    );
    let server = shell_server(&tools, "sleep 60", 1).await.unwrap();
    let names: Vec<_> = server
        .tools()
        .iter()
        .map(|tool| tool.declaration().name.clone())
        .collect();
    assert_eq!(names, ["s__do_it"]);
    assert_eq!(server.left_out().len(), 3, "{:?}", server.left_out());
}

#[tokio::test]
async fn a_result_too_large_for_the_model_is_cut() {
    let answer = r#"read -r line; printf '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"'; head -c 20000000 /dev/zero | tr '\0' x; printf ' end"}]}}\n'; sleep 60"#;
    let server = shell_server(GOOD, answer, 60).await.unwrap();
    let stage = call(&server, script()).await;
    let result = stage.last_sent().pop().unwrap();
    assert!(
        result.starts_with("result: ") && result.len() < 50_000,
        "{}",
        result.len()
    );
    assert!(result.contains(" end") && result.contains("left out: agent.output_bytes_max"));
}
