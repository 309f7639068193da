//! Shared by all tests: the questions, their answers, a watcher, and the search for leaked keys.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, UNIX_EPOCH};

use llm::budget::SpentTotal;
use llm::record::Tape;
use llm::{Provider, Secret};
use prompt::{AnswerKind, Question, QuestionSource, Questionnaire};
use serde_json::json;
use transport::{
    AiSettings, AnswerRequest, AskEvent, AskObserver, AskResolution, Error, ModelPurpose, Person,
    RecordMode, Transport, TransportContext, TransportMode, choose, open,
};

/// The key of every test; it must never be seen.
pub(crate) const KEY: &str = "sk-test-1234567890-SECRET/+=";
/// The answers that every script gives.
pub(crate) const ANSWERS: &str = include_str!("../data/answers.json");

/// One question of many kinds, one of them optional.
pub(crate) fn questions() -> Questionnaire {
    let mut asked = Questionnaire::new();
    asked.add_context("GLOBAL: the project uses React.");
    let kinds: [(&str, AnswerKind); 6] = [
        ("summary", AnswerKind::Text),
        (
            "fields",
            AnswerKind::Pick {
                from: vec![json!("id"), json!("name"), json!("email")],
            },
        ),
        ("paged", AnswerKind::Boolean),
        (
            "body",
            AnswerKind::Code {
                language: Some("tsx".into()),
            },
        ),
        ("shape", AnswerKind::Json),
        ("note", AnswerKind::Text),
    ];
    for (line, (key, kind)) in kinds.into_iter().enumerate() {
        let source = QuestionSource {
            file: "card.jig".into(),
            line: line as u32 + 1,
        };
        let mut question = Question::new(key, source);
        question.prompt = format!("PROMPT-{key}: what about it?");
        question.contexts = vec![format!("CONTEXT-{key}")];
        question.kind = kind;
        question.required = key != "note";
        if key == "shape" {
            question.schema = Some(json!({
                "type": "object",
                "properties": { "rows": { "type": "integer" } },
                "required": ["rows"],
                "additionalProperties": false,
            }));
            question.examples = vec!["{\"rows\": 1}".into()];
        }
        asked.ask(question).unwrap();
    }
    asked
}

/// A document with the closing section of the built-in one.
pub(crate) const DOCUMENT: &str = "# drawloom-test\n\nPlease answer.\n\n## Instructions\n\nSave the object \
                            as JSON to `answers.json` and run exactly:\n\n```\ndrawloom run x\n```\n";

/// Remembers what it was told, as lines.
#[derive(Default)]
pub(crate) struct Watcher {
    pub(crate) whole: bool,
    pub(crate) seen: Vec<String>,
    pub(crate) streamed: usize,
}

impl Watcher {
    #[track_caller]
    pub(crate) fn count(&self, beginning: &str) -> usize {
        let lines = self.seen.iter().filter(|line| line.starts_with(beginning));
        lines.count()
    }

    #[track_caller]
    pub(crate) fn saw(&self, part: &str) {
        let found = self.seen.iter().any(|line| line.contains(part));
        assert!(found, "{part:?} is not in {:#?}", self.seen);
    }
}

impl AskObserver for Watcher {
    fn wants_stream(&self) -> bool {
        !self.whole
    }

    fn notice(&mut self, event: AskEvent<'_>) {
        if let AskEvent::Streamed { bytes } = event {
            self.streamed += bytes;
            return;
        }
        let line = format!("{event:?}");
        assert_no_key(&line);
        self.seen.push(line);
    }
}

#[track_caller]
pub(crate) fn assert_no_key(text: &str) {
    for form in [KEY, "1234567890-SECRET", "SECRET%2F%2B%3D"] {
        assert!(!text.contains(form), "the key is in: {text}");
    }
}

/// The variables of every test: keys for all three formats.
pub(crate) fn environment(name: &str) -> Option<String> {
    let known = [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "MINE",
    ];
    known.contains(&name).then(|| KEY.to_owned())
}

/// Everything a test can say.
pub(crate) struct Case<'a> {
    pub(crate) setup: AiSettings,
    pub(crate) watcher: Watcher,
    pub(crate) feedback: Option<&'a str>,
    pub(crate) taping: RecordMode,
    pub(crate) cwd: PathBuf,
    pub(crate) day: SpentTotal,
    pub(crate) cancel: exec::CommandCancel,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Case {
            setup: AiSettings {
                timeout: Duration::from_secs(10),
                retry: llm::retry::RetryLimits {
                    attempts_max: 2,
                    first_wait_ms: 10,
                    wait_ms_max: 2_000,
                    total_ms_max: 5_000,
                },
                ..AiSettings::default()
            },
            watcher: Watcher::default(),
            feedback: None,
            taping: RecordMode::Off,
            cwd: std::env::temp_dir(),
            day: SpentTotal::default(),
            cancel: exec::CommandCancel::default(),
        }
    }
}

impl Case<'_> {
    pub(crate) fn command(line: &str) -> Self {
        let mut case = Case::default();
        case.setup.mode = TransportMode::Command;
        case.setup.command = Some(line.to_owned());
        case
    }

    pub(crate) fn stdio(line: &str) -> Self {
        let mut case = Case::default();
        case.setup.mode = TransportMode::Stdio;
        case.setup.stdio_command = Some(line.to_owned());
        case
    }

    pub(crate) fn api(provider: Provider, model: &str) -> Self {
        let mut case = Case::default();
        case.setup.mode = TransportMode::Api;
        case.setup.provider = Some(provider);
        case.setup.model = Some(model.to_owned());
        case.setup.base_url = Some(mock().to_owned());
        case
    }

    pub(crate) fn resolve(
        &mut self,
        person: Option<&mut dyn Person>,
    ) -> Result<AskResolution, Error> {
        let resolved = self.resolve_all(person, &[&questions()]);
        resolved.map(|mut all| all.remove(0))
    }

    /// Puts several questionnaires to the same transport.
    pub(crate) fn resolve_all(
        &mut self,
        person: Option<&mut dyn Person>,
        all: &[&Questionnaire],
    ) -> Result<Vec<AskResolution>, Error> {
        let resolved = self.unchecked(person, all);
        assert_no_key(&format!("{resolved:?}"));
        if let Err(error) = &resolved {
            assert_no_key(&error.to_string());
            assert!(error.advice().ends_with('.'), "{error}");
        }
        resolved
    }

    fn unchecked(
        &mut self,
        person: Option<&mut dyn Person>,
        all: &[&Questionnaire],
    ) -> Result<Vec<AskResolution>, Error> {
        let chosen = choose(
            &self.setup,
            ModelPurpose::Answer,
            &self.taping,
            &environment,
        )?;
        assert_no_key(&format!("{chosen:?}"));
        let surroundings = TransportContext {
            person: person.map(|person| person as &mut dyn Person),
            observer: &mut self.watcher,
            meter: Arc::new(
                self.setup
                    .meter(UNIX_EPOCH + Duration::from_secs(1_794_000_000), self.day),
            ),
            taping: self.taping.clone(),
            cwd: self.cwd.clone(),
            cancel: self.cancel.clone(),
        };
        let mut transport = open(chosen, surroundings)?;
        all.iter()
            .map(|questionnaire| {
                transport.resolve(&AnswerRequest {
                    questionnaire,
                    document: DOCUMENT,
                    feedback: self.feedback,
                })
            })
            .collect()
    }

    /// The answers are those that were scripted, and they fit.
    #[track_caller]
    pub(crate) fn answered(&mut self) -> transport::AskSpending {
        match self.resolve(None) {
            Ok(AskResolution::Resolved(answers, spending)) => {
                assert_answers(&answers);
                spending
            }
            other => panic!("{other:?}\n{:#?}", self.watcher.seen),
        }
    }

    #[track_caller]
    pub(crate) fn failed(&mut self, code: &str, part: &str) -> Error {
        let error = self.resolve(None).expect_err("it fails");
        assert_eq!(error.code().as_str(), code, "{error}");
        assert!(error.to_string().contains(part), "{error}");
        error
    }
}

#[track_caller]
pub(crate) fn assert_answers(answers: &prompt::Answers) {
    let asked = questions();
    let typed = prompt::check_all(&asked, answers).unwrap().into_value();
    let scripted: serde_json::Value = serde_json::from_str(ANSWERS).unwrap();
    assert_eq!(typed, scripted);
    assert_eq!(answers.request_id(), Some(&asked.request_id()));
}

/// A tape in memory.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) Mutex<BTreeMap<String, String>>);

impl Tape for Memory {
    fn get(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }

    fn put(&self, name: &str, text: &str) -> Result<(), String> {
        self.0.lock().unwrap().insert(name.into(), text.into());
        Ok(())
    }
}

/// A person who says these things in this order, and then leaves.
pub(crate) struct Scripted {
    pub(crate) answers: RefCell<Vec<&'static str>>,
    pub(crate) asked: Vec<String>,
}

impl Scripted {
    pub(crate) fn new(answers: &[&'static str]) -> Scripted {
        let answers = answers.iter().rev().copied().collect();
        Scripted {
            answers: RefCell::new(answers),
            asked: Vec::new(),
        }
    }
}

impl Person for Scripted {
    fn ask(&mut self, asked: &transport::PersonQuestion<'_>) -> Option<String> {
        let why = asked.refused.map_or("", |refused| refused.why);
        self.asked.push(format!(
            "{}/{} {} {why}",
            asked.number, asked.count, asked.question.key
        ));
        self.answers.borrow_mut().pop().map(str::to_owned)
    }
}

/// Literal keys are wanted in some tests.
pub(crate) fn literal() -> Option<Secret> {
    Some(Secret::new(KEY))
}

/// A program of this folder or of `examples`.
pub(crate) fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// The same as one word of a command line: the path of a checkout may have spaces.
pub(crate) fn word(path: &str) -> String {
    format!("'{}'", file(path))
}

/// aimock's address; one runs for all tests, and ends with them.
pub(crate) fn mock() -> &'static str {
    static MOCK: OnceLock<(String, Child)> = OnceLock::new();
    &MOCK.get_or_init(start_mock).0
}

fn start_mock() -> (String, Child) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let install = file("../llm/tests/peers/install.sh");
    let done = Command::new("bash")
        .arg(install)
        .arg(&folder)
        .arg("aimock")
        .status();
    assert!(
        done.unwrap().success(),
        "aimock could not be installed; what is missing is said above"
    );
    let program = folder.join("aimock/node_modules/@copilotkit/aimock/dist/cli.js");
    // The pipe to the shell closes however the tests end, and the shell ends the mock.
    let mut child = Command::new("sh")
        .args([
            "-c",
            r#""$@" & child=$!; read -r _; kill "$child"; wait "$child""#,
            "sh",
            "node",
        ])
        .arg(program)
        .args([
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--strict",
            "-f",
            &file("tests/data/aimock.json"),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines
        .by_ref()
        .map_while(Result::ok)
        .find(|line| line.contains("listening on http"))
        .expect("aimock comes up");
    // The output must be read on, or the mock stops when the pipe is full.
    std::thread::spawn(move || lines.for_each(drop));
    let url = line[line.find("http://").unwrap()..].trim().to_owned();
    (url, child)
}

/// The bodies aimock was sent for a model, in order.
pub(crate) fn sent(model: &str) -> Vec<serde_json::Value> {
    use std::io::{Read, Write};
    let address = mock().trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!("GET /__aimock/journal HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let body = &text[text.find("\r\n\r\n").unwrap() + 4..];
    let all: Vec<serde_json::Value> = serde_json::from_str(body).unwrap();
    all.into_iter()
        .filter(|entry| {
            let path = entry["path"].as_str().unwrap();
            path.contains(model) || entry["body"]["model"] == model
        })
        .map(|entry| entry["body"].clone())
        .collect()
}
