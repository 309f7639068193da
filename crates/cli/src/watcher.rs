//! What a person sees while somebody else answers: a sign of life, notes and warnings, the cost.

use llm::Cost;
use llm::budget::{Entry, estimate_tokens};
use transport::{Event, Observer};

use crate::output;
use crate::person::Echo;
use crate::progress::Progress;

/// Tells the person at the terminal what happens.
pub(crate) struct Watcher {
    echo: Echo,
    progress: Option<Progress>,
    whom: String,
    bytes: usize,
    spent: Vec<Entry>,
}

impl Watcher {
    pub(crate) fn new(echo: Echo) -> Self {
        Self {
            echo,
            progress: None,
            whom: String::new(),
            bytes: 0,
            spent: Vec::new(),
        }
    }

    /// One line about everything that was paid for, if anything was.
    pub(crate) fn spent(&self) -> Option<String> {
        let last = self.spent.last()?;
        let usage: llm::Usage = self.spent.iter().map(|entry| entry.usage).sum();
        let cost: Cost = self.spent.iter().map(|entry| entry.cost).sum();
        let calls = match self.spent.len() {
            1 => String::new(),
            count => format!("{count} calls, "),
        };
        let received = usage.output;
        let sent = usage.total() - received;
        let cost = match cost {
            Cost::Known(_) => cost.to_string(),
            Cost::Unknown => "cost unknown".to_owned(),
        };
        Some(format!(
            "asked     {}  ({calls}{sent} tokens in, {received} out, {cost})",
            last.model
        ))
    }

    fn say(&mut self, text: impl AsRef<str>) {
        // The sign of life would be torn by the line.
        self.progress = None;
        if self.echo == Echo::Lines {
            output::say(text);
        }
    }

    fn asking(&mut self, whom: &str) {
        self.bytes = 0;
        whom.clone_into(&mut self.whom);
        self.progress = Some(Progress::start(format!("asking {whom}")));
    }

    fn streamed(&mut self, bytes: usize) {
        self.bytes += bytes;
        let tokens = estimate_tokens(self.bytes);
        let message = format!("asking {}: about {tokens} tokens so far", self.whom);
        self.show(message);
    }

    fn show(&mut self, message: String) {
        match &self.progress {
            Some(progress) => progress.say(message),
            None => self.progress = Some(Progress::start(message)),
        }
    }
}

impl Observer for Watcher {
    fn notice(&mut self, event: Event<'_>) {
        match event {
            Event::Asking { whom } => self.asking(whom),
            Event::Streamed { bytes } => self.streamed(bytes),
            Event::Waiting {
                attempt,
                attempts_max,
                wait,
                why,
            } => {
                let next = attempt + 1;
                let why = why.trim_end_matches('.');
                let wait = wait.as_secs_f64();
                self.say(format!(
                    "note: {why}; retrying in {wait:.1} s ({next} of {attempts_max})"
                ));
                self.progress = Some(Progress::start(format!(
                    "waiting to ask {} again",
                    self.whom
                )));
            }
            Event::Fallback { from, to, why } => {
                self.say(format!(
                    "note: {from} cannot answer, asking {to} instead: {why}"
                ));
            }
            Event::Correcting { why } => {
                let lines: Vec<&str> = why.lines().map(str::trim).take(2).collect();
                self.say(format!("note: the reply is sent back: {}", lines.join(" ")));
            }
            Event::Note(text) => self.say(format!("note: {text}")),
            Event::Warning(text) => self.say(format!("warning: {text}")),
            Event::Progress(text) => {
                let message = format!("asking {}: {text}", self.whom);
                self.show(message);
            }
            Event::Log(line) => self.say(format!("  {line}")),
            Event::Spent(entry) => {
                self.progress = None;
                self.spent.push(entry.clone());
            }
            _ => {}
        }
    }
}
