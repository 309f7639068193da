//! Sets of characters: the meaning of `[a-z]`, `\s` and `\p{L}`.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The last code point.
const LAST: u32 = 0x10_FFFF;
/// Characters that Unicode folds into others but JavaScript does only with the `u` flag.
const FOLDED_WITH_UNICODE_ONLY: [u32; 5] = [0x017F, 0x1E9E, 0x2126, 0x212A, 0x212B];

/// The rule that compares letters of different case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaseFolding {
    Sensitive,
    /// The `i` flag.
    Upper,
    /// The `i` flag together with `u` or `v`.
    Folded,
}

/// A set of code points (or UTF-16 code units without the `u` flag) that answers quickly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CharSet {
    ascii: u128,
    /// Ranges of non-ASCII characters, ascending and disjoint.
    ranges: Box<[(u32, u32)]>,
}

/// A set under construction: any ranges in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct CharRanges(Vec<(u32, u32)>);

impl CharSet {
    #[inline]
    pub(super) fn contains(&self, c: u32) -> bool {
        if c < 128 {
            return self.ascii >> c & 1 == 1;
        }
        let next = self.ranges.partition_point(|range| range.0 <= c);
        next > 0 && c <= self.ranges[next - 1].1
    }

    pub(super) fn ascii(&self) -> u128 {
        self.ascii
    }

    /// Returns the one character in the set, if there is exactly one.
    pub(super) fn single(&self) -> Option<u32> {
        match (self.ascii.count_ones(), &*self.ranges) {
            (1, []) => Some(self.ascii.trailing_zeros()),
            (0, [(first, last)]) if first == last => Some(*first),
            _ => None,
        }
    }
}

impl CharRanges {
    pub(super) fn of(ranges: &[(u32, u32)]) -> Self {
        Self(ranges.to_vec())
    }

    pub(super) fn add(&mut self, first: u32, last: u32) {
        self.0.push((first, last));
    }

    pub(super) fn extend(&mut self, other: &CharRanges) {
        self.0.extend_from_slice(&other.0);
    }

    /// Inverts the set.
    pub(super) fn inverted(mut self) -> Self {
        self.normalize();
        let mut gaps = Vec::with_capacity(self.0.len() + 1);
        let mut next = 0;
        for (first, last) in self.0 {
            if next < first {
                gaps.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= LAST {
            gaps.push((next, LAST));
        }
        Self(gaps)
    }

    pub(super) fn without(self, other: CharRanges) -> Self {
        let mut outside = self.inverted();
        outside.extend(&other);
        outside.inverted()
    }

    pub(super) fn intersected(self, other: CharRanges) -> Self {
        self.without(other.inverted())
    }

    /// Adds the characters that differ from a member only in case.
    pub(super) fn folded(self, case: CaseFolding) -> Self {
        match case {
            CaseFolding::Sensitive => self,
            CaseFolding::Folded => self.simply_folded(),
            CaseFolding::Upper => {
                let foreign = CharRanges::of(&FOLDED_WITH_UNICODE_ONLY.map(|c| (c, c)));
                let exact = self.clone().intersected(foreign.clone());
                let mut folded = self
                    .without(foreign.clone())
                    .simply_folded()
                    .without(foreign);
                folded.extend(&exact);
                folded
            }
        }
    }

    /// Applies Unicode's simple case folding.
    fn simply_folded(mut self) -> Self {
        self.normalize();
        let mut class = ClassUnicode::new(self.0.iter().filter_map(|&(first, last)| {
            let (first, last) = (scalar_from(first), scalar_until(last));
            (first <= last).then(|| ClassUnicodeRange::new(first, last))
        }));
        if class.try_case_fold_simple().is_ok() {
            for range in class.ranges() {
                self.add(u32::from(range.start()), u32::from(range.end()));
            }
        }
        self
    }

    pub(super) fn finish(mut self) -> CharSet {
        self.normalize();
        let mut ascii = 0_u128;
        let mut ranges = Vec::new();
        for (first, last) in self.0 {
            for c in first..=last.min(127) {
                ascii |= 1 << c;
            }
            if last > 127 {
                ranges.push((first.max(128), last));
            }
        }
        CharSet {
            ascii,
            ranges: ranges.into(),
        }
    }

    fn normalize(&mut self) {
        self.0.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(self.0.len());
        for &(first, last) in &self.0 {
            match merged.last_mut() {
                Some(previous) if first <= previous.1.saturating_add(1) => {
                    previous.1 = previous.1.max(last);
                }
                _ => merged.push((first, last)),
            }
        }
        self.0 = merged;
    }
}

/// `\d`
pub(super) fn digits() -> CharRanges {
    CharRanges::of(&[(0x30, 0x39)])
}

/// `\w`
pub(super) fn word() -> CharRanges {
    CharRanges::of(&[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
}

/// `\s`
pub(super) fn space() -> CharRanges {
    CharRanges::of(&[
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ])
}

/// Returns the set of `\p{name}` or `\p{name=value}`; `None` if the property is unknown.
pub(super) fn property(name: &str, value: Option<&str>) -> Option<CharRanges> {
    let pattern = match value {
        Some(value) => format!(r"\p{{{name}={value}}}"),
        None => format!(r"\p{{{name}}}"),
    };
    let hir = regex_syntax::Parser::new().parse(&pattern).ok()?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(CharRanges(
            class
                .iter()
                .map(|range| (u32::from(range.start()), u32::from(range.end())))
                .collect(),
        )),
        // A property with one member comes back as that character.
        HirKind::Literal(literal) => {
            let c = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
            Some(CharRanges::of(&[(u32::from(c), u32::from(c))]))
        }
        _ => None,
    }
}

/// Returns the first character at or after a code point that may be a surrogate.
fn scalar_from(c: u32) -> char {
    char::from_u32(c).unwrap_or('\u{E000}')
}

/// Returns the last character at or before a code point that may be a surrogate.
fn scalar_until(c: u32) -> char {
    char::from_u32(c).unwrap_or('\u{D7FF}')
}
