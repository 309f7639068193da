//! Tool results cut to size: the middle goes, and the place says how much went.

use serde_json::Value;

/// Strings shorter than this are left alone while there are longer ones to cut.
const STRING_BYTES_MIN: usize = 256;

/// Returns the value as JSON of about `bytes_max` bytes at most: long strings lose their middle,
/// then long arrays do. A count replaces each part that is left out.
pub(crate) fn bounded(value: &mut Value, bytes_max: usize) -> String {
    let whole = value.to_string();
    if whole.len() <= bytes_max {
        return whole;
    }
    let (strings, rest) = weigh(value, whole.len());
    // Long strings share what the rest of the result leaves over.
    let room = bytes_max.saturating_sub(rest);
    let share = fair_share(strings, room).max(STRING_BYTES_MIN);
    shorten_strings(value, share, bytes_max);
    let text = value.to_string();
    if text.len() <= bytes_max {
        return text;
    }
    shorten_arrays(value, bytes_max);
    let text = value.to_string();
    if text.len() <= bytes_max {
        return text;
    }
    // Nothing but a huge number of small things. Quoting them as a text may double them.
    let cut = middle_out(&text, (bytes_max / 2).saturating_sub(NOTE_BYTES), bytes_max);
    Value::from_iter([("shortened", cut)]).to_string()
}

/// Room for the words that say how much was left out.
const NOTE_BYTES: usize = 120;

/// Returns a text without its middle, cut between characters.
pub(crate) fn middle_out(text: &str, bytes_keep: usize, bytes_max: usize) -> String {
    if text.len() <= bytes_keep {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes_keep / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes_keep / 2);
    let lines = text[head..tail].matches('\n').count();
    format!(
        "{}\n[… {} of {} bytes ({lines} line breaks) left out: agent.output_bytes_max = {bytes_max} …]\n{}",
        &text[..head],
        tail - head,
        text.len(),
        &text[tail..]
    )
}

/// Returns the lengths of the strings that may be cut, and what everything else weighs.
fn weigh(value: &Value, whole: usize) -> (Vec<usize>, usize) {
    let mut strings = Vec::new();
    collect(value, &mut strings);
    let cuttable: usize = strings.iter().sum();
    (strings, whole.saturating_sub(cuttable))
}

fn collect(value: &Value, strings: &mut Vec<usize>) {
    match value {
        Value::String(text) if text.len() > STRING_BYTES_MIN => strings.push(escaped_len(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, strings)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, strings)),
        _ => {}
    }
}

/// Returns the number of bytes a string takes in JSON.
fn escaped_len(text: &str) -> usize {
    let weigh = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(weigh).sum()
}

/// Returns the length to which the longest have to be cut so that all fit into `room`.
fn fair_share(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    for (at, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - at);
        if *length > share {
            return share.saturating_sub(NOTE_BYTES);
        }
        left -= length;
    }
    usize::MAX
}

fn shorten_strings(value: &mut Value, share: usize, bytes_max: usize) {
    match value {
        Value::String(text) => {
            let weight = escaped_len(text);
            if weight > share {
                // In proportion: escapes make some texts weigh more than they are long.
                let keep = (text.len() as u128 * share as u128 / weight.max(1) as u128) as usize;
                *text = middle_out(text, keep, bytes_max);
            }
        }
        Value::Array(items) => {
            for item in items {
                shorten_strings(item, share, bytes_max);
            }
        }
        Value::Object(fields) => {
            for (_, field) in fields {
                shorten_strings(field, share, bytes_max);
            }
        }
        _ => {}
    }
}

/// Cuts the longest array of the outermost object, or the value itself, to what fits.
fn shorten_arrays(value: &mut Value, bytes_max: usize) {
    let whole = value.to_string().len();
    let longest = match value {
        Value::Array(_) => Some(value),
        Value::Object(fields) => fields
            .iter_mut()
            .map(|(_, field)| field)
            .filter(|field| field.is_array())
            .max_by_key(|field| field.to_string().len()),
        _ => None,
    };
    let Some(Value::Array(items)) = longest else {
        return;
    };
    let sizes: Vec<usize> = items
        .iter()
        .map(|item| item.to_string().len() + 1)
        .collect();
    let others = whole - sizes.iter().sum::<usize>().min(whole);
    let room = bytes_max.saturating_sub(others + NOTE_BYTES) / 2;
    let fitting = |sizes: &mut dyn Iterator<Item = &usize>| {
        let mut used = 0;
        sizes
            .take_while(|size| {
                used += **size;
                used <= room
            })
            .count()
    };
    let head = fitting(&mut sizes.iter());
    let tail = fitting(&mut sizes.iter().rev()).min(items.len() - head);
    let left_out = items.len() - head - tail;
    if left_out == 0 {
        return;
    }
    let note = format!(
        "[… {left_out} of {} entries left out: agent.output_bytes_max = {bytes_max} …]",
        items.len()
    );
    let from = items.len() - tail;
    items.splice(head..from, [Value::String(note)]);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::bounded;

    #[track_caller]
    fn check(mut value: Value, bytes_max: usize, parts: &[&str]) {
        let text = bounded(&mut value, bytes_max);
        assert!(text.len() <= bytes_max, "{} bytes: {text}", text.len());
        serde_json::from_str::<Value>(&text).expect("it stays JSON");
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_fits_is_left_alone() {
        let value = json!({"a": "x".repeat(900)});
        assert_eq!(bounded(&mut value.clone(), 1_000), value.to_string());
    }

    #[test]
    fn long_strings_lose_their_middle_and_short_ones_stay() {
        let long = format!("head{}tail", "é\n".repeat(5_000));
        let value = json!({"stdout": long, "stderr": "short", "code": 1});
        check(
            value,
            2_000,
            &[
                "head",
                "tail",
                "short",
                "\"code\":1",
                "bytes (",
                "left out: agent.output_bytes_max = 2000",
            ],
        );
        let value = json!({"stdout": "x".repeat(9_000), "stderr": "y".repeat(9_000)});
        check(value, 4_000, &["xxx", "yyy"]);
    }

    #[test]
    fn long_arrays_lose_their_middle() {
        let entries: Vec<String> = (0..5_000).map(|n| format!("file-{n}.txt")).collect();
        check(
            json!({"entries": entries, "path": "."}),
            3_000,
            &["file-0.txt", "file-4999.txt", "of 5000 entries left out"],
        );
    }

    #[test]
    fn whatever_it_is_the_limit_holds() {
        let many: serde_json::Map<String, Value> =
            (0..5_000).map(|n| (format!("k{n}"), json!(n))).collect();
        check(Value::Object(many), 3_000, &["shortened"]);
        check(json!({"a": "\u{1}".repeat(50_000)}), 3_000, &["left out"]);
        check(json!([[["\"".repeat(50_000)]]]), 3_000, &["left out"]);
    }
}
