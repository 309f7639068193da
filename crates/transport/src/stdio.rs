//! A program that stays: questions and answers as JSON, one object on a line.
//!
//! The protocol is described for authors of such programs in `docs/ai.md`.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use exec::{AGENT_MARKERS, Cancel, Env, Heard, Invocation, Session, Status, Stream};
use llm::Code;
use prompt::{Answers, DocumentInput, Questionnaire, document, reply};
use serde_json::{Value, json};

use crate::command::LOG_LINES_MAX;
use crate::error::{Error, Result, TAIL_BYTES_MAX};
use crate::observe::{Event, Observer};
use crate::transport::Request;

mod message;

use message::Message;

/// The version of the protocol; it changes when an older program could misunderstand us.
pub const PROTOCOL: u64 = 1;
/// How often answers to one request are sent back as invalid, when the questions do not say.
pub const CORRECTIONS_MAX: u32 = 3;
/// Lines that are no messages, per request: libraries print, but not for ever.
pub const NOISE_LINES_MAX: u32 = 1_000;
/// The longest a request may take, whatever signs of life there are.
pub(crate) const REQUEST_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the program may take to end after `bye`.
const BYE_GRACE: Duration = Duration::from_secs(2);

/// A program and how it is talked to.
#[derive(Clone, Debug)]
pub struct StdioPlan {
    pub program: String,
    pub arguments: Vec<String>,
    /// The longest silence.
    pub timeout: Duration,
    /// The longest line.
    pub output_bytes_max: usize,
}

pub(crate) struct Stdio {
    plan: StdioPlan,
    cwd: PathBuf,
    cancel: Cancel,
    session: Option<Session>,
    requests: u64,
    last_words: VecDeque<String>,
}

impl Stdio {
    pub(crate) fn new(plan: StdioPlan, cwd: PathBuf, cancel: Cancel) -> Stdio {
        Stdio {
            plan,
            cwd,
            cancel,
            session: None,
            requests: 0,
            last_words: VecDeque::new(),
        }
    }

    pub(crate) fn ask(
        &mut self,
        request: &Request<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Answers> {
        observer.notice(Event::Asking {
            whom: &self.plan.program,
        });
        let mut session = self.connected()?;
        self.requests += 1;
        session.say(&ask_line(self.requests, request));
        let answered = self.converse(&mut session, request.questionnaire, observer)?;
        // It may be asked again; whatever it still says about this request is ignored.
        self.session = Some(session);
        answered
    }

    /// The running program, started if it is not.
    fn connected(&mut self) -> Result<Session> {
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
        self.last_words.clear();
        let invocation = Invocation::new(&self.plan.program)
            .args(&self.plan.arguments)
            .cwd(&self.cwd)
            .env(Env::default().remove_all(AGENT_MARKERS))
            .output_bytes_max(self.plan.output_bytes_max)
            .cancel(self.cancel.clone());
        let mut session = Session::start(&invocation).map_err(|error| self.broken(&error))?;
        let hello = json!({
            "type": "hello",
            "protocol": PROTOCOL,
            "program": "drawloom",
            "version": env!("CARGO_PKG_VERSION"),
        });
        session.say(&hello.to_string());
        Ok(session)
    }

    /// Listens until the request is answered, and sends invalid answers back. The outer error is
    /// one after which there is nobody to talk to.
    fn converse(
        &mut self,
        session: &mut Session,
        asked: &Questionnaire,
        observer: &mut dyn Observer,
    ) -> Result<Result<Answers>> {
        let mut patience = Patience::new(self.plan.timeout);
        let corrections_max = asked.retries().unwrap_or(CORRECTIONS_MAX);
        let mut corrections = 0;
        loop {
            let answers = match self.listen(session, &mut patience, observer)? {
                Message::Answers(answers) => answers,
                Message::Failed { code, message } => return Ok(Err(self.gave_up(code, &message))),
                Message::Alive(text) => {
                    patience.renew();
                    observer.notice(Event::Progress(&text));
                    continue;
                }
                Message::Log(text) => {
                    observer.notice(Event::Log(&text));
                    continue;
                }
                Message::Noise(line) => {
                    patience.noise(&self.plan.program)?;
                    observer.notice(Event::Log(&line));
                    continue;
                }
            };
            let why = match read(&answers, asked) {
                Ok(answers) => {
                    session.say(&json!({ "type": "accepted", "id": self.requests }).to_string());
                    return Ok(Ok(answers));
                }
                Err(why) => why,
            };
            if corrections == corrections_max {
                return Ok(Err(Error::unusable(&self.name(), &why, corrections)));
            }
            corrections += 1;
            observer.notice(Event::Correcting {
                why: &why.to_string(),
            });
            session.say(&invalid_line(self.requests, &why));
            patience.renew();
        }
    }

    /// The next message, or line that is none, of this request.
    fn listen(
        &mut self,
        session: &mut Session,
        patience: &mut Patience,
        observer: &mut dyn Observer,
    ) -> Result<Message> {
        loop {
            let heard = session
                .hear(patience.left())
                .map_err(|error| self.broken(&error))?;
            match heard {
                Heard::Line(Stream::Stdout, line) => {
                    let message = message::read(&line, self.requests);
                    return message.map_err(|found| self.other_protocol(&found));
                }
                Heard::Line(Stream::Stderr, line) => {
                    if patience.log() {
                        observer.notice(Event::Log(&line));
                    }
                    self.remember(line);
                }
                Heard::Overlong(Stream::Stdout) => return Err(self.overlong()),
                Heard::Overlong(Stream::Stderr) => {}
                Heard::Ended(status) => return Err(self.ended(status)),
                Heard::Cancelled => return Err(Error::cancelled()),
                Heard::Nothing => return Err(self.silent(patience)),
            }
        }
    }

    fn remember(&mut self, line: String) {
        self.last_words.push_back(line);
        let bytes = |words: &VecDeque<String>| words.iter().map(String::len).sum::<usize>();
        while self.last_words.len() > 1 && bytes(&self.last_words) > TAIL_BYTES_MAX {
            self.last_words.pop_front();
        }
    }

    fn name(&self) -> String {
        format!("the subprocess `{}`", self.plan.program)
    }

    fn error(&self, what: String, advice: &str) -> Error {
        let words: Vec<&str> = self.last_words.iter().map(String::as_str).collect();
        Error::new(Code::TransportFailed, what, advice).saying(&words.join("\n"))
    }

    fn broken(&self, error: &exec::Error) -> Error {
        self.error(error.to_string(), "`ai.stdio_command` names it.")
    }

    fn ended(&self, status: Status) -> Error {
        let what = format!("{} {status} before it answered", self.name());
        self.error(
            what,
            "Run it by hand to see what is wrong with it, or use another mode.",
        )
    }

    fn silent(&self, patience: &Patience) -> Error {
        let what = match patience.total_left().is_zero() {
            true => format!(
                "{} did not answer within REQUEST_MAX ({} s)",
                self.name(),
                REQUEST_MAX.as_secs()
            ),
            false => format!(
                "{} was silent for {} ms (`ai.timeout_ms`) and was stopped",
                self.name(),
                self.plan.timeout.as_millis()
            ),
        };
        self.error(
            what,
            "Have it send `progress` while it works, or raise the limit.",
        )
    }

    fn overlong(&self) -> Error {
        let what = format!(
            "{} sent a line longer than `ai.output_bytes_max` ({} bytes)",
            self.name(),
            self.plan.output_bytes_max
        );
        self.error(what, "Send less, or raise the limit.")
    }

    fn other_protocol(&self, found: &str) -> Error {
        let what = format!(
            "{} speaks version {found} of the protocol, not {PROTOCOL}",
            self.name()
        );
        self.error(what, "Update it or drawloom, so that both speak the same.")
    }

    fn gave_up(&self, code: Option<Code>, message: &str) -> Error {
        let what = format!(
            "{} could not answer: {}",
            self.name(),
            message.trim().trim_end_matches('.')
        );
        let words: Vec<&str> = self.last_words.iter().map(String::as_str).collect();
        Error::new(
            code.unwrap_or(Code::TransportFailed),
            what,
            "Mend what it says and run it again, or use another mode.",
        )
        .saying(&words.join("\n"))
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.say(&json!({ "type": "bye" }).to_string());
            // However it ends, it is not there afterwards.
            session.close(BYE_GRACE).ok();
        }
    }
}

fn ask_line(id: u64, request: &Request<'_>) -> String {
    let mut questionnaire = document::json(request.questionnaire, &DocumentInput::default());
    if let Some(fields) = questionnaire.as_object_mut() {
        // Meant for those who are handed a file.
        fields.retain(|name, _| !["answersPath", "command", "provided"].contains(&name.as_str()));
    }
    let mut line = json!({
        "type": "ask",
        "id": id,
        "questionnaire": questionnaire,
        "document": crate::question::all(&Request { feedback: None, ..*request }),
    });
    if let Some(feedback) = request.feedback {
        line["feedback"] = json!(feedback);
    }
    line.to_string()
}

fn invalid_line(id: u64, why: &prompt::Error) -> String {
    let problems = match why {
        prompt::Error::ReplyWrong { problems } => json!(problems),
        _ => json!([]),
    };
    json!({ "type": "invalid", "id": id, "message": why.to_string(), "problems": problems })
        .to_string()
}

fn read(answers: &Value, asked: &Questionnaire) -> std::result::Result<Answers, prompt::Error> {
    if !answers.is_object() {
        let begins: String = answers.to_string().chars().take(80).collect();
        return Err(prompt::Error::ReplyWithoutObject { begins });
    }
    reply::read(&answers.to_string(), asked)
}

/// How long and how much is waited for.
struct Patience {
    began: Instant,
    since: Instant,
    timeout: Duration,
    noise: u32,
    logged: usize,
}

impl Patience {
    fn new(timeout: Duration) -> Patience {
        let now = Instant::now();
        Patience {
            began: now,
            since: now,
            timeout,
            noise: 0,
            logged: 0,
        }
    }

    fn renew(&mut self) {
        self.since = Instant::now();
    }

    fn total_left(&self) -> Duration {
        REQUEST_MAX.saturating_sub(self.began.elapsed())
    }

    fn left(&self) -> Duration {
        let silence = self.timeout.saturating_sub(self.since.elapsed());
        silence.min(self.total_left())
    }

    /// Whether one more line is passed on.
    fn log(&mut self) -> bool {
        self.logged += 1;
        self.logged <= LOG_LINES_MAX
    }

    fn noise(&mut self, program: &str) -> Result<()> {
        self.noise += 1;
        if self.noise <= NOISE_LINES_MAX {
            return Ok(());
        }
        Err(Error::new(
            Code::TransportFailed,
            format!(
                "the subprocess `{program}` said more than NOISE_LINES_MAX ({NOISE_LINES_MAX}) lines \
                 that are no messages of this request"
            ),
            "Have it write messages to standard output, one JSON object on a line, and everything \
             else to standard error.",
        ))
    }
}
