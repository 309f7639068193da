//! The recipe's values on the command line: by position and by name.
//!
//! Only the recipe knows which of its variables are flags, and so if the word after `--name` is its
//! value or the next positional one.

use recipe::GivenValues;

use crate::exit::CliError;

/// Reads the words that drawloom itself did not know; `is_flag` asks the recipe about a name.
pub(crate) fn read(
    words: &[String],
    is_flag: impl Fn(&str) -> bool,
) -> Result<GivenValues, CliError> {
    let mut given = GivenValues::default();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            given.positional.push(positional(word)?);
            continue;
        };
        if option.is_empty() {
            given.positional.extend(words.by_ref().cloned());
            break;
        }
        if let Some((name, value)) = option.split_once('=') {
            given.named.push((name.to_owned(), vec![value.to_owned()]));
            continue;
        }
        let is_flag = is_flag(option);
        let value = words.next_if(|next| match is_flag {
            true => matches!(next.as_str(), "true" | "false"),
            false => !next.starts_with("--"),
        });
        given
            .named
            .push((option.to_owned(), value.cloned().into_iter().collect()));
    }
    Ok(given)
}

/// Checks a positional value: `-5` and `-` are values; `-x` is an option that does not exist.
fn positional(word: &str) -> Result<String, CliError> {
    let is_option = word.strip_prefix('-').and_then(|rest| rest.chars().next());
    match is_option {
        Some(first) if !first.is_ascii_digit() && first != '.' => {
            Err(CliError::usage(format!("there is no option `{word}`"))
                .hint("a value that starts with `-` goes after `--`, or as `--name=value`"))
        }
        _ => Ok(word.to_owned()),
    }
}

/// Reads `--set NAME=VALUE`.
pub(crate) fn read_set(set: &[String], given: &mut GivenValues) -> Result<(), CliError> {
    for pair in set {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| CliError::usage(format!("`--set {pair}` needs the form NAME=VALUE")))?;
        given.named.push((name.to_owned(), vec![value.to_owned()]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` is `positional | name=value …`, a flag without `=`.
    fn check(words: &[&str], expected: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let given = read(&words, |name| matches!(name, "loud" | "no-loud")).unwrap();
        let named = given
            .named
            .iter()
            .map(|(name, values)| match values.as_slice() {
                [] => name.clone(),
                values => format!("{name}={}", values.join(",")),
            });
        let named: Vec<String> = named.collect();
        let shown = format!("{} | {}", given.positional.join(" "), named.join(" "));
        assert_eq!(shown, expected);
    }

    #[test]
    fn names_take_a_value_and_flags_do_not() {
        check(&["a", "--name", "b", "c"], "a c | name=b");
        check(&["--name=b", "c"], "c | name=b");
        check(&["--loud", "c"], "c | loud");
        check(&["--no-loud", "c"], "c | no-loud");
        check(&["--loud", "false", "c"], "c | loud=false");
        check(&["--name", "--loud"], " | name loud");
        check(&["--n", "1", "--n", "2"], " | n=1 n=2");
    }

    #[test]
    fn numbers_dashes_and_what_follows_two_dashes_are_values() {
        check(&["-5", "-", "--at", "-3"], "-5 - | at=-3");
        check(&["--", "--loud", "-x"], "--loud -x | ");
        check(&["--name="], " | name=");
    }

    #[test]
    fn an_unknown_short_option_is_wrong_usage() {
        let trouble = read(&["-x".to_owned()], |_| false).unwrap_err();
        assert_eq!(trouble.exit, crate::exit::CliExit::Usage);
    }
}
