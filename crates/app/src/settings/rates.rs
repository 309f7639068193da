//! The sections `[rates.NAME]`: how many tasks of a handler or a model begin within a span of time.

use flow::{RATE_MAX, RateLimit, RateScope, StepHandler, TimeSpan};
use toml::de::DeTable;

use super::ProjectSettings;
use super::named::{SectionError, SectionField, fields};

/// The section whose sections are rate limits.
pub(super) const RATES: &str = "rates";

/// The keys of one rate limit.
pub(super) const RATE_KEYS: [&str; 4] = ["handler", "model", "max", "per"];

/// Shows `[rates]`; commented out, because the names are the user's own.
pub(super) const RATES_EXAMPLE: &str = "
# How many tasks of workflows begin within a span of time, over all workers of a database
# (docs/workflows.md): those of a handler, or those that ask a model.
# [rates.calls]
# handler = \"http\"  # for example
# max = 30  # for example
# per = \"1m\"  # for example
";

/// A rate limit as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateRule {
    /// The tasks that it counts.
    pub limited: RateSubject,
    /// How many may begin within the span.
    pub max: u32,
    /// The span in milliseconds.
    pub per_ms: u64,
}

/// Names the tasks that a rate limit counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateSubject {
    /// The tasks of this handler.
    Handler(StepHandler),
    /// The tasks that ask this model.
    Model(String),
}

/// Reads one section.
pub(super) fn rate_rule(table: &DeTable<'_>) -> Result<RateRule, SectionError> {
    let (mut handler, mut model, mut max, mut per_ms) = (None, None, None, None);
    for field in fields(table) {
        match field.name() {
            "handler" => handler = Some(known_handler(field)?),
            "model" => {
                let name = field.text().filter(|name| !name.trim().is_empty());
                let name = name.ok_or_else(|| field.wrong("`model` must be a string"))?;
                model = Some(name.to_owned());
            }
            "max" => max = Some(number(field)?),
            "per" => per_ms = Some(span(field)?),
            _ => return Err(field.unknown()),
        }
    }
    let limited = match (handler, model) {
        (Some(handler), None) => RateSubject::Handler(handler),
        (None, Some(model)) => RateSubject::Model(model),
        _ => {
            let message = "needs either a `handler` or a `model`";
            return Err(SectionError::Whole(message.to_owned()));
        }
    };
    match (max, per_ms) {
        (Some(max), Some(per_ms)) => Ok(RateRule {
            limited,
            max,
            per_ms,
        }),
        _ => Err(SectionError::Whole("needs `max` and `per`".to_owned())),
    }
}

fn known_handler(field: SectionField<'_, '_>) -> Result<StepHandler, SectionError> {
    let limited = StepHandler::ALL
        .into_iter()
        .filter(|handler| *handler != StepHandler::NoOp);
    let names: Vec<&str> = limited.clone().map(StepHandler::name).collect();
    let known = field.text().and_then(|name| {
        let mut limited = limited;
        limited.find(|handler| handler.name() == name)
    });
    known.ok_or_else(|| field.wrong(format!("`handler` must be one of {}", names.join(", "))))
}

fn number(field: SectionField<'_, '_>) -> Result<u32, SectionError> {
    let number = field.count().and_then(|count| u32::try_from(count).ok());
    let number = number.filter(|number| *number <= RATE_MAX);
    number.ok_or_else(|| {
        field.wrong(format!(
            "`max` must be a whole number from 1 to RATE_MAX = {RATE_MAX}"
        ))
    })
}

fn span(field: SectionField<'_, '_>) -> Result<u64, SectionError> {
    let span = field.text().and_then(TimeSpan::read).map(|span| span.ms);
    let span = span.filter(|ms| *ms > 0);
    span.ok_or_else(|| field.wrong("`per` must be a time span such as \"1s\", \"1m\" or \"1h\""))
}

impl ProjectSettings {
    /// The rate limits of a worker with these settings.
    #[must_use]
    pub fn rate_limits(&self) -> Vec<RateLimit> {
        let rules = self.workflows.rates.iter();
        let limits = rules.map(|(name, rule)| RateLimit {
            name: name.clone(),
            scope: match &rule.limited {
                RateSubject::Handler(handler) => RateScope::Handler(*handler),
                RateSubject::Model(model) => RateScope::Model {
                    name: model.clone(),
                    handlers: self.handlers_of(model),
                },
            },
            max: rule.max,
            per_ms: rule.per_ms,
        });
        limits.collect()
    }

    /// The handlers that ask a model where a step names none.
    fn handlers_of(&self, model: &str) -> Vec<StepHandler> {
        let models = &self.ai.models;
        let asks = |chosen: &Option<String>| {
            let chosen = chosen.as_ref().or(self.ai.model.as_ref());
            chosen.is_some_and(|chosen| chosen == model)
        };
        let (answers, generates, plans) = (
            asks(&models.answer),
            asks(&models.generate),
            asks(&models.plan),
        );
        let handlers = [
            (StepHandler::AiInteraction, answers),
            (StepHandler::CodeGeneration, generates),
            (StepHandler::Validation, generates),
            (StepHandler::Task, generates),
            (StepHandler::Planning, plans),
            (StepHandler::Build, plans || generates),
        ];
        let asking = handlers.into_iter().filter(|(_, asks)| *asks);
        asking.map(|(handler, _)| handler).collect()
    }
}
