//! Reads a command line as `sh` does, far enough to know what surrounds each value.
//!
//! Where shells disagree, or where reading on would need all of the language, the scanner says so
//! for every value that follows instead of guessing. Text without values is never refused: it is
//! the author's, and the shell judges it.

mod redirections;

use super::words::{self, Word};
use super::{Chunk, Part, Quoting, Refusal};

/// A character of the author's, or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbol {
    Char(char),
    Value(usize),
}

/// Something that has begun and not ended.
#[derive(Debug)]
enum Frame {
    /// Commands in `( )`, `$( )` and `<( )`.
    Commands(Commands),
    Double,
    Single,
    Backticks,
    /// `${ }`; how many more have to end.
    Parameter(usize),
    /// `$(( ))`; how many parentheses have to end.
    Arithmetic(usize),
}

#[derive(Debug, Default)]
struct Commands {
    /// `$( )`, whose end depends on what is in it.
    is_substitution: bool,
    words: Vec<Word>,
    current: Option<Word>,
    /// The next word belongs to a redirection.
    target: Option<Target>,
    /// A value that the next command of the pipeline may read.
    piped: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    File,
    /// `<<<`: the word itself is the input.
    Text,
}

struct HereDocument {
    delimiter: String,
    strips_tabs: bool,
}

struct Scanner<'p> {
    sources: Vec<&'p str>,
    symbols: Vec<Symbol>,
    at: usize,
    chunks: Vec<Chunk>,
    /// The commands of the line itself.
    line: Commands,
    frames: Vec<Frame>,
    here_documents: Vec<HereDocument>,
    /// Why nothing can be said about values from here on.
    unsure: Option<&'static str>,
}

/// How many words a command with values may have.
pub(super) const WORDS_MAX: usize = 1_000;
/// How many quotes and brackets may be inside each other.
const FRAMES_MAX: usize = 64;
const TOO_DEEP: &str = "more than FRAMES_MAX = 64 quotes and brackets inside each other";
const CASE_INSIDE: &str = "`case` inside `$( … )`";
const DOUBLE_BRACKETS: &str = "`[[`";
const USE_VARIABLE: &str =
    "give the value to a variable first (`x={{ … }}`), and use `\"$x\"` where it is needed";

pub(super) fn scan(parts: &[Part<'_>]) -> Result<Vec<Chunk>, Refusal> {
    let mut scanner = Scanner::new(parts);
    while let Some(symbol) = scanner.next() {
        scanner.step(symbol)?;
    }
    scanner.finish()
}

impl<'p> Scanner<'p> {
    fn new(parts: &[Part<'p>]) -> Scanner<'p> {
        let (mut symbols, mut sources) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Text(text) => symbols.extend(text.chars().map(Symbol::Char)),
                Part::Value(source) => {
                    symbols.push(Symbol::Value(sources.len()));
                    sources.push(*source);
                }
            }
        }
        Scanner {
            sources,
            symbols,
            at: 0,
            chunks: Vec::new(),
            line: Commands::default(),
            frames: Vec::new(),
            here_documents: Vec::new(),
            unsure: None,
        }
    }

    /// The next symbol; a character is copied to the output.
    fn next(&mut self) -> Option<Symbol> {
        let symbol = *self.symbols.get(self.at)?;
        self.at += 1;
        if let Symbol::Char(c) = symbol {
            match self.chunks.last_mut() {
                Some(Chunk::Text(text)) => text.push(c),
                _ => self.chunks.push(Chunk::Text(c.to_string())),
            }
        }
        Some(symbol)
    }

    fn peek(&self) -> Option<Symbol> {
        self.symbols.get(self.at).copied()
    }

    fn is_next(&self, c: char) -> bool {
        self.peek() == Some(Symbol::Char(c))
    }

    fn take(&mut self, c: char) -> bool {
        let is_there = self.is_next(c);
        if is_there {
            self.next();
        }
        is_there
    }

    fn step(&mut self, symbol: Symbol) -> Result<(), Refusal> {
        match (self.frames.last(), symbol) {
            (_, Symbol::Value(index)) => self.value(index),
            (Some(Frame::Single), Symbol::Char('\'')) => self.pop(),
            (Some(Frame::Single), _) => self.literal(symbol),
            (Some(Frame::Double), Symbol::Char(c)) => self.in_double(c),
            (Some(Frame::Backticks), Symbol::Char(c)) => self.in_backticks(c),
            (Some(Frame::Parameter(depth)), Symbol::Char(c)) => self.in_parameter(*depth, c),
            (Some(Frame::Arithmetic(depth)), Symbol::Char(c)) => self.in_arithmetic(*depth, c),
            (_, Symbol::Char(c)) => self.in_commands(c),
        }
    }

    fn refuse<T>(&self, value: usize, what: impl AsRef<str>, hint: &str) -> Result<T, Refusal> {
        let source = self.sources.get(value).copied().unwrap_or_default();
        Err(Refusal {
            value,
            reason: format!("`{{{{ {source} }}}}` {}", what.as_ref()),
            hint: hint.to_owned(),
        })
    }

    /// Gives a value its place, or refuses it.
    fn value(&mut self, index: usize) -> Result<(), Refusal> {
        if let Some(why) = self.unsure {
            let what = format!("comes after {why}, behind which no place is safe in every shell");
            let hint = "put the value before it, use `[ … ]` for `[[ … ]]`, or make two steps";
            return self.refuse(index, what, hint);
        }
        let place = match self.frames.last() {
            Some(Frame::Commands(_)) | None => Quoting::Bare,
            Some(Frame::Double) => Quoting::Double,
            Some(Frame::Single) => Quoting::Single,
            Some(Frame::Backticks) => {
                let hint = "write `$( … )` instead of backticks";
                return self.refuse(index, "is inside backticks", hint);
            }
            Some(Frame::Parameter(_)) => {
                return self.refuse(index, "is inside `${ … }`", USE_VARIABLE);
            }
            Some(Frame::Arithmetic(_)) => {
                let what = "is inside `$(( … ))`, where a shell runs what a value says";
                let hint = "compute it in the expression: `{{ a + b }}`";
                return self.refuse(index, what, hint);
            }
        };
        self.chunks.push(Chunk::Value { index, place });
        self.word();
        // What a command inside prints is part of the word around it.
        for commands in self.all_commands() {
            if let Some(word) = &mut commands.current {
                word.hole(index);
            }
        }
        Ok(())
    }

    /// A character that stands for itself.
    fn literal(&mut self, symbol: Symbol) -> Result<(), Refusal> {
        if let Symbol::Char(c) = symbol {
            self.word().push(c);
        }
        Ok(())
    }

    fn open(&mut self, frame: Frame) {
        match self.frames.len() < FRAMES_MAX {
            true => self.frames.push(frame),
            false => self.unsure = Some(TOO_DEEP),
        }
    }

    fn pop(&mut self) -> Result<(), Refusal> {
        self.frames.pop();
        Ok(())
    }

    fn all_commands(&mut self) -> impl Iterator<Item = &mut Commands> {
        let inner = self.frames.iter_mut().rev();
        let inner = inner.filter_map(|frame| match frame {
            Frame::Commands(commands) => Some(commands),
            _ => None,
        });
        inner.chain([&mut self.line])
    }

    /// The innermost list of commands.
    fn commands(&mut self) -> &mut Commands {
        let inner = self.frames.iter_mut().rev();
        let mut inner = inner.filter_map(|frame| match frame {
            Frame::Commands(commands) => Some(commands),
            _ => None,
        });
        inner.next().unwrap_or(&mut self.line)
    }

    /// The word that is being read.
    fn word(&mut self) -> &mut Word {
        self.commands().current.get_or_insert_with(Word::default)
    }

    fn after_backslash(&mut self) -> Result<(), Refusal> {
        match self.peek() {
            Some(Symbol::Value(index)) => {
                let hint = "remove the backslash; a value needs none";
                self.refuse(index, "comes right after a backslash", hint)
            }
            Some(Symbol::Char('\n')) => {
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

    /// What begins with a dollar sign.
    fn after_dollar(&mut self, is_double: bool) -> Result<(), Refusal> {
        self.word().push('$');
        match self.peek() {
            Some(Symbol::Value(index)) => {
                let hint = "write the variable's name in the text, or use the value itself";
                self.refuse(index, "names a variable of the shell", hint)
            }
            Some(Symbol::Char('(')) => {
                self.next();
                if self.take('(') {
                    self.open(Frame::Arithmetic(2));
                } else {
                    let inner = Commands {
                        is_substitution: true,
                        ..Commands::default()
                    };
                    self.open(Frame::Commands(inner));
                }
                Ok(())
            }
            Some(Symbol::Char('{')) => {
                self.next();
                self.open(Frame::Parameter(1));
                Ok(())
            }
            Some(Symbol::Char('\'')) if !is_double => {
                self.unsure = Some("`$'…'`");
                Ok(())
            }
            Some(Symbol::Char('[')) => {
                self.unsure = Some("`$[…]`");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn in_double(&mut self, c: char) -> Result<(), Refusal> {
        match c {
            '"' => self.pop(),
            '\\' => self.after_backslash(),
            '$' => self.after_dollar(true),
            '`' => {
                self.open(Frame::Backticks);
                Ok(())
            }
            _ => self.literal(Symbol::Char(c)),
        }
    }

    fn in_backticks(&mut self, c: char) -> Result<(), Refusal> {
        match c {
            '`' => self.pop(),
            '\\' => {
                if let Some(Symbol::Char(_)) = self.peek() {
                    self.next();
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn in_parameter(&mut self, depth: usize, c: char) -> Result<(), Refusal> {
        match c {
            '}' if depth <= 1 => return self.pop(),
            '}' => self.set_depth(depth - 1),
            '{' => self.set_depth(depth + 1),
            '\'' | '"' | '`' | '\\' | '(' => self.unsure = Some("`${…}` with quotes in it"),
            _ => {}
        }
        Ok(())
    }

    fn in_arithmetic(&mut self, depth: usize, c: char) -> Result<(), Refusal> {
        match c {
            ')' if depth <= 1 => return self.pop(),
            ')' => self.set_depth(depth - 1),
            '(' => self.set_depth(depth + 1),
            '\'' | '"' | '`' | '\\' => self.unsure = Some("`$((…))` with quotes in it"),
            _ => {}
        }
        Ok(())
    }

    fn set_depth(&mut self, to: usize) {
        if let Some(Frame::Parameter(depth) | Frame::Arithmetic(depth)) = self.frames.last_mut() {
            *depth = to;
        }
    }

    fn in_commands(&mut self, c: char) -> Result<(), Refusal> {
        match c {
            ' ' | '\t' => self.end_word(),
            '\n' => {
                self.end_command()?;
                return self.read_here_documents();
            }
            '|' if self.peek() != Some(Symbol::Char('|')) => return self.end_piped(),
            ';' | '&' | '|' => {
                let _ = c == '|' && self.take('|');
                return self.end_command();
            }
            '\'' => {
                self.word().is_quoted = true;
                self.open(Frame::Single);
            }
            '"' => {
                self.word().is_quoted = true;
                self.open(Frame::Double);
            }
            '\\' => return self.after_backslash(),
            '$' => return self.after_dollar(false),
            '`' => {
                self.word().is_quoted = true;
                self.open(Frame::Backticks);
            }
            '#' if self.commands().current.is_none() => return self.comment(),
            '(' => {
                if self.is_next('(') {
                    self.unsure = Some("`((…))`");
                }
                self.end_command()?;
                self.open(Frame::Commands(Commands::default()));
            }
            ')' => {
                self.end_command()?;
                return self.pop();
            }
            '<' | '>' => return self.redirection(c),
            _ => return self.literal(Symbol::Char(c)),
        }
        Ok(())
    }

    /// Values in a comment do nothing, and so they need no quotes.
    fn comment(&mut self) -> Result<(), Refusal> {
        while let Some(symbol) = self.peek() {
            if symbol == Symbol::Char('\n') {
                break;
            }
            self.next();
            if let Symbol::Value(index) = symbol {
                let place = Quoting::Comment;
                self.chunks.push(Chunk::Value { index, place });
            }
        }
        Ok(())
    }

    fn end_word(&mut self) {
        let is_substituted = self
            .frames
            .iter()
            .any(|frame| matches!(frame, Frame::Commands(commands) if commands.is_substitution));
        let commands = self.commands();
        let Some(word) = commands.current.take() else {
            return;
        };
        match commands.target.take() {
            Some(Target::File) => return,
            Some(Target::Text) => {
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
    fn end_piped(&mut self) -> Result<(), Refusal> {
        self.end_word();
        let commands = self.commands();
        let value = commands.words.iter().find_map(Word::first_value);
        let value = commands.piped.or(value);
        self.end_command()?;
        self.commands().piped = value;
        Ok(())
    }

    fn end_command(&mut self) -> Result<(), Refusal> {
        self.end_word();
        let commands = self.commands();
        commands.target = None;
        let words = std::mem::take(&mut commands.words);
        let piped = commands.piped.take();
        let value = piped.or_else(|| words.iter().find_map(Word::first_value));
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
            Ok(()) => Ok(()),
            Err(words::Danger { value, what, hint }) => self.refuse(value, what, hint),
        }
    }

    fn finish(mut self) -> Result<Vec<Chunk>, Refusal> {
        self.end_command()?;
        let last = self.sources.len().checked_sub(1);
        if let (Some(last), true) = (last, !self.frames.is_empty()) {
            let what = "is in a command line that does not end: a quote or a bracket is open";
            return self.refuse(last, what, "close the quote or the bracket");
        }
        Ok(self.chunks)
    }
}
