//! Limits on counts, read from a TOML file: tidy refuses an increase, and a change that lowers a count
//! lowers its limit.

use anyhow::{Context, Result};

/// A count with the name of its limit.
pub(crate) type NamedCount = (&'static str, usize);

/// The limits of one file, by name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CountLimits(Vec<(String, usize)>);

impl CountLimits {
    pub(crate) fn read(path: &str, text: &str) -> Result<Self> {
        let table: toml::Table = text
            .parse()
            .with_context(|| format!("{path} is not TOML"))?;
        let mut limits = Vec::new();
        for (name, value) in table {
            let max = value.as_integer().and_then(|it| usize::try_from(it).ok());
            let max = max.with_context(|| format!("`{name}` in {path} must be a number"))?;
            limits.push((name, max));
        }
        Ok(Self(limits))
    }

    /// Returns a sentence for each count that is over its limit, or has none. `command` lists what
    /// was counted.
    pub(crate) fn exceeded_by(&self, counts: &[NamedCount], command: &str) -> Vec<String> {
        let mut sentences = Vec::new();
        for (name, count) in counts {
            match self.0.iter().find(|(limit, _)| limit == name) {
                Some((_, max)) if count <= max => {}
                Some((_, max)) => sentences.push(format!(
                    "{count} is more than {name} = {max}; `cargo xtask {command}` lists them, and the limit only falls"
                )),
                None => sentences.push(format!("add {name} = {count}")),
            }
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::CountLimits;

    #[test]
    fn a_count_over_its_limit_is_named_with_the_limit() {
        let limits = CountLimits::read("x.toml", "idioms_max = 1\nshared_max = 9\n").unwrap();
        let sentences = limits.exceeded_by(&[("idioms_max", 2), ("shared_max", 9)], "vocabulary");
        assert_eq!(sentences.len(), 1);
        assert!(
            sentences[0].starts_with("2 is more than idioms_max = 1"),
            "{sentences:?}"
        );
    }

    #[test]
    fn a_count_without_a_limit_is_refused() {
        let limits = CountLimits::read("x.toml", "").unwrap();
        let sentences = limits.exceeded_by(&[("idioms_max", 2)], "vocabulary");
        assert_eq!(sentences, ["add idioms_max = 2"]);
    }

    #[test]
    fn a_limit_is_a_number() {
        for text in ["idioms_max = -1", "idioms_max = \"1\"", "= 1"] {
            assert!(CountLimits::read("x.toml", text).is_err(), "{text}");
        }
    }
}
