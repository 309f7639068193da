//! `cargo xtask bench pages`: bytes and CPU of each page with 100 000 runs in the database.
//!
//! CPU is the server's own, read before and after many requests for a page: it does not depend on who asks, and
//! little on what else the machine does. The server is a `drawloom serve` of its own in a scratch folder.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::goals::{self, Goal};
use super::scratch::Scratch;

/// The runs that are in the database when pages are measured.
const RUNS: usize = 100_000;
/// The runs that one request starts.
const RUNS_EACH: usize = 1_000;
/// The requests for each page.
const REQUESTS: usize = 100;
/// The length of a clock tick that the kernel counts CPU in.
const TICK_MS: f64 = 10.0;
const PAGE_BYTES_MAX: f64 = 102_400.0;
const PAGE_CPU_MS_MAX: f64 = 10.0;
const PASSWORD: &str = "a quiet heron under seven bridges";
const WORKFLOW: &str = "graph TD\n A[Collect] --> B{Which?}\n B -->|\"input.n == 7\"| C(Ask)\n B -->|default| D[Done]\n\
    %% === WORKFLOW_CONFIG ===\n%% @A: { \"handler\": \"no_op\" }\n%% @D: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n";
const PAGES: [&str; 17] = [
    "/inbox",
    "/tasks",
    "/tasks?status=completed",
    "/tasks?as=board",
    "/runs",
    "/runs?status=completed&since=day",
    "/workflows",
    "/workflows/many",
    "/workflows/many/edit?step=A",
    "/builds",
    "/recipes",
    "/people",
    "/costs",
    "/activity",
    "/settings",
    "/health",
    "/search?q=many",
];

/// Measures a program that was built already, or the one that users get.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<ExitCode> {
    let scratch = Scratch::open(root)?;
    let (program, runs) = match words {
        [] => (scratch.build(&["--package", "cli"], "drawloom")?, RUNS),
        ["--drawloom", path] => (PathBuf::from(path), RUNS),
        ["quick", "--drawloom", path] => (PathBuf::from(path), RUNS / 100),
        _ => bail!("usage: cargo xtask bench pages [[quick] --drawloom PATH]"),
    };
    let folder = scratch.fresh("pages")?;
    let server = MeasuredServer::start(&program, &folder)?;
    server.fill(runs)?;
    let mut goals = Vec::new();
    println!("\nBytes and ms of CPU of a page, with {runs} runs");
    let newest = server.newest()?;
    let run_page = format!("/runs/{newest}");
    for page in PAGES.into_iter().chain([run_page.as_str()]) {
        let (bytes, cpu_ms) = server.measure(page)?;
        println!("  {bytes:>8} {cpu_ms:>8.2}  {page}");
        goals.push(Goal::at_most(
            format!("bytes of {page}"),
            bytes as f64,
            PAGE_BYTES_MAX,
        ));
        goals.push(Goal::at_most(
            format!("ms of CPU for {page}"),
            cpu_ms,
            PAGE_CPU_MS_MAX,
        ));
    }
    Ok(goals::judge(&goals))
}

/// A server with a person who has signed in.
struct MeasuredServer {
    child: Child,
    host: String,
    cookie: String,
    bearer: String,
}

impl MeasuredServer {
    fn start(program: &Path, folder: &Path) -> Result<MeasuredServer> {
        std::fs::create_dir_all(folder.join(".drawloom/workflows"))?;
        std::fs::write(folder.join(".drawloom/workflows/many.mmd"), WORKFLOW)?;
        let command = |words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words).current_dir(folder).env("HOME", folder);
            command.env_remove("DRAWLOOM_DATABASE_URL");
            command
        };
        let mut child = command(&["serve", "--listen", "127.0.0.1:0", "--log", "off"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the server")?;
        let out = child.stdout.take().context("the server has no output")?;
        let mut link = String::new();
        BufReader::new(out).read_line(&mut link)?;
        let link = link
            .trim()
            .strip_prefix("http://")
            .context("no link was printed")?;
        let (host, claim) = link.split_once('/').context("the link has no path")?;
        let mut server = MeasuredServer {
            host: host.to_owned(),
            cookie: String::new(),
            bearer: String::new(),
            child,
        };
        let form = format!(
            "email=ada%40example.org&password={}",
            PASSWORD.replace(' ', "+")
        );
        let claimed = server.send("POST", &format!("/{claim}"), &form)?;
        let cookie = claimed.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("set-cookie").then_some(value)
        });
        let cookie = cookie.and_then(|text| text.split(';').next());
        server.cookie = cookie.context("claiming gave no cookie")?.to_owned();
        let words = [
            "tokens", "add", "bench", "--user", "ada", "--role", "admin", "--json",
        ];
        let made = command(&words).output()?;
        let made: serde_json::Value = serde_json::from_slice(&made.stdout)?;
        let secret = made["secret"].as_str().context("no token was printed")?;
        server.bearer = secret.to_owned();
        Ok(server)
    }

    /// Sends one request and returns the whole answer, headers included.
    fn send(&self, method: &str, path: &str, body: &str) -> Result<String> {
        let (host, cookie) = (&self.host, &self.cookie);
        let mut stream = TcpStream::connect(host)?;
        let is_json = body.starts_with('{');
        let kind = match is_json {
            true => "application/json",
            false => "application/x-www-form-urlencoded",
        };
        let who = match path.starts_with("/api/") {
            true => format!("Authorization: Bearer {}", self.bearer),
            false => format!("Cookie: {cookie}"),
        };
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{who}\r\nContent-Type: {kind}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// Asks the API and returns its document.
    fn ask(&self, method: &str, path: &str, body: &str) -> Result<serde_json::Value> {
        let answer = self.send(method, path, body)?;
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .context("the answer has no end")?;
        ensure!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        let begin = body.find('{').unwrap_or(0);
        let end = body.rfind('}').map_or(body.len(), |at| at + 1);
        Ok(serde_json::from_str(&body[begin..end])?)
    }

    /// Starts the runs, and waits until none of them is going on but those that ask a person.
    fn fill(&self, runs: usize) -> Result<()> {
        let mut begun = 0;
        while begun < runs {
            let each = RUNS_EACH.min(runs - begun);
            let inputs: Vec<String> = (0..each)
                .map(|at| format!("{{\"n\": {}}}", at % 100))
                .collect();
            let body = format!(
                "{{\"workflow\": \"many\", \"inputs\": [{}]}}",
                inputs.join(",")
            );
            self.ask("POST", "/api/v1/runs", &body)?;
            begun += each;
        }
        loop {
            let health = self.page("/health")?;
            if health.contains("The server is well") && health.contains("<dd>none</dd>") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// Returns a page; where the server says that it was asked too often, it waits and asks again.
    fn page(&self, page: &str) -> Result<String> {
        loop {
            let answer = self.send("GET", page, "")?;
            if answer.starts_with("HTTP/1.1 429") {
                std::thread::sleep(Duration::from_millis(200));
                continue;
            }
            ensure!(answer.starts_with("HTTP/1.1 200"), "{page}: {answer}");
            return Ok(answer);
        }
    }

    fn newest(&self) -> Result<String> {
        let listed = self.ask("GET", "/api/v1/runs?limit=1", "")?;
        let run = listed["items"][0]["id"].as_str();
        Ok(run.context("no run is listed")?.to_owned())
    }

    /// Returns the bytes of a page, and the CPU that one request for it takes.
    fn measure(&self, page: &str) -> Result<(usize, f64)> {
        let first = self.page(page)?;
        let before = self.ticks()?;
        for _ in 0..REQUESTS {
            self.page(page)?;
        }
        let ticks = self.ticks()? - before;
        Ok((first.len(), ticks as f64 * TICK_MS / REQUESTS as f64))
    }

    /// Returns the ticks that the server has used, in its own code and in the kernel.
    fn ticks(&self) -> Result<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, rest) = stat
            .rsplit_once(')')
            .context("the kernel names no process")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |at: usize| -> Result<u64> {
            Ok(fields
                .get(at)
                .context("the kernel counts no CPU")?
                .parse()?)
        };
        Ok(field(11)? + field(12)?)
    }
}

impl Drop for MeasuredServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
