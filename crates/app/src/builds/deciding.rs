//! Decisions about a build that are kept at once, for doors that do not wait: [`super::resume`] then goes
//! on with the work.

use builder::decide;
use builder::review::BuildReview;
use builder::{JobId, JobStatus};

use super::{BuildNeeds, BuildOutcome, BuildRequest, work};
use crate::{AppErrorCode, Error};

/// A person's decision about a build whose work is there.
#[derive(Clone, Debug)]
pub(crate) enum BuildDecision {
    /// The hunks that stay, those that go, and comments for the model.
    Review(BuildReview),
    /// A wish for more, in the same branch.
    FollowUp(String),
    Publish,
}

/// Keeps a decision.
pub(crate) async fn decide_on(
    order: BuildRequest<'_>,
    id: &JobId,
    decision: BuildDecision,
) -> Result<BuildOutcome, Error> {
    let job = super::show(order.project, order.surroundings, id)
        .await?
        .job;
    if matches!(decision, BuildDecision::Review(_)) && job.status() != JobStatus::ReviewReady {
        let status = job.status();
        let message =
            format!("the build `{id}` is `{status}`, and no work of it waits for a review");
        return Err(Error::new(AppErrorCode::Conflict, message));
    }
    let needs = match &decision {
        BuildDecision::Review(review) if review.has_comments() => BuildNeeds::Builder,
        BuildDecision::Review(_) | BuildDecision::Publish => BuildNeeds::Publisher,
        BuildDecision::FollowUp(_) => BuildNeeds::Planner,
    };
    work(order, needs, async |shop, _| {
        shop.require_repository()?;
        let bench = shop.bench();
        Ok(match decision {
            BuildDecision::Review(review) => decide::review(&bench, id, review).await?,
            BuildDecision::FollowUp(prompt) => decide::follow_up(&bench, id, &prompt).await?,
            BuildDecision::Publish => {
                let job = bench.jobs.get(id).await?;
                match job.status() {
                    // A process that died has left it there: the decision was made already.
                    JobStatus::Publishing => job,
                    _ => decide::publish(&bench, id).await?,
                }
            }
        })
    })
    .await
}
