//! The two streams: data on stdout, byte for byte; everything said to a person on stderr.
//!
//! A reader that closes stdout early (`drawloom … | head`) has had enough: that is not an error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use app::settings::Color;
use serde_json::Value;

use crate::exit::Trouble;
use crate::report;

/// Whether a command's result is for people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

impl From<bool> for Form {
    /// As the flag `--json` says it.
    fn from(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// `--color` and `output.color`, for both streams.
pub(crate) fn set_color(color: Color) {
    let choice = match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes data exactly as it is.
pub(crate) fn data(bytes: &[u8]) -> Result<(), Trouble> {
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes text that may be styled; the styles reach only a terminal that wants them.
pub(crate) fn styled(text: &str) -> Result<(), Trouble> {
    let choice = AutoStream::choice(&io::stdout());
    data(fitting(text, choice).as_bytes())
}

/// Writes one JSON document.
pub(crate) fn json(value: &Value) -> Result<(), Trouble> {
    data(format!("{value:#}\n").as_bytes())
}

/// Says something to the person. That nobody can hear it is no reason to fail.
pub(crate) fn say(text: impl AsRef<str>) {
    let choice = AutoStream::choice(&io::stderr());
    let mut line = fitting(text.as_ref(), choice).into_owned();
    line.push('\n');
    // One write, so that lines of several writers do not mix.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Reports an error on stderr, as text or as one JSON document.
pub(crate) fn trouble(trouble: &Trouble, form: Form) {
    match form {
        Form::Text => say(report::render(trouble)),
        Form::Json => say(trouble.to_json().to_string()),
    }
}

/// Whether a person can be asked: both the keyboard and the screen are a terminal.
pub(crate) fn has_person() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The text with its styles, or without where they do not belong.
fn fitting(text: &str, choice: ColorChoice) -> Cow<'_, str> {
    match choice {
        ColorChoice::Never => Cow::Owned(anstream::adapter::strip_str(text).to_string()),
        _ => Cow::Borrowed(text),
    }
}

fn written(result: io::Result<()>) -> Result<(), Trouble> {
    match result {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => Err(Trouble::failed(
            "E_FILE",
            format!("cannot write to stdout: {cause}"),
        )),
        _ => Ok(()),
    }
}
