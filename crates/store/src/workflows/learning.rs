//! What a decision lacks is looked up, for many commands together where that can be foreseen.

use std::collections::{BTreeMap, BTreeSet};

use flow::engine::{Batch, Command, Found, Lookup, Rows as _, RunRow, endings, likely};
use flow::{RunId, TaskId};

use super::desk::Desk;
use super::mind::{Lack, Mind};
use super::shelf::{Shelf, Wanted};
use crate::error::{Error, Kind, Result};

impl<S: Shelf> Desk<S> {
    /// Decides, and finds what is lacking, until nothing is.
    pub(super) async fn decide<T>(
        &mut self,
        batch: &mut Batch,
        mut decide: impl FnMut(&Mind, &mut Batch) -> std::result::Result<T, Lack> + Send,
    ) -> Result<T> {
        loop {
            match decide(&self.mind, batch) {
                Ok(decided) => return Ok(decided),
                Err(lack) => self.supply(batch, lack).await?,
            }
        }
    }

    async fn supply(&mut self, batch: &mut Batch, lack: Lack) -> Result<()> {
        match lack {
            Lack::Row(lookup) => self.look_up(batch, lookup).await,
            Lack::Text(hash) => match self.mind.texts.get(&mut self.shelf, &hash).await? {
                Some(_) => Ok(()),
                None => {
                    let message = format!("the workflow {hash} of a run is not there.");
                    Err(Error::new(Kind::Corrupt, message))
                }
            },
        }
    }

    async fn look_up(&mut self, batch: &mut Batch, lookup: Lookup) -> Result<()> {
        self.stop_guessing(batch).await?;
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
        learn_found(batch, self.shelf.find_runs(&unknown).await?);
        for run in unknown {
            batch.learn(Lookup::Run(run), Found::Run(None));
        }
        Ok(())
    }

    /// What these commands will ask for, in a few questions instead of many.
    pub(super) async fn foresee(&mut self, batch: &mut Batch, commands: &[&Command]) -> Result<()> {
        let was_guessing = self.is_guessing();
        self.foresee_once(batch, commands).await?;
        match was_guessing && !self.is_guessing() {
            // What was known may have turned out not to be so.
            true => self.foresee_once(batch, commands).await,
            false => Ok(()),
        }
    }

    async fn foresee_once(&mut self, batch: &mut Batch, commands: &[&Command]) -> Result<()> {
        let mut by_run: BTreeMap<&RunId, Vec<&Command>> = BTreeMap::new();
        for command in commands {
            by_run.entry(command.run()).or_default().push(command);
        }
        let mut first = BTreeSet::new();
        let mut pinned = Vec::with_capacity(by_run.len());
        for (run, commands) in by_run {
            if let Some(workflow) = self
                .decide(batch, |mind, batch| mind.pinned(batch, run))
                .await?
            {
                first.extend(
                    commands
                        .iter()
                        .flat_map(|command| likely(&workflow, command)),
                );
                pinned.push((workflow, commands));
            }
        }
        self.learn(batch, &first, &endings(commands)).await?;
        let second = pinned
            .iter()
            .flat_map(|(workflow, commands)| batch.ahead(workflow, commands))
            .collect();
        self.learn(batch, &second, &BTreeMap::new()).await
    }

    /// Looks up what is not known yet, in one question. One alone is left to whoever asks for it.
    /// Where a foreach is not known, so many of its next items are looked up with it.
    async fn learn(
        &mut self,
        batch: &mut Batch,
        lookups: &BTreeSet<Lookup>,
        next_items: &BTreeMap<TaskId, u32>,
    ) -> Result<()> {
        let unknown = lookups.iter().filter(|lookup| !batch.knows(lookup));
        let unknown: Vec<&Lookup> = unknown.collect();
        let has_items = |lookup: &&Lookup| match lookup {
            Lookup::Group(group) => next_items.contains_key(group),
            _ => false,
        };
        if unknown.len() < 2 && !unknown.iter().any(has_items) {
            return Ok(());
        }
        if self.is_guessing() {
            // Then it is not known yet what is not known.
            return self.stop_guessing(batch).await;
        }
        let mut wanted = Wanted::default();
        for lookup in unknown {
            match lookup.clone() {
                Lookup::Task(task) => wanted.tasks.push(task),
                Lookup::Group(group) => {
                    if let Some(count) = next_items.get(&group) {
                        wanted.next_items.push((group.clone(), *count));
                    }
                    wanted.groups.push(group);
                }
                Lookup::Item(group, index) => wanted.items.push((group, index)),
                Lookup::Visits(place) => wanted.places.push(place),
                _ => {}
            }
        }
        let seen = self.shelf.find_all(&wanted).await?;
        for row in seen.tasks {
            batch.learn(Lookup::Task(row.id.clone()), Found::Task(Some(row)));
        }
        for row in seen.groups {
            batch.learn(Lookup::Group(row.id.clone()), Found::Group(Some(row)));
        }
        for row in seen.items {
            let lookup = Lookup::Item(row.group.clone(), row.index);
            batch.learn(lookup, Found::Item(Some(row)));
        }
        for (place, visits) in wanted.places.into_iter().zip(seen.visits) {
            batch.learn(Lookup::Visits(place), Found::Visits(visits));
        }
        // Those that were not found are none.
        for task in wanted.tasks {
            batch.learn(Lookup::Task(task), Found::Task(None));
        }
        for group in wanted.groups {
            batch.learn(Lookup::Group(group), Found::Group(None));
        }
        for (group, index) in wanted.items {
            batch.learn(Lookup::Item(group, index), Found::Item(None));
        }
        Ok(())
    }
}

pub(super) fn learn_found(batch: &mut Batch, found: Vec<RunRow>) {
    for row in found {
        batch.learn(Lookup::Run(row.id.clone()), Found::Run(Some(row)));
    }
}
