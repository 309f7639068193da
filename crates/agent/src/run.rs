//! The loop: ask, do what is asked for, commit, and again, until the model is done.

mod sentences;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use exec::CommandCancel;
use llm::budget::{SpendEntry, expected_usage};
use llm::usage::dollars;
use llm::{CallCost, ChatMessage, Model, ToolCall, ToolOutcome, ToolResult};
use serde::Serialize;

use crate::conversation::{Conversation, RepeatedCalls, UnderWay};
use crate::dispatch::{self, CallAllowance};
use crate::error::{AgentErrorKind, Error, StoppedRun};
use crate::event::{AgentEvent, AgentObserver};
use crate::journal::{ConversationTurn, TurnJournal, TurnNote};
use crate::limits::Limits;
use crate::model_call::{CallObserver, answer};
use crate::reply::{ModelReply, ReplyVerdict};
use crate::spending::ConversationTotals;
use crate::tool::{CallEffect, ToolAction};
use crate::toolset::AgentTools;
use sentences::{INTERRUPTED, cut_sentence, last_warning};

/// Dependencies of a run.
#[derive(Clone, Copy)]
pub struct LoopConfig<'a> {
    /// The model to ask.
    pub model: &'a dyn Model,
    /// Tools the model may call; file access and its policy are inside.
    pub toolset: &'a AgentTools,
    /// Limits of the run.
    pub limits: &'a Limits,
    /// The time.
    pub clock: &'a dyn AgentClock,
    /// Ends the run when switched.
    pub cancel: &'a CommandCancel,
    /// Purpose of the run, such as `generate` or `repair`; usage is added up by it.
    pub phase: &'a str,
}

/// The time, handed in.
pub trait AgentClock: Send + Sync {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;
}

/// A run that came to its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FinishedRun {
    /// The model's last words.
    pub text: String,
    /// Usage of the whole conversation.
    pub totals: ConversationTotals,
}

/// Goes on with the conversation until the model answers without calling a tool.
///
/// A conversation that has such an answer and to which nothing was said since is left as it is.
pub async fn run(
    job: &LoopConfig<'_>,
    conversation: &mut Conversation,
    journal: &mut dyn TurnJournal,
    observer: &mut dyn AgentObserver,
) -> Result<FinishedRun, StoppedRun> {
    let started_ms = job.clock.now_ms();
    let spent_ms = conversation.tally.duration_ms;
    conversation.request.tools = job.toolset.declarations();
    let mut run = AgentLoop {
        job,
        conversation,
        journal,
        observer,
        started_ms,
        spent_ms,
    };
    let ended = run.go_on().await;
    let totals = run.conversation.totals.clone();
    match ended {
        Ok(text) => {
            run.observer.notice(&AgentEvent::Finished {
                text: &text,
                totals: &totals,
            });
            Ok(FinishedRun { text, totals })
        }
        Err(error) => {
            let (kind, message) = (error.kind(), error.to_string());
            run.observer.notice(&AgentEvent::Stopped {
                kind,
                message: &message,
                totals: &totals,
            });
            Err(StoppedRun {
                error,
                totals: Box::new(totals),
            })
        }
    }
}

struct AgentLoop<'a, 'j> {
    job: &'a LoopConfig<'j>,
    conversation: &'a mut Conversation,
    journal: &'a mut dyn TurnJournal,
    observer: &'a mut dyn AgentObserver,
    started_ms: u64,
    /// Time the run had taken before the process died.
    spent_ms: u64,
}

impl AgentLoop<'_, '_> {
    async fn go_on(&mut self) -> Result<String, Error> {
        loop {
            if let Some(answer) = self.conversation.answer() {
                return Ok(answer.to_owned());
            }
            let began_ms = self.job.clock.now_ms();
            if self.conversation.under_way.is_none() {
                self.allow()?;
                self.ask().await?;
            } else {
                let turn = self.conversation.next_turn();
                self.observer.notice(&AgentEvent::TurnResumed {
                    turn,
                    phase: self.job.phase,
                });
            }
            let (results, deeds) = self.carry_out().await?;
            let verdict = self.commit(results, deeds, began_ms).await?;
            self.judge(&verdict)?;
        }
    }

    /// Refuses another call to the model that would break a limit.
    fn allow(&self) -> Result<(), Error> {
        let (limits, tally) = (self.job.limits, &self.conversation.tally);
        self.not_cancelled()?;
        if tally.turns >= limits.turns_max {
            let reached = format!("the model took {} turns and is not done", tally.turns);
            return Err(Error::limit("agent.turns_max", limits.turns_max, &reached));
        }
        self.time_left()?;
        let all = &self.conversation.totals.all;
        if let Some(tokens_max) = limits.tokens_max {
            let (spent, next) = (
                all.usage.total(),
                expected_usage(&self.conversation.request).total(),
            );
            if spent.saturating_add(next) > tokens_max {
                let reached = format!("{spent} tokens are spent and the next call may take {next}");
                return Err(Error::limit("agent.tokens_max", tokens_max, &reached));
            }
        }
        let Some(micro_usd_max) = limits.micro_usd_max else {
            return Ok(());
        };
        let name = "agent.usd_max";
        if all.cost() == CallCost::Unknown {
            let reached = "the price of the model is not known, so money cannot be counted";
            return Err(Error::limit(name, dollars(micro_usd_max), reached));
        }
        // A conversation only grows, so the next call is taken to cost what the last one did.
        if all.micro_usd.saturating_add(tally.last_micro_usd) > micro_usd_max {
            let (spent, next) = (dollars(all.micro_usd), dollars(tally.last_micro_usd));
            let reached = format!("{spent} is spent and the next call may cost {next}");
            return Err(Error::limit(name, dollars(micro_usd_max), &reached));
        }
        Ok(())
    }

    fn not_cancelled(&self) -> Result<(), Error> {
        if self.job.cancel.is_cancelled() {
            return Err(Error::new(
                AgentErrorKind::Cancelled,
                "the run was cancelled. Finished work is kept; resume to go on.",
            ));
        }
        Ok(())
    }

    fn time_left(&self) -> Result<Duration, Error> {
        let here = self.job.clock.now_ms().saturating_sub(self.started_ms);
        let elapsed = Duration::from_millis(self.spent_ms.saturating_add(here));
        let wall_max = self.job.limits.wall_max();
        match wall_max.checked_sub(elapsed) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(self.too_long()),
        }
    }

    fn too_long(&self) -> Error {
        let seconds = self.job.limits.wall_seconds_max;
        Error::limit(
            "agent.wall_seconds_max",
            seconds,
            "the time is up and the model is not done",
        )
    }

    /// Asks the model; its reply becomes the turn under way.
    async fn ask(&mut self) -> Result<(), Error> {
        let (job, turn) = (self.job, self.conversation.next_turn());
        self.observer.notice(&AgentEvent::TurnStarted {
            turn,
            phase: job.phase,
        });
        let asked_ms = job.clock.now_ms();
        let time_left = self.time_left()?;
        let mark = self.conversation.put_pending();
        let mut ear = CallObserver {
            observer: self.observer,
            totals: &mut self.conversation.totals,
            phase: job.phase,
            calls: Vec::new(),
        };
        let answer = answer(job, &self.conversation.request, &mut ear, time_left).await;
        let calls = std::mem::take(&mut ear.calls);
        self.conversation.take_back(&mark);
        let response = match answer {
            Ok(Some(response)) => response,
            Ok(None) => {
                self.charge(turn, calls).await?;
                return Err(self.too_long());
            }
            Err(error) => {
                self.charge(turn, calls).await?;
                return Err(error);
            }
        };
        let tally = &mut self.conversation.tally;
        tally.last_micro_usd = calls
            .iter()
            .filter_map(|entry| entry.cost.micro_usd())
            .sum();
        let stop = response.stop.clone();
        let reply = ModelReply {
            turn,
            phase: job.phase.to_owned(),
            asked: self.conversation.pending.clone(),
            answer: response.into_message(),
            stop,
            calls,
            duration_ms: job.clock.now_ms().saturating_sub(asked_ms),
        };
        let (begun, ended) = (BTreeSet::new(), BTreeMap::new());
        let under_way = UnderWay {
            reply,
            begun,
            ended,
        };
        if under_way.reply.verdict() == ReplyVerdict::Calls {
            let reply = Box::new(under_way.reply.clone());
            self.journal.note(&TurnNote::Replied { reply }).await?;
        }
        self.conversation.under_way = Some(under_way);
        Ok(())
    }

    /// Keeps calls that were billed and led to no turn.
    async fn charge(&mut self, turn: u32, calls: Vec<SpendEntry>) -> Result<(), Error> {
        if calls.is_empty() {
            return Ok(());
        }
        let phase = self.job.phase.to_owned();
        self.journal
            .note(&TurnNote::Charged { turn, phase, calls })
            .await
    }

    /// Makes the calls of the reply under way, in order. An error leaves it under way.
    async fn carry_out(&mut self) -> Result<(Vec<ToolResult>, Vec<ToolAction>), Error> {
        let Some(mut under_way) = self.conversation.under_way.take() else {
            return Ok((Vec::new(), Vec::new()));
        };
        let made = self.make_calls(&mut under_way).await;
        let ended = under_way.ended.clone();
        self.conversation.under_way = Some(under_way);
        made?;
        let (results, deeds): (Vec<_>, Vec<_>) = ended.into_values().unzip();
        Ok((results, deeds.into_iter().flatten().collect()))
    }

    async fn make_calls(&mut self, under_way: &mut UnderWay) -> Result<(), Error> {
        let verdict = under_way.reply.verdict();
        let mut identical = self.conversation.tally.identical.clone();
        let reply = &under_way.reply;
        for (index, call) in (0_u32..).zip(reply.tool_calls()) {
            let sentence = match &verdict {
                ReplyVerdict::Cut => Some(cut_sentence(self.conversation.request.max_tokens)),
                ReplyVerdict::Calls if index >= self.job.limits.calls_per_turn_max => {
                    Some(format!(
                        "Not made: a reply may hold {} calls (agent.calls_per_turn_max). Make it again in your next reply.",
                        self.job.limits.calls_per_turn_max
                    ))
                }
                ReplyVerdict::Calls => None,
                // A refusal's calls are part of what is thrown away.
                ReplyVerdict::Refused(_) | ReplyVerdict::Final | ReplyVerdict::Empty => continue,
            };
            if let Some(sentence) = sentence {
                under_way
                    .ended
                    .insert(index, (dispatch::untold(call, &sentence), Vec::new()));
                continue;
            }
            identical.count(call);
            self.not_too_often(call, &identical)?;
            if under_way.ended.contains_key(&index) {
                continue;
            }
            if under_way.begun.contains(&index) {
                under_way
                    .ended
                    .insert(index, (dispatch::untold(call, INTERRUPTED), Vec::new()));
                continue;
            }
            let (mut result, deeds) = self.make_call(reply, index, call).await?;
            if identical.times == self.job.limits.identical_calls_max {
                result.content.push_str(&last_warning(identical.times));
            }
            under_way.ended.insert(index, (result, deeds));
        }
        Ok(())
    }

    fn not_too_often(&self, call: &ToolCall, identical: &RepeatedCalls) -> Result<(), Error> {
        let times_max = self.job.limits.identical_calls_max;
        let times = identical.times;
        if times <= times_max {
            return Ok(());
        }
        let reached = match identical.calls {
            1 => format!(
                "`{}` was called {times} times in a row with the same arguments",
                call.name
            ),
            calls => format!("the same {calls} calls were made {times} times in a row"),
        };
        Err(Error::limit(
            "agent.identical_calls_max",
            times_max,
            &reached,
        ))
    }

    /// Makes one call, with notes before and after it if it changes something. The commit that
    /// follows at once records the end of the last call: another note would only flush the disk
    /// twice.
    async fn make_call(
        &mut self,
        reply: &ModelReply,
        index: u32,
        call: &ToolCall,
    ) -> Result<(ToolResult, Vec<ToolAction>), Error> {
        self.not_cancelled()?;
        let turn = reply.turn;
        let more_follow = reply.tool_calls().nth(index as usize + 1).is_some();
        let ready = dispatch::prepare(self.job.toolset, call);
        let changes = ready.effect() == CallEffect::Changes;
        let allowance = CallAllowance {
            limits: self.job.limits,
            cancel: self.job.cancel,
            time_left: self.time_left()?,
        };
        if changes {
            self.journal
                .note(&TurnNote::Begun { turn, call: index })
                .await?;
        }
        let (id, name) = (call.id.as_str(), call.name.as_str());
        let arguments = call.arguments.raw();
        self.observer.notice(&AgentEvent::ToolStarted {
            turn,
            id,
            name,
            arguments,
        });
        let (result, deeds) = dispatch::make(ready, call, &allowance, self.observer).await?;
        if changes && more_follow {
            let (result, deeds) = (result.clone(), deeds.clone());
            self.journal
                .note(&TurnNote::Ended {
                    turn,
                    call: index,
                    result,
                    deeds,
                })
                .await?;
        }
        for deed in &deeds {
            self.observer.notice(&AgentEvent::Did { turn, deed });
        }
        let outcome = result.outcome;
        let failure = (outcome == ToolOutcome::Failed).then_some(result.content.as_str());
        self.observer.notice(&AgentEvent::ToolFinished {
            turn,
            id,
            name,
            outcome,
            failure,
        });
        Ok((result, deeds))
    }

    /// Stores the turn; only then is it part of the conversation.
    async fn commit(
        &mut self,
        results: Vec<ToolResult>,
        deeds: Vec<ToolAction>,
        began_ms: u64,
    ) -> Result<ReplyVerdict, Error> {
        let Some(under_way) = self.conversation.under_way.take() else {
            return Err(Error::new(
                AgentErrorKind::Setup,
                "there is no turn to commit",
            ));
        };
        let (reply, at_ms) = (under_way.reply, self.job.clock.now_ms());
        let duration_ms = at_ms.saturating_sub(began_ms).max(reply.duration_ms);
        let turn = ConversationTurn {
            reply,
            results,
            deeds,
            at_ms,
            duration_ms,
        };
        if let Err(error) = self.journal.commit(&turn).await {
            let (begun, ended) = (under_way.begun, under_way.ended);
            let reply = turn.reply;
            self.conversation.under_way = Some(UnderWay {
                reply,
                begun,
                ended,
            });
            return Err(error);
        }
        let (number, verdict) = (turn.reply.turn, turn.reply.verdict());
        self.conversation.absorb(turn);
        let totals = &self.conversation.totals;
        self.observer.notice(&AgentEvent::Committed {
            turn: number,
            totals,
        });
        for message in &self.conversation.pending {
            tell(self.observer, number, message);
        }
        Ok(verdict)
    }

    /// Stops what does not get anywhere.
    fn judge(&self, verdict: &ReplyVerdict) -> Result<(), Error> {
        let (limits, tally) = (self.job.limits, &self.conversation.tally);
        match verdict {
            ReplyVerdict::Refused(word) => Err(Error::new(
                AgentErrorKind::Refused,
                format!(
                    "the model refused ({word}). Change the task's words, or ask another model."
                ),
            )),
            ReplyVerdict::Empty if tally.empty_in_a_row > EMPTY_REPLIES_TOLD => Err(Error::new(
                AgentErrorKind::EmptyReply,
                "the model's reply was empty again after it was told so. Ask another model, or \
                 raise `max_tokens` if it thinks at length.",
            )),
            ReplyVerdict::Cut if tally.cut_in_a_row > limits.cut_replies_max => {
                let reached = format!(
                    "{} replies in a row were cut off at max_tokens = {}",
                    tally.cut_in_a_row, self.conversation.request.max_tokens
                );
                Err(Error::limit(
                    "agent.cut_replies_max",
                    limits.cut_replies_max,
                    &reached,
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Times the model is told about an empty reply before one ends the run.
const EMPTY_REPLIES_TOLD: u32 = 1;

fn tell(observer: &mut dyn AgentObserver, turn: u32, message: &ChatMessage) {
    for part in &message.parts {
        if let llm::MessagePart::Text(text) = part {
            observer.notice(&AgentEvent::Told { turn, text });
        }
    }
}
