//! Character classes and escapes of a pattern → sets.

use oxc_regular_expression::ast::{
    CharacterClass, CharacterClassContents, CharacterClassContentsKind, CharacterClassEscapeKind,
    UnicodePropertyEscape,
};

use rustc_hash::FxHashMap;

use super::set::{self, Case, Ranges};

/// Something valid that this engine does not do, as a sentence.
pub(super) struct Unsupported(pub(super) String);

/// `\d`, `\W` and so on.
pub(super) fn escape(kind: CharacterClassEscapeKind, case: Case) -> Ranges {
    // Only with `u` do foreign letters fold into ASCII ones.
    let word = || match case {
        Case::Folded => set::word().folded(case),
        Case::Sensitive | Case::Upper => set::word(),
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
pub(super) struct Properties(FxHashMap<String, Ranges>);

/// `\p{…}` and `\P{…}`.
pub(super) fn property(
    property: &UnicodePropertyEscape<'_>,
    case: Case,
    known: &mut Properties,
) -> Result<Ranges, Unsupported> {
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

fn built(property: &UnicodePropertyEscape<'_>, case: Case) -> Result<Ranges, Unsupported> {
    let value = property.value.as_ref().map(|value| value.as_str());
    let name = property.name.as_str();
    let ranges = if property.strings {
        None
    } else {
        set::property(name, value)
    };
    let Some(ranges) = ranges else {
        return Err(Unsupported(format!(
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

/// `[…]`, with the set operations of the `v` flag.
pub(super) fn class(
    class: &CharacterClass<'_>,
    case: Case,
    known: &mut Properties,
) -> Result<Ranges, Unsupported> {
    let mut operands = class.body.iter().map(|part| contents(part, case, known));
    let mut ranges = match operands.next() {
        Some(first) => first?,
        None => Ranges::default(),
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
    case: Case,
    known: &mut Properties,
) -> Result<Ranges, Unsupported> {
    Ok(match part {
        CharacterClassContents::CharacterClassRange(range) => {
            Ranges::of(&[(range.min.value, range.max.value)]).folded(case)
        }
        CharacterClassContents::Character(character) => {
            Ranges::of(&[(character.value, character.value)]).folded(case)
        }
        CharacterClassContents::CharacterClassEscape(escaped) => escape(escaped.kind, case),
        CharacterClassContents::UnicodePropertyEscape(escaped) => property(escaped, case, known)?,
        CharacterClassContents::NestedCharacterClass(nested) => class(nested, case, known)?,
        CharacterClassContents::ClassStringDisjunction(strings) => {
            let mut ranges = Ranges::default();
            for string in &strings.body {
                let [only] = &string.body[..] else {
                    return Err(Unsupported(
                        "strings of several characters in \\q{…} are not supported".to_owned(),
                    ));
                };
                ranges.add(only.value, only.value);
            }
            ranges.folded(case)
        }
    })
}
