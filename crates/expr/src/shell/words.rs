//! The words of a command: which of them its program would read as a program.

use super::programs::{ArgumentUse, COMMAND_OPTIONS, COMMAND_SETTINGS, LINE_OPTIONS, habit};
use super::{CommandPart, ValueRefusal};

/// A word as the author wrote it, with its values left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    pub(super) text: String,
    /// The values in it, and how much of the text comes before the first.
    values: Vec<usize>,
    before: usize,
    pub(super) is_quoted: bool,
}

/// A value that would be run, and what would run it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ValueDanger {
    pub(super) value: usize,
    pub(super) what: String,
    pub(super) hint: &'static str,
}

const PROGRAM_HINT: &str = "write the program's name in the text and choose with `@if` (recipes), with a \
    decision (workflows) or with `case {{ … }} in npm) npm install;; esac`";
pub(super) const ARGUMENT_HINT: &str = "pass it as an argument after the program text (`sh -c 'echo \"$1\"' sh {{ … }}`) \
    or in the environment";
const ENVIRONMENT_HINT: &str = "hand the value over in the environment or in a file";
const COMPARE_HINT: &str = "compare with an operator beside the value, as in `[ {{ … }} = yes ]`";
const FORMAT_HINT: &str = "write `printf '%s\\n' {{ … }}`";
const ASSIGN_HINT: &str = "write the name in the text: `export NAME={{ … }}`";

/// Words of the shell after which a command begins.
const LEADING: [&str; 14] = [
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "fi", "done", "esac",
    "coproc",
];
/// Words of the shell that are followed by data.
const DATA: [&str; 3] = ["for", "case", "select"];
/// Operators of `test`, whose words are data.
const OPERATORS: [&str; 28] = [
    "=", "==", "!=", "-eq", "-ne", "-gt", "-ge", "-lt", "-le", "-nt", "-ot", "-ef", "-n", "-z",
    "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-b", "-c", "-p", "-S", "-u",
];

impl ShellWord {
    pub(super) fn push(&mut self, c: char) {
        self.text.push(c);
    }

    pub(super) fn hole(&mut self, value: usize) {
        if self.values.is_empty() {
            self.before = self.text.len();
        }
        self.values.push(value);
    }

    pub(super) fn first_value(&self) -> Option<usize> {
        self.values.first().copied()
    }

    /// Returns true if it is plain text without quotes or values.
    pub(super) fn is_bare(&self) -> bool {
        !self.is_quoted && self.values.is_empty()
    }

    fn is_option(&self) -> bool {
        self.text.starts_with('-') && (self.values.is_empty() || self.before > 0)
    }

    /// Returns true for `NAME=…`, with every value behind the equals sign.
    fn is_assignment(&self) -> bool {
        self.assigned_name().is_some()
    }

    /// Returns the name that `NAME=…` sets, or None if the word is no assignment.
    pub(super) fn assigned_name(&self) -> Option<&str> {
        let (name, _) = self.text.split_once('=')?;
        let is_before = self.values.is_empty() || name.len() < self.before;
        let name = name.strip_suffix('+').unwrap_or(name);
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (is_name && is_before).then_some(name)
    }

    fn danger(&self, what: impl Into<String>, hint: &'static str) -> Result<(), ValueDanger> {
        match self.values.first() {
            None => Ok(()),
            Some(value) => Err(ValueDanger {
                value: *value,
                what: what.into(),
                hint,
            }),
        }
    }
}

/// Refuses words of a program started without a shell that the program would run.
pub fn words(argv: &[Vec<CommandPart<'_>>]) -> Result<(), ValueRefusal> {
    let mut sources = Vec::new();
    let words: Vec<ShellWord> = argv
        .iter()
        .map(|parts| {
            let mut word = ShellWord {
                is_quoted: true,
                ..ShellWord::default()
            };
            for part in parts {
                match part {
                    CommandPart::Text(text) => word.text.push_str(text),
                    CommandPart::Value(source) => {
                        word.hole(sources.len());
                        sources.push(*source);
                    }
                }
            }
            word
        })
        .collect();
    let values = || words.iter().find_map(ShellWord::first_value);
    if let (true, Some(value)) = (words.len() > super::scan::WORDS_MAX, values()) {
        let most = super::scan::WORDS_MAX;
        return Err(ValueRefusal {
            value,
            reason: format!("the command has more than WORDS_MAX = {most} words"),
            hint: "make several steps of it".to_owned(),
        });
    }
    check_program(&words).map_err(|ValueDanger { value, what, hint }| ValueRefusal {
        value,
        reason: format!(
            "`{{{{ {} }}}}` {what}",
            sources.get(value).copied().unwrap_or_default()
        ),
        hint: hint.to_owned(),
    })
}

/// Checks one command of a shell: keywords, assignments, the program and its arguments.
pub(super) fn check_command(words: &[ShellWord]) -> Result<(), ValueDanger> {
    let is_keyword = |word: &&ShellWord| word.is_bare() && LEADING.contains(&word.text.as_str());
    let mut rest = words;
    while let Some(word) = rest.first() {
        if is_keyword(&word) || word.is_assignment() {
            rest = &rest[1..];
            continue;
        }
        break;
    }
    match rest.first() {
        Some(word) if word.is_bare() && DATA.contains(&word.text.as_str()) => Ok(()),
        _ => check_program(rest),
    }
}

/// Checks a program and its arguments.
fn check_program(words: &[ShellWord]) -> Result<(), ValueDanger> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    let what = "would be the name of the program, or the whole command line";
    program.danger(what, PROGRAM_HINT)?;
    check_text_options(words)?;
    let name = program.text.as_str();
    match habit(name) {
        None => Ok(()),
        Some(ArgumentUse::Starts { options }) => check_started(name, options, arguments),
        Some(ArgumentUse::Interprets { texts, values }) => {
            check_interpreted(name, (texts, values), arguments)
        }
        Some(ArgumentUse::Formats) => check_format(name, arguments),
        Some(ArgumentUse::Evaluates { why }) => arguments.iter().try_for_each(|word| {
            word.danger(
                format!("is an argument of `{name}`, which {why}"),
                ENVIRONMENT_HINT,
            )
        }),
        Some(ArgumentUse::Compares) => check_compared(name, arguments),
        Some(ArgumentUse::Assigns) => {
            arguments
                .iter()
                .try_for_each(|word| match word.is_assignment() {
                    true => Ok(()),
                    false => word.danger(
                        format!("names the variable that `{name}` sets"),
                        ASSIGN_HINT,
                    ),
                })
        }
    }
}

/// Refuses a value in the text behind `sh -c`, `python -c`, `node -e` …, whichever program starts
/// them: `find … -exec`, `docker run`.
fn check_text_options(words: &[ShellWord]) -> Result<(), ValueDanger> {
    for (at, word) in words.iter().enumerate() {
        if let Some(ArgumentUse::Interprets { texts, values }) = habit(&word.text)
            && let Some(text) = first_text((texts, values), &words[at + 1..])
        {
            text.danger(runs(&word.text), ARGUMENT_HINT)?;
        }
    }
    for word in words {
        let text = word.text.to_lowercase();
        let (option, _) = text.split_once('=').unwrap_or((&text, ""));
        let is_setting = COMMAND_SETTINGS.iter().any(|name| text.starts_with(name));
        if is_setting || COMMAND_OPTIONS.contains(&option) {
            word.danger(runs(option), ARGUMENT_HINT)?;
        }
    }
    let is_git = words.first().is_some_and(|word| word.text.ends_with("git"));
    let mut pairs = words.windows(2);
    pairs.try_for_each(|pair| {
        let option = pair[0].text.as_str();
        let is_command = option == "eval" || COMMAND_OPTIONS.contains(&option);
        match is_command || (is_git && matches!(option, "-c" | "--config-env")) {
            true => pair[1].danger(runs(option), ARGUMENT_HINT),
            false => Ok(()),
        }
    })
}

/// Returns the text behind the first option that takes one, before anyoperand.
fn first_text<'w>(
    (texts, values): (&[&str], &[&str]),
    words: &'w [ShellWord],
) -> Option<&'w ShellWord> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let option = word.text.as_str();
        if values.contains(&option) {
            rest.next();
        } else if !word.is_option() {
            return None;
        } else if takes_text(option, texts) {
            return rest.next();
        }
    }
    None
}

/// Returns true if a command runs its input: a shell or an interpreter without a script of its own.
pub(super) fn runs_its_input(words: &[ShellWord]) -> bool {
    let is_keyword = |word: &&ShellWord| word.is_bare() && LEADING.contains(&word.text.as_str());
    let mut rest = words
        .iter()
        .skip_while(|word| is_keyword(word) || word.is_assignment());
    let Some(program) = rest.next() else {
        return false;
    };
    match habit(&program.text) {
        Some(ArgumentUse::Starts { .. }) => {
            let rest: Vec<ShellWord> = rest.skip_while(|word| word.is_option()).cloned().collect();
            runs_its_input(&rest)
        }
        Some(ArgumentUse::Interprets { .. }) => {
            rest.all(|word| word.is_option() && !takes_text(&word.text, &["c", "e", "r", "p", "m"]))
        }
        Some(ArgumentUse::Evaluates { .. }) => true,
        _ => false,
    }
}

fn runs(name: &str) -> String {
    format!("is in the text that `{name}` runs")
}

/// Returns true if an option (`-c`, `-lc`, `--eval`) makes the next word a program.
fn takes_text(option: &str, options: &[&str]) -> bool {
    options.iter().any(|known| match known.strip_prefix('-') {
        Some(long) => {
            option.strip_prefix("--") == Some(long) || option.strip_prefix('-') == Some(long)
        }
        None => !option.starts_with("--") && option.ends_with(known),
    })
}

/// Checks `env A=1 sudo -u x PROGRAM …`: the program begins behind the options.
fn check_started(name: &str, options: &[&str], arguments: &[ShellWord]) -> Result<(), ValueDanger> {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        let is_number =
            word.values.is_empty() && word.text.starts_with(|c: char| c.is_ascii_digit());
        if word.is_option() {
            word.danger(format!("is in an option of `{name}`"), ENVIRONMENT_HINT)?;
            let asks = name == "command" && matches!(word.text.as_str(), "-v" | "-V");
            if asks {
                return Ok(());
            }
            if LINE_OPTIONS.contains(&word.text.as_str()) {
                after
                    .first()
                    .map_or(Ok(()), |line| line.danger(runs(name), ARGUMENT_HINT))?;
            }
            let takes_word = options.contains(&word.text.as_str()) && !after.is_empty();
            rest = if takes_word { &after[1..] } else { after };
        } else if is_number || word.is_assignment() {
            rest = after;
        } else {
            break;
        }
    }
    check_program(rest)
}

/// Checks `sh SCRIPT …`, `sh -c TEXT …`, `sed TEXT …`: the first text is run, the following words
/// are data.
fn check_interpreted(
    name: &str,
    (texts, values): (&[&str], &[&str]),
    arguments: &[ShellWord],
) -> Result<(), ValueDanger> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if values.contains(&word.text.as_str()) {
            words.next();
        } else if !word.is_option() {
            let what = format!("is in the text or the script that `{name}` runs");
            return word.danger(what, ARGUMENT_HINT);
        } else {
            word.danger(format!("is in an option of `{name}`"), ARGUMENT_HINT)?;
            if takes_text(&word.text, texts) {
                let text = words.next();
                text.map_or(Ok(()), |text| text.danger(runs(name), ARGUMENT_HINT))?;
                return check_more_text(name, texts, words.as_slice());
            }
        }
    }
    Ok(())
}

/// Checks `perl -e a -e b`, `sed -e a -e b`: later texts are run as well.
fn check_more_text(name: &str, texts: &[&str], words: &[ShellWord]) -> Result<(), ValueDanger> {
    let mut pairs = words.windows(2);
    pairs.try_for_each(
        |pair| match pair[0].is_option() && takes_text(&pair[0].text, texts) {
            true => pair[1].danger(runs(name), ARGUMENT_HINT),
            false => Ok(()),
        },
    )
}

/// Checks `printf FORMAT …`: a value in the format would be read as format, and `-v` names a
/// variable.
fn check_format(name: &str, arguments: &[ShellWord]) -> Result<(), ValueDanger> {
    let what = format!("is in the format of `{name}`");
    let format = arguments.iter().position(|word| word.text != "--");
    let end = format.map_or(0, |at| at + 1);
    let is_set = arguments
        .first()
        .is_some_and(|word| word.text.starts_with("-v"));
    let end = if is_set { arguments.len() } else { end };
    arguments[..end]
        .iter()
        .try_for_each(|word| word.danger(&*what, FORMAT_HINT))
}

/// Checks `test`: a value is data if an operator in the author's text is beside it.
fn check_compared(name: &str, arguments: &[ShellWord]) -> Result<(), ValueDanger> {
    let arguments = match arguments.split_last() {
        Some((last, rest)) if name == "[" && last.text == "]" => rest,
        _ => arguments,
    };
    if arguments.len() == 1 {
        return Ok(());
    }
    let is_operator = |at: Option<usize>| {
        let word = at.and_then(|at| arguments.get(at));
        word.is_some_and(|word| word.values.is_empty() && OPERATORS.contains(&word.text.as_str()))
    };
    arguments.iter().enumerate().try_for_each(|(at, word)| {
        match is_operator(at.checked_sub(1)) || is_operator(Some(at + 1)) {
            true => Ok(()),
            false => word.danger(format!("may become an operator of `{name}`"), COMPARE_HINT),
        }
    })
}
