//! Repairing: the model is told what is new and fails, and goes on.

use crate::site::{Halt, Site};
use crate::stage::generating::{self, Yard};
use crate::talk;
use crate::words;

/// Lets the model mend what the last round of checks found.
pub(crate) async fn repair(site: &mut Site<'_>, yard: &Yard) -> Result<(), Halt> {
    let attempt = site.job.result.repair_attempts;
    let phase = format!("repair-{attempt}");
    let mut talking = generating::open(site, yard).await?;
    // After an interruption the model may have been told already.
    if !talking.has_begun(&phase) {
        let report = site.job.work.report.clone().unwrap_or_default();
        let attempts_max = site.bench.settings.repairs_max;
        talking.say(words::repair(&report, attempt, attempts_max));
    }
    let message = format!("The model is mending what the checks found, attempt {attempt}.");
    site.say(&message, None).await?;
    let last_words = talk::ask(site, &mut talking, &yard.toolset, &phase).await?;
    site.store(|job| job.work.last_words = Some(last_words))
        .await
}
