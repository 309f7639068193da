//! The scripts of Vue, Svelte and Astro components: everything around them is blanked, so that line
//! numbers stay those of the file.

use super::{ExportKind, ExportedName, SourceFacts};

/// A kind of file with scripts in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ComponentKind {
    Vue,
    Svelte,
    Astro,
}

impl ComponentKind {
    /// The kind of a file of this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "vue" => Some(Self::Vue),
            "svelte" => Some(Self::Svelte),
            "astro" => Some(Self::Astro),
            _ => None,
        }
    }

    /// Returns the facts that `read` finds in the scripts of the text. The component itself is the
    /// default export, which its compiler adds.
    pub(super) fn facts(
        self,
        text: &str,
        read: impl FnOnce(&str, &str) -> SourceFacts,
    ) -> SourceFacts {
        let scripts = self.scripts(text);
        let name = match scripts.has_jsx {
            true => "component.tsx",
            false => "component.ts",
        };
        let mut facts = read(name, &scripts.text);
        if !facts.exports.iter().any(|export| export.name == "default") {
            let component = ExportedName {
                name: "default".to_owned(),
                kind: ExportKind::Class,
                line: 1,
            };
            facts.exports.insert(0, component);
        }
        facts
    }

    fn scripts(self, text: &str) -> ComponentScripts {
        let mut scripts = ComponentScripts {
            text: blank(text),
            has_jsx: false,
        };
        let mut at = 0;
        if self == Self::Astro
            && let Some((from, to)) = frontmatter(text)
        {
            scripts.show(text, from, to);
            at = to;
        }
        while let Some(block) = next_script(text, at) {
            scripts.show(text, block.from, block.to);
            scripts.has_jsx |= block.has_jsx;
            at = block.to;
        }
        scripts
    }
}

/// A text of the same length that contains only the scripts.
struct ComponentScripts {
    text: String,
    has_jsx: bool,
}

impl ComponentScripts {
    fn show(&mut self, text: &str, from: usize, to: usize) {
        self.text.replace_range(from..to, &text[from..to]);
    }
}

/// White space in place of every byte but line ends.
fn blank(text: &str) -> String {
    let bytes = text.bytes();
    let blanked = bytes.map(|byte| if byte == b'\n' { '\n' } else { ' ' });
    blanked.collect()
}

/// Returns the text between the first two lines of three dashes, if they open the file.
fn frontmatter(text: &str) -> Option<(usize, usize)> {
    let start = text.len() - text.trim_start().len();
    let from = start + "---".len();
    text[start..].strip_prefix("---")?;
    let to = from + text[from..].find("\n---")?;
    Some((from, to))
}

struct ScriptBlock {
    from: usize,
    to: usize,
    has_jsx: bool,
}

/// Returns the next `<script …>…</script>`; one that is never closed reaches to the end.
fn next_script(text: &str, at: usize) -> Option<ScriptBlock> {
    let mut at = at;
    loop {
        let open = at + find_ignoring_case(&text.as_bytes()[at..], b"<script")?;
        let after = open + "<script".len();
        // Not `<scripted>`.
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
        if !text.as_bytes().get(after).is_some_and(ends) {
            at = after;
            continue;
        }
        let from = after + end_of_tag(&text[after..])?;
        let tag = &text[after..from];
        if tag.ends_with("/>") {
            at = from;
            continue;
        }
        let length = find_ignoring_case(&text.as_bytes()[from..], b"</script");
        return Some(ScriptBlock {
            from,
            to: length.map_or(text.len(), |length| from + length),
            has_jsx: ["tsx", "jsx"].iter().any(|it| tag.contains(it)),
        });
    }
}

/// The place after the `>` that ends a tag; one in quotes does not.
fn end_of_tag(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

fn find_ignoring_case(bytes: &[u8], word: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'<', bytes).find(|at| {
        let found = bytes.get(*at..at + word.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(word))
    })
}
