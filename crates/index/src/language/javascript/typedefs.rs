//! Types defined in comments of JavaScript: `@typedef {…} Name` and `@callback Name`, which other
//! files import like types of TypeScript.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use oxc_ast::ast::Program;

use super::{ExportKind, JavaScriptFacts};

static TYPEDEF: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("@typedef"));
static CALLBACK: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("@callback"));

/// Reads the comments, if the text contains such tags at all.
pub(super) fn read(reading: &mut JavaScriptFacts, text: &str, program: &Program<'_>) {
    let finders = [&*TYPEDEF, &*CALLBACK];
    if finders.iter().all(|it| it.find(text.as_bytes()).is_none()) {
        return;
    }
    for comment in &program.comments {
        let start = comment.span.start;
        let body = comment.span.source_text(text);
        if !body.starts_with("/**") {
            continue;
        }
        for finder in finders {
            for at in finder.find_iter(body.as_bytes()) {
                let rest = &body[at + finder.needle().len()..];
                let name = defined(rest);
                if !name.is_empty() {
                    let offset = start + u32::try_from(at).unwrap_or(0);
                    reading.export(offset, name, ExportKind::Type);
                }
            }
        }
    }
}

/// The name after the type in its braces, which may be missing and may go over several lines.
fn defined(rest: &str) -> &str {
    let gap = |c: char| c.is_whitespace() || c == '*';
    let rest = rest.trim_start_matches(gap);
    let after = match rest.starts_with('{') {
        true => rest.get(braces(rest)..).unwrap_or_default(),
        false => rest,
    };
    let after = after.trim_start_matches(gap);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
    &after[..end]
}

/// Returns the length of the braces at the beginning of the text.
fn braces(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}
