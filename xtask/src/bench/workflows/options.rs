//! The options of the benchmark: how much of it, which contenders, and which program.

use std::path::PathBuf;

use anyhow::{Result, bail};

/// The amount to measure, and the build to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Full,
    /// A tenth of the work once, with development builds: shows that everything works, and no more.
    Quick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    All,
    /// Drawloom and the floor: what changes while Drawloom is being made faster.
    Ours,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) extent: Extent,
    pub(super) sides: Sides,
    /// A program that is there already; without one it is built.
    pub(super) drawloom: Option<PathBuf>,
}

impl Options {
    /// Parses the words on the command line.
    pub(super) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            extent: Extent::Full,
            sides: Sides::All,
            drawloom: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match (*word, words.as_slice()) {
                ("quick", _) => options.extent = Extent::Quick,
                ("ours", _) => options.sides = Sides::Ours,
                ("--drawloom", [path, ..]) => {
                    // Programs are started in other folders than this one.
                    options.drawloom = Some(std::path::absolute(path)?);
                    words.next();
                }
                ("--drawloom", []) => bail!("`--drawloom` wants the path of a program"),
                (other, _) => {
                    bail!("there is no `{other}` here; say `quick`, `ours` or `--drawloom PATH`")
                }
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(extent: Extent, sides: Sides, drawloom: Option<&str>) -> Option<Options> {
        Some(Options {
            extent,
            sides,
            drawloom: drawloom.map(PathBuf::from),
        })
    }

    #[test]
    fn words_ask_for_less_or_for_another_program() {
        let cases: [(&[&str], Option<Options>); 7] = [
            (&[], options(Extent::Full, Sides::All, None)),
            (&["quick"], options(Extent::Quick, Sides::All, None)),
            (&["ours"], options(Extent::Full, Sides::Ours, None)),
            (
                &["ours", "quick"],
                options(Extent::Quick, Sides::Ours, None),
            ),
            (
                &["--drawloom", "/opt/drawloom", "ours"],
                options(Extent::Full, Sides::Ours, Some("/opt/drawloom")),
            ),
            (&["--drawloom"], None),
            (&["theirs"], None),
        ];
        for (words, expected) in cases {
            assert_eq!(Options::parse(words).ok(), expected, "{words:?}");
        }
    }
}
