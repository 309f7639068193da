//! Repairing: the model gets the new failures, or a person's comments, and continues.

use crate::active_job::{ActiveJob, StageHalt};
use crate::conversation;
use crate::prompts;
use crate::review;
use crate::stage::generating::{self, WorkArea};
use crate::stage::validating::repairs_made;

/// Lets the model act on a review, or repair the failures of the last round of checks.
pub(crate) async fn repair(site: &mut ActiveJob<'_>, yard: &WorkArea) -> Result<(), StageHalt> {
    let attempt = site.job.result.repair_attempts;
    let asked = site.job.work.review.clone();
    let phase = match asked {
        Some(_) => format!("review-{}", site.job.work.review_rounds),
        None => format!("repair-{attempt}"),
    };
    let mut talking = generating::open(site, yard).await?;
    // After an interruption the model may have got the message already.
    if !talking.has_begun(&phase) {
        talking.say(match &asked {
            Some(asked) => prompts::review(asked, &review::hunks(&site.job.result.diffs)),
            None => {
                let report = site.job.work.report.clone().unwrap_or_default();
                let attempts_max = site.bench.settings.repairs_max;
                prompts::repair(&report, repairs_made(&site.job), attempts_max)
            }
        });
    }
    let message = match asked {
        Some(_) => "The model is making the changes that the review asks for.".to_owned(),
        None => format!("The model is fixing the failed checks, attempt {attempt}."),
    };
    site.say(&message, None).await?;
    let last_words = conversation::ask(site, &mut talking, &yard.toolset, &phase).await?;
    site.store(|job| job.work.last_words = Some(last_words))
        .await
}
