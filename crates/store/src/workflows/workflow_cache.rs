//! A cache of parsed workflows by hash. A hash always means the same text, so that no entry ever
//! becomes stale.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use flow::{TextHash, Workflow};

use super::backend::WorkflowBackend;
use crate::error::{DatabaseErrorKind, Error, Result};

/// Limits the cached workflows; one more empties the cache.
const TEXTS_MAX: usize = 256;

/// Parsed workflows by hash. Clones share them.
#[derive(Clone, Default)]
pub(super) struct WorkflowCache(Arc<Mutex<HashMap<TextHash, Arc<Workflow>>>>);

impl WorkflowCache {
    pub(super) async fn get<S: WorkflowBackend>(
        &self,
        backend: &mut S,
        hash: &TextHash,
    ) -> Result<Option<Arc<Workflow>>> {
        let known = self.known(hash);
        if known.is_some() {
            return Ok(known);
        }
        let Some(source) = backend.text(hash).await? else {
            return Ok(None);
        };
        let workflow = flow::parse(&source).map_err(|error| {
            Error::new(
                DatabaseErrorKind::Corrupt,
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
