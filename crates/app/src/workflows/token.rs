//! Tokens with which somebody outside may answer one task, and nothing else.
//!
//! A token is an HMAC-SHA256 of the task's name under a key of the project, which never leaves
//! `.drawloom/callback.key`.

use std::path::Path;

use flow::TaskId;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use workspace::fs;

use crate::{Code, Error, Project};

/// Where the key is, from the project's folder.
const KEY_FILE: &str = ".drawloom/callback.key";
const BLOCK_BYTES: usize = 64;

/// The token for a task. The key is made when it is first needed.
pub(crate) fn sign(project: &Project, task: &TaskId) -> Result<String, Error> {
    let key = match key(project)? {
        Some(key) => key,
        None => make_key(project)?,
    };
    Ok(hex(&hmac(key.as_bytes(), task.to_string().as_bytes())))
}

/// Refuses a token that is not the task's.
pub(crate) fn check(project: &Project, task: &TaskId, token: &str) -> Result<(), Error> {
    let expected = match key(project)? {
        Some(key) => hex(&hmac(key.as_bytes(), task.to_string().as_bytes())),
        None => String::new(),
    };
    // As long for every wrong token of the right length.
    let differs = expected
        .bytes()
        .zip(token.bytes())
        .fold(0, |sum, (a, b)| sum | (a ^ b));
    if expected.is_empty() || expected.len() != token.len() || differs != 0 {
        let message = format!("the token is not the one of the task `{task}`");
        return Err(Error::new(Code::Conflict, message)
            .hint("it was sent in the header drawloom-callback-token"));
    }
    Ok(())
}

fn key(project: &Project) -> Result<Option<String>, Error> {
    Ok(fs::read_text(&project.folder().join(KEY_FILE))?)
}

fn make_key(project: &Project) -> Result<String, Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|cause| {
        Error::new(
            Code::Command,
            format!("the system gives no random bytes: {cause}"),
        )
    })?;
    let key = hex(&bytes);
    keep(&project.folder().join(KEY_FILE), key.as_bytes())
        .map_err(|cause| Error::new(Code::File, format!("{KEY_FILE} cannot be made: {cause}")))?;
    // Somebody else may have been faster.
    Ok(self::key(project)?.unwrap_or(key))
}

/// For the owner's eyes only, from its first moment.
fn keep(path: &Path, bytes: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    match open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => rustix::io::write(file, bytes).map(|_| ()),
        Err(Errno::EXIST) => Ok(()),
        Err(cause) => Err(cause),
    }
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
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
