//! The clocks of the benchmark: one per turn, and one around the journal.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use agent::{
    AgentClock, AgentEvent, AgentObserver, ConversationTurn, JournalFuture, TurnHistory,
    TurnJournal, TurnNote,
};

pub(crate) fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(crate) fn ms_since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1_000.0
}

pub(crate) struct Wall;

impl AgentClock for Wall {
    fn now_ms(&self) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Takes the time of every turn, from its start until it is committed and told.
#[derive(Default)]
pub(crate) struct Watch {
    began: Option<Instant>,
    pub(crate) turns: Vec<f64>,
}

impl AgentObserver for Watch {
    fn wants_stream(&self) -> bool {
        false
    }

    fn notice(&mut self, event: &AgentEvent<'_>) {
        match event {
            AgentEvent::TurnStarted { .. } => self.began = Some(Instant::now()),
            AgentEvent::Committed { .. } => self.turns.extend(self.began.take().map(ms_since)),
            _ => {}
        }
    }
}

/// A journal and the time it takes per turn.
pub(crate) struct Timed<J> {
    inner: J,
    this_turn: f64,
    pub(crate) turns: Vec<f64>,
}

impl<J> Timed<J> {
    pub(crate) fn new(inner: J) -> Timed<J> {
        Timed {
            inner,
            this_turn: 0.0,
            turns: Vec::new(),
        }
    }
}

impl<J: TurnJournal> TurnJournal for Timed<J> {
    fn load(&mut self) -> JournalFuture<'_, TurnHistory> {
        self.inner.load()
    }

    fn note<'a>(&'a mut self, note: &'a TurnNote) -> JournalFuture<'a, ()> {
        Box::pin(async {
            let began = Instant::now();
            let kept = self.inner.note(note).await;
            self.this_turn += ms_since(began);
            kept
        })
    }

    fn commit<'a>(&'a mut self, turn: &'a ConversationTurn) -> JournalFuture<'a, ()> {
        Box::pin(async {
            let began = Instant::now();
            let kept = self.inner.commit(turn).await;
            let before = std::mem::take(&mut self.this_turn);
            self.turns.push(before + ms_since(began));
            kept
        })
    }
}
