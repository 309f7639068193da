//! The compiled form of a pattern: instructions for the matcher.

use super::set::CharSet;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct RegexProgram {
    pub(super) ops: Box<[RegexOp]>,
    pub(super) sets: Box<[CharSet]>,
    /// Capture positions, then the registers of loops.
    pub(super) slots: usize,
    pub(super) groups: usize,
    /// The names of groups with their number, in the order of the pattern.
    pub(super) names: Box<[(Box<str>, usize)]>,
    /// True if a character is a code point (the `u` flag), false if it is a UTF-16 code unit.
    pub(super) unicode: bool,
    /// True if the pattern can only match at the very start.
    pub(super) anchored: bool,
    pub(super) first: Option<FirstChars>,
}

/// The characters a match can begin with, for a pattern that cannot match the empty string.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstChars {
    pub(super) ascii: u128,
    /// True if every non-ASCII character has to be tried.
    pub(super) other: bool,
}

/// Reading direction; backwards inside a lookbehind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadDirection {
    Forward,
    Back,
}

/// A single character to match.
#[derive(Clone, Copy, Debug)]
pub(super) enum RegexAtom {
    Char(u32),
    /// Index into the sets.
    Set(u32),
}

/// An instruction; targets are instruction indices.
#[derive(Debug)]
pub(super) enum RegexOp {
    One {
        atom: RegexAtom,
        way: ReadDirection,
    },
    /// A repeated single character: no captures, nothing empty.
    Run {
        atom: RegexAtom,
        way: ReadDirection,
        min: u32,
        max: u32,
        greedy: bool,
    },
    Jump(u32),
    /// Tries `first`, then `second`.
    Split {
        first: u32,
        second: u32,
    },
    /// Stores the position.
    Save(u32),
    /// Sets a loop's counter to 0.
    Zero(u32),
    /// Decides whether to enter the body that follows or to leave the loop.
    Head {
        counter: u32,
        min: u32,
        max: u32,
        greedy: bool,
        exit: u32,
    },
    /// Begins an iteration: remembers where, and forgets the captures of the one before.
    Enter {
        start: u32,
        groups: (u32, u32),
    },
    /// Refuses an iteration that matched nothing, once `min` of them are done.
    Progress {
        start: u32,
        counter: Option<u32>,
        min: u32,
    },
    /// Counts an iteration and goes back to the head.
    Next {
        counter: u32,
        head: u32,
    },
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    /// `\b` and `\B`; the set is what counts as a word character.
    Word {
        boundary: bool,
        set: u32,
    },
    /// The text of the first of these groups that matched.
    Reference {
        groups: Box<[u32]>,
        way: ReadDirection,
        ignore_case: bool,
    },
    /// A lookaround whose body follows and ends with [`RegexOp::Accept`].
    Look {
        negative: bool,
        end: u32,
    },
    Accept,
}

/// Finds the characters a match can start with: walks the instructions that can come first.
pub(super) fn first_of(ops: &[RegexOp], sets: &[CharSet]) -> Option<FirstChars> {
    let mut first = FirstChars {
        ascii: 0,
        other: false,
    };
    let mut seen = vec![false; ops.len()];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if std::mem::replace(seen.get_mut(at)?, true) {
            continue;
        }
        match &ops[at] {
            RegexOp::One { atom, .. } => first.add(*atom, sets),
            RegexOp::Run { atom, min, .. } => {
                first.add(*atom, sets);
                if *min == 0 {
                    open.push(at + 1);
                }
            }
            RegexOp::Jump(target) => open.push(*target as usize),
            RegexOp::Split { first, second } => open.extend([*first as usize, *second as usize]),
            RegexOp::Head { exit, .. } => open.extend([at + 1, *exit as usize]),
            RegexOp::Next { head, .. } => open.push(*head as usize),
            RegexOp::Look { end, .. } => open.push(*end as usize),
            RegexOp::Reference { .. } | RegexOp::Accept => return None,
            RegexOp::Save(_)
            | RegexOp::Zero(_)
            | RegexOp::Enter { .. }
            | RegexOp::Progress { .. }
            | RegexOp::TextStart
            | RegexOp::TextEnd
            | RegexOp::LineStart
            | RegexOp::LineEnd
            | RegexOp::Word { .. } => open.push(at + 1),
        }
    }
    Some(first)
}

impl FirstChars {
    #[inline]
    pub(super) fn admits(self, unit: u32) -> bool {
        if unit < 128 {
            self.ascii >> unit & 1 == 1
        } else {
            self.other
        }
    }

    fn add(&mut self, atom: RegexAtom, sets: &[CharSet]) {
        match atom {
            RegexAtom::Char(c) if c < 128 => self.ascii |= 1 << c,
            RegexAtom::Char(_) => self.other = true,
            RegexAtom::Set(set) => {
                if let Some(set) = sets.get(set as usize) {
                    self.ascii |= set.ascii();
                }
                self.other = true;
            }
        }
    }
}
