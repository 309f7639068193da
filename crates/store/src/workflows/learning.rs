//! What a decision lacks is looked up, for many commands together where that can be foreseen.

use std::collections::{BTreeMap, BTreeSet};

use flow::RunId;
use flow::engine::{Batch, Command, Found, Lookup, Rows as _, likely};

use super::desk::Desk;
use super::shelf::Shelf;
use crate::error::Result;

impl<S: Shelf> Desk<S> {
    pub(super) async fn look_up(&mut self, batch: &mut Batch, lookup: Lookup) -> Result<()> {
        self.stop_guessing().await?;
        let found = self.shelf.find(&lookup).await?;
        batch.learn(lookup, found);
        Ok(())
    }

    pub(super) async fn learn_runs(
        &mut self,
        batch: &mut Batch,
        runs: BTreeSet<RunId>,
    ) -> Result<()> {
        let unknown = runs.into_iter().filter(|run| batch.run(run).is_err());
        let unknown: Vec<RunId> = unknown.collect();
        if unknown.is_empty() || self.is_guessing() {
            return Ok(());
        }
        for row in self.shelf.find_runs(&unknown).await? {
            batch.learn(Lookup::Run(row.id.clone()), Found::Run(Some(row)));
        }
        for run in unknown {
            batch.learn(Lookup::Run(run), Found::Run(None));
        }
        Ok(())
    }

    /// What these commands will ask for, in a few questions instead of many.
    pub(super) async fn foresee(&mut self, batch: &mut Batch, commands: &[&Command]) -> Result<()> {
        let mut by_run: BTreeMap<&RunId, Vec<&Command>> = BTreeMap::new();
        for command in commands {
            by_run.entry(command.run()).or_default().push(command);
        }
        let mut first = BTreeSet::new();
        let mut pinned = Vec::with_capacity(by_run.len());
        for (run, commands) in by_run {
            if let Some(workflow) = self.pinned(batch, run).await? {
                first.extend(
                    commands
                        .iter()
                        .flat_map(|command| likely(&workflow, command)),
                );
                pinned.push((workflow, commands));
            }
        }
        self.learn(batch, first).await?;
        let second = pinned
            .iter()
            .flat_map(|(workflow, commands)| batch.ahead(workflow, commands))
            .collect();
        self.learn(batch, second).await
    }

    /// Looks up what is not known yet, one question for each kind. One alone is left to whoever
    /// asks for it.
    async fn learn(&mut self, batch: &mut Batch, lookups: BTreeSet<Lookup>) -> Result<()> {
        let unknown = lookups.into_iter().filter(|lookup| !batch.knows(lookup));
        let unknown: Vec<Lookup> = unknown.collect();
        if unknown.len() < 2 || self.is_guessing() {
            return Ok(());
        }
        let (mut tasks, mut groups) = (Vec::new(), Vec::new());
        let (mut items, mut places) = (Vec::new(), Vec::new());
        for lookup in unknown {
            match lookup {
                Lookup::Task(task) => tasks.push(task),
                Lookup::Group(group) => groups.push(group),
                Lookup::Item(group, index) => items.push((group, index)),
                Lookup::Visits(place) => places.push(place),
                _ => {}
            }
        }
        if !tasks.is_empty() {
            for row in self.shelf.find_tasks(&tasks).await? {
                batch.learn(Lookup::Task(row.id.clone()), Found::Task(Some(row)));
            }
        }
        if !groups.is_empty() {
            for row in self.shelf.find_groups(&groups).await? {
                batch.learn(Lookup::Group(row.id.clone()), Found::Group(Some(row)));
            }
        }
        if !items.is_empty() {
            for row in self.shelf.find_items(&items).await? {
                let lookup = Lookup::Item(row.group.clone(), row.index);
                batch.learn(lookup, Found::Item(Some(row)));
            }
        }
        if !places.is_empty() {
            let visits = self.shelf.find_visits(&places).await?;
            for (place, visits) in places.into_iter().zip(visits) {
                batch.learn(Lookup::Visits(place), Found::Visits(visits));
            }
        }
        // Those that were not found are none.
        for task in tasks {
            batch.learn(Lookup::Task(task), Found::Task(None));
        }
        for group in groups {
            batch.learn(Lookup::Group(group), Found::Group(None));
        }
        for (group, index) in items {
            batch.learn(Lookup::Item(group, index), Found::Item(None));
        }
        Ok(())
    }
}
