//! Keeps the beginning and the end of a stream of any length.

use std::collections::VecDeque;

/// A stream's head and tail, each up to half of the limit.
pub(crate) struct OutputCapture {
    bytes_max: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
}

impl OutputCapture {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            head: Vec::new(),
            tail: VecDeque::new(),
            omitted: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let head_room = (self.bytes_max / 2).saturating_sub(self.head.len());
        let (for_head, rest) = bytes.split_at(head_room.min(bytes.len()));
        self.head.extend_from_slice(for_head);
        let tail_max = self.bytes_max - self.bytes_max / 2;
        let skipped = rest.len().saturating_sub(tail_max);
        let kept = &rest[skipped..];
        let dropped = (self.tail.len() + kept.len()).saturating_sub(tail_max);
        self.tail.drain(..dropped);
        self.tail.extend(kept);
        self.omitted += (skipped + dropped) as u64;
    }

    /// Number of bytes received, kept or not.
    pub(crate) fn total(&self) -> u64 {
        (self.head.len() + self.tail.len()) as u64 + self.omitted
    }

    /// Returns the bytes, with a line in place of the omitted ones; and whether any were omitted.
    pub(crate) fn finish(self) -> (Vec<u8>, bool) {
        let mut bytes = self.head;
        if self.omitted > 0 {
            let note = format!(
                "\n[… {} bytes left out: the limit is {} …]\n",
                self.omitted, self.bytes_max
            );
            bytes.extend_from_slice(note.as_bytes());
        }
        bytes.extend(self.tail);
        (bytes, self.omitted > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes_max: usize, pushes: &[&str], expected: (&str, bool)) {
        let mut capture = OutputCapture::new(bytes_max);
        pushes.iter().for_each(|push| capture.push(push.as_bytes()));
        let (bytes, truncated) = capture.finish();
        assert_eq!(
            (String::from_utf8(bytes).unwrap().as_str(), truncated),
            expected
        );
    }

    #[test]
    fn head_and_tail_are_kept() {
        check(10, &["0123456789"], ("0123456789", false));
        check(10, &["0123", "4567", "89"], ("0123456789", false));
        let note = "\n[… 3 bytes left out: the limit is 10 …]\n";
        check(10, &["0123456789abc"], (&format!("01234{note}89abc"), true));
        check(
            10,
            &["01", "23456789", "a", "bc"],
            (&format!("01234{note}89abc"), true),
        );
        check(
            0,
            &["x"],
            ("\n[… 1 bytes left out: the limit is 0 …]\n", true),
        );
        check(3, &["ab"], ("ab", false));
    }
}
