//! A tool that works on the files of a workspace: what all such tools have in common.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use workspace::Workspace;

use super::{arguments, blocking};
use crate::tool::{Called, Effect, Fault, Given, Output, Tool};

/// What a tool does with its arguments; the number is what one result may hold, in bytes.
type Handle<A> = fn(&Workspace, A, usize) -> Result<Output, Fault>;

/// A declaration, and the function behind it.
pub(super) struct OnFiles<A> {
    workspace: Arc<Workspace>,
    declaration: llm::Tool,
    effect: Effect,
    handle: Handle<A>,
}

impl<A> OnFiles<A> {
    pub(super) fn new(
        workspace: Arc<Workspace>,
        declaration: llm::Tool,
        effect: Effect,
        handle: Handle<A>,
    ) -> OnFiles<A> {
        OnFiles {
            workspace,
            declaration,
            effect,
            handle,
        }
    }
}

impl<A: DeserializeOwned + Send + 'static> Tool for OnFiles<A> {
    fn declaration(&self) -> &llm::Tool {
        &self.declaration
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn call<'a>(&'a self, given: Given<'a>) -> Called<'a> {
        Box::pin(async move {
            let wanted: A = arguments(given.arguments)?;
            let workspace = Arc::clone(&self.workspace);
            let (handle, bytes_max) = (self.handle, given.output_bytes_max);
            blocking(move || handle(&workspace, wanted, bytes_max)).await
        })
    }
}
