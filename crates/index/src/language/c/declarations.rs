//! The declarations of a C or C++ file, outside of bodies.

use super::super::ExportKind;
use super::super::facts_builder::FactsBuilder;
use super::super::tokens::{SourceTokenKind, SourceTokens};
use super::CFileKind;
use super::words::{is_attribute, is_keyword, is_of_class, is_shouted, starts_declarator};

/// The longest name with its namespaces that is spelled out.
pub(super) const PREFIX_BYTES_MAX: usize = 1024;

/// The most tokens between a bracket and the name of a pointer.
const POINTED_TOKENS_MAX: usize = 16;
/// The most tokens in a template's parameter list: longer ones are comparisons.
const ANGLE_TOKENS_MAX: usize = 512;

pub(super) fn read<'a>(tokens: &SourceTokens<'a>, role: CFileKind, gather: &mut FactsBuilder<'a>) {
    let mut walk = DeclarationReader {
        tokens,
        gather,
        role,
        frames: Vec::new(),
        prefix: String::new(),
    };
    let mut at = 0;
    while at < tokens.len() {
        while let Some((_, prefix)) = walk.frames.pop_if(|(close, _)| at >= *close) {
            walk.prefix.truncate(prefix);
        }
        at = walk.step(at).max(at + 1);
    }
}

pub(super) struct DeclarationReader<'w, 'a> {
    pub(super) tokens: &'w SourceTokens<'a>,
    gather: &'w mut FactsBuilder<'a>,
    role: CFileKind,
    /// Namespaces and blocks of `extern "C"`: the closing bracket, and how long the prefix was.
    frames: Vec<(usize, usize)>,
    prefix: String,
}

/// The parts of the current declaration seen so far.
#[derive(Default)]
pub(super) struct DeclarationState {
    is_static: bool,
    is_extern: bool,
    is_const: bool,
    is_typedef: bool,
    /// True if a type or a specifier was seen: a declaration without one is a macro.
    pub(super) has_type: bool,
    /// The name with its place, if it is a function.
    function: Option<(String, usize)>,
    /// Number of words after the function's parameters.
    trailing: usize,
    /// The last plain name, which is a variable's if the declaration ends after it.
    pub(super) last: Option<(String, usize)>,
}

impl<'a> DeclarationReader<'_, 'a> {
    fn step(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        match tokens.word(at) {
            "" if tokens.mark(at) == b'[' => tokens.after(at),
            "" if tokens.mark(at) != b'(' && !tokens.colons(at) => at + 1,
            "namespace" => self.namespace(at + 1),
            "inline" if tokens.word(at + 1) == "namespace" => {
                // Its names are those of the namespace around.
                match (at + 2..at + 8).find(|open| tokens.mark(*open) == b'{') {
                    Some(open) => self.enter(open),
                    None => at + 2,
                }
            }
            "extern" if tokens.kind(at + 1) == Some(SourceTokenKind::Text) => {
                if tokens.mark(at + 2) == b'{' {
                    self.enter(at + 2)
                } else {
                    at + 2
                }
            }
            "template" => self.after_angles(at + 1).unwrap_or(at + 1),
            "using" => self.using(at + 1),
            "concept" => {
                self.take(tokens.word(at + 1), ExportKind::Type, at + 1);
                self.past_semicolon(at)
            }
            _ => self.declaration(at),
        }
    }

    fn enter(&mut self, open: usize) -> usize {
        let close = self.tokens.close(open).unwrap_or(self.tokens.len());
        self.frames.push((close, self.prefix.len()));
        open + 1
    }

    fn namespace(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let mut at = at;
        while tokens.mark(at) == b'[' {
            at = tokens.after(at);
        }
        let mut names = Vec::new();
        while !tokens.word(at).is_empty() || tokens.mark(at) == b':' {
            if !matches!(tokens.word(at), "" | "inline") {
                names.push(tokens.word(at));
            }
            at += 1;
        }
        match tokens.mark(at) {
            // An unnamed namespace is private to this file.
            b'{' if names.is_empty() => tokens.after(at),
            b'{' => {
                let next = self.enter(at);
                for name in names {
                    if self.prefix.len() < PREFIX_BYTES_MAX {
                        self.prefix.push_str(name);
                        self.prefix.push_str("::");
                    }
                }
                next
            }
            _ => self.past_semicolon(at),
        }
    }

    fn using(&mut self, at: usize) -> usize {
        if self.tokens.mark(at + 1) == b'=' {
            self.take(self.tokens.word(at), ExportKind::Type, at);
        }
        self.past_semicolon(at)
    }

    fn past_semicolon(&mut self, at: usize) -> usize {
        let mut at = at;
        while at < self.tokens.len() && !matches!(self.tokens.mark(at), b';' | b'}') {
            at = self.tokens.after(at);
        }
        at + usize::from(self.tokens.mark(at) == b';')
    }

    /// Returns the place after `<…>`, if there is one here.
    pub(super) fn after_angles(&self, at: usize) -> Option<usize> {
        let tokens = self.tokens;
        if tokens.mark(at) != b'<' {
            return None;
        }
        let mut depth = 0_usize;
        let mut at = at;
        for _ in 0..ANGLE_TOKENS_MAX {
            match tokens.mark(at) {
                b'<' => depth += 1,
                b'>' if at > 0 && tokens.mark(at - 1) == b'-' => {}
                b'>' => depth -= 1,
                b';' | b'}' => return None,
                _ if at >= tokens.len() => return None,
                _ => {}
            }
            at = tokens.after(at);
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// Reads one declaration; gives the place after its `;` or its body.
    fn declaration(&mut self, from: usize) -> usize {
        let tokens = self.tokens;
        let mut seen = DeclarationState::default();
        let mut at = from;
        while at < tokens.len() {
            match tokens.mark(at) {
                0 => at = self.word(at, &mut seen),
                // Before 1989 the types of the parameters were here: `int f(a) int a; {…}`.
                b';' if self.role == CFileKind::C && seen.trailing > 1 => {
                    seen.trailing = 0;
                    at += 1;
                }
                b';' => {
                    self.end(&mut seen, DeclarationEnd::Declared);
                    return at + 1;
                }
                b'{' if seen.function.is_some() => {
                    self.end(&mut seen, DeclarationEnd::Defined);
                    return tokens.after(at);
                }
                b'}' => return at,
                b'{' => {
                    self.end(&mut seen, DeclarationEnd::Defined);
                    at = tokens.after(at);
                }
                b',' => {
                    self.end(&mut seen, DeclarationEnd::Defined);
                    at += 1;
                }
                b'=' => at = self.initial(at, &mut seen),
                b'(' => at = self.parenthesis(at, &mut seen),
                b'*' => {
                    // The target of the pointer is constant, not the pointer.
                    seen.is_const = false;
                    at += 1;
                }
                b':' if tokens.colons(at) => at += 2,
                b':' if seen.function.is_some() => at = self.initializers(at + 1),
                _ => at = tokens.after(at),
            }
        }
        self.end(&mut seen, DeclarationEnd::Declared);
        at
    }

    /// `= …`: a value, or `= default`, `= delete`, `= 0`.
    fn initial(&mut self, at: usize, seen: &mut DeclarationState) -> usize {
        self.end(seen, DeclarationEnd::Defined);
        let mut at = at + 1;
        while at < self.tokens.len() && !matches!(self.tokens.mark(at), b';' | b',' | b'}') {
            at = self.tokens.after(at);
        }
        at
    }

    /// Past the list between a constructor's head and its body.
    fn initializers(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let mut at = at;
        while at < tokens.len() {
            match tokens.mark(at) {
                b'(' => at = tokens.after(at),
                // A member's braces follow its name; the body follows a bracket.
                b'{' if !tokens.word(at - 1).is_empty() || tokens.mark(at - 1) == b'>' => {
                    at = tokens.after(at);
                }
                b'{' | b';' | b'}' => return at,
                _ => at += 1,
            }
        }
        at
    }

    fn word(&mut self, at: usize, seen: &mut DeclarationState) -> usize {
        let tokens = self.tokens;
        let next = at + 1;
        match tokens.word(at) {
            "" => return next,
            "static" => seen.is_static = true,
            "extern" => seen.is_extern = true,
            "const" | "constexpr" => seen.is_const = true,
            "typedef" => seen.is_typedef = true,
            "struct" | "class" | "union" | "enum" => return self.tag(at, seen),
            "template" => return self.after_angles(next).unwrap_or(next),
            "operator" => return self.operator(next, seen),
            word if is_attribute(word) && tokens.mark(next) == b'(' => return tokens.after(next),
            _ => return self.name(at, seen),
        }
        seen.has_type = true;
        next
    }

    /// A name with its qualifiers: a type, a function's or a variable's name.
    fn name(&mut self, at: usize, seen: &mut DeclarationState) -> usize {
        let tokens = self.tokens;
        let mut full = tokens.word(at).to_owned();
        let mut last = at;
        let mut end = at + 1;
        loop {
            if let Some(after) = self.after_angles(end) {
                end = after;
            }
            if !tokens.colons(end) {
                break;
            }
            end += 2;
            if tokens.word(end) == "operator" {
                return self.operator(end + 1, seen);
            }
            let tilde = usize::from(tokens.mark(end) == b'~');
            let word = tokens.word(end + tilde);
            if word.is_empty() || full.len() > PREFIX_BYTES_MAX {
                break;
            }
            full.push_str(if tilde == 1 { "::~" } else { "::" });
            full.push_str(word);
            last = end + tilde;
            end = last + 1;
        }
        if tokens.mark(end) == b'(' && seen.function.is_none() {
            return self.called(full, last, end, seen);
        }
        if seen.function.is_none() {
            seen.has_type |= seen.last.is_some();
            seen.last = Some((full, last));
        } else {
            seen.trailing += 1;
        }
        end
    }

    /// A name before a bracket: a function, or a macro in front of a declaration.
    fn called(
        &mut self,
        full: String,
        last: usize,
        open: usize,
        seen: &mut DeclarationState,
    ) -> usize {
        let tokens = self.tokens;
        let after = tokens.after(open);
        if tokens.close(open).is_none() {
            *seen = DeclarationState::default();
            return after;
        }
        if is_keyword(&full) || self.pointed(open).is_some() {
            seen.has_type = true;
            return open;
        }
        // `int f OF((int a));`, from when parameters had to be hidden.
        let is_doubled = tokens.mark(open + 1) == b'(' && tokens.after(open + 1) + 1 == after;
        if is_doubled && is_shouted(&full) && seen.last.is_some() {
            seen.function = seen.last.take();
            return after;
        }
        let has_type = seen.has_type || seen.last.is_some();
        let goes_on = starts_declarator(tokens, after);
        let is_macro = goes_on && (is_shouted(&full) || !has_type || seen.is_typedef);
        let is_qualified = full.contains("::");
        let is_body = tokens.mark(after) == b'{' && !is_shouted(&full);
        if is_macro {
            seen.has_type = true;
        } else if has_type || is_qualified || is_body {
            seen.function = Some((full, last));
        }
        after
    }

    /// Reads `(*name)`, `(name)(…)`, or brackets without a declared name.
    fn parenthesis(&mut self, at: usize, seen: &mut DeclarationState) -> usize {
        let tokens = self.tokens;
        let after = tokens.after(at);
        if seen.function.is_some() {
            return after;
        }
        let is_plain = !tokens.word(at + 1).is_empty()
            && tokens.mark(at + 2) == b')'
            && tokens.mark(after) == b'(';
        if let Some(name) = self.pointed(at) {
            let found = Some((tokens.word(name).to_owned(), name));
            seen.has_type = true;
            // `int (*name(int))(int)` is a function that gives one.
            if tokens.mark(name + 1) == b'(' {
                seen.function = found;
            } else {
                seen.last = found;
            }
        } else if is_plain && (seen.has_type || seen.last.is_some()) {
            seen.function = Some((tokens.word(at + 1).to_owned(), at + 1));
        }
        if tokens.mark(after) == b'(' {
            tokens.after(after)
        } else {
            after
        }
    }

    /// Returns the name in `(*name)`, `(CALL *const name)` or `(Class::*name)`. Parameters do not
    /// match: they begin with a type, and nothing follows them.
    fn pointed(&self, open: usize) -> Option<usize> {
        let tokens = self.tokens;
        let close = tokens.close(open)?;
        let is_bare = matches!(tokens.mark(open + 1), b'*' | b'^' | b'&');
        if !is_bare && !matches!(tokens.mark(close + 1), b'(' | b'[') {
            return None;
        }
        let limit = close.min(open + POINTED_TOKENS_MAX);
        let star = (open + 1..limit).find(|at| matches!(tokens.mark(*at), b'*' | b'^' | b'&'))?;
        (star + 1..limit).find(|at| {
            !matches!(
                tokens.word(*at),
                "" | "const" | "volatile" | "restrict" | "__restrict"
            )
        })
    }

    /// Skips `operator==` and its kin: no import names these functions.
    fn operator(&mut self, at: usize, seen: &mut DeclarationState) -> usize {
        let tokens = self.tokens;
        let mut at = at;
        if tokens.mark(at) == b'(' && tokens.mark(at + 1) == b')' {
            at += 2;
        }
        while at < tokens.len() && !matches!(tokens.mark(at), b'(' | b';' | b'{' | b'}') {
            at += 1;
        }
        seen.function = Some((String::new(), at));
        if tokens.mark(at) == b'(' {
            tokens.after(at)
        } else {
            at
        }
    }

    /// Exports the finished declaration, and resets it.
    fn end(&mut self, seen: &mut DeclarationState, ending: DeclarationEnd) {
        let last = seen.last.take();
        let is_header = self.role == CFileKind::Header;
        let is_own = seen.is_static && !is_header;
        if let Some((name, at)) = seen.function.take() {
            // `Type value(…)` looks the same, so in a source file only a body counts.
            if seen.is_typedef {
                self.take(&name, ExportKind::Type, at);
            } else if !is_own
                && (is_header || ending == DeclarationEnd::Defined)
                && !is_of_class(&name)
            {
                self.take(&name, ExportKind::Function, at);
            }
            return;
        }
        let Some((name, at)) = last.filter(|_| seen.has_type) else {
            return;
        };
        if seen.is_typedef {
            self.take(&name, ExportKind::Type, at);
            return;
        }
        // In a source file `extern` without a value means another's.
        let is_constant = self.role == CFileKind::Cpp && seen.is_const && !seen.is_extern;
        let is_elsewhere = seen.is_extern && ending == DeclarationEnd::Declared;
        if !is_own && (is_header || !is_elsewhere && !is_constant) {
            self.take(&name, ExportKind::Value, at);
        }
    }

    pub(super) fn take(&mut self, name: &str, kind: ExportKind, at: usize) {
        if name.is_empty() || is_keyword(name) {
            return;
        }
        let offset = self.offset(at);
        if self.prefix.is_empty() {
            self.gather.export(name, kind, offset);
        } else {
            let full = format!("{}{name}", self.prefix);
            self.gather.export(&full, kind, offset);
        }
    }

    fn offset(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |token| token.start as usize)
    }
}

/// The way a declaration ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeclarationEnd {
    /// With a semicolon alone.
    Declared,
    /// With a body or a value.
    Defined,
}
