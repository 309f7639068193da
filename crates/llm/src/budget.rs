//! What a run and a day may spend, checked before each call and counted after it.
//!
//! The day's spending is handed in when the meter is made, or kept in a [`Ledger`] that other
//! processes write to as well; where that is, is the caller's business.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::model::{Event, Model, Observer, Part, Pending, Request, Response};
use crate::price::{Priced, Prices};
use crate::provider::Provider;
use crate::usage::{Cost, Usage, dollars};

/// What may be spent; nothing set means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    pub run: Limit,
    pub day: Limit,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    pub tokens_max: Option<u64>,
    pub micro_usd_max: Option<u64>,
}

/// What was spent. Calls without a known price are counted, so that the sum is not taken for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub calls: u64,
    pub tokens: u64,
    pub micro_usd: u64,
    pub unpriced_calls: u64,
}

impl Spent {
    pub fn cost(&self) -> Cost {
        if self.unpriced_calls == 0 {
            Cost::Known(self.micro_usd)
        } else {
            Cost::Unknown
        }
    }

    /// Counts one more call.
    pub fn add(&mut self, tokens: u64, cost: Cost) {
        self.calls += 1;
        self.tokens = self.tokens.saturating_add(tokens);
        match cost {
            Cost::Known(micro_usd) => self.micro_usd = self.micro_usd.saturating_add(micro_usd),
            Cost::Unknown => self.unpriced_calls += 1,
        }
    }
}

/// One call, for whoever keeps books.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub provider: Provider,
    pub model: String,
    pub usage: Usage,
    pub cost: Cost,
    pub counted: Counted,
}

/// Who counted the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    ByProvider,
    /// The provider reported nothing; these are bytes divided.
    Estimated,
}

/// Where the spending of a day is kept, by this run and by others.
pub trait Ledger: Send + Sync {
    /// What the day has spent so far, or why that cannot be told.
    fn day(&self) -> std::result::Result<Spent, String>;

    /// Keeps a call that was paid for. Whoever keeps the ledger knows what to do if it cannot.
    fn book(&self, entry: &Entry);
}

/// Somebody else with a say in what is spent, who knows limits that no setting of `ai.budget` is:
/// asked before each call, told after it.
pub trait Purse: fmt::Debug + Send + Sync {
    /// Refuses the next call, which may cost this much, or lets it be made.
    fn allow(&self, expected: Cost) -> Result<()>;

    /// A call was paid for.
    fn pay(&self, entry: &Entry);
}

/// Counts what all calls of a run spend.
pub struct Meter {
    budget: Budget,
    prices: Prices,
    books: Mutex<Books>,
    ledger: Option<Box<dyn Ledger>>,
    purse: Option<Arc<dyn Purse>>,
}

#[derive(Default)]
struct Books {
    run: Spent,
    day: Spent,
    entries: Vec<Entry>,
}

impl Meter {
    /// `day` is what the day has spent before this run.
    pub fn new(budget: Budget, prices: Prices, day: Spent) -> Meter {
        Meter {
            budget,
            prices,
            books: Mutex::new(Books {
                day,
                ..Books::default()
            }),
            ledger: None,
            purse: None,
        }
    }

    /// The day's spending is then read from the ledger before each call that a limit of the day
    /// concerns, and each call is kept there as soon as it is over.
    #[must_use]
    pub fn with_ledger(mut self, ledger: Box<dyn Ledger>) -> Meter {
        self.ledger = Some(ledger);
        self
    }

    /// Every call is then paid from this purse as well.
    #[must_use]
    pub fn with_purse(mut self, purse: Option<Arc<dyn Purse>>) -> Meter {
        self.purse = purse;
        self
    }

    pub fn run(&self) -> Spent {
        self.books().run
    }

    /// The day's spending, this run included.
    pub fn day(&self) -> Spent {
        self.books().day
    }

    /// Begins another day, for runs that outlast one.
    pub fn new_day(&self, spent: Spent) {
        self.books().day = spent;
    }

    /// The calls since this was last asked.
    pub fn take_entries(&self) -> Vec<Entry> {
        std::mem::take(&mut self.books().entries)
    }

    /// Refuses a call that would break a limit.
    fn allow(&self, request: &Request, priced: Priced<'_>) -> Result<()> {
        let is_unlimited = self.budget == Budget::default();
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
                let Cost::Known(expected) = self.prices.cost(priced, &usage) else {
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
        if self.budget.day == Limit::default() {
            return Ok(());
        }
        let spent = ledger.day().map_err(|why| {
            Error::new(
                Code::BudgetExceeded,
                format!("the budget of the day cannot be kept: {why}"),
                "Mend or remove that file, or take the limits of the day out of `ai.budget`.",
            )
        })?;
        self.new_day(spent);
        Ok(())
    }

    fn count(&self, entry: Entry) {
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

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exceeded(setting: &str, spent: &str) -> Error {
    Error::new(
        Code::BudgetExceeded,
        format!("the budget does not allow another call ({setting}: {spent})"),
        "What is done so far is kept. Raise the limit to go on.",
    )
}

fn unpriced(setting: &str, model: &str) -> Error {
    Error::new(
        Code::BudgetExceeded,
        format!("the budget {setting} cannot be kept, because the price of {model} is not known"),
        format!("Set its price under `ai.prices.{model:?}`, or limit tokens instead of money."),
    )
}

/// A token is about this many bytes, over code and prose.
const BYTES_PER_TOKEN: f64 = 3.5;

/// Answers are mostly far shorter than they may be; more than this is not reserved for one.
pub const EXPECTED_OUTPUT_TOKENS_MAX: u64 = 4_096;

/// Tokens in a text, roughly.
pub fn estimate_tokens(bytes: usize) -> u64 {
    (bytes as f64 / BYTES_PER_TOKEN).ceil() as u64
}

/// What a request will use, roughly: everything in it, and an answer of ordinary length.
pub fn expected_usage(request: &Request) -> Usage {
    let system: usize = request.system.iter().map(|block| block.text.len()).sum();
    let messages: usize = request
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .map(Part::bytes)
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
pub struct Metered<M> {
    inner: M,
    meter: Arc<Meter>,
    provider: Provider,
    base_url: Option<String>,
}

impl<M: Model> Metered<M> {
    /// `base_url` is the endpoint's, if it is not the provider's own.
    pub fn new(
        inner: M,
        meter: Arc<Meter>,
        provider: Provider,
        base_url: Option<String>,
    ) -> Metered<M> {
        Metered {
            inner,
            meter,
            provider,
            base_url,
        }
    }

    async fn answer(&self, request: &Request, observer: &mut dyn Observer) -> Result<Response> {
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
                let entry = Entry {
                    provider,
                    model,
                    usage: error.usage,
                    cost,
                    counted: Counted::ByProvider,
                };
                self.count(entry, observer);
            }
            Err(_) => {}
        }
        answer
    }

    fn count(&self, entry: Entry, observer: &mut dyn Observer) {
        observer.notice(Event::Counted(&entry));
        self.meter.count(entry);
    }

    fn priced<'a>(&'a self, model: &'a str) -> Priced<'a> {
        Priced {
            provider: self.provider,
            base_url: self.base_url.as_deref(),
            model,
        }
    }

    fn entry(&self, request: &Request, response: &Response) -> Entry {
        let (provider, model) = (self.provider, response.model.clone());
        if !response.usage.is_reported() {
            let said: usize = response.parts.iter().map(Part::bytes).sum();
            let usage = Usage {
                output: estimate_tokens(said),
                ..expected_usage(request)
            };
            let free = self.meter.prices.cost(self.priced(&request.model), &usage) == Cost::NOTHING;
            let cost = if free { Cost::NOTHING } else { Cost::Unknown };
            return Entry {
                provider,
                model,
                usage,
                cost,
                counted: Counted::Estimated,
            };
        }
        let listed = |name: &str| self.meter.prices.cost(self.priced(name), &response.usage);
        let cost = match (response.billed_micro_usd, listed(&model)) {
            (Some(billed), _) => Cost::Known(billed),
            // The list may know the name that was asked for and not the one that answered.
            (None, Cost::Unknown) if model != request.model => listed(&request.model),
            (None, known) => known,
        };
        Entry {
            provider,
            model,
            usage: response.usage,
            cost,
            counted: Counted::ByProvider,
        }
    }
}

impl<M: Model> Model for Metered<M> {
    fn respond<'a>(&'a self, request: &'a Request, observer: &'a mut dyn Observer) -> Pending<'a> {
        Box::pin(self.answer(request, observer))
    }
}
