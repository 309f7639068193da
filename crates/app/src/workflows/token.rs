//! Tokens that let an outside service answer one task, and nothing else.
//!
//! A token is an HMAC-SHA256 of the task's name under a key of the project, which never leaves its
//! database: every machine that shares the database accepts it. Earlier releases kept the key in
//! `.drawloom/callback.key`. It is taken over where there is no other, and its tokens stay good.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flow::TaskId;
use sha2::{Digest as _, Sha256};
use store::ProjectKeys;
use workspace::{PathKind, RelPath};

use crate::{AppErrorCode, Error, Project};

/// The name of the key in the database.
const KEY_NAME: &str = "callback";
/// Path of the key of earlier releases, from the project's folder.
const KEY_FILE: &str = ".drawloom/callback.key";
const BLOCK_BYTES: usize = 64;
/// Length of a key, in hexadecimal digits.
const KEY_CHARS: usize = 64;

/// Makes the token for a task. The key is made when it is first needed.
pub(crate) async fn sign(
    project: &Project,
    keys: &dyn ProjectKeys,
    task: &TaskId,
) -> Result<String, Error> {
    let key = match keys.project_key(KEY_NAME).await? {
        Some(key) => key,
        None => {
            let key = match key_of_file(project)? {
                Some(key) => key,
                None => random_key()?,
            };
            keys.keep_project_key(KEY_NAME, &key).await?
        }
    };
    Ok(token_of(&key, task))
}

/// Refuses a token that is not the task's.
pub(crate) async fn check(
    project: &Project,
    keys: &dyn ProjectKeys,
    task: &TaskId,
    token: &str,
) -> Result<(), Error> {
    let known = [keys.project_key(KEY_NAME).await?, key_of_file(project)?];
    let is_one = |key: &String| is_same(&token_of(key, task), token);
    if known.iter().flatten().any(is_one) {
        return Ok(());
    }
    let message = format!("the token is not the one of the task `{task}`");
    Err(Error::new(AppErrorCode::Conflict, message)
        .hint("it was sent in the header drawloom-callback-token"))
}

fn token_of(key: &str, task: &TaskId) -> String {
    hex(&hmac(key.as_bytes(), task.to_string().as_bytes()))
}

/// Compares two secrets, as long for every wrong one of the right length.
pub(crate) fn is_same(expected: &str, given: &str) -> bool {
    let pairs = expected.bytes().zip(given.bytes());
    let differs = pairs.fold(0, |sum, (a, b)| sum | (a ^ b));
    expected.len() == given.len() && differs == 0
}

/// The key of a callback's URL: the task and its token.
pub(crate) fn callback_key(task: &TaskId, token: &str) -> String {
    let task = URL_SAFE_NO_PAD.encode(task.to_string());
    format!("{task}.{token}")
}

/// Returns the task and the token in a key, or `None` if the text is not a key.
pub(crate) fn read_key(key: &str) -> Option<(TaskId, String)> {
    let (task, token) = key.split_once('.')?;
    let task = URL_SAFE_NO_PAD.decode(task).ok()?;
    let task = String::from_utf8(task).ok()?.parse().ok()?;
    Some((task, token.to_owned()))
}

/// Reads the key of an earlier release. A link in its place, a file that others can read, or less than a whole
/// key is an error: others could make tokens.
fn key_of_file(project: &Project) -> Result<Option<String>, Error> {
    let path = RelPath::parse(KEY_FILE)?;
    let damaged = |what: &str| {
        let message = format!("{KEY_FILE} {what}");
        Error::new(AppErrorCode::File, message).hint(
            "remove it: a new key is made, and tokens that were given out end with the old one",
        )
    };
    match project.root.kind(&path)? {
        None => return Ok(None),
        Some(PathKind::File) => {}
        Some(_) => return Err(damaged("is not a file of its own")),
    }
    // A key that came with a clone or an archive is known to others.
    if !project.root.is_private(&path)? {
        return Err(damaged("can be read by others, or was made by them"));
    }
    let key = project.root.read_text(&path)?.unwrap_or_default();
    let is_whole = key.len() == KEY_CHARS && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_whole {
        true => Ok(Some(key)),
        false => Err(damaged("is no whole key")),
    }
}

fn random_key() -> Result<String, Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|cause| {
        Error::new(
            AppErrorCode::Command,
            format!("the system gives no random bytes: {cause}"),
        )
    })?;
    Ok(hex(&bytes))
}

/// The HMAC-SHA256 of a message.
pub(crate) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK_BYTES];
    match key.len() > BLOCK_BYTES {
        true => block[..32].copy_from_slice(&Sha256::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(message)
        .finalize();
    let outer = Sha256::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize();
    outer.into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_rfc_4231() {
        let mac = hmac(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(
            hex(&mac),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
