//! Workflows that were read already: a text never changes, so that it is read once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use flow::{TextHash, Workflow};

use super::shelf::Shelf;
use crate::error::{Error, Kind, Result};

/// How many are kept; beyond them all are read anew.
const TEXTS_MAX: usize = 256;

/// Parsed workflows. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Texts(Arc<Mutex<HashMap<TextHash, Arc<Workflow>>>>);

impl Texts {
    pub(super) async fn get<S: Shelf>(
        &self,
        shelf: &mut S,
        hash: &TextHash,
    ) -> Result<Option<Arc<Workflow>>> {
        let known = self.known(hash);
        if known.is_some() {
            return Ok(known);
        }
        let Some(source) = shelf.text(hash).await? else {
            return Ok(None);
        };
        let workflow = flow::parse(&source).map_err(|error| {
            Error::new(
                Kind::Corrupt,
                format!("the stored workflow {hash} cannot be read any more: {error}"),
            )
        })?;
        let workflow = Arc::new(workflow);
        self.with(|texts| {
            if texts.len() >= TEXTS_MAX {
                texts.clear();
            }
            texts.insert(hash.clone(), Arc::clone(&workflow));
        });
        Ok(Some(workflow))
    }

    pub(super) fn known(&self, hash: &TextHash) -> Option<Arc<Workflow>> {
        self.with(|texts| texts.get(hash).cloned())
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<TextHash, Arc<Workflow>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
