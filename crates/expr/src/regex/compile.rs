//! Pattern text → instructions, by way of `oxc`'s syntax tree.

use oxc_allocator::Allocator;
use oxc_regular_expression::ast::{
    Alternative, BoundaryAssertionKind, CapturingGroup, Disjunction, IgnoreGroup,
    LookAroundAssertion, LookAroundAssertionKind, Modifier, Quantifier, Term,
};
use oxc_regular_expression::{LiteralParser, Options};
use oxc_span::{GetSpan, Span};

use super::class::{self, UnicodeProperties, UnsupportedPattern};
use super::program::{ReadDirection, RegexAtom, RegexOp, RegexProgram, first_of};
use super::set::{CaseFolding, CharRanges, CharSet};

/// The flags that change what a pattern means.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternFlags {
    pub(super) ignore_case: bool,
    pub(super) multiline: bool,
    pub(super) dot_all: bool,
    pub(super) unicode: bool,
}

/// Compiles a pattern; the error is a sentence that says why the pattern cannot be used.
pub(super) fn compile(
    source: &str,
    flags: &str,
    meaning: PatternFlags,
) -> Result<RegexProgram, String> {
    let allocator = Allocator::default();
    let pattern = LiteralParser::new(&allocator, source, Some(flags), Options::default())
        .parse()
        .map_err(|error| worded(&error.message))?;
    let mut groups = CaptureGroups::default();
    groups.collect(&pattern.body);
    let mut compiler = RegexCompiler {
        ops: Vec::new(),
        sets: Vec::new(),
        slots: (groups.starts.len() + 1) * 2,
        groups,
        properties: UnicodeProperties::default(),
        meaning,
        way: ReadDirection::Forward,
    };
    compiler.push(RegexOp::Save(0));
    compiler
        .disjunction(&pattern.body)
        .map_err(|UnsupportedPattern(what)| what)?;
    compiler.push(RegexOp::Save(1));
    compiler.push(RegexOp::Accept);
    let anchored = compiler.is_anchored(&pattern.body);
    Ok(RegexProgram {
        first: first_of(&compiler.ops, &compiler.sets),
        ops: compiler.ops.into(),
        sets: compiler.sets.into(),
        slots: compiler.slots,
        groups: compiler.groups.starts.len() + 1,
        names: compiler.groups.names.into(),
        unicode: meaning.unicode,
        anchored,
    })
}

/// Words the parser's error as JavaScript programmers know it.
fn worded(message: &str) -> String {
    let message = message.trim_start_matches("Invalid regular expression: ");
    let known = [
        (
            "Unterminated character class",
            "Unterminated character class",
        ),
        ("Unterminated", "Unterminated group"),
        ("Lone quantifier", "Nothing to repeat"),
        ("Invalid braced quantifier", "Nothing to repeat"),
        ("Character class", "Range out of order in character class"),
        (
            "Numbers out of order",
            "numbers out of order in {} quantifier",
        ),
        ("Duplicated capturing", "Duplicate capture group name"),
        (
            "Invalid named reference",
            "Invalid named capture referenced",
        ),
        ("Invalid unicode property", "Invalid property name"),
        ("Invalid extended atom escape", "\\ at end of pattern"),
        ("Could not parse", "Unmatched ')'"),
    ];
    let known = known.iter().find(|(start, _)| message.starts_with(start));
    known.map_or(message, |(_, words)| words).to_owned()
}

/// The capturing groups by where they start, which is the order of their numbers.
#[derive(Default)]
struct CaptureGroups {
    starts: Vec<u32>,
    names: Vec<(Box<str>, usize)>,
}

impl CaptureGroups {
    fn collect(&mut self, disjunction: &Disjunction<'_>) {
        for term in disjunction
            .body
            .iter()
            .flat_map(|alternative| &alternative.body)
        {
            self.collect_term(term);
        }
    }

    fn collect_term(&mut self, term: &Term<'_>) {
        match term {
            Term::CapturingGroup(group) => {
                self.starts.push(group.span.start);
                if let Some(name) = &group.name {
                    self.names.push((name.as_str().into(), self.starts.len()));
                }
                self.collect(&group.body);
            }
            Term::IgnoreGroup(group) => self.collect(&group.body),
            Term::LookAroundAssertion(look) => self.collect(&look.body),
            Term::Quantifier(quantifier) => self.collect_term(&quantifier.body),
            _ => {}
        }
    }

    /// Returns the numbers of the groups inside a part of the pattern: first, and one past the
    /// last.
    fn within(&self, span: Span) -> (u32, u32) {
        let first = self.starts.partition_point(|start| *start < span.start);
        let end = self.starts.partition_point(|start| *start < span.end);
        (first as u32 + 1, end as u32 + 1)
    }

    fn number(&self, group: &CapturingGroup<'_>) -> u32 {
        self.starts
            .partition_point(|start| *start < group.span.start) as u32
            + 1
    }
}

struct RegexCompiler {
    ops: Vec<RegexOp>,
    sets: Vec<CharSet>,
    slots: usize,
    groups: CaptureGroups,
    properties: UnicodeProperties,
    meaning: PatternFlags,
    way: ReadDirection,
}

impl RegexCompiler {
    fn push(&mut self, op: RegexOp) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    fn register(&mut self) -> u32 {
        self.slots += 1;
        self.slots as u32 - 1
    }

    fn case(&self) -> CaseFolding {
        match (self.meaning.ignore_case, self.meaning.unicode) {
            (false, _) => CaseFolding::Sensitive,
            (true, false) => CaseFolding::Upper,
            (true, true) => CaseFolding::Folded,
        }
    }

    fn atom(&mut self, set: CharSet) -> RegexAtom {
        match set.single() {
            Some(c) => RegexAtom::Char(c),
            None => RegexAtom::Set(self.set(set)),
        }
    }

    fn set(&mut self, set: CharSet) -> u32 {
        if let Some(known) = self.sets.iter().position(|known| *known == set) {
            return known as u32;
        }
        self.sets.push(set);
        self.sets.len() as u32 - 1
    }

    fn is_anchored(&self, body: &Disjunction<'_>) -> bool {
        let [only] = &body.body[..] else { return false };
        !self.meaning.multiline
            && matches!(only.body.first(), Some(Term::BoundaryAssertion(assertion))
                if assertion.kind == BoundaryAssertionKind::Start)
    }

    fn disjunction(&mut self, disjunction: &Disjunction<'_>) -> Result<(), UnsupportedPattern> {
        let mut ends = Vec::new();
        let last = disjunction.body.len().saturating_sub(1);
        for (index, alternative) in disjunction.body.iter().enumerate() {
            if index == last {
                self.alternative(alternative)?;
                break;
            }
            let first = self.here() + 1;
            let split = self.push(RegexOp::Split { first, second: 0 });
            self.alternative(alternative)?;
            ends.push(self.push(RegexOp::Jump(0)));
            let second = self.here();
            self.ops[split] = RegexOp::Split { first, second };
        }
        let end = self.here();
        for jump in ends {
            self.ops[jump] = RegexOp::Jump(end);
        }
        Ok(())
    }

    fn alternative(&mut self, alternative: &Alternative<'_>) -> Result<(), UnsupportedPattern> {
        match self.way {
            ReadDirection::Forward => alternative.body.iter().try_for_each(|term| self.term(term)),
            ReadDirection::Back => alternative
                .body
                .iter()
                .rev()
                .try_for_each(|term| self.term(term)),
        }
    }

    fn term(&mut self, term: &Term<'_>) -> Result<(), UnsupportedPattern> {
        if let Some(set) = self.single_character(term)? {
            let atom = self.atom(set);
            self.push(RegexOp::One {
                atom,
                way: self.way,
            });
            return Ok(());
        }
        match term {
            Term::BoundaryAssertion(assertion) => self.boundary(assertion.kind),
            Term::LookAroundAssertion(look) => return self.look(look),
            Term::Quantifier(quantifier) => return self.quantifier(quantifier),
            Term::CapturingGroup(group) => return self.capture(group),
            Term::IgnoreGroup(group) => return self.group(group),
            Term::IndexedReference(reference) => self.reference([reference.index].into()),
            Term::NamedReference(reference) => {
                let named = self.groups.names.iter();
                let groups = named
                    .filter(|(name, _)| **name == *reference.name.as_str())
                    .map(|(_, number)| *number as u32)
                    .collect();
                self.reference(groups);
            }
            Term::Character(_)
            | Term::Dot(_)
            | Term::CharacterClassEscape(_)
            | Term::UnicodePropertyEscape(_)
            | Term::CharacterClass(_) => {}
        }
        Ok(())
    }

    /// Returns the set of a term that always matches exactly one character.
    fn single_character(&mut self, term: &Term<'_>) -> Result<Option<CharSet>, UnsupportedPattern> {
        let case = self.case();
        let ranges = match term {
            Term::Character(character) => {
                CharRanges::of(&[(character.value, character.value)]).folded(case)
            }
            Term::Dot(_) if self.meaning.dot_all => CharRanges::default().inverted(),
            Term::Dot(_) => {
                CharRanges::of(&[(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)]).inverted()
            }
            Term::CharacterClassEscape(escape) => class::escape(escape.kind, case),
            Term::UnicodePropertyEscape(property) => {
                class::property(property, case, &mut self.properties)?
            }
            Term::CharacterClass(class) => class::class(class, case, &mut self.properties)?,
            _ => return Ok(None),
        };
        Ok(Some(ranges.finish()))
    }

    fn boundary(&mut self, kind: BoundaryAssertionKind) {
        let op = match (kind, self.meaning.multiline) {
            (BoundaryAssertionKind::Start, false) => RegexOp::TextStart,
            (BoundaryAssertionKind::Start, true) => RegexOp::LineStart,
            (BoundaryAssertionKind::End, false) => RegexOp::TextEnd,
            (BoundaryAssertionKind::End, true) => RegexOp::LineEnd,
            (kind, _) => {
                let mut word = super::set::word();
                if self.case() == CaseFolding::Folded {
                    word = word.folded(CaseFolding::Folded);
                }
                let set = self.set(word.finish());
                RegexOp::Word {
                    boundary: kind == BoundaryAssertionKind::Boundary,
                    set,
                }
            }
        };
        self.push(op);
    }

    fn reference(&mut self, groups: Box<[u32]>) {
        let ignore_case = self.meaning.ignore_case;
        self.push(RegexOp::Reference {
            groups,
            way: self.way,
            ignore_case,
        });
    }

    fn look(&mut self, look: &LookAroundAssertion<'_>) -> Result<(), UnsupportedPattern> {
        let (way, negative) = match look.kind {
            LookAroundAssertionKind::Lookahead => (ReadDirection::Forward, false),
            LookAroundAssertionKind::NegativeLookahead => (ReadDirection::Forward, true),
            LookAroundAssertionKind::Lookbehind => (ReadDirection::Back, false),
            LookAroundAssertionKind::NegativeLookbehind => (ReadDirection::Back, true),
        };
        let outer = std::mem::replace(&mut self.way, way);
        let at = self.push(RegexOp::Look { negative, end: 0 });
        self.disjunction(&look.body)?;
        self.push(RegexOp::Accept);
        self.ops[at] = RegexOp::Look {
            negative,
            end: self.here(),
        };
        self.way = outer;
        Ok(())
    }

    fn capture(&mut self, group: &CapturingGroup<'_>) -> Result<(), UnsupportedPattern> {
        let number = self.groups.number(group);
        let (before, after) = match self.way {
            ReadDirection::Forward => (number * 2, number * 2 + 1),
            ReadDirection::Back => (number * 2 + 1, number * 2),
        };
        self.push(RegexOp::Save(before));
        self.disjunction(&group.body)?;
        self.push(RegexOp::Save(after));
        Ok(())
    }

    fn group(&mut self, group: &IgnoreGroup<'_>) -> Result<(), UnsupportedPattern> {
        let outer = self.meaning;
        if let Some(modifiers) = &group.modifiers {
            let set = |flag: &mut bool, modifier| {
                *flag = (*flag || modifiers.enabling.contains(modifier))
                    && !modifiers.disabling.contains(modifier);
            };
            set(&mut self.meaning.ignore_case, Modifier::I);
            set(&mut self.meaning.multiline, Modifier::M);
            set(&mut self.meaning.dot_all, Modifier::S);
        }
        self.disjunction(&group.body)?;
        self.meaning = outer;
        Ok(())
    }

    fn quantifier(&mut self, quantifier: &Quantifier<'_>) -> Result<(), UnsupportedPattern> {
        let min = u32::try_from(quantifier.min).unwrap_or(u32::MAX);
        let max = quantifier
            .max
            .map_or(u32::MAX, |max| u32::try_from(max).unwrap_or(u32::MAX));
        if max == 0 {
            return Ok(());
        }
        if let Some(set) = self.single_character(&quantifier.body)? {
            let atom = self.atom(set);
            self.push(RegexOp::Run {
                atom,
                way: self.way,
                min,
                max,
                greedy: quantifier.greedy,
            });
            return Ok(());
        }
        let greedy = quantifier.greedy;
        let groups = self.groups.within(quantifier.body.span());
        let start = self.register();
        if min == 0 && (max == 1 || max == u32::MAX) {
            return self.plain_loop(quantifier, start, groups);
        }
        let counter = self.register();
        self.push(RegexOp::Zero(counter));
        let head = self.push(RegexOp::Head {
            counter,
            min,
            max,
            greedy,
            exit: 0,
        });
        self.push(RegexOp::Enter { start, groups });
        self.term(&quantifier.body)?;
        self.push(RegexOp::Progress {
            start,
            counter: Some(counter),
            min,
        });
        self.push(RegexOp::Next {
            counter,
            head: head as u32,
        });
        self.ops[head] = RegexOp::Head {
            counter,
            min,
            max,
            greedy,
            exit: self.here(),
        };
        Ok(())
    }

    /// Compiles `x*` and `x?`, which need no counter.
    fn plain_loop(
        &mut self,
        quantifier: &Quantifier<'_>,
        start: u32,
        groups: (u32, u32),
    ) -> Result<(), UnsupportedPattern> {
        let split = self.push(RegexOp::Split {
            first: 0,
            second: 0,
        });
        self.push(RegexOp::Enter { start, groups });
        self.term(&quantifier.body)?;
        self.push(RegexOp::Progress {
            start,
            counter: None,
            min: 0,
        });
        if quantifier.max.is_none() {
            self.push(RegexOp::Jump(split as u32));
        }
        let (enter, exit) = (split as u32 + 1, self.here());
        self.ops[split] = match quantifier.greedy {
            true => RegexOp::Split {
                first: enter,
                second: exit,
            },
            false => RegexOp::Split {
                first: exit,
                second: enter,
            },
        };
        Ok(())
    }
}
