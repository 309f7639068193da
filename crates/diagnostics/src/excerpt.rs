//! A line of a source with a caret below it, cut to a readable width.

/// Limits the characters of a source line that are shown.
pub const EXCERPT_CHARS_MAX: usize = 100;

/// A line of a source with a problem. Tabs are shown as spaces, so that the caret keeps its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceExcerpt {
    pub text: String,
    /// The column of the caret below the text, counted from 0.
    pub caret: usize,
    /// The width of the caret, at least 1.
    pub width: usize,
}

impl SourceExcerpt {
    /// Cuts a line around a column, both counted in characters, the column from 0.
    #[must_use]
    pub fn of_line(line: &str, column: usize, width: usize) -> Self {
        let skipped = column.saturating_sub(EXCERPT_CHARS_MAX / 2);
        let shown = line.chars().skip(skipped).take(EXCERPT_CHARS_MAX);
        let mut text: String = shown.map(|c| if c == '\t' { ' ' } else { c }).collect();
        let mut caret = column - skipped;
        if skipped > 0 {
            text.insert(0, '…');
            caret += 1;
        }
        if line.chars().nth(skipped + EXCERPT_CHARS_MAX).is_some() {
            text.push('…');
        }
        let room = text.chars().count().saturating_sub(caret).max(1);
        SourceExcerpt {
            text,
            caret,
            width: width.clamp(1, room),
        }
    }

    /// Prints the line with its number, the caret below it, and a hint:
    ///
    /// ```text
    ///    |
    /// 12 | A -> B
    ///    |   ^^
    ///    = hint: write `-->`
    /// ```
    #[must_use]
    pub fn print(&self, line_number: usize, hint: Option<&str>) -> String {
        let number = line_number.to_string();
        let margin = " ".repeat(number.len());
        let caret = " ".repeat(self.caret) + &"^".repeat(self.width);
        let mut out = format!("{margin} |\n{number} | {}\n{margin} | {caret}\n", self.text);
        if let Some(hint) = hint {
            out.push_str(&format!("{margin} = hint: {hint}\n"));
        }
        out
    }
}

/// Returns the white space before a caret below column `column` of a line, counted from 0: a tab for a
/// tab, so that the caret keeps its place however wide tabs are shown.
#[must_use]
pub fn caret_padding(line: &str, column: usize) -> String {
    let before = line.chars().take(column);
    before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::{EXCERPT_CHARS_MAX, SourceExcerpt, caret_padding};

    #[track_caller]
    fn check(line: &str, (column, width): (usize, usize), expected: &str) {
        let printed = SourceExcerpt::of_line(line, column, width).print(7, None);
        assert_eq!(printed, expected);
    }

    #[test]
    fn the_caret_is_below_what_is_wrong() {
        check("A --> B", (6, 1), "  |\n7 | A --> B\n  |       ^\n");
        check("\tA --> B", (1, 7), "  |\n7 |  A --> B\n  |  ^^^^^^^\n");
    }

    #[test]
    fn the_caret_ends_with_the_line() {
        check("ab", (1, 40), "  |\n7 | ab\n  |  ^\n");
        check("ab", (2, 1), "  |\n7 | ab\n  |   ^\n");
        check("", (0, 0), "  |\n7 | \n  | ^\n");
    }

    #[test]
    fn the_hint_is_in_line_with_the_margin() {
        let printed = SourceExcerpt::of_line("A -> B", 2, 2).print(12, Some("write `-->`"));
        let expected = "   |\n12 | A -> B\n   |   ^^\n   = hint: write `-->`\n";
        assert_eq!(printed, expected);
    }

    #[test]
    fn a_long_line_is_cut_on_both_sides() {
        let line = "x".repeat(150) + "é" + &"y".repeat(150);
        let excerpt = SourceExcerpt::of_line(&line, 150, 1);
        assert_eq!(excerpt.text.chars().count(), EXCERPT_CHARS_MAX + 2);
        assert!(excerpt.text.starts_with('…') && excerpt.text.ends_with('…'));
        assert_eq!(excerpt.text.chars().nth(excerpt.caret), Some('é'));
    }

    #[test]
    fn the_padding_repeats_tabs() {
        assert_eq!(caret_padding("\ta\tb", 3), "\t \t");
        assert_eq!(caret_padding("ab", 9), "  ");
    }
}
