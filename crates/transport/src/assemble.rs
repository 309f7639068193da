//! Assembles the models of a plan, and lists the models of the configured providers.

use std::future::Future;
use std::sync::Arc;

use llm::budget::{Meter, MeteredModel};
use llm::keys::VariableLookup;
use llm::models::{OfferedModel, list};
use llm::record::{RecordingModel, ReplayModel};
use llm::retry::RetryingModel;
use llm::router::{ModelRoute, ModelRouter};
use llm::{AiErrorCode, Model, Provider, ProviderClient, Secret};
use tokio::runtime::Runtime;

use crate::error::{Error, Result};
use crate::selection::{ApiPlan, ModelEndpoint, TransportChooser};
use crate::settings::{AiSettings, ModelPurpose};
use crate::tape::{RecordMode, SharedTape};

/// Builds the model of a plan: metered, with retries and fallbacks, and recorded if requested.
pub fn model(plan: &ApiPlan, meter: &Arc<Meter>, taping: &RecordMode) -> Result<Arc<dyn Model>> {
    if let RecordMode::Replay(tape) = taping {
        return Ok(Arc::new(ReplayModel::new(SharedTape(Arc::clone(tape)))));
    }
    let first = one(plan, &plan.first, meter)?;
    let fallbacks = plan.fallbacks.iter().map(|served| one(plan, served, meter));
    let router = ModelRouter::new(first, fallbacks.collect::<Result<_>>()?);
    Ok(match taping {
        RecordMode::Record(tape) => {
            let served = std::iter::once(&plan.first).chain(&plan.fallbacks);
            let secrets: Vec<Secret> = served.filter_map(|one| one.endpoint.key.clone()).collect();
            Arc::new(RecordingModel::new(
                router,
                SharedTape(Arc::clone(tape)),
                secrets,
            ))
        }
        RecordMode::Off | RecordMode::Replay(_) => Arc::new(router),
    })
}

fn one(
    plan: &ApiPlan,
    served: &ModelEndpoint,
    meter: &Arc<Meter>,
) -> Result<(String, Arc<dyn Model>)> {
    let ModelEndpoint { route, endpoint } = served;
    let client = ProviderClient::new(endpoint, plan.limits)?;
    let base_url = endpoint.base_url.clone();
    let metered = MeteredModel::new(client, Arc::clone(meter), route.provider, base_url);
    let model: Arc<dyn Model> = Arc::new(RetryingModel::new(metered, plan.retry));
    Ok((route.model.clone(), model))
}

/// The models of one provider, or the error of asking for them.
#[derive(Debug)]
pub struct ProviderOffers {
    pub provider: Provider,
    pub offers: Result<Vec<OfferedModel>>,
}

/// Asks every provider that the settings name or that has a key. Fails if there is no such
/// provider; an error of one provider is returned in its place.
pub fn models(setup: &AiSettings, lookup: VariableLookup<'_>) -> Result<Vec<ProviderOffers>> {
    let chooser = TransportChooser {
        setup,
        purpose: ModelPurpose::Answer,
        taping: &RecordMode::Off,
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
        let route = ModelRoute {
            provider,
            model: String::new(),
        };
        let served = chooser.serve(route);
        let offers = served.and_then(|served| {
            let limits = llm::Limits::default();
            Ok(runtime.block_on(list(&served.endpoint, limits))?)
        });
        ProviderOffers { provider, offers }
    });
    Ok(offered.collect())
}

fn nobody() -> Error {
    Error::new(
        AiErrorCode::ApiKeyMissing,
        "no provider is known",
        "Set `ai.provider` in drawloom.toml.",
    )
}

/// One thread is enough: only one question waits at a time.
pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Error::new(
                AiErrorCode::ProviderUnavailable,
                format!("the network could not be set up: {error}"),
                "Close other programs and run it again: the system is out of handles.",
            )
        })
}

/// Waits for an answer, and checks the cancel switch from time to time.
pub(crate) async fn unless_cancelled<F: Future + Unpin>(
    mut pending: F,
    cancel: &exec::CommandCancel,
) -> Result<F::Output> {
    loop {
        match tokio::time::timeout(CANCEL_TICK, &mut pending).await {
            Ok(output) => return Ok(output),
            Err(_) if cancel.is_cancelled() => return Err(Error::cancelled()),
            Err(_) => {}
        }
    }
}

/// Pause between two checks of the cancel switch while a call waits.
const CANCEL_TICK: std::time::Duration = std::time::Duration::from_millis(100);
