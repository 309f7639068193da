//! The fenced blocks of a Markdown document, and what each of them is for.

/// One fenced block.
pub(crate) struct DocumentBlock {
    /// Where it begins, counted from 1.
    pub(crate) line: usize,
    pub(crate) kind: DocumentBlockKind,
    pub(crate) text: String,
    /// The text since the block before.
    pub(crate) before: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DocumentBlockKind {
    /// ```` ```yaml path/to/file ````: a file with this content.
    File(String),
    /// ```` ```console ````: commands after `$ `, each with what it prints.
    Console,
    /// ```` ```sh ````: commands that must succeed.
    Commands,
    /// Data that must be readable.
    Data(&'static str),
    /// `text` and other languages: shown only. May not hold commands.
    Shown,
    /// ```` ```sh ignore ````: commands that need a key, a network or a person.
    Ignored,
}

pub(crate) fn of(text: &str) -> Vec<DocumentBlock> {
    let mut blocks = Vec::new();
    let mut before = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else {
            before.push_str(line);
            before.push('\n');
            continue;
        };
        let indent = line.len() - line.trim_start().len();
        let fence: String = line
            .trim_start()
            .chars()
            .take_while(|c| *c == '`')
            .collect();
        let info = info.trim_start_matches('`');
        let mut text = String::new();
        for (_, line) in lines.by_ref().take_while(|(_, line)| line.trim() != fence) {
            text.push_str(line.get(indent..).unwrap_or(line.trim_start()));
            text.push('\n');
        }
        blocks.push(DocumentBlock {
            line: index + 1,
            kind: kind(info),
            text,
            before: std::mem::take(&mut before),
        });
    }
    blocks
}

fn kind(info: &str) -> DocumentBlockKind {
    let (language, rest) = info.trim().split_once(' ').unwrap_or((info.trim(), ""));
    match (language, rest.trim()) {
        (_, "ignore") => DocumentBlockKind::Ignored,
        (_, path) if !path.is_empty() => DocumentBlockKind::File(path.to_owned()),
        ("console", _) => DocumentBlockKind::Console,
        ("sh", _) => DocumentBlockKind::Commands,
        ("yaml", _) => DocumentBlockKind::Data("yaml"),
        ("toml", _) => DocumentBlockKind::Data("toml"),
        ("json", _) => DocumentBlockKind::Data("json"),
        _ => DocumentBlockKind::Shown,
    }
}
