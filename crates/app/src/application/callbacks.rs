//! Callbacks: a service that an `http` step with `awaitCallback` has called answers its task, once.

use flow::TaskId;
use flow::engine::{EngineCommand, TaskAnswer};
use serde_json::Value;

use super::App;
use super::runs::refused;
use crate::webhooks::signing;
use crate::workflows::token;
use crate::{AppErrorCode, Error};

/// The name that answers of callbacks are kept under.
const CALLER: &str = "callback";

/// The signature of a callback, where its sender signs as Standard Webhooks says.
#[derive(Clone, Copy, Debug)]
pub struct CallbackSignature<'a> {
    pub id: &'a str,
    pub timestamp: &'a str,
    pub signature: &'a str,
}

impl App {
    /// Answers the task that a key was made for. A task is answered once: a second call is refused.
    ///
    /// # Errors
    ///
    /// When the key or the signature is not good, or the task does not wait.
    pub async fn answer_callback(
        &self,
        key: &str,
        body: &str,
        signature: Option<CallbackSignature<'_>>,
    ) -> Result<TaskId, Error> {
        let unknown = || {
            let message = "no call waits for this key";
            Error::new(AppErrorCode::NotFound, message)
                .hint("it was sent in the header drawloom-callback-url, whole")
        };
        let (task, secret) = token::read_key(key).ok_or_else(unknown)?;
        let keys = &*self.shared.hands.keys;
        let checked = token::check(self.project(), keys, &task, &secret).await;
        checked.map_err(|_| unknown())?;
        if let Some(given) = signature {
            check_signature(&secret, given, (body, self.now_ms() / 1_000))?;
        }
        let output: Value = serde_json::from_str(body).map_err(|cause| {
            Error::new(AppErrorCode::Data, format!("the body is not JSON: {cause}"))
        })?;
        let command = EngineCommand::Answer {
            task: task.clone(),
            by: CALLER.to_owned(),
            answer: TaskAnswer::Done { output },
        };
        refused(self.store().execute(command).await?)?;
        Ok(task)
    }
}

/// Refuses a signature that is not of the token, or of another time.
fn check_signature(
    token: &str,
    given: CallbackSignature<'_>,
    (body, now): (&str, u64),
) -> Result<(), Error> {
    let wrong = |message: &str| Error::new(AppErrorCode::Forbidden, message.to_owned());
    let seconds = given.timestamp.parse::<u64>().unwrap_or(0);
    if seconds.abs_diff(now) > signing::CLOCK_SECONDS_MAX {
        return Err(wrong("webhook-timestamp is not of the last five minutes")
            .hint("set the clocks of both machines"));
    }
    let secret = signing::secret_of(token.as_bytes());
    let expected = signing::sign(&[secret], (given.id, seconds), body);
    let is_one = |one: &str| token::is_same(one, &expected);
    match given.signature.split(' ').any(is_one) {
        true => Ok(()),
        false => Err(wrong("webhook-signature is not one of this body")
            .hint("the secret is whsec_ and the base64 of drawloom-callback-token")),
    }
}
