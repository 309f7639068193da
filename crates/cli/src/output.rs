//! The two streams: data on stdout, byte for byte; everything said to a person on stderr.
//!
//! A reader that closes stdout early (`drawloom … | head`) has had enough: that is not an error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use app::settings::ColorSetting;
use serde_json::Value;

use crate::error_report;
use crate::exit::CliError;

/// The audience of a command's result: people or programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Text,
    Json,
}

impl From<bool> for OutputFormat {
    /// Converts the flag `--json`.
    fn from(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Applies `--color` or `output.color` to both streams.
pub(crate) fn set_color(color: ColorSetting) {
    let choice = match color {
        ColorSetting::Auto => ColorChoice::Auto,
        ColorSetting::Always => ColorChoice::Always,
        ColorSetting::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes data exactly as it is.
pub(crate) fn data(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Writes text that may be styled; the styles reach only a terminal that wants them.
pub(crate) fn styled(text: &str) -> Result<(), CliError> {
    let choice = AutoStream::choice(&io::stdout());
    let text = fitting(text, choice);
    match is_for_eyes() {
        true => data(tamed(&text).as_bytes()),
        false => data(text.as_bytes()),
    }
}

/// True if a person will read stdout: it is a terminal, or colours are wanted (`| less -R`).
fn is_for_eyes() -> bool {
    io::stdout().is_terminal() || AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// Quotes a foreign text inside styled output: a person sees no style and no control sequence of
/// its own. A program that reads stdout gets it unchanged.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    match is_for_eyes() {
        true => Cow::Owned(harmless(text)),
        false => Cow::Borrowed(text),
    }
}

/// Writes one JSON document.
pub(crate) fn json(value: &Value) -> Result<(), CliError> {
    data(escaped(&format!("{value:#}\n")).as_bytes())
}

/// Writes one JSON document on a line of its own.
pub(crate) fn json_line(value: &Value) -> Result<(), CliError> {
    data(escaped(&format!("{value}\n")).as_bytes())
}

/// Writes control characters and characters that reverse the order of a text as `\u009b`. In JSON
/// they can occur only inside strings.
fn escaped(json: &str) -> Cow<'_, str> {
    let is_raw = |c: char| c == '\u{7f}' || (!c.is_ascii_control() && harmless_char(c) != c);
    if !json.contains(is_raw) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_raw(c) {
            true => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// Prints a line to stderr. A closed stderr is no reason to fail.
pub(crate) fn say(text: impl AsRef<str>) {
    let mut line = dressed(text.as_ref());
    line.push('\n');
    // One write, so that lines of several writers do not mix.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Prepares a text for the terminal behind stderr: with its styles where they belong, and no other
/// control sequences.
pub(crate) fn dressed(text: &str) -> String {
    let choice = AutoStream::choice(&io::stderr());
    tamed(&fitting(text, choice))
}

/// Reports an error on stderr, as text or as one JSON document.
pub(crate) fn trouble(trouble: &CliError, form: OutputFormat) {
    match form {
        OutputFormat::Text => say(error_report::render(trouble)),
        OutputFormat::Json => say(escaped(&trouble.to_json().to_string())),
    }
}

/// Returns the number of columns of the terminal behind stdout, if there is one.
pub(crate) fn width() -> Option<usize> {
    let terminal = dialoguer::console::Term::stdout();
    let size = terminal
        .size_checked()
        .filter(|_| io::stdout().is_terminal());
    size.map(|(_, columns)| usize::from(columns))
}

/// True if a person can be asked: both the keyboard and the screen are a terminal.
pub(crate) fn has_person() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Replaces every character of a foreign text that a terminal would obey or that would reverse its
/// order; character for character.
pub(crate) fn harmless(text: &str) -> String {
    let mut characters = text.chars().peekable();
    let mut clean = String::with_capacity(text.len());
    while let Some(c) = characters.next() {
        let ends_line = c == '\r' && characters.peek() == Some(&'\n');
        clean.push(if ends_line { c } else { harmless_char(c) });
    }
    clean
}

fn harmless_char(c: char) -> char {
    let reorders = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let obeyed = c.is_control() && !matches!(c, '\n' | '\t');
    if reorders || obeyed { '\u{fffd}' } else { c }
}

/// Keeps our own styles in a text and drops all other control sequences: files and answers that are
/// shown may contain any. Styles that hide a text, or could, are not among ours.
fn tamed(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut clean = harmless(parts.next().unwrap_or_default());
    for part in parts {
        let style = part.strip_prefix('[').map_or(0, |rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';');
            let end = end.filter(|end| rest[*end..].starts_with('m') && is_ours(&rest[..*end]));
            end.map_or(0, |end| "[m".len() + end)
        });
        clean.push(if style > 0 { '\u{1b}' } else { '\u{fffd}' });
        clean.push_str(&part[..style]);
        clean.push_str(&harmless(&part[style..]));
    }
    clean
}

/// True if a style is one that this program uses: bold, dim, underlined, a colour that is neither
/// black nor white, or the end of them.
fn is_ours(style: &str) -> bool {
    let known = |code: &str| {
        matches!(
            code,
            "" | "0"
                | "1"
                | "2"
                | "4"
                | "22"
                | "24"
                | "31"
                | "32"
                | "33"
                | "34"
                | "35"
                | "36"
                | "39"
        )
    };
    style.split(';').all(known)
}

/// Keeps or drops the styles of a text, as the choice says.
fn fitting(text: &str, choice: ColorChoice) -> Cow<'_, str> {
    match choice {
        ColorChoice::Never => Cow::Owned(anstream::adapter::strip_str(text).to_string()),
        _ => Cow::Borrowed(text),
    }
}

fn written(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => Err(CliError::failed(
            "E_FILE",
            format!("cannot write to stdout: {cause}"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_gives_the_terminal_no_orders() {
        for (text, clean) in [
            ("a\tb\r\nc\n", "a\tb\r\nc\n"),
            ("over\rwritten", "over\u{fffd}written"),
            ("\u{1b}]0;title\u{7}", "\u{fffd}]0;title\u{fffd}"),
            ("\u{9b}2J", "\u{fffd}2J"),
            ("rm \u{202e}x\u{2066}", "rm \u{fffd}x\u{fffd}"),
            ("שלום é", "שלום é"),
        ] {
            assert_eq!(harmless(text), clean);
            assert_eq!(tamed(text), clean);
        }
    }

    #[test]
    fn json_has_no_orders_for_a_terminal() {
        let value = serde_json::json!({ "a": "\u{9b}8m \u{1b} \u{202e} \u{85}\u{7f} é שלום" });
        let text = value.to_string();
        let escaped = escaped(&text);
        assert!(
            escaped.contains(r"\u009b8m \u001b \u202e \u0085\u007f é שלום"),
            "{escaped}"
        );
        assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
    }

    #[test]
    fn of_all_orders_only_styles_reach_the_terminal() {
        for (text, clean) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
            ("\u{1b}[mx", "\u{1b}[mx"),
            ("\u{1b}[8mx\u{1b}[0m", "\u{fffd}[8mx\u{1b}[0m"),
            ("\u{1b}[31;41mx", "\u{fffd}[31;41mx"),
            ("\u{1b}[38;5;0mx", "\u{fffd}[38;5;0mx"),
            ("\u{1b}[30mx", "\u{fffd}[30mx"),
            ("\u{1b}[2Jx\u{1b}", "\u{fffd}[2Jx\u{fffd}"),
            ("\u{1b}[31", "\u{fffd}[31"),
            ("\u{1b}[1é", "\u{fffd}[1é"),
            ("\u{1b}\u{1b}[1m", "\u{fffd}\u{1b}[1m"),
        ] {
            assert_eq!(tamed(text), clean);
        }
    }
}
