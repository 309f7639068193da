//! A tool that works on the files of a workspace: what all such tools have in common.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use workspace::Workspace;

use super::{arguments, blocking};
use crate::tool::{CallContext, CallEffect, Tool, ToolError, ToolFuture, ToolOutput};

/// Handles one call; the number is the size limit of the result, in bytes.
type FileToolHandler<A> = fn(&Workspace, A, usize) -> Result<ToolOutput, ToolError>;

/// A declaration, and the function behind it.
pub(super) struct OnFiles<A> {
    workspace: Arc<Workspace>,
    declaration: llm::ToolDeclaration,
    effect: CallEffect,
    handle: FileToolHandler<A>,
}

impl<A> OnFiles<A> {
    pub(super) fn new(
        workspace: Arc<Workspace>,
        declaration: llm::ToolDeclaration,
        effect: CallEffect,
        handle: FileToolHandler<A>,
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
    fn declaration(&self) -> &llm::ToolDeclaration {
        &self.declaration
    }

    fn effect(&self) -> CallEffect {
        self.effect
    }

    fn call<'a>(&'a self, given: CallContext<'a>) -> ToolFuture<'a> {
        Box::pin(async move {
            let wanted: A = arguments(given.arguments)?;
            let workspace = Arc::clone(&self.workspace);
            let (handle, bytes_max) = (self.handle, given.output_bytes_max);
            blocking(move || handle(&workspace, wanted, bytes_max)).await
        })
    }
}
