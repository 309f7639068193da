//! Runs a program over a text: a backtracking matcher that counts every step it takes.
//!
//! Backtracking is what gives JavaScript's results exactly (captures forgotten at each iteration,
//! lookbehinds read backwards); counting steps is what keeps it from running forever. The stack
//! is on the heap, so neither the text nor the pattern can overflow the machine's.

use super::program::{ReadDirection, RegexAtom, RegexOp, RegexProgram};

/// A position that is not set: a group that did not match.
pub(super) const NONE: u32 = u32::MAX;

/// Slots that are put back for the price of one step.
const SLOTS_PER_STEP: u64 = 8;

/// The limit that ended a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchLimit {
    Steps,
    Stack,
}

/// A text as UTF-16 code units.
pub(super) trait CodeUnits {
    fn len(&self) -> u32;
    /// Returns the unit at a position below `len`.
    fn at(&self, position: u32) -> u32;
}

impl CodeUnits for &[u8] {
    #[inline]
    fn len(&self) -> u32 {
        <[u8]>::len(self) as u32
    }

    #[inline]
    fn at(&self, position: u32) -> u32 {
        u32::from(self[position as usize])
    }
}

impl CodeUnits for &[u16] {
    #[inline]
    fn len(&self) -> u32 {
        <[u16]>::len(self) as u32
    }

    #[inline]
    fn at(&self, position: u32) -> u32 {
        u32::from(self[position as usize])
    }
}

/// An entry of the backtracking stack: the action to take when the current path fails.
#[derive(Clone, Copy, Debug)]
enum BacktrackEntry {
    /// Go on at an instruction and position.
    Branch { pc: u32, at: u32 },
    /// Put a slot back.
    Slot { slot: u32, value: u32 },
    /// Give back one character of a greedy run.
    Shrink { pc: u32, at: u32, low: u32 },
    /// Take one more character for a lazy run.
    Grow { pc: u32, at: u32, taken: u32 },
}

/// The working memory of a search; reused from match to match.
#[derive(Debug, Default)]
pub(super) struct MatcherMemory {
    pub(super) slots: Vec<u32>,
    stack: Vec<BacktrackEntry>,
    pub(super) steps: u64,
}

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchBounds {
    pub(super) steps_max: u64,
    pub(super) stack_max: usize,
}

/// Looks for the first match at or after `from`; with `sticky`, exactly there.
pub(super) fn search<T: CodeUnits>(
    program: &RegexProgram,
    text: T,
    memory: &mut MatcherMemory,
    bounds: MatchBounds,
    (from, sticky): (u32, bool),
) -> Result<bool, MatchLimit> {
    memory.slots.clear();
    memory.slots.resize(program.slots, NONE);
    memory.stack.clear();
    memory.steps = program.slots as u64 / SLOTS_PER_STEP;
    let mut matcher = BacktrackMatcher {
        program,
        text,
        memory,
        bounds,
    };
    let mut start = from;
    loop {
        let fits = match (program.first, start < matcher.text.len()) {
            (Some(first), true) => first.admits(matcher.text.at(start)),
            (Some(_), false) => false,
            (None, _) => true,
        };
        if fits && matcher.run(0, start)?.is_some() {
            return Ok(true);
        }
        if sticky || program.anchored || start >= matcher.text.len() {
            return Ok(false);
        }
        matcher.step()?;
        start = matcher.after(start);
    }
}

struct BacktrackMatcher<'m, T> {
    program: &'m RegexProgram,
    text: T,
    memory: &'m mut MatcherMemory,
    bounds: MatchBounds,
}

impl<T: CodeUnits> BacktrackMatcher<'_, T> {
    #[inline]
    fn step(&mut self) -> Result<(), MatchLimit> {
        self.memory.steps += 1;
        if self.memory.steps > self.bounds.steps_max {
            Err(MatchLimit::Steps)
        } else {
            Ok(())
        }
    }

    #[inline]
    fn push(&mut self, undo: BacktrackEntry) -> Result<(), MatchLimit> {
        if self.memory.stack.len() >= self.bounds.stack_max {
            return Err(MatchLimit::Stack);
        }
        self.memory.stack.push(undo);
        Ok(())
    }

    #[inline]
    fn set(&mut self, slot: u32, value: u32) -> Result<(), MatchLimit> {
        let old = std::mem::replace(&mut self.memory.slots[slot as usize], value);
        if old == value {
            return Ok(());
        }
        self.push(BacktrackEntry::Slot { slot, value: old })
    }

    fn slot(&self, slot: u32) -> u32 {
        self.memory.slots[slot as usize]
    }

    /// Runs from an instruction to [`RegexOp::Accept`]; leaves the branches not taken on the stack.
    fn run(&mut self, pc: u32, at: u32) -> Result<Option<u32>, MatchLimit> {
        let base = self.memory.stack.len();
        let (mut pc, mut at) = (pc, at);
        let program = self.program;
        loop {
            self.step()?;
            let next = match &program.ops[pc as usize] {
                RegexOp::Accept => return Ok(Some(at)),
                RegexOp::One { atom, way } => {
                    self.one(*atom, *way, at).map(|after| (pc + 1, after))
                }
                RegexOp::Jump(target) => Some((*target, at)),
                RegexOp::Split { first, second } => {
                    self.push(BacktrackEntry::Branch { pc: *second, at })?;
                    Some((*first, at))
                }
                RegexOp::Save(slot) => {
                    self.set(*slot, at)?;
                    Some((pc + 1, at))
                }
                RegexOp::Run { .. } => self.start_run(pc, at)?.map(|after| (pc + 1, after)),
                RegexOp::Look { negative, end } => {
                    self.look(*negative, pc + 1, at)?.then_some((*end, at))
                }
                RegexOp::Reference {
                    groups,
                    way,
                    ignore_case,
                } => self
                    .reference(groups, (*way, *ignore_case), at)?
                    .map(|after| (pc + 1, after)),
                RegexOp::Zero(_)
                | RegexOp::Head { .. }
                | RegexOp::Enter { .. }
                | RegexOp::Next { .. } => Some((self.repeat(pc, at)?, at)),
                assertion => self.holds(assertion, at).then_some((pc + 1, at)),
            };
            (pc, at) = match next {
                Some(next) => next,
                None => match self.backtrack(base)? {
                    Some(next) => next,
                    None => return Ok(None),
                },
            };
        }
    }

    /// Undoes everything since the last choice, and takes the next alternative.
    fn backtrack(&mut self, base: usize) -> Result<Option<(u32, u32)>, MatchLimit> {
        while self.memory.stack.len() > base {
            let Some(undo) = self.memory.stack.pop() else {
                break;
            };
            match undo {
                BacktrackEntry::Branch { pc, at } => return Ok(Some((pc, at))),
                BacktrackEntry::Slot { slot, value } => self.memory.slots[slot as usize] = value,
                BacktrackEntry::Shrink { pc, at, low } => {
                    let at = match self.way_of(pc) {
                        ReadDirection::Forward => self.before(at),
                        ReadDirection::Back => self.after(at),
                    };
                    if at != low {
                        self.push(BacktrackEntry::Shrink { pc, at, low })?;
                    }
                    return Ok(Some((pc + 1, at)));
                }
                BacktrackEntry::Grow { pc, at, taken } => {
                    let RegexOp::Run { atom, way, max, .. } = &self.program.ops[pc as usize] else {
                        continue;
                    };
                    let (atom, way, max) = (*atom, *way, *max);
                    if let Some(after) = self.one(atom, way, at) {
                        if taken + 1 < max {
                            self.push(BacktrackEntry::Grow {
                                pc,
                                at: after,
                                taken: taken + 1,
                            })?;
                        }
                        return Ok(Some((pc + 1, after)));
                    }
                }
            }
        }
        Ok(None)
    }

    fn way_of(&self, pc: u32) -> ReadDirection {
        match &self.program.ops[pc as usize] {
            RegexOp::Run { way, .. } => *way,
            _ => ReadDirection::Forward,
        }
    }

    fn start_run(&mut self, pc: u32, at: u32) -> Result<Option<u32>, MatchLimit> {
        let RegexOp::Run {
            atom,
            way,
            min,
            max,
            greedy,
        } = &self.program.ops[pc as usize]
        else {
            return Ok(None);
        };
        let (atom, way, min, max) = (*atom, *way, *min, *max);
        let mut position = at;
        let mut taken = 0;
        let mut low = at;
        let wanted = if *greedy { max } else { min };
        while taken < wanted {
            let Some(after) = self.one(atom, way, position) else {
                break;
            };
            self.step()?;
            position = after;
            taken += 1;
            if taken == min {
                low = position;
            }
        }
        if taken < min {
            return Ok(None);
        }
        if *greedy && position != low {
            self.push(BacktrackEntry::Shrink {
                pc,
                at: position,
                low,
            })?;
        }
        if !*greedy && taken < max {
            self.push(BacktrackEntry::Grow {
                pc,
                at: position,
                taken,
            })?;
        }
        Ok(Some(position))
    }

    /// Runs an instruction of a counted or plain loop; returns the next instruction.
    fn repeat(&mut self, pc: u32, at: u32) -> Result<u32, MatchLimit> {
        match self.program.ops[pc as usize] {
            RegexOp::Zero(counter) => self.set(counter, 0)?,
            RegexOp::Enter { start, groups } => {
                self.set(start, at)?;
                self.memory.steps += u64::from(groups.1 - groups.0);
                for slot in groups.0 * 2..groups.1 * 2 {
                    self.set(slot, NONE)?;
                }
            }
            RegexOp::Next { counter, head } => {
                self.set(counter, self.slot(counter) + 1)?;
                return Ok(head);
            }
            RegexOp::Head {
                counter,
                min,
                max,
                greedy,
                exit,
            } => {
                let done = self.slot(counter);
                if done >= max {
                    return Ok(exit);
                }
                if done >= min && greedy {
                    self.push(BacktrackEntry::Branch { pc: exit, at })?;
                } else if done >= min {
                    self.push(BacktrackEntry::Branch { pc: pc + 1, at })?;
                    return Ok(exit);
                }
            }
            _ => {}
        }
        Ok(pc + 1)
    }

    /// Lookarounds are atomic: once inside is done, its other choices are forgotten.
    fn look(&mut self, negative: bool, pc: u32, at: u32) -> Result<bool, MatchLimit> {
        let base = self.memory.stack.len();
        let found = self.run(pc, at)?.is_some();
        if negative {
            while self.memory.stack.len() > base {
                if let Some(BacktrackEntry::Slot { slot, value }) = self.memory.stack.pop() {
                    self.memory.slots[slot as usize] = value;
                }
            }
            return Ok(!found);
        }
        let mut kept = base;
        for index in base..self.memory.stack.len() {
            if let BacktrackEntry::Slot { .. } = self.memory.stack[index] {
                self.memory.stack.swap(kept, index);
                kept += 1;
            }
        }
        self.memory.stack.truncate(kept);
        Ok(found)
    }

    /// Matches the text of a group again; a group that did not match counts as empty.
    fn reference(
        &mut self,
        groups: &[u32],
        (way, ignore_case): (ReadDirection, bool),
        at: u32,
    ) -> Result<Option<u32>, MatchLimit> {
        self.memory.steps += groups.len() as u64;
        let matched = groups
            .iter()
            .map(|group| (self.slot(group * 2), self.slot(group * 2 + 1)));
        let Some((start, end)) = matched
            .into_iter()
            .find(|(start, end)| *start != NONE && *end != NONE)
        else {
            return Ok(Some(at));
        };
        let length = end - start;
        let from = match way {
            ReadDirection::Forward if length <= self.text.len() - at => at,
            ReadDirection::Back if length <= at => at - length,
            _ => return Ok(None),
        };
        for offset in 0..length {
            self.step()?;
            let (left, right) = (self.text.at(start + offset), self.text.at(from + offset));
            if left != right && !(ignore_case && upper(left) == upper(right)) {
                return Ok(None);
            }
        }
        Ok(Some(if way == ReadDirection::Forward {
            at + length
        } else {
            from
        }))
    }

    fn holds(&self, assertion: &RegexOp, at: u32) -> bool {
        let end = self.text.len();
        match assertion {
            RegexOp::TextStart => at == 0,
            RegexOp::TextEnd => at == end,
            RegexOp::LineStart => at == 0 || is_line_end(self.text.at(at - 1)),
            RegexOp::LineEnd => at == end || is_line_end(self.text.at(at)),
            RegexOp::Word { boundary, set } => {
                let set = &self.program.sets[*set as usize];
                let before = at > 0 && set.contains(self.text.at(at - 1));
                let after = at < end && set.contains(self.text.at(at));
                (before != after) == *boundary
            }
            RegexOp::Progress {
                start,
                counter,
                min,
            } => {
                at != self.slot(*start) || counter.is_some_and(|counter| self.slot(counter) < *min)
            }
            _ => false,
        }
    }

    /// Matches one character; the position after it.
    #[inline]
    fn one(&self, atom: RegexAtom, way: ReadDirection, at: u32) -> Option<u32> {
        let (c, after) = match way {
            ReadDirection::Forward if at < self.text.len() => {
                let after = self.after(at);
                (self.character(at, after), after)
            }
            ReadDirection::Back if at > 0 => {
                let before = self.before(at);
                (self.character(before, at), before)
            }
            _ => return None,
        };
        let fits = match atom {
            RegexAtom::Char(expected) => c == expected,
            RegexAtom::Set(set) => self.program.sets[set as usize].contains(c),
        };
        fits.then_some(after)
    }

    #[inline]
    fn character(&self, start: u32, end: u32) -> u32 {
        let first = self.text.at(start);
        if end - start == 2 {
            return 0x1_0000 + ((first - 0xD800) << 10) + (self.text.at(start + 1) - 0xDC00);
        }
        first
    }

    #[inline]
    fn after(&self, at: u32) -> u32 {
        let pair = self.program.unicode && at + 1 < self.text.len() && self.is_pair(at);
        if pair { at + 2 } else { at + 1 }
    }

    #[inline]
    fn before(&self, at: u32) -> u32 {
        let pair = self.program.unicode && at > 1 && self.is_pair(at - 2);
        if pair { at - 2 } else { at - 1 }
    }

    fn is_pair(&self, at: u32) -> bool {
        (0xD800..0xDC00).contains(&self.text.at(at))
            && (0xDC00..0xE000).contains(&self.text.at(at + 1))
    }
}

fn is_line_end(c: u32) -> bool {
    matches!(c, 0x0A | 0x0D | 0x2028 | 0x2029)
}

/// Returns the upper-case form used to compare a group's text ignoringcase.
fn upper(unit: u32) -> u32 {
    let Some(c) = char::from_u32(unit) else {
        return unit;
    };
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) if upper.is_ascii() == c.is_ascii() => u32::from(upper),
        _ => unit,
    }
}
