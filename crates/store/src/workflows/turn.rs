//! A worker's turn: what it has done is told, and what it does next is claimed.

use std::collections::VecDeque;

use flow::engine::{Batch, Command, TaskRow};
use flow::{Claim, Claimed, TaskId};

use super::desk::{Desk, Ready};
use super::guess::Looked;
use super::learning::learn_found;
use super::mind::{Lack, Mind};
use super::shelf::Shelf;
use crate::error::Result;

/// Whether everything that was needed is known.
type Known = std::result::Result<(), Lack>;

/// How far a turn has come.
pub(super) struct Turn<'o> {
    reports: VecDeque<&'o Command>,
    claim: &'o Claim,
    /// Tasks that are to be claimed.
    wanted: VecDeque<TaskId>,
    /// Tasks that are claimed, and not gathered yet what their worker gets.
    taken: VecDeque<TaskId>,
    claimed: Vec<Claimed>,
}

impl<'o> Turn<'o> {
    pub(super) fn new(reports: &'o [Command], claim: &'o Claim) -> Turn<'o> {
        Turn {
            reports: reports.iter().collect(),
            claim,
            wanted: VecDeque::new(),
            taken: VecDeque::new(),
            claimed: Vec::new(),
        }
    }

    fn room(&self) -> usize {
        let had = self.claimed.len() + self.taken.len();
        self.claim.max.saturating_sub(had)
    }

    /// Tells of what was done. Goes on where it stopped for a lack.
    fn tell(&mut self, mind: &Mind, batch: &mut Batch) -> Known {
        while let Some(report) = self.reports.front() {
            // Refused means that the task is somebody else's by now.
            let _ = mind.execute_pinned(batch, report)?;
            self.reports.pop_front();
        }
        Ok(())
    }

    /// Wants what was made ready here.
    fn want_fresh(&mut self, mind: &Mind, batch: &Batch) {
        if self.room() > 0 {
            let fresh = batch.ready(mind.now_ms()).into_iter();
            let fresh = fresh.filter(|row| is_wanted(self.claim, row));
            self.wanted = fresh.map(|row| row.id.clone()).collect();
        }
    }

    /// Claims what is wanted. Goes on where it stopped for a lack.
    fn take(&mut self, mind: &Mind, batch: &mut Batch) -> Known {
        while self.room() > 0
            && let Some(task) = self.wanted.front()
        {
            let claim = self.claiming(task.clone());
            let executed = mind.execute_pinned(batch, &claim)?;
            // Refused means that somebody was faster.
            self.taken
                .extend(self.wanted.pop_front().filter(|_| executed.is_ok()));
        }
        self.wanted.clear();
        while let Some(task) = self.taken.front() {
            let claimed = mind.claimed(batch, task)?;
            self.claimed.extend(claimed);
            self.taken.pop_front();
        }
        Ok(())
    }

    fn claiming(&self, task: TaskId) -> Command {
        Command::Claim {
            task,
            worker: self.claim.worker.clone(),
            lease_ms: self.claim.lease_ms,
        }
    }
}

impl<S: Shelf> Desk<S> {
    pub(super) async fn take_turn(
        &mut self,
        batch: &mut Batch,
        mut turn: Turn<'_>,
        ready: Ready,
    ) -> Result<Vec<Claimed>> {
        self.decide(batch, |mind, batch| turn.tell(mind, batch))
            .await?;
        let has_skipped = matches!(ready, Ready::Skipped);
        match ready {
            _ if turn.room() == 0 => {}
            Ready::Found(oldest) => self.claim_all(batch, &mut turn, oldest).await?,
            Ready::Unknown => self.look(batch, &mut turn).await?,
            Ready::Skipped => {}
        }
        // What was made ready here has waited the shortest.
        turn.want_fresh(&self.mind, batch);
        self.take_all(batch, &mut turn).await?;
        if has_skipped && turn.room() > 0 && self.looked.is_none_or(Looked::had_some) {
            self.stop_guessing(batch).await?;
            self.look(batch, &mut turn).await?;
        }
        Ok(turn.claimed)
    }

    /// Looks for what has been ready for longest, and claims it.
    async fn look(&mut self, batch: &mut Batch, turn: &mut Turn<'_>) -> Result<()> {
        let room = Claim {
            max: turn.room(),
            ..turn.claim.clone()
        };
        let waiting = self.shelf.ready(&room, self.mind.now_ms()).await?;
        self.looked = Some(Looked::now(waiting.tasks.is_empty()));
        learn_found(batch, waiting.runs);
        self.claim_all(batch, turn, waiting.tasks).await
    }

    async fn claim_all(
        &mut self,
        batch: &mut Batch,
        turn: &mut Turn<'_>,
        oldest: Vec<TaskId>,
    ) -> Result<()> {
        let runs = oldest.iter().map(|task| task.run.clone()).collect();
        self.learn_runs(batch, runs).await?;
        let claims = oldest.iter().map(|task| turn.claiming(task.clone()));
        let claims: Vec<Command> = claims.collect();
        self.foresee(batch, &claims.iter().collect::<Vec<_>>())
            .await?;
        turn.wanted = oldest.into();
        self.take_all(batch, turn).await
    }

    async fn take_all(&mut self, batch: &mut Batch, turn: &mut Turn<'_>) -> Result<()> {
        self.decide(batch, |mind, batch| turn.take(mind, batch))
            .await
    }
}

fn is_wanted(claim: &Claim, row: &TaskRow) -> bool {
    let is_assigned = |assignee: &String| claim.assignees.contains(assignee);
    (claim.runs.is_empty() || claim.runs.contains(&row.id.run))
        && (claim.assignees.is_empty() || row.assignee.as_ref().is_some_and(is_assigned))
}
