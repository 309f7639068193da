//! Folds names as the most tolerant filesystem compares them.
//!
//! Linux tells `.env` from `.ENV`; APFS, NTFS, HFS+ and ext4 with casefolding do not, and each
//! ignores further differences. A rule that names a file must hold under every spelling any of them
//! would open.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Suffixes that editors and tools give to backup copies.
const COPY_ENDINGS: [&str; 9] = [
    ".bak", ".backup", ".orig", ".old", ".save", ".swp", ".swo", ".tmp", ".copy",
];
/// The most suffixes that are stripped from copies of copies (`.env.bak.bak`).
const COPY_ENDINGS_MAX: usize = 4;

/// Returns the form that all spellings of a name share: compatibility-composed, case folded,
/// without invisible characters, without the characters that NTFS drops at the end.
pub(crate) fn folded(name: &str) -> Cow<'_, str> {
    if is_plain(name) {
        return Cow::Borrowed(name);
    }
    let stream_cut = name.split(':').next().unwrap_or(name);
    let mut folded: String = if stream_cut.is_ascii() {
        stream_cut.to_ascii_lowercase()
    } else {
        // Upper and then lower case equals full case folding for these names: `ß` becomes `ss`.
        let visible = stream_cut.chars().filter(|&c| !is_ignorable(c));
        let upper: String = visible.nfkc().flat_map(char::to_uppercase).collect();
        let lower = upper.chars().flat_map(char::to_lowercase).nfkc();
        lower.filter(|&c| !is_ignorable(c)).collect()
    };
    folded.truncate(folded.trim_end_matches(['.', ' ']).len());
    Cow::Owned(folded)
}

/// Strips an editor's backup marks from a folded name: `#.env#`, `.env~` and `id_rsa.bak` have the
/// content of the original file.
pub(crate) fn original(folded: &str) -> &str {
    let mut name = folded;
    for lead in [".#", "#", "~$"] {
        name = name.strip_prefix(lead).unwrap_or(name);
    }
    for _ in 0..COPY_ENDINGS_MAX {
        let bare = name.trim_end_matches(['~', '#']);
        let bare = COPY_ENDINGS
            .iter()
            .find_map(|ending| bare.strip_suffix(ending))
            .unwrap_or(bare);
        if bare.len() == name.len() {
            break;
        }
        name = bare;
    }
    if name.is_empty() { folded } else { name }
}

/// Returns true if a folded name may be the eight-character name of `long` on FAT and NTFS: `GIT~1`
/// for `.git`, `NODE_M~1` for `node_modules`.
pub(crate) fn is_short_name_of(folded: &str, long: &str) -> bool {
    let Some((stem, rest)) = folded.split_once('~') else {
        return false;
    };
    if stem.is_empty() || !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let spelled = long.chars().filter(|c| !matches!(c, '.' | ' ')).take(6);
    // The stem shrinks when the number grows, so a prefix is enough.
    spelled.clone().take(stem.chars().count()).eq(stem.chars())
        && stem.chars().count() >= spelled.count().min(2)
}

/// Recognises most names: nothing to fold, nothing to allocate.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| {
        byte.is_ascii_lowercase()
            || byte.is_ascii_digit()
            || matches!(byte, b'.' | b'-' | b'_' | b'+' | b'@' | b'~' | b'#')
    };
    name.bytes().all(plain) && !name.ends_with('.')
}

/// Characters that HFS+ and casefolding ext4 skip when they compare names
/// (Unicode's `Default_Ignorable_Code_Point`).
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_fold_to_one_form() {
        for (spelled, expected) in [
            (".env", ".env"),
            (".ENV", ".env"),
            (".env.", ".env"),
            (".env . .", ".env"),
            (".env::$DATA", ".env"),
            (".e\u{200b}nv", ".env"),
            (".\u{ff45}\u{ff4e}\u{ff56}", ".env"),
            ("\u{ff0e}env", ".env"),
            (".\u{17f}\u{17f}h", ".ssh"),
            (".\u{df}h", ".ssh"),
            (".aw\u{17f}", ".aws"),
            ("\u{212a}ey.pem", "key.pem"),
            ("cafe\u{301}", "caf\u{e9}"),
            ("CAF\u{c9}", "caf\u{e9}"),
            ("node_\u{ad}modules", "node_modules"),
        ] {
            assert_eq!(folded(spelled), expected, "{spelled:?}");
        }
    }

    #[test]
    fn copies_are_traced_to_their_originals() {
        for (copy, expected) in [
            (".env~", ".env"),
            ("#.env#", ".env"),
            (".#.env", ".env"),
            ("id_rsa.bak", "id_rsa"),
            ("server.key.old.bak", "server.key"),
            ("main.rs", "main.rs"),
            (".bak", ".bak"),
            ("~", "~"),
        ] {
            assert_eq!(original(copy), expected, "{copy:?}");
        }
    }

    #[test]
    fn short_names_are_recognised() {
        for (short, long, expected) in [
            ("git~1", ".git", true),
            ("env~1", ".env", true),
            ("node_m~1", "node_modules", true),
            ("no~1", "node_modules", true),
            ("git", ".git", false),
            ("git~", ".git", false),
            ("gitx~1", ".git", false),
            ("n~1", "node_modules", false),
            ("~1", ".git", false),
        ] {
            assert_eq!(is_short_name_of(short, long), expected, "{short} {long}");
        }
    }
}
