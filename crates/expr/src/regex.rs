//! Regular expressions with JavaScript's syntax and meaning, and a bounded running time.
//!
//! `oxc` parses the pattern, `compile` turns it into a small program and `matcher` runs that over
//! UTF-16 code units, as JavaScript does, so captures, lookbehinds, backreferences and indices are
//! JavaScript's own. Every step is counted: one search may take [`STEPS_MAX`] of them, and all of
//! them are paid for with the evaluation's fuel, so no pattern can hang an evaluation. (Engines
//! that only limit how often they backtrack were tried: `(?=.*z)a` on 40 kB took them seconds.)
//!
//! Not supported, with an error that says so: strings in classes of the `v` flag (`\q{ab}`,
//! `\p{RGI_Emoji}`).

mod class;
mod compile;
mod matcher;
mod program;
mod set;

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use self::compile::PatternFlags;
use self::matcher::{MatchBounds, MatchLimit, MatcherMemory, NONE};
use self::program::RegexProgram;
use crate::context::EvalContext;
use crate::error::Error;

/// Bytes in one pattern.
const PATTERN_BYTES_MAX: usize = 32 << 10;
/// Brackets open at one point of a pattern.
const PATTERN_NESTING_MAX: usize = 250;
/// Steps of one search.
const STEPS_MAX: u64 = 10_000_000;
/// Choices a search may keep open.
const STACK_MAX: usize = 4_000_000;
/// Steps that one unit of fuel pays for.
const STEPS_PER_FUEL_UNIT: u64 = 4;
/// Stack for parsing and compiling a pattern nested as deeply as allowed.
const STACK_BYTES: usize = 4 << 20;

/// A compiled regular expression and where its next search starts.
pub struct JsRegex {
    pub(crate) source: Rc<str>,
    pub(crate) flags: Rc<str>,
    /// In UTF-16 code units, as JavaScript counts.
    pub(crate) last_index: Cell<usize>,
    program: Rc<RegexProgram>,
    steps_max: u64,
}

impl JsRegex {
    /// Compiles a pattern; `source` is the text between the slashes.
    pub(crate) fn new(source: &str, flags: &str) -> Result<JsRegex, Error> {
        let invalid = |why: &str| {
            Error::runtime(format!(
                "Invalid regular expression: /{source}/{flags}: {why}"
            ))
        };
        let mut sorted: Vec<char> = flags.chars().collect();
        sorted.sort_unstable();
        let clash = sorted.windows(2).any(|pair| pair[0] == pair[1])
            || flags.contains('u') && flags.contains('v');
        if clash || !flags.chars().all(|flag| "dgimsuvy".contains(flag)) {
            return Err(Error::runtime(format!(
                "Invalid flags supplied to RegExp constructor '{flags}'"
            )));
        }
        check_size(source)?;
        let meaning = PatternFlags {
            ignore_case: flags.contains('i'),
            multiline: flags.contains('m'),
            dot_all: flags.contains('s'),
            unicode: flags.contains(['u', 'v']),
        };
        let program = stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || {
            compile::compile(source, flags, meaning)
        })
        .map_err(|why| invalid(&why))?;
        Ok(JsRegex {
            source: written(source),
            flags: sorted.into_iter().collect::<String>().into(),
            last_index: Cell::new(0),
            program: Rc::new(program),
            steps_max: STEPS_MAX,
        })
    }

    /// Returns the same expression with a `lastIndex` of its own: a literal makes one at each
    /// evaluation.
    pub(crate) fn fresh(&self) -> JsRegex {
        JsRegex {
            source: self.source.clone(),
            flags: self.flags.clone(),
            last_index: Cell::new(0),
            program: self.program.clone(),
            steps_max: self.steps_max,
        }
    }

    pub(crate) fn has_flag(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// Groups, the whole match included.
    pub(crate) fn groups(&self) -> usize {
        self.program.groups
    }

    /// Returns the named groups and their numbers.
    pub(crate) fn names(&self) -> &[(Box<str>, usize)] {
        &self.program.names
    }

    /// Returns true if a character is a code point rather than a UTF-16 code unit.
    pub(crate) fn is_unicode(&self) -> bool {
        self.program.unicode
    }

    /// Prepares to search `text`, once or many times.
    pub(crate) fn search<'t>(&'t self, text: &'t str) -> RegexSearch<'t> {
        let units = if text.is_ascii() {
            SubjectText::Ascii(text.as_bytes())
        } else {
            SubjectText::Wide(text.encode_utf16().collect())
        };
        RegexSearch {
            regex: self,
            text,
            units,
            memory: MatcherMemory::default(),
        }
    }
}

impl fmt::Debug for JsRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/{}", self.source, self.flags)
    }
}

/// A text being searched, and the last match found in it. Positions are UTF-16 code units.
pub(crate) struct RegexSearch<'t> {
    regex: &'t JsRegex,
    text: &'t str,
    units: SubjectText<'t>,
    memory: MatcherMemory,
}

enum SubjectText<'t> {
    Ascii(&'t [u8]),
    Wide(Vec<u16>),
}

impl RegexSearch<'_> {
    pub(crate) fn len(&self) -> usize {
        match &self.units {
            SubjectText::Ascii(bytes) => bytes.len(),
            SubjectText::Wide(units) => units.len(),
        }
    }

    /// Looks for a match at or after `from` (with the `y` flag or `sticky`, only there).
    pub(crate) fn find(
        &mut self,
        cx: &mut EvalContext<'_>,
        from: usize,
        sticky: bool,
    ) -> Result<bool, Error> {
        let Ok(end) = u32::try_from(self.len()) else {
            return Err(Error::limit("a text over 4 GiB cannot be searched"));
        };
        let from = u32::try_from(from).unwrap_or(NONE);
        if from > end {
            return Ok(false);
        }
        let program = &self.regex.program;
        let bounds = MatchBounds {
            steps_max: self.regex.steps_max,
            stack_max: STACK_MAX,
        };
        let memory = &mut self.memory;
        let how = (from, sticky);
        let found = match &self.units {
            SubjectText::Ascii(bytes) => matcher::search(program, *bytes, memory, bounds, how),
            SubjectText::Wide(units) => matcher::search(program, &units[..], memory, bounds, how),
        };
        cx.charge(self.memory.steps / STEPS_PER_FUEL_UNIT + 1)?;
        found.map_err(|exhausted| self.given_up(exhausted))
    }

    /// Returns the range of a group of the last match; group 0 is the whole match.
    pub(crate) fn group(&self, group: usize) -> Option<Range<usize>> {
        let start = *self.memory.slots.get(group * 2)?;
        let end = *self.memory.slots.get(group * 2 + 1)?;
        (start != NONE && end != NONE).then_some(start as usize..end as usize)
    }

    /// Writes a part of the text. Half of a surrogate pair reads as U+FFFD.
    pub(crate) fn write(&self, range: Range<usize>, out: &mut String) {
        match &self.units {
            SubjectText::Ascii(_) => out.push_str(&self.text[range]),
            SubjectText::Wide(units) => {
                let decoded = char::decode_utf16(units[range].iter().copied());
                out.extend(decoded.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
            }
        }
    }

    pub(crate) fn part(&self, range: Range<usize>) -> Rc<str> {
        match &self.units {
            SubjectText::Ascii(_) => self.text[range].into(),
            SubjectText::Wide(_) => {
                let mut part = String::new();
                self.write(range, &mut part);
                part.into()
            }
        }
    }

    /// Returns the position one character on, as an empty match moves it.
    pub(crate) fn advance(&self, at: usize) -> usize {
        match &self.units {
            SubjectText::Wide(units)
                if self.regex.is_unicode()
                    && at + 1 < units.len()
                    && (0xD800..0xDC00).contains(&units[at]) =>
            {
                at + 2
            }
            _ => at + 1,
        }
    }

    fn given_up(&self, exhausted: MatchLimit) -> Error {
        let JsRegex {
            source,
            flags,
            steps_max,
            ..
        } = self.regex;
        let limit = match exhausted {
            MatchLimit::Steps => format!("takes more than regex_steps_max = {steps_max} steps"),
            MatchLimit::Stack => format!("keeps more than regex_stack_max = {STACK_MAX} choices"),
        };
        Error::limit(format!(
            "the regular expression /{source}/{flags} {limit}; look for repetitions inside repetitions, such as (a+)+"
        ))
    }
}

/// Returns the pattern as `source` shows it: escaped so that it could be written between slashes.
fn written(source: &str) -> Rc<str> {
    if source.is_empty() {
        return "(?:)".into();
    }
    if !source.contains(['/', '\n', '\r', '\u{2028}', '\u{2029}']) {
        return source.into();
    }
    let mut written = String::with_capacity(source.len() + 4);
    let (mut escaped, mut in_class) = (false, false);
    for c in source.chars() {
        match c {
            '/' if !escaped && !in_class => written.push_str("\\/"),
            '\n' => written.push_str(if escaped { "n" } else { "\\n" }),
            '\r' => written.push_str(if escaped { "r" } else { "\\r" }),
            '\u{2028}' => written.push_str(if escaped { "u2028" } else { "\\u2028" }),
            '\u{2029}' => written.push_str(if escaped { "u2029" } else { "\\u2029" }),
            c => written.push(c),
        }
        match c {
            '[' if !escaped => in_class = true,
            ']' if !escaped => in_class = false,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    written.into()
}

/// Refuses patterns whose parsing could need too much time or stack.
fn check_size(source: &str) -> Result<(), Error> {
    if source.len() > PATTERN_BYTES_MAX {
        return Err(Error::limit(format!(
            "a regular expression of {} bytes is longer than regex_pattern_bytes_max = {PATTERN_BYTES_MAX}",
            source.len()
        )));
    }
    let (mut depth, mut deepest, mut escaped) = (0_usize, 0, false);
    for byte in source.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'(' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if deepest > PATTERN_NESTING_MAX {
        return Err(Error::limit(format!(
            "a regular expression nested {deepest} deep is over regex_pattern_nesting_max = {PATTERN_NESTING_MAX}"
        )));
    }
    Ok(())
}
