//! For what is not found: the lines that come nearest, and what differs about them.

use serde_json::{Value, json};

use super::lines::{FileLines, bare};
use super::match_lines::MatchStrictness;

/// Longer lines are compared and shown up to here.
const LINE_BYTES_MAX: usize = 240;
/// At most so many lines are shown.
const SHOWN_MAX: usize = 30;
/// Files longer than this are compared in their first lines only.
const COMPARED_LINES_MAX: usize = 50_000;
/// Lines less alike than this are not called near.
const ALIKE_MIN: f64 = 0.35;

/// Returns the lines of the file nearest to `wanted`, with numbers, and the first differences;
/// `null` if nothing comes near.
pub(crate) fn nearest(file: &FileLines<'_>, wanted: &[&str]) -> Value {
    let Some(start) = best_start(file, wanted) else {
        return Value::Null;
    };
    let end = (start + wanted.len()).min(file.len());
    let shown: Vec<String> = (start..end)
        .take(SHOWN_MAX)
        .map(|at| format!("{} | {}", at + 1, cut(file.bare(at))))
        .collect();
    let differs: Vec<String> = (start..end)
        .zip(wanted)
        .filter_map(|(at, line)| difference(at + 1, file.bare(at), bare(line)))
        .take(SHOWN_MAX / 3)
        .collect();
    json!({"start_line": start + 1, "lines": shown.join("\n"), "differs": differs})
}

/// Returns the start at which most lines are the same, else the line most similar to the most
/// telling one.
fn best_start(file: &FileLines<'_>, wanted: &[&str]) -> Option<usize> {
    let length = file.len().min(COMPARED_LINES_MAX);
    let telling: Vec<(usize, &str)> = wanted
        .iter()
        .enumerate()
        .map(|(at, line)| (at, bare(line).trim()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let mut votes = vec![0_usize; length];
    for (at, line) in &telling {
        for (place, vote) in votes.iter_mut().enumerate() {
            let found = place + at;
            if found < length && file.bare(found).trim() == *line {
                *vote += line.len().min(40);
            }
        }
    }
    let by_votes = (0..length).max_by_key(|at| (votes[*at], length - at));
    if let Some(at) = by_votes.filter(|at| votes[*at] > 0) {
        return Some(at);
    }
    let (offset, line) = telling.into_iter().max_by_key(|(_, line)| line.len())?;
    let line = cut(line);
    let alike = |at: usize| strsim::sorensen_dice(cut(file.bare(at).trim()), line);
    let best = (0..length)
        .map(|at| (alike(at), at))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= ALIKE_MIN).then(|| best.1.saturating_sub(offset))
}

fn difference(number: usize, ours: &str, theirs: &str) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let what = if MatchStrictness::TrailingWhiteSpace.same(ours, theirs) {
        format!(
            "the file has {} at the end of the line, you have {}",
            tail(ours),
            tail(theirs)
        )
    } else if MatchStrictness::WhiteSpace.same(ours, theirs) {
        let (ours, theirs) = (indent(ours), indent(theirs));
        if ours == theirs {
            "only white space inside the line differs".to_owned()
        } else {
            format!(
                "the file is indented by {}, you have {}",
                named(ours),
                named(theirs)
            )
        }
    } else if MatchStrictness::LookAlikes.same(ours, theirs) {
        format!("look-alike characters differ: the file has `{}`", cut(ours))
    } else {
        let column = ours
            .chars()
            .zip(theirs.chars())
            .take_while(|(a, b)| a == b)
            .count();
        let rest = |text: &str| cut(&text.chars().skip(column).collect::<String>()).to_owned();
        format!(
            "from column {} the file has `{}`, you have `{}`",
            column + 1,
            rest(ours),
            rest(theirs)
        )
    };
    Some(format!("line {number}: {what}"))
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn tail(line: &str) -> String {
    named(&line[line.trim_end().len()..])
}

fn named(space: &str) -> String {
    if space.is_empty() {
        return "nothing".to_owned();
    }
    let tabs = space.matches('\t').count();
    let spaces = space.matches(' ').count();
    let others = space.chars().count() - tabs - spaces;
    let counts = [
        (tabs, "tab(s)"),
        (spaces, "space(s)"),
        (others, "other white space"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    words.join(" and ")
}

fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(LINE_BYTES_MAX)]
}
