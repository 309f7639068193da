//! Peers that are programs: installed once, started per test, ended with it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A file beside the tests.
pub(crate) fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/peers")
        .join(name)
}

/// Installs the peer if it is not there; what that says goes to the test's output.
pub(crate) fn installed(peer: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
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

/// A running program. Its stdin is a pipe from here: when the test goes, however it goes, the
/// pipe closes and the shell around the program ends it.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Running {
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

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A real git server over HTTP for the bare repositories in a folder.
pub(crate) struct GitServer {
    pub(crate) port: u16,
    _running: Running,
}

impl GitServer {
    pub(crate) fn start(root: &Path, credentials: Option<&str>) -> GitServer {
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
