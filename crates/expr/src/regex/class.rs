//! Character classes and escapes of a pattern → sets.

use oxc_regular_expression::ast::{
    CharacterClass, CharacterClassContents, CharacterClassContentsKind, CharacterClassEscapeKind,
    UnicodePropertyEscape,
};

use rustc_hash::FxHashMap;

use super::set::{self, CaseFolding, CharRanges};

/// Something valid that this engine does not do, as a sentence.
pub(super) struct UnsupportedPattern(pub(super) String);

/// Makes the set of `\d`, `\W` and so on.
pub(super) fn escape(kind: CharacterClassEscapeKind, case: CaseFolding) -> CharRanges {
    // Only with `u` do foreign letters fold into ASCII ones.
    let word = || match case {
        CaseFolding::Folded => set::word().folded(case),
        CaseFolding::Sensitive | CaseFolding::Upper => set::word(),
    };
    match kind {
        CharacterClassEscapeKind::D => set::digits(),
        CharacterClassEscapeKind::NegativeD => set::digits().inverted(),
        CharacterClassEscapeKind::S => set::space(),
        CharacterClassEscapeKind::NegativeS => set::space().inverted(),
        CharacterClassEscapeKind::W => word(),
        CharacterClassEscapeKind::NegativeW => word().inverted(),
    }
}

/// The Unicode properties met in a pattern; building a set takes long, and patterns repeat them.
#[derive(Default)]
pub(super) struct UnicodeProperties(FxHashMap<String, CharRanges>);

/// Makes the set of `\p{…}` and `\P{…}`.
pub(super) fn property(
    property: &UnicodePropertyEscape<'_>,
    case: CaseFolding,
    known: &mut UnicodeProperties,
) -> Result<CharRanges, UnsupportedPattern> {
    let key = format!(
        "{}{:?}{case:?}{}",
        property.name, property.value, property.negative
    );
    if let Some(ranges) = known.0.get(&key) {
        return Ok(ranges.clone());
    }
    let ranges = built(property, case)?;
    known.0.insert(key, ranges.clone());
    Ok(ranges)
}

fn built(
    property: &UnicodePropertyEscape<'_>,
    case: CaseFolding,
) -> Result<CharRanges, UnsupportedPattern> {
    let value = property.value.as_ref().map(|value| value.as_str());
    let name = property.name.as_str();
    let ranges = if property.strings {
        None
    } else {
        set::property(name, value)
    };
    let Some(ranges) = ranges else {
        return Err(UnsupportedPattern(format!(
            "the Unicode property `{name}` is not supported"
        )));
    };
    let ranges = ranges.folded(case);
    Ok(if property.negative {
        ranges.inverted()
    } else {
        ranges
    })
}

/// Makes the set of `[…]`, with the set operations of the `v` flag.
pub(super) fn class(
    class: &CharacterClass<'_>,
    case: CaseFolding,
    known: &mut UnicodeProperties,
) -> Result<CharRanges, UnsupportedPattern> {
    let mut operands = class.body.iter().map(|part| contents(part, case, known));
    let mut ranges = match operands.next() {
        Some(first) => first?,
        None => CharRanges::default(),
    };
    for operand in operands {
        let operand = operand?;
        ranges = match class.kind {
            CharacterClassContentsKind::Union => {
                ranges.extend(&operand);
                ranges
            }
            CharacterClassContentsKind::Intersection => ranges.intersected(operand),
            CharacterClassContentsKind::Subtraction => ranges.without(operand),
        };
    }
    Ok(if class.negative {
        ranges.inverted()
    } else {
        ranges
    })
}

fn contents(
    part: &CharacterClassContents<'_>,
    case: CaseFolding,
    known: &mut UnicodeProperties,
) -> Result<CharRanges, UnsupportedPattern> {
    Ok(match part {
        CharacterClassContents::CharacterClassRange(range) => {
            CharRanges::of(&[(range.min.value, range.max.value)]).folded(case)
        }
        CharacterClassContents::Character(character) => {
            CharRanges::of(&[(character.value, character.value)]).folded(case)
        }
        CharacterClassContents::CharacterClassEscape(escaped) => escape(escaped.kind, case),
        CharacterClassContents::UnicodePropertyEscape(escaped) => property(escaped, case, known)?,
        CharacterClassContents::NestedCharacterClass(nested) => class(nested, case, known)?,
        CharacterClassContents::ClassStringDisjunction(strings) => {
            let mut ranges = CharRanges::default();
            for string in &strings.body {
                let [only] = &string.body[..] else {
                    return Err(UnsupportedPattern(
                        "strings of several characters in \\q{…} are not supported".to_owned(),
                    ));
                };
                ranges.add(only.value, only.value);
            }
            ranges.folded(case)
        }
    })
}
