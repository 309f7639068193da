//! Peers that are programs: installed once, started per test, ended with it.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The token of `octo`, whose repositories the emulator has.
pub const TOKEN: &str = "ghp_the-tests-own-token";

/// Returns a file that belongs to the peers.
pub fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../vcs/tests/peers")
        .join(name)
}

/// Installs the peer if it is missing; the output of that goes to the test's output.
pub fn installed(peer: &str) -> PathBuf {
    let folder = target_folder().join("tmp/peers");
    let done = Command::new("bash")
        .arg(beside("install.sh"))
        .arg(&folder)
        .arg(peer)
        .status()
        .unwrap();
    assert!(
        done.success(),
        "the test peer {peer} could not be installed; what is missing is said above"
    );
    folder.join(peer)
}

/// Returns cargo's target folder: a test is `debug/deps/NAME` below it.
fn target_folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().to_owned()
}

/// A running program. Its stdin is a pipe from here: when the test goes, however it goes, the
/// pipe closes and the shell around the program ends it.
pub struct Running(Child);

impl Running {
    pub fn start(program: &Path, arguments: &[&str]) -> Running {
        let around = r#""$@" & child=$!; read -r _; kill "$child"; wait "$child""#;
        let child = Command::new("sh")
            .args(["-c", around, "sh"])
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        Running(child.unwrap())
    }

    /// The first line of output with this in it. The rest is read too, or the peer would choke.
    pub fn line_with(&mut self, sign: &'static str) -> String {
        let output = self.0.stdout.take().unwrap();
        let (found, finding) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if line.contains(sign) {
                    let _ = found.send(line);
                }
            }
        });
        let line = finding.recv_timeout(Duration::from_secs(60));
        line.unwrap_or_else(|_| panic!("the peer ended without saying {sign:?}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A real git server over HTTP for the bare repositories in a folder.
pub struct GitServer {
    pub port: u16,
    _running: Running,
}

impl GitServer {
    pub fn start(root: &Path, credentials: Option<&str>) -> GitServer {
        let script = beside("git_http.py");
        let mut arguments = vec![script.to_str().unwrap(), root.to_str().unwrap()];
        arguments.extend(credentials);
        let mut running = Running::start("python3".as_ref(), &arguments);
        let line = running.line_with("listening on port");
        let port = line.rsplit(' ').next().unwrap().parse().unwrap();
        GitServer {
            port,
            _running: running,
        }
    }
}

/// A running emulator of GitHub, which keeps state.
pub struct Emulator {
    pub url: String,
    _running: Running,
}

impl Emulator {
    pub fn start() -> Emulator {
        let folder = installed("emulate");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let program = folder.join("node_modules/emulate/dist/index.js");
        let (port_text, seed) = (port.to_string(), beside("emulate.yaml"));
        let arguments = [
            program.to_str().unwrap(),
            "start",
            "--service",
            "github",
            "--port",
            &port_text,
            "--seed",
            seed.to_str().unwrap(),
        ];
        let mut running = Running::start(&folder.join("node"), &arguments);
        running.line_with("Ready");
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(50));
        }
        Emulator {
            url: format!("http://127.0.0.1:{port}"),
            _running: running,
        }
    }

    /// Asks the emulator for its state, with another program than ours.
    pub fn ask(&self, path: &str) -> Value {
        let url = format!("{}/repos/octo/hello/{path}", self.url);
        let script = "import sys, urllib.request as r\n\
                      q = r.Request(sys.argv[1], headers={'Authorization': 'Bearer ' + sys.argv[2]})\n\
                      print(r.build_opener(r.ProxyHandler({})).open(q).read().decode())";
        let output = Command::new("python3")
            .args(["-c", script, &url, TOKEN])
            .output();
        serde_json::from_slice(&output.unwrap().stdout).unwrap()
    }
}
