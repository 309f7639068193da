//! A program that keeps running: questions and answers as JSON, one object on a line.
//!
//! The protocol is described for authors of such programs in `docs/ai.md`.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use exec::{
    AGENT_MARKERS, ChildEnvironment, CommandCancel, CommandSession, CommandStatus, Invocation,
    OutputStream, SessionEvent,
};
use llm::AiErrorCode;
use prompt::{Answers, DocumentInput, Questionnaire, document, reply};
use serde_json::{Value, json};

use crate::command::LOG_LINES_MAX;
use crate::error::{Error, Result, TAIL_BYTES_MAX};
use crate::observe::{AskEvent, AskObserver};
use crate::transport::AnswerRequest;

mod message;

use message::StdioMessage;

/// The version of the protocol; it changes if an older program could misunderstand a message.
pub const PROTOCOL: u64 = 1;
/// Times the answers to one request are sent back as invalid, if the questions set no other number.
pub(crate) const CORRECTIONS_MAX: u32 = 3;
/// The most lines that are not messages, per request: libraries print, but not without end.
pub const NOISE_LINES_MAX: u32 = 1_000;
/// The longest a request may take, even with signs of life.
pub(crate) const REQUEST_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Time that the program has to end after `bye`.
const BYE_GRACE: Duration = Duration::from_secs(2);

/// A program and the way to talk to it.
#[derive(Clone, Debug)]
pub struct StdioPlan {
    pub program: String,
    pub arguments: Vec<String>,
    /// The longest silence.
    pub timeout: Duration,
    /// The longest line.
    pub output_bytes_max: usize,
}

pub(crate) struct StdioTransport {
    plan: StdioPlan,
    cwd: PathBuf,
    cancel: CommandCancel,
    session: Option<CommandSession>,
    requests: u64,
    last_words: VecDeque<String>,
}

impl StdioTransport {
    pub(crate) fn new(plan: StdioPlan, cwd: PathBuf, cancel: CommandCancel) -> StdioTransport {
        StdioTransport {
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
        request: &AnswerRequest<'_>,
        observer: &mut dyn AskObserver,
    ) -> Result<Answers> {
        observer.notice(AskEvent::Asking {
            whom: &self.plan.program,
        });
        let mut session = self.connected()?;
        self.requests += 1;
        session.say(&ask_line(self.requests, request));
        let answered = self.converse(&mut session, request.questionnaire, observer)?;
        // The program may be asked again; its further messages about this request are ignored.
        self.session = Some(session);
        answered
    }

    /// Returns the running program, started if needed.
    fn connected(&mut self) -> Result<CommandSession> {
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
        self.last_words.clear();
        let invocation = Invocation::new(&self.plan.program)
            .args(&self.plan.arguments)
            .cwd(&self.cwd)
            .env(ChildEnvironment::default().remove_all(AGENT_MARKERS))
            .output_bytes_max(self.plan.output_bytes_max)
            .cancel(self.cancel.clone());
        let mut session =
            CommandSession::start(&invocation).map_err(|error| self.broken(&error))?;
        let hello = json!({
            "type": "hello",
            "protocol": PROTOCOL,
            "program": "drawloom",
            "version": env!("CARGO_PKG_VERSION"),
        });
        session.say(&hello.to_string());
        Ok(session)
    }

    /// Listens until the request is answered, and sends invalid answers back. After an outer error
    /// the program is gone.
    fn converse(
        &mut self,
        session: &mut CommandSession,
        asked: &Questionnaire,
        observer: &mut dyn AskObserver,
    ) -> Result<Result<Answers>> {
        let mut patience = WaitLimits::new(self.plan.timeout);
        let corrections_max = asked.retries().unwrap_or(CORRECTIONS_MAX);
        let mut corrections = 0;
        loop {
            let answers = match self.listen(session, &mut patience, observer)? {
                StdioMessage::Answers(answers) => answers,
                StdioMessage::Failed { code, message } => {
                    return Ok(Err(self.gave_up(code, &message)));
                }
                StdioMessage::Alive(text) => {
                    patience.renew();
                    observer.notice(AskEvent::Progress(&text));
                    continue;
                }
                StdioMessage::Log(text) => {
                    observer.notice(AskEvent::Log(&text));
                    continue;
                }
                StdioMessage::Noise(line) => {
                    patience.noise(&self.plan.program)?;
                    observer.notice(AskEvent::Log(&line));
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
            observer.notice(AskEvent::Correcting {
                why: &why.to_string(),
            });
            session.say(&invalid_line(self.requests, &why));
            patience.renew();
        }
    }

    /// Returns the next message of this request, or the next line that is not a message.
    fn listen(
        &mut self,
        session: &mut CommandSession,
        patience: &mut WaitLimits,
        observer: &mut dyn AskObserver,
    ) -> Result<StdioMessage> {
        loop {
            let heard = session
                .hear(patience.left())
                .map_err(|error| self.broken(&error))?;
            match heard {
                SessionEvent::Line(OutputStream::Stdout, line) => {
                    let message = message::read(&line, self.requests);
                    return message.map_err(|found| self.other_protocol(&found));
                }
                SessionEvent::Line(OutputStream::Stderr, line) => {
                    if patience.log() {
                        observer.notice(AskEvent::Log(&line));
                    }
                    self.remember(line);
                }
                SessionEvent::Overlong(OutputStream::Stdout) => return Err(self.overlong()),
                SessionEvent::Overlong(OutputStream::Stderr) => {}
                SessionEvent::Ended(status) => return Err(self.ended(status)),
                SessionEvent::Cancelled => return Err(Error::cancelled()),
                SessionEvent::Nothing => return Err(self.silent(patience)),
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
        Error::new(AiErrorCode::TransportFailed, what, advice).saying(&words.join("\n"))
    }

    fn broken(&self, error: &exec::Error) -> Error {
        self.error(error.to_string(), "`ai.stdio_command` names it.")
    }

    fn ended(&self, status: CommandStatus) -> Error {
        let what = format!("{} {status} before it answered", self.name());
        self.error(
            what,
            "Run it by hand to see what is wrong with it, or use another mode.",
        )
    }

    fn silent(&self, patience: &WaitLimits) -> Error {
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

    fn gave_up(&self, code: Option<AiErrorCode>, message: &str) -> Error {
        let what = format!(
            "{} could not answer: {}",
            self.name(),
            message.trim().trim_end_matches('.')
        );
        let words: Vec<&str> = self.last_words.iter().map(String::as_str).collect();
        Error::new(
            code.unwrap_or(AiErrorCode::TransportFailed),
            what,
            "Correct its output and run it again, or use another mode.",
        )
        .saying(&words.join("\n"))
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.say(&json!({ "type": "bye" }).to_string());
            // However it ends, the program is gone afterwards.
            session.close(BYE_GRACE).ok();
        }
    }
}

fn ask_line(id: u64, request: &AnswerRequest<'_>) -> String {
    let mut questionnaire = document::json(request.questionnaire, &DocumentInput::default());
    if let Some(fields) = questionnaire.as_object_mut() {
        // These fields are for readers who get the document as a file.
        fields.retain(|name, _| !["answersPath", "command", "provided"].contains(&name.as_str()));
    }
    let mut line = json!({
        "type": "ask",
        "id": id,
        "questionnaire": questionnaire,
        "document": crate::question::all(&AnswerRequest { feedback: None, ..*request }),
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

/// Limits on the time and the number of lines until an answer.
struct WaitLimits {
    began: Instant,
    since: Instant,
    timeout: Duration,
    noise: u32,
    logged: usize,
}

impl WaitLimits {
    fn new(timeout: Duration) -> WaitLimits {
        let now = Instant::now();
        WaitLimits {
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

    /// Returns true if one more line may be passed on.
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
            AiErrorCode::TransportFailed,
            format!(
                "the subprocess `{program}` said more than NOISE_LINES_MAX ({NOISE_LINES_MAX}) lines \
                 that are no messages of this request"
            ),
            "Have it write messages to standard output, one JSON object on a line, and everything \
             else to standard error.",
        ))
    }
}
