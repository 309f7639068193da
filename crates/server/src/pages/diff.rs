//! Differences of files as tables: unified or side by side, with the words that changed marked and a little
//! colour for strings, comments and keywords.

use maud::{Markup, html};

/// How many words of a line are compared; longer lines are marked as a whole.
const WORDS_MAX: usize = 160;

/// One change of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShownHunk<'d> {
    /// The line that begins with `@@`.
    pub(super) head: &'d str,
    lines: Vec<ShownLine<'d>>,
}

/// A line of a change, with its numbers on both sides.
#[derive(Debug, PartialEq, Eq)]
struct ShownLine<'d> {
    old: Option<usize>,
    new: Option<usize>,
    text: &'d str,
    /// The places in the text, in bytes, that differ from the line it was paired with.
    marks: Vec<(usize, usize)>,
}

impl ShownLine<'_> {
    fn class(&self) -> &'static str {
        match (self.old, self.new) {
            (Some(_), Some(_)) => "",
            (None, _) => "a",
            (_, None) => "d",
        }
    }
}

/// How a difference is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DiffLayout {
    #[default]
    Unified,
    SideBySide,
}

/// How many lines were added and removed.
pub(super) fn counts(diff: &str) -> (usize, usize) {
    let starts = |sign: char, head: &str| {
        diff.lines()
            .filter(|line| line.starts_with(sign) && !line.starts_with(head))
            .count()
    };
    (starts('+', "+++"), starts('-', "---"))
}

/// Reads the changes of a unified diff.
pub(super) fn hunks(diff: &str) -> Vec<ShownHunk<'_>> {
    let mut hunks: Vec<ShownHunk<'_>> = Vec::new();
    let (mut old, mut new) = (0, 0);
    for text in diff.lines() {
        if text.starts_with("@@") {
            (old, new) = starts(text);
            hunks.push(ShownHunk {
                head: text,
                lines: Vec::new(),
            });
            continue;
        }
        // Lines before the first change are about the file.
        let Some(hunk) = hunks.last_mut() else {
            continue;
        };
        let (sign, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
        let numbers = match sign {
            "+" => (None, Some(new)),
            "-" => (Some(old), None),
            " " | "" => (Some(old), Some(new)),
            _ => continue,
        };
        old += usize::from(numbers.0.is_some());
        new += usize::from(numbers.1.is_some());
        hunk.lines.push(ShownLine {
            old: numbers.0,
            new: numbers.1,
            text: rest,
            marks: Vec::new(),
        });
    }
    for hunk in &mut hunks {
        mark_words(&mut hunk.lines);
    }
    hunks
}

/// The line numbers that a change begins with: `@@ -3,2 +4,3 @@`.
fn starts(head: &str) -> (usize, usize) {
    let number = |sign: char| {
        let part = head
            .split_whitespace()
            .find_map(|part| part.strip_prefix(sign))?;
        part.split(',').next()?.parse().ok()
    };
    (number('-').unwrap_or(1), number('+').unwrap_or(1))
}

/// Marks what differs between each removed line and the added one that takes its place.
fn mark_words(lines: &mut [ShownLine<'_>]) {
    let mut at = 0;
    while at < lines.len() {
        let begin = at;
        let removed = lines[begin..]
            .iter()
            .take_while(|line| line.class() == "d")
            .count();
        let added = lines[begin + removed..]
            .iter()
            .take_while(|line| line.class() == "a")
            .count();
        // A line is compared with the first one behind the last pair that is much like it.
        let mut free = begin + removed;
        for old in begin..begin + removed {
            let paired = (free..begin + removed + added).find_map(|new| {
                let places = differences(lines[old].text, lines[new].text)?;
                Some((new, places))
            });
            if let Some((new, (in_old, in_new))) = paired {
                lines[old].marks = in_old;
                lines[new].marks = in_new;
                free = new + 1;
            }
        }
        at = begin + (removed + added).max(1);
    }
}

type MarkedPlaces = Vec<(usize, usize)>;

/// Returns the places that differ, or `None` if the lines have little in common.
fn differences(old: &str, new: &str) -> Option<(MarkedPlaces, MarkedPlaces)> {
    let (one, other) = (words(old), words(new));
    if one.len() > WORDS_MAX || other.len() > WORDS_MAX {
        return None;
    }
    let wide = other.len() + 1;
    let mut longest = vec![0_u16; (one.len() + 1) * wide];
    for (row, a) in one.iter().enumerate().rev() {
        for (column, b) in other.iter().enumerate().rev() {
            longest[row * wide + column] = match a.1 == b.1 {
                true => longest[(row + 1) * wide + column + 1] + 1,
                false => longest[(row + 1) * wide + column].max(longest[row * wide + column + 1]),
            };
        }
    }
    let is_alike = usize::from(longest[0]) * 2 > one.len().max(other.len());
    if !is_alike {
        return None;
    }
    let (mut row, mut column) = (0, 0);
    let (mut in_old, mut in_new) = (Vec::new(), Vec::new());
    while row < one.len() || column < other.len() {
        let is_same = row < one.len() && column < other.len() && one[row].1 == other[column].1;
        if is_same {
            (row, column) = (row + 1, column + 1);
        } else if column >= other.len()
            || (row < one.len()
                && longest[(row + 1) * wide + column] >= longest[row * wide + column + 1])
        {
            add_place(&mut in_old, one[row]);
            row += 1;
        } else {
            add_place(&mut in_new, other[column]);
            column += 1;
        }
    }
    Some((in_old, in_new))
}

fn add_place(places: &mut MarkedPlaces, (at, word): (usize, &str)) {
    match places.last_mut().filter(|(_, end)| *end == at) {
        Some((_, end)) => *end += word.len(),
        None => places.push((at, at + word.len())),
    }
}

/// The words of a line with their places: letters and digits together, everything else one by one.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((at, first)) = rest.next() {
        let mut end = at + first.len_utf8();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        while let Some((next, c)) = rest.peek().copied() {
            let joins = (is_word(first) && is_word(c)) || (first == ' ' && c == ' ');
            if !joins {
                break;
            }
            end = next + c.len_utf8();
            rest.next();
        }
        words.push((at, &text[at..end]));
    }
    words
}

/// The columns of a table in a layout: they have their widths before the first row says anything.
pub(super) fn columns(layout: DiffLayout) -> Markup {
    html! {
        @if layout == DiffLayout::SideBySide { colgroup { col class="ln"; col; col class="ln"; col; } }
    }
}

/// The row that begins a change.
pub(super) fn head_row(hunk: &ShownHunk<'_>, layout: DiffLayout) -> Markup {
    html! {
        tr class="h" {
            @match layout {
                DiffLayout::Unified => { td class="ln" {} td class="ln" {} td { (hunk.head) } },
                DiffLayout::SideBySide => { td class="ln" {} td colspan="3" { (hunk.head) } },
            }
        }
    }
}

/// The lines of a change. At most `left` are shown, which is counted down.
pub(super) fn rows(hunk: &ShownHunk<'_>, layout: DiffLayout, left: &mut usize) -> Markup {
    let shown = hunk.lines.len().min(*left);
    *left -= shown;
    let lines = &hunk.lines[..shown];
    html! {
        @match layout {
            DiffLayout::Unified => @for line in lines {
                tr class=(line.class()) { td class="ln" { @if let Some(old) = line.old { (old) } } td class="ln" { @if let Some(new) = line.new { (new) } } td { (sign(line)) (code(line)) } }
            },
            DiffLayout::SideBySide => @for (old, new) in pairs(lines) {
                tr { (side(old, old.and_then(|line| line.old))) (side(new, new.and_then(|line| line.new))) }
            },
        }
        @if shown < hunk.lines.len() { tr class="h" { td colspan="4" { "… " (hunk.lines.len() - shown) " more lines of this change" } } }
    }
}

/// The sign that a screen reader and a copy get beside the colour.
fn sign(line: &ShownLine<'_>) -> &'static str {
    match line.class() {
        "a" => "+",
        "d" => "-",
        _ => " ",
    }
}

fn side(line: Option<&ShownLine<'_>>, number: Option<usize>) -> Markup {
    html! {
        @match line {
            Some(line) => { td class={ "ln " (line.class()) } { @if let Some(number) = number { (number) } } td class={ "half " (line.class()) } { (sign(line)) (code(line)) } },
            None => { td class="ln gap" {} td class="half gap" {} },
        }
    }
}

/// Lines next to those that take their place.
fn pairs<'l, 'd>(
    lines: &'l [ShownLine<'d>],
) -> Vec<(Option<&'l ShownLine<'d>>, Option<&'l ShownLine<'d>>)> {
    let mut pairs = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].class().is_empty() {
            pairs.push((Some(&lines[at]), Some(&lines[at])));
            at += 1;
            continue;
        }
        let removed = lines[at..]
            .iter()
            .take_while(|line| line.class() == "d")
            .count();
        let behind = &lines[at + removed..];
        let added = behind.iter().take_while(|line| line.class() == "a").count();
        for row in 0..removed.max(added) {
            let old = (row < removed).then(|| &lines[at + row]);
            let new = (row < added).then(|| &behind[row]);
            pairs.push((old, new));
        }
        at += removed + added;
    }
    pairs
}

/// The text of a line: what changed in `b`, strings, comments and keywords in classes.
fn code(line: &ShownLine<'_>) -> Markup {
    let mut cuts: Vec<usize> = line.marks.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let colours = colours(line.text);
    cuts.extend(colours.iter().flat_map(|(a, b, _)| [*a, *b]));
    cuts.extend([0, line.text.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    html! {
        @for cut in cuts.windows(2) {
            @let piece = &line.text[cut[0]..cut[1]];
            @let is_marked = line.marks.iter().any(|(a, b)| *a <= cut[0] && cut[1] <= *b);
            @let class = colours.iter().find(|(a, b, _)| *a <= cut[0] && cut[1] <= *b).map(|(.., class)| *class);
            @match (is_marked, class) {
                (true, class) => b class=[class] { (piece) },
                (false, Some(class)) => i class=(class) { (piece) },
                (false, None) => (piece),
            }
        }
    }
}

const KEYWORDS: [&str; 44] = [
    "async",
    "await",
    "break",
    "case",
    "class",
    "const",
    "continue",
    "def",
    "elif",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "if",
    "impl",
    "import",
    "in",
    "interface",
    "let",
    "match",
    "mod",
    "new",
    "nil",
    "None",
    "null",
    "package",
    "pub",
    "return",
    "self",
    "static",
    "struct",
    "this",
    "true",
    "type",
    "use",
    "var",
    "while",
    "yield",
];

/// Where strings, comments and keywords are. A guess by line that is good for most languages.
fn colours(text: &str) -> Vec<(usize, usize, &'static str)> {
    let mut found = Vec::new();
    let mut skip_to = 0;
    for (at, word) in words(text) {
        if at < skip_to {
            continue;
        }
        let rest = &text[at..];
        let is_comment = rest.starts_with("//")
            || rest.starts_with("/*")
            || (word == "#" && text[..at].trim().is_empty());
        if is_comment {
            found.push((at, text.len(), "c"));
            break;
        }
        if matches!(word, "\"" | "'" | "`") {
            // A lone quote, as in a lifetime or a word, opens no string.
            if let Some(length) = rest[1..].find(word) {
                skip_to = at + length + 2;
                found.push((at, skip_to, "s"));
            }
        } else if KEYWORDS.contains(&word) {
            found.push((at, at + word.len(), "k"));
        }
    }
    found
}

/// A file's difference without anything to decide about.
pub(super) fn file(path: &str, diff: &str, lines_max: usize) -> Markup {
    let (added, removed) = counts(diff);
    let hunks = hunks(diff);
    let mut left = lines_max;
    html! {
        section class="diff" {
            div class="file" { strong dir="auto" { (path) } span class="added" { "+" (added) } span class="removed" { "−" (removed) } }
            div class="scroll" tabindex="0" role="group" aria-label={ "Changes of " (path) } { table {
                @for hunk in &hunks {
                    (head_row(hunk, DiffLayout::Unified))
                    (rows(hunk, DiffLayout::Unified, &mut left))
                }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/x.py\n+++ b/x.py\n@@ -3,4 +3,5 @@ def login\n one\n-    user = find(request.name)\n+    user = find(request.email)\n+    wait()\n two\n";

    #[test]
    fn changed_lines_have_the_numbers_of_their_side_and_changed_words_are_marked() {
        let read = hunks(DIFF);
        let numbers: Vec<_> = read[0]
            .lines
            .iter()
            .map(|line| (line.old, line.new))
            .collect();
        assert_eq!(
            numbers,
            [
                (Some(3), Some(3)),
                (Some(4), None),
                (None, Some(4)),
                (None, Some(5)),
                (Some(5), Some(6))
            ]
        );
        let marked = |line: &ShownLine<'_>| -> Vec<String> {
            let cut = line.marks.iter().map(|(a, b)| line.text[*a..*b].to_owned());
            cut.collect()
        };
        assert_eq!(marked(&read[0].lines[1]), ["name"]);
        assert_eq!(marked(&read[0].lines[2]), ["email"]);
        assert_eq!(counts(DIFF), (2, 1));
    }

    #[test]
    fn both_layouts_show_every_line_as_text() {
        let diff = DIFF.replace("wait()", "<script>\"ü\" // 'x");
        let read = hunks(&diff);
        for layout in [DiffLayout::Unified, DiffLayout::SideBySide] {
            let mut left = 100;
            let drawn = rows(&read[0], layout, &mut left).into_string();
            for part in ["&lt;script&gt;", ">name<", ">email<", "one", "two"] {
                assert!(drawn.contains(part), "{part}: {drawn}");
            }
            assert!(!drawn.contains("<script>"), "{drawn}");
            assert_eq!(left, 95);
        }
        let mut left = 2;
        let drawn = rows(&read[0], DiffLayout::Unified, &mut left).into_string();
        assert!(drawn.contains("3 more lines"), "{drawn}");
    }

    #[test]
    fn lines_with_little_in_common_are_not_marked() {
        assert_eq!(differences("let a = 1;", "return everything else"), None);
        assert_eq!(differences("a b c", "x y z"), None);
        let (old, new) = differences("a b c", "a c").unwrap();
        assert_eq!((old.len(), new.len()), (1, 0));
    }
}
