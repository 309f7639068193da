//! Limits on how often something is asked: requests of one user or address, and attempts to sign in.
//!
//! No account is locked for good: after a moment the next attempt is allowed.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::problem::{ApiProblem, ProblemCode};
use crate::state::ServerLimits;

/// How many keys are kept before those that have rested are forgotten.
const KEYS_MAX: usize = 10_000;
/// How much more may come at once than in a second.
const BURST: u32 = 4;

pub(crate) struct LoginThrottles {
    requests: DefaultKeyedRateLimiter<String>,
    sign_ins: DefaultKeyedRateLimiter<String>,
}

impl LoginThrottles {
    pub(crate) fn new(limits: &ServerLimits) -> LoginThrottles {
        let requests = at_least_one(limits.requests_per_second_max);
        let at_once = at_least_one(limits.requests_per_second_max.saturating_mul(BURST));
        let sign_ins = at_least_one(limits.sign_ins_per_minute_max);
        LoginThrottles {
            requests: RateLimiter::keyed(Quota::per_second(requests).allow_burst(at_once)),
            sign_ins: RateLimiter::keyed(Quota::per_minute(sign_ins)),
        }
    }

    /// Refuses a request of a user or an address that has sent too many.
    pub(crate) fn check_request(&self, key: &str) -> Result<(), ApiProblem> {
        check(&self.requests, key, "requests_per_second_max")
    }

    /// Refuses an attempt to sign in, counted for the account and for the address.
    pub(crate) fn check_sign_in(&self, account: &str, address: &str) -> Result<(), ApiProblem> {
        let account = format!("account {}", account.to_lowercase());
        check(&self.sign_ins, &account, "sign_ins_per_minute_max")?;
        let address = format!("address {address}");
        check(&self.sign_ins, &address, "sign_ins_per_minute_max")
    }
}

fn check(
    limiter: &DefaultKeyedRateLimiter<String>,
    key: &str,
    limit: &str,
) -> Result<(), ApiProblem> {
    if limiter.len() > KEYS_MAX {
        limiter.retain_recent();
    }
    limiter.check_key(&key.to_owned()).map_err(|early| {
        let wait = early.wait_time_from(DefaultClock::default().now());
        let seconds = wait.max(Duration::from_secs(1)).as_secs();
        let message = format!("too many at once ({limit})");
        ApiProblem::new(ProblemCode::TooMany, message)
            .hint(format!("try again in {seconds} s"))
            .header("retry-after", &seconds.to_string())
    })
}

fn at_least_one(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}
