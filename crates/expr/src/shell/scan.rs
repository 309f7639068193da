//! Reads a command line as `sh` does, far enough to know what surrounds each value.
//!
//! Where shells disagree, or where reading on would need all of the language, the scanner refuses
//! every value that follows instead of guessing. Text without values is never refused: it is the
//! author's, and the shell judges it.
// tidy: allow long-file, because it is one scanner with all its states

mod redirections;
mod variables;

use super::words::{self, ShellWord};
use super::{CommandPart, ScriptChunk, ValueQuoting, ValueRefusal};

/// A character of the author's, or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShellSymbol {
    Char(char),
    Value(usize),
}

/// Something that has begun and not ended.
#[derive(Debug)]
enum OpenConstruct {
    /// Commands in `( )`, `$( )` and `<( )`.
    Commands(OpenCommands),
    Double,
    Single,
    Backticks,
    /// `${ }`; how many more have to end.
    Parameter(usize),
    /// `$(( ))`; how many parentheses have to end.
    Arithmetic(usize),
}

#[derive(Debug, Default)]
struct OpenCommands {
    /// `$( )`, whose end depends on its content.
    is_substitution: bool,
    words: Vec<ShellWord>,
    current: Option<ShellWord>,
    /// The next word belongs to a redirection.
    target: Option<RedirectTarget>,
    /// A value that the next command of the pipeline may read.
    piped: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RedirectTarget {
    File,
    /// `<<<`: the word itself is the input.
    Text,
}

struct HereDocument {
    delimiter: String,
    strips_tabs: bool,
}

struct ShellScanner<'p> {
    sources: Vec<&'p str>,
    symbols: Vec<ShellSymbol>,
    at: usize,
    chunks: Vec<ScriptChunk>,
    /// The commands of the line itself.
    line: OpenCommands,
    frames: Vec<OpenConstruct>,
    here_documents: Vec<HereDocument>,
    /// Variables of the line that hold a value.
    variables: variables::ValueVariables,
    /// Reason why the safety of values from here on cannot be decided.
    unsure: Option<&'static str>,
}

/// Limit on the words of a command with values.
pub(super) const WORDS_MAX: usize = 1_000;
/// Limit on quotes and brackets inside each other.
const FRAMES_MAX: usize = 64;
const TOO_DEEP: &str = "more than FRAMES_MAX = 64 quotes and brackets inside each other";
const CASE_INSIDE: &str = "`case` inside `$( … )`";
const DOUBLE_BRACKETS: &str = "`[[`";
const USE_VARIABLE: &str =
    "give the value to a variable first (`x={{ … }}`), and use `\"$x\"` where it is needed";

pub(super) fn scan(parts: &[CommandPart<'_>]) -> Result<Vec<ScriptChunk>, ValueRefusal> {
    let mut scanner = ShellScanner::new(parts);
    while let Some(symbol) = scanner.next() {
        scanner.step(symbol)?;
    }
    scanner.finish()
}

impl<'p> ShellScanner<'p> {
    fn new(parts: &[CommandPart<'p>]) -> ShellScanner<'p> {
        let (mut symbols, mut sources) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                CommandPart::Text(text) => symbols.extend(text.chars().map(ShellSymbol::Char)),
                CommandPart::Value(source) => {
                    symbols.push(ShellSymbol::Value(sources.len()));
                    sources.push(*source);
                }
            }
        }
        ShellScanner {
            sources,
            symbols,
            at: 0,
            chunks: Vec::new(),
            line: OpenCommands::default(),
            frames: Vec::new(),
            here_documents: Vec::new(),
            variables: Vec::new(),
            unsure: None,
        }
    }

    /// Returns the next symbol; a character is copied to the output.
    fn next(&mut self) -> Option<ShellSymbol> {
        let symbol = *self.symbols.get(self.at)?;
        self.at += 1;
        if let ShellSymbol::Char(c) = symbol {
            match self.chunks.last_mut() {
                Some(ScriptChunk::Text(text)) => text.push(c),
                _ => self.chunks.push(ScriptChunk::Text(c.to_string())),
            }
        }
        Some(symbol)
    }

    fn peek(&self) -> Option<ShellSymbol> {
        self.symbols.get(self.at).copied()
    }

    fn is_next(&self, c: char) -> bool {
        self.peek() == Some(ShellSymbol::Char(c))
    }

    fn take(&mut self, c: char) -> bool {
        let is_there = self.is_next(c);
        if is_there {
            self.next();
        }
        is_there
    }

    fn step(&mut self, symbol: ShellSymbol) -> Result<(), ValueRefusal> {
        match (self.frames.last(), symbol) {
            (_, ShellSymbol::Value(index)) => self.value(index),
            (Some(OpenConstruct::Single), ShellSymbol::Char('\'')) => self.pop(),
            (Some(OpenConstruct::Single), _) => self.literal(symbol),
            (Some(OpenConstruct::Double), ShellSymbol::Char(c)) => self.in_double(c),
            (Some(OpenConstruct::Backticks), ShellSymbol::Char(c)) => self.in_backticks(c),
            (Some(OpenConstruct::Parameter(depth)), ShellSymbol::Char(c)) => {
                self.in_parameter(*depth, c)
            }
            (Some(OpenConstruct::Arithmetic(depth)), ShellSymbol::Char(c)) => {
                self.in_arithmetic(*depth, c)
            }
            (_, ShellSymbol::Char(c)) => self.in_commands(c),
        }
    }

    fn refuse<T>(
        &self,
        value: usize,
        what: impl AsRef<str>,
        hint: &str,
    ) -> Result<T, ValueRefusal> {
        let source = self.sources.get(value).copied().unwrap_or_default();
        Err(ValueRefusal {
            value,
            reason: format!("`{{{{ {source} }}}}` {}", what.as_ref()),
            hint: hint.to_owned(),
        })
    }

    /// Gives a value its place, or refuses it.
    fn value(&mut self, index: usize) -> Result<(), ValueRefusal> {
        if let Some(why) = self.unsure {
            let what = format!("comes after {why}, behind which no place is safe in every shell");
            let hint = "put the value before it, use `[ … ]` for `[[ … ]]`, or make two steps";
            return self.refuse(index, what, hint);
        }
        let place = match self.frames.last() {
            Some(OpenConstruct::Commands(_)) | None => ValueQuoting::Bare,
            Some(OpenConstruct::Double) => ValueQuoting::Double,
            Some(OpenConstruct::Single) => ValueQuoting::Single,
            Some(OpenConstruct::Backticks) => {
                let hint = "write `$( … )` instead of backticks";
                return self.refuse(index, "is inside backticks", hint);
            }
            Some(OpenConstruct::Parameter(_)) => {
                return self.refuse(index, "is inside `${ … }`", USE_VARIABLE);
            }
            Some(OpenConstruct::Arithmetic(_)) => {
                let what = "is inside `$(( … ))`, where a shell runs what a value says";
                let hint = "compute it in the expression: `{{ a + b }}`";
                return self.refuse(index, what, hint);
            }
        };
        self.chunks.push(ScriptChunk::Value { index, place });
        self.word();
        // The output of a command inside is part of the word around it.
        for commands in self.all_commands() {
            if let Some(word) = &mut commands.current {
                word.hole(index);
            }
        }
        Ok(())
    }

    /// Reads a character without special meaning.
    fn literal(&mut self, symbol: ShellSymbol) -> Result<(), ValueRefusal> {
        if let ShellSymbol::Char(c) = symbol {
            self.word().push(c);
        }
        Ok(())
    }

    fn open(&mut self, frame: OpenConstruct) {
        match self.frames.len() < FRAMES_MAX {
            true => self.frames.push(frame),
            false => self.unsure = Some(TOO_DEEP),
        }
    }

    fn pop(&mut self) -> Result<(), ValueRefusal> {
        self.frames.pop();
        Ok(())
    }

    fn all_commands(&mut self) -> impl Iterator<Item = &mut OpenCommands> {
        let inner = self.frames.iter_mut().rev();
        let inner = inner.filter_map(|frame| match frame {
            OpenConstruct::Commands(commands) => Some(commands),
            _ => None,
        });
        inner.chain([&mut self.line])
    }

    /// Returns the innermost list of commands.
    fn commands(&mut self) -> &mut OpenCommands {
        let inner = self.frames.iter_mut().rev();
        let mut inner = inner.filter_map(|frame| match frame {
            OpenConstruct::Commands(commands) => Some(commands),
            _ => None,
        });
        inner.next().unwrap_or(&mut self.line)
    }

    /// Returns the word that is being read.
    fn word(&mut self) -> &mut ShellWord {
        self.commands()
            .current
            .get_or_insert_with(ShellWord::default)
    }

    fn after_backslash(&mut self) -> Result<(), ValueRefusal> {
        match self.peek() {
            Some(ShellSymbol::Value(index)) => {
                let hint = "remove the backslash; a value needs none";
                self.refuse(index, "comes right after a backslash", hint)
            }
            Some(ShellSymbol::Char('\n')) => {
                self.next();
                Ok(())
            }
            Some(symbol) => {
                self.next();
                self.word().is_quoted = true;
                self.literal(symbol)
            }
            None => Ok(()),
        }
    }

    /// Reads the construct that begins with a dollar sign.
    fn after_dollar(&mut self, is_double: bool) -> Result<(), ValueRefusal> {
        self.word().push('$');
        self.follow_variable();
        match self.peek() {
            Some(ShellSymbol::Value(index)) => {
                let hint = "write the variable's name in the text, or use the value itself";
                self.refuse(index, "names a variable of the shell", hint)
            }
            Some(ShellSymbol::Char('(')) => {
                self.next();
                if self.take('(') {
                    self.open(OpenConstruct::Arithmetic(2));
                } else {
                    let inner = OpenCommands {
                        is_substitution: true,
                        ..OpenCommands::default()
                    };
                    self.open(OpenConstruct::Commands(inner));
                }
                Ok(())
            }
            Some(ShellSymbol::Char('{')) => {
                self.next();
                self.open(OpenConstruct::Parameter(1));
                Ok(())
            }
            Some(ShellSymbol::Char('\'')) if !is_double => {
                self.unsure = Some("`$'…'`");
                Ok(())
            }
            Some(ShellSymbol::Char('[')) => {
                self.unsure = Some("`$[…]`");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn in_double(&mut self, c: char) -> Result<(), ValueRefusal> {
        match c {
            '"' => self.pop(),
            '\\' => self.after_backslash(),
            '$' => self.after_dollar(true),
            '`' => {
                self.open(OpenConstruct::Backticks);
                Ok(())
            }
            _ => self.literal(ShellSymbol::Char(c)),
        }
    }

    fn in_backticks(&mut self, c: char) -> Result<(), ValueRefusal> {
        match c {
            '`' => self.pop(),
            '\\' => {
                if let Some(ShellSymbol::Char(_)) = self.peek() {
                    self.next();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn in_parameter(&mut self, depth: usize, c: char) -> Result<(), ValueRefusal> {
        match c {
            '}' if depth <= 1 => return self.pop(),
            '}' => self.set_depth(depth - 1),
            '{' => self.set_depth(depth + 1),
            '\'' | '"' | '`' | '\\' | '(' => self.unsure = Some("`${…}` with quotes in it"),
            _ => {}
        }
        Ok(())
    }

    fn in_arithmetic(&mut self, depth: usize, c: char) -> Result<(), ValueRefusal> {
        match c {
            ')' if depth <= 1 => return self.pop(),
            ')' => self.set_depth(depth - 1),
            '(' => self.set_depth(depth + 1),
            '\'' | '"' | '`' | '\\' => self.unsure = Some("`$((…))` with quotes in it"),
            _ => return self.check_arithmetic_name(),
        }
        Ok(())
    }

    fn set_depth(&mut self, to: usize) {
        if let Some(OpenConstruct::Parameter(depth) | OpenConstruct::Arithmetic(depth)) =
            self.frames.last_mut()
        {
            *depth = to;
        }
    }

    fn in_commands(&mut self, c: char) -> Result<(), ValueRefusal> {
        match c {
            ' ' | '\t' => self.end_word(),
            '\n' => {
                self.end_command()?;
                return self.read_here_documents();
            }
            '|' if self.peek() != Some(ShellSymbol::Char('|')) => return self.end_piped(),
            ';' | '&' | '|' => {
                let _ = c == '|' && self.take('|');
                return self.end_command();
            }
            '\'' => {
                self.word().is_quoted = true;
                self.open(OpenConstruct::Single);
            }
            '"' => {
                self.word().is_quoted = true;
                self.open(OpenConstruct::Double);
            }
            '\\' => return self.after_backslash(),
            '$' => return self.after_dollar(false),
            '`' => {
                self.word().is_quoted = true;
                self.open(OpenConstruct::Backticks);
            }
            '#' if self.commands().current.is_none() => return self.comment(),
            '(' => {
                if self.is_next('(') {
                    self.unsure = Some("`((…))`");
                }
                self.end_command()?;
                self.open(OpenConstruct::Commands(OpenCommands::default()));
            }
            ')' => {
                self.end_command()?;
                return self.pop();
            }
            '<' | '>' => return self.redirection(c),
            _ => return self.literal(ShellSymbol::Char(c)),
        }
        Ok(())
    }

    /// Reads a comment. Values in it do nothing, so they need no quotes.
    fn comment(&mut self) -> Result<(), ValueRefusal> {
        while let Some(symbol) = self.peek() {
            if symbol == ShellSymbol::Char('\n') {
                break;
            }
            self.next();
            if let ShellSymbol::Value(index) = symbol {
                let place = ValueQuoting::Comment;
                self.chunks.push(ScriptChunk::Value { index, place });
            }
        }
        Ok(())
    }

    fn end_word(&mut self) {
        let is_substituted = self.frames.iter().any(
            |frame| matches!(frame, OpenConstruct::Commands(commands) if commands.is_substitution),
        );
        let commands = self.commands();
        let Some(word) = commands.current.take() else {
            return;
        };
        match commands.target.take() {
            Some(RedirectTarget::File) => return,
            Some(RedirectTarget::Text) => {
                commands.piped = word.first_value();
                return;
            }
            None => {}
        }
        let bare = if word.is_bare() {
            word.text.as_str()
        } else {
            ""
        };
        let unsure = match bare {
            "]]" if self.unsure == Some(DOUBLE_BRACKETS) => None,
            "case" if is_substituted => self.unsure.or(Some(CASE_INSIDE)),
            "[[" => self.unsure.or(Some(DOUBLE_BRACKETS)),
            _ => self.unsure,
        };
        self.unsure = unsure;
        self.commands().words.push(word);
    }

    /// Ends a command whose output the next one reads.
    fn end_piped(&mut self) -> Result<(), ValueRefusal> {
        self.end_word();
        let commands = self.commands();
        let value = commands.words.iter().find_map(ShellWord::first_value);
        let value = commands.piped.or(value);
        self.end_command()?;
        self.commands().piped = value;
        Ok(())
    }

    fn end_command(&mut self) -> Result<(), ValueRefusal> {
        self.end_word();
        let commands = self.commands();
        commands.target = None;
        let words = std::mem::take(&mut commands.words);
        let piped = commands.piped.take();
        let value = piped.or_else(|| words.iter().find_map(ShellWord::first_value));
        let Some(first) = value else {
            return Ok(());
        };
        if words.len() > WORDS_MAX {
            let what = format!("is in a command of more than WORDS_MAX = {WORDS_MAX} words");
            return self.refuse(first, what, "make several steps of it");
        }
        if let Some(value) = piped
            && words::runs_its_input(&words)
        {
            let what = "would be read, and run, by the program behind it";
            return self.refuse(value, what, words::ARGUMENT_HINT);
        }
        match words::check_command(&words) {
            Ok(()) => {
                self.learn_variables(&words);
                Ok(())
            }
            Err(words::ValueDanger { value, what, hint }) => self.refuse(value, what, hint),
        }
    }

    fn finish(mut self) -> Result<Vec<ScriptChunk>, ValueRefusal> {
        self.end_command()?;
        let last = self.sources.len().checked_sub(1);
        if let (Some(last), true) = (last, !self.frames.is_empty()) {
            let what = "is in a command line that does not end: a quote or a bracket is open";
            return self.refuse(last, what, "close the quote or the bracket");
        }
        Ok(self.chunks)
    }
}
