//! The tools of a run, by name.

use std::sync::Arc;

use crate::error::{AgentErrorKind, Error};
use crate::schema::ArgumentSchema;
use crate::tool::Tool;

/// Tools that a model may call; no two have one name.
#[derive(Clone, Default)]
pub struct AgentTools {
    tools: Vec<Arc<RegisteredTool>>,
}

pub(crate) struct RegisteredTool {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) schema: ArgumentSchema,
}

impl AgentTools {
    /// Makes an empty set.
    pub fn new() -> AgentTools {
        AgentTools::default()
    }

    /// Adds a tool.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), Error> {
        let name = &tool.declaration().name;
        if self.find(name).is_some() {
            return Err(Error::new(
                AgentErrorKind::Setup,
                format!("there are two tools called `{name}`; rename one of them"),
            ));
        }
        let schema = ArgumentSchema::new(&tool.declaration().schema);
        self.tools.push(Arc::new(RegisteredTool { tool, schema }));
        Ok(())
    }

    /// Drops the tools whose name `keep` turns down.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(&str) -> bool) -> AgentTools {
        self.tools
            .retain(|held| keep(&held.tool.declaration().name));
        self
    }

    /// Returns the names, in the order the model sees them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools
            .iter()
            .map(|held| held.tool.declaration().name.as_str())
    }

    /// Returns the tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.find(name).map(|held| &held.tool)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.tools
            .iter()
            .find(|held| held.tool.declaration().name == name)
    }

    pub(crate) fn declarations(&self) -> Vec<llm::ToolDeclaration> {
        self.tools
            .iter()
            .map(|held| held.tool.declaration().clone())
            .collect()
    }

    /// Returns the sentence sent to the model about a name that no tool has.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let known: Vec<_> = self.names().collect();
        let all = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        match diagnostics::nearest(name, self.names()) {
            Some(near) => {
                format!("There is no tool `{name}`; did you mean `{near}`? The tools are: {all}.")
            }
            None => format!("There is no tool `{name}`. The tools are: {all}."),
        }
    }
}
