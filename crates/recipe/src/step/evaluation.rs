//! Texts, expressions and conditions of a step, and how sure their values are.

use expr::Value;
use serde_json::Value as Json;
use template::RenderResult;

use super::{PassStage, StepCondition, StepContext, StepPass};
use crate::error::{Error, FileSpan, RecipeErrorKind};
use crate::evaluate::{EvalInputs, mustache};
use crate::manifest::{ManifestText, RecipeStep};
use crate::scope::{VariableScope, to_json};
use crate::unknown_values::{UnknownReads, UnknownReason};

/// Certainty of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ValueCertainty {
    #[default]
    Sure,
    /// A command decides; while planning, a stand-in was used.
    AfterCommand,
    /// An answer decides that is missing.
    Later,
}

/// Most items of one `forEach`.
pub(crate) const ITEMS_MAX: usize = 100_000;

impl StepPass<'_> {
    /// Returns the values a step sees: its recipe's, its own, and the questions asked so far.
    pub(super) fn step_scope(&self, scope: &VariableScope, step: &RecipeStep) -> VariableScope {
        let mut own = scope.clone();
        let asked = self.found.questionnaire.keys();
        let postponed = self.found.postponed.iter().map(String::as_str);
        for key in asked.chain(postponed).filter(|key| !key.is_empty()) {
            if !own.has(key) && !self.known.answers.contains_key(key) {
                own.set_unknown(key, UnknownReason::Asked, Value::from(""), &self.tracker);
            }
        }
        let description = step.description.as_deref().unwrap_or_default();
        own.set_json(
            "step",
            &serde_json::json!({ "name": step.name, "description": description }),
        );
        own
    }

    /// Renders a text of the manifest.
    pub(crate) fn text(
        &mut self,
        at: &StepContext<'_>,
        text: &ManifestText,
    ) -> Result<(String, ValueCertainty), Error> {
        let answers = &self.known.answers;
        self.guard(|| {
            let over = EvalInputs {
                state: at.scope.state(),
                answers,
            };
            let mut rendered = at.unit.evaluator.text(at.unit.site(), text, over)?;
            Ok((std::mem::take(&mut rendered.text), rendered))
        })
    }

    /// Evaluates an expression of the manifest.
    pub(crate) fn expression(
        &mut self,
        at: &StepContext<'_>,
        text: &ManifestText,
    ) -> Result<(Value, ValueCertainty), Error> {
        let answers = &self.known.answers;
        self.guard(|| {
            let over = EvalInputs {
                state: at.scope.state(),
                answers,
            };
            at.unit.evaluator.expression(at.unit.site(), text, over)
        })
    }

    /// Renders the templates in the strings of a manifest value; a string that is one `{{ }}`
    /// becomes the value itself, of any type.
    pub(crate) fn value(
        &mut self,
        at: &StepContext<'_>,
        value: &Json,
        place: FileSpan,
    ) -> Result<(Json, ValueCertainty), Error> {
        match value {
            Json::String(text) => {
                let text = ManifestText {
                    text: text.clone(),
                    place,
                };
                if mustache(&text.text).is_some() {
                    let (value, certainty) = self.expression(at, &text)?;
                    return Ok((to_json(&value).unwrap_or(Json::Null), certainty));
                }
                let (text, certainty) = self.text(at, &text)?;
                Ok((Json::String(text), certainty))
            }
            Json::Array(items) => {
                let mut all = (Vec::with_capacity(items.len()), ValueCertainty::Sure);
                for item in items {
                    let (item, certainty) = self.value(at, item, place)?;
                    all.0.push(item);
                    all.1 = all.1.max(certainty);
                }
                Ok((Json::Array(all.0), all.1))
            }
            Json::Object(map) => {
                let mut all = (serde_json::Map::new(), ValueCertainty::Sure);
                for (key, value) in map {
                    let (key, of_key) = self.key(at, key, place)?;
                    let (value, certainty) = self.value(at, value, place)?;
                    if all.0.insert(key.clone(), value).is_some() && of_key == ValueCertainty::Sure
                    {
                        let message = format!("two keys of this map render to `{key}`");
                        return Err(at.unit.error(RecipeErrorKind::Template, place, message));
                    }
                    all.1 = all.1.max(certainty).max(of_key);
                }
                Ok((Json::Object(all.0), all.1))
            }
            plain => Ok((plain.clone(), ValueCertainty::Sure)),
        }
    }

    /// Renders a key of a map in the manifest, which may be a template like any text.
    fn key(
        &mut self,
        at: &StepContext<'_>,
        key: &str,
        place: FileSpan,
    ) -> Result<(String, ValueCertainty), Error> {
        match key.contains("{{") {
            true => {
                let text = key.to_owned();
                self.text(at, &ManifestText { text, place })
            }
            false => Ok((key.to_owned(), ValueCertainty::Sure)),
        }
    }

    /// Puts a step's own variables over the recipe's.
    pub(super) fn add_variables(&mut self, at: &mut StepContext<'_>) -> Result<(), Error> {
        for (name, value) in &at.step.variables {
            let (value, certainty) = self.value(at, value, at.step.place)?;
            match certainty {
                ValueCertainty::Sure => at.scope.set_json(name, &value),
                ValueCertainty::AfterCommand => {
                    let stand_in = Value::from_json(&value);
                    at.scope
                        .set_unknown(name, UnknownReason::Command, stand_in, &self.tracker);
                }
                ValueCertainty::Later => {
                    at.scope.set_unknown(
                        name,
                        UnknownReason::Asked,
                        Value::from(""),
                        &self.tracker,
                    );
                }
            }
        }
        Ok(())
    }

    /// Evaluates the condition of the step.
    pub(super) fn condition(&mut self, at: &StepContext<'_>) -> Result<StepCondition, Error> {
        let Some(when) = &at.step.when else {
            return Ok(StepCondition::Yes);
        };
        let (value, certainty) = self.expression(at, when)?;
        Ok(match certainty {
            ValueCertainty::Later => StepCondition::Later,
            // Only a command will tell: planned as if it did, so that its questions are asked.
            ValueCertainty::AfterCommand if self.is_planning() => StepCondition::Yes,
            _ if is_yes(&value) => StepCondition::Yes,
            _ => StepCondition::No,
        })
    }

    /// Evaluates the items a step runs for.
    pub(super) fn items(
        &mut self,
        at: &StepContext<'_>,
        list: &crate::manifest::ManifestValue,
    ) -> Result<(Vec<Value>, ValueCertainty), Error> {
        let (value, certainty) = match &list.value {
            Json::String(text) => {
                let text = ManifestText {
                    text: text.clone(),
                    place: list.place,
                };
                self.expression(at, &text)?
            }
            literal => {
                let (value, certainty) = self.value(at, literal, list.place)?;
                (Value::from_json(&value), certainty)
            }
        };
        let items = match value {
            Value::Array(items) => items.borrow().clone(),
            Value::Undefined | Value::Null => Vec::new(),
            Value::Object(object) => {
                let pair = |(key, value): (std::rc::Rc<str>, Value)| {
                    let pair = [("key".into(), Value::String(key)), ("value".into(), value)];
                    Value::object(pair.into_iter().collect())
                };
                object.borrow().entries().into_iter().map(pair).collect()
            }
            _ if certainty != ValueCertainty::Sure => Vec::new(),
            other => {
                let found = other.type_of();
                let message = format!("`forEach` needs a list, and this gives a {found}");
                return Err(at
                    .unit
                    .error(RecipeErrorKind::Template, list.place, message));
            }
        };
        if items.len() > ITEMS_MAX {
            let message = format!(
                "`forEach` has {} items, more than ITEMS_MAX = {ITEMS_MAX}",
                items.len()
            );
            return Err(at.unit.error(RecipeErrorKind::Limit, list.place, message));
        }
        Ok((items, certainty))
    }

    pub(crate) fn is_planning(&self) -> bool {
        matches!(self.stage, PassStage::Planning)
    }

    /// Runs an evaluation and finds out how sure its result is. An error that a value explains
    /// which is not known yet is kept aside: it is real if it is still there in the end.
    pub(crate) fn guard<T: Default>(
        &mut self,
        evaluate: impl FnOnce() -> Result<(T, RenderResult), Error>,
    ) -> Result<(T, ValueCertainty), Error> {
        let (result, reads) = self.tracker.clone().watch(evaluate);
        match result {
            Ok((value, mut rendered)) => {
                if reads.asked && !rendered.questionnaire.is_empty() {
                    // A question that depends on a missing value is asked once the value is there;
                    // until then not even its key is certain.
                    rendered.questionnaire = Default::default();
                    self.found.postponed.insert(String::new());
                    self.found.unsettled = true;
                }
                let certainty = match rendered.unanswered.is_empty() {
                    true => certainty(reads),
                    false => ValueCertainty::Later,
                };
                self.absorb(rendered)?;
                Ok((value, certainty))
            }
            Err(error) if reads.asked => {
                self.found.excused.push(error);
                Ok((T::default(), ValueCertainty::Later))
            }
            Err(_) if reads.command => Ok((T::default(), ValueCertainty::AfterCommand)),
            Err(error) => Err(error),
        }
    }

    /// Takes over everything a render noticed.
    pub(crate) fn absorb(&mut self, rendered: RenderResult) -> Result<(), Error> {
        let RenderResult {
            questionnaire,
            postponed,
            undefined,
            unanswered,
            provisional,
            ..
        } = rendered;
        // One by one: merging whole questionnaires would copy all of them again for every file.
        for context in questionnaire.contexts() {
            self.found.questionnaire.add_context(context);
        }
        for question in questionnaire.questions() {
            let asked = self.found.questionnaire.ask(question.clone());
            asked.map_err(|error| Error::new(RecipeErrorKind::Template, error.to_string()))?;
        }
        self.found
            .postponed
            .extend(postponed.iter().map(|question| question.key.clone()));
        self.found.unsettled |= !postponed.is_empty() || !unanswered.is_empty();
        for key in unanswered {
            self.found.unanswered.entry(key).or_default();
        }
        for error in &provisional {
            self.found
                .excused
                .push(crate::evaluate::from_template(error));
        }
        for name in undefined {
            self.found
                .undefined
                .insert((name.name, name.file, name.line, name.column));
        }
        Ok(())
    }
}

fn certainty(reads: UnknownReads) -> ValueCertainty {
    match reads {
        UnknownReads { asked: true, .. } => ValueCertainty::Later,
        UnknownReads { command: true, .. } => ValueCertainty::AfterCommand,
        _ => ValueCertainty::Sure,
    }
}

/// Truthiness, and the word `false` that a rendered `{{ flag }}` gives.
fn is_yes(value: &Value) -> bool {
    match value {
        Value::String(text) => !matches!(text.trim(), "" | "false"),
        other => other.is_truthy(),
    }
}
