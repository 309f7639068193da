//! Values in command lines: data for the shell, never part of its program.
//!
//! The text of a command line is its author's alone. Each value travels in an environment variable,
//! and its `{{ }}` is replaced by an expansion that fits: `"$DL_1"` between words, `${DL_1}` inside
//! double quotes, `'"$DL_1"'` inside single quotes. The shell expands a variable once and never
//! reads the result as a program, so no value can end a quote or start a command.
//!
//! Where the shell, or the program it starts, would read the value as a program after all (`eval`,
//! `sh -c`, arithmetic, the text of `sed`), or where no expansion takes place (a quoted
//! here-document), the line is refused before anything runs. [`words`] is the form without a shell.
//!
//! Not here: running anything. Recipes, workflows and the agent hand the result to `exec`.

mod programs;
mod scan;
mod words;

pub use words::words;

/// The most bytes of one value: the kernel takes no longer string into a process.
pub const VALUE_BYTES_MAX: usize = 128 * 1024 - 64;

/// A part of a command line: the author's text, or a value by the expression that gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandPart<'t> {
    Text(&'t str),
    Value(&'t str),
}

/// A command line whose values have safe places, ready to be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    chunks: Vec<ScriptChunk>,
    prefix: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ScriptChunk {
    Text(String),
    Value { index: usize, place: ValueQuoting },
}

/// The quotes around a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueQuoting {
    Bare,
    Double,
    Single,
    Comment,
}

/// A command line with its values, as the shell gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilledCommand {
    /// The text for `sh -c`, with expansions in the places of the values.
    pub script: String,
    /// The variables the expansions read.
    pub variables: Vec<(String, String)>,
    /// The same command as a person would type it, for messages.
    pub shown: String,
}

/// Reason why a value is refused in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRefusal {
    /// Index of the value, counted from 0.
    pub value: usize,
    pub reason: String,
    pub hint: String,
}

impl std::fmt::Display for ValueRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

/// Finds a safe place for every value of a command line, or says which one has none.
pub fn command_line(parts: &[CommandPart<'_>]) -> Result<CommandLine, ValueRefusal> {
    let chunks = scan::scan(parts)?;
    let text: String = parts.iter().filter_map(CommandPart::text).collect();
    Ok(CommandLine {
        chunks,
        prefix: prefix_for(&text),
    })
}

/// Splits a text at its `{{ }}` into the parts of a command line.
pub fn parts(text: &str) -> Result<Vec<CommandPart<'_>>, crate::Error> {
    let pieces = crate::pieces(text)?.into_iter();
    Ok(pieces
        .map(|piece| match piece {
            crate::InterpolationPiece::Text(text) => CommandPart::Text(text),
            crate::InterpolationPiece::Expression { source, .. } => {
                CommandPart::Value(source.trim())
            }
        })
        .collect())
}

impl<'t> CommandPart<'t> {
    fn text(&self) -> Option<&'t str> {
        match self {
            CommandPart::Text(text) => Some(text),
            CommandPart::Value(_) => None,
        }
    }
}

impl CommandLine {
    /// Puts the values in their places, in the order of the parts. A value that no process can be
    /// given is refused with its number.
    pub fn fill(&self, values: &[String]) -> Result<FilledCommand, ValueRefusal> {
        for (index, value) in values.iter().enumerate() {
            check_value(index, value)?;
        }
        let mut filled = FilledCommand::default();
        for chunk in &self.chunks {
            match chunk {
                ScriptChunk::Text(text) => {
                    filled.script.push_str(text);
                    filled.shown.push_str(text);
                }
                ScriptChunk::Value { index, place } => {
                    let value = values.get(*index).map_or("", String::as_str);
                    let name = format!("{}{}", self.prefix, index + 1);
                    filled.script.push_str(&place.expansion(&name));
                    filled.shown.push_str(&place.quoted(&name, value));
                    filled.variables.push((name, value.to_owned()));
                }
            }
        }
        Ok(filled)
    }
}

/// Refuses what cannot be an argument or a variable of a process.
pub fn check_value(index: usize, value: &str) -> Result<(), ValueRefusal> {
    let refuse = |reason: String, hint: &str| {
        Err(ValueRefusal {
            value: index,
            reason,
            hint: hint.to_owned(),
        })
    };
    if value.contains('\0') {
        let reason = "it has a zero byte, which no command can take".to_owned();
        return refuse(reason, "remove the zero byte, or write the value to a file");
    }
    if value.len() > VALUE_BYTES_MAX {
        let length = value.len();
        let reason =
            format!("it has {length} bytes, more than VALUE_BYTES_MAX = {VALUE_BYTES_MAX}");
        let hint = "hand long values over in a file, or let the command read its standard input";
        return refuse(reason, hint);
    }
    Ok(())
}

impl ValueQuoting {
    fn expansion(self, name: &str) -> String {
        match self {
            ValueQuoting::Bare => format!("\"${name}\""),
            ValueQuoting::Double => format!("${{{name}}}"),
            ValueQuoting::Single => format!("'\"${name}\"'"),
            ValueQuoting::Comment => format!("${name}"),
        }
    }

    /// Quotes the value itself for its place.
    fn quoted(self, name: &str, value: &str) -> String {
        match self {
            ValueQuoting::Bare => shown_word(value),
            ValueQuoting::Double => {
                let mut quoted = String::with_capacity(value.len());
                for c in value.chars() {
                    if matches!(c, '"' | '\\' | '$' | '`') {
                        quoted.push('\\');
                    }
                    quoted.push(c);
                }
                quoted
            }
            ValueQuoting::Single => value.replace('\'', r"'\''"),
            ValueQuoting::Comment => format!("${name}"),
        }
    }
}

/// Writes one word as a person would type it: quoted only if needed.
pub fn shown_word(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%^".contains(c);
    match !value.is_empty() && value.chars().all(is_plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', r"'\''")),
    }
}

/// Returns a prefix for variables that the author's own text does not use.
fn prefix_for(text: &str) -> String {
    let mut prefix = "DL_".to_owned();
    while text.contains(&prefix) {
        prefix.insert(2, 'X');
    }
    prefix
}
