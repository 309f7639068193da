//! Putting lines into an existing text: pure, idempotent, and faithful to the text's line ends.

use std::ops::Range;

/// Position at which lines are injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InjectPosition {
    /// Above the line the anchor is found on.
    Before(String),
    /// Below the line the anchor ends on.
    After(String),
    /// Above the line with this index, counted from zero.
    AtLine(usize),
    Prepend,
    Append,
}

/// Result of an injection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InjectResult {
    Text(String),
    /// The lines are there already.
    Present,
}

/// Reason why the lines cannot be injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace<E> {
    /// The anchor matches nothing.
    AnchorMissing(String),
    /// The target has fewer lines.
    LineMissing { wanted: usize, lines: usize },
    /// The anchor itself is broken.
    Anchor(E),
}

/// Finds the first match of an anchor in a text.
pub(crate) type AnchorFinder<'f, E> = dyn Fn(&str) -> Result<Option<Range<usize>>, E> + 'f;

/// Inserts `body` as whole lines into `target`.
///
/// The anchor is searched first line by line, then in the whole text, so that it may span lines.
/// Lines that are already there are not inserted again.
pub(crate) fn inject<E>(
    target: &str,
    body: &str,
    position: &InjectPosition,
    find: &AnchorFinder<'_, E>,
) -> Result<InjectResult, NoPlace<E>> {
    let lines: Vec<&str> = target.split_inclusive('\n').collect();
    let body: Vec<&str> = body_lines(body);
    if body.iter().all(|line| line.trim().is_empty()) {
        return Ok(InjectResult::Present);
    }
    let index = match position {
        InjectPosition::Prepend | InjectPosition::Append => {
            if stands_anywhere(&lines, &body) {
                return Ok(InjectResult::Present);
            }
            if *position == InjectPosition::Prepend {
                0
            } else {
                lines.len()
            }
        }
        InjectPosition::AtLine(wanted) if *wanted > lines.len() => {
            return Err(NoPlace::LineMissing {
                wanted: *wanted,
                lines: lines.len(),
            });
        }
        InjectPosition::AtLine(wanted) => {
            if stands_below(&lines, &body, *wanted) {
                return Ok(InjectResult::Present);
            }
            *wanted
        }
        InjectPosition::Before(anchor) => {
            let places = anchors(target, &lines, find).map_err(NoPlace::Anchor)?;
            let first = places.first().map(|place| place.start);
            if places
                .iter()
                .any(|place| stands_above(&lines, &body, place.start))
            {
                return Ok(InjectResult::Present);
            }
            first.ok_or_else(|| NoPlace::AnchorMissing(anchor.clone()))?
        }
        InjectPosition::After(anchor) => {
            let places = anchors(target, &lines, find).map_err(NoPlace::Anchor)?;
            let first = places.first().map(|place| place.end);
            if places
                .iter()
                .any(|place| stands_below(&lines, &body, place.end))
            {
                return Ok(InjectResult::Present);
            }
            first.ok_or_else(|| NoPlace::AnchorMissing(anchor.clone()))?
        }
    };
    Ok(InjectResult::Text(insert(&lines, &body, index)))
}

/// Returns the line end most of a text uses.
pub(crate) fn line_end(text: &str) -> &'static str {
    let crlf = text.matches("\r\n").count();
    let all = text.matches('\n').count();
    if crlf * 2 > all { "\r\n" } else { "\n" }
}

/// Replaces every line end of a text.
pub(crate) fn with_line_end(text: &str, end: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    if end == "\n" {
        plain
    } else {
        plain.replace('\n', end)
    }
}

/// Finds the ranges of lines the anchor matches: single lines, else one span over several.
fn anchors<E>(
    target: &str,
    lines: &[&str],
    find: &AnchorFinder<'_, E>,
) -> Result<Vec<Range<usize>>, E> {
    let mut places = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if find(bare(line))?.is_some() {
            places.push(index..index + 1);
        }
    }
    if !places.is_empty() {
        return Ok(places);
    }
    let Some(found) = find(target)? else {
        return Ok(places);
    };
    let line_of = |offset: usize| target[..offset].matches('\n').count();
    // A match that ends with a line end ends on that line, not on the next.
    let last = found.end.saturating_sub(1).max(found.start);
    let end = (line_of(floor(target, last)) + 1).min(lines.len());
    places.push(line_of(found.start)..end);
    Ok(places)
}

fn floor(text: &str, mut offset: usize) -> usize {
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn body_lines(body: &str) -> Vec<&str> {
    body.split_inclusive('\n').map(bare).collect()
}

fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn stands_at(lines: &[&str], body: &[&str], index: usize) -> bool {
    lines.len() >= index + body.len()
        && body
            .iter()
            .zip(&lines[index..])
            .all(|(wanted, line)| *wanted == bare(line))
}

fn stands_anywhere(lines: &[&str], body: &[&str]) -> bool {
    (0..lines.len()).any(|index| stands_at(lines, body, index))
}

/// Returns true if the lines begin in the paragraph below `from`: others may have been put there
/// since.
fn stands_below(lines: &[&str], body: &[&str], from: usize) -> bool {
    for index in from..lines.len() {
        if stands_at(lines, body, index) {
            return true;
        }
        if bare(lines[index]).trim().is_empty() {
            return false;
        }
    }
    false
}

/// Returns true if the lines end in the paragraph above `until`.
fn stands_above(lines: &[&str], body: &[&str], until: usize) -> bool {
    for end in (1..=until).rev() {
        if end >= body.len() && stands_at(lines, body, end - body.len()) {
            return true;
        }
        if bare(lines[end - 1]).trim().is_empty() {
            return false;
        }
    }
    false
}

fn insert(lines: &[&str], body: &[&str], index: usize) -> String {
    let whole: String = lines.concat();
    let end = line_end(&whole);
    let mut out =
        String::with_capacity(whole.len() + body.iter().map(|l| l.len() + 2).sum::<usize>());
    for line in &lines[..index] {
        out.push_str(line);
    }
    let unfinished = !out.is_empty() && !out.ends_with('\n');
    if unfinished {
        out.push_str(end);
    }
    for (at, line) in body.iter().enumerate() {
        out.push_str(line);
        // A text without a final line end stays one.
        if !(unfinished && at + 1 == body.len() && !line.is_empty()) {
            out.push_str(end);
        }
    }
    for line in &lines[index..] {
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{
        Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };

    /// Anchors are plain words here; patterns are the regular expressions' own business.
    fn place(target: &str, body: &str, position: &InjectPosition) -> Option<InjectResult> {
        let word = match position {
            InjectPosition::Before(word) | InjectPosition::After(word) => word.clone(),
            _ => String::new(),
        };
        let find = |text: &str| {
            let found = text.find(&word).map(|at| at..at + word.len());
            Ok::<_, ()>(found.filter(|_| !word.is_empty()))
        };
        inject(target, body, position, &find).ok()
    }

    fn texts() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just(""),
            Just("a"),
            Just("  b"),
            Just("anchor"),
            Just("é c")
        ];
        let lines = proptest::collection::vec(line, 0..8);
        (lines, any::<bool>(), any::<bool>()).prop_map(|(lines, crlf, ends)| {
            let end = if crlf { "\r\n" } else { "\n" };
            let mut text = lines.join(end);
            if ends {
                text.push_str(end);
            }
            text
        })
    }

    fn positions() -> impl Strategy<Value = InjectPosition> {
        prop_oneof![
            Just(InjectPosition::Before("anchor".to_owned())),
            Just(InjectPosition::After("anchor".to_owned())),
            Just(InjectPosition::Prepend),
            Just(InjectPosition::Append),
            (0_usize..4).prop_map(InjectPosition::AtLine),
        ]
    }

    proptest! {
        #[test]
        fn injecting_twice_is_injecting_once(
            target in texts(),
            body in texts(),
            position in positions(),
        ) {
            if let Some(InjectResult::Text(once)) = place(&target, &body, &position) {
                prop_assert_eq!(place(&once, &body, &position), Some(InjectResult::Present), "{:?}", once);
            }
        }

        #[test]
        fn nothing_is_lost_and_line_ends_stay(
            target in texts(),
            body in texts(),
            position in positions(),
        ) {
            if let Some(InjectResult::Text(once)) = place(&target, &body, &position) {
                let mut left: Vec<&str> = once.lines().collect();
                for line in target.lines().chain(body.lines()) {
                    let at = left.iter().position(|found| *found == line);
                    prop_assert!(at.is_some(), "{:?} lost from {:?}", line, once);
                    left.remove(at.unwrap());
                }
                prop_assert!(left.is_empty(), "{:?} added", left);
                if target.contains('\n') {
                    let crlf = line_end(&target) == "\r\n";
                    let all = once.matches('\n').count();
                    prop_assert_eq!(once.matches("\r\n").count(), if crlf { all } else { 0 });
                }
            }
        }
    }
}
