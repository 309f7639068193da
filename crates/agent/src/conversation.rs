//! A conversation: the request as it grows turn by turn, and what has to be known to go on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use workspace::WriteCounter;

use llm::{CacheControl, ChatMessage, ChatRole, ModelRequest, SystemBlock, ToolCall, ToolResult};

use crate::error::Error;
use crate::journal::{ConversationTurn, TurnHistory, TurnJournal, TurnNote};
use crate::reply::{ModelReply, ReplyVerdict};
use crate::spending::{CallSpending, ConversationTotals};
use crate::tool::{FileChangeKind, ToolAction};

/// The part of a conversation that never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationConfig {
    /// The model's name, as its provider knows it.
    pub model: String,
    /// The system prompt. Stable text first, so that providers can cache it.
    pub system: Vec<SystemBlock>,
    /// The longest reply.
    pub max_tokens: u32,
    /// Sampling temperature; `None` leaves the model's default.
    pub temperature: Option<f64>,
}

/// The committed messages, and the ones to be sent next.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Holds the committed messages; the loop lends it to the model without copying it.
    pub(crate) request: ModelRequest,
    /// Said by the user and not yet answered.
    pub(crate) pending: Vec<ChatMessage>,
    /// A reply whose calls are not all made.
    pub(crate) under_way: Option<UnderWay>,
    pub(crate) totals: ConversationTotals,
    pub(crate) tally: LimitCounters,
    deeds: Vec<ToolAction>,
    answer: Option<String>,
    /// The texts of replies that were cut off and are being gone on with.
    cut_text: String,
}

/// Counters that are checked against the limits.
#[derive(Clone, Debug, Default)]
pub(crate) struct LimitCounters {
    /// Since the model was last done.
    pub(crate) turns: u32,
    /// Since the model was last done.
    pub(crate) duration_ms: u64,
    pub(crate) cut_in_a_row: u32,
    pub(crate) empty_in_a_row: u32,
    pub(crate) identical: RepeatedCalls,
    /// Cost of the last call to the model, used as a guess at the next.
    pub(crate) last_micro_usd: u64,
}

/// The longest set of calls whose repetition is noticed.
pub(crate) const REPEATED_SET_MAX: usize = 16;

/// The calls made last, and how often the same ones came in a row: one call, or a set of several.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepeatedCalls {
    recent: VecDeque<(String, llm::ToolArguments)>,
    /// For each length of a set, how many calls in a row were the one that many before.
    matched: [u32; REPEATED_SET_MAX],
    /// Times the set was made in a row.
    pub(crate) times: u32,
    /// Number of calls in the set.
    pub(crate) calls: usize,
}

impl RepeatedCalls {
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

fn is_same((name, arguments): &(String, llm::ToolArguments), call: &ToolCall) -> bool {
    *name == call.name
        && match (arguments.value(), call.arguments.value()) {
            (Ok(a), Ok(b)) => a == b,
            _ => arguments.raw() == call.arguments.raw(),
        }
}

/// A reply and which of its calls are made.
#[derive(Clone, Debug)]
pub(crate) struct UnderWay {
    pub(crate) reply: ModelReply,
    pub(crate) begun: BTreeSet<u32>,
    pub(crate) ended: BTreeMap<u32, (ToolResult, Vec<ToolAction>)>,
}

impl Conversation {
    /// Makes a conversation with this past; an empty [`TurnHistory`] begins one.
    pub fn open(setting: ConversationConfig, history: TurnHistory) -> Conversation {
        let mut request = ModelRequest::ask(setting.model, String::new());
        request.messages.clear();
        request.system = setting.system;
        request.max_tokens = setting.max_tokens;
        request.temperature = setting.temperature;
        let mut conversation = Conversation {
            request,
            pending: Vec::new(),
            under_way: None,
            totals: ConversationTotals::default(),
            tally: LimitCounters::default(),
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

    /// Opens a conversation with everything the journal has stored, as [`Conversation::open`] does.
    pub async fn load(
        setting: ConversationConfig,
        journal: &mut dyn TurnJournal,
    ) -> Result<Conversation, Error> {
        Ok(Conversation::open(setting, journal.load().await?))
    }

    /// Says something to the model, to be answered by the next [`crate::run`].
    pub fn say(&mut self, text: impl Into<String>) {
        self.pending.push(ChatMessage::user(text));
        self.answer = None;
    }

    /// True if nothing was ever said. On resume, the opening message is already in the
    /// conversation.
    pub fn is_fresh(&self) -> bool {
        self.totals.turns == 0 && self.pending.is_empty() && self.under_way.is_none()
    }

    /// Returns the model's answer, if it is done and nothing was said since.
    pub fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    /// Returns the committed messages.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.request.messages
    }

    /// Returns the usage so far, failed calls included.
    pub fn totals(&self) -> &ConversationTotals {
        &self.totals
    }

    /// Returns everything the tools did in committed turns, in order.
    pub fn deeds(&self) -> &[ToolAction] {
        &self.deeds
    }

    /// Returns the bytes written so far, for a workspace that continues the job.
    pub fn ledger(&self) -> WriteCounter {
        let mut ledger = WriteCounter::default();
        for deed in &self.deeds {
            if let ToolAction::Wrote {
                path,
                change,
                bytes,
                ..
            } = deed
            {
                ledger.touched.insert(path.clone());
                if *change == FileChangeKind::Created {
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
    pub(crate) fn put_pending(&mut self) -> CommitMark {
        let mark = CommitMark {
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
        self.mark_for_cache(CacheControl::UpToHere);
        mark
    }

    pub(crate) fn take_back(&mut self, mark: &CommitMark) {
        self.mark_for_cache(CacheControl::Off);
        self.request.messages.truncate(mark.messages);
        if let Some(last) = self.request.messages.last_mut() {
            last.parts.truncate(mark.parts);
        }
    }

    /// Makes a committed turn part of the conversation.
    pub(crate) fn absorb(&mut self, turn: ConversationTurn) {
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
        if !is_blank && !matches!(verdict, ReplyVerdict::Refused(_)) {
            self.push(turn.reply.answer);
        }
        if !turn.results.is_empty() {
            self.push(ChatMessage::results(turn.results));
        }
        self.deeds.extend(turn.deeds);
        self.answer = None;
        match verdict {
            ReplyVerdict::Final => self.answer = Some(std::mem::take(&mut self.cut_text) + &text),
            ReplyVerdict::Empty => self.pending.push(ChatMessage::user(EMPTY_NUDGE)),
            ReplyVerdict::Cut => {
                self.cut_text.push_str(&text);
                if !has_calls {
                    self.pending
                        .push(ChatMessage::user(cut_nudge(self.request.max_tokens)));
                }
            }
            ReplyVerdict::Calls => self.cut_text.clear(),
            ReplyVerdict::Refused(_) => {}
        }
    }

    /// Counts the calls of a reply into the totals.
    fn spend(&mut self, reply: &ModelReply) {
        let mut spending = CallSpending::default();
        for entry in &reply.calls {
            self.totals.add(&reply.phase, entry);
            spending.add(entry);
        }
        self.tally.last_micro_usd = spending.micro_usd;
    }

    fn count(&mut self, turn: &ConversationTurn, verdict: &ReplyVerdict) {
        self.totals.turns = turn.reply.turn;
        let tally = &mut self.tally;
        tally.turns += 1;
        tally.duration_ms = tally.duration_ms.saturating_add(turn.duration_ms);
        tally.cut_in_a_row = if *verdict == ReplyVerdict::Cut {
            tally.cut_in_a_row + 1
        } else {
            0
        };
        tally.empty_in_a_row = if *verdict == ReplyVerdict::Empty {
            tally.empty_in_a_row + 1
        } else {
            0
        };
        match verdict {
            ReplyVerdict::Final => {
                tally.turns = 0;
                tally.duration_ms = 0;
                tally.identical = RepeatedCalls::default();
            }
            ReplyVerdict::Calls => turn
                .reply
                .tool_calls()
                .for_each(|call| tally.identical.count(call)),
            ReplyVerdict::Cut | ReplyVerdict::Empty | ReplyVerdict::Refused(_) => {}
        }
    }

    /// Takes up what a note says about a turn under way.
    fn recall(&mut self, note: TurnNote) {
        let next = self.next_turn();
        match note {
            TurnNote::Charged { phase, calls, .. } => {
                calls
                    .iter()
                    .for_each(|entry| self.totals.add(&phase, entry));
            }
            TurnNote::Replied { reply } if reply.turn == next => {
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
            TurnNote::Begun { turn, call } if turn == next => {
                if let Some(under_way) = &mut self.under_way {
                    under_way.begun.insert(call);
                }
            }
            TurnNote::Ended {
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
            TurnNote::Replied { .. } | TurnNote::Begun { .. } | TurnNote::Ended { .. } => {}
        }
    }

    /// Appends a message. Two messages of the user in a row become one: some chat templates insist
    /// that roles take turns.
    fn push(&mut self, message: ChatMessage) {
        match self.request.messages.last_mut() {
            Some(last) if last.role == ChatRole::User && message.role == ChatRole::User => {
                last.parts.extend(message.parts);
            }
            _ => self.request.messages.push(message),
        }
    }

    /// Asks the provider to keep everything up to the last message: the next request begins so.
    /// The mark belongs to the request and not to what was said.
    fn mark_for_cache(&mut self, cache: CacheControl) {
        if let Some(last) = self.request.messages.last_mut() {
            last.cache = cache;
        }
    }
}

/// The end of the committed messages.
pub(crate) struct CommitMark {
    messages: usize,
    parts: usize,
}

/// Sent to the model after a reply without text and without calls.
const EMPTY_NUDGE: &str = "Your reply was empty. Go on with the task by calling a tool, or, if it \
                           is done, say so in a sentence.";

fn cut_nudge(max_tokens: u32) -> String {
    format!(
        "Your reply was cut off at its limit (max_tokens = {max_tokens}). Go on exactly where it \
         stopped, and keep it short."
    )
}
