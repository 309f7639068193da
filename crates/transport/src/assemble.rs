//! A plan's models put together, and what the configured providers offer.

use std::future::Future;
use std::sync::Arc;

use llm::budget::{Meter, Metered};
use llm::keys::Lookup;
use llm::models::{Offer, list};
use llm::record::{Record, Replay};
use llm::retry::Retry;
use llm::router::{Route, Router};
use llm::{Client, Code, Model, Provider, Secret};
use tokio::runtime::Runtime;

use crate::choose::{Chooser, Plan, Served};
use crate::error::{Error, Result};
use crate::setup::{Purpose, Setup};
use crate::tape::{Shared, Taping};

/// The model of a plan: metered, tried again, with its fallbacks, and recorded if wanted.
pub fn model(plan: &Plan, meter: &Arc<Meter>, taping: &Taping) -> Result<Arc<dyn Model>> {
    if let Taping::Replay(tape) = taping {
        return Ok(Arc::new(Replay::new(Shared(Arc::clone(tape)))));
    }
    let first = one(plan, &plan.first, meter)?;
    let fallbacks = plan.fallbacks.iter().map(|served| one(plan, served, meter));
    let router = Router::new(first, fallbacks.collect::<Result<_>>()?);
    Ok(match taping {
        Taping::Record(tape) => {
            let served = std::iter::once(&plan.first).chain(&plan.fallbacks);
            let secrets: Vec<Secret> = served.filter_map(|one| one.endpoint.key.clone()).collect();
            Arc::new(Record::new(router, Shared(Arc::clone(tape)), secrets))
        }
        Taping::Off | Taping::Replay(_) => Arc::new(router),
    })
}

fn one(plan: &Plan, served: &Served, meter: &Arc<Meter>) -> Result<(String, Arc<dyn Model>)> {
    let Served { route, endpoint } = served;
    let client = Client::new(endpoint, plan.limits)?;
    let base_url = endpoint.base_url.clone();
    let metered = Metered::new(client, Arc::clone(meter), route.provider, base_url);
    let model: Arc<dyn Model> = Arc::new(Retry::new(metered, plan.retry));
    Ok((route.model.clone(), model))
}

/// What one provider offers, or why that is not known.
#[derive(Debug)]
pub struct Offered {
    pub provider: Provider,
    pub offers: Result<Vec<Offer>>,
}

/// Asks every provider that the settings name or that there is a key for. At least one of them
/// must be known; what goes wrong with one is told in its place.
pub fn models(setup: &Setup, lookup: Lookup<'_>) -> Result<Vec<Offered>> {
    let chooser = Chooser {
        setup,
        purpose: Purpose::Answer,
        taping: &Taping::Off,
        lookup,
    };
    let named = chooser.plan().map(|plan| plan.first.route.provider);
    let known: Vec<Provider> = Provider::ALL
        .into_iter()
        .filter(|provider| {
            let variables = provider.key_variables();
            let has_key = variables
                .iter()
                .any(|name| lookup(name).is_some_and(|key| !key.trim().is_empty()));
            has_key || setup.provider == Some(*provider) || named.as_ref().ok() == Some(provider)
        })
        .collect();
    if known.is_empty() {
        return Err(named.err().unwrap_or_else(nobody));
    }
    let runtime = runtime()?;
    let offered = known.into_iter().map(|provider| {
        let route = Route {
            provider,
            model: String::new(),
        };
        let served = chooser.serve(route);
        let offers = served.and_then(|served| {
            let limits = llm::Limits::default();
            Ok(runtime.block_on(list(&served.endpoint, limits))?)
        });
        Offered { provider, offers }
    });
    Ok(offered.collect())
}

fn nobody() -> Error {
    Error::new(
        Code::ApiKeyMissing,
        "no provider is known",
        "Set `ai.provider` in drawloom.toml.",
    )
}

/// One thread is enough: one question is out at a time.
pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Error::new(
                Code::ProviderUnavailable,
                format!("the network could not be set up: {error}"),
                "Close other programs and run it again: the system is out of handles.",
            )
        })
}

/// Waits for an answer, looking up from time to time.
pub(crate) async fn unless_cancelled<F: Future + Unpin>(
    mut pending: F,
    cancel: &exec::Cancel,
) -> Result<F::Output> {
    loop {
        match tokio::time::timeout(CANCEL_TICK, &mut pending).await {
            Ok(output) => return Ok(output),
            Err(_) if cancel.is_cancelled() => return Err(Error::cancelled()),
            Err(_) => {}
        }
    }
}

/// How often a waiting call is asked whether it is still wanted.
const CANCEL_TICK: std::time::Duration = std::time::Duration::from_millis(100);
