//! `prompt`: a value a person is asked for in the middle of a recipe.

use prompt::QuestionSource;
use serde_json::{Value as Json, json};

use super::{StepContext, StepPass, ToolExport, ValueCertainty};
use crate::error::{Error, RecipeErrorKind};
use crate::fields::ManifestText;
use crate::manifest::{PromptKind, PromptStep, RecipeVariable, VariableType};
use crate::scope::VariableScope;
use crate::unknown_values::UnknownReason;
use crate::variables::typed;

impl StepPass<'_> {
    pub(super) fn prompt(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &PromptStep,
        scope: &mut VariableScope,
    ) -> Result<ToolExport, Error> {
        let mut certainty = ValueCertainty::Sure;
        let message = match &tool.message {
            Some(message) => {
                let (text, sure) = self.text(at, message)?;
                certainty = certainty.max(sure);
                Some(text)
            }
            None => None,
        };
        let variable = variable(tool, message);
        self.found
            .variables
            .insert(tool.variable.clone(), variable.clone());
        let given = self.known.values.get(&tool.variable).cloned();
        if let Some(value) = given {
            scope.set_json(&tool.variable, &value);
            return Ok(ToolExport::Value(json!({ "value": value })));
        }
        if certainty == ValueCertainty::Later {
            scope.set_unknown(
                &tool.variable,
                UnknownReason::Asked,
                "".into(),
                &self.tracker,
            );
            return Ok(ToolExport::Later);
        }
        let source = QuestionSource {
            file: at.unit.recipe.file.clone(),
            line: at.step.place.line,
        };
        let mut variable = variable;
        if let Some(default) = &tool.default {
            let (value, _) = self.value(at, &default.value, default.place)?;
            let value = typed(&variable, &value).map_err(|wrong| {
                let message = format!("the default of `{}` {wrong}", tool.variable);
                at.unit
                    .error(RecipeErrorKind::Manifest, default.place, message)
            })?;
            variable.default = Some(crate::manifest::ManifestValue {
                value,
                place: default.place,
            });
        }
        self.want(&tool.variable, &variable, source);
        scope.set_unknown(
            &tool.variable,
            UnknownReason::Asked,
            "".into(),
            &self.tracker,
        );
        Ok(ToolExport::Later)
    }
}

/// Converts a prompt step to the variable it fills.
pub(crate) fn variable(tool: &PromptStep, message: Option<String>) -> RecipeVariable {
    let kind = match tool.kind {
        PromptKind::Text => VariableType::String,
        PromptKind::Confirm => VariableType::Boolean,
        PromptKind::Select | PromptKind::MultiSelect => VariableType::Enum,
    };
    let pattern = tool.validate.as_ref().map(|text| {
        let bare = text
            .text
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        ManifestText {
            text: bare.unwrap_or(&text.text).to_owned(),
            place: text.place,
        }
    });
    RecipeVariable {
        kind,
        required: tool.default.is_none(),
        default: None,
        suggestion: tool
            .default
            .as_ref()
            .map(|datum| datum.value.clone())
            .filter(|value| {
                // A template says nothing to a person before it is rendered.
                !matches!(value, Json::String(text) if text.contains("{{"))
            }),
        prompt: message,
        description: None,
        pattern: pattern.filter(|_| kind == VariableType::String),
        min: None,
        max: None,
        values: tool.options.clone(),
        multiple: tool.kind == PromptKind::MultiSelect,
        position: None,
        secret: false,
        when: None,
        labels: Vec::new(),
        computed: None,
        message: None,
    }
}
