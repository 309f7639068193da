//! A text as lines that keep their ends, so that what is not touched stays as it was.

/// A text cut at its line feeds.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    pub(crate) lines: Vec<&'a str>,
    pub(crate) ending: &'static str,
    /// Whether the last line has an end; an empty text has.
    pub(crate) ended: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Lines<'a> {
        Lines {
            lines: text.split_inclusive('\n').collect(),
            ending: dominant_ending(text),
            ended: text.is_empty() || text.ends_with('\n'),
        }
    }

    /// A line without its end.
    pub(crate) fn bare(&self, at: usize) -> &'a str {
        self.lines.get(at).map_or("", |line| bare(line))
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }
}

pub(crate) fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The line end that most lines of the text have.
pub(crate) fn dominant_ending(text: &str) -> &'static str {
    let all = text.bytes().filter(|byte| *byte == b'\n').count();
    let windows = text.matches("\r\n").count();
    if windows * 2 > all { "\r\n" } else { "\n" }
}
