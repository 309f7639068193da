//! Edge's measures: durations, sizes, ordinals and lists written for people.

use super::js_text::{parse_int, parse_int_or_hex, print};

const SECOND_MS: f64 = 1_000.0;
const MINUTE_MS: f64 = SECOND_MS * 60.0;
const HOUR_MS: f64 = MINUTE_MS * 60.0;
const DAY_MS: f64 = HOUR_MS * 24.0;
const YEAR_MS: f64 = DAY_MS * 365.25;

/// Form of a duration's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitName {
    /// `2h`
    Letter,
    /// `2 hours`
    Word,
}

/// Milliseconds in the largest unit that fits, rounded to a whole number.
#[must_use]
pub(crate) fn pretty_ms(ms: f64, name: UnitName) -> String {
    let size = ms.abs();
    let (unit_ms, unit) = match size {
        _ if size < SECOND_MS && name == UnitName::Letter => return print(ms) + "ms",
        _ if size < SECOND_MS => return print(ms) + " ms",
        _ if size < MINUTE_MS => (SECOND_MS, "second"),
        _ if size < HOUR_MS => (MINUTE_MS, "minute"),
        _ if size < DAY_MS => (HOUR_MS, "hour"),
        _ if size < YEAR_MS => (DAY_MS, "day"),
        _ => (YEAR_MS, "year"),
    };
    let sign = if ms < 0.0 { "-" } else { "" };
    let count = int32(size / unit_ms + 0.5);
    match name {
        UnitName::Letter => format!("{sign}{count}{}", &unit[..1]),
        UnitName::Word if count == 1 => format!("{sign}{count} {unit}"),
        UnitName::Word => format!("{sign}{count} {unit}s"),
    }
}

/// Spellings of each unit in the order a duration may name them, with their milliseconds.
const DURATION_UNITS: [(&[&str], f64); 7] = [
    (&["milliseconds", "millisecond", "msecs", "msec", "ms"], 1.0),
    (&["seconds", "second", "secs", "sec", "s"], SECOND_MS),
    (&["minutes", "minute", "mins", "min", "m"], MINUTE_MS),
    (&["hours", "hour", "hrs", "hr", "h"], HOUR_MS),
    (&["days", "day", "d"], DAY_MS),
    (&["weeks", "week", "wks", "wk", "w"], DAY_MS * 7.0),
    (&["years", "year", "yrs", "yr", "y"], YEAR_MS),
];

/// Converts `2 hours` or `1.5s` to milliseconds. Refuses zero, as upstream does.
pub fn to_ms(duration: &str) -> Result<f64, String> {
    let text = duration.to_lowercase();
    let digits_end = decimal_len(&text);
    let (number, unit) = text.split_at(digits_end);
    let factor = duration_factor(unit.trim_start_matches(' '), &DURATION_UNITS);
    match (number.parse::<f64>(), factor) {
        (Ok(number), Some(factor)) if number != 0.0 => Ok(number * factor),
        _ => Err(format!(
            "\"{duration}\" is no duration; write a number other than 0 and a unit, such as \"10 mins\"."
        )),
    }
}

/// Returns the unit that counts when the text is spelled from `units` in their order, each at most
/// once. Milliseconds only count alone.
fn duration_factor(text: &str, units: &[(&[&str], f64)]) -> Option<f64> {
    if text.is_empty() {
        return Some(1.0);
    }
    let ((spellings, factor), later) = units.split_first()?;
    let named = spellings.iter().find_map(|spelling| {
        let after = duration_factor(text.strip_prefix(spelling)?, later)?;
        Some(if *factor == 1.0 { after } else { *factor })
    });
    named.or_else(|| duration_factor(text, later))
}

/// Returns the length of `-1`, `1.5` or `.5` at the start of text, or 0.
fn decimal_len(text: &str) -> usize {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let whole = digits_len(unsigned);
    let after_whole = &unsigned[whole..];
    let fraction = match after_whole.strip_prefix('.').map(digits_len) {
        Some(digits) if digits > 0 => 1 + digits,
        _ => 0,
    };
    match whole + fraction {
        0 => 0,
        len => text.len() - unsigned.len() + len,
    }
}

fn digits_len(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Format of `prettyBytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteStyle {
    /// Fixed, such as `kb`; otherwise the largest unit that fits.
    pub unit: Option<String>,
    pub unit_separator: String,
    pub thousands_separator: String,
    pub decimal_places: usize,
    /// Treatment of zeros at the end of the fraction.
    pub zeros: TrailingZeros,
}

/// Treatment of zeros at the end of a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrailingZeros {
    Keep,
    Drop,
}

impl Default for ByteStyle {
    fn default() -> Self {
        Self {
            unit: None,
            unit_separator: String::new(),
            thousands_separator: String::new(),
            decimal_places: 2,
            zeros: TrailingZeros::Drop,
        }
    }
}

/// The most decimal places a number may be written with.
pub(crate) const DECIMAL_PLACES_MAX: usize = 100;

/// Sizes of the units, largest first.
const BYTE_UNITS: [(&str, f64); 6] = [
    ("PB", 1_125_899_906_842_624.0),
    ("TB", 1_099_511_627_776.0),
    ("GB", 1_073_741_824.0),
    ("MB", 1_048_576.0),
    ("KB", 1_024.0),
    ("B", 1.0),
];

/// Prints `1536` as `1.5KB`; `None` if the number is not finite.
pub(crate) fn pretty_bytes(bytes: f64, style: &ByteStyle) -> Result<Option<String>, String> {
    if style.decimal_places > DECIMAL_PLACES_MAX {
        return Err(format!(
            "`decimalPlaces` may be at most {DECIMAL_PLACES_MAX}; it is {}.",
            style.decimal_places
        ));
    }
    if !bytes.is_finite() {
        return Ok(None);
    }
    let wished = style.unit.as_deref().and_then(|unit| {
        let (_, size) = BYTE_UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
        Some((unit, *size))
    });
    let fitting = || {
        let fits = BYTE_UNITS.iter().find(|(_, size)| bytes.abs() >= *size);
        *fits.unwrap_or(&("B", 1.0))
    };
    let (unit, size) = wished.unwrap_or_else(fitting);
    let mut number = to_fixed(bytes / size, style.decimal_places);
    if style.zeros == TrailingZeros::Drop {
        drop_zeros(&mut number);
    }
    if !style.thousands_separator.is_empty() {
        number = grouped(&number, &style.thousands_separator);
    }
    Ok(Some(format!("{number}{}{unit}", style.unit_separator)))
}

/// Converts `1.5kb` to `1536`; without a unit, returns the number the text starts with. `None` if
/// it starts with no number.
#[must_use]
pub fn to_bytes(text: &str) -> Option<f64> {
    let bytes = with_byte_unit(text).unwrap_or_else(|| parse_int(text));
    (!bytes.is_nan()).then(|| bytes.floor())
}

fn with_byte_unit(text: &str) -> Option<f64> {
    let number = text.strip_prefix('+').unwrap_or(text);
    let twice_signed = number.len() < text.len() && number.starts_with('-');
    let end = decimal_len(number);
    let (number, unit) = number.split_at(end);
    let starts_well = number
        .trim_start_matches('-')
        .starts_with(|c: char| c.is_ascii_digit());
    if twice_signed || !starts_well {
        return None;
    }
    let unit = unit.trim_start_matches(' ');
    let (_, size) = BYTE_UNITS
        .iter()
        .find(|(name, _)| *name != "B" && name.eq_ignore_ascii_case(unit))?;
    Some(number.parse::<f64>().ok()? * size)
}

/// `1st`, `22nd`: the text of a number and the ending that belongs to it.
pub fn ordinal(text: &str) -> Result<String, String> {
    with_ordinal_ending(parse_int_or_hex(text), text)
}

/// `1st`, `22nd` for a number.
pub(crate) fn ordinal_number(number: f64) -> Result<String, String> {
    with_ordinal_ending(number, &print(number))
}

fn with_ordinal_ending(number: f64, text: &str) -> Result<String, String> {
    let size = number.abs();
    if !size.is_finite() {
        return Err(format!(
            "`ordinal` needs a finite number, but got \"{text}\"."
        ));
    }
    let teens = (10.0..=20.0).contains(&(size % 100.0));
    let ending = match size % 10.0 {
        _ if teens => "th",
        1.0 => "st",
        2.0 => "nd",
        3.0 => "rd",
        _ => "th",
    };
    Ok(format!("{text}{ending}"))
}

/// Separators between the items of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSeparators {
    pub between: String,
    pub before_last: String,
    /// Between the two items of a pair.
    pub pair: String,
}

impl Default for ListSeparators {
    fn default() -> Self {
        Self {
            between: ", ".to_owned(),
            before_last: ", and ".to_owned(),
            pair: " and ".to_owned(),
        }
    }
}

/// `a, b, and c`
#[must_use]
pub fn sentence<S: AsRef<str>>(items: &[S], separators: &ListSeparators) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first, second] => format!("{first}{}{second}", separators.pair),
        [init @ .., last] => init.join(&separators.between) + &separators.before_last + last,
    }
}

/// Computes JavaScript's `~~number`: the low 32 bits of the whole part, as a signed number.
fn int32(number: f64) -> i32 {
    const RANGE: f64 = 4_294_967_296.0;
    if !number.is_finite() {
        return 0;
    }
    let low = number.trunc().rem_euclid(RANGE) as u32;
    low.cast_signed()
}

/// Implements JavaScript's `toFixed`: an exact half is rounded away from zero.
fn to_fixed(number: f64, places: usize) -> String {
    /// More digits than the exact expansion of any double has after the point.
    const EXACT_DIGITS: usize = 1_080;
    const PRINTED_AS_IS: f64 = 1e21;
    if number.abs() >= PRINTED_AS_IS {
        return print(number);
    }
    let exact = format!("{:.EXACT_DIGITS$}", number.abs());
    let point = exact.find('.').unwrap_or(exact.len());
    let (kept, dropped) = exact.split_at(point + 1 + places);
    let mut digits: Vec<u8> = kept.trim_end_matches('.').bytes().collect();
    if dropped.starts_with(|c| c >= '5') {
        round_up(&mut digits);
    }
    let sign = if number < 0.0 { "-" } else { "" };
    sign.chars()
        .chain(digits.into_iter().map(char::from))
        .collect()
}

fn round_up(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        match digit {
            b'.' => {}
            b'9' => *digit = b'0',
            _ => {
                *digit += 1;
                return;
            }
        }
    }
    digits.insert(0, b'1');
}

/// Shortens `1.50` to `1.5` and `1.00` to `1`. Leaves a fraction with an inner zero alone, as
/// upstream does: `1.050` stays.
fn drop_zeros(number: &mut String) {
    let Some(point) = number.find('.') else {
        return;
    };
    let fraction = number[point + 1..].trim_end_matches('0');
    if fraction.is_empty() {
        number.truncate(point);
    } else if !fraction.contains('0') {
        number.truncate(point + 1 + fraction.len());
    }
}

fn grouped(number: &str, separator: &str) -> String {
    // `1e+21` has no thousands.
    if number.contains('e') {
        return number.to_owned();
    }
    let point = number.find('.').unwrap_or(number.len());
    let start = number.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let mut out = number[..start].to_owned();
    for (place, digit) in number[start..point].char_indices() {
        if place > 0 && (point - start - place).is_multiple_of(3) {
            out.push_str(separator);
        }
        out.push(digit);
    }
    out + &number[point..]
}
