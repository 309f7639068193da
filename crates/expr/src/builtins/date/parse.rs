//! Dates from text: ISO 8601, and the looser forms that people write.

use super::calendar::time;
use super::print::MONTHS;

/// Parses a time, or returns NaN. A text without a zone is in UTC.
pub(super) fn parse(text: &str) -> f64 {
    const DATE_BYTES_MAX: usize = 200;
    if text.len() > DATE_BYTES_MAX {
        return f64::NAN;
    }
    iso(text).or_else(|| loose(text)).unwrap_or(f64::NAN)
}

/// Reads a text from left to right.
struct DateReader<'t> {
    rest: &'t str,
}

impl DateReader<'_> {
    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads a number of at least `min` and at most `max` digits.
    fn digits(&mut self, min: usize, max: usize) -> Option<f64> {
        let len = self
            .rest
            .bytes()
            .take(max)
            .take_while(u8::is_ascii_digit)
            .count();
        if len < min {
            return None;
        }
        let number = self.rest[..len].parse().ok();
        self.rest = &self.rest[len..];
        number
    }

    /// Reads `+hh:mm` or `+hhmm`, in minutes, after the sign.
    fn offset(&mut self) -> Option<f64> {
        let hours = self.digits(2, 2)?;
        let minutes = if self.eat(':') || !self.rest.is_empty() {
            self.digits(2, 2)?
        } else {
            0.0
        };
        Some(hours * 60.0 + minutes)
    }
}

/// Parses `2024-01-02T03:04:05.006Z` and its shorter forms.
fn iso(text: &str) -> Option<f64> {
    let mut reader = DateReader { rest: text };
    let sign = if reader.eat('+') {
        Some(1.0)
    } else if reader.eat('-') {
        Some(-1.0)
    } else {
        None
    };
    let year = match sign {
        Some(sign) => sign * reader.digits(6, 6)?,
        None => reader.digits(4, 4)?,
    };
    let mut numbers = [year, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    if reader.eat('-') {
        numbers[1] = reader.digits(2, 2)? - 1.0;
        if reader.eat('-') {
            numbers[2] = reader.digits(2, 2)?;
        }
    }
    let mut offset = 0.0;
    if reader.eat('T') || reader.eat('t') || (reader.rest.len() > 1 && reader.eat(' ')) {
        offset = iso_time(&mut reader, &mut numbers)?;
    }
    let [_, month, day, hour, minute, second, _] = numbers;
    let fits = reader.rest.is_empty()
        && (0.0..12.0).contains(&month)
        && (1.0..=31.0).contains(&day)
        && (hour < 24.0 || (hour == 24.0 && minute == 0.0 && second == 0.0))
        && minute < 60.0
        && second < 60.0;
    fits.then(|| time(numbers) - offset * 60_000.0)
}

/// Reads the time of day; returns the zone's offset in minutes.
fn iso_time(reader: &mut DateReader<'_>, numbers: &mut [f64; 7]) -> Option<f64> {
    numbers[3] = reader.digits(2, 2)?;
    if !reader.eat(':') {
        return None;
    }
    numbers[4] = reader.digits(2, 2)?;
    if reader.eat(':') {
        numbers[5] = reader.digits(2, 2)?;
        if reader.eat('.') {
            let before = reader.rest;
            reader.digits(1, usize::MAX)?;
            let len = (before.len() - reader.rest.len()).min(3);
            numbers[6] = format!("{:0<3}", &before[..len]).parse().ok()?;
        }
    }
    if reader.eat('Z') || reader.eat('z') {
        return Some(0.0);
    }
    if reader.eat('+') {
        return reader.offset();
    }
    if reader.eat('-') {
        return reader.offset().map(|offset| -offset);
    }
    Some(0.0)
}

/// The parts of a loosely written date that were read so far.
#[derive(Default)]
struct LooseDate {
    month: Option<f64>,
    /// Numbers that are not part of a time, in order.
    numbers: Vec<f64>,
    clock: Vec<f64>,
    afternoon: Option<bool>,
    offset: f64,
}

/// Parses `Jan 2, 2024 3:04 PM`, `2 January 2024`, `1/2/2024`, `Tue, 02 Jan 2024 03:04:05 GMT`.
fn loose(text: &str) -> Option<f64> {
    let mut reader = DateReader { rest: text };
    let mut found = LooseDate::default();
    while let Some(c) = reader.rest.chars().next() {
        match c {
            '0'..='9' => found.number(&mut reader)?,
            '(' => {
                let end = reader.rest.find(')')?;
                reader.rest = &reader.rest[end + 1..];
            }
            '+' | '-' if !found.clock.is_empty() => {
                reader.eat(c);
                let offset = reader.offset()?;
                found.offset = if c == '-' { -offset } else { offset };
            }
            c if c.is_alphabetic() => {
                let len = reader.rest.find(|c: char| !c.is_alphabetic());
                let word = &reader.rest[..len.unwrap_or(reader.rest.len())];
                found.word(word)?;
                reader.rest = &reader.rest[word.len()..];
            }
            ' ' | ',' | '/' | '-' | '.' => reader.rest = &reader.rest[1..],
            _ => return None,
        }
    }
    found.finish()
}

impl LooseDate {
    fn number(&mut self, reader: &mut DateReader<'_>) -> Option<()> {
        let number = reader.digits(1, 9)?;
        if !reader.rest.starts_with(':') || !self.clock.is_empty() {
            self.numbers.push(number);
            return Some(());
        }
        self.clock.push(number);
        while self.clock.len() < 3 && reader.eat(':') {
            self.clock.push(reader.digits(1, 2)?);
        }
        if self.clock.len() == 3 && reader.eat('.') {
            let digits = reader.digits(1, 3)?;
            self.clock.push(digits);
        }
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let word = word.to_ascii_lowercase();
        if let "am" | "pm" = word.as_str() {
            self.afternoon = Some(word == "pm");
            return Some(());
        }
        if let "z" | "utc" | "gmt" | "ut" | "t" = word.as_str() {
            return Some(());
        }
        let start = word.get(..3)?;
        let month = MONTHS
            .iter()
            .position(|name| name[..3].eq_ignore_ascii_case(start));
        if let Some(month) = month {
            self.month = Some(month as f64);
            return Some(());
        }
        matches!(start, "sun" | "mon" | "tue" | "wed" | "thu" | "fri" | "sat").then_some(())
    }

    fn finish(self) -> Option<f64> {
        let (year, month, day) = match (self.month, &self.numbers[..]) {
            (Some(month), [day, year]) if *day <= 31.0 => (*year, month, *day),
            (Some(month), [year, day]) => (*year, month, *day),
            (Some(month), [day]) if *day <= 31.0 => (2001.0, month, *day),
            (Some(month), [year]) => (*year, month, 1.0),
            (None, [year, month, day]) if *year > 31.0 => (*year, month - 1.0, *day),
            (None, [month, day, year]) => (*year, month - 1.0, *day),
            (None, [month, day]) => (2001.0, month - 1.0, *day),
            _ => return None,
        };
        let year = match year {
            0.0..50.0 => year + 2000.0,
            50.0..100.0 => year + 1900.0,
            year => year,
        };
        let clock = |place: usize| self.clock.get(place).copied().unwrap_or(0.0);
        let hour = match (clock(0), self.afternoon) {
            (12.0, Some(false)) => 0.0,
            (hour, Some(true)) if hour < 12.0 => hour + 12.0,
            (hour, _) => hour,
        };
        let fits = (0.0..12.0).contains(&month)
            && (1.0..=31.0).contains(&day)
            && hour < 25.0
            && clock(1) < 60.0
            && clock(2) < 60.0;
        let numbers = [year, month, day, hour, clock(1), clock(2), clock(3)];
        fits.then(|| time(numbers) - self.offset * 60_000.0)
    }
}
