//! Reads the tree of a `use` into its leaves.

use super::super::tokens::SourceTokens;

/// The most segments a path has; deeper groups are not read.
pub(super) const SEGMENTS_MAX: usize = 64;

/// One thing that a `use` brings in.
pub(super) struct UseLeaf<'a> {
    /// The whole path, without a final `self` or glob.
    pub(super) path: Vec<&'a str>,
    /// The name after `as`.
    pub(super) alias: Option<&'a str>,
    pub(super) glob: bool,
    /// The token that ends the leaf's path.
    pub(super) at: usize,
}

impl<'a> UseLeaf<'a> {
    /// The name of the leaf in the importing module.
    pub(super) fn name(&self) -> Option<&'a str> {
        match self.alias {
            Some("_") => None,
            Some(alias) => Some(alias),
            None if self.glob => None,
            None => self.path.last().copied(),
        }
    }
}

/// Returns the leaves of the tree that begins at `at`, after the word `use`, and the place after
/// its `;`.
pub(super) fn leaves<'a>(tokens: &SourceTokens<'a>, at: usize) -> (Vec<UseLeaf<'a>>, usize) {
    let mut found = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    // Length of the path at which each open group began.
    let mut groups: Vec<usize> = Vec::new();
    let mut alias = None;
    let mut glob = false;
    let mut last = at;
    let mut at = at;
    while at < tokens.len() {
        let word = tokens.word(at);
        match tokens.mark(at) {
            b'{' => groups.push(path.len()),
            mark @ (b',' | b'}' | b';') => {
                let base = groups.last().copied().unwrap_or(0);
                if (path.len() > base || glob) && path.len() <= SEGMENTS_MAX {
                    found.push(leaf(&path, alias, glob, last));
                }
                (alias, glob) = (None, false);
                path.truncate(base);
                if mark == b'}' {
                    groups.pop();
                    // A comma or the parent's end follows a group: the group was the leaf.
                    path.truncate(groups.last().copied().unwrap_or(0));
                }
                if mark == b';' {
                    return (found, at + 1);
                }
            }
            b'*' => (glob, last) = (true, at),
            b':' => {}
            0 if word == "as" => {
                alias = Some(tokens.word(at + 1)).filter(|name| !name.is_empty());
                at += 1;
            }
            // The next item: the `;` was forgotten.
            0 if matches!(
                word,
                "use" | "pub" | "fn" | "mod" | "struct" | "impl" | "enum"
            ) =>
            {
                break;
            }
            0 if !word.is_empty() => {
                last = at;
                path.push(word);
            }
            _ => break,
        }
        at += 1;
    }
    (found, at)
}

fn leaf<'a>(path: &[&'a str], alias: Option<&'a str>, glob: bool, at: usize) -> UseLeaf<'a> {
    let mut path = path.to_vec();
    if path.len() > 1 && path.last() == Some(&"self") {
        path.pop();
    }
    UseLeaf {
        path,
        alias,
        glob,
        at,
    }
}
