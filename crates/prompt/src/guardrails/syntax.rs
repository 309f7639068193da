//! The languages an answer can be checked in.

use super::imports::Import;
use super::place::Fault;
use super::{data, javascript, python, rust};
use crate::error::Error;
use crate::text;

/// A language with a parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Syntax {
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

/// How imports name their parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modules {
    /// `package/path`, `./file`
    JavaScript,
    /// `krate::module`
    Rust,
    /// `package.module`
    Python,
}

struct Language {
    syntax: Syntax,
    name: &'static str,
    title: &'static str,
    extensions: &'static [&'static str],
}

const LANGUAGES: [Language; 9] = [
    Language::new(Syntax::Json, "json", "JSON", &["json"]),
    Language::new(Syntax::Yaml, "yaml", "YAML", &["yaml", "yml"]),
    Language::new(Syntax::Toml, "toml", "TOML", &["toml"]),
    Language::new(
        Syntax::JavaScript,
        "javascript",
        "JavaScript",
        &["js", "mjs", "cjs"],
    ),
    Language::new(
        Syntax::TypeScript,
        "typescript",
        "TypeScript",
        &["ts", "mts", "cts"],
    ),
    Language::new(Syntax::Jsx, "jsx", "JavaScript with JSX", &["jsx"]),
    Language::new(Syntax::Tsx, "tsx", "TypeScript with JSX", &["tsx"]),
    Language::new(Syntax::Rust, "rust", "Rust", &["rs"]),
    Language::new(Syntax::Python, "python", "Python", &["py", "pyi"]),
];

impl Syntax {
    /// The names `syntax:` accepts, as [`Syntax::named`] reads them.
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

    /// The language of a name, or of a file extension, which people write as well.
    pub fn named(name: &str) -> Result<Syntax, Error> {
        let found = LANGUAGES.iter().find(|language| language.name == name);
        let found = found.map(|language| language.syntax);
        found
            .or_else(|| Syntax::of_extension(name))
            .ok_or_else(|| Error::SyntaxUnknown {
                name: text::shorten(name),
                known: Self::NAMES.map(|name| format!("`{name}`")).join(", "),
                nearest: crate::nearest(name, Self::NAMES),
            })
    }

    /// The language of a file, by its extension.
    pub fn of_extension(extension: &str) -> Option<Syntax> {
        let found = LANGUAGES
            .iter()
            .find(|language| language.extensions.contains(&extension));
        found.map(|language| language.syntax)
    }

    pub fn name(self) -> &'static str {
        self.language().name
    }

    /// The language as people write it.
    pub fn title(self) -> &'static str {
        self.language().title
    }

    /// Whether programs in the language import anything.
    pub fn has_imports(self) -> bool {
        self.modules().is_some()
    }

    pub(super) fn modules(self) -> Option<Modules> {
        match self {
            Syntax::Json | Syntax::Yaml | Syntax::Toml => None,
            Syntax::JavaScript | Syntax::TypeScript | Syntax::Jsx | Syntax::Tsx => {
                Some(Modules::JavaScript)
            }
            Syntax::Rust => Some(Modules::Rust),
            Syntax::Python => Some(Modules::Python),
        }
    }

    /// What the text imports, or why it is not in this language.
    pub(super) fn read(self, answer: &str) -> Result<Vec<Import>, Fault> {
        match self {
            Syntax::Json => data::json(answer).map(|()| Vec::new()),
            Syntax::Yaml => data::yaml(answer).map(|()| Vec::new()),
            Syntax::Toml => data::toml(answer).map(|()| Vec::new()),
            Syntax::JavaScript | Syntax::TypeScript | Syntax::Jsx | Syntax::Tsx => {
                javascript::read(self, answer)
            }
            Syntax::Rust => rust::read(answer),
            Syntax::Python => python::read(answer),
        }
    }

    fn language(self) -> &'static Language {
        let found = LANGUAGES.iter().find(|language| language.syntax == self);
        found.unwrap_or(&LANGUAGES[0])
    }
}

impl Language {
    const fn new(
        syntax: Syntax,
        name: &'static str,
        title: &'static str,
        extensions: &'static [&'static str],
    ) -> Self {
        Language {
            syntax,
            name,
            title,
            extensions,
        }
    }
}
