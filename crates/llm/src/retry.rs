//! Tries again what may pass: with growing, jittered waits, as long as the limits allow.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::time::{Instant, sleep};

use crate::error::{Error, Result, RetryAdvice};
use crate::model::{Model, ModelEvent, ModelFuture, ModelObserver, ModelRequest, ModelResponse};

/// Limits on retrying a failing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryLimits {
    /// Attempts altogether, the first included.
    pub attempts_max: u32,
    pub first_wait_ms: u64,
    /// The longest single wait, ours or one the provider asks for.
    pub wait_ms_max: u64,
    /// No wait may end later than this after the first attempt began.
    pub total_ms_max: u64,
}

impl Default for RetryLimits {
    fn default() -> Self {
        RetryLimits {
            attempts_max: 4,
            first_wait_ms: 500,
            wait_ms_max: 60_000,
            total_ms_max: 180_000,
        }
    }
}

/// A model that tries again.
pub struct RetryingModel<M> {
    inner: M,
    limits: RetryLimits,
}

impl<M: Model> RetryingModel<M> {
    pub fn new(inner: M, limits: RetryLimits) -> RetryingModel<M> {
        RetryingModel { inner, limits }
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        observer: &mut dyn ModelObserver,
    ) -> Result<ModelResponse> {
        let began = Instant::now();
        let mut waits = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(self.limits.first_wait_ms))
            .with_max_delay(Duration::from_millis(self.limits.wait_ms_max))
            .without_max_times()
            .build();
        let mut attempt = 1;
        loop {
            let error = match self.inner.respond(request, observer).await {
                Ok(response) => return Ok(response),
                Err(error) if error.again == RetryAdvice::Pointless => return Err(error),
                Err(error) => error,
            };
            // Jitter may take our own waits beyond the longest.
            let longest = Duration::from_millis(self.limits.wait_ms_max);
            let wait = error
                .retry_after
                .or_else(|| waits.next().map(|wait| wait.min(longest)))
                .unwrap_or_default();
            if let Some(reason) = self.reason_to_stop(attempt, wait, began) {
                return Err(given_up(error, attempt, &reason));
            }
            observer.notice(ModelEvent::Waiting {
                attempt,
                attempts_max: self.limits.attempts_max,
                wait,
                error: &error,
            });
            sleep(wait).await;
            attempt += 1;
        }
    }

    fn reason_to_stop(&self, attempt: u32, wait: Duration, began: Instant) -> Option<String> {
        let RetryLimits {
            attempts_max,
            wait_ms_max,
            total_ms_max,
            ..
        } = self.limits;
        let asked = wait.as_millis();
        if attempt >= attempts_max {
            Some(format!("limit `attempts_max` = {attempts_max}"))
        } else if asked > u128::from(wait_ms_max) {
            Some(format!(
                "it asks to wait {asked} ms, limit `wait_ms_max` = {wait_ms_max}"
            ))
        } else if (began.elapsed() + wait).as_millis() > u128::from(total_ms_max) {
            Some(format!("limit `total_ms_max` = {total_ms_max}"))
        } else {
            None
        }
    }
}

fn given_up(mut error: Error, attempts: u32, reason: &str) -> Error {
    let times = if attempts == 1 { "attempt" } else { "attempts" };
    error.what = format!(
        "{} (given up after {attempts} {times}: {reason})",
        error.what
    );
    // A caller that retries gains nothing from the same waits.
    error.again = RetryAdvice::Pointless;
    error
}

impl<M: Model> Model for RetryingModel<M> {
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        observer: &'a mut dyn ModelObserver,
    ) -> ModelFuture<'a> {
        Box::pin(self.answer(request, observer))
    }
}
