//! The languages an answer can be checked in.

use super::imports::AnswerImport;
use super::position::SyntaxFault;
use super::{data, javascript, python, rust};
use crate::error::Error;
use crate::text;

/// A language with a parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GuardedSyntax {
    Json,
    Yaml,
    Toml,
    JavaScript,
    TypeScript,
    Jsx,
    Tsx,
    Rust,
    Python,
}

/// The way a language names modules in imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModuleStyle {
    /// `package/path`, `./file`
    JavaScript,
    /// `krate::module`
    Rust,
    /// `package.module`
    Python,
}

struct SyntaxEntry {
    syntax: GuardedSyntax,
    name: &'static str,
    title: &'static str,
    extensions: &'static [&'static str],
}

const LANGUAGES: [SyntaxEntry; 9] = [
    SyntaxEntry::new(GuardedSyntax::Json, "json", "JSON", &["json"]),
    SyntaxEntry::new(GuardedSyntax::Yaml, "yaml", "YAML", &["yaml", "yml"]),
    SyntaxEntry::new(GuardedSyntax::Toml, "toml", "TOML", &["toml"]),
    SyntaxEntry::new(
        GuardedSyntax::JavaScript,
        "javascript",
        "JavaScript",
        &["js", "mjs", "cjs"],
    ),
    SyntaxEntry::new(
        GuardedSyntax::TypeScript,
        "typescript",
        "TypeScript",
        &["ts", "mts", "cts"],
    ),
    SyntaxEntry::new(GuardedSyntax::Jsx, "jsx", "JavaScript with JSX", &["jsx"]),
    SyntaxEntry::new(GuardedSyntax::Tsx, "tsx", "TypeScript with JSX", &["tsx"]),
    SyntaxEntry::new(GuardedSyntax::Rust, "rust", "Rust", &["rs"]),
    SyntaxEntry::new(GuardedSyntax::Python, "python", "Python", &["py", "pyi"]),
];

impl GuardedSyntax {
    /// The names `syntax:` accepts, as [`GuardedSyntax::named`] reads them.
    pub const NAMES: [&str; 9] = [
        "json",
        "yaml",
        "toml",
        "javascript",
        "typescript",
        "jsx",
        "tsx",
        "rust",
        "python",
    ];

    /// Returns the language of a name or of a file extension.
    pub fn named(name: &str) -> Result<GuardedSyntax, Error> {
        let found = LANGUAGES.iter().find(|language| language.name == name);
        let found = found.map(|language| language.syntax);
        found
            .or_else(|| GuardedSyntax::of_extension(name))
            .ok_or_else(|| Error::SyntaxUnknown {
                name: text::shorten(name),
                known: Self::NAMES.map(|name| format!("`{name}`")).join(", "),
                nearest: diagnostics::nearest(name, Self::NAMES),
            })
    }

    /// Returns the language of a file, by its extension.
    pub fn of_extension(extension: &str) -> Option<GuardedSyntax> {
        let found = LANGUAGES
            .iter()
            .find(|language| language.extensions.contains(&extension));
        found.map(|language| language.syntax)
    }

    pub fn name(self) -> &'static str {
        self.language().name
    }

    /// Returns the language as people write it.
    pub fn title(self) -> &'static str {
        self.language().title
    }

    /// True if programs in the language can have imports.
    pub fn has_imports(self) -> bool {
        self.modules().is_some()
    }

    pub(super) fn modules(self) -> Option<ModuleStyle> {
        match self {
            GuardedSyntax::Json | GuardedSyntax::Yaml | GuardedSyntax::Toml => None,
            GuardedSyntax::JavaScript
            | GuardedSyntax::TypeScript
            | GuardedSyntax::Jsx
            | GuardedSyntax::Tsx => Some(ModuleStyle::JavaScript),
            GuardedSyntax::Rust => Some(ModuleStyle::Rust),
            GuardedSyntax::Python => Some(ModuleStyle::Python),
        }
    }

    /// Returns the imports of the text, or the reason why it is not in this language.
    pub(super) fn read(self, answer: &str) -> Result<Vec<AnswerImport>, SyntaxFault> {
        match self {
            GuardedSyntax::Json => data::json(answer).map(|()| Vec::new()),
            GuardedSyntax::Yaml => data::yaml(answer).map(|()| Vec::new()),
            GuardedSyntax::Toml => data::toml(answer).map(|()| Vec::new()),
            GuardedSyntax::JavaScript
            | GuardedSyntax::TypeScript
            | GuardedSyntax::Jsx
            | GuardedSyntax::Tsx => javascript::read(self, answer),
            GuardedSyntax::Rust => rust::read(answer),
            GuardedSyntax::Python => python::read(answer),
        }
    }

    fn language(self) -> &'static SyntaxEntry {
        let found = LANGUAGES.iter().find(|language| language.syntax == self);
        found.unwrap_or(&LANGUAGES[0])
    }
}

impl SyntaxEntry {
    const fn new(
        syntax: GuardedSyntax,
        name: &'static str,
        title: &'static str,
        extensions: &'static [&'static str],
    ) -> Self {
        SyntaxEntry {
            syntax,
            name,
            title,
            extensions,
        }
    }
}
