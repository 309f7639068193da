//! Settings that override a step's for one task, given with `tasks retry --with`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::commands;
use crate::config::StepConfig;
use crate::engine::TaskRow;
use crate::error::ProblemSeverity;
use crate::expression;
use crate::reads;
use crate::settings;
use crate::workflow::{Workflow, WorkflowStep};

/// The settings that can be overridden for one task. All others control the course of the diagram,
/// and only the text may set them.
pub(crate) const OVERRIDABLE: [&str; 10] = [
    "prompt",
    "handler",
    "config",
    "timeout",
    "retry",
    "budget",
    "outputSchema",
    "confidence",
    "contextFrom",
    "contextTokensMax",
];

impl Workflow {
    /// Returns the step of a task, with the task's own overrides.
    #[must_use]
    pub fn step_of(&self, row: &TaskRow) -> Option<Cow<'_, WorkflowStep>> {
        let step = self.step(&row.id.step)?;
        let overridden = row.with.as_deref().map(|with| step.overridden(with));
        Some(match overridden {
            // The overrides were valid when they were given. If the run moved to a text that makes
            // them invalid, the text's own settings count.
            Some(Ok(step)) => Cow::Owned(step),
            _ => Cow::Borrowed(step),
        })
    }
}

impl WorkflowStep {
    /// Returns the step with some settings replaced. The fields of `config` are replaced one by
    /// one.
    ///
    /// # Errors
    ///
    /// A sentence that names the invalid setting.
    pub(crate) fn overridden(&self, with: &Map<String, Value>) -> Result<WorkflowStep, String> {
        if let Some(name) = with
            .keys()
            .find(|name| !OVERRIDABLE.contains(&name.as_str()))
        {
            return Err(format!(
                "`{name}` cannot be set for one task only. These can: {}.",
                OVERRIDABLE.join(", ")
            ));
        }
        let written = self.written.as_ref().map_or("{}", |written| written.json());
        let mut settings: Map<String, Value> = serde_json::from_str(written).unwrap_or_default();
        for (name, value) in with {
            match (settings.get_mut(name), value) {
                (Some(Value::Object(old)), Value::Object(new)) if name == "config" => {
                    old.extend(new.clone());
                }
                _ => {
                    settings.insert(name.clone(), value.clone());
                }
            }
        }
        let config: StepConfig = serde_json::from_value(Value::Object(settings))
            .map_err(|cause| format!("The settings of `{}` are invalid: {cause}.", self.id))?;
        let mut step = WorkflowStep {
            reads: reads::of(&config),
            config,
            ..self.clone()
        };
        for name in &step.item_variables {
            step.reads
                .extend(expression::reads(&format!("[{name}, total]")));
        }
        let mut problems = settings::check(&step);
        problems.extend(commands::check(&step));
        let wrong = problems
            .into_iter()
            .find(|problem| problem.severity == ProblemSeverity::Error);
        match wrong {
            Some(problem) => Err(problem.message),
            None => Ok(step),
        }
    }
}
