//! A conversation: the request as it grows turn by turn, and what has to be known to go on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use workspace::Ledger;

use llm::{Block, Cache, Message, Request, Role, ToolCall, ToolResult};

use crate::error::Error;
use crate::journal::{History, Journal, Note, Turn};
use crate::reply::{Reply, Verdict};
use crate::spending::{Spending, Totals};
use crate::tool::{Deed, FileChange};

/// What stays the same over a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The model's name, as its provider knows it.
    pub model: String,
    /// The system prompt. Stable text first, so that providers can cache it.
    pub system: Vec<Block>,
    /// The longest reply.
    pub max_tokens: u32,
    /// How freely the model speaks; its own default when not said.
    pub temperature: Option<f64>,
}

/// What was said so far, as committed, and what is to be said next.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Holds the committed messages; the loop lends it to the model without copying it.
    pub(crate) request: Request,
    /// Said by the user and not yet answered.
    pub(crate) pending: Vec<Message>,
    /// A reply whose calls are not all made.
    pub(crate) under_way: Option<UnderWay>,
    pub(crate) totals: Totals,
    pub(crate) tally: Tally,
    deeds: Vec<Deed>,
    answer: Option<String>,
    /// The texts of replies that were cut off and are being gone on with.
    cut_text: String,
}

/// What is counted against the limits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Since the model was last done.
    pub(crate) turns: u32,
    /// Since the model was last done.
    pub(crate) duration_ms: u64,
    pub(crate) cut_in_a_row: u32,
    pub(crate) empty_in_a_row: u32,
    pub(crate) identical: Identical,
    /// What the last call to the model cost, as a guess at the next.
    pub(crate) last_micro_usd: u64,
}

/// The longest set of calls whose repetition is noticed.
pub(crate) const REPEATED_SET_MAX: usize = 16;

/// The calls made last, and how often the same ones came in a row: one call, or a set of several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identical {
    recent: VecDeque<(String, llm::Arguments)>,
    /// For each length of a set, how many calls in a row were the one that many before.
    matched: [u32; REPEATED_SET_MAX],
    /// How often the set was made in a row.
    pub(crate) times: u32,
    /// How many calls it has.
    pub(crate) calls: usize,
}

impl Identical {
    pub(crate) fn count(&mut self, call: &ToolCall) {
        (self.times, self.calls) = (1, 1);
        for (before, matched) in self.matched.iter_mut().enumerate() {
            let same = self
                .recent
                .get(before)
                .is_some_and(|one| is_same(one, call));
            *matched = if same { *matched + 1 } else { 0 };
            let length = before + 1;
            let times = 1 + *matched / u32::try_from(length).unwrap_or(u32::MAX);
            if times > self.times {
                (self.times, self.calls) = (times, length);
            }
        }
        self.recent.truncate(REPEATED_SET_MAX - 1);
        self.recent
            .push_front((call.name.clone(), call.arguments.clone()));
    }
}

fn is_same((name, arguments): &(String, llm::Arguments), call: &ToolCall) -> bool {
    *name == call.name
        && match (arguments.value(), call.arguments.value()) {
            (Ok(a), Ok(b)) => a == b,
            _ => arguments.raw() == call.arguments.raw(),
        }
}

/// A reply and which of its calls are made.
#[derive(Clone, Debug)]
pub(crate) struct UnderWay {
    pub(crate) reply: Reply,
    pub(crate) begun: BTreeSet<u32>,
    pub(crate) ended: BTreeMap<u32, (ToolResult, Vec<Deed>)>,
}

impl Conversation {
    /// A conversation with this past; an empty [`History`] begins one.
    pub fn open(setting: Setting, history: History) -> Conversation {
        let mut request = Request::ask(setting.model, String::new());
        request.messages.clear();
        request.system = setting.system;
        request.max_tokens = setting.max_tokens;
        request.temperature = setting.temperature;
        let mut conversation = Conversation {
            request,
            pending: Vec::new(),
            under_way: None,
            totals: Totals::default(),
            tally: Tally::default(),
            deeds: Vec::new(),
            answer: None,
            cut_text: String::new(),
        };
        for turn in history.turns {
            conversation.spend(&turn.reply);
            conversation.absorb(turn);
        }
        history
            .notes
            .into_iter()
            .for_each(|note| conversation.recall(note));
        conversation
    }

    /// As [`Conversation::open`] with everything the journal has kept.
    pub async fn load(setting: Setting, journal: &mut dyn Journal) -> Result<Conversation, Error> {
        Ok(Conversation::open(setting, journal.load().await?))
    }

    /// Says something to the model, to be answered by the next [`crate::run`].
    pub fn say(&mut self, text: impl Into<String>) {
        self.pending.push(Message::user(text));
        self.answer = None;
    }

    /// Whether anything was ever said. On resume, what opened the conversation is in it already.
    pub fn is_fresh(&self) -> bool {
        self.totals.turns == 0 && self.pending.is_empty() && self.under_way.is_none()
    }

    /// The model's answer, if it is done and nothing was said since.
    pub fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    /// The committed messages.
    pub fn messages(&self) -> &[Message] {
        &self.request.messages
    }

    /// What was used so far, failed calls included.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Everything the tools did in committed turns, in order.
    pub fn deeds(&self) -> &[Deed] {
        &self.deeds
    }

    /// What the job has written so far, for a workspace that goes on with it.
    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::default();
        for deed in &self.deeds {
            if let Deed::Wrote {
                path,
                change,
                bytes,
                ..
            } = deed
            {
                ledger.touched.insert(path.clone());
                if *change == FileChange::Created {
                    ledger.created.insert(path.clone());
                }
                ledger.bytes = ledger.bytes.saturating_add(*bytes);
            }
        }
        ledger
    }

    pub(crate) fn next_turn(&self) -> u32 {
        self.totals.turns + 1
    }

    /// Puts what is pending into the request; [`Conversation::take_back`] undoes it.
    pub(crate) fn put_pending(&mut self) -> Mark {
        let mark = Mark {
            messages: self.request.messages.len(),
            parts: self
                .request
                .messages
                .last()
                .map_or(0, |last| last.parts.len()),
        };
        for message in self.pending.clone() {
            self.push(message);
        }
        self.mark_for_cache(Cache::UpToHere);
        mark
    }

    pub(crate) fn take_back(&mut self, mark: &Mark) {
        self.mark_for_cache(Cache::Off);
        self.request.messages.truncate(mark.messages);
        if let Some(last) = self.request.messages.last_mut() {
            last.parts.truncate(mark.parts);
        }
    }

    /// Makes a committed turn part of the conversation.
    pub(crate) fn absorb(&mut self, turn: Turn) {
        let verdict = turn.reply.verdict();
        self.count(&turn, &verdict);
        let text = turn.reply.text();
        let is_blank = turn.reply.is_blank();
        let has_calls = turn.reply.tool_calls().next().is_some();
        self.pending.clear();
        for message in turn.reply.asked {
            self.push(message);
        }
        // Providers refuse empty messages, and a refusal kept would only be repeated.
        if !is_blank && !matches!(verdict, Verdict::Refused(_)) {
            self.push(turn.reply.answer);
        }
        if !turn.results.is_empty() {
            self.push(Message::results(turn.results));
        }
        self.deeds.extend(turn.deeds);
        self.answer = None;
        match verdict {
            Verdict::Final => self.answer = Some(std::mem::take(&mut self.cut_text) + &text),
            Verdict::Empty => self.pending.push(Message::user(EMPTY_NUDGE)),
            Verdict::Cut => {
                self.cut_text.push_str(&text);
                if !has_calls {
                    self.pending
                        .push(Message::user(cut_nudge(self.request.max_tokens)));
                }
            }
            Verdict::Calls => self.cut_text.clear(),
            Verdict::Refused(_) => {}
        }
    }

    /// Counts the calls of a reply into the totals.
    fn spend(&mut self, reply: &Reply) {
        let mut spending = Spending::default();
        for entry in &reply.calls {
            self.totals.add(&reply.phase, entry);
            spending.add(entry);
        }
        self.tally.last_micro_usd = spending.micro_usd;
    }

    fn count(&mut self, turn: &Turn, verdict: &Verdict) {
        self.totals.turns = turn.reply.turn;
        let tally = &mut self.tally;
        tally.turns += 1;
        tally.duration_ms = tally.duration_ms.saturating_add(turn.duration_ms);
        tally.cut_in_a_row = if *verdict == Verdict::Cut {
            tally.cut_in_a_row + 1
        } else {
            0
        };
        tally.empty_in_a_row = if *verdict == Verdict::Empty {
            tally.empty_in_a_row + 1
        } else {
            0
        };
        match verdict {
            Verdict::Final => {
                tally.turns = 0;
                tally.duration_ms = 0;
                tally.identical = Identical::default();
            }
            Verdict::Calls => turn
                .reply
                .tool_calls()
                .for_each(|call| tally.identical.count(call)),
            Verdict::Cut | Verdict::Empty | Verdict::Refused(_) => {}
        }
    }

    /// Takes up what a note says about a turn under way.
    fn recall(&mut self, note: Note) {
        let next = self.next_turn();
        match note {
            Note::Charged { phase, calls, .. } => {
                calls
                    .iter()
                    .for_each(|entry| self.totals.add(&phase, entry));
            }
            Note::Replied { reply } if reply.turn == next => {
                self.spend(&reply);
                self.pending.clear();
                self.answer = None;
                let (begun, ended) = (BTreeSet::new(), BTreeMap::new());
                self.under_way = Some(UnderWay {
                    reply: *reply,
                    begun,
                    ended,
                });
            }
            Note::Begun { turn, call } if turn == next => {
                if let Some(under_way) = &mut self.under_way {
                    under_way.begun.insert(call);
                }
            }
            Note::Ended {
                turn,
                call,
                result,
                deeds,
            } if turn == next => {
                if let Some(under_way) = &mut self.under_way {
                    under_way.ended.insert(call, (result, deeds));
                }
            }
            // About a turn that is committed: the process died before they were dropped.
            Note::Replied { .. } | Note::Begun { .. } | Note::Ended { .. } => {}
        }
    }

    /// One message more. What the user says twice in a row is one message: some chat templates
    /// insist that roles take turns.
    fn push(&mut self, message: Message) {
        match self.request.messages.last_mut() {
            Some(last) if last.role == Role::User && message.role == Role::User => {
                last.parts.extend(message.parts);
            }
            _ => self.request.messages.push(message),
        }
    }

    /// Asks the provider to keep everything up to the last message: the next request begins so.
    /// The mark belongs to the request and not to what was said.
    fn mark_for_cache(&mut self, cache: Cache) {
        if let Some(last) = self.request.messages.last_mut() {
            last.cache = cache;
        }
    }
}

/// Where the committed messages end.
pub(crate) struct Mark {
    messages: usize,
    parts: usize,
}

/// What the model is told after a reply without text and without calls.
const EMPTY_NUDGE: &str = "Your reply was empty. Go on with the task by calling a tool, or, if it \
                           is done, say so in a sentence.";

fn cut_nudge(max_tokens: u32) -> String {
    format!(
        "Your reply was cut off at its limit (max_tokens = {max_tokens}). Go on exactly where it \
         stopped, and keep it short."
    )
}
