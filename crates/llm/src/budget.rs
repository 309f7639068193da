//! Spending limits of a run and of a day, checked before each call and counted after it.
//!
//! The caller hands in the day's spending when it makes the meter, or a [`SpendLog`] that other
//! processes write to as well; where the ledger is stored is the caller's business.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{AiErrorCode, Error, Result};
use crate::model::{
    MessagePart, Model, ModelEvent, ModelFuture, ModelObserver, ModelRequest, ModelResponse,
};
use crate::price::{PriceList, PricedModel};
use crate::provider::Provider;
use crate::usage::{CallCost, Usage, dollars};

/// Spending limits; a field that is not set means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendBudget {
    pub run: SpendLimit,
    pub day: SpendLimit,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendLimit {
    pub tokens_max: Option<u64>,
    pub micro_usd_max: Option<u64>,
}

/// Money and tokens spent. Calls without a known price are counted, so that the sum is not taken
/// for the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpentTotal {
    pub calls: u64,
    pub tokens: u64,
    pub micro_usd: u64,
    pub unpriced_calls: u64,
}

impl SpentTotal {
    pub fn cost(&self) -> CallCost {
        if self.unpriced_calls == 0 {
            CallCost::Known(self.micro_usd)
        } else {
            CallCost::Unknown
        }
    }

    /// Counts one more call.
    pub fn add(&mut self, tokens: u64, cost: CallCost) {
        self.calls += 1;
        self.tokens = self.tokens.saturating_add(tokens);
        match cost {
            CallCost::Known(micro_usd) => self.micro_usd = self.micro_usd.saturating_add(micro_usd),
            CallCost::Unknown => self.unpriced_calls += 1,
        }
    }
}

/// One call, as the spending log records it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpendEntry {
    pub provider: Provider,
    pub model: String,
    pub usage: Usage,
    pub cost: CallCost,
    pub counted: TokenCountSource,
}

/// The source of a token count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenCountSource {
    ByProvider,
    /// The provider reported nothing; these are bytes divided.
    Estimated,
}

/// The log of a day's spending, by this run and by others.
pub trait SpendLog: Send + Sync {
    /// Returns the day's spending so far, or why it cannot be read.
    fn day(&self) -> std::result::Result<SpentTotal, String>;

    /// Records a call that was paid for. The implementation decides what to do if it cannot write.
    fn book(&self, entry: &SpendEntry);
}

/// A second spending check, with limits that are not settings of `ai.budget`: asked before each
/// call, told after it.
pub trait SpendGuard: fmt::Debug + Send + Sync {
    /// Refuses the next call, which may cost this much, or lets it be made.
    fn allow(&self, expected: CallCost) -> Result<()>;

    /// Records a call that was paid for.
    fn pay(&self, entry: &SpendEntry);
}

/// Counts what all calls of a run spend.
pub struct Meter {
    budget: SpendBudget,
    prices: PriceList,
    books: Mutex<MeterTotals>,
    ledger: Option<Box<dyn SpendLog>>,
    purse: Option<Arc<dyn SpendGuard>>,
}

#[derive(Default)]
struct MeterTotals {
    run: SpentTotal,
    day: SpentTotal,
    entries: Vec<SpendEntry>,
}

impl Meter {
    /// Makes a meter; `day` is the day's spending before this run.
    pub fn new(budget: SpendBudget, prices: PriceList, day: SpentTotal) -> Meter {
        Meter {
            budget,
            prices,
            books: Mutex::new(MeterTotals {
                day,
                ..MeterTotals::default()
            }),
            ledger: None,
            purse: None,
        }
    }

    /// Adds a ledger. The meter then reads the day's spending from it before each call that a limit
    /// of the day concerns, and records each call there as soon as it is over.
    #[must_use]
    pub fn with_ledger(mut self, ledger: Box<dyn SpendLog>) -> Meter {
        self.ledger = Some(ledger);
        self
    }

    /// Adds a purse, from which every call is then paid as well.
    #[must_use]
    pub fn with_purse(mut self, purse: Option<Arc<dyn SpendGuard>>) -> Meter {
        self.purse = purse;
        self
    }

    pub fn run(&self) -> SpentTotal {
        self.books().run
    }

    /// Returns the day's spending, this run included.
    pub fn day(&self) -> SpentTotal {
        self.books().day
    }

    /// Begins another day, for runs that outlast one.
    pub(crate) fn new_day(&self, spent: SpentTotal) {
        self.books().day = spent;
    }

    /// Returns the calls since this was last asked.
    pub fn take_entries(&self) -> Vec<SpendEntry> {
        std::mem::take(&mut self.books().entries)
    }

    /// Refuses a call that would break a limit.
    fn allow(&self, request: &ModelRequest, priced: PricedModel<'_>) -> Result<()> {
        let is_unlimited = self.budget == SpendBudget::default();
        if is_unlimited && self.purse.is_none() {
            return Ok(());
        }
        let usage = expected_usage(request);
        if let Some(purse) = &self.purse {
            purse.allow(self.prices.cost(priced, &usage))?;
        }
        if is_unlimited {
            return Ok(());
        }
        self.read_day()?;
        let books = self.books();
        for (name, limit, spent) in [
            ("run", self.budget.run, books.run),
            ("day", self.budget.day, books.day),
        ] {
            if let Some(tokens_max) = limit.tokens_max {
                let expected = usage.total();
                if spent.tokens.saturating_add(expected) > tokens_max {
                    let spent = format!(
                        "{} tokens are spent and this call may take {expected}",
                        spent.tokens
                    );
                    return Err(exceeded(
                        &format!("ai.budget.{name}_tokens_max = {tokens_max}"),
                        &spent,
                    ));
                }
            }
            if let Some(micro_usd_max) = limit.micro_usd_max {
                let setting = format!("ai.budget.{name}_usd_max = {}", dollars(micro_usd_max));
                let CallCost::Known(expected) = self.prices.cost(priced, &usage) else {
                    return Err(unpriced(&setting, priced.model));
                };
                if spent.micro_usd.saturating_add(expected) > micro_usd_max {
                    let (so_far, next) = (dollars(spent.micro_usd), dollars(expected));
                    return Err(exceeded(
                        &setting,
                        &format!("{so_far} is spent and this call may cost {next}"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Others may have spent since; without a limit of the day that does not matter.
    fn read_day(&self) -> Result<()> {
        let Some(ledger) = self.ledger.as_ref() else {
            return Ok(());
        };
        if self.budget.day == SpendLimit::default() {
            return Ok(());
        }
        let spent = ledger.day().map_err(|why| {
            Error::new(
                AiErrorCode::BudgetExceeded,
                format!("the budget of the day cannot be kept: {why}"),
                "Correct or remove that file, or take the limits of the day out of `ai.budget`.",
            )
        })?;
        self.new_day(spent);
        Ok(())
    }

    fn count(&self, entry: SpendEntry) {
        if let Some(ledger) = &self.ledger {
            ledger.book(&entry);
        }
        if let Some(purse) = &self.purse {
            purse.pay(&entry);
        }
        let mut books = self.books();
        let tokens = entry.usage.total();
        books.run.add(tokens, entry.cost);
        books.day.add(tokens, entry.cost);
        books.entries.push(entry);
    }

    fn books(&self) -> MutexGuard<'_, MeterTotals> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exceeded(setting: &str, spent: &str) -> Error {
    Error::new(
        AiErrorCode::BudgetExceeded,
        format!("the budget does not allow another call ({setting}: {spent})"),
        "The work so far is kept. Raise the limit to go on.",
    )
}

fn unpriced(setting: &str, model: &str) -> Error {
    Error::new(
        AiErrorCode::BudgetExceeded,
        format!("the budget {setting} cannot be kept, because the price of {model} is not known"),
        format!("Set its price under `ai.prices.{model:?}`, or limit tokens instead of money."),
    )
}

/// Answers are mostly far shorter than they may be; more than this is not reserved for one.
pub(crate) const EXPECTED_OUTPUT_TOKENS_MAX: u64 = 4_096;

/// Tokens in a text, roughly.
pub fn estimate_tokens(bytes: usize) -> u64 {
    u64::try_from(diagnostics::tokens_of_bytes(bytes)).unwrap_or(u64::MAX)
}

/// Estimates the usage of a request: everything in it, and an answer of ordinary length.
pub fn expected_usage(request: &ModelRequest) -> Usage {
    let system: usize = request.system.iter().map(|block| block.text.len()).sum();
    let messages: usize = request
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .map(MessagePart::bytes)
        .sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len())
        .sum();
    Usage {
        input: estimate_tokens(system + messages + tools),
        output: u64::from(request.max_tokens).min(EXPECTED_OUTPUT_TOKENS_MAX),
        ..Usage::default()
    }
}

/// A model whose calls are counted.
pub struct MeteredModel<M> {
    inner: M,
    meter: Arc<Meter>,
    provider: Provider,
    base_url: Option<String>,
}

impl<M: Model> MeteredModel<M> {
    /// Wraps a model; `base_url` is the endpoint's, if it is not the provider's own.
    pub fn new(
        inner: M,
        meter: Arc<Meter>,
        provider: Provider,
        base_url: Option<String>,
    ) -> MeteredModel<M> {
        MeteredModel {
            inner,
            meter,
            provider,
            base_url,
        }
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        observer: &mut dyn ModelObserver,
    ) -> Result<ModelResponse> {
        self.meter.allow(request, self.priced(&request.model))?;
        let answer = self.inner.respond(request, observer).await;
        match &answer {
            Ok(response) => self.count(self.entry(request, response), observer),
            // Half an answer is paid for too.
            Err(error) if error.usage.is_reported() => {
                let cost = self
                    .meter
                    .prices
                    .cost(self.priced(&request.model), &error.usage);
                let (provider, model) = (self.provider, request.model.clone());
                let entry = SpendEntry {
                    provider,
                    model,
                    usage: error.usage,
                    cost,
                    counted: TokenCountSource::ByProvider,
                };
                self.count(entry, observer);
            }
            Err(_) => {}
        }
        answer
    }

    fn count(&self, entry: SpendEntry, observer: &mut dyn ModelObserver) {
        observer.notice(ModelEvent::Counted(&entry));
        self.meter.count(entry);
    }

    fn priced<'a>(&'a self, model: &'a str) -> PricedModel<'a> {
        PricedModel {
            provider: self.provider,
            base_url: self.base_url.as_deref(),
            model,
        }
    }

    fn entry(&self, request: &ModelRequest, response: &ModelResponse) -> SpendEntry {
        let (provider, model) = (self.provider, response.model.clone());
        if !response.usage.is_reported() {
            let said: usize = response.parts.iter().map(MessagePart::bytes).sum();
            let usage = Usage {
                output: estimate_tokens(said),
                ..expected_usage(request)
            };
            let free =
                self.meter.prices.cost(self.priced(&request.model), &usage) == CallCost::NOTHING;
            let cost = if free {
                CallCost::NOTHING
            } else {
                CallCost::Unknown
            };
            return SpendEntry {
                provider,
                model,
                usage,
                cost,
                counted: TokenCountSource::Estimated,
            };
        }
        let listed = |name: &str| self.meter.prices.cost(self.priced(name), &response.usage);
        let cost = match (response.billed_micro_usd, listed(&model)) {
            (Some(billed), _) => CallCost::Known(billed),
            // The list may know the name that was asked for and not the one that answered.
            (None, CallCost::Unknown) if model != request.model => listed(&request.model),
            (None, known) => known,
        };
        SpendEntry {
            provider,
            model,
            usage: response.usage,
            cost,
            counted: TokenCountSource::ByProvider,
        }
    }
}

impl<M: Model> Model for MeteredModel<M> {
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        observer: &'a mut dyn ModelObserver,
    ) -> ModelFuture<'a> {
        Box::pin(self.answer(request, observer))
    }
}
