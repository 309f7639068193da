//! Working: claims and executes tasks, fires schedules and delivers notices.

use std::sync::Arc;
use std::time::Duration;

use store::StoredNotice;

use super::UseCases;
use super::access::Permission;
use crate::notices::NoticeReaders;
use crate::people::explained;
use crate::worker::leader::{MaintenanceLeader, NeverEnds};
use crate::worker::{self, RunWatcher, StopCondition, WorkerOptions};
use crate::{CommandCancel, Error};

/// Pause of a worker between two looks for notices.
const NOTICES_LOOK: Duration = Duration::from_millis(500);
/// Limit on the batches of notices that a worker delivers before it ends.
const REST_MAX: usize = 100;

impl UseCases {
    /// Works: on everything there is, or on one run until it ends or waits for a person.
    pub async fn work(
        &self,
        order: &WorkerOptions,
        watcher: &mut dyn RunWatcher,
        cancel: &CommandCancel,
    ) -> Result<worker::WorkerEnd, Error> {
        self.permit(Permission::ControlRuns)?;
        let state = self.state();
        let leader = MaintenanceLeader::new(state.server.clone(), &order.name);
        let ports = (Arc::clone(&state.store), Arc::clone(&state.queries));
        let worker = worker::WorkerLoop::new(ports, Arc::clone(&state.hands), &leader, order);
        let hands = &state.hands;
        let readers = NoticeReaders::of(&hands.project, &hands.surroundings, &state.store)?;
        if matches!(order.until, StopCondition::Settled(_)) {
            let ended = worker.work(watcher, cancel).await;
            self.deliver_rest(&readers, &ended).await;
            return ended;
        }
        let around = (self.project(), self.app().surroundings());
        let ports = (&*state.store, &*state.queries);
        let triggers = state.database.triggers();
        let clock = (&*state.schedules, &*triggers);
        let tending = leader.tend_schedules(clock, ports, around);
        let ended = tokio::select! {
            // Due runs begin before the worker decides that nothing is left to do.
            biased;
            never = tending => match never {},
            never = self.tend_notices(&readers) => match never {},
            ended = worker.work(watcher, cancel) => ended,
        };
        self.deliver_rest(&readers, &ended).await;
        ended
    }

    /// Delivers notices for as long as the worker works. A failed delivery is tried again: the
    /// worker uses the same database and reports it when it is gone.
    async fn tend_notices(&self, readers: &NoticeReaders) -> NeverEnds {
        loop {
            if self.deliver(readers).await == 0 {
                tokio::time::sleep(NOTICES_LOOK).await;
            }
        }
    }

    /// Delivers the last notices before a worker ends by itself; one that was asked to stop has no time.
    async fn deliver_rest(
        &self,
        readers: &NoticeReaders,
        ended: &Result<worker::WorkerEnd, Error>,
    ) {
        if matches!(ended, Err(_) | Ok(worker::WorkerEnd::Stopped { .. })) {
            return;
        }
        for _ in 0..REST_MAX {
            if self.deliver(readers).await == 0 {
                return;
            }
        }
    }

    /// Delivers some notices that are due and returns how many.
    async fn deliver(&self, readers: &NoticeReaders) -> usize {
        let state = self.state();
        let now_ms = state.schedules.now_ms();
        let delivered = readers.deliver_due(&*state.outbox, &state.store, now_ms);
        delivered.await.unwrap_or(0)
    }

    /// Lists notices that were not delivered yet, in the order in which they were written.
    pub async fn notices(&self, max: usize) -> Result<Vec<StoredNotice>, Error> {
        self.permit(Permission::Look)?;
        let listed = self.state().outbox.list_notices(max).await;
        listed.map_err(explained)
    }

    /// Removes notices from the outbox. Returns how many of them were there.
    pub async fn acknowledge(&self, notices: &[u64]) -> Result<usize, Error> {
        self.permit(Permission::ControlRuns)?;
        let acknowledged = self.state().outbox.acknowledge_notices(notices).await;
        acknowledged.map_err(explained)
    }
}
