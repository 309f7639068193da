//! Text of models, commands and files as Markdown that only shows it. On a forge, Markdown acts: a line
//! such as `/merge` is an order to GitLab in the publisher's name, `<!--` hides the rest of the page, and
//! a picture tells its server who looks, together with all that its address holds.

/// Characters that make more than a paragraph of a line that begins with them.
const MARKS: [char; 13] = [
    '/', '#', '>', '-', '+', '*', '_', '=', '~', '|', ':', '[', '$',
];

/// Shows a text as one paragraph or list item.
pub(crate) fn paragraph(text: &str) -> String {
    let shown = shown_line(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    // The first character could make an order, a heading, a list, a fence or a link's definition of it.
    if shown.starts_with(MARKS) || shown.starts_with("```") {
        return format!("\\{shown}");
    }
    shown
}

/// Shows a text as a quotation, line by line. Code between fences stays as it is.
pub(crate) fn quotation(text: &str) -> String {
    let mut quoted = Vec::new();
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let ends = |fence: &str| line.starts_with(fence) && line.trim_end().bytes().all(is_tick);
        let shown = match open {
            Some(fence) => {
                if ends(fence) {
                    open = None;
                }
                visible(line)
            }
            None => {
                open = opened_fence(line);
                open.map_or_else(|| shown_line(line), |_| visible(line))
            }
        };
        quoted.push(format!("> {shown}"));
    }
    if let Some(fence) = open {
        quoted.push(format!("> {fence}"));
    }
    quoted.join("\n")
}

/// Shows a text as code within a line.
pub(crate) fn code(text: &str) -> String {
    prompt::document::code_span(&visible(text))
}

/// Returns the ticks of a line that surely opens a block of code: they are its beginning, so that no
/// list can hold the block and end it early.
fn opened_fence(line: &str) -> Option<&str> {
    let count = line.bytes().take_while(|byte| is_tick(*byte)).count();
    let (ticks, language) = line.split_at(count);
    let is_word = |c: char| c.is_ascii_alphanumeric() || "+-_#.".contains(c);
    (count >= 3 && language.trim_end().chars().all(is_word)).then_some(ticks)
}

fn is_tick(byte: u8) -> bool {
    byte == b'`'
}

/// A line without tags and pictures. Tags are kept in a code span, which shows them.
fn shown_line(line: &str) -> String {
    let visible = visible(line);
    // A backslash before a tick decides whether a span begins; then none is assumed.
    let has_spans = !visible.contains("\\`");
    let mut shown = String::with_capacity(visible.len());
    let mut rest = visible.as_str();
    while let Some(at) = rest.find(['<', '!', '`']) {
        let (before, found) = rest.split_at(at);
        shown.push_str(before);
        let after = &found[1..];
        let span = if has_spans { span_at(found) } else { None };
        let (text, length) = match (span, found.as_bytes()[0]) {
            (Some(span), _) => (span.to_owned(), span.len()),
            (None, b'<') if begins_tag(after) => ("&lt;".to_owned(), 1),
            (None, b'!') if after.starts_with('[') => ("!\\[".to_owned(), 2),
            (None, b'`') => {
                let ticks = found.bytes().take_while(|byte| is_tick(*byte)).count();
                (found[..ticks].to_owned(), ticks)
            }
            (None, _) => (found[..1].to_owned(), 1),
        };
        shown.push_str(&text);
        rest = &found[length..];
    }
    shown + rest
}

/// Returns the code span with which a text begins: it ends at the next run of as many ticks.
fn span_at(text: &str) -> Option<&str> {
    let ticks = text.bytes().take_while(|byte| is_tick(*byte)).count();
    let mut at = ticks;
    while ticks > 0 && at < text.len() {
        at += text[at..].find('`')?;
        let run = text[at..].bytes().take_while(|byte| is_tick(*byte)).count();
        if run == ticks {
            return Some(&text[..at + run]);
        }
        at += run;
    }
    None
}

fn begins_tag(after: &str) -> bool {
    after.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c))
}

/// A line without control characters.
fn visible(line: &str) -> String {
    let kept = line.chars().filter(|c| !c.is_control() || *c == '\t');
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::{code, paragraph, quotation};

    #[track_caller]
    fn check(shown: &str, expected: &str) {
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_paragraph_is_one_line_that_orders_nothing() {
        for (text, expected) in [
            ("Limits `Vec<u8>` to 3.", "Limits `Vec<u8>` to 3."),
            ("Adds a <T> b\n\n/merge", "Adds a &lt;T> b /merge"),
            ("/approve", "\\/approve"),
            ("/label ~x\r\n/merge", "\\/label ~x /merge"),
            ("<!-- hidden", "&lt;!-- hidden"),
            ("# Title", "\\# Title"),
            ("``` x", "\\``` x"),
            ("[a]: https://evil.example", "\\[a]: https://evil.example"),
            (
                "see ![x](https://evil.example/?d=1)",
                "see !\\[x](https://evil.example/?d=1)",
            ),
            (
                "#![x](https://evil.example)",
                "\\#!\\[x](https://evil.example)",
            ),
            (
                "<img src=https://evil.example>",
                "&lt;img src=https://evil.example>",
            ),
            ("a ` b <details>", "a ` b &lt;details>"),
            ("a `` b ` <details> ``` c", "a `` b ` &lt;details> ``` c"),
            ("\\`<details>`", "\\`&lt;details>`"),
            ("`a<b>` is new", "`a<b>` is new"),
            ("a < b && c <= d", "a < b && c <= d"),
            ("", ""),
        ] {
            check(&paragraph(text), expected);
        }
    }

    #[test]
    fn a_quotation_keeps_its_code_and_holds_the_rest() {
        for (text, expected) in [
            ("One.\n/merge", "> One.\n> /merge"),
            (
                "```rust\nVec<u8>\n```\n<b>",
                "> ```rust\n> Vec<u8>\n> ```\n> &lt;b>",
            ),
            // Left open, it is closed.
            ("```\n<b>", "> ```\n> <b>\n> ```"),
            // These open no block of code, or one that a list could end.
            ("``` `<b>\n<b>", "> ``` `&lt;b>\n> &lt;b>"),
            ("- a\n  ```\n<b>", "> - a\n>   ```\n> &lt;b>"),
            ("~~~\n<b>", "> ~~~\n> &lt;b>"),
            // Fewer ticks do not close it.
            ("````\n```\n<b>\n````", "> ````\n> ```\n> <b>\n> ````"),
            ("a\u{1b}[31m\rb", "> a[31mb"),
        ] {
            check(&quotation(text), expected);
        }
    }

    #[test]
    fn code_is_not_ended_by_its_content() {
        check(&code("a`<b>`\nc"), "``a`<b>`c``");
    }
}
