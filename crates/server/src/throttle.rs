//! Limits on how often something is asked: requests of one user or address, and attempts to sign in.
//!
//! No account is locked for good: after a moment the next attempt is allowed.

use std::net::IpAddr;
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
/// How many addresses may use up their attempts for one account.
const ADDRESSES: u32 = 10;

pub(crate) struct LoginThrottles {
    requests: DefaultKeyedRateLimiter<String>,
    /// Attempts from an address.
    sign_ins: DefaultKeyedRateLimiter<String>,
    /// Attempts for an account.
    accounts: DefaultKeyedRateLimiter<String>,
}

impl LoginThrottles {
    pub(crate) fn new(limits: &ServerLimits) -> LoginThrottles {
        let requests = at_least_one(limits.requests_per_second_max);
        let at_once = at_least_one(limits.requests_per_second_max.saturating_mul(BURST));
        let sign_ins = at_least_one(limits.sign_ins_per_minute_max);
        let of_account = limits.sign_ins_per_minute_max.saturating_mul(ADDRESSES);
        LoginThrottles {
            requests: RateLimiter::keyed(Quota::per_second(requests).allow_burst(at_once)),
            sign_ins: RateLimiter::keyed(Quota::per_minute(sign_ins)),
            accounts: RateLimiter::keyed(Quota::per_minute(at_least_one(of_account))),
        }
    }

    /// Refuses a request of a user or an address that has sent too many.
    pub(crate) fn check_request(&self, key: &str) -> Result<(), ApiProblem> {
        check(&self.requests, key, "requests_per_second_max")
    }

    /// Refuses an attempt to sign in, counted for the address and for the account. An account takes
    /// several times as many: one address alone must not keep its owner out.
    pub(crate) fn check_sign_in(&self, account: &str, address: &str) -> Result<(), ApiProblem> {
        let address = format!("address {}", network_of(address));
        check(&self.sign_ins, &address, "sign_ins_per_minute_max")?;
        let account = format!("account {}", account.to_lowercase());
        check(&self.accounts, &account, "sign_ins_per_minute_max")
    }
}

/// The network that one subscriber has: an IPv4 address, or the first half of an IPv6 one, whose other
/// half they choose themselves.
fn network_of(address: &str) -> String {
    let network = match address
        .parse::<IpAddr>()
        .map(|address| address.to_canonical())
    {
        Ok(IpAddr::V6(address)) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        Ok(address) => address,
        Err(_) => return address.to_owned(),
    };
    network.to_string()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn throttles(max: u32) -> LoginThrottles {
        LoginThrottles::new(&ServerLimits {
            sign_ins_per_minute_max: max,
            ..ServerLimits::default()
        })
    }

    #[test]
    fn one_subscriber_has_one_count_however_many_addresses_they_have() {
        for (address, network) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("local", "local"),
        ] {
            assert_eq!(network_of(address), network, "{address}");
        }
        let throttles = throttles(2);
        let tried = (0..5).map(|host| {
            let address = format!("2001:db8:1:2::{host}");
            let account = format!("{host}@example.org");
            throttles.check_sign_in(&account, &address).is_ok()
        });
        assert_eq!(tried.filter(|is_let_in| *is_let_in).count(), 2);
    }

    #[test]
    fn one_address_does_not_keep_the_owner_of_an_account_out() {
        let throttles = throttles(2);
        for _ in 0..50 {
            let _ = throttles.check_sign_in("ada@example.org", "192.0.2.1");
        }
        let owner = throttles.check_sign_in("Ada@example.org", "198.51.100.7");
        assert!(owner.is_ok());
        // Many addresses together are slowed down all the same.
        let tried = (0..100).map(|host| {
            let address = format!("203.0.113.{host}");
            throttles.check_sign_in("ada@example.org", &address).is_ok()
        });
        assert!(tried.filter(|is_let_in| *is_let_in).count() < 20);
    }
}
