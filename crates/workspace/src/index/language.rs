//! What is known about one file, read from its text by the parser of its language.
//!
//! One file for each language, all with the same two questions: [`facts`] (what does this text
//! define for others, and whom does it ask for) and [`resolver`] (which files of the project does
//! such a request mean). Facts depend on the text and the name alone, so they are cached with the
//! file; resolving depends on the whole project and is done anew for every index.

mod gather;
mod tokens;

#[cfg(test)]
mod trial;

mod c;
mod go;
mod java;
mod javascript;
mod other;
mod python;
mod rust;

use serde::{Deserialize, Serialize};

use super::project::{FileId, Project};
use crate::RelPath;

/// The language of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// TypeScript and JavaScript, with and without JSX, and the scripts of Vue, Svelte and Astro.
    JavaScript,
    /// Rust.
    Rust,
    /// Python, stubs among it.
    Python,
    /// Go.
    Go,
    /// Java.
    Java,
    /// C and C++, headers among it.
    C,
    /// Anything else that is text.
    Other,
}

impl Language {
    /// Every language, in the order of this list.
    pub const ALL: [Self; 7] = [
        Self::JavaScript,
        Self::Rust,
        Self::Python,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Other,
    ];

    /// The language of a file of this name.
    #[must_use]
    pub fn of(path: &RelPath) -> Self {
        match path.extension().unwrap_or_default() {
            "ts" | "tsx" | "mts" | "cts" | "js" | "jsx" | "mjs" | "cjs" | "vue" | "svelte"
            | "astro" => Self::JavaScript,
            "rs" => Self::Rust,
            "py" | "pyi" => Self::Python,
            "go" => Self::Go,
            "java" => Self::Java,
            "c" | "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "inl"
            | "ipp" | "tpp" => Self::C,
            _ => Self::Other,
        }
    }
}

/// What a text defines for others, and whom it asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// What others may use, in the order of the text, no name twice.
    pub(crate) exports: Vec<Export>,
    /// What the text asks for, in the order of the text.
    pub(crate) imports: Vec<Import>,
    /// How the text names the unit it belongs to: a Java or Go package, a C++ namespace.
    pub(crate) package: Option<String>,
}

/// A name that others may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// The name, as others write it.
    pub name: String,
    /// What it names.
    pub kind: ExportKind,
    /// The line of the definition, from 1.
    pub line: u32,
}

/// What an exported name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExportKind {
    /// A function, method or macro.
    Function,
    /// A class, struct or union.
    Class,
    /// An interface, trait, alias or other type.
    Type,
    /// An enumeration.
    Enum,
    /// A constant or variable.
    Value,
    /// A namespace, package or module.
    Module,
    /// Something that another file defines.
    Reexport,
    /// What a document has instead: a heading, a key, a target.
    Section,
}

/// A request for another file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Import {
    /// What is asked for, as the language spells it: `./user.js`, `crate::user::User`,
    /// `..models.user`, `a.b.C`, `user.h`.
    pub(crate) specifier: String,
    /// How it is asked for.
    pub(crate) kind: ImportKind,
    /// The line of the request, from 1.
    pub(crate) line: u32,
}

/// How another file is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ImportKind {
    /// By the ordinary statement of the language.
    Static,
    /// For types only.
    Type,
    /// While the program runs: `import()`, `importlib`.
    Dynamic,
    /// `require`, and `import x = require()`.
    Require,
    /// To hand on some of its names; they are in [`Facts::exports`].
    Reexport,
    /// To hand on all of its names; they become exports of this file once it is resolved.
    ReexportAll,
    /// As a part of this file: Rust's `mod x;`.
    Part,
    /// From the places of the system first: C's `#include <…>`.
    System,
}

/// Finds the files that the imports of one language mean. Made once for an index.
pub(crate) trait Resolver: Send + Sync {
    /// The files of the project that `import` in the file `from` means; none when it is one of
    /// the language's own or of a package from elsewhere.
    fn resolve(&self, project: &Project<'_>, from: FileId, import: &Import) -> Vec<FileId>;
}

/// Reads a file. What cannot be parsed gives what was understood before and after.
pub(crate) fn facts(language: Language, path: &RelPath, text: &str) -> Facts {
    match language {
        Language::JavaScript => javascript::facts(path, text),
        Language::Rust => rust::facts(path, text),
        Language::Python => python::facts(path, text),
        Language::Go => go::facts(path, text),
        Language::Java => java::facts(path, text),
        Language::C => c::facts(path, text),
        Language::Other => other::facts(path, text),
    }
}

/// What finds the files that imports of `language` mean in this project.
pub(crate) fn resolver<'p>(language: Language, project: &'p Project<'p>) -> Box<dyn Resolver + 'p> {
    match language {
        Language::JavaScript => javascript::resolver(project),
        Language::Rust => rust::resolver(project),
        Language::Python => python::resolver(project),
        Language::Go => go::resolver(project),
        Language::Java => java::resolver(project),
        Language::C => c::resolver(project),
        Language::Other => other::resolver(project),
    }
}
