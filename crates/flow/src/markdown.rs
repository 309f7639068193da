//! The five sections of a reply, found by their headings outside of fences.

/// The text under each heading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplySections<'t> {
    pub(crate) status: Option<&'t str>,
    pub(crate) summary: Option<&'t str>,
    pub(crate) output: Option<&'t str>,
    pub(crate) next: Option<&'t str>,
    pub(crate) metadata: Option<&'t str>,
}

/// The headings of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyHeading {
    Status,
    Summary,
    Output,
    Next,
    Metadata,
}

/// A heading, the offset of its line, and the offset of its content.
#[derive(Clone, Copy, Debug)]
struct FoundHeading {
    heading: ReplyHeading,
    start: usize,
    inside: usize,
}

impl<'t> ReplySections<'t> {
    /// Finds the sections. The output may have headings of its own: it ends where the last `Next
    /// Action` or `Metadata` begins. Text before `Status` belongs to no section.
    pub(crate) fn read(text: &'t str) -> ReplySections<'t> {
        let found = headings(text);
        let first = |heading: ReplyHeading| found.iter().find(|f| f.heading == heading).copied();
        let last = |heading: ReplyHeading| found.iter().rfind(|f| f.heading == heading).copied();
        let status = first(ReplyHeading::Status);
        let output = first(ReplyHeading::Output);
        let summary = first(ReplyHeading::Summary)
            .filter(|s| output.is_none_or(|output| s.start < output.start))
            .or_else(|| last(ReplyHeading::Summary));
        let kept = [
            status,
            summary,
            output,
            last(ReplyHeading::Next),
            last(ReplyHeading::Metadata),
        ];
        let section = |found: Option<FoundHeading>| {
            let found = found?;
            let next = kept
                .iter()
                .flatten()
                .filter(|other| other.start > found.start);
            let end = next.map(|other| other.start).min().unwrap_or(text.len());
            text.get(found.inside..end)
        };
        ReplySections {
            status: section(status),
            summary: section(summary),
            output: section(output),
            next: section(last(ReplyHeading::Next)),
            metadata: section(last(ReplyHeading::Metadata)),
        }
    }
}

/// Returns the content of a text that is one fenced block.
pub(crate) fn unfenced(text: &str) -> Option<&str> {
    let text = text.trim();
    let first = text.lines().next()?;
    let marks = first.len() - first.trim_start_matches('`').len();
    let fence = first.get(..marks).filter(|_| marks >= 3)?;
    let inside = text.get(first.len()..)?.strip_suffix(fence)?;
    (!inside
        .lines()
        .any(|line| line.trim_start().starts_with(fence)))
    .then_some(inside)
}

fn headings(text: &str) -> Vec<FoundHeading> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let trimmed = line.trim();
        let marks = trimmed.len() - trimmed.trim_start_matches(['`', '~']).len();
        match fence {
            Some(open) if trimmed.len() == marks && trimmed.starts_with(open) => fence = None,
            Some(_) => {}
            None if marks >= 3 => fence = trimmed.get(..marks),
            None => {
                if let Some((heading, rest)) = heading(trimmed) {
                    // `**ReplyStatus:** SUCCESS` has its content on the same line.
                    let inside = if rest.is_empty() {
                        at
                    } else {
                        at - trailing(line, rest)
                    };
                    found.push(FoundHeading {
                        heading,
                        start,
                        inside,
                    });
                }
            }
        }
    }
    found
}

/// Returns the number of bytes from the beginning of `rest` to the end of its line.
fn trailing(line: &str, rest: &str) -> usize {
    line.rfind(rest).map_or(0, |at| line.len() - at)
}

/// Returns the heading of a line, and the rest of the line.
fn heading(line: &str) -> Option<(ReplyHeading, &str)> {
    let hashes = line.len() - line.trim_start_matches('#').len();
    let bold = line.starts_with("**");
    if !(1..=6).contains(&hashes) && !bold {
        return None;
    }
    let text = line.trim_start_matches(['#', '*', ' ', '_']);
    let known = [
        ("status", ReplyHeading::Status),
        ("summary", ReplyHeading::Summary),
        ("output", ReplyHeading::Output),
        ("next action", ReplyHeading::Next),
        ("next_action", ReplyHeading::Next),
        ("nextaction", ReplyHeading::Next),
        ("metadata", ReplyHeading::Metadata),
    ];
    known.into_iter().find_map(|(name, heading)| {
        let begin = text.get(..name.len())?;
        let rest = text.get(name.len()..)?;
        let ends = rest
            .chars()
            .next()
            .is_none_or(|c| matches!(c, ':' | '*' | ' ' | '#' | '_'));
        let rest = rest.trim_start_matches(['*', ':', ' ', '#', '_']);
        // A heading with more words belongs to the output itself.
        let own = rest.is_empty() || bold || rest.starts_with(|c: char| c.is_ascii_uppercase());
        let fits = begin.eq_ignore_ascii_case(name) && ends;
        (fits && (rest.is_empty() || (own && line.contains(':')))).then_some((heading, rest))
    })
}
