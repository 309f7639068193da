//! Signatures of Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::workflows::token::hmac;
use crate::{AppErrorCode, Error};

const PREFIX: &str = "whsec_";
/// The name and version of the signature.
const VERSION: &str = "v1";
/// The most seconds by which the clock of a sender may differ.
pub(crate) const CLOCK_SECONDS_MAX: u64 = 5 * 60;

/// Makes a secret that signs messages.
pub(crate) fn new_secret() -> Result<String, Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|cause| {
        let message = format!("the system gives no random bytes: {cause}");
        Error::new(AppErrorCode::Command, message)
    })?;
    Ok(secret_of(&bytes))
}

/// The secret that has these bytes as its key.
pub(crate) fn secret_of(key: &[u8]) -> String {
    format!("{PREFIX}{}", STANDARD.encode(key))
}

/// Signs a message with each secret: `v1,… v1,…`. A text that is not a secret signs nothing.
pub(crate) fn sign(secrets: &[String], (id, seconds): (&str, u64), body: &str) -> String {
    let signed = format!("{id}.{seconds}.{body}");
    let signatures = secrets.iter().filter_map(|secret| {
        let key = STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()?;
        let mac = hmac(&key, signed.as_bytes());
        Some(format!("{VERSION},{}", STANDARD.encode(mac)))
    });
    signatures.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn messages_are_signed_as_the_specification_says() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let body = r#"{"test": 2432232314}"#;
        let signature = sign(std::slice::from_ref(&secret), (id, 1_614_265_330), body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let both = sign(&[secret.clone(), secret], (id, 1_614_265_330), body);
        assert_eq!(both.split(' ').count(), 2);
    }
}
