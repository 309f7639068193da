//! `localeCompare`: the order in which people expect words, without ICU's tables.
//!
//! An approximation of Unicode's root collation that agrees with it on Latin text: white space,
//! punctuation, symbols, digits, letters; letters compare by base letter first, then by accents,
//! then lower case before upper. Scripts other than Latin follow in code point order. The locale
//! argument is not used; `sensitivity`, `numeric` and `caseFirst` are.

use std::cmp::Ordering;
use std::rc::Rc;

use unicode_normalization::UnicodeNormalization;

use super::super::args::{arg, option, text_option};
use crate::context::EvalContext;
use crate::convert::to_text;
use crate::error::Error;
use crate::value::Value;

/// ASCII punctuation in collation order; `$` comes after all symbols.
const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~";

/// Primary weights of the kinds of characters, in their order.
const SPACES: u32 = 1 << 24;
const MARKS: u32 = 2 << 24;
const SYMBOLS: u32 = 3 << 24;
const CURRENCY: u32 = 4 << 24;
const DIGITS: u32 = 5 << 24;
const LATIN: u32 = 6 << 24;
const LETTERS: u32 = 7 << 24;
/// The secondary weight of a character without accent.
const NO_ACCENT: u32 = 1;

pub(super) fn locale_compare(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let that = to_text(cx, arg(args, 0))?;
    // A character costs far more here than in other scans.
    cx.charge(this.len() as u64 + that.len() as u64)?;
    let rules = CollationRules::of(arg(args, 2));
    let order = rules.compare(&rules.key(this), &rules.key(&that));
    Ok(Value::Number(f64::from(order as i8)))
}

/// The differences that count.
struct CollationRules {
    accents: bool,
    case: bool,
    upper_first: bool,
    numeric: bool,
}

/// A text as weights, level by level.
#[derive(Default)]
struct CollationKey {
    primary: Vec<u32>,
    secondary: Vec<u32>,
    tertiary: Vec<u8>,
}

impl CollationRules {
    fn of(options: &Value) -> Self {
        let sensitivity = text_option(options, "sensitivity");
        let sensitivity = sensitivity.as_deref().unwrap_or("variant");
        CollationRules {
            accents: matches!(sensitivity, "accent" | "variant"),
            case: matches!(sensitivity, "case" | "variant"),
            upper_first: text_option(options, "caseFirst").as_deref() == Some("upper"),
            numeric: option(options, "numeric").is_truthy(),
        }
    }

    fn compare(&self, left: &CollationKey, right: &CollationKey) -> Ordering {
        let mut order = left.primary.cmp(&right.primary);
        if self.accents {
            order = order.then_with(|| left.secondary.cmp(&right.secondary));
        }
        if self.case {
            order = order.then_with(|| left.tertiary.cmp(&right.tertiary));
        }
        order
    }

    fn key(&self, text: &str) -> CollationKey {
        let mut key = CollationKey::default();
        let mut chars = text.nfd().peekable();
        while let Some(c) = chars.next() {
            if self.numeric && c.is_ascii_digit() {
                let mut digits = String::from(c);
                while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                    digits.push(digit);
                }
                let significant = digits.trim_start_matches('0');
                key.add(DIGITS + significant.len() as u32, NO_ACCENT, 0);
                for digit in significant.bytes() {
                    key.add(DIGITS + u32::from(digit), NO_ACCENT, 0);
                }
                continue;
            }
            self.add(c, &mut key);
        }
        key
    }

    fn add(&self, c: char, key: &mut CollationKey) {
        let case = u8::from(c.is_uppercase() != self.upper_first);
        let (base, accent) = match c {
            'ß' => return key.add_all("ss", 2),
            'æ' => return key.add_all("ae", 2),
            'Æ' => return key.add_all("ae", 3),
            'œ' => return key.add_all("oe", 2),
            'Œ' => return key.add_all("oe", 3),
            'ø' | 'Ø' => ('o', 0x338),
            'đ' | 'Đ' => ('d', 0x335),
            'ł' | 'Ł' => ('l', 0x335),
            'þ' | 'Þ' => return key.add(LATIN + 27 * 2, NO_ACCENT, case),
            'ð' | 'Ð' => return key.add(LATIN + 4 * 2 - 1, NO_ACCENT, case),
            '\u{300}'..='\u{36F}' => {
                key.secondary.push(u32::from(c));
                return;
            }
            c if c.is_control() && !c.is_whitespace() => return,
            c => (c, 0),
        };
        key.add(primary(base), NO_ACCENT, case);
        if accent != 0 {
            key.secondary.push(accent);
        }
    }
}

impl CollationKey {
    fn add(&mut self, primary: u32, secondary: u32, tertiary: u8) {
        self.primary.push(primary);
        self.secondary.push(secondary);
        self.tertiary.push(tertiary);
    }

    fn add_all(&mut self, letters: &str, tertiary: u8) {
        for letter in letters.chars() {
            self.add(primary(letter), NO_ACCENT, tertiary);
        }
    }
}

fn primary(c: char) -> u32 {
    if c.is_ascii_alphabetic() {
        return LATIN + u32::from(c.to_ascii_lowercase() as u8 - b'a' + 1) * 2;
    }
    if let Some(digit) = c.to_digit(10) {
        return DIGITS + digit;
    }
    if let Some(place) = PUNCTUATION.find(c) {
        return MARKS + place as u32;
    }
    let code = u32::from(c);
    match c {
        c if c.is_whitespace() => SPACES + code,
        '$' | '£' | '¥' | '€' => CURRENCY + code,
        c if c.is_alphabetic() => LETTERS + c.to_lowercase().next().map_or(code, u32::from),
        _ => SYMBOLS + code,
    }
}
