//! How the helpers that take more than one text read their arguments.

use std::borrow::Cow;

use super::js_text::print;
use super::measures::{ByteStyle, Separators, UnitName, Zeros};
use super::shorten::{Cut, CutAt};
use super::{Arg, Out, change_case, edge_case, edge_plural, inflection, measures, shorten};

type Answer = Result<Out, String>;

/// Text is cut to this many characters unless the call says otherwise.
const CUT_LENGTH_DEFAULT: f64 = 20.0;
/// And to this many if what it says is not a number.
const CUT_LENGTH_UNREADABLE: f64 = 50.0;
const SUFFIX_DEFAULT: &str = "...";

/// The text a helper works on.
pub(super) fn subject<'a>(args: &'a [Arg<'_>]) -> Cow<'a, str> {
    args.first().map_or(Cow::Borrowed("undefined"), Arg::text)
}

pub(super) fn pluralize(args: &[Arg<'_>]) -> Answer {
    or_given(args, 1, || inflection::pluralize(&subject(args)))
}

pub(super) fn singularize(args: &[Arg<'_>]) -> Answer {
    or_given(args, 1, || inflection::singularize(&subject(args)))
}

pub(super) fn inflect(args: &[Arg<'_>]) -> Answer {
    let count = extra(args, 1).number();
    let given = if count == 1.0 { 2 } else { 3 };
    if count.is_nan() {
        return text(subject(args).into_owned());
    }
    or_given(args, given, || inflection::inflect(&subject(args), count))
}

/// Hypergen's `pluralize`, unless there is a count, which only Edge's reads.
pub(super) fn pluralize_counted(args: &[Arg<'_>]) -> Answer {
    if args.len() > 1 {
        edge_pluralize(args)
    } else {
        text(inflection::pluralize(&subject(args)))
    }
}

pub(super) fn edge_pluralize(args: &[Arg<'_>]) -> Answer {
    let count = extra(args, 1);
    // Only the number 1 means one: a text "1" takes the plural.
    let word = match count {
        Arg::Num(number) => edge_plural::pluralize(&subject(args), *number),
        _ => edge_plural::plural(&subject(args)),
    };
    text(if extra(args, 2).is_truthy() {
        format!("{} {word}", count.text())
    } else {
        word
    })
}

pub(super) fn camelize(args: &[Arg<'_>]) -> Answer {
    let function = if extra(args, 1).is_truthy() {
        inflection::camelize_small_first
    } else {
        inflection::camelize
    };
    text(function(&subject(args)))
}

pub(super) fn underscore(args: &[Arg<'_>]) -> Answer {
    let name = subject(args);
    let keeps_capitals = extra(args, 1).is_truthy() && name == name.to_uppercase();
    text(if keeps_capitals {
        name.into_owned()
    } else {
        inflection::underscore(&name)
    })
}

pub(super) fn humanize(args: &[Arg<'_>]) -> Answer {
    let function = if extra(args, 1).is_truthy() {
        inflection::humanize_small_first
    } else {
        inflection::humanize
    };
    text(function(&subject(args)))
}

pub(super) fn foreign_key(args: &[Arg<'_>]) -> Answer {
    let function = if extra(args, 1).is_truthy() {
        inflection::foreign_key_joined
    } else {
        inflection::foreign_key
    };
    text(function(&subject(args)))
}

pub(super) fn undasherize(args: &[Arg<'_>]) -> Answer {
    inflection::undasherize(&subject(args)).map(Out::Str)
}

pub(super) fn transform(args: &[Arg<'_>]) -> Answer {
    match extra(args, 1) {
        Arg::List(names) => text(inflection::transform(&subject(args), names)),
        _ => Err(
            "`transform` needs a list of what to do, such as ['pluralize', 'dasherize'].".into(),
        ),
    }
}

/// Hypergen's `dotCase`, unless there are options, which only Edge's reads.
pub(super) fn dot_case(args: &[Arg<'_>]) -> Answer {
    if args.len() > 1 {
        edge_dot_case(args)
    } else {
        text(change_case::dot(&subject(args)))
    }
}

pub(super) fn edge_dot_case(args: &[Arg<'_>]) -> Answer {
    let name = edge_case::dot(&subject(args));
    text(if has(args, 1, "lowerCase") {
        name.to_lowercase()
    } else {
        name
    })
}

pub(super) fn dash_case(args: &[Arg<'_>]) -> Answer {
    let function = if has(args, 1, "capitalize") {
        edge_case::train
    } else {
        edge_case::dash
    };
    text(function(&subject(args)))
}

pub(super) fn truncate(args: &[Arg<'_>]) -> Answer {
    text(shorten::truncate(&shortened(args), &cut(args)))
}

pub(super) fn excerpt(args: &[Arg<'_>]) -> Answer {
    text(shorten::excerpt(&shortened(args), &cut(args)))
}

pub(super) fn sentence(args: &[Arg<'_>]) -> Answer {
    let Some(Arg::List(items)) = args.first() else {
        return Err("`sentence` needs a list of texts.".into());
    };
    let options = extra(args, 1);
    let mut separators = Separators::default();
    for (name, place) in [
        ("separator", &mut separators.between),
        ("lastSeparator", &mut separators.before_last),
    ] {
        if let Some(given) = options.option(name) {
            *place = given.text().into_owned();
        }
    }
    if let Some(given) = options.option("pairSeparator").filter(|it| it.is_truthy()) {
        separators.pair = given.text().into_owned();
    }
    text(measures::sentence(items, &separators))
}

pub(super) fn pretty_ms(args: &[Arg<'_>]) -> Answer {
    let name = if extra(args, 1).is_truthy() {
        UnitName::Word
    } else {
        UnitName::Letter
    };
    text(measures::pretty_ms(extra(args, 0).number(), name))
}

pub(super) fn to_ms(args: &[Arg<'_>]) -> Answer {
    match extra(args, 0) {
        Arg::Num(ms) => Ok(Out::Num(*ms)),
        duration => measures::to_ms(&duration.text()).map(Out::Num),
    }
}

pub(super) fn pretty_bytes(args: &[Arg<'_>]) -> Answer {
    let Arg::Num(bytes) = extra(args, 0) else {
        return Ok(Out::Null);
    };
    let written = measures::pretty_bytes(*bytes, &byte_style(extra(args, 1))?)?;
    Ok(written.map_or(Out::Null, Out::Str))
}

pub(super) fn to_bytes(args: &[Arg<'_>]) -> Answer {
    Ok(match extra(args, 0) {
        Arg::Num(bytes) => Out::Num(*bytes),
        Arg::Str(size) => measures::to_bytes(size).map_or(Out::Null, Out::Num),
        _ => Out::Null,
    })
}

pub(super) fn ordinal(args: &[Arg<'_>]) -> Answer {
    match extra(args, 0) {
        Arg::Num(number) => measures::ordinal_number(*number),
        other => measures::ordinal(&other.text()),
    }
    .map(Out::Str)
}

fn text(text: String) -> Answer {
    Ok(Out::Str(text))
}

fn extra<'a, 'b>(args: &'a [Arg<'b>], place: usize) -> &'a Arg<'b> {
    args.get(place).unwrap_or(&Arg::Undefined)
}

fn has(args: &[Arg<'_>], place: usize, option: &str) -> bool {
    extra(args, place)
        .option(option)
        .is_some_and(Arg::is_truthy)
}

/// The form the caller gives for itself, else what `function` makes.
fn or_given(args: &[Arg<'_>], place: usize, function: impl FnOnce() -> String) -> Answer {
    let given = extra(args, place);
    text(if given.is_truthy() {
        given.text().into_owned()
    } else {
        function()
    })
}

/// What is to be cut: no text is an empty one here, not the word `undefined`.
fn shortened<'a>(args: &'a [Arg<'_>]) -> Cow<'a, str> {
    match extra(args, 0) {
        Arg::Undefined => Cow::Borrowed(""),
        value => value.text(),
    }
}

fn cut(args: &[Arg<'_>]) -> Cut {
    let length = match extra(args, 1) {
        Arg::Undefined => CUT_LENGTH_DEFAULT,
        Arg::Num(length) => *length,
        _ => CUT_LENGTH_UNREADABLE,
    };
    let options = extra(args, 2);
    let whole_words = match options.option("completeWords") {
        Some(value) => *value == Arg::Bool(true),
        None => !options.option("strict").is_some_and(Arg::is_truthy),
    };
    let suffix = match options.option("suffix") {
        Some(Arg::Str(suffix)) => suffix,
        _ => SUFFIX_DEFAULT,
    };
    Cut {
        length,
        at: if whole_words {
            CutAt::WordEnd
        } else {
            CutAt::Character
        },
        suffix: suffix.to_owned(),
    }
}

fn byte_style(options: &Arg<'_>) -> Result<ByteStyle, String> {
    let mut style = ByteStyle::default();
    let given = |name| options.option(name).filter(|value| value.is_truthy());
    if let Some(separator) = given("thousandsSeparator") {
        style.thousands_separator = separator.text().into_owned();
    }
    if let Some(separator) = given("unitSeparator") {
        style.unit_separator = separator.text().into_owned();
    }
    style.unit = given("unit").map(|unit| unit.text().into_owned());
    if given("fixedDecimals").is_some() {
        style.zeros = Zeros::Keep;
    }
    if let Some(places) = options.option("decimalPlaces") {
        style.decimal_places = decimal_places(places.number())?;
    }
    Ok(style)
}

fn decimal_places(places: f64) -> Result<usize, String> {
    let whole = if places.is_nan() { 0.0 } else { places.trunc() };
    if (0.0..=measures::DECIMAL_PLACES_MAX as f64).contains(&whole) {
        Ok(whole as usize)
    } else {
        Err(format!(
            "`decimalPlaces` must be from 0 to {}; it is {}.",
            measures::DECIMAL_PLACES_MAX,
            print(places)
        ))
    }
}
