//! What a pattern is compiled to: instructions for the matcher.

use super::set::CharSet;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) ops: Box<[Op]>,
    pub(super) sets: Box<[CharSet]>,
    /// Capture positions, then the registers of loops.
    pub(super) slots: usize,
    pub(super) groups: usize,
    /// The names of groups with their number, in the order of the pattern.
    pub(super) names: Box<[(Box<str>, usize)]>,
    /// Whether a character is a code point (the `u` flag) or a UTF-16 code unit.
    pub(super) unicode: bool,
    /// Whether the pattern can only match at the very start.
    pub(super) anchored: bool,
    pub(super) first: Option<First>,
}

/// What a match can begin with, for a pattern that cannot match the empty string.
#[derive(Clone, Copy, Debug)]
pub(super) struct First {
    pub(super) ascii: u128,
    /// Whether anything that is not ASCII has to be tried.
    pub(super) other: bool,
}

/// Which way the text is read; backwards inside a lookbehind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    Back,
}

/// A single character to match.
#[derive(Clone, Copy, Debug)]
pub(super) enum Atom {
    Char(u32),
    /// Index into the sets.
    Set(u32),
}

/// An instruction; targets are instruction indices.
#[derive(Debug)]
pub(super) enum Op {
    One {
        atom: Atom,
        way: Way,
    },
    /// A repeated single character: no captures, nothing empty.
    Run {
        atom: Atom,
        way: Way,
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
        way: Way,
        ignore_case: bool,
    },
    /// A lookaround whose body follows and ends with [`Op::Accept`].
    Look {
        negative: bool,
        end: u32,
    },
    Accept,
}

/// What any match starts with, by walking the instructions that can come first.
pub(super) fn first_of(ops: &[Op], sets: &[CharSet]) -> Option<First> {
    let mut first = First {
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
            Op::One { atom, .. } => first.add(*atom, sets),
            Op::Run { atom, min, .. } => {
                first.add(*atom, sets);
                if *min == 0 {
                    open.push(at + 1);
                }
            }
            Op::Jump(target) => open.push(*target as usize),
            Op::Split { first, second } => open.extend([*first as usize, *second as usize]),
            Op::Head { exit, .. } => open.extend([at + 1, *exit as usize]),
            Op::Next { head, .. } => open.push(*head as usize),
            Op::Look { end, .. } => open.push(*end as usize),
            Op::Reference { .. } | Op::Accept => return None,
            Op::Save(_)
            | Op::Zero(_)
            | Op::Enter { .. }
            | Op::Progress { .. }
            | Op::TextStart
            | Op::TextEnd
            | Op::LineStart
            | Op::LineEnd
            | Op::Word { .. } => open.push(at + 1),
        }
    }
    Some(first)
}

impl First {
    #[inline]
    pub(super) fn admits(self, unit: u32) -> bool {
        if unit < 128 {
            self.ascii >> unit & 1 == 1
        } else {
            self.other
        }
    }

    fn add(&mut self, atom: Atom, sets: &[CharSet]) {
        match atom {
            Atom::Char(c) if c < 128 => self.ascii |= 1 << c,
            Atom::Char(_) => self.other = true,
            Atom::Set(set) => {
                if let Some(set) = sets.get(set as usize) {
                    self.ascii |= set.ascii();
                }
                self.other = true;
            }
        }
    }
}
