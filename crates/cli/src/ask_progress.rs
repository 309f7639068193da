//! Shows progress while a model or a program answers: a spinner, notes and warnings, the cost.

use llm::CallCost;
use llm::budget::{SpendEntry, estimate_tokens};
use transport::{AskEvent, AskObserver};

use crate::output;
use crate::progress::ProgressSpinner;
use crate::terminal_person::CommandEcho;

/// Tells the person at the terminal what happens.
pub(crate) struct AskProgress {
    echo: CommandEcho,
    progress: Option<ProgressSpinner>,
    whom: String,
    bytes: usize,
    spent: Vec<SpendEntry>,
}

impl AskProgress {
    pub(crate) fn new(echo: CommandEcho) -> Self {
        Self {
            echo,
            progress: None,
            whom: String::new(),
            bytes: 0,
            spent: Vec::new(),
        }
    }

    /// Returns one line about everything that was paid for, if anything was.
    pub(crate) fn spent(&self) -> Option<String> {
        let last = self.spent.last()?;
        let usage: llm::Usage = self.spent.iter().map(|entry| entry.usage).sum();
        let cost: CallCost = self.spent.iter().map(|entry| entry.cost).sum();
        let calls = match self.spent.len() {
            1 => String::new(),
            count => format!("{count} calls, "),
        };
        let received = usage.output;
        let sent = usage.total() - received;
        let cost = match cost {
            CallCost::Known(_) => cost.to_string(),
            CallCost::Unknown => "cost unknown".to_owned(),
        };
        Some(format!(
            "asked     {}  ({calls}{sent} tokens in, {received} out, {cost})",
            last.model
        ))
    }

    fn say(&mut self, text: impl AsRef<str>) {
        // The sign of life would be torn by the line.
        self.progress = None;
        if self.echo == CommandEcho::Lines {
            output::say(text);
        }
    }

    fn asking(&mut self, whom: &str) {
        self.bytes = 0;
        whom.clone_into(&mut self.whom);
        self.progress = Some(ProgressSpinner::start(format!("asking {whom}")));
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
            None => self.progress = Some(ProgressSpinner::start(message)),
        }
    }
}

impl AskObserver for AskProgress {
    fn notice(&mut self, event: AskEvent<'_>) {
        match event {
            AskEvent::Asking { whom } => self.asking(whom),
            AskEvent::Streamed { bytes } => self.streamed(bytes),
            AskEvent::Waiting {
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
                self.progress = Some(ProgressSpinner::start(format!(
                    "waiting to ask {} again",
                    self.whom
                )));
            }
            AskEvent::Fallback { from, to, why } => {
                self.say(format!(
                    "note: {from} cannot answer, asking {to} instead: {why}"
                ));
            }
            AskEvent::Correcting { why } => {
                let lines: Vec<&str> = why.lines().map(str::trim).take(2).collect();
                self.say(format!("note: the reply is sent back: {}", lines.join(" ")));
            }
            AskEvent::Note(text) => self.say(format!("note: {text}")),
            AskEvent::Warning(text) => self.say(format!("warning: {text}")),
            AskEvent::Progress(text) => {
                let message = format!("asking {}: {text}", self.whom);
                self.show(message);
            }
            AskEvent::Log(line) => self.say(format!("  {line}")),
            AskEvent::Spent(entry) => {
                self.progress = None;
                self.spent.push(entry.clone());
            }
            _ => {}
        }
    }
}
