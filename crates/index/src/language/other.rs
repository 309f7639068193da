//! All other files: reads their exports, and resolves their imports.
//!
//! Each kind of file exports the parts a reader looks for: a document its title and chapters, a
//! script its functions, a Makefile its targets, SQL its tables, a table of settings its first
//! level of keys. Languages of the curly kind without a reader of their own have their types and
//! functions.

mod braces;
mod documents;
mod files;
mod scripts;

#[cfg(test)]
mod tests;

use super::facts_builder::FactsBuilder;
use super::{ImportResolver, SourceFacts};
use crate::project::IndexedProject;
use workspace::RelPath;

/// The most names of a file of this kind.
const NAMES_MAX: usize = 64;

pub(super) fn facts(path: &RelPath, text: &str) -> SourceFacts {
    let mut gather = FactsBuilder::new(text);
    let name = path.file_name().unwrap_or_default();
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    match (name, extension.as_str()) {
        ("Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile", _) | (_, "mk") => {
            scripts::targets(text, &mut gather);
        }
        ("Dockerfile" | "Containerfile", _) | (_, "dockerfile") => {
            scripts::stages(text, &mut gather);
        }
        (_, "md" | "markdown" | "mdx") => documents::markdown(text, &mut gather),
        (_, "rst") => documents::underlined(text, &mut gather),
        (_, "toml" | "ini" | "cfg") => documents::tables(text, &mut gather),
        (_, "yml" | "yaml") => documents::yaml(text, &mut gather),
        (_, "json" | "jsonc" | "json5") => documents::json(text, &mut gather),
        (_, "sh" | "bash" | "zsh" | "ksh") => scripts::shell(text, &mut gather),
        (_, "sql") => scripts::sql(text, &mut gather),
        (_, "rb" | "rake" | "gemspec") => scripts::ruby(text, &mut gather),
        (_, "proto") => braces::read(text, &braces::PROTO, &mut gather),
        (_, "graphql" | "gql") => braces::read(text, &braces::GRAPHQL, &mut gather),
        (_, "kt" | "kts") => braces::read(text, &braces::KOTLIN, &mut gather),
        (_, "cs") => braces::read(text, &braces::CSHARP, &mut gather),
        (_, "swift") => braces::read(text, &braces::SWIFT, &mut gather),
        (_, "scala" | "sc") => braces::read(text, &braces::SCALA, &mut gather),
        (_, "dart") => braces::read(text, &braces::DART, &mut gather),
        (_, "php") => braces::read(text, &braces::PHP, &mut gather),
        (_, "css" | "scss" | "less") => documents::styles(text, &mut gather),
        (_, "") if text.starts_with("#!") && is_shell(text) => scripts::shell(text, &mut gather),
        _ => {}
    }
    gather.finish(None)
}

pub(super) fn resolver<'p>(_project: &'p IndexedProject<'p>) -> Box<dyn ImportResolver + 'p> {
    Box::new(files::NearbyResolver)
}

/// Returns true if the first line names a shell.
fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let program = first
        .split(['/', ' '])
        .rfind(|word| !word.is_empty() && !word.starts_with('-'));
    matches!(program, Some("sh" | "bash" | "zsh" | "ksh" | "dash"))
}

/// The lines of a text, each with the byte it begins at.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = offset;
        offset += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    })
}
