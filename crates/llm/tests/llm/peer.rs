//! Peers that are programs: installed once, started per test, ended with it.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Installs the peer if it is not there; what that says goes to the test's output.
pub(crate) fn installed(peer: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/install.sh");
    let done = Command::new("bash")
        .arg(&script)
        .arg(&folder)
        .arg(peer)
        .status();
    let done = done
        .unwrap_or_else(|error| panic!("bash is needed to install the test peer {peer}: {error}"));
    assert!(
        done.success(),
        "the test peer {peer} could not be installed; what is missing is said above"
    );
    folder.join(peer)
}

/// A running program. Its stdin is a pipe from here: when the test goes, however it goes, the
/// pipe closes and the shell around the program ends it.
pub(crate) struct RunningPeer(Child);

impl RunningPeer {
    pub(crate) fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> RunningPeer {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            r#""$@" & child=$!; read -r _; kill "$child"; wait "$child""#,
            "sh",
        ]);
        command
            .arg(program)
            .args(arguments)
            .envs(environment.iter().copied());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        RunningPeer(command.spawn().unwrap())
    }

    /// The first line of output with this in it. The rest is read too, or the peer would choke.
    pub(crate) fn line_with(&mut self, sign: &'static str) -> String {
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

impl Drop for RunningPeer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// Waits until a condition holds; peers take a moment to come up.
pub(crate) async fn until<F: AsyncFnMut() -> bool>(what: &str, seconds: u64, mut condition: F) {
    let began = Instant::now();
    while !condition().await {
        assert!(
            began.elapsed() < Duration::from_secs(seconds),
            "{what} did not happen in {seconds} s"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
