//! A text as lines that keep their ends, so that untouched lines stay unchanged.

/// A text cut at its line feeds.
#[derive(Clone, Debug)]
pub(crate) struct FileLines<'a> {
    pub(crate) lines: Vec<&'a str>,
    pub(crate) ending: &'static str,
    /// True if the last line ends with a line feed, or the text is empty.
    pub(crate) ended: bool,
}

impl<'a> FileLines<'a> {
    pub(crate) fn of(text: &'a str) -> FileLines<'a> {
        FileLines {
            lines: text.split_inclusive('\n').collect(),
            ending: dominant_ending(text),
            ended: text.is_empty() || text.ends_with('\n'),
        }
    }

    /// Returns a line without its end.
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

/// Returns the line end that most lines of the text have.
pub(crate) fn dominant_ending(text: &str) -> &'static str {
    let all = text.bytes().filter(|byte| *byte == b'\n').count();
    let windows = text.matches("\r\n").count();
    if windows * 2 > all { "\r\n" } else { "\n" }
}
