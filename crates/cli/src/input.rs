//! Input besides the command line: JSON given directly, in a file, or on stdin.

use std::io::{self, Read as _};
use std::path::Path;

use app::FilePosition;
use serde_json::{Map, Value};

use crate::exit::CliError;
use crate::session::CliSession;

/// More than this on stdin is a mistake, not data.
const STDIN_BYTES_MAX: u64 = 64 << 20;

/// Reads an object from `JSON`, `@FILE` or `-`.
pub(crate) fn data(session: &CliSession, given: &str) -> Result<Map<String, Value>, CliError> {
    let (text, origin) = match given.strip_prefix('@') {
        Some(file) => (file_text(session, Path::new(file))?, file),
        None if given == "-" => (stdin_text()?, "stdin"),
        None => (given.to_owned(), "--data"),
    };
    let wrong = |message: String| app::Error::new(app::AppErrorCode::Data, message);
    match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(
            wrong(format!("the data from {origin} is not a JSON object"))
                .hint("a template's names are the keys of an object: {\"name\": …}")
                .into(),
        ),
        Err(cause) => {
            let place = FilePosition::of(Path::new(origin), &text, offset(&text, &cause));
            Err(wrong(format!("the data is not JSON: {cause}"))
                .at(place)
                .into())
        }
    }
}

/// Reads a file named on the command line; `-` is stdin.
pub(crate) fn file_text(session: &CliSession, given: &Path) -> Result<String, CliError> {
    if given == Path::new("-") {
        return stdin_text();
    }
    let text = workspace::fs::read_text_or_pipe(&session.path(given))?;
    text.ok_or_else(|| CliError::failed("E_FILE", format!("there is no file {}", given.display())))
}

/// Reads text that is piped in or redirected to stdin. Returns `None` on a terminal, and when stdin
/// is empty or some other device.
pub(crate) fn piped_text() -> Result<Option<String>, CliError> {
    if !workspace::fs::stdin_has_data() {
        return Ok(None);
    }
    Ok(Some(stdin_text()?).filter(|text| !text.trim().is_empty()))
}

fn stdin_text() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let read = io::stdin()
        .lock()
        .take(STDIN_BYTES_MAX + 1)
        .read_to_end(&mut bytes);
    read.map_err(|cause| CliError::failed("E_FILE", format!("cannot read stdin: {cause}")))?;
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        let message = format!("stdin holds more than STDIN_BYTES_MAX ({STDIN_BYTES_MAX}) bytes");
        return Err(CliError::failed("E_LIMIT", message));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|_| CliError::failed("E_FILE", "stdin is not UTF-8 text"))
}

/// Returns the byte offset at which serde_json stopped.
fn offset(text: &str, cause: &serde_json::Error) -> usize {
    let lines = text
        .split_inclusive('\n')
        .take(cause.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + cause.column().saturating_sub(1)
}
