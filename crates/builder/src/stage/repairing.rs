//! Repairing: the model is told what is new and fails, or what a person said, and goes on.

use crate::review;
use crate::site::{Halt, Site};
use crate::stage::generating::{self, Yard};
use crate::stage::validating::repairs_made;
use crate::talk;
use crate::words;

/// Lets the model do what a person asked for in a review, else mend what the last round of checks
/// found.
pub(crate) async fn repair(site: &mut Site<'_>, yard: &Yard) -> Result<(), Halt> {
    let attempt = site.job.result.repair_attempts;
    let asked = site.job.work.review.clone();
    let phase = match asked {
        Some(_) => format!("review-{}", site.job.work.review_rounds),
        None => format!("repair-{attempt}"),
    };
    let mut talking = generating::open(site, yard).await?;
    // After an interruption the model may have been told already.
    if !talking.has_begun(&phase) {
        talking.say(match &asked {
            Some(asked) => words::review(asked, &review::hunks(&site.job.result.diffs)),
            None => {
                let report = site.job.work.report.clone().unwrap_or_default();
                let attempts_max = site.bench.settings.repairs_max;
                words::repair(&report, repairs_made(&site.job), attempts_max)
            }
        });
    }
    let message = match asked {
        Some(_) => "The model is changing what the review asks for.".to_owned(),
        None => format!("The model is mending what the checks found, attempt {attempt}."),
    };
    site.say(&message, None).await?;
    let last_words = talk::ask(site, &mut talking, &yard.toolset, &phase).await?;
    site.store(|job| job.work.last_words = Some(last_words))
        .await
}
