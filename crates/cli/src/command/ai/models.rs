//! `drawloom ai models`: what the configured providers offer.

use clap::Args;
use serde_json::{Value, json};
use transport::ProviderOffers;

use crate::exit::{CliError, CliExit};
use crate::output;
use crate::progress::ProgressSpinner;
use crate::session::CliSession;
use crate::table;

/// List the models of the configured providers
///
/// Asks the provider of `drawloom.toml`, and every other one that has a key. Costs nothing.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom ai models
  drawloom ai models --json")]
pub(crate) struct AiModelsArgs {
    /// Print the list as one JSON document
    #[arg(long)]
    json: bool,
}

impl AiModelsArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let progress = ProgressSpinner::start("asking for the models");
        let mut offered = app::ai::models(&project, &session.surroundings)?;
        drop(progress);
        // If no provider could be listed, the errors are the result.
        if offered.iter().all(|one| one.offers.is_err())
            && let Some(Err(error)) = offered.pop().map(|one| one.offers)
        {
            return Err(app::Error::from(error).into());
        }
        if self.json {
            let providers: Vec<Value> = offered.iter().map(as_json).collect();
            output::json(&json!({ "providers": providers }))?;
            return Ok(CliExit::Done);
        }
        let mut rows = Vec::new();
        for one in &offered {
            match &one.offers {
                Ok(offers) => rows.extend(offers.iter().map(|offer| {
                    let context = offer.context_tokens;
                    let context = context.map(|tokens| format!("{tokens} tokens"));
                    vec![
                        one.provider.name().to_owned(),
                        offer.model.clone(),
                        context.unwrap_or_default(),
                        offer.title.clone().unwrap_or_default(),
                    ]
                })),
                Err(error) => output::say(format!("note: {}: {error}", one.provider.name())),
            }
        }
        output::data(table::render(&rows).as_bytes())?;
        Ok(CliExit::Done)
    }
}

fn as_json(one: &ProviderOffers) -> Value {
    let provider = one.provider.name();
    match &one.offers {
        Ok(offers) => {
            let models = offers.iter().map(|offer| {
                json!({
                    "model": offer.model,
                    "title": offer.title,
                    "context_tokens": offer.context_tokens,
                })
            });
            let models: Vec<Value> = models.collect();
            json!({ "provider": provider, "models": models })
        }
        Err(error) => {
            let error = json!({ "code": error.code().as_str(), "message": error.to_string() });
            json!({ "provider": provider, "error": error })
        }
    }
}
