//! What comes in beside the command line: JSON given directly, in a file, or on stdin.

use std::io::{self, Read as _};
use std::path::Path;

use app::Place;
use serde_json::{Map, Value};

use crate::exit::Trouble;
use crate::session::Session;

/// More than this on stdin is a mistake, not data.
const STDIN_BYTES_MAX: u64 = 64 << 20;

/// An object from `JSON`, `@FILE` or `-`.
pub(crate) fn data(session: &Session, given: &str) -> Result<Map<String, Value>, Trouble> {
    let (text, origin) = match given.strip_prefix('@') {
        Some(file) => (file_text(session, Path::new(file))?, file),
        None if given == "-" => (stdin_text()?, "stdin"),
        None => (given.to_owned(), "--data"),
    };
    let wrong = |message: String| app::Error::new(app::Code::Data, message);
    match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(
            wrong(format!("the data from {origin} is not a JSON object"))
                .hint("a template's names are the keys of an object: {\"name\": …}")
                .into(),
        ),
        Err(cause) => {
            let place = Place::of(Path::new(origin), &text, offset(&text, &cause));
            Err(wrong(format!("the data is not JSON: {cause}"))
                .at(place)
                .into())
        }
    }
}

/// The text of a file named on the command line; `-` is stdin.
pub(crate) fn file_text(session: &Session, given: &Path) -> Result<String, Trouble> {
    if given == Path::new("-") {
        return stdin_text();
    }
    let text = workspace::fs::read_text_or_pipe(&session.path(given))?;
    text.ok_or_else(|| Trouble::failed("E_FILE", format!("there is no file {}", given.display())))
}

/// What is piped in or redirected to stdin; nothing on a terminal, and nothing where stdin is empty
/// or some other device.
pub(crate) fn piped_text() -> Result<Option<String>, Trouble> {
    if !workspace::fs::stdin_has_data() {
        return Ok(None);
    }
    Ok(Some(stdin_text()?).filter(|text| !text.trim().is_empty()))
}

fn stdin_text() -> Result<String, Trouble> {
    let mut bytes = Vec::new();
    let read = io::stdin()
        .lock()
        .take(STDIN_BYTES_MAX + 1)
        .read_to_end(&mut bytes);
    read.map_err(|cause| Trouble::failed("E_FILE", format!("cannot read stdin: {cause}")))?;
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        let message = format!("stdin holds more than STDIN_BYTES_MAX ({STDIN_BYTES_MAX}) bytes");
        return Err(Trouble::failed("E_LIMIT", message));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|_| Trouble::failed("E_FILE", "stdin is not UTF-8 text"))
}

/// Where serde_json stopped, as a byte offset.
fn offset(text: &str, cause: &serde_json::Error) -> usize {
    let lines = text
        .split_inclusive('\n')
        .take(cause.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + cause.column().saturating_sub(1)
}
