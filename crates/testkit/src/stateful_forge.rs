//! GitLab and Gitea as servers with a memory: they keep what they are told, enforce tokens, and refuse with the
//! statuses and bodies that their API documentation has.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::scripted_forge::{Received, receive};

/// A token that may write.
pub const WRITER: &str = "a-token-that-may-write";
/// A token that may only read.
pub const READER: &str = "a-token-that-may-read";
/// The pages of Gitea have so many entries at most.
const PAGE_MAX: usize = 50;

/// The forges that are emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emulated {
    GitLab,
    Gitea,
}

/// One request for a merge.
#[derive(Clone, Debug)]
pub struct KeptPull {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub head: String,
    pub is_open: bool,
    pub labels: Vec<String>,
}

/// Where the branches of a forge's project are.
pub enum ForgeBranches {
    /// As many as the test says.
    Named(Vec<String>),
    /// In a bare repository that a git server has.
    In(PathBuf),
}

/// The memory of a forge with one project.
struct ForgeMemory {
    /// The path of the project, as it is written in addresses.
    project: String,
    branches: ForgeBranches,
    pulls: Vec<KeptPull>,
    /// Gitea's labels by their id.
    labels: BTreeMap<u64, String>,
    /// Tells whether the answer to the next request that changes something is lost on its way.
    loses_answer: bool,
}

/// A forge that listens.
pub struct StatefulForge {
    pub url: String,
    memory: Arc<Mutex<ForgeMemory>>,
}

type Answer = (u16, Value);

impl StatefulForge {
    /// A forge whose project has the branches `main` and `builder/j1-x`.
    pub fn start(kind: Emulated) -> StatefulForge {
        let project = match kind {
            Emulated::GitLab => "team/sub/app",
            Emulated::Gitea => "octo/hello",
        };
        let branches = ["main", "builder/j1-x"].map(str::to_owned).to_vec();
        StatefulForge::with(kind, project, ForgeBranches::Named(branches))
    }

    /// A forge with this project.
    pub fn with(kind: Emulated, project: &str, branches: ForgeBranches) -> StatefulForge {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let memory = ForgeMemory {
            project: project.to_owned(),
            branches,
            pulls: Vec::new(),
            labels: BTreeMap::new(),
            loses_answer: false,
        };
        let memory = Arc::new(Mutex::new(memory));
        let forge = StatefulForge {
            url: url.clone(),
            memory: Arc::clone(&memory),
        };
        // Ends with the test program.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (memory, url) = (Arc::clone(&memory), url.clone());
                thread::spawn(move || serve(stream, kind, &memory, &url));
            }
        });
        forge
    }

    pub fn pulls(&self) -> Vec<KeptPull> {
        self.memory.lock().unwrap().pulls.clone()
    }

    pub fn close(&self, number: u64) {
        let mut memory = self.memory.lock().unwrap();
        let pull = memory.pulls.iter_mut().find(|pull| pull.number == number);
        pull.unwrap().is_open = false;
    }

    pub fn lose_next_answer(&self) {
        self.memory.lock().unwrap().loses_answer = true;
    }

    pub fn delete_branch(&self, name: &str) {
        let mut memory = self.memory.lock().unwrap();
        match &mut memory.branches {
            ForgeBranches::Named(branches) => branches.retain(|branch| branch != name),
            ForgeBranches::In(_) => panic!("the branches are those of a repository"),
        }
    }

    /// Others have so many open requests.
    pub fn add_others(&self, count: usize) {
        let mut memory = self.memory.lock().unwrap();
        for _ in 0..count {
            let number = memory.pulls.len() as u64 + 1;
            memory.pulls.push(KeptPull {
                number,
                title: format!("other {number}"),
                body: String::new(),
                head: format!("other-{number}"),
                is_open: true,
                labels: Vec::new(),
            });
        }
    }
}

fn serve(mut stream: TcpStream, kind: Emulated, memory: &Mutex<ForgeMemory>, url: &str) {
    let Some(request) = receive(&mut stream) else {
        return;
    };
    let (method, target) = request.line.split_once(' ').unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let asked = Asked {
        method,
        path,
        query,
        body: &request.body,
        url,
    };
    let mut memory = memory.lock().unwrap();
    let (status, body) = match (refusal(kind, &request, method), kind) {
        (Some(refusal), _) => refusal,
        (None, Emulated::GitLab) => memory.gitlab(&asked),
        (None, Emulated::Gitea) => memory.gitea(&asked),
    };
    let is_lost = method != "GET" && std::mem::take(&mut memory.loses_answer);
    drop(memory);
    if is_lost {
        return;
    }
    let text = match status {
        204 => String::new(),
        _ => body.to_string(),
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        text.len()
    );
    let _ = stream.write_all(format!("{head}{text}").as_bytes());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    // Closing first could reset what the client has not read yet.
    let _ = stream.read(&mut [0; 64]);
}

/// The reply to a user without the right.
fn refusal(kind: Emulated, request: &Received, method: &str) -> Option<Answer> {
    let is_by = |token: &str| {
        request
            .headers
            .contains(&format!("authorization: bearer {token}"))
    };
    match (kind, is_by(WRITER), is_by(READER) && method != "GET") {
        (_, true, _) => None,
        (Emulated::GitLab, _, true) => Some((
            403,
            json!({
                "error": "insufficient_scope", "scope": "api",
                "error_description": "The request requires higher privileges than provided by the access token.",
            }),
        )),
        (Emulated::Gitea, _, true) => Some((
            403,
            json!({"message": "token does not have at least one of required scope(s): [write:repository]"}),
        )),
        _ if is_by(READER) => None,
        (Emulated::GitLab, ..) => Some((401, json!({"message": "401 Unauthorized"}))),
        (Emulated::Gitea, ..) => Some((
            401,
            json!({"message": "invalid username, password or token", "url": "/api/swagger"}),
        )),
    }
}

struct Asked<'r> {
    method: &'r str,
    path: &'r str,
    query: &'r str,
    body: &'r Value,
    url: &'r str,
}

impl Asked<'_> {
    fn text(&self, name: &str) -> Option<String> {
        self.body[name].as_str().map(str::to_owned)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let value = pairs.into_iter().find(|(key, _)| *key == name)?.1;
        Some(value.replace("%2F", "/"))
    }
}

impl ForgeMemory {
    fn has_branch(&self, name: Option<&String>) -> bool {
        name.is_some_and(|name| match &self.branches {
            ForgeBranches::Named(branches) => branches.contains(name),
            ForgeBranches::In(repository) => has_branch(repository, name),
        })
    }

    fn open_of(&self, head: &str) -> Option<u64> {
        let open = self
            .pulls
            .iter()
            .find(|pull| pull.is_open && pull.head == head);
        open.map(|pull| pull.number)
    }

    fn add(&mut self, title: String, body: String, head: String) -> usize {
        let number = self.pulls.len() as u64 + 1;
        self.pulls.push(KeptPull {
            number,
            title,
            body,
            head,
            is_open: true,
            labels: Vec::new(),
        });
        self.pulls.len() - 1
    }

    /// <https://docs.gitlab.com/api/merge_requests/>
    fn gitlab(&mut self, asked: &Asked<'_>) -> Answer {
        let project = format!("/api/v4/projects/{}", self.project.replace('/', "%2F"));
        let Some(rest) = asked.path.strip_prefix(&project) else {
            return (404, json!({"message": "404 Project Not Found"}));
        };
        let number = rest
            .strip_prefix("/merge_requests/")
            .and_then(|text| text.parse::<u64>().ok());
        match (asked.method, rest, number) {
            ("GET", "", _) => (200, json!({"id": 3, "default_branch": "main"})),
            ("GET", "/merge_requests", _) => {
                let head = asked.parameter("source_branch");
                let is_open = asked.parameter("state").as_deref() == Some("opened");
                let found = self.pulls.iter().filter(|pull| {
                    (!is_open || pull.is_open)
                        && head.as_ref().is_none_or(|head| pull.head == *head)
                });
                let found: Vec<Value> = found.map(|pull| merge_request(pull, asked.url)).collect();
                (200, Value::Array(found))
            }
            ("POST", "/merge_requests", _) => self.open_on_gitlab(asked),
            ("PUT", _, Some(number)) => {
                let pull = self.pulls.iter_mut().find(|pull| pull.number == number);
                let Some(pull) = pull else {
                    return (404, json!({"message": "404 Not found"}));
                };
                pull.title = asked.text("title").unwrap_or(pull.title.clone());
                pull.body = asked.text("description").unwrap_or(pull.body.clone());
                pull.labels.extend(words(asked.text("add_labels")));
                let removed = words(asked.text("remove_labels"));
                pull.labels.retain(|label| !removed.contains(label));
                (200, merge_request(pull, asked.url))
            }
            _ => (404, json!({"error": "404 Not Found"})),
        }
    }

    fn open_on_gitlab(&mut self, asked: &Asked<'_>) -> Answer {
        let (head, base) = (asked.text("source_branch"), asked.text("target_branch"));
        let (Some(title), true) = (asked.text("title"), base.is_some()) else {
            return (
                400,
                json!({"error": "title is missing, target_branch is missing"}),
            );
        };
        if !self.has_branch(head.as_ref()) {
            return (422, json!({"message": {"source_branch": ["is invalid"]}}));
        }
        let head = head.unwrap_or_default();
        if let Some(number) = self.open_of(&head) {
            let message = format!(
                "Another open merge request already exists for this source branch: !{number}"
            );
            return (409, json!({"message": [message]}));
        }
        let at = self.add(title, asked.text("description").unwrap_or_default(), head);
        self.pulls[at].labels = words(asked.text("labels"));
        (201, merge_request(&self.pulls[at], asked.url))
    }

    /// <https://docs.gitea.com/api/>: `repository` and `issue`
    fn gitea(&mut self, asked: &Asked<'_>) -> Answer {
        let not_found = || {
            let message = "The target couldn't be found.";
            (
                404,
                json!({"message": message, "errors": [], "url": "/api/swagger"}),
            )
        };
        let project = format!("/api/v1/repos/{}", self.project);
        let Some(rest) = asked.path.strip_prefix(&project) else {
            return not_found();
        };
        let parts: Vec<&str> = rest.split('/').skip(1).collect();
        match (asked.method, &parts[..]) {
            ("GET", []) => (200, json!({"id": 1, "default_branch": "main"})),
            ("GET", ["pulls"]) => {
                let open = self.pulls.iter().filter(|pull| pull.is_open);
                let open = open.map(|pull| pull_request(pull, asked.url));
                (200, page(open.collect(), asked))
            }
            ("POST", ["pulls"]) => {
                let (head, base) = (asked.text("head"), asked.text("base"));
                if !self.has_branch(head.as_ref()) || !self.has_branch(base.as_ref()) {
                    return not_found();
                }
                let head = head.unwrap_or_default();
                if self.open_of(&head).is_some() {
                    let message = "pull request already exists for these targets";
                    return (409, json!({"message": message, "url": "/api/swagger"}));
                }
                let title = asked.text("title").unwrap_or_default();
                let at = self.add(title, asked.text("body").unwrap_or_default(), head);
                (201, pull_request(&self.pulls[at], asked.url))
            }
            ("PATCH", ["pulls", number]) => {
                let pull = self.pulls.iter_mut();
                let mut pull = pull.filter(|pull| pull.number.to_string() == **number);
                let Some(pull) = pull.next() else {
                    return not_found();
                };
                pull.title = asked.text("title").unwrap_or(pull.title.clone());
                pull.body = asked.text("body").unwrap_or(pull.body.clone());
                let pull = pull.clone();
                // Gitea answers an edit with 201.
                (201, self.with_labels(&pull, asked.url))
            }
            ("GET", ["labels"]) => {
                let labels = self.labels.iter();
                let labels = labels.map(|(id, name)| json!({"id": id, "name": name}));
                (200, page(labels.collect(), asked))
            }
            ("POST", ["labels"]) => {
                let id = self.labels.len() as u64 + 1;
                let name = asked.text("name").unwrap_or_default();
                self.labels.insert(id, name.clone());
                (201, json!({"id": id, "name": name}))
            }
            ("POST", ["issues", number, "labels"]) => self.label_on_gitea(asked, number),
            ("DELETE", ["issues", number, "labels", id]) => {
                let name = id.parse().ok().and_then(|id: u64| self.labels.get(&id));
                let mut pulls = self.pulls.iter_mut();
                let pull = pulls.find(|pull| pull.number.to_string() == **number);
                let (Some(name), Some(pull)) = (name, pull) else {
                    return not_found();
                };
                pull.labels.retain(|label| label != name);
                (204, Value::Null)
            }
            _ => not_found(),
        }
    }

    /// A pull request with its labels, which Gitea names with their ids.
    fn with_labels(&self, pull: &KeptPull, url: &str) -> Value {
        let labels = self.labels.iter();
        let labels = labels.filter(|(_, name)| pull.labels.contains(name));
        let labels = labels.map(|(id, name)| json!({"id": id, "name": name}));
        let mut shown = pull_request(pull, url);
        shown["labels"] = labels.collect();
        shown
    }

    fn label_on_gitea(&mut self, asked: &Asked<'_>, number: &str) -> Answer {
        let wanted = asked.body["labels"].as_array().cloned().unwrap_or_default();
        let ids = wanted.iter().filter_map(Value::as_u64);
        let names: Option<Vec<String>> = ids.map(|id| self.labels.get(&id).cloned()).collect();
        let mut pulls = self.pulls.iter_mut();
        let pull = pulls.find(|pull| pull.number.to_string() == number);
        let (Some(names), Some(pull)) = (names, pull) else {
            return (404, json!({"message": "label or issue does not exist"}));
        };
        for name in names {
            if !pull.labels.contains(&name) {
                pull.labels.push(name);
            }
        }
        (200, json!([]))
    }
}

fn has_branch(repository: &Path, name: &str) -> bool {
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(repository);
    git.args(["show-ref", "--verify", "--quiet"]);
    let asked = git.arg(format!("refs/heads/{name}")).status();
    asked.unwrap().success()
}

fn words(list: Option<String>) -> Vec<String> {
    let list = list.unwrap_or_default();
    let words = list.split(',').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn page(all: Vec<Value>, asked: &Asked<'_>) -> Value {
    let number = |name: &str| {
        asked
            .parameter(name)
            .and_then(|text| text.parse::<usize>().ok())
    };
    let limit = number("limit").unwrap_or(PAGE_MAX).min(PAGE_MAX);
    let skipped = (number("page").unwrap_or(1) - 1) * limit;
    Value::Array(all.into_iter().skip(skipped).take(limit).collect())
}

fn merge_request(pull: &KeptPull, url: &str) -> Value {
    json!({
        "id": 900 + pull.number, "iid": pull.number, "title": pull.title, "description": pull.body,
        "state": if pull.is_open { "opened" } else { "closed" },
        "draft": pull.title.starts_with("Draft: "), "labels": pull.labels,
        "source_branch": pull.head, "target_branch": "main",
        "source_project_id": 3, "target_project_id": 3,
        "web_url": format!("{url}/team/sub/app/-/merge_requests/{}", pull.number),
    })
}

fn pull_request(pull: &KeptPull, url: &str) -> Value {
    json!({
        "id": 40 + pull.number, "number": pull.number, "title": pull.title, "body": pull.body,
        "state": if pull.is_open { "open" } else { "closed" },
        "draft": pull.title.starts_with("WIP: "),
        "html_url": format!("{url}/octo/hello/pulls/{}", pull.number),
        "head": {"ref": pull.head, "repo": {"full_name": "octo/hello"}},
        "base": {"ref": "main"},
    })
}
