//! Argument parsing of the helpers that take more than one text.

use std::borrow::Cow;

use super::js_text::print;
use super::measures::{ByteStyle, ListSeparators, TrailingZeros, UnitName};
use super::truncate::{CutAt, TextCut};
use super::{
    FunctionArg, FunctionOutput, change_case, edge_case, edge_plural, inflection, measures,
    truncate,
};

type FunctionResult = Result<FunctionOutput, String>;

/// Text is cut to this many characters unless the call says otherwise.
const CUT_LENGTH_DEFAULT: f64 = 20.0;
/// Length of a cut whose given length is not a number.
const CUT_LENGTH_UNREADABLE: f64 = 50.0;
const SUFFIX_DEFAULT: &str = "...";

/// Returns the text a helper works on.
pub(super) fn subject<'a>(args: &'a [FunctionArg<'_>]) -> Cow<'a, str> {
    args.first()
        .map_or(Cow::Borrowed("undefined"), FunctionArg::text)
}

pub(super) fn pluralize(args: &[FunctionArg<'_>]) -> FunctionResult {
    or_given(args, 1, || inflection::pluralize(&subject(args)))
}

pub(super) fn singularize(args: &[FunctionArg<'_>]) -> FunctionResult {
    or_given(args, 1, || inflection::singularize(&subject(args)))
}

pub(super) fn inflect(args: &[FunctionArg<'_>]) -> FunctionResult {
    let count = extra(args, 1).number();
    let given = if count == 1.0 { 2 } else { 3 };
    if count.is_nan() {
        return text(subject(args).into_owned());
    }
    or_given(args, given, || inflection::inflect(&subject(args), count))
}

/// Calls Hypergen's `pluralize`, unless there is a count, which only Edge's reads.
pub(super) fn pluralize_counted(args: &[FunctionArg<'_>]) -> FunctionResult {
    if args.len() > 1 {
        edge_pluralize(args)
    } else {
        text(inflection::pluralize(&subject(args)))
    }
}

pub(super) fn edge_pluralize(args: &[FunctionArg<'_>]) -> FunctionResult {
    let count = extra(args, 1);
    // Only the number 1 means one: a text "1" takes the plural.
    let word = match count {
        FunctionArg::Num(number) => edge_plural::pluralize(&subject(args), *number),
        _ => edge_plural::plural(&subject(args)),
    };
    text(if extra(args, 2).is_truthy() {
        format!("{} {word}", count.text())
    } else {
        word
    })
}

pub(super) fn camelize(args: &[FunctionArg<'_>]) -> FunctionResult {
    let function = if extra(args, 1).is_truthy() {
        inflection::camelize_small_first
    } else {
        inflection::camelize
    };
    text(function(&subject(args)))
}

pub(super) fn underscore(args: &[FunctionArg<'_>]) -> FunctionResult {
    let name = subject(args);
    let keeps_capitals = extra(args, 1).is_truthy() && name == name.to_uppercase();
    text(if keeps_capitals {
        name.into_owned()
    } else {
        inflection::underscore(&name)
    })
}

pub(super) fn humanize(args: &[FunctionArg<'_>]) -> FunctionResult {
    let function = if extra(args, 1).is_truthy() {
        inflection::humanize_small_first
    } else {
        inflection::humanize
    };
    text(function(&subject(args)))
}

pub(super) fn foreign_key(args: &[FunctionArg<'_>]) -> FunctionResult {
    let function = if extra(args, 1).is_truthy() {
        inflection::foreign_key_joined
    } else {
        inflection::foreign_key
    };
    text(function(&subject(args)))
}

pub(super) fn undasherize(args: &[FunctionArg<'_>]) -> FunctionResult {
    inflection::undasherize(&subject(args)).map(FunctionOutput::Str)
}

pub(super) fn transform(args: &[FunctionArg<'_>]) -> FunctionResult {
    match extra(args, 1) {
        FunctionArg::List(names) => text(inflection::transform(&subject(args), names)),
        _ => Err(
            "`transform` needs a list of what to do, such as ['pluralize', 'dasherize'].".into(),
        ),
    }
}

/// Calls Hypergen's `dotCase`, unless there are options, which only Edge's reads.
pub(super) fn dot_case(args: &[FunctionArg<'_>]) -> FunctionResult {
    if args.len() > 1 {
        edge_dot_case(args)
    } else {
        text(change_case::dot(&subject(args)))
    }
}

pub(super) fn edge_dot_case(args: &[FunctionArg<'_>]) -> FunctionResult {
    let name = edge_case::dot(&subject(args));
    text(if has(args, 1, "lowerCase") {
        name.to_lowercase()
    } else {
        name
    })
}

pub(super) fn dash_case(args: &[FunctionArg<'_>]) -> FunctionResult {
    let function = if has(args, 1, "capitalize") {
        edge_case::train
    } else {
        edge_case::dash
    };
    text(function(&subject(args)))
}

pub(super) fn truncate(args: &[FunctionArg<'_>]) -> FunctionResult {
    text(truncate::truncate(&shortened(args), &cut(args)))
}

pub(super) fn excerpt(args: &[FunctionArg<'_>]) -> FunctionResult {
    text(truncate::excerpt(&shortened(args), &cut(args)))
}

pub(super) fn sentence(args: &[FunctionArg<'_>]) -> FunctionResult {
    let Some(FunctionArg::List(items)) = args.first() else {
        return Err("`sentence` needs a list of texts.".into());
    };
    let options = extra(args, 1);
    let mut separators = ListSeparators::default();
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

pub(super) fn pretty_ms(args: &[FunctionArg<'_>]) -> FunctionResult {
    let name = if extra(args, 1).is_truthy() {
        UnitName::Word
    } else {
        UnitName::Letter
    };
    text(measures::pretty_ms(extra(args, 0).number(), name))
}

pub(super) fn to_ms(args: &[FunctionArg<'_>]) -> FunctionResult {
    match extra(args, 0) {
        FunctionArg::Num(ms) => Ok(FunctionOutput::Num(*ms)),
        duration => measures::to_ms(&duration.text()).map(FunctionOutput::Num),
    }
}

pub(super) fn pretty_bytes(args: &[FunctionArg<'_>]) -> FunctionResult {
    let FunctionArg::Num(bytes) = extra(args, 0) else {
        return Ok(FunctionOutput::Null);
    };
    let written = measures::pretty_bytes(*bytes, &byte_style(extra(args, 1))?)?;
    Ok(written.map_or(FunctionOutput::Null, FunctionOutput::Str))
}

pub(super) fn to_bytes(args: &[FunctionArg<'_>]) -> FunctionResult {
    Ok(match extra(args, 0) {
        FunctionArg::Num(bytes) => FunctionOutput::Num(*bytes),
        FunctionArg::Str(size) => {
            measures::to_bytes(size).map_or(FunctionOutput::Null, FunctionOutput::Num)
        }
        _ => FunctionOutput::Null,
    })
}

pub(super) fn ordinal(args: &[FunctionArg<'_>]) -> FunctionResult {
    match extra(args, 0) {
        FunctionArg::Num(number) => measures::ordinal_number(*number),
        other => measures::ordinal(&other.text()),
    }
    .map(FunctionOutput::Str)
}

fn text(text: String) -> FunctionResult {
    Ok(FunctionOutput::Str(text))
}

fn extra<'a, 'b>(args: &'a [FunctionArg<'b>], place: usize) -> &'a FunctionArg<'b> {
    args.get(place).unwrap_or(&FunctionArg::Undefined)
}

fn has(args: &[FunctionArg<'_>], place: usize, option: &str) -> bool {
    extra(args, place)
        .option(option)
        .is_some_and(FunctionArg::is_truthy)
}

/// Returns the form that the caller gives, else the result of `function`.
fn or_given(
    args: &[FunctionArg<'_>],
    place: usize,
    function: impl FnOnce() -> String,
) -> FunctionResult {
    let given = extra(args, place);
    text(if given.is_truthy() {
        given.text().into_owned()
    } else {
        function()
    })
}

/// Returns the text to cut: a missing one is empty here, not the word `undefined`.
fn shortened<'a>(args: &'a [FunctionArg<'_>]) -> Cow<'a, str> {
    match extra(args, 0) {
        FunctionArg::Undefined => Cow::Borrowed(""),
        value => value.text(),
    }
}

fn cut(args: &[FunctionArg<'_>]) -> TextCut {
    let length = match extra(args, 1) {
        FunctionArg::Undefined => CUT_LENGTH_DEFAULT,
        FunctionArg::Num(length) => *length,
        _ => CUT_LENGTH_UNREADABLE,
    };
    let options = extra(args, 2);
    let whole_words = match options.option("completeWords") {
        Some(value) => *value == FunctionArg::Bool(true),
        None => !options.option("strict").is_some_and(FunctionArg::is_truthy),
    };
    let suffix = match options.option("suffix") {
        Some(FunctionArg::Str(suffix)) => suffix,
        _ => SUFFIX_DEFAULT,
    };
    TextCut {
        length,
        at: if whole_words {
            CutAt::WordEnd
        } else {
            CutAt::Character
        },
        suffix: suffix.to_owned(),
    }
}

fn byte_style(options: &FunctionArg<'_>) -> Result<ByteStyle, String> {
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
        style.zeros = TrailingZeros::Keep;
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
