//! Jig written so that it reads back as meant: indentation of blocks, and text that looks like tags.

use super::ejs_tree::quoted;
use super::jig_printer::{JigBlock, JigLine, JigPart};

/// Indentation that is added to the body of a block. Jig takes it off again.
const STEP: &str = "  ";

/// Comment that is put above a first line that may be empty.
const BEGINS: &str = "the text begins below";

/// Words that make a line a tag; a component could add more, but a converted kit has none.
const TAGS: [&str; 23] = [
    "if",
    "elseif",
    "else",
    "unless",
    "each",
    "let",
    "assign",
    "eval",
    "include",
    "includeIf",
    "component",
    "slot",
    "inject",
    "stack",
    "pushTo",
    "pushOnceTo",
    "debugger",
    "newError",
    "ai",
    "context",
    "prompt",
    "output",
    "example",
];

/// Writes the text of a template.
pub(super) fn write(blocks: &[JigBlock], ends_line: bool) -> String {
    let mut lines = Vec::new();
    if !begins_surely(blocks) {
        // Jig takes one line break off the beginning; this is where it comes from.
        lines.push(comment(BEGINS));
    }
    write_blocks(blocks, "", &mut lines);
    if lines.is_empty() {
        return String::new();
    }
    // Jig takes one line break off the end as well, and gives it back only where one is missing.
    // So where the last line may turn out empty, there is one more to take.
    match (ends_line, ends_surely(blocks, true)) {
        (true, true) => lines.push(String::new()),
        (true, false) => lines.extend([String::new(), String::new()]),
        (false, true) => {}
        (false, false) => lines.extend([String::new(), comment("the text ends above")]),
    }
    lines.join("\n")
}

/// Writes the same without the protection of line breaks at both ends, which do not matter in an
/// attribute.
pub(super) fn bare(text: &str) -> String {
    let text = text
        .strip_prefix(&format!("{}\n", comment(BEGINS)))
        .unwrap_or(text);
    match text.strip_suffix("\n\n") {
        Some(text) => format!("{text}\n"),
        None => text.to_owned(),
    }
}

/// Writes a line with its values in braces.
pub(super) fn line(line: &JigLine) -> String {
    let mut out = String::new();
    let mut after_value = false;
    for part in line {
        match part {
            JigPart::Text(text) => write_text(text, &mut out),
            JigPart::Print(code) => value(code, &mut out),
        }
        after_value = match part {
            JigPart::Print(_) => true,
            JigPart::Text(text) => after_value && text.trim().is_empty(),
        };
    }
    let kept = out.trim_end().len();
    if kept < out.len() && (after_value || out[..kept].ends_with("}}")) {
        // White space behind the last value of a line would be dropped.
        let space = out.split_off(kept);
        value(&quoted(&space), &mut out);
    }
    match tag_at(&out) {
        Some(at) => format!("{}{{{{ '@' }}}}{}", &out[..at], &out[at + 1..]),
        None => out,
    }
}

pub(super) fn comment(text: &str) -> String {
    let text = text.replace("--}}", "-- }}");
    format!("{{{{-- {} --}}}}", text.trim())
}

/// Returns true if the first line of output is never empty, or a tag comes before it.
fn begins_surely(blocks: &[JigBlock]) -> bool {
    match blocks.first() {
        Some(JigBlock::Line(line)) => has_text(line),
        _ => true,
    }
}

/// Returns true if the last line of output is never empty; `before` is the same of the blocks
/// above.
fn ends_surely(blocks: &[JigBlock], before: bool) -> bool {
    let mut sure = before;
    for block in blocks {
        sure = match block {
            JigBlock::Line(line) => has_text(line),
            JigBlock::Quiet(_) | JigBlock::Comment(_) => sure,
            JigBlock::Tagged(branches) => {
                let else_prints = branches.last().is_some_and(|(tag, _)| tag == "@else");
                (else_prints || sure) && branches.iter().all(|(_, body)| ends_surely(body, sure))
            }
        };
    }
    sure
}

fn has_text(line: &JigLine) -> bool {
    line.iter()
        .any(|part| matches!(part, JigPart::Text(text) if !text.is_empty()))
}

fn write_blocks(blocks: &[JigBlock], shift: &str, lines: &mut Vec<String>) {
    for (at, block) in blocks.iter().enumerate() {
        match block {
            JigBlock::Line(parts) => {
                let text = line(parts);
                lines.push(if text.is_empty() {
                    text
                } else {
                    format!("{shift}{text}")
                });
            }
            JigBlock::Quiet(tag) => {
                let indent = indent_of(&blocks[at..]).unwrap_or_default();
                lines.push(format!("{shift}{indent}{tag}"));
            }
            JigBlock::Comment(text) => {
                let indent = indent_of(&blocks[at..]).unwrap_or_default();
                lines.push(format!("{shift}{indent}{}", comment(text)));
            }
            JigBlock::Tagged(branches) => {
                let fallback = indent_of(&blocks[at..]).unwrap_or_default();
                for (tag, body) in branches {
                    let indent = indent_of(body);
                    let deeper = if indent.is_some() { STEP } else { "" };
                    lines.push(format!(
                        "{shift}{}{tag}",
                        indent.as_ref().unwrap_or(&fallback)
                    ));
                    write_blocks(body, &format!("{shift}{deeper}"), lines);
                }
                lines.push(format!("{shift}{fallback}@end"));
            }
        }
    }
}

/// Returns the indentation of the first line that is not blank, which a tag above it takes too.
fn indent_of(blocks: &[JigBlock]) -> Option<String> {
    blocks.iter().find_map(|block| match block {
        JigBlock::Line(parts) => {
            let text = line(parts);
            let indent = text.len() - text.trim_start().len();
            (indent < text.len()).then(|| text[..indent].to_owned())
        }
        JigBlock::Quiet(_) | JigBlock::Comment(_) => None,
        JigBlock::Tagged(branches) => branches.iter().find_map(|(_, body)| indent_of(body)),
    })
}

fn write_text(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        out.push_str(&rest[..at]);
        let braces = rest[at..].len() - rest[at..].trim_start_matches('{').len();
        value(&quoted(&rest[at..at + braces]), out);
        rest = &rest[at + braces..];
    }
    out.push_str(rest);
}

/// Puts `{{ code }}`, apart from an `@` or a brace before it that would change its meaning.
fn value(code: &str, out: &mut String) {
    let kept = out.trim_end_matches(['@', '{']).len();
    if kept < out.len() {
        let apart = out.split_off(kept);
        out.push_str(&format!("{{{{ {} }}}}", quoted(&apart)));
    }
    out.push_str(&format!("{{{{ {} }}}}", code.trim()));
}

/// Returns the position of an `@` in a line that Jig would read as a tag.
fn tag_at(line: &str) -> Option<usize> {
    let at = line.len() - line.trim_start().len();
    let after = line[at..].strip_prefix('@')?;
    let after = after.strip_prefix('@').unwrap_or(after);
    let after = after.strip_prefix('!').unwrap_or(after);
    let is_name = |c: char| c.is_ascii_alphabetic() || c == '.' || c == '_';
    let name = &after[..after.find(|c| !is_name(c)).unwrap_or(after.len())];
    (TAGS.contains(&name) || name.starts_with("end")).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_looks_like_jig_is_kept_apart() {
        let text = |text: &str| JigPart::Text(text.to_owned());
        let print = |code: &str| JigPart::Print(code.to_owned());
        for (parts, expected) in [
            (vec![text("  @if(x)")], "  {{ '@' }}if(x)"),
            (vec![text("@Entity()")], "@Entity()"),
            (vec![text("@end")], "{{ '@' }}end"),
            (vec![text("a {{ b }} c")], "a {{ '{{' }} b }} c"),
            (
                vec![text("@"), print("scope"), text("/x")],
                "{{ '@' }}{{ scope }}/x",
            ),
            (
                vec![text("${"), print("x"), text("}")],
                "${{ '{' }}{{ x }}}",
            ),
            (vec![print("x"), text("  ")], "{{ x }}{{ '  ' }}"),
            (vec![text("a  ")], "a  "),
            (vec![text("@{{ x")], "{{ '@' }}{{ '{{' }} x"),
            (vec![print("x"), print("y")], "{{ x }}{{ y }}"),
        ] {
            assert_eq!(line(&parts), expected);
        }
    }
}
